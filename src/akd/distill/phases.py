"""Who goes when: what a gradient cannot find, the prior is asked outright.

Moving a leg from one half of the stride to the other leads over motions that are worse than both, so the gradient keeps the
order in which legs happened to begin. Here whole alternatives are filmed, and the one is kept that surprises the prior least
under the same noise.

Legs of a pair take turns evenly, or one leads the other by less than a quarter of a round, as in gallops, hops and jumps
(Hildebrand 1965). Motions adapt to the phase_offset they have, so that it is decided between whole motions that began with either (see
``loop``); here the lead is chosen of those that do not take turns, and then the time of every pair of legs.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.distill.trajectory import Trajectory, joint_channels
from akd.skeleton import Skeleton

PHASE_BINS = 8
"""Into so many parts a round is divided."""
LEAD_OFFSETS = (-0.25, -0.125, 0.0, 0.125, 0.25)
"""By how much of a round one leg may lead the other if they do not take turns."""
HARMONICS = 2
"""A leg may fit well before or after another, or both: errors go up and down at most twice a round."""
FINENESS = 8
"""Shifts are told apart to this share of those that are tried."""
TrajectoryError = Callable[[Trajectory], float]
"""How bad the prior finds a motion."""


@torch.no_grad()
def choose_phases(trajectory: Trajectory, opinion: TrajectoryError) -> None:
    """Choose which side leads, and shift one pair of legs after the other against the rest of the body."""
    if not trajectory.antiphase:
        errors = [_with_lag(trajectory, lead, opinion) for lead in LEAD_OFFSETS]
        trajectory.phase_offset.fill_(LEAD_OFFSETS[int(np.argmin(errors))])
    for channels in _later_legs(trajectory.skeleton):
        _shift_legs(trajectory, trajectory.curves.coefficients, channels, opinion)


def _with_lag(trajectory: Trajectory, phase_offset: float, opinion: TrajectoryError) -> float:
    trajectory.phase_offset.fill_(phase_offset)
    return opinion(trajectory)


def phase_shifted(coefficients: Float[Tensor, "coefficient channel"], shift: float) -> Float[Tensor, "coefficient channel"]:
    """The same curves, later by a share of a round."""
    result = coefficients.clone()
    for order in range(1, (len(coefficients) + 1) // 2):
        turn = torch.tensor(2 * torch.pi * order * shift)
        cosine, sine = coefficients[2 * order - 1], coefficients[2 * order]
        result[2 * order - 1] = turn.cos() * cosine - turn.sin() * sine
        result[2 * order] = turn.sin() * cosine + turn.cos() * sine
    return result


def _shift_legs(trajectory: Trajectory, coefficients: Tensor, channels: Tensor, opinion: TrajectoryError) -> None:
    """Shift these channels by what the prior finds best."""
    given, errors = coefficients[:, channels].clone(), []
    for index in range(PHASE_BINS):
        coefficients[:, channels] = phase_shifted(given, index / PHASE_BINS)
        errors.append(opinion(trajectory))
    coefficients[:, channels] = phase_shifted(given, smoothed_minimum(torch.tensor(errors)))


def smoothed_minimum(errors: Float[Tensor, " shift"]) -> float:
    """Where in the round errors are least, by the smoothest curve through them: each of them is noisy, and so is the least."""
    waves = torch.fft.rfft(errors)
    waves[HARMONICS + 1 :] = 0
    return int(torch.fft.irfft(waves * FINENESS, n=FINENESS * len(errors)).argmin()) / (FINENESS * len(errors))


def _later_legs(skeleton: Skeleton) -> Iterator[Tensor]:
    """The channels of every pair of legs but the foremost: what counts is who goes before whom."""
    legs = [limb for limb in skeleton.limbs if limb.kind == "leg"]
    for order in range(1, 1 + max((leg.order for leg in legs), default=0)):
        yield joint_channels(np.array([joint for leg in legs if leg.order == order for joint in leg.joints]))
