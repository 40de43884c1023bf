"""Rigs for meshes that have none: skin weights for any skeleton, and a skeleton from the shape alone."""

