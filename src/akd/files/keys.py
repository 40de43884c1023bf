"""Fewer keys on smooth curves: cubic Hermite curves through as few frames as keep every point of the skin near its place.

Artists edit what they get, and a key on every frame of every bone cannot be edited. A curve has a value and a slope at each key,
the same slope on both sides. Keys are put where the curve misses most, values and slopes are fitted by least squares, and what
counts is not the error of one bone but how far the skin ends up from where it should be, all bones together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from akd.files.scene import UNWEIGHTED, Scene

PERSON = 1.7
"""Height of a person [m]."""
ALLOWED = 0.0005
"""How far a point of a person's skin may be from its place [m]; characters of other sizes in proportion."""
ROUNDS = 5
"""Attempts to share the allowed error among the bones: the error of a hand is that of all bones above it."""
MARGIN = 0.9
"""Aim at this part of the allowed error."""


@dataclass(frozen=True, eq=False)
class Keys:
    """A curve: values and slopes at some of the frames."""

    frames: Int[np.ndarray, " key"]
    values: Float[np.ndarray, "key k"]
    slopes: Float[np.ndarray, "key k"]
    """Per second."""


@dataclass(frozen=True, eq=False)
class Curve:
    """What one property of a bone does over the frames of a clip."""

    bone: int
    values: Float[np.ndarray, "frame k"]
    lever: float
    """How far a point of the skin moves per unit of these values, at most."""


def allowed_error(scene: Scene) -> float:
    """In the scene's own units."""
    places = scene.mesh.vertices if scene.mesh.vertex_count else scene.rest[:, :3, 3]
    return ALLOWED / PERSON * float(np.ptp(places[:, 1]))


def fewest_keys(
    curves: Sequence[Curve], times: Float[np.ndarray, " frame"],
    positions: Callable[[list[np.ndarray]], list[np.ndarray]], allowed: float,
) -> list[Keys]:  # fmt: skip
    """Keys for all curves of a clip. ``positions`` tells where points on the bones are when the curves have given values."""
    wanted = positions([curve.values for curve in curves])
    share, best = 0.5, list[Keys]()
    for _ in range(ROUNDS):
        keys = [fitted(times, curve.values, share * allowed / max(curve.lever, 1e-12)) for curve in curves]
        found = positions([sampled(times, each, times) for each in keys])
        error = max(float(np.linalg.norm(a - b, axis=-1).max(initial=0)) for a, b in zip(found, wanted, strict=True))
        if error <= allowed and (not best or _count(keys) < _count(best)):
            best = keys
        if MARGIN**2 * allowed <= error <= allowed:
            break
        share *= np.clip(MARGIN * allowed / max(error, 1e-12), 0.2, 2.0)
    if best:
        return best
    everything = np.arange(len(times))
    return [Keys(everything, curve.values, np.gradient(curve.values, times, axis=0)) for curve in curves]


def _count(keys: list[Keys]) -> int:
    return sum(len(each.frames) for each in keys)


