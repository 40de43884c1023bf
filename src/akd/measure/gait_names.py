"""The names of gaits: from the phases at which feet land to a word.

Legs are ordered as in ``Skeleton.limbs_of("leg")``: front to hind, left before right: LF, RF, LH, RH for a quadruped.
"""

import numpy as np
from jaxtyping import Float

from akd.measure.gait import MIN_AMPLITUDE, Stride, alternation, circular_mean

QUADRUPED = {
    "walk": (0.0, 0.5, 0.75, 0.25),
    "trot": (0.0, 0.5, 0.5, 0.0),
    "pace": (0.0, 0.5, 0.0, 0.5),
    "bound": (0.0, 0.0, 0.5, 0.5),
    "gallop": (0.0, 0.1, 0.5, 0.6),
}
"""Touch-down phases of LF, RF, LH, RH."""
FAR = 0.11
"""Beyond this mean distance in phase no template fits; walk and trot are 0.125 apart."""


def gait_name(stride: Stride, sides: str) -> str | None:
    """The nearest gait; None if no name fits, if some foot hardly swings, or if legs do not come in pairs.

    ``sides`` has one letter per leg, L or R, and must alternate "LRLR…" for there to be pairs.
    """
    count = len(sides)
    if count == 0 or sides != "LR" * (count // 2) or np.median(stride.amplitude) < MIN_AMPLITUDE:
        return None
    if count == 2:
        return _biped(stride)
    if count == 4:
        return _nearest_quadruped(stride.phase)
    checker = np.array([0.5 * ((leg // 2 + leg) % 2) for leg in range(count)])
    if count in (6, 8) and phase_distance(stride.phase, checker) < FAR:
        return "tripod" if count == 6 else "alternating tetrapod"
    return "wave" if _is_wave(stride.phase) else None


def phase_distance(phase: Float[np.ndarray, " leg"], template: Float[np.ndarray, " leg"]) -> float:
    """Mean circular distance to a template after removing the common phase, between 0 and ½."""
    apart = phase - template
    apart = apart - circular_mean(apart)
    return float(np.abs((apart + 0.5) % 1.0 - 0.5).mean())


def _biped(stride: Stride) -> str:
    if alternation(stride.phase, stride.amplitude) < 0.5:
        return "hop"
    return "walk" if stride.duty.mean() > 0.5 else "run"


def _nearest_quadruped(phase: np.ndarray) -> str | None:
    distance = {name: phase_distance(phase, np.array(template)) for name, template in QUADRUPED.items()}
    # A gallop may lead with either side in front and behind; the other templates are their own mirror images.
    leads = ([1, 0, 2, 3], [0, 1, 3, 2], [1, 0, 3, 2])
    distance["gallop"] = min(distance["gallop"], *(phase_distance(phase[lead], np.array(QUADRUPED["gallop"])) for lead in leads))
    nearest = min(distance, key=lambda name: distance[name])
    return nearest if distance[nearest] < FAR else None


def _is_wave(phase: np.ndarray) -> bool:
    """Does each leg land with the same lag after the one before it, on both sides, and is there a lag at all?"""
    lags = np.diff(phase.reshape(-1, 2), axis=0).ravel()
    lag = circular_mean(lags)
    spread = np.abs((lags - lag + 0.5) % 1.0 - 0.5)
    return bool(spread.mean() < FAR and abs((lag + 0.5) % 1.0 - 0.5) > 0.04)
