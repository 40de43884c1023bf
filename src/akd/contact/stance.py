"""Which feet stand when, where they would be if they stood still, and how they swing in between. Pure functions on foot paths."""

from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float
from scipy.ndimage import gaussian_filter1d

from akd.character.limb_model import FrameVectors
from akd.contact.measures import Feet
from akd.contact.treadmill import MIN_RETRACTION, MIN_RETRACTION_SPEED, STANCE_HEIGHT, FootVelocities

RETRACTED_STANCE_HEIGHT = 0.06
"""A standing foot that moves back under the body may be this high above its own ground, others ``STANCE_HEIGHT`` [ℓ]."""
STANCE_SPEED = 0.55
"""A low foot stands if it is no faster over the ground than this, or moves back under the body [ℓ/s]."""
MIN_STANCE = 0.05
"""Stances shorter than this are a foot passing by, gaps shorter than this are a foot that trembles [s]."""
MAX_TIPPING = 0.1
"""Tipping over the standing feet for no longer than this is a stance that was detected too short [s]."""
FLIGHT_GRAVITY_SHARE = 0.5
"""A body without a standing foot flies if it falls with at least this share of gravity."""
SWING_CLEARANCE = 0.045
"""Feet that swing forward are carried at least this high, clear of what counts as contact [ℓ]."""
MIN_STEP = 0.1
"""Two prints farther apart than this have a swing between them [ℓ]."""
CATCH_UP_SHARE = 0.5
"""Share of a swing in which a foot that was locked catches up with its path; the same at its end."""
END_RISE = 3
"""Frames in which a foot rises to its clearance after the last stance of a clip, or sinks from it before the first."""
RISE_SHARE = 0.4
"""Share of that time in which it rises to its clearance unless another is asked for: up first, then on."""
SWING_SMOOTHING, SMOOTHING_ONSET = 0.12, 0.28
"""Standard deviation of the smoothing of a swing, and how long it takes to set in and to end, as shares of the swing."""
Stance = Bool[np.ndarray, "frame foot"]
"""Which feet stand when."""


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


def detect_stance(feet: Feet, velocities: FootVelocities, velocity: Float[np.ndarray, " 2"], fps: float) -> Stance:
    """Which feet stand for some time: near their own ground, and either slow over it or pulled back under the body.

    ``velocity`` is that of the body, forward and to the right.
    """
    over_ground = np.linalg.norm(np.gradient(feet[..., [0, 2]], axis=0), axis=-1) * fps
    pulled = (velocity @ velocity > MIN_RETRACTION_SPEED**2) & (velocities @ -velocity > MIN_RETRACTION * (velocity @ velocity))
    low = feet[..., 1] < np.where(pulled, RETRACTED_STANCE_HEIGHT, STANCE_HEIGHT)
    stance = low & (pulled | (over_ground < STANCE_SPEED))
    shortest = max(round(MIN_STANCE * fps), 1)
    for foot in range(feet.shape[1]):
        for start, end in intervals(~stance[:, foot]):
            if end - start <= shortest and low[start:end, foot].all() and start > 0 and end < len(stance):
                stance[start:end, foot] = True
        for start, end in intervals(stance[:, foot]):
            if end - start <= shortest and start > 0 and end < len(stance):
                stance[start:end, foot] = False
    return stance


def close_gaps(stance: Stance, height: Float[np.ndarray, " frame"], gravity: float, fps: float) -> Stance:
    """The same stances, longer where no foot stands although the body, at this height, does not fall: it is not flying.

    The foot that left stays for half of the gap, and the one that lands is there for the other half.
    """
    out, rise = stance.copy(), np.gradient(height) * fps
    for start, end in intervals(~np.asarray(stance.any(axis=1))):
        before, after = max(start - 1, 0), min(end, len(stance) - 1)
        if (rise[after] - rise[before]) * fps < -FLIGHT_GRAVITY_SHARE * gravity * (after - before):
            continue
        _bridge(out, stance, start, end)
    return out


def extend_while_tipping(stance: Stance, tipping: Bool[np.ndarray, " frame"], fps: float) -> Stance:
    """The same stances, extended where the body tips over the only standing feet for a moment: no body tips so briefly."""
    out = stance.copy()
    for start, end in intervals(tipping):
        if end - start <= round(MAX_TIPPING * fps) and start > 0 and end < len(stance):
            _bridge(out, stance, start, end)
    return out


def _bridge(out: Stance, stance: Stance, start: int, end: int) -> None:
    """Fill a gap of ``out``: the feet that stood before it for its first half, those that stand after it for the second."""
    middle = (start + end) // 2 if start > 0 and end < len(stance) else start if start == 0 else end
    out[start:middle] |= stance[max(start - 1, 0)]
    out[middle:end] |= stance[min(end, len(stance) - 1)]


