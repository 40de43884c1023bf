"""Feet of a clip through keyframes: those that stand at one key and at the next stay where they are, or make a step.

Keyframes say nothing about where the body is over the ground. So the body goes where most of its standing feet can stay; a foot
that cannot is lifted and put down at its new place, and legs follow their feet by inverse kinematics.
"""

import itertools
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.spatial.transform import Rotation

from akd.character.limb_model import JointRotations, LimbModel, limb_model, local_to_stage
from akd.contact.foot_lock import foot_positions, overstretch, solve_legs, within_reach
from akd.contact.measures import Feet
from akd.contact.prepare import crouch
from akd.contact.stance import lift_arc, quintic_step
from akd.motion import Motion, from_stage_rotations
from akd.rig import Rig
from akd.skeleton import joint_rotations

STANDING_HEIGHT = 0.06
"""A foot this little above where it stands at rest stands [ℓ]."""
SAME_PLACE = 0.03
"""Feet that would move less than this stay; the rest is spread over the time between the keys [ℓ]."""
STEP_SHARE = (0.2, 0.8)
"""Part of the way between two keys in which a foot is in the air."""
LIFT_PER_LENGTH, LIFT_RANGE = 0.3, (0.09, 0.2)
"""How high a step is, relative to its length, and its least and most [ℓ]: lower ones look like skating."""
LEAVING_SHARE = (0.1, 0.6)
"""Part of the way between two keys in which a foot that stands at one of them only leaves its place."""
KEY_SHARE = 0.25
"""The body may crouch for its legs to reach, but for this share of the time around a key, where its pose is given."""


def stand_firmly(rig: Rig, motion: Motion, keys: Int[np.ndarray, " key"]) -> tuple[Motion, Bool[np.ndarray, "frame foot"]]:
    """The clip with steady feet, and which feet stand when. ``keys`` are the frames of the keyframes, which keep their poses."""
    model = limb_model(rig)
    standing = np.zeros((motion.frame_count, len(model.feet)), bool)
    if not model.feet:
        return motion, standing
    root = motion.pose.root_position.detach().double().numpy().copy()
    local = joint_rotations(rig.skeleton, motion.pose.detach().to(torch.float64)).numpy()
    feet = foot_positions(model, root, local)
    low = feet[..., 1] - _resting_heights(rig, model) < STANDING_HEIGHT
    travelled, targets, free = np.zeros(3), feet.copy(), np.zeros(len(root))
    for first, last in itertools.pairwise(keys):
        between = slice(first, last + 1)
        both = low[first] & low[last]
        shift = body_shift((feet[last] - feet[first])[both])
        share = np.linspace(0, 1, last - first + 1)
        moved = travelled + share[:, None] * shift
        targets[between] = feet[between] + moved[:, None]
        for foot in np.flatnonzero(low[first] | low[last]):
            start, end = targets[first, foot].copy(), targets[last, foot].copy()
            if both[foot]:
                targets[between, foot], standing[between, foot] = _held_or_stepping(start, end, share)
            elif low[first, foot]:
                targets[between, foot], standing[between, foot] = _leaving(start, targets[between, foot], share)
            else:
                path, stands = _leaving(end, targets[between, foot][::-1], share)
                targets[between, foot], standing[between, foot] = path[::-1], stands[::-1]
        free[between] = quintic_step(np.minimum(share, 1 - share) / KEY_SHARE)
        root[between] += moved if first == keys[0] else np.concatenate((np.zeros((1, 3)), moved[1:]))
        travelled = travelled + shift
    down = free * crouch(overstretch(model, root, local, targets), standing, motion.fps)
    lowered = root - down[:, None] * (0.0, 1.0, 0.0)
    solved = solve_legs(model, lowered, local, within_reach(model, lowered, local, targets))
    local = _through_keys(solved, local, keys)
    stage, _ = local_to_stage(rig.skeleton, lowered, local)
    firm = from_stage_rotations(rig.skeleton, torch.as_tensor(lowered), torch.as_tensor(stage), motion.fps)
    return replace(motion, pose=firm.pose.to(motion.pose.angles.dtype)), standing


def _through_keys(solved: JointRotations, given: JointRotations, keys: Int[np.ndarray, " key"]) -> JointRotations:
    """The solved rotations, brought back to the given ones at the keys and, less and less, around them."""
    out, frames = solved.copy(), np.arange(len(solved))
    width = KEY_SHARE * float(np.diff(keys).min())
    for key in keys:
        missing = Rotation.from_matrix(np.swapaxes(solved[key], -1, -2) @ given[key]).as_rotvec()
        near = np.flatnonzero(np.abs(frames - key) < max(width, 1))
        share = 1 - quintic_step(np.abs(near - key) / max(width, 1))
        turns = Rotation.from_rotvec((share[:, None, None] * missing).reshape(-1, 3)).as_matrix()
        out[near] = out[near] @ turns.reshape(len(near), -1, 3, 3)
    return out


def body_shift(moves: Float[np.ndarray, "foot 3"]) -> Float[np.ndarray, " 3"]:
    """How the body goes over the ground between two keys: so that as many standing feet as possible stay where they are [ℓ]."""
    moves = moves * (1.0, 0.0, 1.0)
    if not len(moves):
        return np.zeros(3)
    apart = np.linalg.norm(moves[:, None] - moves[None], axis=-1)
    staying = (apart < SAME_PLACE).sum(1)
    best = np.lexsort((np.linalg.norm(moves, axis=1), -staying))[0]
    return -moves[apart[best] < SAME_PLACE].mean(0)


def _held_or_stepping(
    start: Float[np.ndarray, " 3"], end: Float[np.ndarray, " 3"], share: Float[np.ndarray, " frame"]
) -> tuple[Float[np.ndarray, "frame 3"], Bool[np.ndarray, " frame"]]:
    """Where a foot is on its way between two keys at which it stands, and when it stands."""
    length = float(np.linalg.norm((end - start)[[0, 2]]))
    if length < SAME_PLACE:
        return start + share[:, None] * (end - start), np.ones(len(share), bool)
    u = np.clip((share - STEP_SHARE[0]) / (STEP_SHARE[1] - STEP_SHARE[0]), 0, 1)
    height = np.clip(LIFT_PER_LENGTH * length, *LIFT_RANGE)
    path = start + quintic_step(u)[:, None] * (end - start)
    path[:, 1] += height * lift_arc(u)
    return path, (u <= 0) | (u >= 1)


def _leaving(
    place: Float[np.ndarray, " 3"], path: Float[np.ndarray, "frame 3"], share: Float[np.ndarray, " frame"]
) -> tuple[Float[np.ndarray, "frame 3"], Bool[np.ndarray, " frame"]]:
    """Where a foot is that leaves its place for a path through the air, and when it stands."""
    u = np.clip((share - LEAVING_SHARE[0]) / (LEAVING_SHARE[1] - LEAVING_SHARE[0]), 0, 1)
    out = place + quintic_step(u)[:, None] * (path - place)
    out[:, 1] += LIFT_RANGE[0] * lift_arc(u)
    return out, u <= 0


def _resting_heights(rig: Rig, model: LimbModel) -> Float[np.ndarray, " foot"]:
    """Heights of the feet's centres in the rest pose [ℓ]."""
    rest = rig.skeleton.rest_pose(1).to(torch.float64)
    positions: Feet = foot_positions(model, rest.root_position.numpy(), joint_rotations(rig.skeleton, rest).numpy())
    return positions[0, :, 1]
