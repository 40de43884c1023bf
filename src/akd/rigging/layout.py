"""From lines along the middle of a body to limbs: which are pairs, which lie in the middle, where do they leave the trunk?

The body stands with its symmetry plane at z = 0 and faces +X or −X; Y is up.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial import cKDTree

from akd.rigging.volume import Line

SAMPLES = 64
PAIR_REACH = 0.12
"""Tips are partners if one is this near to the other's mirror image [size]."""
OFF_PLANE = 0.04
"""Tips nearer to the symmetry plane than this are in the middle [size] ..."""
NARROW = 0.012
"""... unless they stand on the ground, where the feet of narrow bodies are as near as this."""
ON_GROUND = 0.1
"""A pair whose tips are this near to the ground are legs [height]."""
OWN_WAY = 0.5
"""A line that runs along another limb for more than this share of its way outside the trunk is a heel or a finger."""
SHORT_LIMB = 0.12
"""Shorter pairs that do not reach the ground are ears or horns [size]."""
NECK = 0.7
"""A neck is thinner than this share of the trunk below and of the head above it."""

FLIP = np.array([1.0, 1.0, -1.0])


@dataclass(frozen=True, eq=False)
class Pair:
    """Two mirrored limbs, as the one on the right (z > 0)."""

    points: Float[np.ndarray, "place 3"]
    """From where it leaves the trunk to its tip."""
    attached: int
    """Place on the trunk."""
    leg: bool


@dataclass(frozen=True, eq=False)
class Layout:
    """A body plan with places."""

    trunk: Float[np.ndarray, "place 3"]
    """In the symmetry plane, from the tip of the tail or the hips to the tip of the head."""
    depth: Float[np.ndarray, " place"]
    """Distance of the trunk's places from the skin."""
    pairs: tuple[Pair, ...]
    """From hind to front."""
    tail: bool
    """Does the trunk begin with a tail?"""
    notes: tuple[str, ...]


def lay_out(
    lines: list[Line], size: float, floor: float, height: float, *, legs: int | None = None, arms: int | None = None
) -> Layout:
    """Sort the lines of a body that faces +X. ``legs`` and ``arms`` say how many pairs there must be, where the user knows."""
    paired, middle, lonely = _pair_up(lines, size, floor + ON_GROUND * height)
    notes = [f"{lonely} branches have no partner on the other side and were left out."] if lonely else []
    is_leg = [bool(path[-1, 1] < floor + ON_GROUND * height) for path, _ in paired]
    head, tail = _ends(middle, paired, size, floor, height)
    if head is None:
        notes.append("No head was found in the middle: the highest place in front stands for it.")
        head = _front(lines)
    trunk, depth = _trunk(head, tail, [path for (path, _), leg in zip(paired, is_leg, strict=True) if leg], size)
    found = [_leave_trunk(path, trunk, depth, leg) for (path, _), leg in zip(paired, is_leg, strict=True)]
    pairs = _without_branches(found, depth, size)
    chosen = _as_many(pairs, legs, leg=True, what="legs", notes=notes)
    chosen += _as_many(pairs, arms, leg=False, what="arms", notes=notes)
    return Layout(trunk, depth, tuple(sorted(chosen, key=lambda p: p.attached)), tail is not None, tuple(notes))


def _resampled(line: Line) -> tuple[np.ndarray, np.ndarray]:
    """A line at evenly spread places, smoothed: voxels make stairs."""
    points = line.points
    for _ in range(4):
        points = np.concatenate((points[:1], (points[:-2] + 2 * points[1:-1] + points[2:]) / 4, points[-1:]))
    along = np.concatenate(([0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))))
    at = np.linspace(0, along[-1], SAMPLES)
    return np.stack([np.interp(at, along, axis) for axis in points.T], 1), np.interp(at, along, line.depth)


def _pair_up(lines: list[Line], size: float, low: float) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[Line], int]:
    """Mirrored pairs as one line on the right each, lines in the middle, and how many are neither."""
    tips = np.array([line.points[-1] for line in lines])
    aside = np.abs(tips[:, 2]) > np.where(tips[:, 1] < low, NARROW, OFF_PLANE) * size
    middle = [line for line, off in zip(lines, aside, strict=True) if not off]
    right, left = (np.flatnonzero(aside & (sign * tips[:, 2] > 0)).tolist() for sign in (1, -1))
    options = sorted((float(np.linalg.norm(tips[r] - tips[m] * FLIP)), r, m) for r in right for m in left)
    paired, used = [], set()
    for distance, r, m in options:
        if distance < PAIR_REACH * size and r not in used and m not in used:
            used |= {r, m}
            (one, deep), (other, deep2) = _resampled(lines[r]), _resampled(lines[m])
            paired.append(((one + other * FLIP) / 2, (deep + deep2) / 2))
    return paired, middle, int(aside.sum()) - len(used)


