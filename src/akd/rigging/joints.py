"""Joints on the curve skeleton of a body: hips, spine, neck, head, tail, and limbs that bend where their branches do."""

from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Float, Int

from akd.rigging.layout import Layout
from akd.rigging.pairs import MIRROR_Z, LimbPair
from akd.rigging.volume import Volume
from akd.skeleton import Kind, Limb, Side

SPINE_BONE, NECK_BONE, TAIL_BONE = 0.14, 0.12, 0.1
"""About how long bones of the trunk are [size]."""
LIMB_SAMPLES = 24
"""Places along a limb that are tried as its joints."""
USUAL_JOINTS = {2: (0.45, 0.82), 3: (0.3, 0.6, 0.85), 4: (0.2, 0.45, 0.7, 0.9)}
"""Where the inner joints of a straight limb are, as shares of its length."""
MIN_INSIDE = 0.96
"""A limb gets more joints until this share of its bones lies inside the body."""
JOINT_NAMES = {
    "leg": ("hip", "knee", "ankle", "foot", "toe"),
    "arm": ("shoulder", "elbow", "wrist", "hand", "finger"),
    "wing": ("shoulder", "elbow", "wrist", "hand", "finger"),
}


@dataclass
class JointList:
    """A tree of named joints while it grows."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    positions: list[np.ndarray] = field(default_factory=list)
    limbs: list[Limb] = field(default_factory=list)
    """What each joint belongs to."""

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

    def mirror(self) -> Int[np.ndarray, " joint"]:
        """Each joint's partner on the other side, by name."""
        other = lambda name: name.replace("left", "?").replace("right", "left").replace("?", "right")  # noqa: E731
        return np.array([self.names.index(other(name)) for name in self.names])


