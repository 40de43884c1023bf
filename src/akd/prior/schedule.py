"""Noise: how much of it there is at a time, and how the things a network may predict follow from one another.

A noisy latent is ``z_t = signal · x0 + noise · ε``. Diffusion models keep signal² + noise² = 1 and predict ε or
v = signal · ε − noise · x0; flow models keep signal + noise = 1 and predict u = ε − x0. All conversions below hold for any
pair of levels. Time runs from 0 (clean) to 1 (noise).
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

Prediction = Literal["v", "epsilon", "flow"]
Latents = Float[Tensor, "batch channel cell row column"]
"""Cells of latents: a few frames and a square of pixels each."""


class Level(NamedTuple):
    """How much signal and noise a latent holds, shaped to multiply latents."""

    signal: Float[Tensor, "#batch 1 1 1 1"]
    noise: Float[Tensor, "#batch 1 1 1 1"]


class Denoised(NamedTuple):
    """What a prediction says lies behind a noisy latent."""

    clean: Latents
    noise: Latents


@dataclass(frozen=True, eq=False)
class NoiseSchedule:
    """The schedule a network was trained with."""

    prediction: Prediction
    signal_table: Float[Tensor, " step"] | None = None
    """√ᾱ of every training step of a diffusion model; flow models have none, their levels are 1 − t and t."""
    train_steps: int = 1000
    """What the network calls time 1."""
    shift: float = 1.0
    """How far sampling leans toward high noise, for flow models."""

    def level(self, t: Float[Tensor, " batch"]) -> Level:
        """Signal and noise at a time."""
        if self.signal_table is None:
            signal, noise = 1 - t, t
        else:
            signal = self.signal_table.to(t.device)[self._step(t)]
            noise = (1 - signal.square()).clamp(min=0).sqrt()
        return Level(*(part.to(t.dtype).reshape(-1, 1, 1, 1, 1) for part in (signal, noise)))

    def network_time(self, t: Float[Tensor, " batch"]) -> Tensor:
        """The number the network takes as its timestep."""
        return t * self.train_steps if self.signal_table is None else self._step(t)

    def sampling_times(self, count: int) -> Float[Tensor, " step"]:
        """From noise to clean, both ends included."""
        t = torch.linspace(1, 0, count + 1)
        return self.shift * t / (1 + (self.shift - 1) * t)

    def guess(self, prediction: Latents, z_t: Latents, level: Level) -> Denoised:
        """What the network's own kind of prediction means."""
        return DENOISED_FROM[self.prediction](prediction, z_t, level)

    def target(self, clean: Latents, noise: Latents, level: Level) -> Latents:
        """What the network should predict."""
        return TARGETS[self.prediction](clean, noise, level)

    def _step(self, t: Float[Tensor, " batch"]) -> Tensor:
        return (t * self.train_steps).round().long().clamp(1, self.train_steps) - 1


def add_noise(clean: Latents, noise: Latents, level: Level) -> Latents:
    """The noisy latent."""
    return level.signal * clean + level.noise * noise


def denoised_from_v(v: Latents, z_t: Latents, level: Level) -> Denoised:
    """v and z_t are (clean, noise) turned by an angle; turn back."""
    power = level.signal.square() + level.noise.square()
    return Denoised((level.signal * z_t - level.noise * v) / power, (level.noise * z_t + level.signal * v) / power)


def denoised_from_epsilon(epsilon: Latents, z_t: Latents, level: Level) -> Denoised:
    """Subtract the noise; undefined where there is no signal at all."""
    return Denoised((z_t - level.noise * epsilon) / level.signal, epsilon)


def denoised_from_flow(flow: Latents, z_t: Latents, level: Level) -> Denoised:
    """Go back along the straight line from clean to noise."""
    clean = (z_t - level.noise * flow) / (level.signal + level.noise)
    return Denoised(clean, clean + flow)


def v_target(clean: Latents, noise: Latents, level: Level) -> Latents:
    """v = signal · ε − noise · x0."""
    return level.signal * noise - level.noise * clean


def epsilon_target(clean: Latents, noise: Latents, level: Level) -> Latents:
    """ε itself."""
    return noise.expand_as(clean)


def flow_target(clean: Latents, noise: Latents, level: Level) -> Latents:
    """u = ε − x0."""
    return noise - clean


def guide(conditional: Latents, unconditional: Latents, scale: float) -> Latents:
    """Classifier-free guidance: 0 ignores the text, 1 follows it, more exaggerates it."""
    return unconditional + scale * (conditional - unconditional)


DENOISED_FROM = {"v": denoised_from_v, "epsilon": denoised_from_epsilon, "flow": denoised_from_flow}
TARGETS = {"v": v_target, "epsilon": epsilon_target, "flow": flow_target}


def diffusion_schedule(prediction: Prediction, alphas_cumprod: Float[Tensor, " step"]) -> NoiseSchedule:
    """From the table that diffusers' schedulers keep."""
    return NoiseSchedule(prediction, alphas_cumprod.double().clamp(min=0).sqrt(), len(alphas_cumprod))
