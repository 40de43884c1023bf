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
from akd.posespace.rig_batch import batch_kinematics

PathMethod = Literal["string", "noise", "straight"]
Easing = Literal["ends", "keys", "none"]
"""Where a clip comes to rest: at its two ends, at every keyframe, or nowhere."""
Path = Float[Tensor, "frame joint 3"]
"""Poses one after the other."""
STRING_ITERATIONS = 12
"""Iterations of the string method."""
DENOISING_STEP, DENOISING_TIME = 0.5, 0.25
"""Share of the way to its denoised pose that a point goes in one iteration, and the noise time of the denoising."""
TURN_SHARE = 0.02
"""How much a turn by one spread counts along a path, beside the way that joints go [ℓ]."""
MAX_DETOUR = 1.9
"""Largest step of a path by the string method, in mean steps of the straight one: a walk that goes further hurries."""
DETOUR_SHARES = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1)
"""Shares of the detour that are tried, until the path is short enough."""
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
        path = evenly_spaced(denoiser, path)
    return _without_long_detours(denoiser, path)


def _without_long_detours(denoiser: Denoiser, path: Path) -> Path:
    """The path, brought towards the straight one as far as is needed for its steps not to be much larger than that one's."""
    straight = evenly_spaced(denoiser, straight_path(denoiser, path[0], path[-1], len(path) - 2))
    allowed = MAX_DETOUR * float(_moved(denoiser, straight).mean())
    for share in DETOUR_SHARES:
        mixed = evenly_spaced(denoiser, torch.lerp(straight, path, share))
        if float(_moved(denoiser, mixed).max()) <= allowed:
            return mixed
    return straight


def noise_path(denoiser: Denoiser, start: Float[Tensor, "joint 3"], end: Float[Tensor, "joint 3"], between: int) -> Path:
    """``z(u) = ((1−u) z_A + u z_B) / √((1−u)² + u²)``, decoded; the ends are put back as they were."""
    first, last = denoiser.invert(torch.stack((start, end)))
    u = torch.linspace(0, 1, between + 2)[:, None, None]
    path = denoiser.decode(((1 - u) * first + u * last) / ((1 - u).square() + u.square()).sqrt())
    return torch.cat((start[None], path[1:-1], end[None]))


def evenly_spaced(denoiser: Denoiser, path: Path) -> Path:
    """The same path with points at equal distances along it, by how far joints go through space."""
    turned = (path[1:] - path[:-1]).square().mean((-1, -2)).sqrt()
    steps = _moved(denoiser, path) + TURN_SHARE * turned  # joints that only turn (twist, ends of limbs) count a little, too
    along = torch.cat((steps.new_zeros(1), steps.cumsum(0)))
    return points_along(path, along, torch.linspace(0, float(along[-1]), len(path)))


def _moved(denoiser: Denoiser, path: Path) -> Float[Tensor, " step"]:
    """How far joints go from each point of a path to the next, on average [ℓ]."""
    places = batch_kinematics(denoiser.rig.rigs, denoiser.to_vectors(path)[None])[1][0]
    return (places[1:] - places[:-1]).norm(dim=-1).mean(-1)


def points_along(
    path: Float[Tensor, "point joint 3"], along: Float[Tensor, " point"], at: Float[Tensor, " frame"]
) -> Float[Tensor, "frame joint 3"]:
    """Points of a path at given lengths, between its own, which are at ``along``."""
    index = torch.searchsorted(along, at).clamp(1, len(path) - 1)
    share = (at - along[index - 1]) / (along[index] - along[index - 1]).clamp(min=1e-9)
    return torch.lerp(path[index - 1], path[index], share.clamp(0, 1)[:, None, None])


def eased_path(path: Path, parts: int, each: int, easing: Easing) -> Float[Tensor, "eased joint 3"]:
    """The frames of a path of so many parts between keyframes, ``each`` frames a part; keyframes are met in any case."""
    time = torch.linspace(0, parts, parts * each + 1)
    if easing == "keys":
        whole = time.floor().clamp(max=parts - 1)
        time = whole + _ease(time - whole)
    elif easing == "ends":
        time = _eased_ends(time, parts)
    points = (len(path) - 1) // parts
    return points_along(path, torch.arange(len(path)) / points, time)


def _eased_ends(time: Float[Tensor, " frame"], parts: int) -> Float[Tensor, " frame"]:
    """Time that sets out slowly within the first part and comes to rest within the last."""
    if parts == 1:
        return _ease(time)
    first, last = time < 1, time > parts - 1
    start = time.square() * (2 - time)  # speed 0 at 0 and 1 at 1
    back = parts - time
    return torch.where(first, start, torch.where(last, parts - back.square() * (2 - back), time))


def _ease(u: Float[Tensor, " frame"]) -> Float[Tensor, " frame"]:
    """From 0 to 1, at rest at both ends."""
    return u.square() * (3 - 2 * u)


PATH_METHODS = {"string": string_path, "noise": noise_path, "straight": straight_path}