def fitted(times: Float[np.ndarray, " frame"], values: Float[np.ndarray, "frame k"], allowed: float) -> Keys:
    """The curve with as few keys as come within ``allowed`` of all values; its ends are the first and the last value."""
    last = len(times) - 1
    frames = np.array([0, last]) if last else np.array([0])
    keys, error = _try(times, values, frames)
    while error.max() > allowed:
        # One more key in the middle of every stretch between keys that misses. A key where it misses most would come to lie
        # beside the next: the curve is fitted, so its errors are largest near keys as well.
        pairs = [(begin, end) for begin, end in pairwise(frames.tolist()) if end > begin + 1]
        missing = [(begin + end) // 2 for begin, end in pairs if error[begin : end + 1].max() > allowed]
        if not missing:
            return Keys(np.arange(last + 1), values, np.gradient(values, times, axis=0) if last else np.zeros_like(values))
        frames = np.union1d(frames, missing)
        keys, error = _try(times, values, frames)
    for frame in frames[1:-1]:  # some were needed only until others came
        fewer, error = _try(times, values, np.setdiff1d(keys.frames, frame))
        keys = fewer if error.max() <= allowed else keys
    return keys


def _try(times: np.ndarray, values: np.ndarray, frames: np.ndarray) -> tuple[Keys, Float[np.ndarray, " frame"]]:
    """The best curve with keys on these frames, and how far it is from the values."""
    keys = _least_squares(times, values, frames)
    return keys, np.linalg.norm(sampled(times, keys, times) - values, axis=1)


def sampled(times: Float[np.ndarray, " frame"], keys: Keys, at: Float[np.ndarray, " sample"]) -> Float[np.ndarray, "sample k"]:
    """The curve at any times."""
    if len(keys.frames) == 1:
        return np.tile(keys.values, (len(at), 1))
    basis = _hermite(times[keys.frames], at)
    return basis @ np.concatenate((keys.values, keys.slopes))


def _hermite(knots: Float[np.ndarray, " key"], at: Float[np.ndarray, " sample"]) -> Float[np.ndarray, "sample unknown"]:
    """What every key's value, and then every key's slope, adds to the curve at each time."""
    count = len(knots)
    left = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, count - 2)
    length = knots[left + 1] - knots[left]
    u = (at - knots[left]) / length
    out, row = np.zeros((len(at), 2 * count)), np.arange(len(at))
    out[row, left] = (1 + 2 * u) * (1 - u) ** 2
    out[row, left + 1] = u**2 * (3 - 2 * u)
    out[row, count + left] = u * (1 - u) ** 2 * length
    out[row, count + left + 1] = u**2 * (u - 1) * length
    return out


def _least_squares(times: np.ndarray, values: np.ndarray, frames: np.ndarray) -> Keys:
    if len(frames) == 1:
        return Keys(frames, values[frames], np.zeros_like(values[frames]))
    count = len(frames)
    basis = _hermite(times[frames], times)
    ends = [0, count - 1]
    free = np.setdiff1d(np.arange(2 * count), ends)
    fixed = basis[:, ends] @ values[frames[ends]]
    solved = np.zeros((2 * count, values.shape[1]))
    solved[ends] = values[frames[ends]]
    solved[free] = np.linalg.lstsq(basis[:, free], values - fixed, rcond=None)[0]
    return Keys(frames, solved[:count], solved[count:])


# Points on the skin


def skin_corners(scene: Scene) -> list[Float[np.ndarray, "corner 4"]]:
    """For each bone the corners of the box around the skin that it moves, in its own coordinates, or its origin: no vertex
    moves farther than the farthest of the corners of its bones."""
    out, inverse = list[np.ndarray](), np.linalg.inv(scene.rest)
    points = np.column_stack((scene.mesh.vertices, np.ones(scene.mesh.vertex_count)))
    for bone in range(len(scene.bones)):
        own = points[scene.weights[:, bone] > UNWEIGHTED] @ inverse[bone].T if scene.mesh.vertex_count else np.zeros((0, 4))
        if not len(own):
            out.append(np.array([[0.0, 0, 0, 1]]))
            continue
        ends = np.stack((own[:, :3].min(0), own[:, :3].max(0)))
        out.append(np.array([[ends[i, 0], ends[j, 1], ends[k, 2], 1] for i in (0, 1) for j in (0, 1) for k in (0, 1)]))
    return out


def reaches(scene: Scene, corners: list[np.ndarray]) -> Float[np.ndarray, " bone"]:
    """How far the skin below each bone is from it at rest, at most."""
    placed = [(scene.rest[bone] @ each.T).T[:, :3] for bone, each in enumerate(corners)]
    below = [[bone] for bone in range(len(corners))]
    for bone in reversed(range(len(corners))):
        if scene.parents[bone] >= 0:
            below[scene.parents[bone]] += below[bone]
    return np.array([
        max(np.linalg.norm(placed[other] - scene.rest[bone, :3, 3], axis=1).max() for other in below[bone])
        for bone in range(len(corners))
    ])  # fmt: skip
