"""Paths between keyframes.

The *string method* keeps a path plausible: its points are moved towards their denoised poses, smoothed and spaced evenly, while
keyframes stay. For comparison there are the method of ViPS, noise of both ends interpolated at constant variance and decoded, and
straight interpolation.
"""

import itertools
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.network import noise_level

PathMethod = Literal["string", "noise", "straight"]
Path = Float[Tensor, "frame joint 3"]
"""Poses one after the other."""
STRING_ITERATIONS = 12
"""Iterations of the string method."""
DENOISING_STEP, DENOISING_TIME = 0.5, 0.25
"""Share of the way to its denoised pose that a point goes in one iteration, and the noise time of the denoising."""
SMOOTHING = 0.5
"""Share of the way to the mean of its neighbours that a point goes in one iteration."""


def keyframe_path(denoiser: Denoiser, keys: Poses, between: int, method: PathMethod = "string") -> Path:
    """The keyframes with so many poses between each two of them, all normalised."""
    parts = [keys[:1]]
    for start, end in itertools.pairwise(keys):
        parts.append(PATH_METHODS[method](denoiser, start, end, between)[1:])
    return torch.cat(parts)


def straight_path(denoiser: Denoiser, start: Float[Tensor, "joint 3"], end: Float[Tensor, "joint 3"], between: int) -> Path:
    """Normalised vectors interpolated linearly."""
    return torch.lerp(start, end, torch.linspace(0, 1, between + 2)[:, None, None])


def string_path(denoiser: Denoiser, start: Float[Tensor, "joint 3"], end: Float[Tensor, "joint 3"], between: int) -> Path:
    """A path through plausible poses, by the string method."""
    path = straight_path(denoiser, start, end, between)
    alpha, sigma = noise_level(torch.tensor(DENOISING_TIME))
    noise = denoiser.noise(1, 0)
    for _ in range(STRING_ITERATIONS):
        inner = path[1:-1]
        # Noise of both signs: what the two denoised poses have in common is due to the pose.
        denoised = [denoiser.denoise(alpha * inner + sigma * sign * noise, DENOISING_TIME) for sign in (1.0, -1.0)]
        moved = inner + DENOISING_STEP * (sum(denoised) / 2 - inner)
        path = torch.cat((path[:1], moved, path[-1:]))
        path = torch.cat((path[:1], path[1:-1] + SMOOTHING * ((path[:-2] + path[2:]) / 2 - path[1:-1]), path[-1:]))
        path = evenly_spaced(path)
    return path


def noise_path(denoiser: Denoiser, start: Float[Tensor, "joint 3"], end: Float[Tensor, "joint 3"], between: int) -> Path:
    """``z(u) = ((1−u) z_A + u z_B) / √((1−u)² + u²)``, decoded; the ends are put back as they were."""
    first, last = denoiser.invert(torch.stack((start, end)))
    u = torch.linspace(0, 1, between + 2)[:, None, None]
    path = denoiser.decode(((1 - u) * first + u * last) / ((1 - u).square() + u.square()).sqrt())
    return torch.cat((start[None], path[1:-1], end[None]))


def evenly_spaced(path: Path) -> Path:
    """The same path with points at equal distances along it."""
    steps = (path[1:] - path[:-1]).flatten(1).norm(dim=1)
    along = torch.cat((steps.new_zeros(1), steps.cumsum(0)))
    at = torch.linspace(0, float(along[-1]), len(path))
    index = torch.searchsorted(along, at).clamp(1, len(path) - 1)
    share = (at - along[index - 1]) / (along[index] - along[index - 1]).clamp(min=1e-9)
    return torch.lerp(path[index - 1], path[index], share.clamp(0, 1)[:, None, None])


PATH_METHODS = {"string": string_path, "noise": noise_path, "straight": straight_path}
