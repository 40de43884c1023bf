"""A pose: where the root is, how it is turned, and three angles per joint."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


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
