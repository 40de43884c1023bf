"""Motions and their algebra. Frame i is the instant i / fps, so the last frame is the end of the clip.

A clip loops when its last frame is its first one again, moved over the ground: x, z and heading may have changed.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.rotations import (
    align_hemisphere,
    angles_to_matrix,
    continuous_angles,
    matrix_to_quaternion,
    quaternion_conjugate,
    quaternion_multiply,
    quaternion_to_matrix,
    quaternion_to_rotation_vector,
    rotation_vector_to_quaternion,
    slerp,
)
from akd.skeleton import Pose, Skeleton, bone_turns, joint_rotations, mirror_maps

__all__ = [
    "Motion", "Pose", "blend", "close_loop", "crop", "from_joint_quaternions", "from_stage_rotations", "in_place",
    "joint_quaternions", "mirror", "poses_at", "repeat", "resample",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Motion:
    """A pose for every frame."""

    pose: Pose
    """Its first batch axis is the frame."""
    fps: float
    """Frames per second."""

    def __post_init__(self) -> None:
        if self.pose.angles.ndim != 3 or self.frame_count < 1:
            raise AkdError(
                f"A motion is frames × joints × 3 angles, at least one frame, not {tuple(self.pose.angles.shape)}."
            )
        if not self.fps > 0:
            raise AkdError(f"Frames per second must be positive, not {self.fps}.")

    @property
    def frame_count(self) -> int:
        return self.pose.angles.shape[0]

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (self.frame_count - 1) / self.fps

    @property
    def times(self) -> Float[np.ndarray, " frame"]:
        """The instant of every frame [s]."""
        return np.arange(self.frame_count) / self.fps


def from_stage_rotations(
    skeleton: Skeleton, root_position: Float[Tensor, "frame 3"], rotation: Float[Tensor, "frame joint 3 3"], fps: float
) -> Motion:
    """The motion in which every joint has the given turn away from rest on the stage (``Posed.rotation``)."""
    angles = continuous_angles(bone_turns(skeleton, rotation))
    angles = torch.cat((torch.zeros_like(angles[:, :1]), angles[:, 1:]), 1)
    return Motion(Pose(root_position, align_hemisphere(matrix_to_quaternion(rotation[:, 0])), angles), fps)


def joint_quaternions(skeleton: Skeleton, motion: Motion) -> Float[Tensor, "frame joint 4"]:
    """Each joint's turn relative to its parent in stage axes; for the root, its turn on the stage."""
    return align_hemisphere(matrix_to_quaternion(joint_rotations(skeleton, motion.pose)))


def from_joint_quaternions(
    skeleton: Skeleton, root_position: Float[Tensor, "frame 3"], quaternions: Float[Tensor, "frame joint 4"], fps: float
) -> Motion:
    """Inverse of ``joint_quaternions``: the rotations come back exactly, at gimbal lock too, where the angles are one
    choice of many (see ``rotations.continuous_angles``)."""
    frames = torch.as_tensor(skeleton.frames, dtype=quaternions.dtype)
    turns = frames.transpose(-1, -2) @ quaternion_to_matrix(quaternions) @ frames
    angles = continuous_angles(turns)
    angles = torch.cat((torch.zeros_like(angles[:, :1]), angles[:, 1:]), 1)
    return Motion(Pose(root_position, quaternions[:, 0], angles), fps)


def resample(motion: Motion, fps: float) -> Motion:
    """The same clip at another frame rate, by cubic (Catmull–Rom) curves through the frames.

    The first and last instants are kept; if the duration is not a whole number of new frames, fps is adjusted to the
    nearest rate that makes it one. A single frame stays a single frame.
    """
    count = max(round(motion.duration * fps), 1) + 1
    if motion.frame_count == 1:
        return replace(motion, fps=fps)
    at = torch.linspace(0, motion.frame_count - 1, count, dtype=torch.float64)
    return Motion(poses_at(motion, at), (count - 1) / motion.duration)


def poses_at(motion: Motion, at: Float[Tensor, " sample"]) -> Pose:
    """Poses at fractional frame numbers, on cubic (Catmull–Rom) curves through the frames."""
    pose = motion.pose
    rotation = _curve(align_hemisphere(pose.root_rotation), at)
    rotation = rotation / rotation.norm(dim=-1, keepdim=True)
    return Pose(_curve(pose.root_position, at), rotation, _curve(pose.angles, at))


def in_place(motion: Motion) -> Motion:
    """The motion without its travel: steady movement over the ground is taken out, swaying stays."""
    position = motion.pose.root_position
    along = torch.linspace(0, 1, motion.frame_count, dtype=position.dtype)[:, None]
    travel = (position[-1] - position[0]) * torch.tensor((1.0, 0.0, 1.0), dtype=position.dtype)
    return replace(motion, pose=Pose(position - along * travel, motion.pose.root_rotation, motion.pose.angles))


def thinned(motion: Motion, count: int) -> Motion:
    """At most ``count`` frames of a motion, evenly spread from its first to its last, for pictures of it."""
    chosen = torch.linspace(0, motion.frame_count - 1, min(count, motion.frame_count)).round().long()
    return Motion(motion.pose[chosen], motion.fps * len(chosen) / motion.frame_count)


def crop(motion: Motion, start: float, end: float) -> Motion:
    """The frames from start to end [s], both included."""
    first, last = round(start * motion.fps), round(end * motion.fps)
    if not 0 <= first <= last < motion.frame_count:
        raise AkdError(
            f"Cannot crop {start}–{end} s from a clip of {motion.duration:.3f} s: choose times inside it."
        )
    return replace(motion, pose=motion.pose[first : last + 1])


