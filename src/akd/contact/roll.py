"""Foot roll in stance: as the heel rises, what touches the ground stays and the middle of the sole moves on.

A foot whose middle is locked instead drags its toes over the ground, which no simulated foot can follow. And a stiff foot that
tips onto its toes within a moment is hard to tell from one that skates, so its tilt is reduced while it stands.
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.ndimage import gaussian_filter1d, maximum_filter1d
from scipy.spatial.transform import Rotation

from akd.character.limb_model import FrameVectors, JointPositions, JointRotations, LimbModel, local_to_stage, skinned
from akd.contact.foot_lock import leg_chain
from akd.contact.measures import Feet
from akd.contact.stance import Stance, intervals

TOUCH_DECAY = 0.005
"""A point of the foot that is this much higher than the lowest one carries 1/e of what that one carries [ℓ]."""
MAX_ROLL_SPEED = 0.4
"""In stance the middle of a sole should roll no faster than this [ℓ/s]."""
TILT_SHARES = (1.0, 0.85, 0.7, 0.55, 0.4)
"""Shares of its tilt that a standing foot may keep, tried one after the other until it rolls slowly enough."""
MAX_EVEN_ROLL_SPEED = 0.45
"""A foot that rolls evenly over its stance and is faster than this tilts less [ℓ/s]."""
EVEN_TILT_SHARES = (0.85, 0.7, 0.55, 0.4, 0.25, 0.1)
"""Shares of its tilt that it may keep, tried one after the other."""
TILT_EASE = 0.06
"""Time over which a foot comes back to its own tilt after a stance [s]."""


def rolling_path(model: LimbModel, root: FrameVectors, rotations: JointRotations) -> Feet:
    """The path on the ground (y = 0) of the middle of each sole if the foot turned as it does and never slipped [ℓ]."""
    stage, position = local_to_stage(model.skeleton, root, rotations)
    paths = [_rolling_foot_path(model, number, stage, position) for number in range(len(model.feet))]
    return np.stack(paths, 1) if paths else np.zeros((len(root), 0, 3))


def slowed(rolling: Feet, fps: float) -> Feet:
    """Rolling paths no faster than ``MAX_EVEN_ROLL_SPEED``: a foot that turns faster than it can roll slips a little."""
    steps = np.diff(rolling, axis=0, prepend=rolling[:1])
    length = np.linalg.norm(steps, axis=-1, keepdims=True) * fps
    return np.cumsum(steps * np.minimum(1.0, MAX_EVEN_ROLL_SPEED / np.maximum(length, 1e-9)), axis=0)


def limit_roll_speed(
    model: LimbModel, root: FrameVectors, rotations: JointRotations, stance: Stance, fps: float
) -> JointRotations:
    """The same rotations with the tilt of standing feet reduced, as little as keeps their roll below ``MAX_ROLL_SPEED``."""
    stage, position = local_to_stage(model.skeleton, root, rotations)
    out, width = rotations, max(TILT_EASE * fps, 1.0)
    for number in range(len(model.feet)):
        both = stance[1:, number] & stance[:-1, number]
        if not both.any() or not model.feet[number].sole.size or len(leg_chain(model, number)) == 1:
            continue
        flat = _flattest(model, number, stage, position, stance[:, number])
        near = maximum_filter1d(stance[:, number].astype(float), 2 * round(width) + 1, mode="nearest")
        near, before = gaussian_filter1d(near, width, mode="nearest"), out
        for share in TILT_SHARES:
            out = _tilted(model, number, stage, before, flat, 1 - (1 - share) * near)
            steps = np.diff(_rolling_foot_path(model, number, *local_to_stage(model.skeleton, root, out)), axis=0)
            if np.linalg.norm(steps[both], axis=-1).max() * fps <= MAX_ROLL_SPEED:
                break
    return out


def even_roll(model: LimbModel, root: FrameVectors, rotations: JointRotations, stance: Stance, fps: float) -> JointRotations:
    """The same rotations with the roll of standing feet spread over the stance, its ends as they are.

    A foot that tips onto its toes in the last moment of its stance begins to do so earlier, and one that slaps down from
    its heel takes longer for it, so that the middle of the sole moves no faster than ``MAX_ROLL_SPEED``. Where a stance is
    too short for that, the foot rolls as evenly as it can, and tilts less if that is faster than ``MAX_EVEN_ROLL_SPEED``.
    """
    stage, position = local_to_stage(model.skeleton, root, rotations)
    out = rotations
    for number, foot in enumerate(model.feet):
        if foot.sole.size and len(leg_chain(model, number)) > 1 and stance[:, number].any():
            out = _less_tilted(model, number, stage, position, out, stance[:, number], fps)
            out = _evenly_rolling(model, number, *local_to_stage(model.skeleton, root, out), out, stance[:, number], fps)
    return out


def _less_tilted(
    model: LimbModel, number: int, stage: JointRotations, position: JointPositions, rotations: JointRotations,
    stance: Bool[np.ndarray, " frame"], fps: float,
) -> JointRotations:  # fmt: skip
    """One foot tilted less in every stance that is too short for its roll, and around it."""
    stances, width = intervals(stance), max(TILT_EASE * fps, 1.0)
    flat = _flattest(model, number, stage, position, stance)
    root, out, less = position[:, 0], rotations, np.zeros(len(stance))
    for tried in EVEN_TILT_SHARES:
        path = _rolling_foot_path(model, number, *local_to_stage(model.skeleton, root, out))
        rolled = np.concatenate(([0.0], np.linalg.norm(np.diff(path, axis=0), axis=-1).cumsum())) * fps
        fast = [(a, b) for a, b in stances if rolled[b - 1] - rolled[a] > MAX_EVEN_ROLL_SPEED * (b - 1 - a)]
        if not fast:
            break
        for a, b in fast:
            less[a:b] = 1 - tried
        near = gaussian_filter1d(maximum_filter1d(less, 2 * round(width) + 1, mode="nearest"), width, mode="nearest")
        out = _tilted(model, number, stage, rotations, flat, 1 - near)
    return out


def _evenly_rolling(
    model: LimbModel, number: int, stage: JointRotations, position: JointPositions, rotations: JointRotations,
    stance: Bool[np.ndarray, " frame"], fps: float,
) -> JointRotations:  # fmt: skip
    """One foot and its toes turned as before, but at moments that make it roll evenly."""
    path, when = _rolling_foot_path(model, number, stage, position), np.arange(len(stage), dtype=float)
    for start, end in intervals(stance):
        rolled = np.concatenate(([0.0], np.linalg.norm(np.diff(path[start:end], axis=0), axis=-1).cumsum()))
        when[start:end] = start + _evenly(rolled, MAX_ROLL_SPEED / fps)
    out, turned = rotations.copy(), stage.copy()
    for joint in np.flatnonzero(model.skeleton.is_ancestor[model.feet[number].leg.chain[-1]]):
        turned[:, joint] = _at_times(stage[:, joint], when)
        out[:, joint] = np.swapaxes(turned[:, model.skeleton.parents[joint]], -1, -2) @ turned[:, joint]
    return out


def _evenly(rolled: Float[np.ndarray, " frame"], step: float) -> Float[np.ndarray, " frame"]:
    """At which moment's roll a foot should be in every frame, so that it rolls by no more than this ``step`` a frame."""
    frames = np.arange(len(rolled))
    if len(rolled) < 3 or np.diff(rolled).max() <= step:
        return frames.astype(float)
    step = max(step, float(rolled[-1]) / (len(rolled) - 1))
    ahead = np.maximum.accumulate((rolled - step * frames)[::-1])[::-1] + step * frames  # begins early enough for what is to come
    wanted = np.minimum(ahead, step * frames)
    return np.interp(wanted, rolled + 1e-9 * frames, frames)


