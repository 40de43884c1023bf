"""Changes to a rig's joints that leave its poses what they are: joints removed, bones split, collar bones added.

Poses are held as rotations in stage axes, away from rest: those of one joint do not depend on which joint is its parent, so they
survive a change of the tree. Left and right are always changed alike.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.posespace.representation import KINDS, RigDescriptor

LEG, ARM, WING, TAIL, NECK, HEAD, SPINE = range(len(KINDS))
REMOVAL_CHANCE = 0.12
"""Chance of an end joint, or of a joint inside trunk, neck or tail, to be removed."""
LEG_MERGE_CHANCE = 0.2
"""Chance of a pair of legs to have one joint less."""
SPLIT_CHANCE = 0.3
"""Chance of a bone of trunk, neck or tail to get a joint in its middle."""
COLLAR_CHANCE = 0.35
"""Chance of a pair of limbs to hang on collar bones."""
COLLAR_START = (0.2, 0.85)
"""Where collar bones begin, as a share of the limb's distance from the midplane."""
MIN_MERGED_LEG = 4
"""Legs with at least so many joints can do without one of them."""
COLLAR_LATERAL_SHARE = 0.8
"""A bone whose lateral share is larger than this is a collar bone already."""
StageRotations = Float[np.ndarray, "pose joint 3 3"]


@dataclass(frozen=True, eq=False)
class StagePoses:
    """A rig and its poses, as rotations in stage axes."""

    descriptor: RigDescriptor
    rotations: StageRotations
    """Of each joint away from rest."""


def to_stage_poses(descriptor: RigDescriptor, vectors: Float[np.ndarray, "pose joint 3"]) -> StagePoses:
    """Rotations in stage axes from joint rotation vectors."""
    frames = descriptor.frames
    local = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix().reshape(*vectors.shape, 3)
    rotations = frames @ local @ np.swapaxes(frames, -1, -2)
    for joint in range(1, descriptor.joint_count):
        rotations[:, joint] = rotations[:, descriptor.parents[joint]] @ rotations[:, joint]
    return StagePoses(descriptor, rotations)


def to_vectors(stage: StagePoses) -> Float[np.ndarray, "pose joint 3"]:
    """Joint rotation vectors from rotations in stage axes."""
    descriptor, rotations = stage.descriptor, stage.rotations
    above = rotations[:, np.maximum(descriptor.parents, 0)]
    local = np.where((descriptor.parents < 0)[:, None, None], rotations, np.swapaxes(above, -1, -2) @ rotations)
    inside = np.swapaxes(descriptor.frames, -1, -2) @ local @ descriptor.frames
    return Rotation.from_matrix(inside.reshape(-1, 3, 3)).as_rotvec().reshape(*rotations.shape[:2], 3)


def selected(descriptor: RigDescriptor, kept: np.ndarray) -> RigDescriptor:
    """Some joints of a rig, in their old order; a joint whose mirror partner is gone becomes its own."""
    new = np.full(descriptor.joint_count, -1)
    new[kept] = np.arange(len(kept))
    mirror = new[descriptor.mirror[kept]]
    parents = np.where(descriptor.parents[kept] < 0, -1, new[np.maximum(descriptor.parents[kept], 0)])
    names = ("positions", "tails", "kind", "order", "radius", "half")
    parts = {name: getattr(descriptor, name)[kept] for name in names}
    return RigDescriptor(parents=parents, mirror=np.where(mirror < 0, np.arange(len(kept)), mirror), **parts)


def pointed(descriptor: RigDescriptor) -> RigDescriptor:
    """Bones that point to the mean of their children, as in files; end bones stay as they are."""
    tails = descriptor.tails.copy()
    for joint in np.unique(descriptor.parents[1:]):
        tails[joint] = descriptor.positions[descriptor.parents == joint].mean(0)
    return replace(descriptor, tails=tails)


def scaled(descriptor: RigDescriptor, factor: float) -> RigDescriptor:
    """The same body in another size."""
    names = ("positions", "tails", "radius", "half")
    return replace(descriptor, **{name: factor * getattr(descriptor, name) for name in names})


