"""How plausible is a pose? By what the denoiser changes about it, joint by joint, relative to what it changes about samples."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.network import noise_level

NOISE_TIMES = (0.12, 0.22, 0.32)
"""Noise times at which poses are denoised."""
NOISE_PAIRS = 2
"""Draws of noise for each time, each used with both signs."""
TOLERANCE = 2.0
"""Poses are plausible up to this factor times the largest anomaly of samples: artists pose rigs in ways of their own."""
OUT_OF_RANGE_WEIGHT = 0.15
"""Weight of what lies more than two spreads from the mean."""
NOISE_SEED = 20_000


class Score(NamedTuple):
    """How plausible poses are."""

    anomaly: Float[Tensor, " pose"]
    """The worst joint's residual, relative to that of samples."""
    percentile: Float[Tensor, " pose"]
    """Share of samples with a larger anomaly, 0 to 100."""
    worst_joint: Int[Tensor, " pose"]
    """The joint with the largest relative residual."""
    plausible: Bool[Tensor, " pose"]
    """Whether the anomaly is within the tolerance."""


@dataclass(frozen=True, eq=False)
class PoseScorer:
    """The residuals of good poses of a rig, to which others are compared."""

    denoiser: Denoiser
    mean_residual: Float[Tensor, " joint"]
    """Of each joint over good poses, plus a quarter of the mean over joints, so that no joint counts too much."""
    reference: Float[Tensor, " sample"]
    """Anomalies of good poses, rising."""

    @classmethod
    def of(cls, denoiser: Denoiser, good: Poses) -> "PoseScorer":
        """A scorer that compares to these poses: samples of the pose space."""
        found = residuals(denoiser, good)
        mean_residual = found.mean(0) + 0.25 * found.mean()
        return cls(denoiser, mean_residual, (found / mean_residual).amax(-1).sort().values)

    def score(self, vectors: Poses) -> Score:
        """Compare poses to the reference."""
        anomaly, worst = (residuals(self.denoiser, vectors) / self.mean_residual).max(-1)
        above = len(self.reference) - torch.searchsorted(self.reference, anomaly)
        plausible = anomaly <= TOLERANCE * self.reference[-1]
        return Score(anomaly, 100 * above / len(self.reference), worst, plausible)


@torch.no_grad()
def residuals(denoiser: Denoiser, vectors: Poses) -> Float[Tensor, "pose joint"]:
    """Squared change of each joint by the denoiser [spreads²], plus a penalty outside its range.

    Changes are averaged over draws of noise before they are squared: what is left is due to the pose, not to the noise.
    """
    normalised = denoiser.to_normalised(vectors)
    total = OUT_OF_RANGE_WEIGHT * (normalised.abs() - 2).clamp(min=0).square().sum(-1)
    noises = denoiser.noise(NOISE_PAIRS, NOISE_SEED)
    for t in NOISE_TIMES:
        alpha, sigma = noise_level(torch.tensor(t))
        change = torch.zeros_like(normalised)
        for noise in torch.cat((noises, -noises)):
            change += (denoiser.denoise(alpha * normalised + sigma * noise, t) - normalised) / (2 * NOISE_PAIRS)
        total += change.square().mean(-1) / sigma.square() / len(NOISE_TIMES)
    return total
