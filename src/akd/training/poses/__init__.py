"""Poses to learn from: our creatures doing all they can, as lean rigs without a surface, and what augmentation makes of them."""

