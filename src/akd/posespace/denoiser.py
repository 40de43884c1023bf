"""The pose network conditioned on one rig: denoising, sampling by DDIM, and inversion.

Poses are joint rotation vectors [rad], or *normalised*: in spreads away from the mean of the rig's range.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.posespace.network import EncodedRigs, Examples, PoseNetwork, Verdict, noise_level, normalise, restore
from akd.posespace.representation import RigDescriptor, RotationVectors
from akd.posespace.rig_batch import rig_batch

DDIM_STEPS = 16
"""DDIM steps from noise to a pose."""
MAX_DEVIATION = 5.0
"""Denoised poses are clamped to so many spreads from the mean: nothing in training lies further out."""
USUAL_NOISE = 1.0
"""Noise that poses are drawn from, relative to that of training."""
COPIED_SHARE = 0.25
"""Share of poses that are loose copies of examples where some are known. Chosen like the looseness by `experiments.pose_choice`:
on families left out it beats PCA and Gaussians of the same examples on six rigs of seven, a half of copies on four."""
LOOSENESS = 0.2
"""How far copies leave the example that they begin with: 0 for the examples themselves, 1 for a Gaussian of all of them."""
MIN_MIXED_EXAMPLES = 4
"""Fewer examples than this say nothing about what lies between them: all poses are drawn from noise."""
GUIDANCE_BELOW_TIME = 0.5
"""Guidance acts at noise times below this, where denoised poses are clear."""
Poses = Float[Tensor, "pose joint 3"]
Guidance = Callable[[Poses], Poses]
"""Changes denoised poses while sampling: normalised poses to normalised poses."""


@dataclass(frozen=True, eq=False)
class Denoiser:
    """The pose network with one rig encoded."""

    network: PoseNetwork
    rig: EncodedRigs
    noise_order: Float[Tensor, " joint"]
    """Rank of each joint in the order in which random numbers are assigned to joints."""
    known: Float[Tensor, "example joint 3"] | None = None
    """The examples, normalised."""

    @classmethod
    def of(
        cls, network: PoseNetwork, descriptor: RigDescriptor, like: Float[Tensor, "example joint 3"] | None = None
    ) -> "Denoiser":
        """The network for a rig, of which some poses may be known [rad]."""
        if like is not None and not network.config.example_blocks:
            raise AkdError("These weights cannot use example poses: take those of the package, or leave --like out.")
        examples = None
        if like is not None and len(like):
            examples = Examples(like[None].float(), torch.ones(1, len(like), dtype=torch.bool))
        with torch.no_grad():
            rig = network.encode(rig_batch([descriptor]), examples)
        known = None if examples is None else normalise(rig.range, examples.vectors)[0]
        return cls(network, rig, torch.as_tensor(descriptor.canonical_rank).float(), known)

    @property
    def spread(self) -> Float[Tensor, "joint 3"]:
        """Standard deviation of each joint's rotation vector [rad]."""
        return self.rig.range.spread[0]

    @property
    def mean(self) -> Float[Tensor, "joint 3"]:
        """Mean of each joint's rotation vector [rad]."""
        return self.rig.range.mean[0]

    def to_normalised(self, vectors: RotationVectors) -> RotationVectors:
        return normalise(self.rig.range, vectors.flatten(0, -3)[None])[0].reshape(vectors.shape)

    def to_vectors(self, normalised: RotationVectors) -> RotationVectors:
        return restore(self.rig.range, normalised.flatten(0, -3)[None])[0].reshape(normalised.shape)

    def noise(self, count: int, seed: int) -> Poses:
        """Gaussian noise that does not depend on the order of joints: the same rig in another order gets the same poses."""
        drawn = torch.randn(count, len(self.noise_order), 3, generator=torch.Generator().manual_seed(seed))
        return drawn[:, self.noise_order.long()]

    @torch.no_grad()
    def denoise(self, noisy: Poses, t: float, handles: Float[Tensor, "pose joint 4"] | None = None) -> Poses:
        """Clean normalised poses predicted from noisy ones (x0), given the noise time and, if any, handles."""
        times = torch.full((len(noisy),), t, dtype=noisy.dtype)
        conditions = None if handles is None else handles[None]
        return self.network.denoise(self.rig, noisy[None], times[None], conditions)[0].clamp(-MAX_DEVIATION, MAX_DEVIATION)

    @torch.no_grad()
    def denoise_and_judge(self, noisy: Poses, t: float) -> tuple[Poses, Verdict | None]:
        """Clean normalised poses, and the network's verdict on the noisy ones if it gives any."""
        times = torch.full((1, len(noisy)), t, dtype=noisy.dtype)
        seen = self.network.look(self.rig, noisy[None], times)
        clean = self.network.clean(noisy[None], times, seen)[0].clamp(-MAX_DEVIATION, MAX_DEVIATION)
        if not self.network.config.judges:
            return clean, None
        verdict = self.network.judge(self.rig, seen)
        return clean, Verdict(verdict.pose[0], verdict.joint[0])

    def draw(
        self, count: int, seed: int, *, noise: float = USUAL_NOISE, copies: float = COPIED_SHARE, looseness: float = LOOSENESS,
        guidance: Guidance | None = None,
    ) -> Poses:  # fmt: skip
        """Normalised poses at random. Where examples are known, a share of them are loose copies of these, evenly between others.

        Copies are where the rig is sure to go; the network, which has seen more than twenty poses, goes to the rest.
        """
        copied = round(copies * count) if self.known is not None and len(self.known) >= MIN_MIXED_EXAMPLES else 0
        drawn = self.decode(noise * self.noise(count, seed)[copied:], guidance=guidance)
        if self.known is None or not copied:
            return drawn
        mean = self.known.mean(0)
        near = (mean + noise * (mixtures(self.known, copied, seed, looseness) - mean)).clamp(-MAX_DEVIATION, MAX_DEVIATION)
        is_copy = torch.zeros(count, dtype=torch.bool)
        is_copy[torch.arange(copied) * count // copied] = True
        out = self.noise(count, seed)
        out[is_copy], out[~is_copy] = near, drawn
        return out

    def decode(self, noise: Poses, steps: int = DDIM_STEPS, guidance: Guidance | None = None) -> Poses:
        """Normalised poses from noise, deterministically (DDIM); guidance may change the denoised poses on the way."""
        return self._ddim(noise, torch.linspace(1, 0, steps + 1), guidance)

    def invert(self, normalised: Poses, steps: int = 4 * DDIM_STEPS) -> Poses:
        """The noise that ``decode`` turns into these poses, as nearly as the steps allow."""
        return self._ddim(normalised, torch.linspace(0, 1, steps + 1))

    def _ddim(self, z: Poses, times: Float[Tensor, " time"], guidance: Guidance | None = None) -> Poses:
        """Deterministic DDIM steps through the noise times, in either direction."""
        for now, then in itertools.pairwise(times):
            clean = self.denoise(z, float(now))
            if guidance is not None and now < GUIDANCE_BELOW_TIME:
                clean = guidance(clean)
            (alpha, sigma), (alpha_then, sigma_then) = noise_level(now), noise_level(then)
            z = alpha_then * clean + sigma_then * (z - alpha * clean) / sigma
        return z


def mixtures(known: Float[Tensor, "example joint 3"], count: int, seed: int, looseness: float = LOOSENESS) -> Poses:
    """Random poses with the mean and covariance of known ones: each begins with one of them, and deviations of all are added.

    The looser, the less is left of the one and the more there is of the others (a smoothed bootstrap).
    """
    randomness = torch.Generator().manual_seed(seed)
    amounts = looseness * torch.randn(count, len(known), generator=randomness) / max(len(known) - 1, 1) ** 0.5
    first = torch.randperm(count, generator=randomness) % len(known)
    amounts += (1 - looseness**2) ** 0.5 * torch.nn.functional.one_hot(first, len(known))
    mean = known.mean(0)
    return mean + torch.einsum("pe,ejk->pjk", amounts, known - mean)
