"""Tempo and duty factor of a looping trajectory on legs.

The prior determines which legs move, how far and in which order, and has a say in whether that is a walk or a run. Small films
tell it nothing of tempo, so that follows from the Froude number (see ``gait.timing``): the whole loop is slowed down or sped
up, each leg's own time is warped so that its foot stands for the right share of the cycle, and a running body bounces.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.distill.losses import GroundContacts, foot_motion
from akd.distill.trajectory import Curves, Times, Trajectory
from akd.gait.measures import froude
from akd.gait.timing import (
    LEAP_FROUDE,
    RUN_DUTY,
    STROLL_FROUDE,
    WALK_DUTY,
    StanceTiming,
    bounce_height,
    is_run,
    recovery_lift,
    scheduled_stance,
    tempo_factor,
    time_warp,
)
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Limb, Pose, Posed, forward_kinematics

MIN_SWING = 0.2
"""Legs that swing less by themselves do not walk [ℓ]: locked feet under a moving body would make any legs seem to."""
CYCLE_SAMPLES = 64
"""Frames of a cycle at which the legs are analysed."""


def at_natural_tempo(rig: Rig, trajectory: Trajectory) -> Trajectory:
    """The trajectory at a tempo that suits its gait.

    Bodies that stay in place keep theirs, and so do hops and jumps, which exist at any speed. A body whose legs hardly swing
    does not travel.
    """
    number = froude(float(trajectory.speed), rig.leg_metres)
    if trajectory.curves.period is None or not _standing_legs(rig):
        return trajectory
    if _swing(rig, _one_cycle(rig, trajectory, trajectory.curves)[0]) < MIN_SWING:
        return trajectory.with_speed(0.0)
    if number < (STROLL_FROUDE if trajectory.antiphase else LEAP_FROUDE) or float(trajectory.phase_offset) == 0.0:
        return trajectory
    factor = tempo_factor(
        number, trajectory.speed / trajectory.curves.frequency, legs=len(rig.legs), antiphase=trajectory.antiphase,
        run=_runs(trajectory, number),
    )  # fmt: skip
    return trajectory if factor == 1.0 else trajectory.with_tempo(factor)


def _runs(trajectory: Trajectory, number: float) -> bool:
    return is_run(number, antiphase=trajectory.antiphase, log_odds=float(trajectory.run_log_odds))


def stance_timing(rig: Rig, trajectory: Trajectory, curves: Curves, duty: float, speed: float) -> StanceTiming | None:
    """The timing that suits a speed [ℓ/s], given the duty factor that feet have by themselves; None if that one suits."""
    number = froude(speed, rig.leg_metres)
    run = _runs(trajectory, number)
    target = min(duty, RUN_DUTY) if run else max(duty, WALK_DUTY)
    posed, fps = _one_cycle(rig, trajectory, curves)
    if not 0 < duty < 1 or _swing(rig, posed) < MIN_SWING:
        return None
    if not run and (not trajectory.antiphase or number < STROLL_FROUDE or target == duty):
        return None
    return StanceTiming(target, time_warp(duty, target), _midstance(rig, trajectory, posed, fps), run)


def shifts_to_order(rig: Rig, trajectory: Trajectory, phases: Sequence[float]) -> tuple[float | None, ...]:
    """By how much of a cycle every pair of legs but the foremost would have to be delayed to land at these phases.

    ``phases``: of touch-down, for legs from front to hind, left before right, as in ``gait.table``. None for legs without soles.
    """
    posed, fps = _one_cycle(rig, trajectory, trajectory.curves)
    middle = _midstance(rig, trajectory, posed, fps).tolist()
    found = {leg.order: phase for leg, phase in zip(_standing_legs(rig), middle, strict=True) if leg.side == "L"}
    pairs = range(1, 1 + max((leg.order for leg in rig.legs), default=0))
    return tuple(
        (phases[2 * order] - phases[0] - found[order] + found[0]) % 1.0 if {0, order} <= found.keys() else None for order in pairs
    )


def stance_of_legs(rig: Rig, curves: Curves, times: Times, timing: StanceTiming) -> Bool[np.ndarray, "time leg"]:
    """Which of the rig's legs stand at these times [s]; legs without a sole never do."""
    return _for_all_legs(rig, scheduled_stance(times * curves.frequency, timing))


