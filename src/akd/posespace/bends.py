"""How a pose is written for the pose space: one rotation vector per joint, in its bone frame, zero at rest.

    q_j = Q_parentᵀ Q_j      x_j = log(B_jᵀ q_j B_j) = (twist, swing, swing)

The first axis of B_j runs along the bone. Row 0 is the root's tilt: its turn without the heading, in stage axes. Where
the body stands and which way it faces is no part of it. Bone lengths cannot change, and the artist's axes do not occur.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from akd.pose import Pose
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
from akd.skeleton import Skeleton, mirror_maps

Bends = Float[Tensor, "*batch joint 3"]
"""Rotation vectors [rad]."""


def pose_bends(pose: Pose) -> Bends:
    """What a pose says about the body's shape."""
    turns = quaternion_to_rotation_vector(matrix_to_quaternion(angles_to_matrix(pose.angles[..., 1:, :])))
    tilt = quaternion_to_rotation_vector(quaternion_multiply(quaternion_conjugate(heading(pose.root_rotation)), _unit(pose)))
    return torch.cat((tilt[..., None, :], turns), -2)


def bends_pose(bends: Bends, root_position: Float[Tensor, "*#batch 3"], facing: Float[Tensor, "*#batch 4"] | None = None) -> Pose:
    """The pose with these bends, standing here and facing ahead, or as told."""
    angles = matrix_to_angles(bend_matrices(bends[..., 1:, :]))
    angles = torch.cat((torch.zeros_like(angles[..., :1, :]), angles), -2)
    tilt = rotation_vector_to_quaternion(bends[..., 0, :])
    rotation = tilt if facing is None else quaternion_multiply(facing, tilt)
    return Pose(root_position.expand(*bends.shape[:-2], 3), rotation, angles)


def bend_matrices(bends: Bends) -> Float[Tensor, "*batch joint 3 3"]:
    """``exp(x_j)``, in bone frames."""
    return quaternion_to_matrix(rotation_vector_to_quaternion(bends))


def heading(rotation: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 4"]:
    """The part of a rotation about the vertical; none for a body on its head, which faces nowhere."""
    upright = rotation * rotation.new_tensor((1.0, 0.0, 1.0, 0.0))
    length = upright.norm(dim=-1, keepdim=True)
    nowhere = rotation.new_tensor((1.0, 0.0, 0.0, 0.0))
    return torch.where(length > 1e-6, upright / length.clamp(min=1e-6), nowhere)


def mirrored(skeleton: Skeleton, bends: Bends) -> Bends:
    """The same pose seen in a mirror; equal to ``motion.mirror``."""
    maps = torch.as_tensor(mirror_maps(skeleton.frames, skeleton.mirror), dtype=bends.dtype)
    return (maps @ bends[..., torch.as_tensor(skeleton.mirror), :, None]).squeeze(-1)


def _unit(pose: Pose) -> Float[Tensor, "*batch 4"]:
    return pose.root_rotation / pose.root_rotation.norm(dim=-1, keepdim=True)
