"""From a trajectory to the finished clip: standing feet are locked in place, by kinematics alone.

Feet stand for as long as suits the gait (see ``gait_timing``); strides too long for the legs are shortened. Speed decides
between walk and run; where it does not, the prior does: both versions are made with the same legs, and the one is preferred
whose film the prompt explains better. Whether the body travels at all is decided by the prior as well.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from akd.contact.prepare import TargetSettings, prepare
from akd.contact.traces import trace
from akd.distill.gait_timing import at_natural_tempo, retimed, stance_of_legs, stance_timing
from akd.distill.task import Task
from akd.distill.trajectory import Trajectory
from akd.motion import Motion
from akd.rig import Rig

MAX_LOWERING = 0.1
"""If feet can only be locked by lowering the body more than this below its lowest point and its rest height [ℓ], strides are
shortened …"""
STRIDE_SHARES = (1.0, 0.8, 0.6, 0.45)
"""… to these shares, one after the other; if none suffices, feet are not locked."""
ALLOWED_DEPTH = 0.005
"""Depth of skin in the ground that is left alone [ℓ]; deeper, the body is raised …"""
RAISING_SECONDS = 0.05
"""… smoothly over this time [s]."""
LOOP_TOLERANCE = 1e-3
"""A clip within this share of a whole number of cycles is a loop."""
RUN_LOG_ODDS_SCALE = 100.0
"""Log odds of a run per unit of the text log-ratio: a difference of 0.01 counts like a Froude number e times as large."""
STAYING_MARGIN = 0.15
"""A body stays in place only if its error is lower by this: for walks it is .35 to 1.2 higher, for a punch .4 lower."""
KINEMATICS = TargetSettings(travel=False, balance=False)
"""Locking only: no change of speed, no balance, no flight."""

ClipOf = Callable[[Trajectory], Motion]
"""Samples the frames of a trajectory that are wanted."""


def finish(task: Task, trajectory: Trajectory) -> Motion:
    """The finished clip of a task, with locked feet if the recipe says so."""
    return lock_feet(task.rig, trajectory, task.clip) if task.recipe.lock_feet else task.clip(trajectory)


@torch.no_grad()
def lock_feet(rig: Rig, trajectory: Trajectory, clip: ClipOf) -> Motion:
    """The clip of a trajectory at a tempo that suits its gait, with standing feet locked in place."""
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
    if not trajectory.leg_gain:
        every = np.tile([len(sole) > 0 for sole in rig.soles], (motion.frame_count, 1))
        return motion, prepare(rig, motion, KINEMATICS, every).motion
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
        target = prepare(rig, motion, KINEMATICS, stance_of_legs(rig, curves, times, timing))
    kept = slice(margin, margin + count)
    locked = raise_above_ground(rig, target.motion, loops=not margin)
    return replace(motion, pose=motion.pose[kept]), replace(motion, pose=locked.pose[kept])


def raise_above_ground(rig: Rig, motion: Motion, *, loops: bool) -> Motion:
    """The motion, smoothly raised where skin is in the ground: locked feet are not, but the hocks of a crouching body are."""
    depth = np.maximum(-trace(rig, motion).lowest - ALLOWED_DEPTH, 0.0)
    if not depth.any():
        return motion
    width, mode = max(RAISING_SECONDS * motion.fps, 1.0), "wrap" if loops else "nearest"
    raised = gaussian_filter1d(maximum_filter1d(depth, 4 * math.ceil(width) + 1, mode=mode), width, mode=mode)
    position = motion.pose.root_position.clone()
    position[:, 1] += torch.as_tensor(raised, dtype=position.dtype)
    return replace(motion, pose=replace(motion.pose, root_position=position))


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


@torch.no_grad()
def choose_travel(rig: Rig, trajectory: Trajectory, clip: ClipOf, error: Callable[[Motion], float]) -> None:
    """Keep the body in place with still legs if the prior's error is clearly lower that way."""
    travelling, staying = (error(_with_locked_feet(rig, each, clip)) for each in (trajectory, copy.deepcopy(trajectory).stay()))
    if staying < travelling - STAYING_MARGIN:
        trajectory.stay()
