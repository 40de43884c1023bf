"""Walk, run or gallop: the duty factor and tempo that go with a speed.

A body that vaults over stiff legs needs v²/ℓ of its weight to stay on the ground, so animals of all sizes walk while the Froude
number v²/gℓ is below about one half, each foot standing for more than half of the cycle, and run above it, each foot standing
for less and the body flying in between (Alexander 1989). Legs that move in phase cannot walk at all.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

RUN_FROUDE = 0.5
"""Froude number above which alternating legs run …"""
LEAP_FROUDE = 0.04
"""… and above which legs in phase have to leap; slower ones are left alone."""
FASTEST_WALK_FROUDE, SLOWEST_RUN_FROUDE, SLOWEST_GALLOP_FROUDE = 0.4, 1.0, 1.5
"""A faster walk is slowed down to the first, a slower run sped up to the second and a slower gallop to the third (animals change
from trot to gallop at 2 to 3, Alexander and Jayes 1983) …"""
MAX_TEMPO_CHANGE = 1.5
"""… but by no more than this factor."""
STRIDE_COEFFICIENT, STRIDE_EXPONENT = 2.4, 0.68
"""Four-legged runners take strides of 2.4 (v/√(gℓ))^0.68 leg lengths (Alexander and Jayes 1983): a longer stride belongs to a
higher speed …"""
MAX_STRIDE_TEMPO = 1.25
"""… to which a run is sped up, but by no more than this factor."""
GALLOPING_LEGS = 4
"""Gallops exist on four legs only: two legs skip or run, and pairs of more legs alternate at every speed (Hughes 1952,
Wilson 1966)."""
STROLL_FROUDE = 0.01
"""Froude number below which a body stays in place."""
WALK_DUTY, RUN_DUTY = 0.58, 0.38
"""Smallest duty factor of a walk and largest of a run."""
MAX_TIME_WARP = 0.7
"""Most by which a leg's own time may run slower or faster than the clock."""
RECOVERY_HEIGHT = 0.35
"""How high the feet of a running body rise at least while they swing [ℓ]: legs are folded to be brought forward quickly. Eight
captured runs of people have .15 to .7, three artists' runs on four legs .2 to .75."""
FLIGHT_SAMPLES = 4096
"""Samples of a cycle at which the body's height is computed."""


@dataclass(frozen=True)
class StanceTiming:
    """When each leg stands in a cycle."""

    duty: float
    """Share of the cycle for which a foot should stand."""
    time_warp: float
    """How much slower than the clock a leg's own time runs at mid-stance; negative: faster."""
    midstance: Float[Tensor, " leg"]
    """Phase of each leg's mid-stance, as a share of the cycle."""
    flight: bool
    """Does the body bounce as in a run?"""


def is_run(froude: float, *, antiphase: bool, log_odds: float = 0.0) -> bool:
    """Does this Froude number belong to a run (or, for legs in phase, to a leap)? ``log_odds`` shifts the border."""
    return froude * math.exp(log_odds) > RUN_FROUDE if antiphase else froude > LEAP_FROUDE


def tempo_factor(froude: float, stride: float | Tensor, *, legs: int, antiphase: bool, run: bool) -> float:
    """By how much tempo and speed should change to suit the gait; ``stride`` is the stride length [ℓ]."""
    slowest = SLOWEST_RUN_FROUDE if antiphase or legs < GALLOPING_LEGS else SLOWEST_GALLOP_FROUDE
    target = max(froude, slowest) if run else min(froude, FASTEST_WALK_FROUDE)
    factor = min(max((target / froude) ** 0.5, 1 / MAX_TEMPO_CHANGE), MAX_TEMPO_CHANGE)
    if run and legs == GALLOPING_LEGS:
        natural_speed = float(stride / STRIDE_COEFFICIENT) ** (1 / STRIDE_EXPONENT)
        factor = max(factor, min(natural_speed / froude**0.5, MAX_STRIDE_TEMPO))
    return factor


def time_warp(duty: float, target: float) -> float:
    """The warp of a leg's time that turns a natural duty factor into the target's, within limits."""
    return min(max(math.pi * (target - duty) / math.sin(math.pi * target), -MAX_TIME_WARP), MAX_TIME_WARP)


def scheduled_stance(phase: Float[Tensor, " time"], timing: StanceTiming) -> Bool[Tensor, "time leg"]:
    """Which legs stand at these phases [cycles]."""
    return ((phase[:, None] - timing.midstance + 0.5).remainder(1.0) - 0.5).abs() < timing.duty / 2


def bounce_height(timing: StanceTiming, frequency: float, gravity: float) -> Float[Tensor, " sample"]:
    """Height of the body over a cycle [ℓ], mean zero, if every standing foot pushes with half a sine and nothing else does."""
    moments = torch.arange(FLIGHT_SAMPLES, dtype=torch.float64) / FLIGHT_SAMPLES
    away = (moments[:, None] - timing.midstance + 0.5).remainder(1.0) - 0.5
    push = torch.where(away.abs() < timing.duty / 2, torch.cos(torch.pi * away / timing.duty), 0.0).sum(1)
    waves = torch.fft.rfft(gravity * (push / push.mean() - 1))
    order = torch.arange(len(waves)).clamp(min=1)
    waves = waves / -((2 * torch.pi * frequency * order) ** 2)
    waves[0] = 0
    return torch.fft.irfft(waves, n=len(moments)).float()


def recovery_lift(phase: Float[Tensor, " time"], timing: StanceTiming) -> Float[Tensor, "time leg"]:
    """How high each foot of a run is lifted at these phases [cycles], from 0 in stance to 1 after a third of the swing, when the
    leg is still behind the body."""
    swing = (phase[:, None] - timing.midstance - timing.duty / 2).remainder(1.0) / (1 - timing.duty)
    inside = swing.clamp(max=1.0)  # later phases are those of the stance
    return inside**2 * (1 - inside) ** 4 * (3**6 / 2**4)
