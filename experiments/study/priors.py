"""Priors for studies: one that counts its work, and the controls with a zero score and with random weights."""

import torch
from torch import Tensor

from akd.prior.family import Condition, TextEmbedding
from akd.prior.prior import VideoPrior
from akd.prior.schedule import Denoised, Latents


class CountedPrior(VideoPrior):
    """A prior that counts network evaluations and encoded films."""

    def __init__(self, prior: VideoPrior) -> None:
        super().__init__(prior.family, prior.film)
        self.trained_on_captions = prior.trained_on_captions
        self.known_actions, self.known_modifiers = prior.known_actions, prior.known_modifiers
        self.reader = prior.reader
        self.evaluations = 0
        """Clips that went through the network."""
        self.renders = 0
        """Films that were encoded."""

    def encode(self, video: Tensor) -> Latents:
        self.renders += len(video)
        return super().encode(video)

    def predict(self, z_t: Latents, t: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        self.evaluations += len(z_t)
        return super().predict(z_t, t, text, condition)


class ZeroScorePrior(CountedPrior):
    """A prior whose score is zero: it predicts exactly the clip that was encoded."""

    shown: Tensor

    def encode(self, video: Tensor) -> Latents:
        latents = super().encode(video)
        self.shown = latents.detach()
        return latents

    def denoise(
        self, z_t: Latents, t: Tensor, text: TextEmbedding, negative: TextEmbedding | None = None, guidance: float = 1.0,
        condition: Condition | None = None,
    ) -> Denoised:  # fmt: skip
        level = self.schedule.level(t)
        clean = self.shown.expand_as(z_t)
        shape = (-1, *[1] * (z_t.ndim - 1))
        return Denoised(clean, (z_t - level.alpha.reshape(shape) * clean) / level.sigma.reshape(shape))


def with_random_weights(prior: VideoPrior, seed: int = 0) -> VideoPrior:
    """The same network with random weights; changes the given prior."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for part in prior.family.network.modules():
            if hasattr(part, "reset_parameters"):
                part.reset_parameters()
    return prior