def repeat(motion: Motion, count: int) -> Motion:
    """The clip ``count`` times in a row, each turn starting where, and facing as, the one before ended."""
    if count < 1:
        raise AkdError(f"A clip can be repeated once or more, not {count} times.")
    pose, parts = motion.pose, [motion.pose]
    first = _heading(pose.root_rotation[0])
    for _ in range(count - 1):
        last = parts[-1]
        turn = quaternion_multiply(_heading(last.root_rotation[-1]), quaternion_conjugate(first))
        flat = torch.tensor((1.0, 0.0, 1.0), dtype=turn.dtype)
        away = (pose.root_position - pose.root_position[0] * flat) @ quaternion_to_matrix(turn).T
        position = away + last.root_position[-1] * flat
        parts.append(Pose(position, quaternion_multiply(turn.expand_as(pose.root_rotation), pose.root_rotation), pose.angles))
    joined = [parts[0]] + [part[1:] for part in parts[1:]]
    return replace(
        motion,
        pose=Pose(
            torch.cat([p.root_position for p in joined]),
            align_hemisphere(torch.cat([p.root_rotation for p in joined])),
            torch.cat([p.angles for p in joined]),
        ),
    )


def close_loop(motion: Motion) -> Motion:
    """Make the ends meet: the gap between last and first pose is spread evenly over the clip. Travel and turning stay."""
    pose, count = motion.pose, motion.frame_count
    u = torch.linspace(0, 1, count, dtype=pose.angles.dtype)
    rest_of = quaternion_multiply(quaternion_conjugate(_heading(pose.root_rotation)), pose.root_rotation)
    gap = quaternion_to_rotation_vector(quaternion_multiply(quaternion_conjugate(rest_of[-1]), rest_of[0]))
    rotation = quaternion_multiply(pose.root_rotation, rotation_vector_to_quaternion(u[:, None] * gap))
    up = torch.tensor((0.0, 1.0, 0.0), dtype=u.dtype)
    lift = u[:, None] * (pose.root_position[0] - pose.root_position[-1]) * up
    turns = 2 * torch.pi * torch.round((pose.angles[-1] - pose.angles[0]) / (2 * torch.pi))
    angles = pose.angles + u[:, None, None] * (pose.angles[0] + turns - pose.angles[-1])
    return replace(motion, pose=Pose(pose.root_position + lift, rotation, angles))


def mirror(skeleton: Skeleton, motion: Motion) -> Motion:
    """Left and right exchanged: seen in a mirror that stands on the character's symmetry plane."""
    pose = motion.pose
    flip = torch.diag(torch.tensor((1.0, 1.0, -1.0), dtype=pose.angles.dtype))
    partner = torch.as_tensor(skeleton.mirror)
    change = torch.as_tensor(mirror_maps(skeleton.frames, skeleton.mirror), dtype=pose.angles.dtype)
    angles = continuous_angles(change @ angles_to_matrix(pose.angles[:, partner]) @ change.transpose(-1, -2))
    angles = torch.cat((torch.zeros_like(angles[:, :1]), angles[:, 1:]), 1)
    rotation = pose.root_rotation * torch.tensor((1.0, -1.0, -1.0, 1.0), dtype=angles.dtype)
    return replace(motion, pose=Pose(pose.root_position @ flip, rotation, angles))


def blend(first: Motion, second: Motion, weight: float | Float[Tensor, " frame"]) -> Motion:
    """Between two clips of equal length and rate: 0 is the first, 1 the second, or a weight for every frame."""
    a, b = first.pose, second.pose
    if a.angles.shape != b.angles.shape or first.fps != second.fps:
        raise AkdError(
            f"Only clips of equal length and rate can be blended, not {first.frame_count} frames at {first.fps} fps"
            f" and {second.frame_count} at {second.fps}: resample one of them."
        )
    u = torch.as_tensor(weight, dtype=a.angles.dtype).expand(first.frame_count)[:, None]
    one, other = (rotation / rotation.norm(dim=-1, keepdim=True) for rotation in (a.root_rotation, b.root_rotation))
    return replace(
        first,
        pose=Pose(
            torch.lerp(a.root_position, b.root_position, u), slerp(one, other, u), torch.lerp(a.angles, b.angles, u[..., None])
        ),
    )


def _heading(rotation: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 4"]:
    """The part of a rotation that turns about the vertical."""
    about_y = rotation * torch.tensor((1.0, 0.0, 1.0, 0.0), dtype=rotation.dtype)
    length = about_y.norm(dim=-1, keepdim=True)
    upright = torch.tensor((1.0, 0.0, 0.0, 0.0), dtype=rotation.dtype)
    return torch.where(length > 1e-6, about_y / length.clamp(min=1e-6), upright)  # upside down: no heading, call it zero


def _curve(values: Float[Tensor, " frame *shape"], at: Float[Tensor, " sample"]) -> Float[Tensor, " sample *shape"]:
    """Catmull–Rom curve through frames, at fractional frame numbers; straight on beyond the ends."""
    padded = torch.cat((2 * values[:1] - values[1:2], values, 2 * values[-1:] - values[-2:-1]))
    index = at.floor().long().clamp(0, len(values) - 2)
    u = (at - index).to(values.dtype).reshape(-1, *[1] * (values.ndim - 1))
    p0, p1, p2, p3 = (padded[index + k] for k in range(4))
    slope1, slope2 = (p2 - p0) / 2, (p3 - p1) / 2
    return p1 + u * (slope1 + u * (3 * (p2 - p1) - 2 * slope1 - slope2 + u * (2 * (p1 - p2) + slope1 + slope2)))
