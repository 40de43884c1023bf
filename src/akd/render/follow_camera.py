"""Cameras that keep a character in the picture: fitted to its size, following it smoothly."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.render.camera import Camera, look_at


class View(NamedTuple):
    """From where a character is filmed, relative to itself."""

    azimuth: float
    """0 = from the front, 90 = from its right, 180 = from behind [degrees]."""
    elevation: float
    """Above the horizon [degrees]."""
    distance: float
    """1 = the sphere around the character at rest just fits the picture."""


def bounding_sphere(points: Float[Tensor, "point 3"]) -> tuple[Float[Tensor, "3"], float]:
    """Middle of the bounding box, and how far the farthest point is from there."""
    middle = (points.amin(0) + points.amax(0)) / 2
    return middle, float((points - middle).norm(dim=-1).max())


def fitting_distance(radius: float, fov: float, width: int, height: int) -> float:
    """How far away a sphere just touches the nearer pair of the picture's edges; ``fov`` is the full vertical angle [degrees]."""
    half = math.radians(fov) / 2
    half = min(half, math.atan(math.tan(half) * width / height))
    return radius / math.sin(half)


@torch.no_grad()
def smooth_path(points: Float[Tensor, "frame 3"], fps: float, seconds: float) -> Float[Tensor, "frame 3"]:
    """A path without its wobble: a Gaussian mean over time, ``seconds`` its standard deviation.

    Only what differs from the best constant speed is averaged, mirrored at both ends, so that constant speed stays
    constant speed and the ends are as smooth as the middle.
    """
    sigma = seconds * fps
    reach = min(math.ceil(3 * sigma), len(points) - 1)
    if reach < 1:
        return points.detach()
    time = torch.linspace(-1, 1, len(points), dtype=points.dtype, device=points.device)[:, None]
    steady = points.mean(0) + time * (time * points).sum(0) / time.square().sum()
    rest = points - steady
    steps = torch.arange(-reach, reach + 1, dtype=points.dtype, device=points.device)
    kernel = torch.exp(-0.5 * (steps / sigma) ** 2)
    windows = torch.cat((rest[1 : reach + 1].flip(0), rest, rest[-reach - 1 : -1].flip(0))).unfold(0, 2 * reach + 1, 1)
    return steady + windows @ (kernel / kernel.sum())


@torch.no_grad()
def following_camera(
    path: Float[Tensor, "frame 3"], view: View, *, distance: float, width: int, height: int, fov: float
) -> Camera:
    """A camera per frame that looks at the path from one side, ``distance`` away [ℓ]."""
    azimuth, elevation = math.radians(view.azimuth), math.radians(view.elevation)
    towards = path.new_tensor(
        (math.cos(elevation) * math.cos(azimuth), math.sin(elevation), math.cos(elevation) * math.sin(azimuth))
    )
    return look_at(path + distance * towards, path, width=width, height=height, fov_y=math.radians(fov))