def _ends(middle: list[Line], paired: list, size: float, floor: float, height: float) -> tuple[Line | None, Line | None]:
    """Head and tail among the lines in the middle: foremost and highest, and hindmost.

    A head is None where pairs of limbs reach much farther to the front and up: horns and cheeks of a head without a tip.
    """
    ahead = lambda point: float(point[0] + point[1] - abs(point[2]))  # noqa: E731
    is_leg = lambda path: path[-1, 1] < floor + ON_GROUND * height  # noqa: E731
    head = max(middle, key=lambda line: ahead(line.points[-1]), default=None)
    above = max((ahead(path[-1]) for path, _ in paired if not is_leg(path)), default=-np.inf)
    if head is not None and ahead(head.points[-1]) < above - 0.3 * size:
        head = None
    hind = min((path[-1, 0] for path, _ in paired if is_leg(path)), default=np.inf)
    front = head.points[-1, 0] if head is not None else np.inf
    behind = [line for line in middle if line is not head and line.points[-1, 0] < min(hind, front - 0.2 * size)]
    return head, min(behind, key=lambda line: line.points[-1, 0], default=None)


def _front(lines: list[Line]) -> Line:
    """A line for a head that is no tip of its own: the way to the foremost and highest tip, pressed into the plane."""
    return max(lines, key=lambda line: line.points[-1, 0] + line.points[-1, 1] - abs(line.points[-1, 2]))


def _trunk(head: Line, tail: Line | None, legs: list[np.ndarray], size: float) -> tuple[np.ndarray, np.ndarray]:
    """The line in the plane from the tail, or from where the hindmost legs part, to the head."""
    front, front_depth = _resampled(head)
    if tail is not None:
        hind, hind_depth = _resampled(tail)
    elif legs:
        leg = min(legs, key=lambda path: path[-1, 0])
        parted = int(np.argmax(np.abs(leg[:, 2]) > 0.03 * size))
        hind, hind_depth = leg[: max(parted, 1)], np.interp(np.arange(max(parted, 1)), [0], front_depth[:1])
    else:
        hind, hind_depth = front[:1], front_depth[:1]
    points = np.concatenate((hind[::-1], front[1:])) * (1.0, 1.0, 0.0)
    depths = np.concatenate((hind_depth[::-1], front_depth[1:]))
    return _without_detour(points, depths)


def _without_detour(points: np.ndarray, depths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both halves may run together for a while before they part: cut out what is walked twice, smooth, and spread evenly."""
    tree = cKDTree(points)
    gap = 1.5 * np.linalg.norm(np.diff(points, axis=0), axis=1).max()
    kept = [0]
    while kept[-1] < len(points) - 1:
        kept.append(max(max(tree.query_ball_point(points[kept[-1]], gap)), kept[-1] + 1))
    line = Line(points[kept], depths[kept])
    return _resampled(line)


def _leave_trunk(path: np.ndarray, trunk: np.ndarray, depth: np.ndarray, leg: bool) -> Pair:
    """Where a limb comes out of the trunk's flesh; its first joint lies just inside."""
    distance, nearest = cKDTree(trunk).query(path)
    inside = np.flatnonzero(distance < 0.75 * depth[nearest])
    start = min(int(inside[-1]) if len(inside) else 0, len(path) - 4)
    return Pair(path[start:], int(nearest[start]), leg)


def _without_branches(pairs: list[Pair], depth: np.ndarray, size: float) -> list[Pair]:
    """Drop pairs that are branches of longer ones, and what grows on the head."""
    shoulders = max((p.attached for p in pairs if p.leg), default=0)
    neck = _neck(depth, shoulders)
    # Who stands on four legs or more has no arms: shorter pairs before the front legs are ears, horns, feelers.
    face = shoulders + (0 if sum(p.leg for p in pairs) > 1 else 0.6 * (len(depth) - shoulders))
    kept: list[Pair] = []
    for pair in sorted(pairs, key=lambda p: -_length(p.points)):
        shared = [np.mean(cKDTree(other.points).query(pair.points)[0] < 0.03 * size) for other in kept]
        ahead = pair.attached > face and _length(pair.points) < 3 * SHORT_LIMB * size
        on_head = pair.attached > neck or ahead
        if max(shared, default=0) > OWN_WAY or (not pair.leg and (on_head or _length(pair.points) < SHORT_LIMB * size)):
            continue
        kept.append(pair)
    return kept


def _neck(depth: np.ndarray, shoulders: int) -> int:
    """The narrow place between trunk and head; the end of the trunk where there is none to be seen."""
    low, high = shoulders + (len(depth) - shoulders) // 4, len(depth) - 4
    if high <= low:
        return len(depth)
    neck = low + int(np.argmin(depth[low:high]))
    narrow = depth[neck] < NECK * min(depth[shoulders : neck + 1].max(), depth[neck:].max())
    return neck if narrow else len(depth)


def _as_many(pairs: list[Pair], wanted: int | None, *, leg: bool, what: str, notes: list[str]) -> list[Pair]:
    """The longest pairs of one kind, as many as wanted."""
    mine = sorted((p for p in pairs if p.leg == leg), key=lambda p: -_length(p.points))
    if wanted is not None and len(mine) < wanted:
        notes.append(f"Only {len(mine)} of {wanted} pairs of {what} could be found.")
    return mine if wanted is None else mine[:wanted]


def _length(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
