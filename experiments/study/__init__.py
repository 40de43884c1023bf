"""Experiments: small, seeded, resumable, every row on disk as soon as it is known."""

