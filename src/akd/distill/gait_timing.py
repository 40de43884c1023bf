"""How long feet stand. Small pictures hardly tell, but speed does.

A body that vaults over stiff legs needs v²/ℓ of its weight to stay on the ground, so animals of all sizes walk while the
Froude number v²/gℓ is below about one half, each foot standing for more than half of the time, and run above it, each foot
standing for less and the body flying in between (Alexander 1989). Legs of a pair that go together cannot walk at all.

The prior decides which legs move, how far and in which order, and has a say in whether that is a walk or a run. Tempo it does
not know: a walk that would be too fast for one is slowed down, a run that would be too slow is quickened. Then the legs' own
time is stretched where they stand or where they swing, and a running body rises and falls as its standing feet push it.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.distill.losses import GroundContacts, foot_motion
from akd.distill.trajectory import Fourier, Times, Trajectory
from akd.gait.measures import froude
from akd.motion import Motion
from akd.rig import GRAVITY, Rig
from akd.skeleton import Limb, Pose, Posed, forward_kinematics

RUN_FROUDE = 0.5
"""Froude number above which animals run …"""
LEAP_FROUDE = 0.04
"""… or, with both legs of a pair going together, have to throw themselves forward; slower, nothing is said about them."""
FASTEST_WALK_FROUDE, SLOWEST_RUN_FROUDE, SLOWEST_GALLOP_FROUDE = 0.4, 1.0, 1.5
"""A walk is slowed down to the first, a run quickened to the second and a gallop to the third, if it is beyond (animals change
from trot to gallop at 2 to 3, Alexander and Jayes 1983) …"""
MOST_TEMPO_CHANGE = 1.5
"""… but by no more than this factor."""
STRIDE_COEFFICIENT, STRIDE_EXPONENT = 2.4, 0.68
"""Animals that run on four legs take strides of the first [ℓ], times v/√(gℓ) to the power of the second (Alexander and Jayes
1983): longer ones belong to a higher speed …"""
MOST_QUICKENED = 1.25
"""… to which a run is quickened, but by no more than this factor."""
GALLOPING_LEGS = 4
"""Only on so many do animals gallop: who skips on two, runs, and pairs of more legs take turns at every speed (Hughes 1952,
Wilson 1966)."""
STROLL_FROUDE = 0.01
"""Froude number below which a body goes nowhere."""
WALK_DUTY, RUN_DUTY = 0.58, 0.38
"""A walk's foot stands for at least, a run's for at most this share of the time."""
SMALLEST_SWING = 0.2
"""Legs that swing less by themselves do not walk [ℓ], though standing feet under a moving body would make any legs do so."""
CYCLE_SAMPLES = 64
"""Moments of a round that are looked at."""
MOST_TIME_WARP = 0.7
"""Most by which a leg's time may run slower or faster than the clock."""


@dataclass(frozen=True)
class StanceTiming:
    """When legs do what they do."""

    duty: float
    """Share of the time for which a foot stands, as prompt."""
    slowness: float
    """How much slower than the clock a leg's time goes in the middle of its stance; negative: faster."""
    midstance: Float[Tensor, " leg"]
    """When each leg is in the middle of its stance, as a share of the round."""
    flies: bool
    """Does the body rise and fall as in a run?"""


def at_natural_tempo(rig: Rig, trajectory: Trajectory) -> Trajectory:
    """The same trajectory at a tempo that suits a walk, a run or a gallop, whichever it is.

    Bodies that go nowhere keep theirs, and so do hops and jumps: they are of any speed. Legs that hardly swing carry nobody: such
    a body stays where it is.
    """
    number = froude(float(trajectory.speed), rig.leg_metres)
    if not isinstance(trajectory.curves, Fourier) or not _standing_legs(rig):
        return trajectory
    if _swing(rig, _one_round(rig, trajectory, trajectory.curves)[0]) < SMALLEST_SWING:
        return trajectory.at_speed(0.0)
    if number < (STROLL_FROUDE if trajectory.antiphase else LEAP_FROUDE) or float(trajectory.phase_offset) == 0.0:
        return trajectory
    least = SLOWEST_RUN_FROUDE if trajectory.antiphase or len(rig.legs) < GALLOPING_LEGS else SLOWEST_GALLOP_FROUDE
    runs = _runs(trajectory, number)
    prompt = max(number, least) if runs else min(number, FASTEST_WALK_FROUDE)
    factor = min(max((prompt / number) ** 0.5, 1 / MOST_TEMPO_CHANGE), MOST_TEMPO_CHANGE)
    if runs and len(rig.legs) == GALLOPING_LEGS:
        factor = max(factor, min(_natural_speed(trajectory, trajectory.curves) / number**0.5, MOST_QUICKENED))
    return trajectory if factor == 1.0 else trajectory.quicker(factor)


def _natural_speed(trajectory: Trajectory, curves: Fourier) -> float:
    """At what speed animals on four legs take strides of this length [√(gℓ)]."""
    return float(trajectory.speed / curves.frequency / STRIDE_COEFFICIENT) ** (1 / STRIDE_EXPONENT)


def _runs(trajectory: Trajectory, number: float) -> bool:
    """Is this Froude number one of a run?"""
    return number * math.exp(float(trajectory.run_log_odds)) > RUN_FROUDE if trajectory.antiphase else number > LEAP_FROUDE