def place_joints(layout: Layout, volume: Volume) -> JointList:
    """The whole skeleton, mirror-symmetric about z = 0, for a body that faces +X."""
    joints = JointList()
    trunk, size = layout.trunk, volume.size
    hips = next((p.attached for p in layout.pairs if p.is_leg), int(0.4 * len(trunk)) if layout.tail or not layout.pairs else 0)
    hips = min(hips, len(trunk) - 8)
    fronts = [p.attached for p in layout.pairs if p.attached > hips + 4]
    chest = min(max(fronts, default=hips + (len(trunk) - hips) // 3), len(trunk) - 6)
    head = _head_start(layout, chest)
    joints.add("hips", -1, trunk[hips])
    on_trunk = {hips: 0}
    spine = _trunk_joints(trunk, hips, chest, SPINE_BONE * size, 1, 4, volume)
    neck = _trunk_joints(trunk, chest, head, NECK_BONE * size, 1, 6, volume)
    midline = [(f"spine_{i}", at) for i, at in enumerate(spine[1:], 1)]
    midline += [(f"neck_{i}", at) for i, at in enumerate(neck[1:-1], 1)] + [("head", neck[-1])]
    for name, at in midline:
        on_trunk[at] = joints.add(name, len(joints.names) - 1, trunk[at])
    joints.limbs += _midline_limbs(joints)
    if hips > 3 and layout.tail:
        places = _trunk_joints(trunk, hips, 0, TAIL_BONE * size, 2, 8, volume)
        tail = joints.chain([f"tail_{i}" for i in range(1, len(places) - 1)], 0, trunk[places[1:]])
        joints.limbs.append(Limb("tail", "C", 0, tuple(tail), tail[-1]))
    for pair, (name, order) in zip(layout.pairs, _pair_names(layout), strict=True):
        _add_pair(joints, pair, name, order, on_trunk[min(on_trunk, key=lambda at: abs(at - pair.attached))], volume)
    return joints


def _midline_limbs(joints: JointList) -> list[Limb]:
    """Spine, neck and head, of the joints so far."""
    words: dict[Kind, tuple[str, ...]] = {"spine": ("hips", "spine"), "neck": ("neck",), "head": ("head",)}
    out = []
    for kind, starts in words.items():
        members = tuple(j for j, name in enumerate(joints.names) if name.split("_")[0] in starts)
        out += [Limb(kind, "C", 0, members, members[-1])] if members else []
    return out


def fit_polyline(points: Float[np.ndarray, "place 3"], count: int = 2) -> Float[np.ndarray, "joint 3"]:
    """Start, ``count`` inner joints and end of the polyline that fits a branch best.

    A branch without clear bends gets its joints where limbs usually have them.
    """
    along = np.linspace(0, 1, LIMB_SAMPLES)
    branch = np.stack([np.interp(along * (len(points) - 1), np.arange(len(points)), axis) for axis in points.T], 1)
    length = max(float(np.linalg.norm(np.diff(branch, axis=0), axis=1).sum()), 1e-12)
    misses = np.zeros((LIMB_SAMPLES, LIMB_SAMPLES))  # of one bone from place to place
    for a, b in combinations(range(LIMB_SAMPLES), 2):
        straight = branch[a] + np.linspace(0, 1, b - a + 1)[:, None] * (branch[b] - branch[a])
        misses[a, b] = ((branch[a : b + 1] - straight) ** 2).sum()
    options = _joint_choices(count)
    knots = np.pad(options, ((0, 0), (1, 1)), constant_values=((0, 0), (0, LIMB_SAMPLES - 1)))
    unusual = ((along[options] - USUAL_JOINTS[count]) ** 2).sum(1)
    cost = misses[knots[:, :-1], knots[:, 1:]].sum(1) / (LIMB_SAMPLES * length**2) + 2e-3 * unusual
    return branch[knots[np.argmin(cost)]]


@cache
def _joint_choices(count: int) -> Int[np.ndarray, "option joint"]:
    """All ways to choose inner joints among the places of a limb, not too near to each other."""
    apart = 4 if count < 4 else 3
    ways = combinations(range(4, LIMB_SAMPLES - 2), count)
    return np.array([way for way in ways if all(b - a >= apart for a, b in pairwise(way))])


def _limb_joints(points: Float[np.ndarray, "place 3"], volume: Volume) -> Float[np.ndarray, "joint 3"]:
    """As few joints as keep the bones inside the body."""
    tried = {}
    for count in USUAL_JOINTS:
        tried[count] = fit_polyline(points, count)
        if _share_inside(tried[count], volume) >= MIN_INSIDE:
            return tried[count]
    return max(tried.values(), key=lambda places: _share_inside(places, volume))


def _share_inside(places: Float[np.ndarray, "joint 3"], volume: Volume) -> float:
    """Share of the segments between these places that lies inside the body."""
    segments = [np.linspace(a, b, 2 + int(np.linalg.norm(b - a) / volume.step)) for a, b in pairwise(places)]
    return float(volume.contains(np.concatenate(segments), 0.87).mean()) if segments else 1.0


def _add_pair(joints: JointList, pair: LimbPair, name: str, order: int, parent: int, volume: Volume) -> None:
    """Both limbs of a pair, left before right."""
    places = _limb_joints(pair.points, volume)
    parts = JOINT_NAMES[pair.kind][: len(places) - 1]
    sides: tuple[tuple[str, Side, np.ndarray], ...] = (("left", "L", places * MIRROR_Z), ("right", "R", places))
    for word, side, mirrored in sides:
        limb = joints.chain([f"{word}_{name}_{part}" for part in parts], parent, mirrored)
        joints.limbs.append(Limb(pair.kind, side, order, tuple(limb), limb[-1]))


def _pair_names(layout: Layout) -> list[tuple[str, int]]:
    """front_leg, hind_leg; leg_1 … from the front where there are more; arm, wing; and the rank from the front."""
    out: dict[int, tuple[str, int]] = {}
    for kind in JOINT_NAMES:
        mine = [p for p in layout.pairs if p.kind == kind][::-1]
        by_count = {1: [kind], 2: [f"front_{kind}", f"hind_{kind}"]}
        names = by_count.get(len(mine), [f"{kind}_{i + 1}" for i in range(len(mine))])
        out |= {id(p): (name, order) for order, (p, name) in enumerate(zip(mine, names, strict=True))}
    return [out[id(pair)] for pair in layout.pairs]


def _head_start(layout: Layout, chest: int) -> int:
    """The narrowest place between chest and crown, so that the skull is one bone."""
    last = len(layout.trunk) - 1
    low, high = chest + int(0.4 * (last - chest)), chest + int(0.8 * (last - chest))
    return max(low + int(np.argmin(layout.depth[low : high + 1])), chest + 2)


def _trunk_joints(trunk: np.ndarray, start: int, end: int, bone: float, least: int, most: int, volume: Volume) -> list[int]:
    """Places on the trunk that divide it from start to end into bones of about this length, more where it is bent."""
    length = float(np.linalg.norm(np.diff(trunk[min(start, end) : max(start, end) + 1], axis=0), axis=1).sum())
    for bones in range(int(np.clip(round(length / bone), least, most)), most + 1):
        places = np.round(np.linspace(start, end, bones + 1)).astype(int).tolist()
        if _share_inside(trunk[places], volume) >= MIN_INSIDE:
            return places
    return np.round(np.linspace(start, end, int(np.clip(round(length / bone), least, most)) + 1)).astype(int).tolist()
