"""A mesh becomes splats, and splats become a mesh."""

