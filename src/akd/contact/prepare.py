"""Make a motion worth tracking: on the ground as a whole, travelling as fast as its feet say, its standing feet standing.

A simulated body cannot float, sink or skate. A target that does makes it hop, stumble or lose its way, so these faults are
taken out before, by kinematics alone. What is left for physics is weight, balance and timing.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from akd.character.articulation import Articulation, articulation_of
from akd.character.kinematics import FrameVectors, JointRotations, local_to_stage
from akd.character.limb_model import LimbModel, limb_model
from akd.contact.balance import centre_of_mass, is_tipping, zmp_shift
from akd.contact.clearance import clear_ground
from akd.contact.flight import ballistic_rise, in_free_fall
from akd.contact.foot_lock import foot_positions, overstretch, solve_legs, within_reach
from akd.contact.measures import Feet
from akd.contact.roll import limit_roll_speed, rolling_path
from akd.contact.stance import (
    FootVelocities,
    Stance,
    close_gaps,
    detect_stance,
    extend_while_tipping,
    foot_levels,
    ground_line,
    implied_velocity,
    lock_paths,
    smooth_swing,
)
from akd.contact.traces import MAX_IN_PLACE_SPEED, in_heading_frame, trace, yaw
from akd.errors import AkdError
from akd.motion import Motion, close_loop, from_joint_quaternions, from_stage_rotations, joint_quaternions, repeat
from akd.rig import GRAVITY, Rig
from akd.rotations import quaternion_conjugate, quaternion_multiply, quaternion_to_rotation_vector, rotation_vector_to_quaternion
from akd.skeleton import Pose, joint_rotations

UP = np.array([0.0, 1.0, 0.0])
MIN_FRAMES = 4
MAX_LOOP_GAP, MAX_LOOP_STEPS = 0.02, 0.75
"""A clip whose joints come back to within this on average is a loop [ℓ], or to within this share of a step at its ends: the last
frame of a fast gallop is often not quite the first."""
SPEED_TOLERANCE = 0.15
"""A body whose speed is within this share of what its feet say travels already."""
MAX_LEG_SHORTFALL = 0.02
"""For a leg that is too short by less than this the body rather sinks than lets the foot go [ℓ]."""
BALANCE_ITERATIONS = 2
"""Times that the body is shifted: legs stay behind with their feet, so one shift is not quite enough."""
MAX_CROUCH = 0.06
"""By how much the body may sink so that its legs reach their feet after a shift [ℓ],"""
SHIFT_SHARES = (1.0, 0.75, 0.5, 0.25)
"""and the shares of the shift that are tried."""
PHYSICS_CLEARANCE, CLEARANCE_PER_SPEED = 0.05, 0.012
"""Swinging feet of a target for physics are carried at least this high, and by so much more for every ℓ/s that the body goes: a
simulated foot is a little late and low, and in a run more so [ℓ, s]."""
CROUCH_EASE = 0.08
"""Time over which the body is moved out of the way of stretched legs [s]."""


@dataclass(frozen=True)
class TargetSettings:
    """What is mended."""

    travel: bool = True
    """Give clips that walk in place, or too fast or slow for their feet, the travel that their standing feet imply."""
    ground: bool = True
    """Lower or raise the whole motion onto the ground, frame by frame but slowly."""
    lock: bool = True
    """Hold standing feet in place, and lift swinging feet clear of the ground."""
    balance: bool = True
    """With locked feet: what dynamics ask for. The body sways over the feet that carry it and flies as far as it must
    between them, and feet roll over what touches the ground."""


@dataclass(frozen=True, eq=False)
class Target:
    """A motion to track."""

    motion: Motion
    stance: Stance
    """No feet on a rig without legs."""
    loops: bool
    travel: Float[np.ndarray, " 3"]
    """Velocity that was added to the root, along the body's own forward, up and right [ℓ/s]."""
    raised: float
    """How far the motion was raised onto the ground, mean over frames [ℓ]; negative for one that floated."""
    swayed: float
    """How far it was shifted over its feet at most [ℓ]."""
    notes: tuple[str, ...]
    """What was done, one sentence each."""


