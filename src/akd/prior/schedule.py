"""Noise schedules, and conversions between ε-, v-, flow and x0-prediction.

A noisy latent is ``z_t = alpha · x0 + sigma · ε``. Diffusion models keep alpha² + sigma² = 1 and predict ε or
v = alpha · ε − sigma · x0; flow models keep alpha + sigma = 1 and predict u = ε − x0. All conversions below hold for any
alpha and sigma. Time runs from 0 (x0) to 1 (noise).
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

Prediction = Literal["v", "epsilon", "flow"]
Latents = Float[Tensor, "batch channel cell row column"]
"""Cells of latents: a few frames and a square of pixels each."""


class NoiseLevel(NamedTuple):
    """Factors of x0 (alpha) and of the noise (sigma) in a noisy latent, shaped to multiply latents."""

    alpha: Float[Tensor, "#batch 1 1 1 1"]
    sigma: Float[Tensor, "#batch 1 1 1 1"]


class Denoised(NamedTuple):
    """x0-prediction and noise prediction for a noisy latent."""

    x0: Latents
    noise: Latents


@dataclass(frozen=True, eq=False)
class NoiseSchedule:
    """The schedule a network was trained with."""

    prediction: Prediction
    alpha_table: Float[Tensor, " step"] | None = None
    """√ᾱ of every training step of a diffusion model; flow models have none: alpha is 1 − t, sigma is t."""
    train_steps: int = 1000
    """The network's timestep at time 1."""
    shift: float = 1.0
    """Timestep shift toward high noise when sampling flow models; 1 is none."""
    few_steps: tuple[float, ...] = ()
    """Times, from noise on, that step-distilled models of the family were trained for; runs of as many steps take them."""

    def level(self, t: Float[Tensor, " batch"]) -> NoiseLevel:
        """Alpha and sigma at a time."""
        if self.alpha_table is None:
            alpha, sigma = 1 - t, t
        else:
            alpha = self.alpha_table.to(t.device)[self._step(t)]
            sigma = (1 - alpha.square()).clamp(min=0).sqrt()
        return NoiseLevel(*(part.to(t.dtype).reshape(-1, 1, 1, 1, 1) for part in (alpha, sigma)))

    def network_time(self, t: Float[Tensor, " batch"]) -> Tensor:
        """The number the network takes as its timestep."""
        return t * self.train_steps if self.alpha_table is None else self._step(t)

    def sampling_times(self, count: int) -> Float[Tensor, " step"]:
        """Times of a sampling run from 1 (noise) to 0, both included."""
        if count == len(self.few_steps):
            return torch.tensor((*self.few_steps, 0.0))
        t = torch.linspace(1, 0, count + 1)
        return self.shift * t / (1 + (self.shift - 1) * t)

    def denoised(self, prediction: Latents, z_t: Latents, level: NoiseLevel) -> Denoised:
        """x0 and noise that the network's own kind of prediction stands for."""
        return DENOISED_FROM[self.prediction](prediction, z_t, level)

    def target(self, x0: Latents, noise: Latents, level: NoiseLevel) -> Latents:
        """What the network should predict."""
        return TARGETS[self.prediction](x0, noise, level)

    def _step(self, t: Float[Tensor, " batch"]) -> Tensor:
        return (t * self.train_steps).round().long().clamp(1, self.train_steps) - 1


def add_noise(x0: Latents, noise: Latents, level: NoiseLevel) -> Latents:
    """The noisy latent."""
    return level.alpha * x0 + level.sigma * noise


def denoised_from_v(v: Latents, z_t: Latents, level: NoiseLevel) -> Denoised:
    """v and z_t are (x0, noise) rotated by an angle; rotate back."""
    power = level.alpha.square() + level.sigma.square()
    return Denoised((level.alpha * z_t - level.sigma * v) / power, (level.sigma * z_t + level.alpha * v) / power)


def denoised_from_epsilon(epsilon: Latents, z_t: Latents, level: NoiseLevel) -> Denoised:
    """Subtract the noise; undefined where alpha is 0."""
    return Denoised((z_t - level.sigma * epsilon) / level.alpha, epsilon)


def denoised_from_flow(flow: Latents, z_t: Latents, level: NoiseLevel) -> Denoised:
    """Go back along the straight line from x0 to noise."""
    x0 = (z_t - level.sigma * flow) / (level.alpha + level.sigma)
    return Denoised(x0, x0 + flow)


def v_target(x0: Latents, noise: Latents, level: NoiseLevel) -> Latents:
    """v = alpha · ε − sigma · x0."""
    return level.alpha * noise - level.sigma * x0


def epsilon_target(x0: Latents, noise: Latents, level: NoiseLevel) -> Latents:
    """ε itself."""
    return noise.expand_as(x0)


def flow_target(x0: Latents, noise: Latents, level: NoiseLevel) -> Latents:
    """u = ε − x0."""
    return noise - x0


def classifier_free_guidance(conditional: Latents, unconditional: Latents, scale: float) -> Latents:
    """Classifier-free guidance: 0 ignores the text, 1 follows it, more exaggerates it."""
    return unconditional + scale * (conditional - unconditional)


DENOISED_FROM = {"v": denoised_from_v, "epsilon": denoised_from_epsilon, "flow": denoised_from_flow}
TARGETS = {"v": v_target, "epsilon": epsilon_target, "flow": flow_target}


def diffusion_schedule(prediction: Prediction, alphas_cumprod: Float[Tensor, " step"]) -> NoiseSchedule:
    """From ᾱ of every training step, the table that diffusers' schedulers keep."""
    return NoiseSchedule(prediction, alphas_cumprod.double().clamp(min=0).sqrt(), len(alphas_cumprod))
