"""Curves over time with few unknowns: every channel is one row of numbers times the same basis.

    values(time) = basis(time) @ coefficients

Free frames, cubic splines and Fourier series differ in their basis only.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

Times = Float[Tensor, " time"]
Basis = Float[Tensor, "time coefficient"]
LEANING = 0.3
"""How much a coefficient of a loop's mean counts beside one of its waves: bodies swing about rest."""
FALL = 2
"""Waves of higher order are smaller by this power of it: what goes twice a round is alike on both sides that take turns."""
HASTE = 0.3
"""How much one unit changes the logarithm of a loop's frequency: legs are pendulums, and slowing down is the lazy way to calm."""
CurveKind = Literal["fourier", "spline", "frames"]


class Curves(nn.Module):
    """Channels over time, all zero at first but for a little noise that breaks the symmetry between left and right."""

    def __init__(self, count: int, channels: int, spread: float, randomness: torch.Generator) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(spread * torch.randn(count, channels, generator=randomness))

    def basis(self, times: Times) -> Basis:
        """How much each coefficient counts at each time [s]."""
        raise NotImplementedError

    def forward(self, times: Times) -> Float[Tensor, "time channel"]:
        return self.basis(times) @ self.coefficients


class Fourier(Curves):
    """A mean and a few harmonics of one free frequency: an exact loop, whatever its coefficients."""

    def __init__(
        self, channels: int, frequency: float, middle: float, *, harmonics: int = 3, spread: float = 0.0,
        randomness: torch.Generator,
    ) -> None:  # fmt: skip
        super().__init__(1 + 2 * harmonics, channels, spread, randomness)
        self.haste = nn.Parameter(torch.tensor(0.0))
        self.start_frequency = frequency
        self.middle = middle
        """When the phase is zero [s]. In the middle of what is seen, so that another frequency changes the ends alike."""
        with torch.no_grad():
            self.coefficients[0] = 0.0

    @property
    def frequency(self) -> Float[Tensor, ""]:
        """Rounds per second."""
        return self.start_frequency * (HASTE * self.haste).exp()

    @property
    def period(self) -> float:
        """Seconds of one round."""
        return 1 / self.frequency.item()

    def basis(self, times: Times) -> Basis:
        phase = 2 * torch.pi * self.frequency * (times - self.middle)
        orders = range(1, (self.coefficients.shape[0] + 1) // 2)
        # Fine wiggles are made of small coefficients: a step of the optimiser should not shake the body.
        waves = [wave(order * phase) / order**FALL for order in orders for wave in (torch.cos, torch.sin)]
        return torch.stack((torch.full_like(times, LEANING), *waves), -1)


class Spline(Curves):
    """Uniform cubic B-splines: smooth up to the curvature."""

    def __init__(
        self, channels: int, duration: float, *, knots_per_second: float, spread: float = 0.0, randomness: torch.Generator
    ) -> None:
        pieces = max(round(duration * knots_per_second), 1)
        super().__init__(pieces + 3, channels, spread, randomness)
        self.pieces_per_second = pieces / duration

    def basis(self, times: Times) -> Basis:
        apart = times[:, None] * self.pieces_per_second - torch.arange(-1, self.coefficients.shape[0] - 1)
        near = apart.abs()
        inner, outer = 2 / 3 - near.square() + near**3 / 2, (2 - near).clamp(min=0) ** 3 / 6
        return torch.where(near < 1, inner, outer).to(times.dtype)


class Frames(Curves):
    """A value for every frame, and straight lines between: the paper's own choice."""

    def __init__(
        self, channels: int, frames: int, fps: float, *, spread: float = 0.0, randomness: torch.Generator
    ) -> None:
        super().__init__(frames, channels, spread, randomness)
        self.fps = fps

    def basis(self, times: Times) -> Basis:
        at = (times * self.fps).clamp(0, self.coefficients.shape[0] - 1)
        return (1 - (at[:, None] - torch.arange(self.coefficients.shape[0])).abs()).clamp(min=0).to(times.dtype)