def prepare(rig: Rig, motion: Motion, settings: TargetSettings | None = None, stance: Stance | None = None) -> Target:
    """The motion as physics can follow it. Loops stay loops: they are mended three rounds long, and the middle one is kept.

    ``stance`` says which feet stand when, where that is known; otherwise it is found.
    """
    settings = settings or TargetSettings()
    count = motion.frame_count
    if count < MIN_FRAMES:
        raise AkdError(f"A motion of {count} frames is too short to be tracked: it needs at least {MIN_FRAMES}.")
    motion = replace(motion, pose=motion.pose.detach().to(torch.float64))
    loops = is_loop(rig, motion)
    if not loops:
        return _prepared(rig, motion, settings, stance, loops=False)
    thrice = None if stance is None else np.concatenate((stance[:-1], stance[:-1], stance))
    long = _prepared(rig, repeat(_closed(rig, motion), 3), settings, thrice, loops=True)
    middle = slice(count - 1, 2 * count - 1)
    pose = long.motion.pose[middle]
    back = (motion.pose.root_position[0] - pose.root_position[0]) * torch.tensor((1.0, 0.0, 1.0))
    once = _closed(rig, replace(long.motion, pose=Pose(pose.root_position + back, pose.root_rotation, pose.angles)))
    return replace(long, motion=once, stance=long.stance[middle])


def is_loop(rig: Rig, motion: Motion) -> bool:
    """Is the last pose the first again, apart from where it is and where it faces?"""
    seen = trace(rig, motion)
    heading = in_heading_frame(seen.joints, seen.joints[:, 0], yaw(seen.root_rotation))

    def apart(one: int, other: int) -> float:
        return float(np.linalg.norm(heading[one] - heading[other], axis=-1).mean())

    return apart(-1, 0) < max(MAX_LOOP_GAP, MAX_LOOP_STEPS * min(apart(0, 1), apart(-2, -1)))


def _closed(rig: Rig, motion: Motion) -> Motion:
    """``close_loop`` for joints whose angles may have gone over to the other solution: the gap is one of rotations."""
    pose = motion.pose
    root = close_loop(replace(motion, pose=Pose(pose.root_position, pose.root_rotation, torch.zeros_like(pose.angles)))).pose
    q = joint_quaternions(rig.skeleton, motion)
    gap = quaternion_to_rotation_vector(quaternion_multiply(quaternion_conjugate(q[-1]), q[0]))
    u = torch.linspace(0, 1, len(q), dtype=q.dtype)[:, None, None]
    q = quaternion_multiply(q, rotation_vector_to_quaternion(u * gap))
    q = torch.cat((root.root_rotation[:, None], q[:, 1:]), 1)
    return from_joint_quaternions(rig.skeleton, root.root_position, q, motion.fps)


def _prepared(rig: Rig, motion: Motion, settings: TargetSettings, stance: Stance | None, *, loops: bool) -> Target:
    strings, fps = limb_model(rig), motion.fps
    root, turns = motion.pose.root_position.numpy(), joint_rotations(rig.skeleton, motion.pose).numpy()
    stands, given, swayed = np.zeros((len(root), len(strings.feet)), bool), np.zeros(3), 0.0
    levels = _foot_levels(strings, root, turns) if settings.ground else np.zeros(len(strings.feet))
    raised = np.zeros(len(root))
    if settings.ground:
        lowest = (foot_positions(strings, root, turns)[..., 1] - levels).min(1) if strings.feet else trace(rig, motion).lowest
        raised = -ground_line(lowest, fps) - (np.median(levels) if strings.feet else 0.0)
        root = root + raised[:, None] * UP
    if strings.feet:
        levels = levels - np.median(levels)
        walk = _foot_motion(strings, root, turns, levels, fps)
        if settings.travel:
            root, given = _with_implied_travel(root, walk, fps)
            walk = _foot_motion(strings, root, turns, levels, fps)
        balanced = settings.lock and settings.balance and (stance is None or stance.any())
        body = articulation_of(rig) if balanced else None
        if stance is None:
            stands = detect_stance(walk.feet, walk.seen, walk.velocity, fps)
            stands = close_gaps(stands, root[:, 1], GRAVITY / rig.leg_metres, fps)
            if body is not None:
                stands = extend_while_tipping(stands, is_tipping(strings, body, root, turns, walk.feet, stands), fps)
            stands = _drop_unreachable(strings, root, turns, stands) if settings.lock else stands
        else:
            stands = stance
        if settings.lock:
            root, turns, swayed = _lock_feet(strings, root, turns, stands, fps, body if stands.any() else None)
    rotation, _ = local_to_stage(rig.skeleton, root, turns)
    mended = from_stage_rotations(rig.skeleton, torch.as_tensor(root), torch.as_tensor(rotation), fps)
    notes = _notes(given, float(raised.mean()), swayed, strings, stands)
    return Target(mended, stands, loops, given, float(raised.mean()), swayed, notes)


