"""How poses are noised: ``z_t = α_t u + σ_t ε`` with α² + σ² = 1, t from 0 (clean) to 1 (noise only)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

LEAST = 0.02
"""At t = 0 a trace of noise is left, so that the logarithm of signal to noise is finite."""


class Level(NamedTuple):
    """Shares of signal and noise."""

    alpha: Float[Tensor, "*batch"]
    sigma: Float[Tensor, "*batch"]


def level(t: Float[Tensor, "*batch"]) -> Level:
    """The cosine schedule."""
    angle = (LEAST + (1 - LEAST) * t) * (torch.pi / 2 - 1e-3)
    return Level(torch.cos(angle), torch.sin(angle))


def log_snr(t: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """``log(α² / σ²)``, what the network is told of the noise."""
    alpha, sigma = level(t)
    return 2 * (alpha / sigma).log()
