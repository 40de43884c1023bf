"""A rig as the pose space sees it: joints, tree, symmetry, labels and flesh. No names, no mesh, no artist's axes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.rig import Rig
from akd.skeleton import Skeleton, bone_frames

KINDS = ("leg", "arm", "wing", "tail", "neck", "head", "spine")


@dataclass(frozen=True, eq=False)
class Sketch:
    """One value per joint; parents come before children. Lengths in ℓ."""

    parents: Int[np.ndarray, " joint"]
    positions: Float[np.ndarray, "joint 3"]
    tails: Float[np.ndarray, "joint 3"]
    mirror: Int[np.ndarray, " joint"]
    kind: Int[np.ndarray, " joint"]
    """Index into ``KINDS`` of the limb it belongs to, −1 if unknown."""
    order: Int[np.ndarray, " joint"]
    """The limb's rank from the front."""
    radius: Float[np.ndarray, " joint"]
    """Thickness of the flesh around the bone; 0 where there is none."""
    half: Float[np.ndarray, "joint 3"]
    """Half extents of the flesh in the bone frame."""

    @property
    def joint_count(self) -> int:
        return len(self.parents)

    @cached_property
    def frames(self) -> Float[np.ndarray, "joint 3 3"]:
        """Bone frames, as everywhere."""
        return bone_frames(self.parents, self.positions, self.tails)

    @cached_property
    def is_ancestor(self) -> Bool[np.ndarray, "joint joint"]:
        """``[a, j]``: is a on the way from j to the root, j itself included?"""
        out = np.eye(self.joint_count, dtype=bool)
        for joint in range(1, self.joint_count):
            out[:, joint] |= out[:, self.parents[joint]]
        return out

    @cached_property
    def depth(self) -> Int[np.ndarray, " joint"]:
        return self.is_ancestor.sum(0) - 1

    @cached_property
    def hops(self) -> Int[np.ndarray, "joint joint"]:
        """Bones on the way from one joint to another."""
        shared = (self.is_ancestor[:, :, None] & self.is_ancestor[:, None]).sum(0) - 1
        return self.depth[:, None] + self.depth[None] - 2 * shared

    @cached_property
    def canonical(self) -> Int[np.ndarray, " joint"]:
        """Each joint's rank in an order that geometry alone decides: random numbers are dealt in it."""
        order = np.lexsort((*np.round(self.positions, 3).T, self.depth))
        return np.argsort(order)


def sketch_of(rig: Rig) -> Sketch:
    """What there is to know about a rig."""
    owner = rig.weights.argmax(1) if rig.weights.size else np.zeros(0, int)
    return skeleton_sketch(rig.skeleton, rig.mesh.vertices, owner)


def skeleton_sketch(skeleton: Skeleton, points: Float[np.ndarray, "point 3"], owner: Int[np.ndarray, " point"]) -> Sketch:
    """The sketch of a skeleton and of flesh given as points that each follow one joint."""
    count = skeleton.joint_count
    kind, order = np.full(count, -1), np.zeros(count, int)
    for limb in skeleton.limbs:
        kind[list(limb.joints)], order[list(limb.joints)] = KINDS.index(limb.kind), limb.order
    radius, half = np.zeros(count), np.zeros((count, 3))
    for joint in np.unique(owner):
        flesh = points[owner == joint]
        radius[joint] = np.median(segment_distance(flesh, skeleton.positions[joint], skeleton.tails[joint]))
        half[joint] = np.ptp((flesh - skeleton.positions[joint]) @ skeleton.frames[joint], axis=0) / 2
    return Sketch(skeleton.parents, skeleton.positions, skeleton.tails, skeleton.mirror, kind, order, radius, half)


def segment_distance(
    points: Float[np.ndarray, "point 3"], start: Float[np.ndarray, " 3"], end: Float[np.ndarray, " 3"]
) -> Float[np.ndarray, " point"]:
    """How far points are from a bone."""
    along = end - start
    share = np.clip((points - start) @ along / max(along @ along, 1e-12), 0.0, 1.0)
    return np.linalg.norm(points - start - share[:, None] * along, axis=1)