def lift_of_legs(rig: Rig, curves: Curves, times: Times, timing: StanceTiming) -> Float[np.ndarray, "time leg"]:
    """How high the feet of a run are lifted at these times [s], 0 to 1; those of legs without a sole never."""
    return _for_all_legs(rig, recovery_lift(times * curves.frequency, timing))


def _for_all_legs(rig: Rig, values: Tensor) -> np.ndarray:
    """Values over time of the legs with soles, for all legs of the rig: zero or false for those without."""
    found = values.numpy()
    out = np.zeros((len(found), len(rig.legs)), found.dtype)
    out[:, [number for number, sole in enumerate(rig.soles) if len(sole)]] = found
    return out


def retimed(rig: Rig, trajectory: Trajectory, curves: Curves, motion: Motion, times: Times, timing: StanceTiming) -> Motion:
    """``motion`` (the trajectory at these times [s]) with each leg's time warped and the body bouncing if it runs."""
    phase = times * curves.frequency
    angles, position = motion.pose.angles.clone(), motion.pose.root_position.clone()
    for leg, middle in zip(_standing_legs(rig), timing.midstance, strict=True):
        late = timing.time_warp * torch.sin(2 * torch.pi * (phase - middle)) / (2 * torch.pi)
        joints = list(leg.joints)
        angles[:, joints] = trajectory.pose((phase - late) / curves.frequency).angles[:, joints]
    share = (timing.duty - timing.time_warp * math.sin(math.pi * timing.duty) / math.pi) / timing.duty
    position[:, 0] += (share - 1) * trajectory.speed * times
    if timing.flight:
        bounce = bounce_height(timing, float(curves.frequency), rig.gravity)
        at = (phase * len(bounce)).round().long() % len(bounce)
        position[:, 1] = position[:, 1].mean() + bounce[at]
    return replace(motion, pose=Pose(position, motion.pose.root_rotation, angles))


def _one_cycle(rig: Rig, trajectory: Trajectory, curves: Curves) -> tuple[Posed, float]:
    """Joints over one cycle, first and last frame the same, and the frames per second."""
    fps = CYCLE_SAMPLES * float(curves.frequency)
    with torch.no_grad():
        return forward_kinematics(rig.skeleton, trajectory.motion(CYCLE_SAMPLES + 1, fps).pose), fps


def _swing(rig: Rig, posed: Posed) -> float:
    """Peak-to-peak fore-aft swing of the foot that swings least [ℓ]."""
    along = posed.position[:, [leg.tip for leg in _standing_legs(rig)], 0] - posed.position[:, :1, 0]
    return float((along.amax(0) - along.amin(0)).min())


def _midstance(rig: Rig, trajectory: Trajectory, posed: Posed, fps: float) -> Float[Tensor, " leg"]:
    """Phase of each leg's mid-stance, estimated for both legs of a pair together: they differ by the phase offset."""
    stance = foot_motion(GroundContacts.of(rig), posed, fps, float(trajectory.speed)).stance
    legs, phase_offset = _standing_legs(rig), float(trajectory.phase_offset)
    late = torch.tensor([phase_offset if leg.side == "R" else 0.0 for leg in legs])
    phase = 2 * torch.pi * ((torch.arange(CYCLE_SAMPLES)[:, None] + 0.5) / CYCLE_SAMPLES - late)
    pairs = torch.tensor([[leg.order == other.order for other in legs] for leg in legs], dtype=phase.dtype)
    sine, cosine = ((pairs @ (stance * wave).sum(0)) for wave in (phase.sin(), phase.cos()))
    return torch.atan2(sine, cosine) / (2 * torch.pi) + late


def _standing_legs(rig: Rig) -> list[Limb]:
    return [leg for leg, sole in zip(rig.legs, rig.soles, strict=True) if len(sole)]
