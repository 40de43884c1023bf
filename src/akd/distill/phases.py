"""The order of the legs, found by comparing whole alternatives instead of by gradient.

Shifting a leg by half a cycle leads through motions that are worse than both ends, so gradients keep whatever order the legs
started with. Here the alternatives are filmed, and the one with the least error of the prior is kept, under the same noise.

The legs of a pair alternate evenly, or one leads the other by up to a quarter of a cycle, as in gallops, hops and jumps
(Hildebrand 1965). A trajectory adapts to its phase offset, so in phase or antiphase is decided between whole candidates (see
``loop``); here the lead is chosen for candidates in phase, and then the phase of every further pair of legs.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

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
def choose_phases(trajectory: Trajectory, error: TrajectoryError) -> None:
    """Choose which side leads, and the phase of every pair of legs behind the foremost."""
    if not trajectory.antiphase:
        errors = [_error_at_offset(trajectory, lead, error) for lead in LEAD_OFFSETS]
        trajectory.phase_offset.fill_(LEAD_OFFSETS[int(np.argmin(errors))])
    for channels in _hind_legs(trajectory.skeleton):
        _shift_legs(trajectory, channels, error)


def _error_at_offset(trajectory: Trajectory, phase_offset: float, error: TrajectoryError) -> float:
    trajectory.phase_offset.fill_(phase_offset)
    return error(trajectory)


def _shift_legs(trajectory: Trajectory, channels: Tensor, error: TrajectoryError) -> None:
    """Delay these channels by the shift with the least error."""
    curves, errors = trajectory.curves, list[float]()
    coefficients = curves.coefficients
    given = coefficients[:, channels].clone()
    for index in range(PHASE_BINS):
        coefficients[:, channels] = curves.delayed(given, index / PHASE_BINS)
        errors.append(error(trajectory))
    coefficients[:, channels] = curves.delayed(given, smoothed_minimum(torch.tensor(errors)))


def smoothed_minimum(errors: Float[Tensor, " shift"]) -> float:
    """Phase of the least error after low-pass filtering: single errors are noisy, and so would be their minimum."""
    waves = torch.fft.rfft(errors)
    waves[HARMONICS + 1 :] = 0
    return int(torch.fft.irfft(waves * UPSAMPLING, n=UPSAMPLING * len(errors)).argmin()) / (UPSAMPLING * len(errors))


def _hind_legs(skeleton: Skeleton) -> Iterator[Tensor]:
    """The channels of every pair of legs but the foremost: only relative phases matter."""
    legs = [limb for limb in skeleton.limbs if limb.kind == "leg"]
    for order in range(1, 1 + max((leg.order for leg in legs), default=0)):
        yield joint_channels(np.array([joint for leg in legs if leg.order == order for joint in leg.joints]))
