"""Who goes when: what a gradient cannot find, the prior is asked outright.

Moving a leg from one half of the stride to the other leads over motions that are worse than both, so the gradient keeps the
order in which legs happened to begin. Here whole alternatives are filmed, and the one is kept that surprises the prior least
under the same noise.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.distill.curves import Fourier
from akd.distill.dance import Dance, joint_channels
from akd.skeleton import Skeleton

SHIFTS = 8
"""Into so many parts a round is divided."""
EVEN = 0.125
"""Lags this near to one half of a round are meant to be that: gaits are symmetrical or clearly not (Hildebrand 1965)."""
HARMONICS = 2
"""A leg may fit well before or after another, or both: errors go up and down at most twice a round."""
FINENESS = 8
"""Shifts are told apart to this share of those that are tried."""

Opinion = Callable[[], float]
"""How bad the prior finds the motion as it is now."""


@torch.no_grad()
def choose_phases(dance: Dance, curves: Fourier, opinion: Opinion) -> None:
    """Shift the right side against the left, then one pair of legs after the other against the rest of the body."""
    own = dance.lag.clone()
    _choose(lambda shift: dance.lag.copy_(own + shift), opinion)
    dance.lag.copy_(evened(float(dance.lag)))
    for channels in _later_legs(dance.skeleton):
        _shift_legs(curves.coefficients, channels, opinion)


def evened(lag: float) -> Tensor:
    """A lag between 0 and 1, and one half if it is near that: feet of a pair are evenly spaced in time, or clearly are not."""
    lag %= 1.0
    return torch.tensor(0.5 if abs(lag - 0.5) < EVEN else lag)


def shifted(coefficients: Float[Tensor, "coefficient channel"], shift: float) -> Float[Tensor, "coefficient channel"]:
    """The same curves, later by a share of a round."""
    result = coefficients.clone()
    for order in range(1, (len(coefficients) + 1) // 2):
        turn = torch.tensor(2 * torch.pi * order * shift)
        cosine, sine = coefficients[2 * order - 1], coefficients[2 * order]
        result[2 * order - 1] = turn.cos() * cosine - turn.sin() * sine
        result[2 * order] = turn.sin() * cosine + turn.cos() * sine
    return result


def _shift_legs(coefficients: Tensor, channels: Tensor, opinion: Opinion) -> None:
    given = coefficients[:, channels].clone()
    _choose(lambda shift: coefficients.index_copy_(1, channels, shifted(given, shift)), opinion)


def _choose(apply: Callable[[float], object], opinion: Opinion) -> None:
    """Apply the shift that the prior finds best."""
    errors = []
    for index in range(SHIFTS):
        apply(index / SHIFTS)
        errors.append(opinion())
    apply(lowest(torch.tensor(errors)))


def lowest(errors: Float[Tensor, " shift"]) -> float:
    """Where in the round errors are least, by the smoothest curve through them: each of them is noisy, and so is the least."""
    waves = torch.fft.rfft(errors)
    waves[HARMONICS + 1 :] = 0
    return int(torch.fft.irfft(waves * FINENESS, n=FINENESS * len(errors)).argmin()) / (FINENESS * len(errors))


def _later_legs(skeleton: Skeleton) -> Iterator[Tensor]:
    """The channels of every pair of legs but the foremost: what counts is who goes before whom."""
    legs = [limb for limb in skeleton.limbs if limb.kind == "leg"]
    for order in range(1, 1 + max((leg.order for leg in legs), default=0)):
        yield joint_channels(np.array([joint for leg in legs if leg.order == order for joint in leg.joints]))
