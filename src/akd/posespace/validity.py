"""Is a pose possible? Three differentiable validators: bones as capsules, thick parts as grids, and learned ranges."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.posespace.bends import Bends
from akd.posespace.capsules import Capsules, capsule_depths, capsules_of
from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.flesh_grids import FleshGrids, flesh_grids, grid_depths
from akd.posespace.rig_batch import RigBatch, posed
from akd.posespace.sketch import Sketch
from akd.rig import Rig

SHALLOW = 0.03
"""Flesh this deep in other flesh does not show [ℓ]."""
WIDE, SLACK = 3.0, 0.4
"""Bends are possible up to so many spreads from the middle, and somewhat more [rad]: nothing is quite stiff."""
REPAIRS = 30
"""Steps of pulling a pose apart."""
STEP = 0.06
"""Largest change of a normalised bend in one of them."""


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
    def of(cls, rig: Rig, sketch: Sketch, denoiser: Denoiser) -> "Validators":
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

    def beyond(self, bends: Bends) -> Bends:
        """How far each angle is out of its range [spreads]."""
        return (self.denoiser.to_unit(bends).abs() - self.farthest).clamp(min=0)

    def penalty(self, bends: Poses) -> Float[Tensor, " pose"]:
        """Zero for sound poses; what repair and guidance make small."""
        return 100 * self.depths(bends).square().sum(-1) + self.beyond(bends).square().sum((-1, -2))

    @torch.no_grad()
    def faults(self, bends: Poses) -> Faults:
        depths = self.depths(bends)
        deepest = depths.amax(-1) if depths.shape[-1] else bends.new_zeros(len(bends))
        return Faults(deepest, self.beyond(bends).flatten(1).amax(-1))

    def repaired(self, bends: Poses, steps: int = REPAIRS) -> Poses:
        """The poses, changed as little as it takes until nothing is inside anything; sound ones stay as they are."""
        unit = self._within(self.denoiser.to_unit(bends))
        for _ in range(steps):
            unit = unit.detach().requires_grad_(True)
            penalty = self.penalty(self.denoiser.to_bends(unit))
            broken = (self.faults(self.denoiser.to_bends(unit.detach())).depth > SHALLOW).nonzero()[:, 0]
            if not len(broken):
                break
            (slope,) = torch.autograd.grad(penalty[broken].sum(), unit)
            largest = slope.abs().amax((-1, -2), keepdim=True).clamp(min=1e-9)
            unit = unit - STEP * slope / largest
        return self.denoiser.to_bends(self._within(unit.detach()))

    def _within(self, unit: Bends) -> Bends:
        """Cut to the range; a hair inside, so that rounding does not put it out again."""
        return torch.minimum(torch.maximum(unit, 1e-3 - self.farthest), self.farthest - 1e-3)