def remove_joints(stage: StagePoses, gone: set[int]) -> StagePoses:
    """The rig without some joints; a bone that lost its middle joint is turned so that it ends where it ended before."""
    descriptor, rotations = stage.descriptor, stage.rotations.copy()
    parents = descriptor.parents.copy()
    for joint in sorted(gone, reverse=True):
        parent, children = parents[joint], np.flatnonzero(parents == joint)
        if len(children) == 1 and parent > 0 and (parents == parent).sum() == 1:
            correction = _bone_correction(descriptor, rotations, int(parent), joint, int(children[0]))
            rotations[:, parent] = correction @ rotations[:, parent]
        parents[children] = parent
    kept = np.array([joint for joint in range(descriptor.joint_count) if joint not in gone])
    return StagePoses(selected(replace(descriptor, parents=parents), kept), rotations[:, kept])


def split_bones(stage: StagePoses, split: set[int]) -> StagePoses:
    """A new joint half way along some bones; it and the joint above share the rotation equally."""
    descriptor, rotations = stage.descriptor, stage.rotations
    order: list[tuple[int, bool]] = [
        e for j in range(descriptor.joint_count) for e in [(j, False), *([(j, True)] if j in split else [])]
    ]
    place = {entry: k for k, entry in enumerate(order)}
    parents, positions, out = [], [], []
    for joint, is_middle in order:
        above = int(descriptor.parents[joint])
        half = _partial_rotation(rotations[:, max(above, 0)], rotations[:, joint], 0.5) if joint in split else rotations[:, joint]
        parents.append(place[joint, False] if is_middle else place[above, above in split] if above >= 0 else -1)
        start, end = descriptor.positions[joint], descriptor.tails[joint]
        positions.append((start + end) / 2 if is_middle else start)
        out.append(rotations[:, joint] if is_middle else half)
    return _with_new_joints(descriptor, order, parents, positions, out)


def add_collar_bones(stage: StagePoses, inward: dict[int, float], share: float) -> StagePoses:
    """A new joint between the trunk and some limbs; it takes a share of the rotation of the limb's first joint.

    ``inward`` gives the new joint's distance from the midplane as a share of that joint's.
    """
    descriptor, rotations = stage.descriptor, stage.rotations
    order: list[tuple[int, bool]] = [
        e for j in range(descriptor.joint_count) for e in [*([(j, True)] if j in inward else []), (j, False)]
    ]
    place = {entry: k for k, entry in enumerate(order)}
    parents, positions, out = [], [], []
    for joint, is_collar in order:
        above, at = int(descriptor.parents[joint]), descriptor.positions[joint]
        hangs_on = place[above, False] if above >= 0 else -1
        parents.append(place[joint, True] if joint in inward and not is_collar else hangs_on)
        positions.append(at * (1.0, 1.0, inward[joint]) if is_collar else at)
        out.append(_partial_rotation(rotations[:, above], rotations[:, joint], share) if is_collar else rotations[:, joint])
    return _with_new_joints(descriptor, order, parents, positions, out)


def draw_removed_joints(descriptor: RigDescriptor, rng: np.random.Generator) -> set[int]:
    """Joints to remove: ends of limbs, joints inside trunk, neck and tail, and one of the middle joints of long legs."""
    children = np.bincount(descriptor.parents[1:], minlength=descriptor.joint_count)
    out: set[int] = set()
    for joint in range(1, descriptor.joint_count):
        partner = int(descriptor.mirror[joint])
        middle = children[joint] == 1 and descriptor.kind[joint] in (TAIL, NECK, SPINE)
        if partner >= joint and (children[joint] == 0 or middle) and rng.random() < REMOVAL_CHANCE:
            out |= {joint, partner}
    for first in first_joints(descriptor, (LEG,)):
        chain = _chain(descriptor, first)
        if len(chain) >= MIN_MERGED_LEG and rng.random() < LEG_MERGE_CHANCE:
            joint = chain[int(rng.integers(1, len(chain) - 1))]
            out |= {joint, int(descriptor.mirror[joint])}
    return out if descriptor.joint_count - len(out) > 2 else set()


