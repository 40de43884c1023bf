"""One rig's view of the network: poses in radians in, what the network believes them to be out."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from akd.posespace.network import EncodedRigs, PoseNetwork, level, normalise, restore
from akd.posespace.representation import RigDescriptor, RotationVectors
from akd.posespace.rig_batch import rig_batch

STEPS = 16
"""Steps from noise to a pose."""
FARTHEST = 3.5
"""Guesses are kept within so many spreads of the middle: nothing that was learned lies further out."""
GUIDED = 0.5
"""Guesses at less noise than this are clear enough to be guided."""
Poses = Float[Tensor, "pose joint 3"]
Guide = Callable[[Poses], Poses]
"""What to believe instead of a guess: unit poses to unit poses."""


@dataclass(frozen=True, eq=False)
class Denoiser:
    """The network with one rig read into it. Poses are normalised bends ("unit") or bends [rad]."""

    network: PoseNetwork
    rig: EncodedRigs
    deal: Float[Tensor, " joint"]
    """Rank of each joint in the order in which random numbers are dealt."""

    @classmethod
    def of(cls, network: PoseNetwork, sketch: RigDescriptor) -> "Denoiser":
        with torch.no_grad():
            rig = network.encode(rig_batch([sketch]))
        return cls(network, rig, torch.as_tensor(sketch.canonical).float())

    @property
    def spread(self) -> Float[Tensor, "joint 3"]:
        """How far each joint usually bends [rad]."""
        return self.rig.range.spread[0]

    @property
    def mean(self) -> Float[Tensor, "joint 3"]:
        return self.rig.range.mean[0]

    def to_unit(self, bends: RotationVectors) -> RotationVectors:
        return normalise(self.rig.range, bends.flatten(0, -3)[None])[0].reshape(bends.shape)

    def to_bends(self, unit: RotationVectors) -> RotationVectors:
        return restore(self.rig.range, unit.flatten(0, -3)[None])[0].reshape(unit.shape)

    def noise(self, count: int, seed: int) -> Poses:
        """Random numbers that belong to joints, not to their numbers: the same rig in another order gets the same poses."""
        dealt = torch.randn(count, len(self.deal), 3, generator=torch.Generator().manual_seed(seed))
        return dealt[:, self.deal.long()]

    @torch.no_grad()
    def guess(self, noisy: Poses, t: float, handles: Float[Tensor, "pose joint 4"] | None = None) -> Poses:
        """The clean unit poses behind noisy ones."""
        times = torch.full((len(noisy),), t, dtype=noisy.dtype)
        told = None if handles is None else handles[None]
        return self.network.denoise(self.rig, noisy[None], times[None], told)[0].clamp(-FARTHEST, FARTHEST)

    def decode(self, noise: Poses, steps: int = STEPS, guide: Guide | None = None) -> Poses:
        """From noise to unit poses, deterministically (DDIM); a guide may change what is believed on the way."""
        return self._along(noise, torch.linspace(1, 0, steps + 1), guide)

    def invert(self, unit: Poses, steps: int = 4 * STEPS) -> Poses:
        """The noise that ``decode`` turns into these poses, as nearly as the steps allow."""
        return self._along(unit, torch.linspace(0, 1, steps + 1))

    def _along(self, z: Poses, times: Float[Tensor, " time"], guide: Guide | None = None) -> Poses:
        for now, then in itertools.pairwise(times):
            clean = self.guess(z, float(now))
            if guide is not None and now < GUIDED:
                clean = guide(clean)
            (alpha, sigma), (alpha_then, sigma_then) = level(now), level(then)
            z = alpha_then * clean + sigma_then * (z - alpha * clean) / sigma
        return z
