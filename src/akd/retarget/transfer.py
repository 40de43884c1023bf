"""Rotations and root path of the target from those of the source, before any foot is locked."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.character.limb_model import FrameVectors, JointPositions, JointRotations, local_to_stage
from akd.retarget.correspondence import FOLLOWS_PARENT, Correspondence, LimbPair, rest_points
from akd.rig import Rig
from akd.skeleton import Skeleton


class Performance(NamedTuple):
    """A motion as arrays: rotations away from rest on the stage, and where the joints are [ℓ]."""

    rotations: JointRotations
    positions: JointPositions
    fps: float


def carry_rotations(between: Correspondence, source: Performance, target: Skeleton) -> JointRotations:
    """Every joint's rotation away from rest on the stage, in every frame."""
    out = np.empty((len(source.rotations), target.joint_count, 3, 3))
    for joint in range(target.joint_count):
        one, other, share = between.first[joint], between.second[joint], between.weight[joint]
        if one == FOLLOWS_PARENT:
            out[:, joint] = out[:, target.parents[joint]] if joint else np.eye(3)
        else:
            out[:, joint] = _blend(source.rotations[:, one], source.rotations[:, other], share) @ between.align[joint]
    return out


def _blend(
    one: Float[np.ndarray, "frame 3 3"], other: Float[np.ndarray, "frame 3 3"], share: float
) -> Float[np.ndarray, "frame 3 3"]:
    """Between two rotations, along the shortest way."""
    if share in (0.0, 1.0):
        return other if share else one
    turn = Rotation.from_matrix(np.swapaxes(one, -1, -2) @ other).as_rotvec()
    return one @ Rotation.from_rotvec(share * turn).as_matrix()


def limb_points(
    skeleton: Skeleton, chain: tuple[int, ...], end: int, performance: Performance
) -> Float[np.ndarray, "frame point 3"]:
    """The joints of a limb from its pivot to its end in every frame [ℓ]."""
    joints = performance.positions[:, list(chain[: end + 1])]
    if end < len(chain):
        return joints
    last = chain[-1]
    tail = performance.rotations[:, last] @ (skeleton.tails[last] - skeleton.positions[last])
    return np.concatenate((joints, (performance.positions[:, last] + tail)[:, None]), 1)


def local_rotations(skeleton: Skeleton, stage: JointRotations) -> JointRotations:
    """Rotations relative to the parent from rotations on the stage."""
    out = stage.copy()
    out[:, 1:] = np.swapaxes(stage[:, skeleton.parents[1:]], -1, -2) @ stage[:, 1:]
    return out


def leg_scale(source: Rig, target: Rig, pairs: list[LimbPair]) -> float:
    """How much longer the target's legs are, each in the leg lengths of its own rig: the unit in which paths are carried over.

    ℓ is a height at rest, and rest poses differ: legs bound apart or with bent knees are longer than they are high.
    """
    if not pairs:
        return 1.0
    along_bones = all(pair.same_shape for pair in pairs)
    theirs = sum(_standing_height(source, pair.source_chain, pair.source_end, along_bones) for pair in pairs)
    ours = sum(_standing_height(target, pair.target_chain, pair.target_end, along_bones) for pair in pairs)
    return ours / theirs


def _standing_height(rig: Rig, chain: tuple[int, ...], end: int, along_bones: bool) -> float:
    """From the hip to the ankle, along the bones or straight, and from there to the ground [ℓ]."""
    points = rest_points(rig.skeleton, chain, end)
    bones = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    straight = np.linalg.norm(points[-1] - points[0])
    return float((bones if along_bones else straight) + max(points[-1, 1], 0.0))


def place_root(
    source: Rig, target: Rig, pairs: list[LimbPair], performance: Performance, local: JointRotations, scale: float
) -> FrameVectors:
    """The root's path with which the middle of the hips goes where the source's goes, in units of leg length.

    Bodies without legs carry their root; it rises and sinks by as many ℓ from its height at rest.
    """
    if not pairs:
        rest = target.skeleton.positions[0] - source.skeleton.positions[0]
        return performance.positions[:, 0] + rest * (0.0, 1.0, 0.0)
    hips = performance.positions[:, [pair.source_chain[0] for pair in pairs]].mean(1)
    _, posed = local_to_stage(target.skeleton, np.zeros_like(hips), local)
    return scale * hips - posed[:, [pair.target_chain[0] for pair in pairs]].mean(1)
