"""The checkerboard the character stands on, ray cast as the background layer.

A checkerboard is finer than a pixel long before the horizon, and point samples of it flicker whenever the camera
moves. So every pixel gets the exact mean of the board over the box around the pixel's own footprint on the ground; far
away that is the mean of the two colours, which then fades into the background. The layer depends on the camera and the
shadow only, and nothing is differentiated through it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.errors import AkdError
from akd.render.camera import Camera
from akd.render.looks import Color

HORIZON = 1e-4
"""Sine of the angle below the horizon from which on a ray counts as meeting the ground."""

Light = Callable[[Float[Tensor, "frame height width 2"]], Float[Tensor, "frame height width"]]
"""How bright the ground is at points (x, z), 1 in full light."""


@dataclass(frozen=True)
class Ground:
    """How the ground looks."""

    colors: tuple[Color, Color] = ((0.47, 0.48, 0.50), (0.56, 0.57, 0.59))
    tile: float = 1.5
    """Side of a square [ℓ]."""
    fade: float = 2.2
    """How far away the ground is lost in the background, in distances between camera and character."""

    def __post_init__(self) -> None:
        if not self.tile > 0 or not self.fade > 0:
            raise AkdError(f"Tile size and fade of the ground must be positive, not {self.tile} and {self.fade}.")


@torch.no_grad()
def ground_layer(
    camera: Camera, ground: Ground, background: Color, fade_length: float, light: Light | None = None
) -> Float[Tensor, "frame height width 3"]:
    """What the camera sees where there is no character. ``fade_length`` is in leg lengths; ``light`` brings the shadow."""
    point, footprint, hits = ground_points(camera)
    first, second, plain = (point.new_tensor(color) for color in (*ground.colors, background))
    board = first + (second - first) * checker_mean(point / ground.tile, footprint / ground.tile)[..., None]
    if light is not None:
        board = board * light(point)[..., None]
    away = (point - camera.centers[:, None, None, [0, 2]]).norm(dim=-1)
    # The fourth power keeps the ground near the character untouched and still ends without an edge.
    visible = torch.where(hits, torch.exp(-((away / fade_length) ** 4)), 0.0)[..., None]
    return plain + (board - plain) * visible


def ground_points(
    camera: Camera,
) -> tuple[Float[Tensor, "frame height width 2"], Float[Tensor, "frame height width 2"], Bool[Tensor, "frame height width"]]:
    """Where the ray through each pixel meets y = 0, as (x, z); the box around the pixel's footprint there; whether it does."""
    rotation, k = camera.world_to_camera[:, :3, :3], camera.intrinsics
    y, x = torch.meshgrid(
        torch.arange(camera.height, dtype=k.dtype, device=k.device) + 0.5,
        torch.arange(camera.width, dtype=k.dtype, device=k.device) + 0.5,
        indexing="ij",
    )
    # Unlike unit vectors these directions are linear in the pixel, so the footprint has a closed form.
    across, down = rotation[:, 0] / k[:, :1, 0], rotation[:, 1] / k[:, 1:2, 1]
    middle = rotation[:, 2] - across * k[:, :1, 2] - down * k[:, 1:2, 2]
    across, down, middle = (v[:, None, None, :] for v in (across, down, middle))
    direction = middle + across * x[..., None] + down * y[..., None]
    fall = direction[..., 1:2].clamp(max=-HORIZON)
    reach = -camera.centers[:, None, None, 1:2] / fall
    flat = [0, 2]
    point = camera.centers[:, None, None, flat] + reach * direction[..., flat]
    # d(point)/d(pixel), from point = centre + reach · direction and reach = −height / fall.
    edges = (reach * (step[..., flat] - direction[..., flat] * step[..., 1:2] / fall) for step in (across, down))
    footprint = sum((edge.abs() for edge in edges), torch.zeros_like(point))
    return point, footprint, direction[..., 1] < -HORIZON


def checker_mean(point: Float[Tensor, "*batch 2"], footprint: Float[Tensor, "*batch 2"]) -> Float[Tensor, "*batch"]:
    """Mean over a box of the checkerboard of unit squares that is 1 where ⌊x⌋ + ⌊z⌋ is even and 0 elsewhere.

    The board is ½ + ½ s(x) s(z) with the square wave s = ±1, so its mean over a box is a product of two means, and the
    mean of s is a difference of its integral, a triangle wave.
    """
    width = footprint.clamp(min=1e-4)
    wave = (_triangle(point + width / 2) - _triangle(point - width / 2)) / width
    return 0.5 + 0.5 * wave[..., 0] * wave[..., 1]


def _triangle(x: Tensor) -> Tensor:
    """Integral of the square wave that is +1 on [0, 1), −1 on [1, 2) and so on."""
    return 1 - (torch.remainder(x, 2) - 1).abs()
