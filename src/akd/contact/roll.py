"""Feet that roll: as the heel rises, what touches the ground stays and the middle of the sole moves on.

A foot whose middle is held instead drags its toes over the ground, which no simulated foot can follow. And a stiff foot that
tips over onto the tips of its toes in a moment is hard to tell from one that skates, so it tips less far while it stands.
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.ndimage import gaussian_filter1d, maximum_filter1d
from scipy.spatial.transform import Rotation

from akd.character.kinematics import FrameVectors, JointRotations, local_to_stage, skinned
from akd.character.limb_model import LimbModel
from akd.contact.foot_lock import leg_chain
from akd.contact.measures import Feet
from akd.contact.stance import intervals

TOUCH_DECAY = 0.005
"""A point of the foot that is this much higher than the lowest one carries 1/e of what that one carries [ℓ]."""
MAX_ROLL_SPEED = 0.4
"""While it stands, the middle of a sole should roll on no faster than this [ℓ/s]."""
TILT_SHARES = (1.0, 0.85, 0.7, 0.55, 0.4)
"""Shares of its tilt that a standing foot may keep, tried one after the other until it rolls slowly enough."""
TILT_EASE = 0.06
"""Time over which a foot comes back to its own tilt after a stance [s]."""


def rolling_path(puppet: LimbModel, root: FrameVectors, turns: JointRotations) -> Feet:
    """The path on the ground (y = 0) of the middle of each sole if the foot turned as it does and never slipped [ℓ]."""
    rotation, position = local_to_stage(puppet.skeleton, root, turns)
    paths = [_rolling_foot_path(puppet, number, rotation, position) for number in range(len(puppet.feet))]
    return np.stack(paths, 1) if paths else np.zeros((len(root), 0, 3))


def limit_roll_speed(
    puppet: LimbModel, root: FrameVectors, turns: JointRotations, stands: Bool[np.ndarray, "frame foot"], fps: float
) -> JointRotations:
    """The same turns, with feet that would roll too fast tilted less while they stand, as little less as cures it."""
    rotation, position = local_to_stage(puppet.skeleton, root, turns)
    out, width = turns, max(TILT_EASE * fps, 1.0)
    for number in range(len(puppet.feet)):
        both = stands[1:, number] & stands[:-1, number]
        if not both.any() or len(leg_chain(puppet, number)) == 1:
            continue
        flat = _flattest(puppet, number, rotation, position, stands[:, number])
        near = maximum_filter1d(stands[:, number].astype(float), 2 * round(width) + 1, mode="nearest")
        near, given = gaussian_filter1d(near, width, mode="nearest"), out
        for share in TILT_SHARES:
            out = _tilted(puppet, number, rotation, given, flat, 1 - (1 - share) * near)
            steps = np.diff(_rolling_foot_path(puppet, number, *local_to_stage(puppet.skeleton, root, out)), axis=0)
            if np.linalg.norm(steps[both], axis=-1).max() * fps <= MAX_ROLL_SPEED:
                break
    return out


def _rolling_foot_path(
    puppet: LimbModel, number: int, rotation: JointRotations, position: Float[np.ndarray, "frame joint 3"]
) -> FrameVectors:
    """From frame to frame the points that touch in both stay where they are, so the middle moves against them."""
    foot = puppet.feet[number]
    if not foot.outline.size:
        return np.zeros((len(rotation), 3))
    points = skinned(puppet.rig, foot.outline, rotation, position)
    arms = points - skinned(puppet.rig, foot.sole, rotation, position).mean(1, keepdims=True)
    load = np.exp((points[..., 1].min(1, keepdims=True) - points[..., 1]) / TOUCH_DECAY)
    touching = np.sqrt(load[1:] * load[:-1])
    touching /= touching.sum(1, keepdims=True)
    steps = -(touching[..., None] * np.diff(arms, axis=0)).sum(1)
    return np.concatenate((np.zeros((1, 3)), np.cumsum(steps, axis=0))) * np.array([1.0, 0.0, 1.0])


def _flattest(
    puppet: LimbModel,
    number: int,
    rotation: JointRotations,
    position: Float[np.ndarray, "frame joint 3"],
    stands: Bool[np.ndarray, " frame"],
) -> Int[np.ndarray, " frame"]:
    """For every frame that one of the nearest stance in which the sole lies flattest."""
    height = skinned(puppet.rig, puppet.feet[number].sole, rotation, position)[..., 1]
    span, frames, stances = np.ptp(height, axis=1), np.arange(len(stands)), intervals(stands)
    best = np.array([start + int(span[start:end].argmin()) for start, end in stances])
    away = np.stack([np.maximum(start - frames, frames - end + 1) for start, end in stances], 1)
    return best[away.argmin(1)]


def _tilted(
    puppet: LimbModel, number: int, rotation: JointRotations, turns: JointRotations, flat: Int[np.ndarray, " frame"],
    share: Float[np.ndarray, " frame"],
) -> JointRotations:  # fmt: skip
    """One foot and its toes turn on the stage as ``rotation`` does, but only by this share away from how they stand flat."""
    skeleton, out, stage = puppet.skeleton, turns.copy(), rotation.copy()
    for joint in np.flatnonzero(skeleton.is_ancestor[leg_chain(puppet, number)[-1]]):
        level = rotation[flat, joint]
        tilt = Rotation.from_matrix(np.swapaxes(level, -1, -2) @ rotation[:, joint]).as_rotvec()
        stage[:, joint] = level @ Rotation.from_rotvec(share[:, None] * tilt).as_matrix()
        out[:, joint] = np.swapaxes(stage[:, skeleton.parents[joint]], -1, -2) @ stage[:, joint]
    return out
