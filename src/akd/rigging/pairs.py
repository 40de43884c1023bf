"""Mirrored pairs among the branches of a curve skeleton, and which of them are limbs.

The body stands with its symmetry plane at z = 0 and faces +X; Y is up.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.spatial import cKDTree

from akd.rigging.volume import COVERED_DEPTHS, MIN_BRANCH, Branch, Volume

BRANCH_SAMPLES = 64
MAX_PARTNER_DISTANCE = 0.12
"""Tips are partners if one is this near to the other's mirror image [size]."""
MIRRORED_SHARE = 0.9
"""A branch without partner is one of a pair after all if this share of its mirror image lies inside the body too."""
OFF_PLANE = 0.04
"""Tips nearer to the symmetry plane than this are in the middle [size] ..."""
OFF_PLANE_ON_GROUND = 0.012
"""... unless they stand on the ground, where the feet of narrow bodies are as near as this."""
MAX_TAIL_SWAY = 0.1
"""A tail's tip may be held this far aside [size]."""
ON_GROUND = 0.1
"""A pair whose tips are this near to the ground are legs [height]."""
MAX_SHARED_LENGTH = 0.5
"""A branch that runs along another limb for more than this share of its length outside the trunk is a heel or a finger."""
MIN_FREE_LENGTH = 0.6
"""What hangs beside a leg and does not leave its volume for this share of its length is a fold of the thigh."""
MIN_LIMB_NEAR_HEAD = 0.36
"""Shorter pairs near the head are ears or horns [size]."""
MIN_FURTHER_LIMB = 0.3
"""A body on four legs or more has other limbs only if they are this long [size] ..."""
MAX_BEFORE_LEGS = 0.05
"""... and leave the trunk no farther in front of the legs than this [length of the trunk]: others are ears, horns, feelers.
Nothing but a tail leaves it farther behind the legs."""
NECK_SHARE = 0.85
"""A neck is thinner than this share of the trunk below and of the head above it."""
MIN_WING_BREADTH, MAX_WING_THICKNESS = 0.4, 0.35
"""A spread wing is broader than this share of its length, and thinner than this share of its breadth."""
FOLDED_WING_BACKWARD = 0.7
"""A folded wing points backwards by this share of its length; arms at rest hang, or are held aside or in front."""
CONNECTION_SAMPLES = np.array([0.25, 0.5, 0.75])[:, None, None]
"""Where the segment from a voxel to the branch of its limb must be inside the body [its length]."""
MIRROR_Z = np.array([1.0, 1.0, -1.0])


@dataclass(frozen=True, eq=False)
class LimbPair:
    """Two mirrored limbs, as the one on the right (z > 0)."""

    path: Float[np.ndarray, "place 3"]
    """From the middle of the body to its tip."""
    kind: Literal["leg", "arm", "wing"]
    attached: int = 0
    """Place on the trunk."""
    start: int = 0
    """Where the path leaves the trunk; zero before that is known."""

    @property
    def points(self) -> Float[np.ndarray, "place 3"]:
        """The limb itself."""
        return self.path[self.start :]

    @property
    def is_leg(self) -> bool:
        return self.kind == "leg"

    @property
    def length(self) -> float:
        return float(np.linalg.norm(np.diff(self.points, axis=0), axis=1).sum())


