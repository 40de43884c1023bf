"""Curves from 0 to 1 that start and end at rest, and curves through keys."""

import numpy as np


def septic_step(u: np.ndarray) -> np.ndarray:
    """From 0 to 1 with zero velocity, acceleration and jerk at the ends: toe-off and touch-down without sliding."""
    u = np.clip(u, 0.0, 1.0)
    return u**4 * (35 - 84 * u + 70 * u**2 - 20 * u**3)


def quintic_step(u: np.ndarray) -> np.ndarray:
    """From 0 to 1 with zero velocity and acceleration at the ends."""
    u = np.clip(u, 0.0, 1.0)
    return u**3 * (10 - 15 * u + 6 * u**2)


def lift_arc(u: np.ndarray) -> np.ndarray:
    """Height of a swing: 0 and at rest at both ends, 1 a little before the middle."""
    u = np.clip(u, 0.0, 1.0) ** 0.9
    return (4 * u * (1 - u)) ** 1.4


def keyed_curve(keys: list[tuple[float, float]], at: np.ndarray) -> np.ndarray:
    """A curve through (time, value) keys that comes to rest at each; constant beyond the ends."""
    times, values = np.array(keys).T
    index = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
    u = (at - times[index]) / np.maximum(times[index + 1] - times[index], 1e-9)
    return values[index] + (values[index + 1] - values[index]) * quintic_step(u)
