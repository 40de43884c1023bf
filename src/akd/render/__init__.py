"""Splats to pictures: camera, rasteriser, ground and shadow, film."""

