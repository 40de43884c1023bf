"""From lines along the middle of a body to a plan: head, tail, trunk, and the limbs that leave it.

The body stands with its symmetry plane at z = 0 and faces +X; Y is up.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial import cKDTree

from akd.rigging.pairs import Pair, evenly, leave_trunk, limbs_among, one_limb, pair_up
from akd.rigging.template import Template, imposed
from akd.rigging.volume import SHORTEST, Line, Paths, Volume

CROWN = 0.08
"""A head's line must end this near to the foremost and highest place of the plane [size], or it is only a nose or a beard."""
PARTED = 0.03
"""Legs are two where they are this far from the plane [size]."""
FOOT = 0.08
"""Tips on the ground that are nearer to each other are one foot [size]."""
BEHIND = 0.02
"""A tail ends this far behind the thighs [size]."""
TOGETHER = 3
"""Lines run together while they are this near [voxels]."""
DEEP = 0.75
"""Flesh deeper than this is the trunk's core [deepest place]."""
SHORT_TAIL = 0.03
"""Tails may stick out less than limbs [size]."""


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


def lay_out(lines: list[Line], paths: Paths, *, template: Template | None = None, shortest: float = SHORTEST) -> Layout:
    """Sort the lines; limbs stick out by more than ``shortest`` [size]. The template says which limbs there must be, where the
    user knows."""
    volume = paths.volume
    paired, middle, lonely = pair_up(lines, volume, shortest)
    notes = [f"{lonely} branches have no partner on the other side and were left out."] if lonely else []
    standing = _feet_apart([pair for pair in paired if pair.is_leg], volume)
    trunk, depth, tail = _trunk(middle, standing, paths)
    pairs = limbs_among([leave_trunk(pair, trunk, depth) for pair in paired], trunk, depth, volume)
    if template is not None:  # which limbs are legs says where the hips are, so the trunk is laid again
        pairs, guesses = imposed(template, pairs, paths)
        pairs = [leave_trunk(pair, trunk, depth) for pair in pairs]
        trunk, depth, tail = _trunk(middle, [pair for pair in pairs if pair.is_leg], paths)
        pairs = [leave_trunk(pair, trunk, depth) for pair in pairs]
        notes += guesses
    return Layout(trunk, depth, tuple(sorted(pairs, key=lambda p: p.attached)), tail, tuple(notes))


def _trunk(middle: list[Line], legs: list[Pair], paths: Paths) -> tuple[np.ndarray, np.ndarray, bool]:
    """The trunk of a body on these legs with its depths, and does it begin with a tail?"""
    head = _head(middle, paths, len(legs))
    tail = _tail([line for line in middle if line is not head], head, legs, paths.volume)
    return *_head_to_tail(head, tail, legs, paths.volume), tail is not None


def _feet_apart(legs: list[Pair], volume: Volume) -> list[Pair]:
    """One line to each foot: toes are near each other, and those of broad feet come down one leg."""
    kept: list[Pair] = []
    for leg in sorted(legs, key=lambda p: -p.length):
        apart = [np.linalg.norm(leg.points[-1] - other.points[-1]) / (FOOT * volume.size) for other in kept]
        toes = (gap < 1 or (gap < 2 and one_limb(leg, other, volume)) for gap, other in zip(apart, kept, strict=True))
        if not any(toes):
            kept.append(leg)
    return kept


def _head(middle: list[Line], paths: Paths, leg_pairs: int) -> Line:
    """The way to the foremost and highest place in the plane, or to a tip near it.

    Heads that are balls with ears have no tip of their own. The more legs, the less does height say: an upright body carries
    its head on top, a cow's may hang, and a spider's highest place is its abdomen.
    """
    volume = paths.volume
    rise = {0: 1.0, 1: 1.0, 2: 0.5}.get(leg_pairs, 0.0)
    merit = lambda points: points[..., 0] + rise * points[..., 1]  # noqa: E731
    flat = np.flatnonzero((np.abs(volume.centers[:, 2]) <= volume.step) & np.isfinite(paths.far))
    place = int(flat[np.argmax(merit(volume.centers[flat]))]) if len(flat) else paths.start
    tips = [line for line in middle if line.reach > SHORTEST * volume.size]
    best = max(tips, key=lambda line: merit(line.points[-1]), default=None)
    if best is not None and merit(best.points[-1]) > merit(volume.centers[place]) - CROWN * volume.size:
        return best
    return paths.line(place)


