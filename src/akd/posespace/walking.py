"""From keyframes to a clip through plausible poses only.

The string method: points on a path are pulled to what the denoiser takes them for, smoothed and spaced evenly, while
keyframes stay. The paper's way is here too: noise of both ends interpolated at constant variance, and decoded.
"""

import itertools
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.network import level

Way = Literal["string", "noise", "straight"]
Path = Float[Tensor, "frame joint 3"]
"""Poses one after the other."""
ROUNDS = 12
PULL, PULL_TIME = 0.5, 0.25
"""How far a point goes towards what the denoiser takes it for, and the noise at which it is asked."""
SMOOTH = 0.5
"""Share of a point's distance to the middle of its neighbours that is taken back each round."""


def walk(denoiser: Denoiser, keys: Poses, between: int, way: Way = "string") -> Path:
    """The keyframes with so many poses between each two of them, all in unit bends."""
    parts = [keys[:1]]
    for start, end in itertools.pairwise(keys):
        parts.append(WAYS[way](denoiser, start, end, between)[1:])
    return torch.cat(parts)


def straight(denoiser: Denoiser, start: Float[Tensor, "joint 3"], end: Float[Tensor, "joint 3"], between: int) -> Path:
    """Bends interpolated as they are."""
    return torch.lerp(start, end, torch.linspace(0, 1, between + 2)[:, None, None])


def string(denoiser: Denoiser, start: Float[Tensor, "joint 3"], end: Float[Tensor, "joint 3"], between: int) -> Path:
    """A path that lies in the plausible set."""
    path = straight(denoiser, start, end, between)
    alpha, sigma = level(torch.tensor(PULL_TIME))
    noise = denoiser.noise(1, 0)
    for _ in range(ROUNDS):
        inner = path[1:-1]
        # Opposite noises: what they have in common is about the pose.
        guesses = [denoiser.guess(alpha * inner + sigma * sign * noise, PULL_TIME) for sign in (1.0, -1.0)]
        pulled = inner + PULL * (sum(guesses) / 2 - inner)
        path = torch.cat((path[:1], pulled, path[-1:]))
        path = torch.cat((path[:1], path[1:-1] + SMOOTH * ((path[:-2] + path[2:]) / 2 - path[1:-1]), path[-1:]))
        path = evenly(path)
    return path


def noise_way(denoiser: Denoiser, start: Float[Tensor, "joint 3"], end: Float[Tensor, "joint 3"], between: int) -> Path:
    """``z(u) = ((1−u) z_A + u z_B) / √((1−u)² + u²)``, decoded; the ends are put back as they were."""
    first, last = denoiser.invert(torch.stack((start, end)))
    u = torch.linspace(0, 1, between + 2)[:, None, None]
    path = denoiser.decode(((1 - u) * first + u * last) / ((1 - u).square() + u.square()).sqrt())
    return torch.cat((start[None], path[1:-1], end[None]))


def evenly(path: Path) -> Path:
    """The same path with points at equal distances."""
    steps = (path[1:] - path[:-1]).flatten(1).norm(dim=1)
    along = torch.cat((steps.new_zeros(1), steps.cumsum(0)))
    at = torch.linspace(0, float(along[-1]), len(path))
    index = torch.searchsorted(along, at).clamp(1, len(path) - 1)
    share = (at - along[index - 1]) / (along[index] - along[index - 1]).clamp(min=1e-9)
    return torch.lerp(path[index - 1], path[index], share.clamp(0, 1)[:, None, None])


WAYS = {"string": string, "noise": noise_way, "straight": straight}
