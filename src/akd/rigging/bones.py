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


def bones_of(skeleton: Skeleton, tips: Float[np.ndarray, "joint 3"], *, branching: float = 1.0) -> Bones:
    """A segment from every joint to each of its children; joints without children reach to their place in ``tips``.

    Where several children branch off, segments go only the share ``branching`` of the way: flesh near a shoulder is the
    arm's, not the spine's.
    """
    children = np.flatnonzero(skeleton.parents >= 0)
    leaves = np.setdiff1d(np.arange(skeleton.joint_count), skeleton.parents)
    joint = np.concatenate((skeleton.parents[children], leaves))
    head, tail = skeleton.positions[joint], np.concatenate((skeleton.positions[children], tips[leaves]))
    branches = np.bincount(joint, minlength=skeleton.joint_count)[joint] > 1
    tail = np.where(branches[:, None], head + branching * (tail - head), tail)
    return Bones(joint, head, tail, skeleton.joint_count)


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


def facing_distances(
    bones: Bones, points: Float[np.ndarray, "point 3"], normals: Float[np.ndarray, "point 3"],
    distance: Float[np.ndarray, "point bone"], place: Float[np.ndarray, "point bone"],
) -> Float[np.ndarray, "point bone"]:  # fmt: skip
    """Distances, longer for bones that do not lie straight below the skin: d / cos²(θ/2), with θ from the normal to the way out.

    Skin at the root of an ear is nearer to the skull than to the ear's tip, whatever the straight distances are.
    """
    along = bones.tail - bones.head
    out_of_bone = np.zeros_like(distance)
    for axis in range(3):
        out_of_bone += (points[:, axis, None] - bones.head[:, axis] - place * along[:, axis]) * normals[:, axis, None]
    cosine = out_of_bone / np.maximum(distance, 1e-30)
    return distance / np.maximum((1 + cosine) / 2, 1e-3)
