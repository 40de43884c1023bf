"""What is known of gaits, applied where a travelling cycle on legs has won, and nowhere else.

Feet stand for as long as suits the gait (see ``gait_timing``), pairs of legs take the order that the prior likes best (see
``phases``), strides too long for the legs are shortened, and standing feet are locked in place by kinematics. Speed decides
between walk and run; where it does not, the prior does: both versions are made with the same legs, and the one is preferred
whose film the prompt explains better.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from akd.contact.prepare import TargetSettings, prepare
from akd.contact.support import raise_above_ground
from akd.distill.gait_timing import (
    at_natural_tempo,
    lift_of_legs,
    retimed,
    shifts_to_order,
    stance_of_legs,
    stance_timing,
)
from akd.distill.recovery import with_recovery
from akd.distill.task import COMPARISON_VIEWS, Task, motion_error
from akd.distill.trajectory import Trajectory, is_antiphase
from akd.gait.table import GAITS, PLAIN_WORDS
from akd.motion import Motion
from akd.prior.prior import missed_change, text_log_ratio
from akd.rig import Rig

MAX_LOWERING = 0.1
"""If feet can only be locked by lowering the body more than this below its lowest point and its rest height [ℓ], strides are
shortened …"""
STRIDE_SHARES = (1.0, 0.8, 0.6, 0.45)
"""… to these shares, one after the other; if none suffices, feet are not locked."""
LOOP_TOLERANCE = 1e-3
"""A clip within this share of a whole number of cycles is a loop."""
LOCKING_FPS = 30.0
"""Frames per second, at least, at which feet are locked to compare a walk with a run."""
MOST_MISSED = 0.75
"""Share of a gait's change over time that the prior may miss; of gaits that it knows it misses .33 to .46 (docs/log.md), with
random weights about all."""
RUN_LOG_ODDS_SCALE = 100.0
"""Log odds of a run per unit of the text log-ratio: a difference of 0.01 counts like a Froude number e times as large."""
KINEMATICS = TargetSettings(travel=False, balance=False)
"""Locking only: no change of speed, no balance, no flight."""

ClipOf = Callable[[Trajectory], Motion]
"""Samples the frames of a trajectory that are wanted."""


def refine(task: Task, trajectory: Trajectory, randomness: torch.Generator) -> None:
    """Decide at the end of a run whether the winner is a gait at all, and, if its legs alternate, between walk and run.

    A cycle of which the prior misses nearly all was not found by the prior: structure and the sentence alone would make a walk of
    any twitching legs, so such a body does not travel.
    """
    if not (trajectory.assumptions.is_gait and task.recipe.lock_feet and task.recipe.phases_at):
        return
    log_ratio, missed = (
        motion_error(task, error, COMPARISON_VIEWS, randomness) for error in (text_log_ratio, missed_change)
    )  # fmt: skip
    if missed(task.film_motion(trajectory)) > math.log(MOST_MISSED):
        trajectory.speed.zero_()
    elif trajectory.antiphase:
        clip = partial(task.film_motion, finer=math.ceil(LOCKING_FPS / task.fps))
        choose_walk_or_run(task.rig, trajectory, clip, log_ratio)


@torch.no_grad()
def expected_shifts(task: Task, trajectory: Trajectory) -> tuple[float | None, ...]:
    """For every pair of legs but the foremost, the shift [cycles] to the order of the gait that the sentence names, if any.

    "Running" on four legs is a gallop for legs in phase, and a trot for legs in antiphase.
    """
    action, legs = task.wish.action if task.wish else "", len(task.rig.legs)
    named = (PLAIN_WORDS.get(action, {}).get(legs, action), *(("trot",) if action == "run" else ()))
    for phases in (GAITS[name].phases[legs] for name in named if name in GAITS and legs in GAITS[name].phases):
        if is_antiphase(phases[1] - phases[0]) == trajectory.antiphase:
            return shifts_to_order(task.rig, trajectory, phases)
    return ()


@torch.no_grad()
def lock_feet(rig: Rig, trajectory: Trajectory, clip: ClipOf) -> Motion:
    """The clip of a gait at a tempo that suits it, with standing feet locked in place."""
    return _with_locked_feet(rig, at_natural_tempo(rig, trajectory), clip)


def _with_locked_feet(rig: Rig, trajectory: Trajectory, clip: ClipOf) -> Motion:
    """The clip of a trajectory with standing feet locked; strides too long for the legs are shortened."""
    motion = clip(trajectory)
    if not any(len(sole) for sole in rig.soles):
        return motion
    for share in STRIDE_SHARES:
        shorter = trajectory if share == 1.0 else trajectory.with_amplitude(share)
        free, locked = _free_and_locked(rig, shorter, clip, speed=float(trajectory.speed))
        usual = min(float(free.pose.root_position[:, 1].min()), float(rig.skeleton.positions[0, 1]))
        if usual - float(locked.pose.root_position[:, 1].min()) <= MAX_LOWERING:
            return replace(locked, pose=locked.pose.to(motion.pose.angles.dtype))
    return motion


def _free_and_locked(rig: Rig, trajectory: Trajectory, clip: ClipOf, speed: float) -> tuple[Motion, Motion]:
    """The clip with the stance timing that suits the speed, before and after locking its feet."""
    curves = trajectory.curves
    motion = clip(trajectory)
    if curves.period is None:
        return motion, prepare(rig, motion, KINEMATICS).motion
    count, fps = motion.frame_count, motion.fps
    margin = _margin(curves.period, motion)
    times = (torch.arange(count + 2 * margin) - margin) / fps
    motion = Motion(trajectory.pose(times), fps)
    target = prepare(rig, motion, KINEMATICS)
    timing = stance_timing(rig, trajectory, curves, float(target.stance.mean()), speed)
    if timing is not None:
        motion = retimed(rig, trajectory, curves, motion, times, timing)
        if timing.flight:
            motion = with_recovery(rig, motion, lift_of_legs(rig, curves, times, timing))
        target = prepare(rig, motion, KINEMATICS, stance_of_legs(rig, curves, times, timing))
    kept = slice(margin, margin + count)
    locked = raise_above_ground(rig, target.motion, loops=not margin)
    return replace(motion, pose=motion.pose[kept]), replace(motion, pose=locked.pose[kept])


def _margin(period: float, motion: Motion) -> int:
    """Frames to add before and after a clip, so that each of its steps is seen from one stance to the next.

    Whole cycles need none: they continue into themselves.
    """
    cycles = (motion.frame_count - 1) / motion.fps / period
    return 0 if abs(cycles - round(cycles)) < LOOP_TOLERANCE else math.ceil(motion.fps * period)


@torch.no_grad()
def choose_walk_or_run(rig: Rig, trajectory: Trajectory, clip: ClipOf, log_ratio: Callable[[Motion], float]) -> None:
    """Make a walk and a run with the same legs and set ``run_log_odds`` towards the one that the prompt explains better.

    ``log_ratio`` is the logarithm of the prior's error with the prompt over that without it (``prior.text_log_ratio``).
    """
    ratios = []
    for log_odds in (-torch.inf, torch.inf):
        trajectory.run_log_odds.fill_(log_odds)
        # At the same tempo: fast motions of any kind are explained a little better.
        ratios.append(log_ratio(_with_locked_feet(rig, trajectory, clip)))
    trajectory.run_log_odds.fill_(RUN_LOG_ODDS_SCALE * (ratios[0] - ratios[1]))
