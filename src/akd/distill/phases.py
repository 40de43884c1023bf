"""The order of the legs, found by comparing whole alternatives instead of by gradient.

Shifting a leg by half a cycle leads through motions that are worse than both ends, so gradients keep whatever order the legs
started with. Here the alternatives are filmed, and the one with the least error of the prior is kept, under the same noise.

The legs of a pair alternate evenly, or one leads the other by up to a quarter of a cycle, as in gallops, hops and jumps
(Hildebrand 1965). A trajectory adapts to its phase offset, so in phase or antiphase is decided between whole candidates (see
``loop``); here the lead is chosen for candidates in phase, and then the phase of every further pair of legs.

A small prior hardly tells a walk from a trot: on a dog that was asked to walk, shifts an eighth of a cycle apart differed by
.02. Where the least error and that of the order which the sentence names are in a draw, the sentence decides.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.distill.assumptions import DRAW
from akd.distill.trajectory import Trajectory, joint_channels
from akd.skeleton import Skeleton

PHASE_BINS = 8
"""Phase shifts that are tried per pair of legs, evenly over the cycle."""
LEAD_OFFSETS = (-0.25, -0.125, 0.0, 0.125, 0.25)
"""Phase offsets between the legs of a pair that are tried for candidates in phase."""
HARMONICS = 2
"""Harmonics kept when errors are smoothed over the cycle: a leg may fit before another, after it, or both."""
UPSAMPLING = 8
"""Resolution of the smoothed minimum, per bin."""

TrajectoryError = Callable[[Trajectory], float]
"""The prior's error on a trajectory's film."""


@torch.no_grad()
def choose_phases(trajectory: Trajectory, error: TrajectoryError, expected: Sequence[float | None] = ()) -> None:
    """Choose which side leads, and the phase of every pair of legs behind the foremost.

    ``expected``: for each of those pairs the shift [cycles] to the order that the sentence names, which wins a draw.
    """
    if not trajectory.antiphase:
        errors = [_error_at_offset(trajectory, lead, error) for lead in LEAD_OFFSETS]
        trajectory.phase_offset.fill_(LEAD_OFFSETS[int(np.argmin(errors))])
    pairs = list(_hind_legs(trajectory.skeleton))
    for channels, shift in zip(pairs, expected or [None] * len(pairs), strict=True):
        _shift_legs(trajectory, channels, error, shift)


def _error_at_offset(trajectory: Trajectory, phase_offset: float, error: TrajectoryError) -> float:
    trajectory.phase_offset.fill_(phase_offset)
    return error(trajectory)


def _shift_legs(trajectory: Trajectory, channels: Tensor, error: TrajectoryError, expected: float | None) -> None:
    """Delay these channels by the shift with the least error, or by the expected one in a draw."""
    curves, errors = trajectory.curves, list[float]()
    coefficients = curves.coefficients
    given = coefficients[:, channels].clone()
    for index in range(PHASE_BINS):
        coefficients[:, channels] = curves.delayed(given, index / PHASE_BINS)
        errors.append(error(trajectory))
    coefficients[:, channels] = curves.delayed(given, best_shift(torch.tensor(errors), expected))


def best_shift(errors: Float[Tensor, " shift"], expected: float | None = None) -> float:
    """Phase of the least error after low-pass filtering, because single errors are noisy, and so would be their minimum.

    An expected phase is preferred if its own error is not larger by more than a draw.
    """
    waves = torch.fft.rfft(errors)
    waves[HARMONICS + 1 :] = 0
    smooth = torch.fft.irfft(waves * UPSAMPLING, n=UPSAMPLING * len(errors))
    least = int(smooth.argmin())
    if expected is not None and smooth[round(expected * len(smooth)) % len(smooth)] <= smooth[least] + DRAW:
        return expected
    return least / len(smooth)


def _hind_legs(skeleton: Skeleton) -> Iterator[Tensor]:
    """The channels of every pair of legs but the foremost: only relative phases matter."""
    legs = [limb for limb in skeleton.limbs if limb.kind == "leg"]
    for order in range(1, 1 + max((leg.order for leg in legs), default=0)):
        yield joint_channels(np.array([joint for leg in legs if leg.order == order for joint in leg.joints]))