def draw_split_bones(descriptor: RigDescriptor, rng: np.random.Generator) -> set[int]:
    """Bones to split: of trunk, neck and tail, on the midline."""
    children = np.bincount(descriptor.parents[1:], minlength=descriptor.joint_count)
    flexible = (children == 1) & np.isin(descriptor.kind, (TAIL, NECK, SPINE)) & (descriptor.parents >= 0)
    return {int(j) for j in np.flatnonzero(flexible) if rng.random() < SPLIT_CHANCE and descriptor.mirror[j] == j}


def draw_collar_bones(descriptor: RigDescriptor, rng: np.random.Generator) -> dict[int, float]:
    """First joints of limbs that get collar bones, with where those begin (``COLLAR_START``)."""
    out: dict[int, float] = {}
    for joint in first_joints(descriptor, (LEG, ARM)):
        bone = descriptor.tails[joint] - descriptor.positions[joint]
        is_collar = abs(bone[2]) > COLLAR_LATERAL_SHARE * np.linalg.norm(bone)
        if not is_collar and rng.random() < COLLAR_CHANCE:
            out |= dict.fromkeys((joint, int(descriptor.mirror[joint])), float(rng.uniform(*COLLAR_START)))
    return out


def first_joints(descriptor: RigDescriptor, kinds: tuple[int, ...]) -> list[int]:
    """Where paired limbs of these kinds begin, one of each pair."""
    joints = range(1, descriptor.joint_count)
    starts = [j for j in joints if descriptor.kind[j] in kinds and descriptor.kind[descriptor.parents[j]] != descriptor.kind[j]]
    return [j for j in starts if descriptor.mirror[j] > j]


def _chain(descriptor: RigDescriptor, first: int) -> list[int]:
    """The joints from here on, until the limb ends or forks."""
    chain = [first]
    while len(children := np.flatnonzero(descriptor.parents == chain[-1])) == 1:
        chain.append(int(children[0]))
    return chain


def _with_new_joints(
    descriptor: RigDescriptor, order: list[tuple[int, bool]], parents: list[int], positions: list[np.ndarray],
    rotations: list[np.ndarray],
) -> StagePoses:  # fmt: skip
    """A rig in which some joints occur twice: as themselves, and as the new joint made from them."""
    place = {entry: k for k, entry in enumerate(order)}
    mirror = np.array([place[int(descriptor.mirror[joint]), is_new] for joint, is_new in order])
    source = np.array([joint for joint, _ in order])
    grown = replace(selected(descriptor, source), parents=np.array(parents), positions=np.array(positions), mirror=mirror)
    return StagePoses(grown, np.stack(rotations, 1))


def _bone_correction(
    descriptor: RigDescriptor, rotations: StageRotations, parent: int, joint: int, child: int
) -> Float[np.ndarray, "pose 3 3"]:
    """The rotation that brings the end of a bone which lost its middle joint to where it was."""
    first = descriptor.positions[joint] - descriptor.positions[parent]
    second = descriptor.positions[child] - descriptor.positions[joint]
    straight = rotations[:, parent] @ (first + second)
    real = rotations[:, parent] @ first + rotations[:, joint] @ second
    axis = np.cross(straight, real)
    sine = np.linalg.norm(axis, axis=-1, keepdims=True)
    angle = np.arctan2(sine, (straight * real).sum(-1, keepdims=True))
    return Rotation.from_rotvec(axis * angle / np.maximum(sine, 1e-9)).as_matrix()


def _partial_rotation(
    one: Float[np.ndarray, "pose 3 3"], other: Float[np.ndarray, "pose 3 3"], share: float
) -> Float[np.ndarray, "pose 3 3"]:
    """The rotation a share of the way from one to another."""
    between = Rotation.from_matrix(np.swapaxes(one, -1, -2) @ other).as_rotvec()
    return one @ Rotation.from_rotvec(share * between).as_matrix()