def stance_timing(rig: Rig, trajectory: Trajectory, curves: Fourier, duty: float, speed: float) -> StanceTiming | None:
    """The timing that suits a speed, if feet stand for a share ``duty`` of the time by themselves; None if that does."""
    number = froude(speed, rig.leg_metres)
    runs = _runs(trajectory, number)
    prompt = min(duty, RUN_DUTY) if runs else max(duty, WALK_DUTY)
    posed, fps = _one_round(rig, trajectory, curves)
    if not 0 < duty < 1 or _swing(rig, posed) < SMALLEST_SWING:
        return None
    if not runs and (not trajectory.antiphase or number < STROLL_FROUDE or prompt == duty):
        return None
    slowness = min(max(math.pi * (prompt - duty) / math.sin(math.pi * prompt), -MOST_TIME_WARP), MOST_TIME_WARP)
    return StanceTiming(prompt, slowness, _midstance(rig, trajectory, posed, fps), runs)


def scheduled_stance(rig: Rig, curves: Fourier, times: Times, timing: StanceTiming) -> Bool[np.ndarray, "time leg"]:
    """Which legs stand at which time."""
    phase = times * curves.frequency
    stands = np.zeros((len(times), len(rig.legs)), bool)
    with_soles = [number for number, sole in enumerate(rig.soles) if len(sole)]
    stands[:, with_soles] = ((phase[:, None] - timing.midstance + 0.5).remainder(1.0) - 0.5).abs().numpy() < timing.duty / 2
    return stands


def retimed(rig: Rig, trajectory: Trajectory, curves: Fourier, motion: Motion, times: Times, timing: StanceTiming) -> Motion:
    """The trajectory's motion at these times [s] with that timing."""
    phase = times * curves.frequency
    angles, position = motion.pose.angles.clone(), motion.pose.root_position.clone()
    for leg, middle in zip(_standing_legs(rig), timing.midstance, strict=True):
        late = timing.slowness * torch.sin(2 * torch.pi * (phase - middle)) / (2 * torch.pi)
        joints = list(leg.joints)
        angles[:, joints] = trajectory.pose((phase - late) / curves.frequency).angles[:, joints]
    share = (timing.duty - timing.slowness * math.sin(math.pi * timing.duty) / math.pi) / timing.duty
    position[:, 0] += (share - 1) * trajectory.speed * times
    if timing.flies:
        bounce = bounce_height(timing, float(curves.frequency), GRAVITY / rig.leg_metres)
        at = (phase * len(bounce)).round().long() % len(bounce)
        position[:, 1] = position[:, 1].mean() + bounce[at]
    return replace(motion, pose=Pose(position, motion.pose.root_rotation, angles))


def bounce_height(timing: StanceTiming, frequency: float, gravity: float) -> Float[Tensor, " moment"]:
    """How a body goes up and down in a round [ℓ], if every standing foot pushes with half a sine and nothing else holds it."""
    moments = torch.arange(CYCLE_SAMPLES * CYCLE_SAMPLES, dtype=torch.float64) / CYCLE_SAMPLES**2
    away = (moments[:, None] - timing.midstance + 0.5).remainder(1.0) - 0.5
    push = torch.where(away.abs() < timing.duty / 2, torch.cos(torch.pi * away / timing.duty), 0.0).sum(1)
    waves = torch.fft.rfft(gravity * (push / push.mean() - 1))
    order = torch.arange(len(waves)).clamp(min=1)
    waves = waves / -((2 * torch.pi * frequency * order) ** 2)
    waves[0] = 0
    return torch.fft.irfft(waves, n=len(moments)).float()


def _one_round(rig: Rig, trajectory: Trajectory, curves: Fourier) -> tuple[Posed, float]:
    """Where the joints are in a round, first and last moment the same, and the moments in a second."""
    fps = CYCLE_SAMPLES * float(curves.frequency)
    with torch.no_grad():
        return forward_kinematics(rig.skeleton, trajectory.motion(CYCLE_SAMPLES + 1, fps).pose), fps


def _swing(rig: Rig, posed: Posed) -> float:
    """How far the feet that swing least go to and fro under the body [ℓ]."""
    along = posed.position[:, [leg.tip for leg in _standing_legs(rig)], 0] - posed.position[:, :1, 0]
    return float((along.amax(0) - along.amin(0)).min())


def _midstance(rig: Rig, trajectory: Trajectory, posed: Posed, fps: float) -> Float[Tensor, " leg"]:
    """When each leg stands, both legs of a pair asked together: one follows the other by the trajectory's phase_offset."""
    stands = foot_motion(GroundContacts.of(rig), posed, fps, float(trajectory.speed)).stands
    legs, phase_offset = _standing_legs(rig), float(trajectory.phase_offset)
    late = torch.tensor([phase_offset if leg.side == "R" else 0.0 for leg in legs])
    phase = 2 * torch.pi * ((torch.arange(CYCLE_SAMPLES)[:, None] + 0.5) / CYCLE_SAMPLES - late)
    pairs = torch.tensor([[leg.order == other.order for other in legs] for leg in legs], dtype=phase.dtype)
    sine, cosine = ((pairs @ (stands * wave).sum(0)) for wave in (phase.sin(), phase.cos()))
    return torch.atan2(sine, cosine) / (2 * torch.pi) + late


def _standing_legs(rig: Rig) -> list[Limb]:
    return [leg for leg, sole in zip(rig.legs, rig.soles, strict=True) if len(sole)]
