"""Is a pose possible? Three differentiable validators: bones as capsules, thick parts as grids, and learned ranges."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.posespace.collision import Capsules, FleshGrids, capsule_depths, capsules_of, flesh_grids, grid_depths
from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.representation import RigDescriptor, RotationVectors
from akd.posespace.rig_batch import RigBatch, posed
from akd.rig import Rig

SHALLOW = 0.03
"""Flesh this deep in other flesh does not show [ℓ]."""
WIDE, SLACK = 3.0, 0.4
"""Bends are possible up to so many spreads from the middle, and somewhat more [rad]: nothing is quite stiff."""
REPAIRS = 30
"""Steps of pulling a pose apart."""
STEP = 0.06
"""Largest change of a normalised bend in one of them."""
GUIDING_STEP = 0.3
"""The same while a pose is still coming out of noise: the denoiser makes the rest of the body follow."""


class Faults(NamedTuple):
    """What is wrong with poses; all zero is sound."""

    depth: Float[Tensor, " pose"]
    """Deepest flesh in other flesh, beyond rest [ℓ]."""
    beyond: Float[Tensor, " pose"]
    """How far the worst joint is bent out of its range [spreads]."""

    @property
    def sound(self) -> Tensor:
        return (self.depth <= SHALLOW) & (self.beyond <= 0)


@dataclass(frozen=True, eq=False)
class Validators:
    """What is asked of every pose of a rig."""

    rigs: RigBatch
    denoiser: Denoiser
    capsules: Capsules
    grids: FleshGrids | None

    @classmethod
    def of(cls, rig: Rig, sketch: RigDescriptor, denoiser: Denoiser) -> "Validators":
        return cls(denoiser.rig.rigs, denoiser, capsules_of(sketch), flesh_grids(rig, sketch))

    def depths(self, bends: Poses) -> Float[Tensor, "pose pair"]:
        """All depths, of capsules and in grids."""
        rotation, position = (part[0] for part in posed(self.rigs, bends[None]))
        found = [capsule_depths(self.capsules, rotation, position)]
        if self.grids is not None:
            found.append(grid_depths(self.grids, rotation, position).flatten(1))
        return torch.cat(found, 1)

    @property
    def farthest(self) -> Float[Tensor, "joint 3"]:
        """How far from the middle each angle may go [spreads]."""
        return WIDE + SLACK / self.denoiser.spread

    def beyond(self, bends: RotationVectors) -> RotationVectors:
        """How far each angle is out of its range [spreads]."""
        return (self.denoiser.to_unit(bends).abs() - self.farthest).clamp(min=0)

    def penalty(self, bends: Poses) -> Float[Tensor, " pose"]:
        """Zero for sound poses; what repair and guidance make small."""
        return self._cost(self.depths(bends), bends)

    def _cost(self, depths: Float[Tensor, "pose pair"], bends: Poses) -> Float[Tensor, " pose"]:
        return 100 * depths.square().sum(-1) + self.beyond(bends).square().sum((-1, -2))

    @torch.no_grad()
    def faults(self, bends: Poses) -> Faults:
        return Faults(_deepest(self.depths(bends)), self.beyond(bends).flatten(1).amax(-1))

    def repaired(self, bends: Poses, steps: int = REPAIRS) -> Poses:
        """The poses, changed as little as it takes until nothing is inside anything; sound ones stay as they are."""
        unit = self._within(self.denoiser.to_unit(bends)).detach()
        left = torch.arange(len(unit))
        for _ in range(steps):
            apart, broken = self._apart(unit[left], STEP)
            left = left[broken]
            if not len(left):
                break
            unit[left] = apart[broken]
        return self.denoiser.to_bends(self._within(unit))

    def guided(self, unit: Poses) -> Poses:
        """Guesses on the way from noise to poses, led out of what they run into."""
        apart, broken = self._apart(unit, GUIDING_STEP)
        return torch.where(broken[:, None, None], apart, unit)

    def _apart(self, unit: Poses, step: float) -> tuple[Poses, Bool[Tensor, " pose"]]:
        """One step out of what poses run into, no angle further than ``step``; and which of them need it."""
        unit = unit.detach().requires_grad_(True)
        bends = self.denoiser.to_bends(unit)
        depths = self.depths(bends)
        (slope,) = torch.autograd.grad(self._cost(depths, bends).sum(), unit)
        largest = slope.abs().amax((-1, -2), keepdim=True).clamp(min=1e-9)
        return (unit - step * slope / largest).detach(), _deepest(depths.detach()) > SHALLOW

    def _within(self, unit: RotationVectors) -> RotationVectors:
        """Cut to the range; a hair inside, so that rounding does not put it out again."""
        return torch.minimum(torch.maximum(unit, 1e-3 - self.farthest), self.farthest - 1e-3)


def _deepest(depths: Float[Tensor, "pose pair"]) -> Float[Tensor, " pose"]:
    """Of each pose; a rig may have nothing to run into."""
    return depths.amax(-1) if depths.shape[-1] else depths.new_zeros(len(depths))
