"""A rig and its poses as turns on the stage, which do not depend on who is whose parent.

Joints left out of a rig and joints added to it, the poses staying what they are. Left and right are treated alike.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.posespace.representation import KINDS, RigDescriptor

Stage = Float[np.ndarray, "pose joint 3 3"]


@dataclass(frozen=True, eq=False)
class Posing:
    """A rig and its poses."""

    sketch: RigDescriptor
    turns: Stage


def posing_of(sketch: RigDescriptor, bends: Float[np.ndarray, "pose joint 3"]) -> Posing:
    """Turns on the stage from bends."""
    frames = sketch.frames
    local = Rotation.from_rotvec(bends.reshape(-1, 3)).as_matrix().reshape(*bends.shape, 3)
    turns = frames @ local @ np.swapaxes(frames, -1, -2)
    for joint in range(1, sketch.joint_count):
        turns[:, joint] = turns[:, sketch.parents[joint]] @ turns[:, joint]
    return Posing(sketch, turns)


def bends_of(posing: Posing) -> Float[np.ndarray, "pose joint 3"]:
    """Bends from turns on the stage."""
    sketch, turns = posing.sketch, posing.turns
    above = turns[:, np.maximum(sketch.parents, 0)]
    local = np.where((sketch.parents < 0)[:, None, None], turns, np.swapaxes(above, -1, -2) @ turns)
    inside = np.swapaxes(sketch.frames, -1, -2) @ local @ sketch.frames
    return Rotation.from_matrix(inside.reshape(-1, 3, 3)).as_rotvec().reshape(*turns.shape[:2], 3)


def selected(sketch: RigDescriptor, kept: np.ndarray) -> RigDescriptor:
    """Some joints of a sketch, in their old order; a partner that is gone leaves a joint to itself."""
    new = np.full(sketch.joint_count, -1)
    new[kept] = np.arange(len(kept))
    mirror = new[sketch.mirror[kept]]
    parents = np.where(sketch.parents[kept] < 0, -1, new[np.maximum(sketch.parents[kept], 0)])
    names = ("positions", "tails", "kind", "order", "radius", "half")
    parts = {name: getattr(sketch, name)[kept] for name in names}
    return RigDescriptor(parents=parents, mirror=np.where(mirror < 0, np.arange(len(kept)), mirror), **parts)


def pointed(sketch: RigDescriptor) -> RigDescriptor:
    """Bones that point to the middle of their children, as those of files do; the last ones stay as they are."""
    tails = sketch.tails.copy()
    for joint in np.unique(sketch.parents[1:]):
        tails[joint] = sketch.positions[sketch.parents == joint].mean(0)
    return replace(sketch, tails=tails)


def scaled(sketch: RigDescriptor, factor: float) -> RigDescriptor:
    """The same body in another size."""
    names = ("positions", "tails", "radius", "half")
    return replace(sketch, **{name: factor * getattr(sketch, name) for name in names})


LEG, ARM, WING, TAIL, NECK, HEAD, SPINE = range(len(KINDS))
LEFT_OUT, ADDED, MERGED, COLLARED = 0.12, 0.3, 0.2, 0.35
"""Chances: of a joint to be left out, of a bone of trunk, neck or tail to get a joint in its middle, of a pair of legs to
have one joint less, of a pair of limbs to hang on collar bones."""
LEAST_LEG = 4
"""Legs with so many joints can do without one of them."""
SIDEWAYS = 0.8
"""A bone that points sideways more than this is a collar bone already."""


def without(posing: Posing, gone: set[int]) -> Posing:
    """The rig without some joints; bones that lost a joint in their middle point where their far end is."""
    sketch, turns = posing.sketch, posing.turns.copy()
    parents = sketch.parents.copy()
    for joint in sorted(gone, reverse=True):
        parent, children = parents[joint], np.flatnonzero(parents == joint)
        if len(children) == 1 and parent > 0 and (parents == parent).sum() == 1:
            reached = _far_end(sketch, turns, int(parent), joint, int(children[0]))
            turns[:, parent] = reached @ turns[:, parent]
        parents[children] = parent
    kept = np.array([joint for joint in range(sketch.joint_count) if joint not in gone])
    return Posing(selected(replace(sketch, parents=parents), kept), turns[:, kept])


def with_middles(posing: Posing, split: set[int]) -> Posing:
    """A new joint half way along some bones; it and the joint above share what the one did before."""
    sketch, turns = posing.sketch, posing.turns
    order: list[tuple[int, bool]] = [
        e for j in range(sketch.joint_count) for e in [(j, False), *([(j, True)] if j in split else [])]
    ]
    place = {entry: k for k, entry in enumerate(order)}
    parents, positions, out = [], [], []
    for joint, is_middle in order:
        above = int(sketch.parents[joint])
        half = _part_way(turns[:, max(above, 0)], turns[:, joint], 0.5) if joint in split else turns[:, joint]
        parents.append(place[joint, False] if is_middle else place[above, above in split] if above >= 0 else -1)
        positions.append((sketch.positions[joint] + sketch.tails[joint]) / 2 if is_middle else sketch.positions[joint])
        out.append(turns[:, joint] if is_middle else half)
    return _grown(sketch, order, parents, positions, out)


def with_collars(posing: Posing, inward: dict[int, float], share: float) -> Posing:
    """A new joint between the trunk and some limbs, so far inward of their first joint; it does a share of what that did."""
    sketch, turns = posing.sketch, posing.turns
    order: list[tuple[int, bool]] = [
        e for j in range(sketch.joint_count) for e in [*([(j, True)] if j in inward else []), (j, False)]
    ]
    place = {entry: k for k, entry in enumerate(order)}
    parents, positions, out = [], [], []
    for joint, is_collar in order:
        above, at = int(sketch.parents[joint]), sketch.positions[joint]
        hangs_on = place[above, False] if above >= 0 else -1
        parents.append(place[joint, True] if joint in inward and not is_collar else hangs_on)
        positions.append(at * (1.0, 1.0, inward[joint]) if is_collar else at)
        out.append(_part_way(turns[:, above], turns[:, joint], share) if is_collar else turns[:, joint])
    return _grown(sketch, order, parents, positions, out)


def some_to_leave_out(sketch: RigDescriptor, rng: np.random.Generator) -> set[int]:
    """Ends of limbs, joints in the middle of trunk, neck and tail, and one of the middle joints of long legs."""
    children = np.bincount(sketch.parents[1:], minlength=sketch.joint_count)
    out: set[int] = set()
    for joint in range(1, sketch.joint_count):
        partner = int(sketch.mirror[joint])
        middle = children[joint] == 1 and sketch.kind[joint] in (TAIL, NECK, SPINE)
        if partner >= joint and (children[joint] == 0 or middle) and rng.random() < LEFT_OUT:
            out |= {joint, partner}
    for first in first_joints(sketch, (LEG,)):
        chain = _chain(sketch, first)
        if len(chain) >= LEAST_LEG and rng.random() < MERGED:
            joint = chain[int(rng.integers(1, len(chain) - 1))]
            out |= {joint, int(sketch.mirror[joint])}
    return out if sketch.joint_count - len(out) > 2 else set()


def some_to_split(sketch: RigDescriptor, rng: np.random.Generator) -> set[int]:
    """Bones of trunk, neck and tail."""
    children = np.bincount(sketch.parents[1:], minlength=sketch.joint_count)
    flexible = (children == 1) & np.isin(sketch.kind, (TAIL, NECK, SPINE)) & (sketch.parents >= 0)
    return {int(j) for j in np.flatnonzero(flexible) if rng.random() < ADDED and sketch.mirror[j] == j}


def some_collars(sketch: RigDescriptor, rng: np.random.Generator) -> dict[int, float]:
    """Limbs that hang straight on the trunk, with how far inward their collar bones begin."""
    out: dict[int, float] = {}
    for joint in first_joints(sketch, (LEG, ARM)):
        bone = sketch.tails[joint] - sketch.positions[joint]
        is_collar = abs(bone[2]) > SIDEWAYS * np.linalg.norm(bone)
        if not is_collar and rng.random() < COLLARED:
            out |= dict.fromkeys((joint, int(sketch.mirror[joint])), float(rng.uniform(0.2, 0.85)))
    return out


def first_joints(sketch: RigDescriptor, kinds: tuple[int, ...]) -> list[int]:
    """Where paired limbs of these kinds begin, one of each pair."""
    joints = range(1, sketch.joint_count)
    starts = [j for j in joints if sketch.kind[j] in kinds and sketch.kind[sketch.parents[j]] != sketch.kind[j]]
    return [j for j in starts if sketch.mirror[j] > j]


def _chain(sketch: RigDescriptor, first: int) -> list[int]:
    """The joints from here on, until the limb ends or forks."""
    chain = [first]
    while len(children := np.flatnonzero(sketch.parents == chain[-1])) == 1:
        chain.append(int(children[0]))
    return chain


def _grown(
    sketch: RigDescriptor, order: list[tuple[int, bool]], parents: list[int], positions: list[np.ndarray], turns: list[np.ndarray]
) -> Posing:
    """A rig some of whose joints occur twice: as themselves, and as a new joint that belongs to them."""
    place = {entry: k for k, entry in enumerate(order)}
    mirror = np.array([place[int(sketch.mirror[joint]), is_new] for joint, is_new in order])
    source = np.array([joint for joint, _ in order])
    grown = replace(selected(sketch, source), parents=np.array(parents), positions=np.array(positions), mirror=mirror)
    return Posing(grown, np.stack(turns, 1))


def _far_end(sketch: RigDescriptor, turns: Stage, parent: int, joint: int, child: int) -> Float[np.ndarray, "pose 3 3"]:
    """The turn that brings a bone which lost its middle joint to where its far end really is."""
    first, second = sketch.positions[joint] - sketch.positions[parent], sketch.positions[child] - sketch.positions[joint]
    straight = turns[:, parent] @ (first + second)
    real = turns[:, parent] @ first + turns[:, joint] @ second
    axis = np.cross(straight, real)
    sine = np.linalg.norm(axis, axis=-1, keepdims=True)
    angle = np.arctan2(sine, (straight * real).sum(-1, keepdims=True))
    return Rotation.from_rotvec(axis * angle / np.maximum(sine, 1e-9)).as_matrix()


def _part_way(
    one: Float[np.ndarray, "pose 3 3"], other: Float[np.ndarray, "pose 3 3"], share: float
) -> Float[np.ndarray, "pose 3 3"]:
    between = Rotation.from_matrix(np.swapaxes(one, -1, -2) @ other).as_rotvec()
    return one @ Rotation.from_rotvec(share * between).as_matrix()
