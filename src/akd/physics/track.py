"""Track a motion in simulation: find controls with which the body follows it under gravity, on its own feet."""

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
from akd.physics.measures import assist_torques, coordinate_error, joint_error, joint_torques, mechanical_work, upright_impulse
from akd.physics.search import Search, horizon_frames
from akd.physics.settings import PhysicsSettings, State
from akd.physics.track_settings import RolloutEvaluator, TrackSettings
from akd.rig import Rig
from akd.rotations import matrix_to_quaternion, quaternion_to_rotation_vector
from akd.skeleton import forward_kinematics

FALLEN_ERROR = 0.15
"""Mean joint error above which a clip counts as fallen [ℓ]."""
CONTROLS_PER_TIME_UNIT = 3.0
"""Least number of controls per √(ℓ/g): spiders and ants fall within a frame, so their targets are sampled more finely."""
LOOP_EXTENSION = 5
"""Frames simulated extra the end of a loop, at least; as many as the receding horizon if that is extended."""
ASSIST_STIFFNESS = 1.0
"""Of the assist torque with which a fallen clip is tracked again [m g ℓ/rad]."""


@dataclass(frozen=True, eq=False)
class TrackResult:
    """A simulated motion, its controls, torques and metrics."""

    motion: Motion
    """The simulated motion; joints that are not simulated move as in the target."""
    target: Target
    body: Articulation
    physics: PhysicsSettings
    controls: Float[np.ndarray, "time link 3"]
    """Target angles of the PD controllers, ``controls_fps`` times a second, or at every substep [rad]."""
    controls_fps: float
    """That of the motion, or a multiple for small and quick bodies; ``physics.substeps`` is per such a frame."""
    start: State
    """The initial state."""
    torques: Float[np.ndarray, "step link 3"]
    """Of the controllers about the three axes of each joint [m g ℓ]."""
    assist_torques: Float[np.ndarray, "step 3"]
    """The assist torque [m g ℓ]; all zero without it."""
    losses: Float[np.ndarray, " iteration"]
    tracking_error: float
    """Mean distance of joints from the target [ℓ]."""
    turn_error: float
    """Mean angle between the bones' rotations and the target's [rad]: the twist of a head moves no joint."""
    coordinate_error: float
    upright_impulse: float
    """∫‖assist torque‖ dt / (m g ℓ T)."""
    work: float
    """Mechanical work of the controllers per m g ℓ."""
    source_metrics: Evaluation
    """Of the motion as it was given."""
    target_metrics: Evaluation
    metrics: Evaluation
    """Of the simulated motion."""
    seconds: float
    notes: tuple[str, ...]


ShowProgress = Callable[[Iterable[int], int], Iterable[int]]
"""Wraps an iterable of iterations and their number, to show progress."""


def track(
    rig: Rig, motion: Motion, settings: TrackSettings | None = None, *, from_file: bool = False,
    progress: ShowProgress = lambda steps, count: steps,
) -> TrackResult:  # fmt: skip
    """Simulate a rig so that it follows a motion. ``from_file`` only says how the given motion is measured."""
    settings, begun = settings or TrackSettings(), time.perf_counter()
    body = articulation_of(rig)
    controls_per_frame = math.ceil(CONTROLS_PER_TIME_UNIT * body.gravity**0.5 / motion.fps)
    # Prepared at the rate of the controls, so that feet stand between two frames, too.
    finer = prepare(rig, resample(motion, controls_per_frame * motion.fps) if controls_per_frame > 1 else motion, settings.target)
    at_frames = slice(None, None, controls_per_frame)
    target = replace(finer, motion=Motion(finer.motion.pose[at_frames], motion.fps), stance=finer.stance[at_frames])
    evaluator = RolloutEvaluator(rig, body, target.motion, finer.motion.pose.angles, settings.tolerances)
    extra = max(LOOP_EXTENSION, horizon_frames(typical_leg(limb_model(rig)), body.gravity, finer.motion.fps))
    search = Search(body, rig, extended_loop(rig, finer, extra) if settings.follow_iterations else finer, settings, evaluator)
    steps = iter(progress(*_iterations(search, settings)))
    search.windows(settings.window, settings.window_iterations, steps)
    _attempt(search, settings, steps)
    if settings.assist and search.best.error > FALLEN_ERROR and search.physics.assist_stiffness == 0:
        search.notes.append(f"Without help the body fell ({search.best.error:.2f} ℓ off), so an assist torque keeps it upright.")
        search.use_assist_torque(ASSIST_STIFFNESS)
        _attempt(search, settings, steps)
    for _ in steps:
        pass  # iterations that were not needed
    return _result(motion, target, search, evaluator, time.perf_counter() - begun, from_file)


