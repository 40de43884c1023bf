"""How plausible is a pose? By what the denoiser changes about it, joint by joint, relative to what it changes about samples."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.posespace.denoiser import MAX_DEVIATION, Denoiser, Poses
from akd.posespace.network import noise_level

NOISE_TIMES = (0.12, 0.22, 0.32)
"""Noise times at which poses are denoised."""
NOISE_PAIRS = 2
"""Draws of noise for each time, each used with both signs."""
TOLERANCE = 2.0
"""Poses are plausible up to this factor times the largest anomaly of samples: artists pose rigs in ways of their own."""
TOLERATED = 1.0
"""Poses are plausible up to so much above the largest anomaly of real poses [nats]."""
RESIDUAL_WEIGHT = 0.3
"""Weight of the logarithm of the worst joint's relative residual, beside the verdict of the network's judge."""
OUT_OF_RANGE_WEIGHT = 0.15
"""Weight of what lies more than two spreads from the mean."""
NOISE_SEED = 20_000
JUDGED_BELOW_TIME = 0.25
"""The judge was trained at noise times below this."""
JUDGED_TIMES = sum(t <= JUDGED_BELOW_TIME for t in NOISE_TIMES)


class Score(NamedTuple):
    """How plausible poses are."""

    anomaly: Float[Tensor, " pose"]
    """How strange the pose is: by the network's verdict and by its worst joint, relative to samples."""
    percentile: Float[Tensor, " pose"]
    """Share of real poses, of rigs that training did not see, with a larger anomaly, 0 to 100; of samples for weights without a
    calibration."""
    worst_joint: Int[Tensor, " pose"]
    """The strangest joint."""
    plausible: Bool[Tensor, " pose"]
    """Whether the anomaly is within the tolerance."""


class Residuals(NamedTuple):
    """What the network says about each joint of poses."""

    change: Float[Tensor, "pose joint"]
    """Squared change by the denoiser [spreads²], plus a penalty outside the joint's range."""
    broken: Float[Tensor, " pose"]
    """How sure the network is that the pose is broken, as a logit; zero where it does not judge."""
    broken_joint: Float[Tensor, "pose joint"]
    """The same for each joint."""


@dataclass(frozen=True, eq=False)
class PoseScorer:
    """What is usual for a rig, to which its poses are compared."""

    denoiser: Denoiser
    mean_residual: Float[Tensor, " joint"]
    """Of each joint over samples, plus a quarter of the mean over joints, so that no joint counts too much."""
    usual: float
    """Anomaly of the median sample: others are told relative to it."""
    reference: Float[Tensor, " sample"]
    """Anomalies of samples, rising."""

    @classmethod
    def of(cls, denoiser: Denoiser, good: Poses) -> "PoseScorer":
        """A scorer that compares to these poses: samples of the pose space."""
        found = residuals(denoiser, good)
        first = cls(denoiser, found.change.mean(0) + 0.25 * found.change.mean(), 0.0, torch.zeros(0))
        plain = first.anomalies(found)[0]
        usual = float(plain.median()) if denoiser.network.config.judges else 0.0
        return replace(first, usual=usual, reference=(plain - usual).sort().values)

    def anomalies(self, found: Residuals) -> tuple[Float[Tensor, " pose"], Int[Tensor, " pose"]]:
        """How strange poses are, and their strangest joints."""
        relative = found.change / self.mean_residual
        if not self.denoiser.network.config.judges:
            return relative.max(-1)
        by_joint = RESIDUAL_WEIGHT * relative.clamp(min=1e-6).log()
        worst = (by_joint + found.broken_joint).argmax(-1)
        return found.broken + by_joint.amax(-1) - self.usual, worst

    def score(self, vectors: Poses) -> Score:
        """Compare poses to what is usual."""
        anomaly, worst = self.anomalies(residuals(self.denoiser, vectors))
        known = self._calibration()
        if known is None:
            above = len(self.reference) - torch.searchsorted(self.reference, anomaly)
            return Score(anomaly, 100 * above / len(self.reference), worst, anomaly <= self._most())
        at = torch.searchsorted(known, anomaly).clamp(1, len(known) - 1)
        share = ((anomaly - known[at - 1]) / (known[at] - known[at - 1]).clamp(min=1e-6)).clamp(0, 1)
        percentile = 100 - 100 * (at - 1 + share) / (len(known) - 1)
        return Score(anomaly, percentile, worst, anomaly <= known[-1] + TOLERATED)

    def _most(self) -> float:
        """The largest anomaly of plausible poses, where real ones are not known."""
        largest = float(self.reference[-1])
        return largest + TOLERATED if self.denoiser.network.config.judges else TOLERANCE * largest

    def _calibration(self) -> Float[Tensor, " quantile"] | None:
        """Quantiles of the anomaly of real poses, if the weights have them."""
        network = self.denoiser.network
        if not network.config.judges or not bool(network.calibration.any()):
            return None
        return network.calibration[int(self.denoiser.rig.examples is not None)]


@torch.no_grad()
def residuals(denoiser: Denoiser, vectors: Poses) -> Residuals:
    """What the denoiser changes about poses, and its verdict.

    Changes are averaged over draws of noise before they are squared: what is left is due to the pose, not to the noise.
    """
    normalised = denoiser.to_normalised(vectors)
    total = OUT_OF_RANGE_WEIGHT * (normalised.abs() - 2).clamp(min=0).square().sum(-1)
    shown = normalised.clamp(-MAX_DEVIATION, MAX_DEVIATION)
    broken, broken_joint = torch.zeros(len(vectors)), torch.zeros(vectors.shape[:2])
    noises = denoiser.noise(NOISE_PAIRS, NOISE_SEED)
    for t in NOISE_TIMES:
        alpha, sigma = noise_level(torch.tensor(t))
        change = torch.zeros_like(normalised)
        for noise in torch.cat((noises, -noises)):
            clean, verdict = denoiser.denoise_and_judge(alpha * shown + sigma * noise, t)
            change += (clean - normalised) / (2 * NOISE_PAIRS)
            if verdict is not None and t <= JUDGED_BELOW_TIME:
                broken += verdict.pose / (2 * NOISE_PAIRS * JUDGED_TIMES)
                broken_joint += verdict.joint / (2 * NOISE_PAIRS * JUDGED_TIMES)
        total += change.square().mean(-1) / sigma.square() / len(NOISE_TIMES)
    return Residuals(total, broken, broken_joint)
