"""Which feet stand when, and where they would be if they stood still. Pure functions on the paths of the feet.

``feet`` is frame × foot × (x, height, z) as in ``measure.contact``.
"""

from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float
from scipy.ndimage import gaussian_filter1d, percentile_filter

from akd.character.kinematics import FrameVectors
from akd.contact.easing import quintic_step
from akd.contact.measures import Feet
from akd.contact.traces import MAX_DISAGREEMENT, MIN_RETRACTION_SPEED, STANCE_QUANTILE

GROUND_WINDOW = 0.4
"""Within this long before and after any moment a body that is not flying has touched the ground [s]."""
GROUND_PERCENTILE = 30
"""Per cent of that time it is on the ground or, where toes dig in, below it."""
STANCE_HEIGHT, RETRACTED_STANCE_HEIGHT = 0.04, 0.06
"""A foot this near to its own ground may be standing; one that is pulled back under the body may be a little higher [ℓ]."""
STANCE_SPEED = 0.55
"""A low foot stands if it is no faster over the ground than this [ℓ/s],"""
MIN_RETRACTION = 0.3
"""or is pulled back with at least this share of the body's speed: artists' stance feet move by a sine."""
MIN_STANCE = 0.05
"""Stances shorter than this are a foot passing by, gaps shorter than this are a foot that trembles [s]."""
MAX_TIPPING = 0.1
"""Longest time for which feet all on one side of the body are taken for others that leave too early or land too late [s]."""
FLIGHT_GRAVITY_SHARE = 0.5
"""A body without a standing foot flies if it falls with at least this share of gravity."""
SWING_CLEARANCE = 0.045
"""Feet that swing forward are carried at least this high, clear of what counts as contact [ℓ]."""
MIN_STEP = 0.1
"""Two prints farther apart than this have a swing between them [ℓ]."""
RISE_SHARE, CATCH_UP_SHARE = 0.2, 0.5
"""Share of a swing in which a foot rises to its clearance, and in which it catches up with its path; the same at its end."""
SWING_SMOOTHING, SMOOTHING_ONSET = 0.12, 0.28
"""Share of a swing over which the path of an unhurried foot is smoothed, and in which that sets in and ends."""
Stance = Bool[np.ndarray, "frame foot"]
"""Which feet stand when."""
FootVelocities = Float[np.ndarray, "frame foot 2"]
"""Forward and rightward velocity of feet as seen from the body [ℓ/s]."""


def ground_line(lowest: Float[np.ndarray, " frame"], fps: float) -> Float[np.ndarray, " frame"]:
    """The height of the ground under a motion that floats, sinks or drifts: what its lowest point keeps coming back to."""
    reach = max(round(GROUND_WINDOW * fps), 1)
    level = percentile_filter(lowest, GROUND_PERCENTILE, size=2 * reach + 1, mode="nearest")
    return gaussian_filter1d(level, reach / 2, mode="nearest")


def foot_levels(height: Float[np.ndarray, "frame foot"], ahead: Float[np.ndarray, "frame foot"]) -> Float[np.ndarray, " foot"]:
    """The height at which each foot stands: low, and while it is pulled back under the body where it walks at all."""
    back = np.diff(ahead, axis=0, append=ahead[-1:]) < 0
    pulled = [np.quantile(h[b] if b.any() else h, STANCE_QUANTILE) for h, b in zip(height.T, back.T, strict=True)]
    return np.minimum(np.array(pulled, float), np.quantile(height, STANCE_QUANTILE, axis=0))


def implied_velocity(height: Float[np.ndarray, "frame foot"], seen: FootVelocities) -> Float[np.ndarray, " 2"] | None:
    """How fast the body goes (forward, to the right) if standing feet stand; None if they do not agree or do not walk.

    Standing are low feet that move the way most low feet move, the lower the heavier. Their mean is taken, not their
    median: it brings feet that speed up and slow down over their stance back to where they stood.
    """
    depth = np.clip(STANCE_HEIGHT - np.maximum(height, 0.0), 0.0, None)
    flow = (depth[..., None] * seen).sum((0, 1))
    stands = (depth > 0) & (seen @ flow > 0)
    if stands.sum() < 3 or stands.sum() < (depth > 0).sum() / 2:
        return None
    common = np.median(seen[stands], axis=0)
    stands &= seen @ common > MIN_RETRACTION * (common @ common)
    mean = np.average(seen[stands], axis=0, weights=depth[stands]) if stands.any() else common
    speed, apart = np.linalg.norm(mean), np.median(np.linalg.norm(seen[stands] - mean, axis=-1))
    return None if speed < MIN_RETRACTION_SPEED or apart > MAX_DISAGREEMENT * speed else -mean


def detect_stance(
    feet: Feet, seen: FootVelocities, velocity: Float[np.ndarray, " 2"], fps: float
) -> Bool[np.ndarray, "frame foot"]:
    """Which feet stand for some time: near their own ground, and either slow over it or pulled back under the body.

    ``velocity`` is that of the body, forward and to the right.
    """
    over_ground = np.linalg.norm(np.gradient(feet[..., [0, 2]], axis=0), axis=-1) * fps
    pulled = (velocity @ velocity > MIN_RETRACTION_SPEED**2) & (seen @ -velocity > MIN_RETRACTION * (velocity @ velocity))
    low = feet[..., 1] < np.where(pulled, RETRACTED_STANCE_HEIGHT, STANCE_HEIGHT)
    stands = low & (pulled | (over_ground < STANCE_SPEED))
    shortest = max(round(MIN_STANCE * fps), 1)
    for foot in range(feet.shape[1]):
        for start, end in intervals(~stands[:, foot]):
            if end - start <= shortest and low[start:end, foot].all() and start > 0 and end < len(stands):
                stands[start:end, foot] = True
        for start, end in intervals(stands[:, foot]):
            if end - start <= shortest and start > 0 and end < len(stands):
                stands[start:end, foot] = False
    return stands