def _tail(middle: list[Line], head: Line, legs: list[Pair], volume: Volume) -> Line | None:
    """The hindmost line in the middle that leaves the body near its hind end and ends behind the thighs.

    What six or eight legs carry behind them is an abdomen.
    """
    if len(legs) > 2:
        return None
    leg = _hindmost(legs).way if legs else head.points[:1]
    hips = _hips(legs, volume) if legs else head.points[0]
    thighs = min(hips[0], float(np.median(leg[len(leg) // 2 :, 0])))
    if _is_upright(head, hips, volume):  # small bumps behind are seats, and what sticks out higher up is a pack
        low = hips[1] + BEHIND * volume.size
        middle = [line for line in middle if line.reach > SHORTEST * volume.size and line.points[-1, 1] < low]
        thighs -= float(volume.depth[volume.tree.query(hips)[1]])
    found = []
    for line in middle:
        with_leg, with_head = (_run_together(line, other, volume) for other in (leg, head.points))
        parting = line.points[with_leg]
        near_hips = np.linalg.norm(parting - hips) < np.linalg.norm(parting - head.points[-1])
        if near_hips and with_head <= with_leg + TOGETHER and line.points[-1, 0] < thighs - BEHIND * volume.size:
            found.append(line)
    return min(found, key=lambda line: line.points[-1, 0], default=None)


def _is_upright(head: Line, hips: Float[np.ndarray, " 3"], volume: Volume) -> bool:
    """Does the trunk stand? Its head is above its hips, unless its deepest flesh lies: longer than high, and nearer to the hips
    than to the crown, or it would be a skull. The neck of an ostrich stands, its trunk lies."""
    crown = head.points[np.argmax(head.points[:, 1])]
    rise = crown - hips
    deep = volume.centers[(volume.depth > DEEP * volume.depth.max()) & (np.abs(volume.centers[:, 2]) < 2 * volume.step)]
    length, height, _ = np.ptp(deep, axis=0)
    lies = length > height and 2 * deep[:, 1].mean() < hips[1] + crown[1]
    return bool(rise[1] > 1.5 * abs(rise[0]) and not lies)


def _run_together(line: Line, other: Float[np.ndarray, "place 3"], volume: Volume) -> int:
    """The last place up to which a line keeps to another one from the start, seen from the side."""
    distance = cKDTree(other[:, :2]).query(line.points[:, :2])[0]
    apart = distance > np.maximum(TOGETHER * volume.step, 0.5 * line.depth)
    return int(np.argmax(apart)) if apart.any() else len(line.points) - 1


def _hips(legs: list[Pair], volume: Volume) -> Float[np.ndarray, " 3"]:
    """Where the hindmost legs part."""
    leg = _hindmost(legs).way
    return leg[_parted(leg, volume)]


def _hindmost(legs: list[Pair]) -> Pair:
    """By where they leave the trunk, if that is known already; else by their feet."""
    return min(legs, key=lambda p: (p.attached, p.way[-1, 0]))


def _parted(leg: Float[np.ndarray, "place 3"], volume: Volume) -> int:
    """The first place of a leg's line that is not in the middle of the body."""
    return max(int(np.argmax(np.abs(leg[:, 2]) > PARTED * volume.size)), 1)


def _above_crotch(leg: Float[np.ndarray, "place 3"], volume: Volume) -> int:
    """The place of a leg's line that is one thickness of the leg above where there is air between it and its partner."""
    share = np.linspace(-1, 1, 9)[:, None, None]
    across = leg * (1, 1, 0) + share * (leg * (0, 0, 1))
    one_flesh = volume.holds(across.reshape(-1, 3), 1.0).reshape(len(share), -1).all(0)
    crotch = int(np.argmin(one_flesh)) if not one_flesh.all() else 0
    top = leg[crotch, 1] + volume.depth[volume.tree.query(leg[crotch])[1]]
    higher = np.flatnonzero(leg[:crotch, 1] > top)
    return int(higher[-1]) if len(higher) else 0


def _head_to_tail(head: Line, tail: Line | None, legs: list[Pair], volume: Volume) -> tuple[np.ndarray, np.ndarray]:
    """The line in the plane from the tail, or from where the hindmost legs part, to the head."""
    front, front_depth = evenly(head)
    hind, hind_depth = front[:1], front_depth[:1]
    if tail is not None:
        hind, hind_depth = evenly(tail)
    elif legs:
        leg = _hindmost(legs).way
        stout = _above_crotch(leg, volume) if len(legs) == 1 else 0  # lines part early in a body as broad as its stance
        hind = leg[: max(_parted(leg, volume), stout)] * (1.0, 1.0, 0.0)
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
    return evenly(Line(points[kept], depths[kept]))