def intervals(mask: Bool[np.ndarray, " frame"]) -> list[tuple[int, int]]:
    """First frame of every run of true values, and the frame after it."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def lock_paths(
    feet: Feet,
    stance: Stance,
    rolling: Feet | None = None,
    clearance: float = SWING_CLEARANCE,
    catch_up: float = CATCH_UP_SHARE,
    *,
    clear_ends: bool = False,
    clear_returns: bool = False,
    rise: float | None = None,
    end_rise: float = END_RISE,
    early: float = 0.0,
) -> Feet:
    """Foot lock: the paths of feet that stay where they stand.

    A standing foot is held at the middle of its drift and at y = 0, or moves only as it rolls over the ground (``rolling``).
    Between two stances the correction passes smoothly from one to the other, so a swing keeps its shape; it is only lifted
    where it would brush over the ground, to this ``clearance`` within the share ``rise`` of the swing, and catches up with its
    path over the share ``catch_up``.
    With ``clear_ends`` feet that swing before their first stance or after their last one are lifted too, over ``end_rise``
    frames; with ``clear_returns`` also those that come back to where they stood. Feet begin to rise before their stance ends, by
    the share ``early`` of the time they take for it, and have come down as late.
    """
    rolling = np.zeros_like(feet) if rolling is None else rolling
    rise = RISE_SHARE * catch_up if rise is None else rise
    paths = [
        _locked_foot(feet[:, foot], intervals(stance[:, foot]), rolling[:, foot], clearance, catch_up, rise, early, clear_returns)
        for foot in range(feet.shape[1])
    ]
    out = np.stack(paths, 1) if paths else feet
    if clear_ends:
        for foot in range(feet.shape[1]):
            out[:, foot, 1] = _smooth_max(out[:, foot, 1], _end_floor(out[:, foot], stance[:, foot], end_rise, early))
    return out


def _end_floor(path: FrameVectors, stance: Bool[np.ndarray, " frame"], rise: float, early: float) -> Float[np.ndarray, " frame"]:
    """The least height of a foot before its first stance and after its last one, where it moves over the ground there [ℓ]."""
    floor, stances, time = np.zeros(len(path)), intervals(stance), np.arange(len(path))
    if not stances:
        return floor
    (first, _), (_, last) = stances[0], stances[-1]
    for part, away in ((slice(0, first), first - time), (slice(last, len(path)), time - last + 1)):
        if len(path[part]) and np.linalg.norm(np.ptp(path[part][:, [0, 2]], axis=0)) > MIN_STEP:
            floor = np.maximum(floor, SWING_CLEARANCE * quintic_step(away / rise + early))
    return floor


def _locked_foot(
    path: FrameVectors, stances: list[tuple[int, int]], rolling: FrameVectors, clearance: float, catch_up: float,
    rise: float, early: float, clear_returns: bool,
) -> FrameVectors:  # fmt: skip
    floor, time = np.zeros(len(path)), np.arange(len(path))
    if not stances:
        return np.stack((path[:, 0], np.maximum(path[:, 1], 0.0), path[:, 2]), -1)
    held = [rolling[a:b] + np.array([1.0, 0, 1.0]) * np.median((path - rolling)[a:b], axis=0) for a, b in stances]
    out, shift = path.copy(), np.empty_like(path)
    for (a, b), at in zip(stances, held, strict=True):
        shift[a:b] = at - path[a:b]
    (first, _), (_, last) = stances[0], stances[-1]
    shift[:first], shift[last:] = shift[first], shift[last - 1]
    out += shift
    for k, ((_, left), (right, _)) in enumerate(pairwise(stances)):
        u = np.arange(1, right - left + 1) / (right - left + 1)
        moved = path[left:right] + shift[left - 1] + quintic_step(u)[:, None] * (shift[right] - shift[left - 1])
        leaving, landing = held[k][-1], held[k + 1][0]
        away = np.ptp(moved[:, [0, 2]], axis=0) if clear_returns else landing - leaving
        if max(np.linalg.norm(landing - leaving), np.linalg.norm(away)) > MIN_STEP:
            on = (time - left + 1) / (right - left + 1)
            floor = np.maximum(floor, clearance * quintic_step(np.minimum(on, 1 - on) / rise + early))
            # Up first, then on: a foot that is still low does not move over the ground yet.
            moved[:, [0, 2]] += ((1 - quintic_step(u / catch_up))[:, None] * (leaving - moved))[:, [0, 2]]
            moved[:, [0, 2]] += ((1 - quintic_step((1 - u) / catch_up))[:, None] * (landing - moved))[:, [0, 2]]
        out[left:right] = moved
    out[:, 1] = _smooth_max(out[:, 1], floor)
    return out


def _smooth_max(height: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """The larger of two curves without a kink where they cross; exact where the floor is zero."""
    return (height + floor + np.sqrt(np.square(height - floor) + np.square(0.5 * floor))) / 2


def smooth_swing(paths: Feet, stance: Stance) -> Feet:
    """Smoother swings between the stances: locked feet leave late and land early, so their swings are hurried."""
    swings = [(foot, a, b) for foot in range(paths.shape[1]) for a, b in intervals(~stance[:, foot])]
    if not swings:
        return paths
    # Smoothing relative to the travel, so that it does not hold feet back.
    along = np.linspace(0, 1, len(paths))[:, None, None] * (paths[-1] - paths[0]).mean(0)
    width = SWING_SMOOTHING * float(np.median([b - a for _, a, b in swings]))
    smooth, out = gaussian_filter1d(paths - along, width, axis=0, mode="nearest") + along, paths.copy()
    for foot, a, b in swings:
        u = np.arange(1, b - a + 1) / (b - a + 1)
        out[a:b, foot] += quintic_step(np.minimum(u, 1 - u) / SMOOTHING_ONSET)[:, None] * (smooth - paths)[a:b, foot]
    return out