class _FootMotion(NamedTuple):
    """What feet and body do."""

    feet: Feet
    """Above each foot's own ground."""
    seen: FootVelocities
    heading: Float[np.ndarray, " frame"]
    velocity: Float[np.ndarray, " 2"]
    """Of the body in its own axes, mean over the clip [ℓ/s]."""


def _foot_motion(
    strings: LimbModel, root: FrameVectors, turns: JointRotations, levels: Float[np.ndarray, " foot"], fps: float
) -> _FootMotion:
    feet, heading = foot_positions(strings, root, turns) - levels[:, None] * UP, yaw(turns[:, 0])
    seen = np.gradient(in_heading_frame(feet, root, heading)[..., [0, 2]], axis=0) * fps
    steps = np.diff(root, axis=0)[:, None] * fps
    velocity = in_heading_frame(steps, 0 * steps[:, 0], (heading[1:] + heading[:-1]) / 2)[:, 0][:, [0, 2]].mean(0)
    return _FootMotion(feet, seen, heading, velocity)


def _foot_levels(strings: LimbModel, root: FrameVectors, turns: JointRotations) -> Float[np.ndarray, " foot"]:
    if not strings.feet:
        return np.zeros(0)
    feet = foot_positions(strings, root, turns)
    return foot_levels(feet[..., 1], in_heading_frame(feet, root, yaw(turns[:, 0]))[..., 0])


def _with_implied_travel(root: FrameVectors, walk: _FootMotion, fps: float) -> tuple[FrameVectors, Float[np.ndarray, " 3"]]:
    """The root, moved on so that standing feet stand, and the velocity in body axes that was added.

    A body that moves already may move at the wrong speed for its feet, so the feet alone are asked; what differs by less
    than a few per cent is left to them.
    """
    implied = implied_velocity(walk.feet[..., 1], walk.seen)
    if implied is None:
        return root, np.zeros(3)
    x, z = implied - walk.velocity
    if np.hypot(x, z) < max(MAX_IN_PLACE_SPEED, SPEED_TOLERANCE * float(np.linalg.norm(implied))):
        return root, np.zeros(3)
    cos, sin = np.cos(walk.heading), np.sin(walk.heading)
    steps = np.stack((cos * x + sin * z, 0 * cos, cos * z - sin * x), -1) / fps
    way = np.concatenate((np.zeros((1, 3)), np.cumsum((steps[1:] + steps[:-1]) / 2, axis=0)))
    return root + way, np.array([x, 0.0, z])


def _drop_unreachable(
    strings: LimbModel, root: FrameVectors, turns: JointRotations, stands: Bool[np.ndarray, "frame foot"]
) -> Bool[np.ndarray, "frame foot"]:
    """The stances without those moments in which a leg is too short and another foot stands: a foot leaves when it must."""
    wanted = lock_paths(foot_positions(strings, root, turns), stands)
    need = np.where(stands, overstretch(strings, root, turns, wanted), np.inf)
    return stands & ((need < MAX_LEG_SHORTFALL) | (need == need.min(1, keepdims=True)))


