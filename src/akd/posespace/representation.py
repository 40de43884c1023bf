"""How the pose space writes poses and rigs, independent of names, meshes and the artist's axes.

A pose is one rotation vector per joint, in its bone frame, zero at rest:

    q_j = Q_parentᵀ Q_j      x_j = log(B_jᵀ q_j B_j) = (twist, swing, swing)

The first axis of B_j runs along the bone, so bone lengths cannot change. Row 0 is the root's tilt, its rotation without the
heading, in stage axes; the body's position and heading are no part of a pose.

A rig is a ``RigDescriptor``: joints, tree, symmetry, limb labels and thickness.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.rig import Rig
from akd.rotations import (
    angles_to_matrix,
    matrix_to_angles,
    matrix_to_quaternion,
    quaternion_conjugate,
    quaternion_multiply,
    quaternion_to_matrix,
    quaternion_to_rotation_vector,
    rotation_vector_to_quaternion,
)
from akd.skeleton import Pose, Skeleton, bone_frames, mirror_maps

KINDS = ("leg", "arm", "wing", "tail", "neck", "head", "spine")
"""In the order of the trained weights; a fin is described as a wing, the nearest kind they know."""
"""Kinds of limbs, in the order of the network's inputs."""
TRAINED_AS = {"fin": "wing"}
"""Kinds that training did not have, and the kind they are taken for."""
RotationVectors = Float[Tensor, "*batch joint 3"]
"""Joint rotation vectors in bone frames [rad]."""


def pose_to_vectors(pose: Pose) -> RotationVectors:
    """The joint rotation vectors of a pose; its position and heading are dropped."""
    joints = quaternion_to_rotation_vector(matrix_to_quaternion(angles_to_matrix(pose.angles[..., 1:, :])))
    tilt = quaternion_to_rotation_vector(quaternion_multiply(quaternion_conjugate(heading(pose.root_rotation)), _unit(pose)))
    return torch.cat((tilt[..., None, :], joints), -2)


def vectors_to_pose(
    vectors: RotationVectors, root_position: Float[Tensor, "*#batch 3"], facing: Float[Tensor, "*#batch 4"] | None = None
) -> Pose:
    """The pose with these joint rotation vectors, at a root position, facing ahead or along a heading."""
    angles = matrix_to_angles(vector_matrices(vectors[..., 1:, :]))
    angles = torch.cat((torch.zeros_like(angles[..., :1, :]), angles), -2)
    tilt = rotation_vector_to_quaternion(vectors[..., 0, :])
    rotation = tilt if facing is None else quaternion_multiply(facing, tilt)
    return Pose(root_position.expand(*vectors.shape[:-2], 3), rotation, angles)


def vectors_with_heading(pose: Pose) -> RotationVectors:
    """Joint rotation vectors whose root row holds the heading, too: what solving starts from."""
    vectors = pose_to_vectors(pose)
    turn = quaternion_to_rotation_vector(pose.root_rotation / pose.root_rotation.norm(dim=-1, keepdim=True))
    return torch.cat((turn[..., None, :], vectors[..., 1:, :]), -2)


def without_heading(vectors: RotationVectors) -> RotationVectors:
    """Joint rotation vectors whose root row holds the tilt alone: what scores are given for."""
    turn = rotation_vector_to_quaternion(vectors[..., 0, :])
    tilt = quaternion_to_rotation_vector(quaternion_multiply(quaternion_conjugate(heading(turn)), turn))
    return torch.cat((tilt[..., None, :], vectors[..., 1:, :]), -2)


def vector_matrices(vectors: RotationVectors) -> Float[Tensor, "*batch joint 3 3"]:
    """``exp(x_j)``: rotation matrices in bone frames."""
    return quaternion_to_matrix(rotation_vector_to_quaternion(vectors))


