"""Prepare a motion for physics: on the ground, travelling as fast as its standing feet imply, stance feet locked, balanced.

A simulated body cannot float, sink or skate. A target that does makes it hop, stumble or lose its way, so these faults are
removed first, by kinematics alone. What is left for physics is weight, balance and timing.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from akd.character.articulation import Articulation, articulation_of
from akd.character.limb_model import FrameVectors, JointRotations, LimbModel, limb_model, local_to_stage
from akd.contact.clearance import clear_ground
from akd.contact.dynamics import ballistic_rise, centre_of_mass, in_free_fall, is_tipping, zmp_shift
from akd.contact.foot_lock import foot_positions, overstretch, solve_legs, within_reach
from akd.contact.measures import Feet
from akd.contact.roll import limit_roll_speed, rolling_path
from akd.contact.stance import Stance, close_gaps, detect_stance, extend_while_tipping, lock_paths, smooth_swing
from akd.contact.traces import in_heading_frame, trace, yaw
from akd.contact.treadmill import MAX_IN_PLACE_SPEED, FootVelocities, foot_levels, ground_line, implied_velocity
from akd.errors import AkdError
from akd.motion import Motion, close_loop, from_joint_quaternions, from_stage_rotations, joint_quaternions, repeat
from akd.rig import Rig
from akd.rotations import quaternion_conjugate, quaternion_multiply, quaternion_to_rotation_vector, rotation_vector_to_quaternion
from akd.skeleton import Pose, joint_rotations

UP = np.array([0.0, 1.0, 0.0])
MIN_FRAMES = 4
MAX_LOOP_GAP, MAX_LOOP_STEPS = 0.02, 0.75
"""A clip whose joints come back to within this on average is a loop [ℓ], or to within this share of a step at its ends: the last
frame of a fast gallop is often not quite the first."""
SPEED_TOLERANCE = 0.15
"""A body whose speed is within this share of the speed its feet imply travels already."""
MAX_LEG_SHORTFALL = 0.02
"""Where a leg is too short by less than this, the body crouches; beyond it, the foot is released [ℓ]."""
BALANCE_ITERATIONS = 2
"""Repetitions of rise and shift: legs stay behind with their feet, so one shift is not quite enough."""
MAX_CROUCH = 0.06
"""How much deeper the body may crouch for its legs to reach their feet after a shift [ℓ]."""
SHIFT_SHARES = (1.0, 0.75, 0.5, 0.25)
"""Shares of the shift that are tried, largest first."""
PHYSICS_CLEARANCE, CLEARANCE_PER_SPEED = 0.05, 0.012
"""Swing clearance of a target for physics [ℓ], and how much it grows per speed of the body [s]: a simulated foot is a little
late and low, and in a run more so."""
CROUCH_EASE = 0.08
"""Time over which a crouch sets in and ends [s]."""


@dataclass(frozen=True)
class TargetSettings:
    """What is corrected."""

    travel: bool = True
    """Give clips that walk in place, or too fast or slow for their feet, the travel that their standing feet imply."""
    ground: bool = True
    """Lower or raise the whole motion onto the ground, frame by frame but slowly."""
    lock: bool = True
    """Hold standing feet in place, and lift swinging feet clear of the ground."""
    balance: bool = True
    """With locked feet: dynamic feasibility. The zero moment point is brought into the support polygon, flight is ballistic,
    and feet roll over what touches the ground."""


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
    shifted: float
    """Largest horizontal shift for balance [ℓ]."""
    notes: tuple[str, ...]
    """What was done, one sentence each."""


def prepare(rig: Rig, motion: Motion, settings: TargetSettings | None = None, stance: Stance | None = None) -> Target:
    """The motion as physics can follow it. Loops stay loops: three cycles are prepared and the middle one is kept.

    ``stance`` says which feet stand when; without it, stance is detected.
    """
    settings = settings or TargetSettings()
    count = motion.frame_count
    if count < MIN_FRAMES:
        raise AkdError(f"A motion of {count} frames is too short to be tracked: it needs at least {MIN_FRAMES}.")
    motion = replace(motion, pose=motion.pose.detach().to(torch.float64))
    loops = is_loop(rig, motion)
    if not loops:
        return _prepared(rig, motion, settings, stance, loops=False)
    tripled = None if stance is None else np.concatenate((stance[:-1], stance[:-1], stance))
    long = _prepared(rig, repeat(close_rotations(rig, motion), 3), settings, tripled, loops=True)
    middle = slice(count - 1, 2 * count - 1)
    pose = long.motion.pose[middle]
    offset = (motion.pose.root_position[0] - pose.root_position[0]) * torch.tensor((1.0, 0.0, 1.0))
    once = close_rotations(rig, replace(long.motion, pose=Pose(pose.root_position + offset, pose.root_rotation, pose.angles)))
    return replace(long, motion=once, stance=long.stance[middle])


def is_loop(rig: Rig, motion: Motion) -> bool:
    """Is the last pose the first again, apart from where it is and where it faces?"""
    seen = trace(rig, motion)
    heading = in_heading_frame(seen.joints, seen.joints[:, 0], yaw(seen.root_rotation))

    def apart(one: int, other: int) -> float:
        return float(np.linalg.norm(heading[one] - heading[other], axis=-1).mean())

    return apart(-1, 0) < max(MAX_LOOP_GAP, MAX_LOOP_STEPS * min(apart(0, 1), apart(-2, -1)))


def close_rotations(rig: Rig, motion: Motion) -> Motion:
    """``close_loop`` for joints whose angles may have gone over to the other solution: the gap is one of rotations."""
    pose = motion.pose
    root = close_loop(replace(motion, pose=Pose(pose.root_position, pose.root_rotation, torch.zeros_like(pose.angles)))).pose
    q = joint_quaternions(rig.skeleton, motion)
    gap = quaternion_to_rotation_vector(quaternion_multiply(quaternion_conjugate(q[-1]), q[0]))
    u = torch.linspace(0, 1, len(q), dtype=q.dtype)[:, None, None]
    q = quaternion_multiply(q, rotation_vector_to_quaternion(u * gap))
    q = torch.cat((root.root_rotation[:, None], q[:, 1:]), 1)
    return from_joint_quaternions(rig.skeleton, root.root_position, q, motion.fps)


def _prepared(rig: Rig, motion: Motion, settings: TargetSettings, known_stance: Stance | None, *, loops: bool) -> Target:
    model, fps = limb_model(rig), motion.fps
    root, rotations = motion.pose.root_position.numpy(), joint_rotations(rig.skeleton, motion.pose).numpy()
    stance, added, shifted = np.zeros((len(root), len(model.feet)), bool), np.zeros(3), 0.0
    levels = _foot_levels(model, root, rotations) if settings.ground else np.zeros(len(model.feet))
    raised = np.zeros(len(root))
    if settings.ground:
        lowest = (foot_positions(model, root, rotations)[..., 1] - levels).min(1) if model.feet else trace(rig, motion).lowest
        raised = -ground_line(lowest, fps) - (np.median(levels) if model.feet else 0.0)
        root = root + raised[:, None] * UP
    if model.feet:
        levels = levels - np.median(levels)
        feet_motion = foot_motion(model, root, rotations, levels, fps)
        if settings.travel:
            root, added = with_implied_travel(root, feet_motion, fps)
            feet_motion = foot_motion(model, root, rotations, levels, fps)
        balanced = settings.lock and settings.balance and (known_stance is None or known_stance.any())
        body = articulation_of(rig) if balanced else None
        if known_stance is None:
            stance = detect_stance(feet_motion.feet, feet_motion.velocities, feet_motion.velocity, fps)
            stance = close_gaps(stance, root[:, 1], rig.gravity, fps)
            if body is not None:
                stance = extend_while_tipping(stance, is_tipping(model, body, root, rotations, feet_motion.feet, stance), fps)
            stance = drop_unreachable(model, root, rotations, stance) if settings.lock else stance
        else:
            stance = known_stance
        if settings.lock:
            root, rotations, shifted = _lock_feet(model, root, rotations, stance, fps, body if stance.any() else None)
    stage, _ = local_to_stage(rig.skeleton, root, rotations)
    prepared = from_stage_rotations(rig.skeleton, torch.as_tensor(root), torch.as_tensor(stage), fps)
    notes = _notes(added, float(raised.mean()), shifted, model, stance)
    return Target(prepared, stance, loops, added, float(raised.mean()), shifted, notes)


class FootMotion(NamedTuple):
    """Feet and body seen from the body."""

    feet: Feet
    """Above each foot's own ground."""
    velocities: FootVelocities
    heading: Float[np.ndarray, " frame"]
    velocity: Float[np.ndarray, " 2"]
    """Of the body in its own axes, mean over the clip [ℓ/s]."""


