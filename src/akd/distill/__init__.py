"""Distillation: a sentence and a video prior in, joint angles out."""