def heading(rotation: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 4"]:
    """The part of a rotation about the vertical; the identity for a body upside down, which has no heading."""
    upright = rotation * rotation.new_tensor((1.0, 0.0, 1.0, 0.0))
    length = upright.norm(dim=-1, keepdim=True)
    identity = rotation.new_tensor((1.0, 0.0, 0.0, 0.0))
    return torch.where(length > 1e-6, upright / length.clamp(min=1e-6), identity)


def mirrored(skeleton: Skeleton, vectors: RotationVectors) -> RotationVectors:
    """The mirror image of a pose; equal to ``motion.mirror``."""
    maps = torch.as_tensor(mirror_maps(skeleton.frames, skeleton.mirror), dtype=vectors.dtype)
    return (maps @ vectors[..., torch.as_tensor(skeleton.mirror), :, None]).squeeze(-1)


def _unit(pose: Pose) -> Float[Tensor, "*batch 4"]:
    """The root's rotation as a unit quaternion."""
    return pose.root_rotation / pose.root_rotation.norm(dim=-1, keepdim=True)


@dataclass(frozen=True, eq=False)
class RigDescriptor:
    """A rig as the pose space sees it, one row per joint; parents come before children. Lengths in ℓ."""

    parents: Int[np.ndarray, " joint"]
    positions: Float[np.ndarray, "joint 3"]
    tails: Float[np.ndarray, "joint 3"]
    """Far ends of the bones."""
    mirror: Int[np.ndarray, " joint"]
    """The joint on the other side, or itself."""
    kind: Int[np.ndarray, " joint"]
    """Index into ``KINDS`` of the limb it belongs to, −1 if unknown."""
    order: Int[np.ndarray, " joint"]
    """The limb's rank from the front."""
    radius: Float[np.ndarray, " joint"]
    """Median distance of the skin from the bone; 0 where there is none."""
    half: Float[np.ndarray, "joint 3"]
    """Half extents of the skin in the bone frame."""

    @property
    def joint_count(self) -> int:
        return len(self.parents)

    @cached_property
    def frames(self) -> Float[np.ndarray, "joint 3 3"]:
        """Bone frames, as in kinematics and physics."""
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
        """Bones between each joint and the root."""
        return self.is_ancestor.sum(0) - 1

    @cached_property
    def hops(self) -> Int[np.ndarray, "joint joint"]:
        """Bones between every two joints."""
        shared = (self.is_ancestor[:, :, None] & self.is_ancestor[:, None]).sum(0) - 1
        return self.depth[:, None] + self.depth[None] - 2 * shared

    @cached_property
    def canonical_rank(self) -> Int[np.ndarray, " joint"]:
        """Each joint's rank in an order that depends on geometry alone: random numbers are assigned in it."""
        order = np.lexsort((*np.round(self.positions, 3).T, self.depth))
        return np.argsort(order)


def rig_descriptor(rig: Rig) -> RigDescriptor:
    """The descriptor of a rig."""
    owner = rig.weights.argmax(1) if rig.weights.size else np.zeros(0, int)
    return skeleton_descriptor(rig.skeleton, rig.mesh.vertices, owner)


def skeleton_descriptor(
    skeleton: Skeleton, points: Float[np.ndarray, "point 3"], owner: Int[np.ndarray, " point"]
) -> RigDescriptor:
    """The descriptor of a skeleton with a skin given as points, each bound to one joint (``owner``)."""
    count = skeleton.joint_count
    kind, order = np.full(count, -1), np.zeros(count, int)
    for limb in skeleton.limbs:
        joints = list(limb.joints)
        kind[joints], order[joints] = KINDS.index(TRAINED_AS.get(limb.kind, limb.kind)), limb.order
    radius, half = np.zeros(count), np.zeros((count, 3))
    for joint in np.unique(owner):
        skin = points[owner == joint]
        radius[joint] = np.median(point_segment_distance(skin, skeleton.positions[joint], skeleton.tails[joint]))
        half[joint] = np.ptp((skin - skeleton.positions[joint]) @ skeleton.frames[joint], axis=0) / 2
    return RigDescriptor(skeleton.parents, skeleton.positions, skeleton.tails, skeleton.mirror, kind, order, radius, half)


def point_segment_distance(
    points: Float[np.ndarray, "point 3"], start: Float[np.ndarray, " 3"], end: Float[np.ndarray, " 3"]
) -> Float[np.ndarray, " point"]:
    """Distance of points from the segment between two ends."""
    along = end - start
    share = np.clip((points - start) @ along / max(along @ along, 1e-12), 0.0, 1.0)
    return np.linalg.norm(points - start - share[:, None] * along, axis=1)
