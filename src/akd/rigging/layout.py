"""From branches of the curve skeleton to a body layout: head, tail, trunk and limbs; and templates that a user can impose."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.spatial import cKDTree

from akd.rigging.pairs import LimbPair, leave_trunk, pair_up, resampled, same_limb, select_limbs
from akd.rigging.volume import MIN_BRANCH, Branch, ShortestPaths, Volume

Tips = tuple[tuple[float, float, float], ...]
TemplateLimb = tuple[Literal["leg", "arm"], tuple[float, float, float]]
"""A limb and where the template has it end."""
OTHER_KIND_COST = 0.25
"""Cost of taking an arm for a leg, or a leg for an arm [sides of the body's box]."""
DISORDER_COST = 0.5
"""Cost of an arm that leaves the trunk behind a leg."""
MISSING_COST = 1.25
"""Cost of guessing a limb: a pair that ends farther than this from where the template has it is another limb."""
OWN_DISTANCE = 0.08
"""Voxels nearer to a limb than this belong to it [size]."""
CROWN_DISTANCE = 0.08
"""A head's branch must end this near to the foremost and highest place of the plane [size], or it is only a nose or a beard."""
PARTED_LEGS = 0.03
"""Legs are two where they are this far from the plane [size]."""
FOOT_DISTANCE = 0.08
"""Tips on the ground that are nearer to each other are one foot [size]."""
TAIL_BEHIND = 0.02
"""A tail ends this far behind the thighs [size]."""
TOGETHER_VOXELS = 3
"""Curves run together while they are this near [voxels]."""
DEEP_SHARE = 0.75
"""Voxels deeper than this share of the greatest depth are the core of the trunk."""
MIN_TAIL = 0.03
"""Tails may stick out less than limbs [size]."""


@dataclass(frozen=True)
class Template:
    """Where the limbs on the right end, in the body's box: 0 to 1 from hind to front, from the ground up, from the middle out."""

    legs: Tips
    arms: Tips | None = ()
    """None: as many as the shape shows."""


TEMPLATES = {
    "biped": Template(((0.5, 0, 0.3),), ((0.5, 0.55, 1.0),)),
    "bird": Template(((0.5, 0, 0.4),), None),
    "quadruped": Template(((0.25, 0, 0.6), (0.75, 0, 0.6))),
    "insect": Template(((0.2, 0, 1.0), (0.5, 0, 1.0), (0.8, 0, 1.0))),
    "spider": Template(((0.1, 0, 0.8), (0.4, 0, 1.0), (0.6, 0, 1.0), (0.9, 0, 0.8))),
    "snake": Template(()),
}


def fit_template(template: Template, pairs: list[LimbPair], paths: ShortestPaths) -> tuple[list[LimbPair], list[str]]:
    """The template's limb pairs, and notes on what had to be guessed."""
    template_limbs: list[TemplateLimb] = [("leg", tip) for tip in template.legs] + [("arm", tip) for tip in template.arms or ()]
    taken = _cheapest_assignment(template_limbs, pairs, paths.volume)
    out = [_as_kind(pair, kind) for (kind, _), pair in zip(template_limbs, taken, strict=True) if pair is not None]
    if template.arms is None:
        out += [pair for pair in pairs if not pair.is_leg and all(pair is not used for used in taken)]
    for (kind, tip), pair in zip(template_limbs, taken, strict=True):
        out += [_guessed_limb(tip, kind, out, paths)] if pair is None else []
    notes = []
    for kind in ("leg", "arm"):
        found = [pair is not None for pair, (name, _) in zip(taken, template_limbs, strict=True) if name == kind]
        if not all(found):
            notes.append(
                f"The shape shows only {sum(found)} of {len(found)} pairs of {kind}s: the others were placed where the template"
                " has them."
            )
    return out, notes


def _cheapest_assignment(template_limbs: list[TemplateLimb], pairs: list[LimbPair], volume: Volume) -> list[LimbPair | None]:
    """For each template limb the pair assigned to it or None, by exhaustive search: limbs are few."""
    ends = _in_box(np.array([pair.points[-1] for pair in pairs]).reshape(-1, 3), volume)
    cost = np.full((len(template_limbs), len(pairs) + 1), MISSING_COST)  # the last column: none
    for row, (kind, tip) in enumerate(template_limbs):
        other = np.array([pair.is_leg != (kind == "leg") for pair in pairs], bool)
        cost[row, :-1] = np.linalg.norm(ends - tip, axis=1) + OTHER_KIND_COST * other

    def total(choice: tuple[int, ...]) -> float:
        at: dict[str, list[int]] = {"leg": [], "arm": []}
        for (kind, _), pair in zip(template_limbs, choice, strict=True):
            at[kind] += [pairs[pair].attached] if pair < len(pairs) else []
        disorder = sum(arm < leg for arm in at["arm"] for leg in at["leg"])
        return float(cost[np.arange(len(template_limbs)), list(choice)].sum()) + DISORDER_COST * disorder

    options = product(*(np.flatnonzero(row <= MISSING_COST).tolist() for row in cost))
    unique = (choice for choice in options if len(real := [c for c in choice if c < len(pairs)]) == len(set(real)))
    return [pairs[pair] if pair < len(pairs) else None for pair in min(unique, key=total)]


def _as_kind(pair: LimbPair, kind: Literal["leg", "arm"]) -> LimbPair:
    """A wing stays a wing where an arm is wanted."""
    return pair if pair.is_leg == (kind == "leg") else replace(pair, kind=kind)


def _guessed_limb(
    tip: tuple[float, float, float], kind: Literal["leg", "arm"], others: list[LimbPair], paths: ShortestPaths
) -> LimbPair:
    """The path to the voxel on the right nearest to where a limb should end that is not another limb's."""
    volume = paths.volume
    right = np.flatnonzero((volume.centers[:, 2] > volume.step) & np.isfinite(paths.distances))
    apart = np.linalg.norm(_in_box(volume.centers[right], volume) - tip, axis=1)
    if others:
        distance, _ = cKDTree(np.concatenate([pair.points for pair in others])).query(volume.centers[right])
        apart[distance < OWN_DISTANCE * volume.size] += MISSING_COST
    return LimbPair(resampled(paths.branch(int(right[np.argmin(apart)])))[0], kind)


def _in_box(points: Float[np.ndarray, "point 3"], volume: Volume) -> Float[np.ndarray, "point 3"]:
    """Places as shares of the body's length, height and half its width."""
    low, high = volume.centers.min(0), volume.centers.max(0)
    low, high = low * (1, 1, 0), np.array([high[0], high[1], np.abs(volume.centers[:, 2]).max()])
    return (points - low) / np.maximum(high - low, 1e-12)


@dataclass(frozen=True, eq=False)
class Layout:
    """Trunk and limbs of a body as curves."""

    trunk: Float[np.ndarray, "place 3"]
    """In the symmetry plane, from the tip of the tail or the hips to the tip of the head."""
    depth: Float[np.ndarray, " place"]
    """Distance of the trunk's places from the skin."""
    pairs: tuple[LimbPair, ...]
    """From hind to front."""
    tail: bool
    """Does the trunk begin with a tail?"""
    notes: tuple[str, ...]


def lay_out(
    branches: list[Branch], paths: ShortestPaths, *, template: Template | None = None, shortest: float = MIN_BRANCH
) -> Layout:
    """Sort the branches; limbs stick out by more than ``shortest`` [size]. The template says which limbs there must be, where the
    user knows."""
    volume = paths.volume
    paired, midline, unpaired = pair_up(branches, volume, shortest)
    notes = [f"{unpaired} branches have no partner on the other side and were left out."] if unpaired else []
    standing = _feet_apart([pair for pair in paired if pair.is_leg], volume)
    trunk, depth, tail = _trunk(midline, standing, paths)
    pairs = select_limbs([leave_trunk(pair, trunk, depth) for pair in paired], trunk, depth, volume)
    if template is not None:  # which limbs are legs says where the hips are, so the trunk is laid again
        pairs, guesses = fit_template(template, pairs, paths)
        pairs = [leave_trunk(pair, trunk, depth) for pair in pairs]
        trunk, depth, tail = _trunk(midline, [pair for pair in pairs if pair.is_leg], paths)
        pairs = [leave_trunk(pair, trunk, depth) for pair in pairs]
        notes += guesses
    return Layout(trunk, depth, tuple(sorted(pairs, key=lambda p: p.attached)), tail, tuple(notes))


def _trunk(midline: list[Branch], legs: list[LimbPair], paths: ShortestPaths) -> tuple[np.ndarray, np.ndarray, bool]:
    """The trunk of a body on these legs with its depths, and does it begin with a tail?"""
    head = _head(midline, paths, len(legs))
    tail = _tail([branch for branch in midline if branch is not head], head, legs, paths.volume)
    return *_head_to_tail(head, tail, legs, paths.volume), tail is not None


def _feet_apart(legs: list[LimbPair], volume: Volume) -> list[LimbPair]:
    """One branch to each foot: toes are near each other, and those of broad feet come down one leg."""
    kept: list[LimbPair] = []
    for leg in sorted(legs, key=lambda p: -p.length):
        apart = [np.linalg.norm(leg.points[-1] - other.points[-1]) / (FOOT_DISTANCE * volume.size) for other in kept]
        toes = (gap < 1 or (gap < 2 and same_limb(leg, other, volume)) for gap, other in zip(apart, kept, strict=True))
        if not any(toes):
            kept.append(leg)
    return kept


def _head(midline: list[Branch], paths: ShortestPaths, leg_pairs: int) -> Branch:
    """The branch to the foremost and highest place in the plane, or to a tip near it.

    Heads that are balls with ears have no tip of their own. The more legs, the less does height say: an upright body carries
    its head on top, a cow's may hang, and a spider's highest place is its abdomen.
    """
    volume = paths.volume
    rise = {0: 1.0, 1: 1.0, 2: 0.5}.get(leg_pairs, 0.0)
    merit = lambda points: points[..., 0] + rise * points[..., 1]  # noqa: E731
    flat = np.flatnonzero((np.abs(volume.centers[:, 2]) <= volume.step) & np.isfinite(paths.distances))
    place = int(flat[np.argmax(merit(volume.centers[flat]))]) if len(flat) else paths.start
    ends = [branch for branch in midline if branch.reach > MIN_BRANCH * volume.size]
    best = max(ends, key=lambda branch: merit(branch.points[-1]), default=None)
    if best is not None and merit(best.points[-1]) > merit(volume.centers[place]) - CROWN_DISTANCE * volume.size:
        return best
    return paths.branch(place)


def _tail(midline: list[Branch], head: Branch, legs: list[LimbPair], volume: Volume) -> Branch | None:
    """The hindmost midline branch that leaves the body near its hind end and ends behind the thighs.

    What six or eight legs carry behind them is an abdomen.
    """
    if len(legs) > 2:
        return None
    leg = _hindmost(legs).path if legs else head.points[:1]
    hips = _hip_position(legs, volume) if legs else head.points[0]
    thighs = min(hips[0], float(np.median(leg[len(leg) // 2 :, 0])))
    if _is_upright(head, hips, volume):  # small bumps behind are seats, and what sticks out higher up is a pack
        low = hips[1] + TAIL_BEHIND * volume.size
        midline = [branch for branch in midline if branch.reach > MIN_BRANCH * volume.size and branch.points[-1, 1] < low]
        thighs -= float(volume.depth[volume.tree.query(hips)[1]])
    found = []
    for branch in midline:
        with_leg, with_head = (_shared_length(branch, other, volume) for other in (leg, head.points))
        parting = branch.points[with_leg]
        near_hips = np.linalg.norm(parting - hips) < np.linalg.norm(parting - head.points[-1])
        if near_hips and with_head <= with_leg + TOGETHER_VOXELS and branch.points[-1, 0] < thighs - TAIL_BEHIND * volume.size:
            found.append(branch)
    return min(found, key=lambda branch: branch.points[-1, 0], default=None)


def _is_upright(head: Branch, hips: Float[np.ndarray, " 3"], volume: Volume) -> bool:
    """Does the trunk stand? Its head is above its hips, unless its deepest part lies: longer than high, and nearer to the hips
    than to the crown, or it would be a skull. The neck of an ostrich stands, its trunk lies."""
    crown = head.points[np.argmax(head.points[:, 1])]
    rise = crown - hips
    deep = volume.centers[(volume.depth > DEEP_SHARE * volume.depth.max()) & (np.abs(volume.centers[:, 2]) < 2 * volume.step)]
    length, height, _ = np.ptp(deep, axis=0)
    lies = length > height and 2 * deep[:, 1].mean() < hips[1] + crown[1]
    return bool(rise[1] > 1.5 * abs(rise[0]) and not lies)


def _shared_length(branch: Branch, other: Float[np.ndarray, "place 3"], volume: Volume) -> int:
    """The last place up to which a branch keeps to another curve from the start, seen from the side."""
    distance = cKDTree(other[:, :2]).query(branch.points[:, :2])[0]
    apart = distance > np.maximum(TOGETHER_VOXELS * volume.step, 0.5 * branch.depth)
    return int(np.argmax(apart)) if apart.any() else len(branch.points) - 1


def _hip_position(legs: list[LimbPair], volume: Volume) -> Float[np.ndarray, " 3"]:
    """Where the hindmost legs part."""
    leg = _hindmost(legs).path
    return leg[_parting(leg, volume)]


def _hindmost(legs: list[LimbPair]) -> LimbPair:
    """By where they leave the trunk, if that is known already; else by their feet."""
    return min(legs, key=lambda p: (p.attached, p.path[-1, 0]))


def _parting(leg: Float[np.ndarray, "place 3"], volume: Volume) -> int:
    """The first place of a leg's branch that is not in the middle of the body."""
    return max(int(np.argmax(np.abs(leg[:, 2]) > PARTED_LEGS * volume.size)), 1)


def _above_crotch(leg: Float[np.ndarray, "place 3"], volume: Volume) -> int:
    """The place of a leg's branch that is one thickness of the leg above where there is air between it and its partner."""
    share = np.linspace(-1, 1, 9)[:, None, None]
    across = leg * (1, 1, 0) + share * (leg * (0, 0, 1))
    connected = volume.contains(across.reshape(-1, 3), 1.0).reshape(len(share), -1).all(0)
    crotch = int(np.argmin(connected)) if not connected.all() else 0
    top = leg[crotch, 1] + volume.depth[volume.tree.query(leg[crotch])[1]]
    higher = np.flatnonzero(leg[:crotch, 1] > top)
    return int(higher[-1]) if len(higher) else 0


def _head_to_tail(head: Branch, tail: Branch | None, legs: list[LimbPair], volume: Volume) -> tuple[np.ndarray, np.ndarray]:
    """The curve in the plane from the tail, or from where the hindmost legs part, to the head."""
    front, front_depth = resampled(head)
    hind, hind_depth = front[:1], front_depth[:1]
    if tail is not None:
        hind, hind_depth = resampled(tail)
    elif legs:
        leg = _hindmost(legs).path
        stout = _above_crotch(leg, volume) if len(legs) == 1 else 0  # branches part early in a body as broad as its stance
        hind = leg[: max(_parting(leg, volume), stout)] * (1.0, 1.0, 0.0)
        hind_depth = volume.depth[volume.tree.query(hind)[1]]
    points = np.concatenate((hind[::-1], front[1:])) * (1.0, 1.0, 0.0)
    return _without_detour(points, np.concatenate((hind_depth[::-1], front_depth[1:])))


def _without_detour(points: np.ndarray, depths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both halves may run together for a while before they part: cut out what is walked twice, smooth, and spread evenly."""
    tree = cKDTree(points)
    gap = 1.5 * np.linalg.norm(np.diff(points, axis=0), axis=1).max(initial=0)
    kept = [0]
    while kept[-1] < len(points) - 1:
        kept.append(max(max(tree.query_ball_point(points[kept[-1]], gap)), kept[-1] + 1))
    return resampled(Branch(points[kept], depths[kept]))
