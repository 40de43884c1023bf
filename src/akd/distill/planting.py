"""Feet that stand: what the end of a distillation does to its motion, by kinematics alone.

Feet stand for as long as suits the gait (see ``timing``), and are held in place while they do; strides too long for the
legs become shorter. Between a walk and a run speed decides, and where speed alone does not tell, the prior: both are made of the
same legs, and what counts is by how much more the sentence explains of the one than of the other.
"""

from collections.abc import Callable
from dataclasses import replace

import torch

from akd.distill.curves import Fourier
from akd.distill.dance import Dance
from akd.distill.timing import standing, suited, timed, timing_of
from akd.motion import Motion
from akd.rig import Rig

DEEPEST = 0.1
"""If the body would have to go lower than at rest, and lower than it did, by more than this for its feet to stay where they stand
[ℓ], strides are shortened …"""
STRIDES = (1.0, 0.8, 0.6, 0.45)
"""… to these shares, one after the other; if none will do, feet slide."""
LEAN = 100.0
"""How much what a sentence explains weighs beside speed: one hundredth of an error is as a Froude number e times as large."""

ClipOf = Callable[[Dance], Motion]
"""The frames of a dance that are wanted."""


@torch.no_grad()
def planted(rig: Rig, dance: Dance, clip: ClipOf) -> Motion:
    """The clip of a dance at a tempo that suits it, with its standing feet held in place."""
    return _stepped(rig, suited(rig, dance), clip)


def _stepped(rig: Rig, dance: Dance, clip: ClipOf) -> Motion:
    """The clip of a dance with its standing feet held in place; strides too long for the legs become shorter."""
    motion = clip(dance)
    if not any(len(sole) for sole in rig.soles):
        return motion
    for share in STRIDES:
        given, held = _held(rig, dance if share == 1.0 else dance.calmer(share), clip, speed=float(dance.speed))
        usual = min(float(given.pose.root_position[:, 1].min()), float(rig.skeleton.positions[0, 1]))
        if usual - float(held.pose.root_position[:, 1].min()) <= DEEPEST:
            return replace(held, pose=held.pose.to(motion.pose.angles.dtype))
    return motion


def _held(rig: Rig, dance: Dance, clip: ClipOf, speed: float) -> tuple[Motion, Motion]:
    """The clip of a dance, its feet standing as long as suits the speed, without and with these feet held in place."""
    from akd.physics.target import TargetSettings, prepare

    curves, kinematics = dance.curves, TargetSettings(travel=False, balance=False)
    motion = clip(dance)
    target = prepare(rig, motion, kinematics)
    timing = timing_of(rig, dance, curves, float(target.stance.mean()), speed) if isinstance(curves, Fourier) else None
    if timing is not None and isinstance(curves, Fourier):
        motion = timed(rig, dance, curves, motion, timing)
        target = prepare(rig, motion, kinematics, standing(rig, curves, motion, timing))
    return motion, target.motion


@torch.no_grad()
def choose_pace(rig: Rig, dance: Dance, clip: ClipOf, unexplained: Callable[[Motion], float]) -> None:
    """Walk and run with the same legs, and lean towards the one of which the sentence explains more.

    ``unexplained`` is the logarithm of the prior's error with the sentence beside that without it.
    """
    heard = []
    for leaning in (-torch.inf, torch.inf):
        dance.leaning.fill_(leaning)
        # At the same tempo: quick motions of any kind are explained a little better.
        heard.append(unexplained(_stepped(rig, dance, clip)))
    dance.leaning.fill_(LEAN * (heard[0] - heard[1]))
