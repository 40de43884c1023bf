"""What a file's bones mean: one tree of joints, left and right, front and back, limbs, and a place on the stage."""

from akd.character.build import build_rig

__all__ = ["build_rig"]
