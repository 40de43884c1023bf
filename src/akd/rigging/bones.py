"""Bones as line segments, and how far points are from them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from akd.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class Bones:
    """Segments, each moved by one joint. A joint has one to every child, or one to where its flesh ends."""

    joint: Int[np.ndarray, " bone"]
    head: Float[np.ndarray, "bone 3"]
    tail: Float[np.ndarray, "bone 3"]
    joint_count: int


def bones_of(skeleton: Skeleton, tips: Float[np.ndarray, "joint 3"]) -> Bones:
    """A segment from every joint to each of its children; joints without children reach to their place in ``tips``."""
    children = np.flatnonzero(skeleton.parents >= 0)
    leaves = np.setdiff1d(np.arange(skeleton.joint_count), skeleton.parents)
    joint = np.concatenate((skeleton.parents[children], leaves))
    tail = np.concatenate((skeleton.positions[children], tips[leaves]))
    return Bones(joint, skeleton.positions[joint], tail, skeleton.joint_count)


def closest_on_bones(
    bones: Bones, points: Float[np.ndarray, "point 3"]
) -> tuple[Float[np.ndarray, "point bone"], Float[np.ndarray, "point bone"]]:
    """Distance from every point to every bone, and where along it (0 head, 1 tail) the closest place is."""
    along = bones.tail - bones.head
    length2 = np.maximum((along**2).sum(1), 1e-30)
    place = np.clip((points @ along.T - (bones.head * along).sum(1)) / length2, 0, 1)
    distance2 = np.zeros_like(place)
    for axis in range(3):  # one axis at a time: a point × bone × 3 array would fill the memory of a small machine
        distance2 += (points[:, axis, None] - bones.head[:, axis] - place * along[:, axis]) ** 2
    return np.sqrt(distance2), place