def foot_motion(
    model: LimbModel, root: FrameVectors, rotations: JointRotations, levels: Float[np.ndarray, " foot"], fps: float
) -> FootMotion:
    feet, heading = foot_positions(model, root, rotations) - levels[:, None] * UP, yaw(rotations[:, 0])
    velocities = np.gradient(in_heading_frame(feet, root, heading)[..., [0, 2]], axis=0) * fps
    steps = np.diff(root, axis=0)[:, None] * fps
    velocity = in_heading_frame(steps, 0 * steps[:, 0], (heading[1:] + heading[:-1]) / 2)[:, 0][:, [0, 2]].mean(0)
    return FootMotion(feet, velocities, heading, velocity)


def _foot_levels(model: LimbModel, root: FrameVectors, rotations: JointRotations) -> Float[np.ndarray, " foot"]:
    if not model.feet:
        return np.zeros(0)
    feet = foot_positions(model, root, rotations)
    return foot_levels(feet[..., 1], in_heading_frame(feet, root, yaw(rotations[:, 0]))[..., 0])


def with_implied_travel(root: FrameVectors, feet_motion: FootMotion, fps: float) -> tuple[FrameVectors, Float[np.ndarray, " 3"]]:
    """The root with the travel that its stance feet imply, and the velocity in body axes that was added [ℓ/s].

    A body that travels already may travel at the wrong speed for its feet, so only the feet decide; a difference below
    ``SPEED_TOLERANCE`` is left to foot locking.
    """
    implied = implied_velocity(feet_motion.feet[..., 1], feet_motion.velocities)
    if implied is None:
        return root, np.zeros(3)
    x, z = implied - feet_motion.velocity
    if np.hypot(x, z) < max(MAX_IN_PLACE_SPEED, SPEED_TOLERANCE * float(np.linalg.norm(implied))):
        return root, np.zeros(3)
    cos, sin = np.cos(feet_motion.heading), np.sin(feet_motion.heading)
    steps = np.stack((cos * x + sin * z, 0 * cos, cos * z - sin * x), -1) / fps
    path = np.concatenate((np.zeros((1, 3)), np.cumsum((steps[1:] + steps[:-1]) / 2, axis=0)))
    return root + path, np.array([x, 0.0, z])


