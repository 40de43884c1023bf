"""How feet and body meet the ground. Never read one number of a pair alone: floating feet do not skate.

``feet`` is frame × foot × (x, height, z): the mean x and z of a sole patch and its lowest point. ``lowest`` is the
height of the lowest skinned vertex in each frame.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

CONTACT_HEIGHT = 0.03
"""A foot below this is in contact [ℓ]."""
SKATING_SPEED = 0.55
"""A foot in contact that is faster than this skates [ℓ/s]; 0.5 m/s for a person."""
SKATING_WINDOW = 5
"""Frames over which the speed must stay high on average, so that one jittery frame is not called skating."""
SLIDE_HEIGHT = 0.05
"""Height at which a moving foot stops counting as sliding [ℓ]."""
AIR_HEIGHT = 0.05
"""A foot above this is in the air [ℓ]."""
PENETRATION_DEPTH = 0.005
"""Depth from which a frame counts as penetrating [ℓ]."""
Feet = Float[np.ndarray, "frame foot 3"]


def in_contact(feet: Feet) -> Bool[np.ndarray, "frame foot"]:
    """Which feet are on the ground, frame by frame."""
    return feet[..., 1] < CONTACT_HEIGHT


def contact_share(feet: Feet) -> float:
    """Share of foot-frames in contact: the pair of the skating ratio."""
    return float(in_contact(feet).mean())


def skating_ratio(feet: Feet, fps: float) -> float | None:
    """Skating foot-frames / contact foot-frames; None where no foot is in contact twice in a row.

    A foot-frame t is in contact if the foot is low at t and t + 1; the last frame has no t + 1 and does not count.
    The mean speed is taken over the steps t − 2 … t + 2; at the ends of a clip, over those of them that exist.
    """
    speed = step_lengths(feet) * fps
    low = in_contact(feet)
    both = low[1:] & low[:-1]
    skates = both & (speed > SKATING_SPEED) & (_running_mean(speed, SKATING_WINDOW) > SKATING_SPEED)
    return float(skates.sum() / both.sum()) if both.any() else None


def slide(feet: Feet) -> float | None:
    """Mean step of low feet, ‖Δp_xz‖ (2 − 2^{h/H0}) over the foot-frames with h < H0 [ℓ per frame]; None without any.

    h is the height at the start of the step. A foot under the ground counts like one on it (h = 0, factor 1).
    """
    height = feet[:-1, :, 1]
    low = height < SLIDE_HEIGHT
    factor = 2 - 2 ** (np.maximum(height, 0) / SLIDE_HEIGHT)
    return float((step_lengths(feet) * factor)[low].mean()) if low.any() else None


class Penetration(NamedTuple):
    """How deep the body is in the ground. The depth of a frame is that of its deepest vertex."""

    mean: float
    """Over the frames [ℓ]."""
    max: float
    share: float
    """Share of frames deeper than 0.005 ℓ."""


def penetration(lowest: Float[np.ndarray, " frame"]) -> Penetration:
    """Mean and greatest depth of skinned vertices below y = 0, and how many frames have any."""
    depth = np.maximum(-lowest, 0)
    return Penetration(float(depth.mean()), float(depth.max()), float((depth > PENETRATION_DEPTH).mean()))


def floating(lowest: Float[np.ndarray, " frame"]) -> float:
    """Mean height of the lowest vertex where it is above the ground [ℓ]."""
    return float(np.maximum(lowest, 0).mean())


def air_time(feet: Feet) -> float:
    """Share of frames in which every foot is above 0.05 ℓ."""
    return float((feet[..., 1] > AIR_HEIGHT).all(1).mean())


def corner_depth(corners: Float[np.ndarray, "*batch 3"]) -> float:
    """AKD's ground term as a number: mean over all corners of the bones' cuboids of max(−y, 0) [ℓ]."""
    return float(np.maximum(-corners[..., 1], 0).mean())


def step_lengths(feet: Feet) -> Float[np.ndarray, "step foot"]:
    """Distance on the ground from each frame to the next [ℓ]."""
    return np.linalg.norm(np.diff(feet[..., [0, 2]], axis=0), axis=-1)


def _running_mean(values: np.ndarray, window: int) -> np.ndarray:
    """Centred mean along axis 0, of the values that exist at the ends."""
    half, count = window // 2, len(values)
    padded = np.pad(values, ((half, half), (0, 0)))
    total = padded[:count].copy()
    for shift in range(1, 2 * half + 1):
        total += padded[shift : shift + count]
    at = np.arange(count)
    return total / (np.minimum(at + half, count - 1) - np.maximum(at - half, 0) + 1)[:, None]
