"""Poses, motions, and their algebra. Frame i of a motion is the instant i / fps; the last frame is the end of the clip."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.rotations import align_hemisphere, continuous_angles, matrix_to_angles, matrix_to_quaternion, quaternion_multiply, slerp

if TYPE_CHECKING:
    from akd.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class Pose:
    """Root placement and joint angles, with any leading batch axes. All of it differentiable."""

    root_position: Float[Tensor, "*batch 3"]
    """Where the root joint is on the stage [ℓ]."""
    root_rotation: Float[Tensor, "*batch 4"]
    """Turn of the root away from rest, wxyz; need not be normalised."""
    angles: Float[Tensor, "*batch joint 3"]
    """Angles about the three axes of each joint's bone frame [rad]; row 0 (the root's) is not used and stays zero."""

    def __getitem__(self, index) -> "Pose":
        """Index the batch axes."""
        return Pose(self.root_position[index], self.root_rotation[index], self.angles[index])

    def detach(self) -> "Pose":
        return Pose(self.root_position.detach(), self.root_rotation.detach(), self.angles.detach())

    def to(self, dtype: torch.dtype) -> "Pose":
        return Pose(self.root_position.to(dtype), self.root_rotation.to(dtype), self.angles.to(dtype))


@dataclass(frozen=True, eq=False)
class Motion:
    """A pose for every frame."""

    pose: Pose
    """Its last batch axis is the frame; axes before it are independent motions of the same length."""
    fps: float
    """Frames per second."""

    def __post_init__(self) -> None:
        if self.pose.angles.ndim < 3 or self.frame_count < 1:
            raise AkdError("A motion needs a frame axis with at least one frame.")
        if not self.fps > 0:
            raise AkdError(f"Frames per second must be positive, not {self.fps}.")

    @property
    def frame_count(self) -> int:
        return self.pose.angles.shape[-3]

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (self.frame_count - 1) / self.fps