def _at_times(rotation: Float[np.ndarray, "frame 3 3"], when: Float[np.ndarray, " frame"]) -> Float[np.ndarray, "frame 3 3"]:
    """Rotations at moments between frames."""
    before = np.clip(np.floor(when).astype(int), 0, len(rotation) - 2)
    turn = Rotation.from_matrix(np.swapaxes(rotation[before], -1, -2) @ rotation[before + 1]).as_rotvec()
    return rotation[before] @ Rotation.from_rotvec((when - before)[:, None] * turn).as_matrix()


def _rolling_foot_path(model: LimbModel, number: int, stage: JointRotations, position: JointPositions) -> FrameVectors:
    """From frame to frame the points that touch in both stay where they are, so the middle moves against them."""
    foot = model.feet[number]
    if not foot.outline.size:
        return np.zeros((len(stage), 3))
    points = skinned(model.rig, foot.outline, stage, position)
    arms = points - skinned(model.rig, foot.sole, stage, position).mean(1, keepdims=True)
    load = np.exp((points[..., 1].min(1, keepdims=True) - points[..., 1]) / TOUCH_DECAY)
    touching = np.sqrt(load[1:] * load[:-1])
    touching /= touching.sum(1, keepdims=True)
    steps = -(touching[..., None] * np.diff(arms, axis=0)).sum(1)
    return np.concatenate((np.zeros((1, 3)), np.cumsum(steps, axis=0))) * np.array([1.0, 0.0, 1.0])


def _flattest(
    model: LimbModel,
    number: int,
    stage: JointRotations,
    position: JointPositions,
    stance: Bool[np.ndarray, " frame"],
) -> Int[np.ndarray, " frame"]:
    """For every frame that one of the nearest stance in which the sole lies flattest."""
    height = skinned(model.rig, model.feet[number].sole, stage, position)[..., 1]
    span, frames, stances = np.ptp(height, axis=1), np.arange(len(stance)), intervals(stance)
    best = np.array([start + int(span[start:end].argmin()) for start, end in stances])
    away = np.stack([np.maximum(start - frames, frames - end + 1) for start, end in stances], 1)
    return best[away.argmin(1)]


def _tilted(
    model: LimbModel, number: int, stage: JointRotations, rotations: JointRotations, flat: Int[np.ndarray, " frame"],
    share: Float[np.ndarray, " frame"],
) -> JointRotations:  # fmt: skip
    """One foot and its toes turn on the stage as ``rotation`` does, but only by this share away from how they stand flat."""
    skeleton, out, stage = model.skeleton, rotations.copy(), stage.copy()
    for joint in np.flatnonzero(skeleton.is_ancestor[leg_chain(model, number)[-1]]):
        level = stage[flat, joint]
        tilt = Rotation.from_matrix(np.swapaxes(level, -1, -2) @ stage[:, joint]).as_rotvec()
        stage[:, joint] = level @ Rotation.from_rotvec(share[:, None] * tilt).as_matrix()
        out[:, joint] = np.swapaxes(stage[:, skeleton.parents[joint]], -1, -2) @ stage[:, joint]
    return out
