"""How plausible is a pose? What the denoiser would change about it, joint by joint, beside what it changes about good poses."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.network import level

TIMES = (0.12, 0.22, 0.32)
"""Noise under which a pose is looked at."""
DRAWS = 2
"""Draws of noise for each time, each with its opposite."""
TOLERANCE = 2.0
"""Poses may be so much stranger than the strangest good one that is known: artists bend rigs in ways of their own."""
FAR_OUT = 0.15
"""Weight of what lies more than two spreads from the middle."""
SEED = 20_000


class Score(NamedTuple):
    """What the pose space thinks of poses."""

    strangeness: Float[Tensor, " pose"]
    """The worst joint's residual, relative to what good poses have there."""
    percentile: Float[Tensor, " pose"]
    """Share of good poses that are stranger, 0 to 100."""
    blame: Int[Tensor, " pose"]
    """The joint that is to blame."""
    plausible: Bool[Tensor, " pose"]
    """Whether it could be a pose of this rig at all."""


@dataclass(frozen=True, eq=False)
class PoseScorer:
    """What good poses of a rig look like to the denoiser."""

    denoiser: Denoiser
    usual: Float[Tensor, " joint"]
    """Mean residual of each joint over good poses."""
    reference: Float[Tensor, " sample"]
    """Strangeness of good poses, rising."""

    @classmethod
    def of(cls, denoiser: Denoiser, good: Poses) -> "PoseScorer":
        """Learn from poses that are known to be good: the space's own samples."""
        found = residuals(denoiser, good)
        usual = found.mean(0) + 0.25 * found.mean()
        return cls(denoiser, usual, (found / usual).amax(-1).sort().values)

    def score(self, bends: Poses) -> Score:
        strangeness, blame = (residuals(self.denoiser, bends) / self.usual).max(-1)
        stranger = len(self.reference) - torch.searchsorted(self.reference, strangeness)
        plausible = strangeness <= TOLERANCE * self.reference[-1]
        return Score(strangeness, 100 * stranger / len(self.reference), blame, plausible)


@torch.no_grad()
def residuals(denoiser: Denoiser, bends: Poses) -> Float[Tensor, "pose joint"]:
    """What the denoiser would change about each joint, in spreads, squared; and a little for being out of its range.

    Changes are averaged over noises before they are squared: what is left is about the pose, not about the noise.
    """
    unit = denoiser.to_unit(bends)
    total = FAR_OUT * (unit.abs() - 2).clamp(min=0).square().sum(-1)
    noises = denoiser.noise(DRAWS, SEED)
    for t in TIMES:
        alpha, sigma = level(torch.tensor(t))
        change = torch.zeros_like(unit)
        for noise in torch.cat((noises, -noises)):
            change += (denoiser.guess(alpha * unit + sigma * noise, t) - unit) / (2 * DRAWS)
        total += change.square().mean(-1) / sigma.square() / len(TIMES)
    return total