def drop_unreachable(model: LimbModel, root: FrameVectors, rotations: JointRotations, stance: Stance) -> Stance:
    """The stances without those moments in which a leg is too short and another foot stands: a foot leaves when it must."""
    targets = lock_paths(foot_positions(model, root, rotations), stance)
    need = np.where(stance, overstretch(model, root, rotations, targets), np.inf)
    return stance & ((need < MAX_LEG_SHORTFALL) | (need == need.min(1, keepdims=True)))


def _lock_feet(
    model: LimbModel,
    root: FrameVectors,
    rotations: JointRotations,
    stance: Stance,
    fps: float,
    body: Articulation | None,
) -> tuple[FrameVectors, JointRotations, float]:
    """Lock the standing feet; with a ``body``, make the motion balanced and ballistic too. Where legs are too short the body
    crouches, slowly. Returns root, rotations and the largest horizontal shift [ℓ]."""
    rotations = rotations.copy()
    root = cleared = clear_ground(model, root, rotations)
    rotations = limit_roll_speed(model, root, rotations, stance, fps) if body else rotations
    targets, bent = foot_positions(model, root, rotations), rotations
    clearance = PHYSICS_CLEARANCE + CLEARANCE_PER_SPEED * fps * float(
        np.linalg.norm(np.diff(root[:, [0, 2]], axis=0), axis=1).mean()
    )
    if body:
        targets = lock_paths(targets, stance, rolling_path(model, root, rotations), clearance)
    else:
        targets = smooth_swing(lock_paths(targets, stance), stance)
    for _ in range(BALANCE_ITERATIONS if body else 1):
        if body:
            height = centre_of_mass(model, body, root, bent)[:, 1]
            limit = np.where(stance, -overstretch(model, root, rotations, targets), np.inf).min(1)
            root = root + ballistic_rise(height, in_free_fall(stance), limit, body.gravity, fps)[:, None] * UP
            shift = zmp_shift(model, body, root, bent, targets, stance, fps)
            root = root + _feasible_share(model, root, rotations, targets, stance, shift, fps) * shift
        lowered = root - crouch(overstretch(model, root, rotations, targets), stance, fps)[:, None] * UP
        bent = solve_legs(model, lowered, rotations, within_reach(model, lowered, rotations, targets))
    return lowered, bent, float(np.linalg.norm((root - cleared)[:, [0, 2]], axis=1).max())


