"""Feet that stand: what the end of a distillation does to its motion, by kinematics alone.

Feet stand for as long as suits the gait (see ``timing``), and are held in place while they do; strides too long for the
legs become shorter. Between a walk and a run speed decides, and where speed alone does not tell, the prior: both are made of the
same legs, and what counts is by how much more the sentence explains of the one than of the other. Whether the body goes
anywhere at all, the prior is asked, too.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from akd.contact.traces import trace
from akd.distill.gait_timing import at_natural_tempo, retimed, scheduled_stance, stance_timing
from akd.distill.task import Task
from akd.distill.trajectory import Fourier, Frames, Trajectory
from akd.motion import Motion, resample
from akd.pipeline.job import Job
from akd.rig import Rig

MOST_LOWERED = 0.1
"""If the body would have to go lower than at rest, and lower than it did, by more than this for its feet to stay where they stand
[ℓ], strides are shortened …"""
STRIDE_SHARES = (1.0, 0.8, 0.6, 0.45)
"""… to these shares, one after the other; if none will do, feet slide."""
ALLOWED_DEPTH = 0.005
"""Skin may be so deep in the ground [ℓ]; deeper, the body is raised over …"""
RAISING_SECONDS = 0.05
"""… this time [s]."""
LOOP_TOLERANCE = 1e-3
"""A clip that is so near to whole rounds is a loop."""
RUN_LOG_ODDS_SCALE = 100.0
"""How much what a sentence explains weighs beside speed: one hundredth of an error is as a Froude number e times as large."""
STAYING_MARGIN = 0.15
"""A body stays only if that is less surprising by so much: of a walk it is .35 to 1.2 more surprising, of a punch .4 less."""
ClipOf = Callable[[Trajectory], Motion]
"""The frames of a trajectory that are prompt."""


@torch.no_grad()
def lock_feet(rig: Rig, trajectory: Trajectory, clip: ClipOf) -> Motion:
    """The clip of a trajectory at a tempo that suits it, with its standing feet held in place."""
    return _stepped(rig, at_natural_tempo(rig, trajectory), clip)


def _stepped(rig: Rig, trajectory: Trajectory, clip: ClipOf) -> Motion:
    """The clip of a trajectory with its standing feet held in place; strides too long for the legs become shorter."""
    motion = clip(trajectory)
    if not any(len(sole) for sole in rig.soles):
        return motion
    for share in STRIDE_SHARES:
        given, held = _held(rig, trajectory if share == 1.0 else trajectory.calmer(share), clip, speed=float(trajectory.speed))
        usual = min(float(given.pose.root_position[:, 1].min()), float(rig.skeleton.positions[0, 1]))
        if usual - float(held.pose.root_position[:, 1].min()) <= MOST_LOWERED:
            return replace(held, pose=held.pose.to(motion.pose.angles.dtype))
    return motion


def _held(rig: Rig, trajectory: Trajectory, clip: ClipOf, speed: float) -> tuple[Motion, Motion]:
    """The clip of a trajectory, its feet standing as long as suits the speed, without and with these feet held in place."""
    from akd.contact.prepare import TargetSettings, prepare

    curves, kinematics = trajectory.curves, TargetSettings(travel=False, balance=False)
    motion = clip(trajectory)
    if not trajectory.leg_gain:
        every = np.tile([len(sole) > 0 for sole in rig.soles], (motion.frame_count, 1))
        return motion, prepare(rig, motion, kinematics, every).motion
    if not isinstance(curves, Fourier):
        return motion, prepare(rig, motion, kinematics).motion
    count, fps = motion.frame_count, motion.fps
    early = _more_frames(curves, motion)
    times = (torch.arange(count + 2 * early) - early) / fps
    motion = Motion(trajectory.pose(times), fps)
    target = prepare(rig, motion, kinematics)
    timing = stance_timing(rig, trajectory, curves, float(target.stance.mean()), speed)
    if timing is not None:
        motion = retimed(rig, trajectory, curves, motion, times, timing)
        target = prepare(rig, motion, kinematics, scheduled_stance(rig, curves, times, timing))
    asked = slice(early, early + count)
    held = raise_above_ground(rig, target.motion, loops=not early)
    return replace(motion, pose=motion.pose[asked]), replace(motion, pose=held.pose[asked])


def raise_above_ground(rig: Rig, motion: Motion, *, loops: bool) -> Motion:
    """The motion, slowly raised where skin is in the ground: planted feet are on it, but the hocks of a crouching body sink."""
    depth = np.maximum(-trace(rig, motion).lowest - ALLOWED_DEPTH, 0.0)
    if not depth.any():
        return motion
    width, mode = max(RAISING_SECONDS * motion.fps, 1.0), "wrap" if loops else "nearest"
    raised = gaussian_filter1d(maximum_filter1d(depth, 4 * math.ceil(width) + 1, mode=mode), width, mode=mode)
    position = motion.pose.root_position.clone()
    position[:, 1] += torch.as_tensor(raised, dtype=position.dtype)
    return replace(motion, pose=replace(motion.pose, root_position=position))


def _more_frames(curves: Fourier, motion: Motion) -> int:
    """How many frames are needed before and after a clip, so that each of its steps is seen from one stance to the next.

    Whole rounds need none: they are their own before and after.
    """
    rounds = (motion.frame_count - 1) / motion.fps / curves.period
    return 0 if abs(rounds - round(rounds)) < LOOP_TOLERANCE else math.ceil(motion.fps * curves.period)


@torch.no_grad()
def choose_walk_or_run(rig: Rig, trajectory: Trajectory, clip: ClipOf, unexplained: Callable[[Motion], float]) -> None:
    """Walk and run with the same legs, and lean towards the one of which the sentence explains more.

    ``unexplained`` is the logarithm of the prior's error with the sentence beside that without it.
    """
    heard = []
    for run_log_odds in (-torch.inf, torch.inf):
        trajectory.run_log_odds.fill_(run_log_odds)
        # At the same tempo: quick motions of any kind are explained a little better.
        heard.append(unexplained(_stepped(rig, trajectory, clip)))
    trajectory.run_log_odds.fill_(RUN_LOG_ODDS_SCALE * (heard[0] - heard[1]))


@torch.no_grad()
def choose_travel(rig: Rig, trajectory: Trajectory, clip: ClipOf, surprise: Callable[[Motion], float]) -> None:
    """Keep the body in place and its legs still if the prior finds that far less surprising: not everybody goes anywhere."""
    going, staying = (surprise(_stepped(rig, each, clip)) for each in (trajectory, copy.deepcopy(trajectory).stay()))
    if staying < going - STAYING_MARGIN:
        trajectory.stay()


CLIP_FPS = 30.0
"""Frames per second of the clips that are written, whatever rate the prior watches at."""


def finished(job: Job, task: Task, trajectory: Trajectory) -> Motion:
    """The clip with its standing feet held in place, if the recipe wants that."""
    if not job.recipe.lock_feet:
        return clip(job, task, trajectory)
    return lock_feet(task.rig, trajectory, lambda each: clip(job, task, each))


@torch.no_grad()
def clip(job: Job, task: Task, trajectory: Trajectory) -> Motion:
    """The motion as it was found, at the rate of what is written."""
    curves = trajectory.curves
    if job.loop and isinstance(curves, Fourier):
        seconds = max(round(job.seconds / curves.period), 1) * curves.period
        count = max(round(seconds * CLIP_FPS), 4)
        return trajectory.motion(count + 1, count / seconds)
    if isinstance(curves, Frames):
        # Straight lines between frames would show as corners at a higher rate.
        return resample(trajectory.motion(round(job.seconds * task.fps) + 1, task.fps), CLIP_FPS)
    return trajectory.motion(round(job.seconds * CLIP_FPS) + 1, CLIP_FPS)
