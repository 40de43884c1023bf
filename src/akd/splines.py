"""Uniform cubic B-splines over time: curves whose every control point acts on a short stretch only.

    values(time) = basis(time) @ control points

Four control points act at any moment. A loop has as many control points as intervals, and the last ones act on its beginning,
so that value, velocity and acceleration meet at its ends.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

DEGREE = 3


@dataclass(frozen=True)
class Spline:
    """Where the knots are."""

    duration: float
    """From the first moment to the last [s]; with ``loop``, one cycle."""
    intervals: int
    """Stretches between knots, all of one length; at least 1, for a loop at least 4."""
    loop: bool = False

    @classmethod
    def every(cls, frames: int, frame_count: int, fps: float) -> "Spline":
        """A knot about every so many frames of a clip."""
        return cls(max(frame_count - 1, 1) / fps, max(math.ceil((frame_count - 1) / frames), 1))

    @property
    def control_count(self) -> int:
        return self.intervals if self.loop else self.intervals + DEGREE

    def basis(self, times: Float[np.ndarray, " time"]) -> Float[np.ndarray, "time control"]:
        """Weights of the control points at some moments; rows sum to one. Beyond the ends, a loop goes on and others hold."""
        at = np.asarray(times, float) / self.duration * self.intervals
        at = np.mod(at, self.intervals) if self.loop else np.clip(at, 0, self.intervals)
        first = np.minimum(np.floor(at).astype(int), self.intervals - 1)
        weights = segment_weights(at - first)
        out = np.zeros((len(at), self.control_count))
        rows = np.arange(len(at))
        for k in range(DEGREE + 1):
            np.add.at(out, (rows, (first + k) % self.control_count), weights[:, k])
        return out

    def fit(
        self, times: Float[np.ndarray, " time"], values: Float[np.ndarray, "time channel"], *, stiffness: float = 1e-6
    ) -> Float[np.ndarray, "control channel"]:
        """The control points whose curve is nearest to values at some moments (least squares).

        ``stiffness`` weighs second differences of the control points, so that stretches without a value are bridged.
        """
        basis, count = self.basis(times), self.control_count
        bend = np.diff(np.eye(count), 2, axis=0) if count > 2 else np.zeros((0, count))
        return np.linalg.solve(basis.T @ basis + stiffness * (bend.T @ bend) + 1e-9 * np.eye(count), basis.T @ values)


def segment_weights(u: Float[np.ndarray, " time"]) -> Float[np.ndarray, "time 4"]:
    """The four cubic pieces of the basis at a share of an interval, earliest control point first."""
    return np.stack(((1 - u) ** 3, 3 * u**3 - 6 * u**2 + 4, -3 * u**3 + 3 * u**2 + 3 * u + 1, u**3), -1) / 6