def extended_loop(rig: Rig, target: Target, frames: int) -> Target:
    """A loop and the first frames of its next cycle, so that the receding horizon of the last frames is complete."""
    if not target.loops:
        return target
    count, two_cycles = target.motion.frame_count + frames, repeat(target.motion, 2)
    extended = replace(two_cycles, pose=two_cycles.pose[:count])
    # Angles of the next cycle may be another solution for the same rotations: they are made continuous with the last.
    rotations = joint_quaternions(rig.skeleton, extended)
    motion = from_joint_quaternions(rig.skeleton, extended.pose.root_position, rotations, extended.fps)
    return replace(target, motion=motion, stance=np.concatenate((target.stance, target.stance[1:]))[:count])


def _attempt(search: Search, settings: TrackSettings, steps: Iterator[int]) -> None:
    """Repeat the last two stages until the rollout is within the tolerances, has fallen, or the attempts are used up."""
    for _ in range(settings.attempts):
        if settings.follow_iterations:
            search.follow(settings.follow_iterations, steps)
        search.windows(search.frame_count, settings.whole_iterations, steps)
        if search.best.cost == 0 or search.best.error > FALLEN_ERROR:
            return


def _iterations(search: Search, settings: TrackSettings) -> tuple[range, int]:
    """The largest possible number of iterations, as a range and its length."""
    attempts = settings.attempts * (1 + (settings.assist and search.physics.assist_stiffness == 0))
    count = settings.window_iterations + attempts * (settings.follow_iterations * search.frame_count + settings.whole_iterations)
    return range(count), count


def _turn_error(rig: Rig, simulated: Motion, target: Motion) -> float:
    here, there = (forward_kinematics(rig.skeleton, m.pose.to(torch.float64)).rotation for m in (simulated, target))
    return float(quaternion_to_rotation_vector(matrix_to_quaternion(there.transpose(-1, -2) @ here)).norm(dim=-1).mean())


def _result(
    motion: Motion, target: Target, search: Search, evaluator: RolloutEvaluator, seconds: float, from_file: bool
) -> TrackResult:  # fmt: skip
    best, body, rig = search.best, search.body, evaluator.rig
    assert best.rollout is not None
    rollout, extra = best.rollout.until(evaluator.step_count), search.frame_count - evaluator.step_count
    simulated = evaluator.motion(best.rollout)
    simulated_trace, target_trace = trace(rig, simulated), evaluator.target_trace
    torques, assist = ((part(rollout) / body.gravity).numpy() for part in (joint_torques, assist_torques))
    speeds = rollout.states.rates[1:].flatten(1).numpy()
    return TrackResult(
        motion=simulated, target=target, body=body, physics=search.physics,
        controls=best.controls[: len(best.controls) - extra].numpy(), controls_fps=search.fps, start=best.start,
        torques=torques, assist_torques=assist, losses=np.array(search.losses),
        tracking_error=joint_error(simulated_trace.joints, target_trace.joints),
        turn_error=_turn_error(rig, simulated, target.motion),
        coordinate_error=coordinate_error(simulated_trace.coordinates, target_trace.coordinates),
        upright_impulse=upright_impulse(assist, 1.0),
        work=mechanical_work(torques.reshape(len(torques), -1), speeds, 1 / (search.fps * search.physics.substeps), 1.0),
        source_metrics=evaluate(rig, motion, from_file=from_file), target_metrics=evaluator.target_metrics,
        metrics=evaluate_trace(rig, simulated_trace, from_file=False), seconds=seconds, notes=tuple(search.notes),
    )  # fmt: skip