def _lock_feet(
    strings: LimbModel,
    root: FrameVectors,
    turns: JointRotations,
    stands: Bool[np.ndarray, "frame foot"],
    fps: float,
    body: Articulation | None,
) -> tuple[FrameVectors, JointRotations, float]:
    """Plant the standing feet, let a ``body`` that is given fly between them and sway over them; where legs are too short for it
    the body gives way, slowly."""
    turns = turns.copy()
    root = given = clear_ground(strings, root, turns)
    turns = limit_roll_speed(strings, root, turns, stands, fps) if body else turns
    wanted, bent = foot_positions(strings, root, turns), turns
    high = PHYSICS_CLEARANCE + CLEARANCE_PER_SPEED * fps * float(np.linalg.norm(np.diff(root[:, [0, 2]], axis=0), axis=1).mean())
    if body:
        wanted = lock_paths(wanted, stands, rolling_path(strings, root, turns), high)
    else:
        wanted = smooth_swing(lock_paths(wanted, stands), stands)
    for _ in range(BALANCE_ITERATIONS if body else 1):
        if body:
            height = centre_of_mass(strings, body, root, bent)[:, 1]
            most = np.where(stands, -overstretch(strings, root, turns, wanted), np.inf).min(1)
            root = root + ballistic_rise(height, in_free_fall(stands), most, body.gravity, fps)[:, None] * UP
            shift = zmp_shift(strings, body, root, bent, wanted, stands, fps)
            root = root + _feasible_share(strings, root, turns, wanted, stands, shift, fps) * shift
        low = root - _crouch(overstretch(strings, root, turns, wanted), stands, fps)[:, None] * UP
        bent = solve_legs(strings, low, turns, within_reach(strings, low, turns, wanted))
    return low, bent, float(np.linalg.norm((root - given)[:, [0, 2]], axis=1).max())


def _feasible_share(
    strings: LimbModel, root: FrameVectors, turns: JointRotations, wanted: Feet, stands: Bool[np.ndarray, "frame foot"], shift: FrameVectors, fps: float
) -> float:  # fmt: skip
    """The largest share of a shift for which legs are long enough: a body that crouches to be over its feet cannot lift them."""

    def sinks(share: float) -> float:
        return float(_crouch(overstretch(strings, root + share * shift, turns, wanted), stands, fps).max())

    most = sinks(0.0) + MAX_CROUCH
    return next((share for share in SHIFT_SHARES if sinks(share) <= most), 0.0)


def _crouch(
    need: Float[np.ndarray, "frame foot"], stands: Bool[np.ndarray, "frame foot"], fps: float
) -> Float[np.ndarray, " frame"]:
    """How far the body sinks for its standing feet to be within reach, without haste."""
    width = max(CROUCH_EASE * fps, 1.0)
    most = maximum_filter1d(np.max(np.where(stands, need, 0.0), axis=1), 2 * round(width) + 1, mode="nearest")
    return gaussian_filter1d(most, width, mode="nearest")


def _notes(given: np.ndarray, raised: float, swayed: float, strings: LimbModel, stands: np.ndarray) -> tuple[str, ...]:
    notes = []
    speed = float(np.linalg.norm(given))
    if speed > 0:
        notes.append(f"Standing feet slid together, so the body was given {speed:.2f} ℓ/s over the ground.")
    if abs(raised) > 0.005:
        notes.append(f"The motion was {'raised' if raised > 0 else 'lowered'} by {abs(raised):.3f} ℓ onto the ground.")
    if swayed > 0.005:
        notes.append(f"The body was shifted by up to {swayed:.3f} ℓ over its feet to keep its balance.")
    if not strings.feet:
        notes.append("The rig has no legs, so no feet could be held in place.")
    elif not stands.any():
        notes.append("No foot ever stands, so none was held in place.")
    return tuple(notes)
