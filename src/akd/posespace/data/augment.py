"""What makes our creatures look like strangers' rigs: another rest pose, joints left out, joints added, joints shifted.

All of it acts on a sketch and on the joints' turns on the stage, which do not depend on who is whose parent. Left and
right are always treated alike.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.posespace.sketch import KINDS, Sketch

Stage = Float[np.ndarray, "pose joint 3 3"]
LEG, ARM, WING, TAIL, NECK, HEAD, SPINE = range(len(KINDS))
REST_PITCH = {LEG: 0.1, ARM: 0.15, WING: 0.2, TAIL: 0.15, NECK: 0.15, HEAD: 0.1, SPINE: 0.05}
"""How far the joints of a limb may be bent in another rest pose, up and down [rad]."""
LEFT_OUT, ADDED = 0.12, 0.1
"""Chance of a joint to be left out, and of a bone of trunk, neck or tail to get a joint in its middle."""
SHIFT = 0.012
"""How far joints are shifted at random [ℓ]."""
UNKNOWN = 0.08
"""Chance that a rig's limbs are not labelled, and that nothing is known of its flesh."""


@dataclass(frozen=True, eq=False)
class Posing:
    """A rig and its poses."""

    sketch: Sketch
    turns: Stage


def posing_of(sketch: Sketch, bends: Float[np.ndarray, "pose joint 3"]) -> Posing:
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


def augmented(sketch: Sketch, bends: Float[np.ndarray, "pose joint 3"], rng: np.random.Generator) -> Posing:
    """Another rig that could have been made for the same animal, in the same poses."""
    posing = posing_of(sketch, bends)
    if rng.random() < 0.8:
        posing = rebound(posing, _rest_turns(sketch, rng))
    if rng.random() < 0.6:
        posing = without(posing, _left_out(posing.sketch, rng))
    if rng.random() < 0.4:
        posing = with_middles(posing, _to_split(posing.sketch, rng))
    return replace(posing, sketch=_blurred(posing.sketch, rng))


def rebound(posing: Posing, rest: Float[np.ndarray, "joint 3 3"]) -> Posing:
    """The same poses of a rig that was bound in another rest pose; ``rest`` turns each joint relative to its parent."""
    sketch = posing.sketch
    turn, position = rest.copy(), sketch.positions.copy()
    for joint in range(1, sketch.joint_count):
        parent = sketch.parents[joint]
        turn[joint] = turn[parent] @ rest[joint]
        position[joint] = position[parent] + turn[parent] @ (sketch.positions[joint] - sketch.positions[parent])
    tails = position + (turn @ (sketch.tails - sketch.positions)[..., None])[..., 0]
    lowest = np.minimum(sketch.positions, sketch.tails)[:, 1].min() - np.minimum(position, tails)[:, 1].min()
    up = np.array([0.0, lowest, 0.0])
    moved = replace(sketch, positions=position + up, tails=tails + up)
    return Posing(_scaled(moved, 1 / leg_length(moved)), posing.turns @ np.swapaxes(turn, -1, -2))


def leg_length(sketch: Sketch) -> float:
    """ℓ of a sketch: median height of the legs' top joints, half the body's height without legs."""
    leg = sketch.kind == LEG
    top = leg & ~(leg[np.maximum(sketch.parents, 0)] & (sketch.parents >= 0))
    height = float(np.median(sketch.positions[top, 1])) if top.any() else float(np.ptp(sketch.positions[:, 1])) / 2
    return max(height, 0.2)


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
    return Posing(_selected(replace(sketch, parents=parents), kept), turns[:, kept])


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
        half = _half_way(turns[:, max(above, 0)], turns[:, joint]) if joint in split else turns[:, joint]
        parents.append(place[joint, False] if is_middle else place[above, above in split] if above >= 0 else -1)
        positions.append((sketch.positions[joint] + sketch.tails[joint]) / 2 if is_middle else sketch.positions[joint])
        out.append(turns[:, joint] if is_middle else half)
    source = np.array([joint for joint, _ in order])
    mirror = np.array([place[int(sketch.mirror[joint]), middle] for joint, middle in order])
    grown = replace(_selected(sketch, source), parents=np.array(parents), positions=np.array(positions), mirror=mirror)
    return Posing(grown, np.stack(out, 1))