def pair_up(branches: list[Branch], volume: Volume, shortest: float) -> tuple[list[LimbPair], list[Branch], int]:
    """Pairs that stick out by more than ``shortest`` [size], midline branches, and how many are neither."""
    ends = np.array([branch.points[-1] for branch in branches])
    low = near_ground(volume)
    aside = np.abs(ends[:, 2]) > np.where(ends[:, 1] < low, OFF_PLANE_ON_GROUND, OFF_PLANE) * volume.size
    aside &= ~np.array([_crosses_plane(branch, volume) for branch in branches])
    midline = [branch for branch, off in zip(branches, aside, strict=True) if not off]
    aside &= np.array([branch.reach > shortest * volume.size for branch in branches])
    right, left = (np.flatnonzero(aside & (sign * ends[:, 2] > 0)).tolist() for sign in (1, -1))
    options = sorted((float(np.linalg.norm(ends[r] - ends[m] * MIRROR_Z)), r, m) for r in right for m in left)
    found, used = [], set()
    for distance, r, m in options:
        if distance < MAX_PARTNER_DISTANCE * volume.size and r not in used and m not in used:
            used |= {r, m}
            found.append((resampled(branches[r])[0] + resampled(branches[m])[0] * MIRROR_Z) / 2)
    for i in set(right + left) - used:
        outer = branches[i].points[len(branches[i].points) // 2 :]
        if volume.contains(outer * MIRROR_Z, 1.5).mean() > MIRRORED_SHARE:
            used.add(i)
            found.append(resampled(branches[i])[0] * (MIRROR_Z if i in left else 1))
    pairs = [LimbPair(points, "leg" if points[-1, 1] < low else "arm") for points in found]
    return pairs, midline, int(aside.sum()) - len(used)


def near_ground(volume: Volume) -> float:
    """Up to this height a tip stands on the ground. Voxels are coarse for flat bodies: the lowest tell nothing."""
    return volume.floor + max(ON_GROUND * volume.height, 2.5 * volume.step)


def _crosses_plane(branch: Branch, volume: Volume) -> bool:
    """Is a tip near the plane that of a tail held aside? Then the whole segment to its mirror image is inside the body."""
    tip = branch.points[-min(4, len(branch.points))]
    segment = tip * (1, 1, 0) + np.linspace(-1, 1, 9)[:, None] * (0, 0, tip[2])
    return bool(abs(tip[2]) < MAX_TAIL_SWAY * volume.size and volume.contains(segment, 1.0).all())


def resampled(branch: Branch) -> tuple[Float[np.ndarray, "place 3"], Float[np.ndarray, " place"]]:
    """A branch's points and depths, evenly spaced and smoothed: voxels make stairs."""
    points = branch.points
    for _ in range(4):
        points = np.concatenate((points[:1], (points[:-2] + 2 * points[1:-1] + points[2:]) / 4, points[-1:]))
    along = np.concatenate(([0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))))
    at = np.linspace(0, along[-1], BRANCH_SAMPLES)
    return np.stack([np.interp(at, along, axis) for axis in points.T], 1), np.interp(at, along, branch.depth)


def leave_trunk(pair: LimbPair, trunk: Float[np.ndarray, "place 3"], depth: Float[np.ndarray, " place"]) -> LimbPair:
    """Cut off what lies inside the trunk; the first joint lies just inside."""
    distance, nearest = cKDTree(trunk).query(pair.path)
    inside = np.flatnonzero(distance < 0.75 * depth[nearest])
    start = min(int(inside[-1]) if len(inside) else 0, len(pair.path) - 4)
    return replace(pair, start=start, attached=int(nearest[start]))


def select_limbs(
    pairs: list[LimbPair], trunk: Float[np.ndarray, "place 3"], depth: Float[np.ndarray, " place"], volume: Volume
) -> list[LimbPair]:
    """The pairs that are limbs of their own: no toes and fingers, no ribs of a wing, nothing that grows on a head."""
    shoulders = max((p.attached for p in pairs if p.is_leg), default=0)
    stems: list[LimbPair] = []
    for pair in sorted(pairs, key=lambda p: -p.length):
        if not any(same_limb(pair, other, volume) for other in stems):
            stems.append(pair)
    many = sum(p.is_leg for p in stems) > 1
    neck = shoulders + MAX_BEFORE_LEGS * len(depth) if many else _collar(trunk, depth, shoulders)
    hips = min((p.attached for p in pairs if p.is_leg), default=0) - MAX_BEFORE_LEGS * len(depth)
    face = 0.6 * (len(depth) - shoulders) + shoulders
    least = lambda p: MIN_FURTHER_LIMB if many else MIN_LIMB_NEAR_HEAD if p.attached > face else MIN_BRANCH  # noqa: E731
    kept = [p for p in stems if p.is_leg or (hips <= p.attached <= neck and p.length > least(p) * volume.size)]
    kept = _label_wings(kept, trunk, volume)
    return [p for p in kept if p.kind != "arm" or sum(q.is_leg for q in kept) < 3]  # insects have feelers, and no arms


