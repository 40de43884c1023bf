"""Joints on the lines of a body: hips, spine, neck, head, tail, and limbs that bend where their lines do."""

from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Float

from akd.rigging.layout import FLIP, Layout, Pair

SPINE_BONE, NECK_BONE, TAIL_BONE = 0.14, 0.12, 0.1
"""About how long bones of the trunk are [size]."""
BENDS = 24
"""Places of a limb that are tried as its joints."""
USUAL = (0.45, 0.82)
"""Where the two inner joints of a straight limb are, as shares of its length."""


@dataclass
class JointList:
    """A tree of named joints while it grows."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    positions: list[np.ndarray] = field(default_factory=list)
    tips: dict[int, np.ndarray] = field(default_factory=dict)
    """Where joints without children end."""

    def add(self, name: str, parent: int, position: Float[np.ndarray, " 3"]) -> int:
        self.names.append(name)
        self.parents.append(parent)
        self.positions.append(np.asarray(position, float))
        return len(self.names) - 1

    def chain(self, names: list[str], parent: int, places: Float[np.ndarray, "place 3"]) -> list[int]:
        """Joints one after the other; the last place is where the last bone ends."""
        out = []
        for name, place in zip(names, places[:-1], strict=True):
            parent = self.add(name, parent, place)
            out.append(parent)
        return out


def place_joints(layout: Layout, size: float) -> JointList:
    """The whole skeleton, mirror-symmetric about z = 0, for a body that faces +X."""
    joints = JointList()
    trunk = layout.trunk
    hips = next((p.attached for p in layout.pairs if p.leg), int(0.4 * len(trunk)) if layout.tail or not layout.pairs else 0)
    hips = min(hips, len(trunk) - 8)
    fronts = [p.attached for p in layout.pairs if p.attached > hips + 4]
    chest = min(max(fronts, default=hips + (len(trunk) - hips) // 3), len(trunk) - 6)
    head = _head_start(layout, chest)
    root = joints.add("hips", -1, trunk[hips])
    on_trunk = {hips: root}
    spine = _places(trunk, hips, chest, _count(trunk, hips, chest, SPINE_BONE * size, 1, 4))
    neck = _places(trunk, chest, head, _count(trunk, chest, head, NECK_BONE * size, 1, 6))
    parent = root
    middle = [("spine", i) for i in spine[1:]] + [("neck", i) for i in neck[1:-1]] + [("head", neck[-1])]
    count = dict.fromkeys(("spine", "neck"), 0)
    for kind, at in middle:
        count[kind] = count.get(kind, 0) + 1
        parent = joints.add(kind if kind == "head" else f"{kind}_{count[kind]}", parent, trunk[at])
        on_trunk[at] = parent
    joints.tips[parent] = trunk[-1]
    if hips > 3 and layout.tail:
        places = _places(trunk, hips, 0, _count(trunk, 0, hips, TAIL_BONE * size, 2, 8))
        tail = joints.chain([f"tail_{i}" for i in range(1, len(places) - 1)], root, trunk[places[1:]])
        joints.tips[tail[-1]] = trunk[0]
    for pair, name in zip(layout.pairs, _pair_names(layout), strict=True):
        _add_pair(joints, pair, name, on_trunk[min(on_trunk, key=lambda at: abs(at - pair.attached))])
    return joints


def bends(points: Float[np.ndarray, "place 3"], count: int = len(USUAL)) -> Float[np.ndarray, "joint 3"]:
    """Start, the ``count`` places whose straight connections follow the line best, and end.

    A line without clear bends gets its joints where limbs usually have them.
    """
    along = np.linspace(0, 1, BENDS)
    every = np.interp(np.arange(BENDS) / (BENDS - 1) * (len(points) - 1), np.arange(len(points)), np.arange(len(points)))
    line = np.stack([np.interp(every, np.arange(len(points)), axis) for axis in points.T], 1)
    length = max(float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum()), 1e-12)

    def cost(inner: tuple[int, ...]) -> float:
        knots = [0, *inner, BENDS - 1]
        straight = np.stack([np.interp(along, along[knots], line[knots, axis]) for axis in range(3)], 1)
        unusual = np.sum((along[list(inner)] - USUAL) ** 2)
        return float(((line - straight) ** 2).sum(1).mean() / length**2 + 2e-3 * unusual)

    options = [c for c in combinations(range(4, BENDS - 2), count) if all(b - a >= 4 for a, b in pairwise(c))]
    best = min(options, key=cost)
    return line[[0, *best, BENDS - 1]]


def _add_pair(joints: JointList, pair: Pair, name: str, parent: int) -> None:
    """Both limbs of a pair, left before right."""
    parts = ("hip", "knee", "ankle") if pair.leg else ("shoulder", "elbow", "wrist")
    places = bends(pair.points)
    for side, mirrored in (("left", places * FLIP), ("right", places)):
        limb = joints.chain([f"{side}_{name}_{part}" for part in parts], parent, mirrored)
        joints.tips[limb[-1]] = mirrored[-1]


def _pair_names(layout: Layout) -> list[str]:
    """front_leg, hind_leg; leg_1 … from the front where there are more; arm."""
    out = []
    for leg, word in ((True, "leg"), (False, "arm")):
        mine = [p for p in layout.pairs if p.leg == leg][::-1]
        usual = {1: [word], 2: [f"front_{word}", f"hind_{word}"]}
        names = usual.get(len(mine), [f"{word}_{i + 1}" for i in range(len(mine))])
        out += list(zip(mine, names, strict=True))
    return [next(name for p, name in out if p is pair) for pair in layout.pairs]


def _head_start(layout: Layout, chest: int) -> int:
    """The narrowest place between chest and crown, so that the skull is one bone."""
    last = len(layout.trunk) - 1
    low, high = chest + int(0.4 * (last - chest)), chest + int(0.8 * (last - chest))
    return max(low + int(np.argmin(layout.depth[low : high + 1])), chest + 2)


def _count(trunk: np.ndarray, start: int, end: int, bone: float, least: int, most: int) -> int:
    length = float(np.linalg.norm(np.diff(trunk[start : end + 1], axis=0), axis=1).sum())
    return int(np.clip(round(length / bone), least, most))


def _places(trunk: np.ndarray, start: int, end: int, bones: int) -> list[int]:
    """Places on the trunk that part the way from start to end into so many bones."""
    return np.round(np.linspace(start, end, bones + 1)).astype(int).tolist()
