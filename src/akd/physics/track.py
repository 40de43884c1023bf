"""Track a motion in simulation: find controls with which the body, under gravity and on its own feet, does the same."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float

from akd.character.articulation import Articulation, articulation_of
from akd.character.limb_model import limb_model
from akd.contact.foot_lock import typical_leg
from akd.contact.prepare import Target, prepare
from akd.contact.traces import trace
from akd.measure.evaluation import Evaluation, evaluate, evaluate_trace
from akd.motion import Motion, from_joint_quaternions, joint_quaternions, repeat, resample
from akd.physics.aims import AimJudge
from akd.physics.measures import coordinate_error, joint_error, joint_torques, mechanical_work, support_torques, upright_impulse
from akd.physics.search import Search, frames_ahead
from akd.physics.settings import PhysicsSettings
from akd.physics.state import State
from akd.physics.track_settings import TrackSettings
from akd.rig import Rig
from akd.rotations import matrix_to_quaternion, quaternion_to_rotation_vector
from akd.skeleton import forward_kinematics

FAILED = 0.15
"""A whole clip tracked worse than this has fallen over or lost its way [ℓ]."""
QUICK = 3.0
"""Controls there must be in √(ℓ/g): spiders and ants fall in a frame, so what they follow is sampled more finely."""
BEYOND = 5
"""Frames that are simulated beyond the end of a loop, or as many as following looks ahead."""
CRUTCH = 1.0
"""The upright torque with which it is then tried again [m g ℓ/rad]."""


@dataclass(frozen=True, eq=False)
class TrackResult:
    """A simulated motion, how it was controlled, and how good it is."""

    motion: Motion
    """What the body did; joints that are not simulated move as in the target."""
    target: Target
    body: Articulation
    physics: PhysicsSettings
    controls: Float[np.ndarray, "time link 3"]
    """Angles the controllers aimed at, ``controls_fps`` times a second, or at every substep [rad]."""
    controls_fps: float
    """That of the motion, or a multiple for small and quick bodies; ``physics.substeps`` is per such a frame."""
    start: State
    """Where the simulation started, and how fast."""
    torques: Float[np.ndarray, "step link 3"]
    """Of the controllers about the three axes of each joint [m g ℓ]."""
    upright: Float[np.ndarray, "step 3"]
    """The virtual torque [m g ℓ]; all zero without it."""
    losses: Float[np.ndarray, " iteration"]
    tracking_error: float
    """Mean distance of joints from the target [ℓ]."""
    turn_error: float
    """Mean angle between bones and their directions in the target [rad]: the twist of a head moves no joint."""
    coordinate_error: float
    upright_impulse: float
    """∫‖virtual torque‖ dt / (m g ℓ T)."""
    work: float
    """Mechanical work of the controllers per m g ℓ."""
    source_metrics: Evaluation
    """Of the motion as it was given."""
    target_metrics: Evaluation
    metrics: Evaluation
    """Of the simulated motion."""
    seconds: float
    notes: tuple[str, ...]


Watch = Callable[[Iterable[int], int], Iterable[int]]
"""Is handed the iterations and their number, to show how far it is."""


def track(
    rig: Rig, motion: Motion, settings: TrackSettings | None = None, *, from_file: bool = False,
    watch: Watch = lambda steps, count: steps,
) -> TrackResult:  # fmt: skip
    """Simulate a rig so that it follows a motion. ``from_file`` only says how the given motion is measured."""
    settings, begun = settings or TrackSettings(), time.perf_counter()
    body = articulation_of(rig)
    fine = math.ceil(QUICK * body.gravity**0.5 / motion.fps)
    # Mended at the rate of the controls: between two frames, too, feet stand.
    finer = prepare(rig, resample(motion, fine * motion.fps) if fine > 1 else motion, settings.target)
    target = replace(finer, motion=Motion(finer.motion.pose[::fine], motion.fps), stance=finer.stance[::fine])
    judge = AimJudge(rig, body, target.motion, finer.motion.pose.angles, settings.aims)
    beyond = max(BEYOND, frames_ahead(typical_leg(limb_model(rig)), body.gravity, finer.motion.fps))
    search = Search(body, rig, going_on(rig, finer, beyond) if settings.follow_iterations else finer, settings, judge)
    steps = iter(watch(*_iterations(search, settings)))
    search.windows(settings.window, settings.window_iterations, steps)
    _attempt(search, settings, steps)
    if settings.crutch and search.best.error > FAILED and search.physics.upright == 0:
        search.notes.append(f"Without help the body fell ({search.best.error:.2f} ℓ off), so a virtual torque keeps it upright.")
        search.use_crutch(CRUTCH)
        _attempt(search, settings, steps)
    for _ in steps:
        pass  # those that were not needed
    return _result(motion, target, search, judge, time.perf_counter() - begun, from_file)


def going_on(rig: Rig, target: Target, frames: int) -> Target:
    """A loop and the beginning of its next round, so that the last frames, too, are simulated with what follows in view."""
    if not target.loops:
        return target
    count, twice = target.motion.frame_count + frames, repeat(target.motion, 2)
    longer = replace(twice, pose=twice.pose[:count])
    # Angles of the next round may be another solution for the same rotations: they are made to go on from the last.
    turns = joint_quaternions(rig.skeleton, longer)
    motion = from_joint_quaternions(rig.skeleton, longer.pose.root_position, turns, longer.fps)
    return replace(target, motion=motion, stance=np.concatenate((target.stance, target.stance[1:]))[:count])


def _attempt(search: Search, settings: TrackSettings, steps: Iterator[int]) -> None:
    """Follow the clip and improve it as a whole, and go on if it has not fallen, but is not good enough."""
    for _ in range(settings.attempts):
        if settings.follow_iterations:
            search.follow(settings.follow_iterations, steps)
        search.windows(search.frame_count, settings.whole_iterations, steps)
        if search.best.shortfall == 0 or search.best.error > FAILED:
            return


def _iterations(search: Search, settings: TrackSettings) -> tuple[range, int]:
    """As many as there may be."""
    tries = settings.attempts * (1 + (settings.crutch and search.physics.upright == 0))
    count = settings.window_iterations + tries * (settings.follow_iterations * search.frame_count + settings.whole_iterations)
    return range(count), count


def _turn_error(rig: Rig, simulated: Motion, target: Motion) -> float:
    here, there = (forward_kinematics(rig.skeleton, m.pose.to(torch.float64)).rotation for m in (simulated, target))
    return float(quaternion_to_rotation_vector(matrix_to_quaternion(there.transpose(-1, -2) @ here)).norm(dim=-1).mean())


def _result(
    motion: Motion, target: Target, search: Search, judge: AimJudge, seconds: float, from_file: bool
) -> TrackResult:  # fmt: skip
    best, body, rig = search.best, search.body, judge.rig
    assert best.rollout is not None
    rollout, beyond = best.rollout.until(judge.moments), search.frame_count - judge.moments
    simulated = judge.motion(best.rollout)
    seen, wanted = trace(rig, simulated), judge.wanted
    torques, upright = ((part(rollout) / body.gravity).numpy() for part in (joint_torques, support_torques))
    speeds = rollout.states.rates[1:].flatten(1).numpy()
    return TrackResult(
        motion=simulated, target=target, body=body, physics=search.physics,
        controls=best.controls[: len(best.controls) - beyond].numpy(), controls_fps=search.fps, start=best.start,
        torques=torques, upright=upright, losses=np.array(search.losses),
        tracking_error=joint_error(seen.joints, wanted.joints),
        turn_error=_turn_error(rig, simulated, target.motion),
        coordinate_error=coordinate_error(seen.coordinates, wanted.coordinates),
        upright_impulse=upright_impulse(upright, 1.0),
        work=mechanical_work(torques.reshape(len(torques), -1), speeds, 1 / (search.fps * search.physics.substeps), 1.0),
        source_metrics=evaluate(rig, motion, from_file=from_file), target_metrics=judge.target_metrics,
        metrics=evaluate_trace(rig, seen, from_file=False), seconds=seconds, notes=tuple(search.notes),
    )  # fmt: skip