def _feasible_share(
    model: LimbModel, root: FrameVectors, rotations: JointRotations, targets: Feet, stance: Stance, shift: FrameVectors,
    fps: float,
) -> float:  # fmt: skip
    """The largest share of a shift for which legs are long enough: a body that crouches to be over its feet cannot lift them."""

    def depth(share: float) -> float:
        return float(crouch(overstretch(model, root + share * shift, rotations, targets), stance, fps).max())

    limit = depth(0.0) + MAX_CROUCH
    return next((share for share in SHIFT_SHARES if depth(share) <= limit), 0.0)


def crouch(need: Float[np.ndarray, "frame foot"], stance: Stance, fps: float) -> Float[np.ndarray, " frame"]:
    """How far the body is lowered so that its standing feet are within reach, smoothed over ``CROUCH_EASE`` [ℓ]."""
    width = max(CROUCH_EASE * fps, 1.0)
    # Where all feet stand with room to spare the body stays as low as it is.
    highest = maximum_filter1d(np.max(np.where(stance, need, 0.0), axis=1, initial=0.0), 2 * round(width) + 1, mode="nearest")
    return gaussian_filter1d(highest, width, mode="nearest")


def _notes(added: np.ndarray, raised: float, shifted: float, model: LimbModel, stance: np.ndarray) -> tuple[str, ...]:
    notes = []
    speed = float(np.linalg.norm(added))
    if speed > 0:
        notes.append(f"Standing feet slid together, so the body was given {speed:.2f} ℓ/s over the ground.")
    if abs(raised) > 0.005:
        notes.append(f"The motion was {'raised' if raised > 0 else 'lowered'} by {abs(raised):.3f} ℓ onto the ground.")
    if shifted > 0.005:
        notes.append(f"The body was shifted by up to {shifted:.3f} ℓ over its feet to keep its balance.")
    if not model.feet:
        notes.append("The rig has no legs, so no feet could be held in place.")
    elif not stance.any():
        notes.append("No foot ever stands, so none was held in place.")
    return tuple(notes)