def same_limb(pair: LimbPair, longer: LimbPair, volume: Volume) -> bool:
    """Does a pair run along another, or is the space between them inside the body?"""
    distance, nearest = cKDTree(longer.points).query(pair.points)
    girth = volume.depth[volume.tree.query(longer.points)[1]][nearest]
    own = pair.length * np.mean(distance > COVERED_DEPTHS * girth)  # what sticks out of the other's volume
    if own < MIN_BRANCH * volume.size or np.mean(distance < np.maximum(0.03 * volume.size, 0.8 * girth)) > MAX_SHARED_LENGTH:
        return True
    if pair.is_leg != longer.is_leg:
        hangs = longer.is_leg and pair.points[-1, 1] < longer.points[0, 1]
        return bool(hangs and own < MIN_FREE_LENGTH * pair.length)
    at = np.linspace(0.5, 0.9, 4)
    ones, others = (p.points[(at * (len(p.points) - 1)).astype(int)] for p in (pair, longer))
    share = np.linspace(0, 1, 9)[:, None, None]
    return bool(volume.contains((ones + share * (others - ones)).reshape(-1, 3), 1.5).mean() > 0.8)


def _collar(trunk: Float[np.ndarray, "place 3"], depth: Float[np.ndarray, " place"], shoulders: int) -> float:
    """The last place that arms leave from: beyond the neck's narrowest place by its own thickness, as large heads sit on arms."""
    neck = _neck(depth, shoulders)
    spacing = float(np.linalg.norm(np.diff(trunk, axis=0), axis=1).mean())
    return neck + float(depth[neck]) / spacing if neck < len(depth) else float(neck)


def _neck(depth: Float[np.ndarray, " place"], shoulders: int) -> int:
    """The last narrow place between trunk and head; the end of the trunk where there is none to be seen."""
    girth = np.convolve(np.pad(depth[shoulders:], 2, mode="edge"), np.ones(5) / 5, mode="valid")
    below, above = np.maximum.accumulate(girth), np.maximum.accumulate(girth[::-1])[::-1]
    narrowness = (np.minimum(below, above) / girth)[: max(len(girth) - 4, 0)]  # the last places are the tip
    narrow = np.flatnonzero(narrowness >= 1 / NECK_SHARE)
    if not len(narrow):
        return len(depth)
    last = np.split(narrow, np.flatnonzero(np.diff(narrow) > 1) + 1)[-1]
    return shoulders + int(last[np.argmax(narrowness[last])])


def _label_wings(pairs: list[LimbPair], trunk: Float[np.ndarray, "place 3"], volume: Volume) -> list[LimbPair]:
    """Arms whose volume is broad and thin are wings, and so are those that lie along the body with their tips behind.

    A limb's volume is what is nearest to its branch and connected to it inside the body: ears above an arm are not its.
    """
    curves = [*(pair.points for pair in pairs), trunk]
    owner = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves])
    right = volume.centers[volume.centers[:, 2] > 0]
    _, place = cKDTree(np.concatenate(curves)).query(right)
    aside = right - np.concatenate(curves)[place]
    out = []
    for i, pair in enumerate(pairs):
        root, way = pair.points[0], pair.points[-1] - pair.points[0]
        own = (owner[place] == i) & ((right - root) @ way > 0.2 * (way @ way))  # what is nearer to the root may be the trunk's
        own[own] = (
            volume.contains((right[own] - CONNECTION_SAMPLES * aside[own]).reshape(-1, 3), 1.0)
            .reshape(len(CONNECTION_SAMPLES), -1)
            .all(0)
        )
        if not pair.is_leg and own.sum() > 8:
            spread = np.linalg.svd(aside[own] - aside[own].mean(0), compute_uv=False)
            breadth, thickness, _ = spread * np.sqrt(12 / own.sum())  # sides of a box that is spread as much
            broad = breadth > MIN_WING_BREADTH * pair.length and thickness < MAX_WING_THICKNESS * breadth
            folded = -way[0] > FOLDED_WING_BACKWARD * np.linalg.norm(way)
            pair = replace(pair, kind="wing" if broad or folded else "arm")
        out.append(pair)
    return out