def close_gaps(
    stands: Bool[np.ndarray, "frame foot"], height: Float[np.ndarray, " frame"], gravity: float, fps: float
) -> Bool[np.ndarray, "frame foot"]:
    """The same stances, longer where no foot stands although the body, at this height, does not fall: it is not flying.

    The foot that left stays for half of the gap, and the one that lands is there for the other half.
    """
    out, rise = stands.copy(), np.gradient(height) * fps
    for start, end in intervals(~np.asarray(stands.any(axis=1))):
        before, after = max(start - 1, 0), min(end, len(stands) - 1)
        if (rise[after] - rise[before]) * fps < -FLIGHT_GRAVITY_SHARE * gravity * (after - before):
            continue
        _bridge(out, stands, start, end)
    return out


def extend_while_tipping(
    stands: Bool[np.ndarray, "frame foot"], tips: Bool[np.ndarray, " frame"], fps: float
) -> Bool[np.ndarray, "frame foot"]:
    """The same stances, longer where for a moment the body ``tips`` over the only feet that stand: none tips so briefly."""
    out = stands.copy()
    for start, end in intervals(tips):
        if end - start <= round(MAX_TIPPING * fps) and start > 0 and end < len(stands):
            _bridge(out, stands, start, end)
    return out


def _bridge(out: Stance, stands: Stance, start: int, end: int) -> None:
    """Those that stood before stay for half of this time, and those that stand after it are there for the other half."""
    middle = (start + end) // 2 if start > 0 and end < len(stands) else start if start == 0 else end
    out[start:middle] |= stands[max(start - 1, 0)]
    out[middle:end] |= stands[min(end, len(stands) - 1)]


def intervals(mask: Bool[np.ndarray, " frame"]) -> list[tuple[int, int]]:
    """First frame of every run of true values, and the frame after it."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def lock_paths(
    feet: Feet, stands: Bool[np.ndarray, "frame foot"], rolled: Feet | None = None, clearance: float = SWING_CLEARANCE
) -> Feet:
    """The paths of feet that stay where they stand.

    A standing foot is held at the middle of its drift and at y = 0, or goes only as it is ``rolled`` over the ground.
    Between two stances the correction passes smoothly from one to the other, so a swing keeps its shape; it is only lifted
    where it would brush over the ground, to this ``clearance``.
    """
    rolled = np.zeros_like(feet) if rolled is None else rolled
    paths = [_locked_foot(feet[:, foot], intervals(stands[:, foot]), rolled[:, foot], clearance) for foot in range(feet.shape[1])]
    return np.stack(paths, 1) if paths else feet


def _locked_foot(path: FrameVectors, stances: list[tuple[int, int]], rolled: FrameVectors, clearance: float) -> FrameVectors:
    floor = np.zeros(len(path))
    if not stances:
        return np.stack((path[:, 0], np.maximum(path[:, 1], 0.0), path[:, 2]), -1)
    held = [rolled[a:b] + np.array([1.0, 0, 1.0]) * np.median((path - rolled)[a:b], axis=0) for a, b in stances]
    out, shift = path.copy(), np.empty_like(path)
    for (a, b), at in zip(stances, held, strict=True):
        shift[a:b] = at - path[a:b]
    (first, _), (_, last) = stances[0], stances[-1]
    shift[:first], shift[last:] = shift[first], shift[last - 1]
    out += shift
    for k, ((_, left), (right, _)) in enumerate(pairwise(stances)):
        u = np.arange(1, right - left + 1) / (right - left + 1)
        moved = path[left:right] + shift[left - 1] + quintic_step(u)[:, None] * (shift[right] - shift[left - 1])
        leaves, lands = held[k][-1], held[k + 1][0]
        if np.linalg.norm(lands - leaves) > MIN_STEP:
            floor[left:right] = clearance * quintic_step(np.minimum(u, 1 - u) / RISE_SHARE)
            # Up first, then on: a foot that is still low does not move over the ground yet.
            moved[:, [0, 2]] += ((1 - quintic_step(u / CATCH_UP_SHARE))[:, None] * (leaves - moved))[:, [0, 2]]
            moved[:, [0, 2]] += ((1 - quintic_step((1 - u) / CATCH_UP_SHARE))[:, None] * (lands - moved))[:, [0, 2]]
        out[left:right] = moved
    out[:, 1] = _smooth_max(out[:, 1], floor)
    return out


def _smooth_max(height: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """The larger of two curves without a kink where they cross; exact where the floor is zero."""
    return (height + floor + np.sqrt(np.square(height - floor) + np.square(0.5 * floor))) / 2


def smooth_swing(paths: Feet, stands: Bool[np.ndarray, "frame foot"]) -> Feet:
    """The paths without the haste in which planted feet leave late and are down early. Stances stay as they are."""
    swings = [(foot, a, b) for foot in range(paths.shape[1]) for a, b in intervals(~stands[:, foot])]
    if not swings:
        return paths
    # Gone along with, so that smoothing does not hold back what travels.
    along = np.linspace(0, 1, len(paths))[:, None, None] * (paths[-1] - paths[0]).mean(0)
    width = SWING_SMOOTHING * float(np.median([b - a for _, a, b in swings]))
    smooth, out = gaussian_filter1d(paths - along, width, axis=0, mode="nearest") + along, paths.copy()
    for foot, a, b in swings:
        u = np.arange(1, b - a + 1) / (b - a + 1)
        out[a:b, foot] += quintic_step(np.minimum(u, 1 - u) / SMOOTHING_ONSET)[:, None] * (smooth - paths)[a:b, foot]
    return out