def _rest_turns(sketch: Sketch, rng: np.random.Generator) -> Float[np.ndarray, "joint 3 3"]:
    """A symmetric rest pose near the old one; arms anywhere between hanging and stretched out."""
    vectors = np.zeros((sketch.joint_count, 3))
    raised = rng.uniform(-0.6, 1.0)
    for joint in range(1, sketch.joint_count):
        kind, partner = int(sketch.kind[joint]), int(sketch.mirror[joint])
        if kind < 0 or partner < joint:
            continue
        size = REST_PITCH[kind] * rng.normal(0, 1, 3) * (0.4, 0.4, 1.0)
        starts = sketch.kind[sketch.parents[joint]] != kind
        if kind == ARM and starts and partner != joint:
            size[0] += raised * np.sign(-sketch.positions[joint, 2])
        vectors[joint] = size if partner != joint else size * (0, 0, 1.0)
        if partner != joint:
            vectors[partner] = size * (-1.0, -1.0, 1.0)
    return Rotation.from_rotvec(vectors).as_matrix()


def _left_out(sketch: Sketch, rng: np.random.Generator) -> set[int]:
    """Ends of limbs, and joints in the middle of trunk, neck, tail and collar; never a knee."""
    children = np.bincount(sketch.parents[1:], minlength=sketch.joint_count)
    out: set[int] = set()
    for joint in range(1, sketch.joint_count):
        partner = int(sketch.mirror[joint])
        middle = children[joint] == 1 and sketch.kind[joint] in (TAIL, NECK, SPINE)
        if partner >= joint and (children[joint] == 0 or middle) and rng.random() < LEFT_OUT:
            out |= {joint, partner}
    return out if sketch.joint_count - len(out) > 2 else set()


def _to_split(sketch: Sketch, rng: np.random.Generator) -> set[int]:
    children = np.bincount(sketch.parents[1:], minlength=sketch.joint_count)
    flexible = (children == 1) & np.isin(sketch.kind, (TAIL, NECK, SPINE)) & (sketch.parents >= 0)
    return {int(j) for j in np.flatnonzero(flexible) if rng.random() < 3 * ADDED and sketch.mirror[j] == j}


def _blurred(sketch: Sketch, rng: np.random.Generator) -> Sketch:
    """Joints a little elsewhere, on both sides alike; sometimes without labels, sometimes without flesh."""
    noise = rng.normal(0, SHIFT, (sketch.joint_count, 3))
    noise = (noise + noise[sketch.mirror] * (1.0, 1.0, -1.0)) / 2
    thick = float(np.exp(rng.normal(0, 0.15)))
    blurred = replace(
        sketch,
        positions=sketch.positions + noise,
        tails=sketch.tails + noise,
        radius=sketch.radius * thick,
        half=sketch.half * thick,
    )
    if rng.random() < UNKNOWN:
        blurred = replace(blurred, kind=np.full_like(sketch.kind, -1))
    if rng.random() < UNKNOWN:
        blurred = replace(blurred, radius=np.zeros_like(sketch.radius), half=np.zeros_like(sketch.half))
    return blurred


def _selected(sketch: Sketch, kept: np.ndarray) -> Sketch:
    """Some joints of a sketch, in their old order; a partner that is gone leaves a joint to itself."""
    new = np.full(sketch.joint_count, -1)
    new[kept] = np.arange(len(kept))
    mirror = new[sketch.mirror[kept]]
    parents = np.where(sketch.parents[kept] < 0, -1, new[np.maximum(sketch.parents[kept], 0)])
    names = ("positions", "tails", "kind", "order", "radius", "half")
    parts = {name: getattr(sketch, name)[kept] for name in names}
    return Sketch(parents=parents, mirror=np.where(mirror < 0, np.arange(len(kept)), mirror), **parts)


def _scaled(sketch: Sketch, factor: float) -> Sketch:
    return replace(
        sketch, positions=factor * sketch.positions, tails=factor * sketch.tails, radius=factor * sketch.radius,
        half=factor * sketch.half,
    )  # fmt: skip


def _far_end(sketch: Sketch, turns: Stage, parent: int, joint: int, child: int) -> Float[np.ndarray, "pose 3 3"]:
    """The turn that brings a bone which lost its middle joint to where its far end really is."""
    first, second = sketch.positions[joint] - sketch.positions[parent], sketch.positions[child] - sketch.positions[joint]
    straight = turns[:, parent] @ (first + second)
    real = turns[:, parent] @ first + turns[:, joint] @ second
    axis = np.cross(straight, real)
    sine = np.linalg.norm(axis, axis=-1, keepdims=True)
    angle = np.arctan2(sine, (straight * real).sum(-1, keepdims=True))
    return Rotation.from_rotvec(axis * angle / np.maximum(sine, 1e-9)).as_matrix()


def _half_way(one: Float[np.ndarray, "pose 3 3"], other: Float[np.ndarray, "pose 3 3"]) -> Float[np.ndarray, "pose 3 3"]:
    between = Rotation.from_matrix(np.swapaxes(one, -1, -2) @ other).as_rotvec()
    return one @ Rotation.from_rotvec(between / 2).as_matrix()
