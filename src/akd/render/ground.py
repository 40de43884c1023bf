"""The ground and the character's shadow on it: a checkerboard, ray cast as the background layer.

A checkerboard is finer than a pixel long before the horizon, and point samples of it flicker whenever the camera moves. So every
pixel gets the exact mean of the board over the box around the pixel's own footprint on the ground; far away that is the mean of
the two colours, which then fades into the background.

The shadow is that of light from straight above, ``s(P) = 1 − s_max exp(−β d(P))`` with d(P) the height of the character above the
ground point P. A camera far below the ground looks up and draws every splat in the colour exp(−β · its height), so one blended
picture holds exp(−β d) times coverage, with soft edges and without a search along rays.

Both depend on the camera and the splats only through values that are not differentiated.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.errors import AkdError
from akd.render.camera import Camera
from akd.render.looks import Color
from akd.render.rasterize import rasterize

HORIZON = 1e-4
"""Sine of the angle below the horizon from which on a ray counts as meeting the ground."""
Light = Callable[[Float[Tensor, "frame height width 2"]], Float[Tensor, "frame height width"]]
"""How bright the ground is at points (x, z), 1 in full light."""
SHADOW_CAMERA_DEPTH = 50.0
"""Depth of the shadow camera in half widths of its picture: far enough for rays that are almost parallel."""
SHADOW_MARGIN = 1.15
"""Half width of the shadow's picture over that of the character."""


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


@dataclass(frozen=True)
class Shadow:
    """How dark a shadow is."""

    strength: float = 0.45
    """s_max: how much light is lost under a body that touches the ground, 0 to 1."""
    decay: float = 0.7
    """β: how fast the shadow weakens with height [1/ℓ]."""
    size: int = 64
    """Side of the picture the shadow is kept in [px]."""

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1 or self.decay < 0 or self.size < 1:
            raise AkdError(f"A shadow needs 0 ≤ strength ≤ 1, decay ≥ 0 and size ≥ 1, not {self}.")


@torch.no_grad()
def cast_shadow(
    means: Float[Tensor, "frame splat 3"], covariances: Float[Tensor, "frame splat 3 3"],
    opacities: Float[Tensor, "frame splat"], shadow: Shadow,
) -> Light:
    """The light that splats leave on the ground, frame by frame."""
    low, high = means[..., [0, 2]].amin(1), means[..., [0, 2]].amax(1)
    middle, half = (low + high) / 2, (high - low).max() / 2 * SHADOW_MARGIN
    darkness = torch.exp(-shadow.decay * means[..., 1:2].clamp(min=0)).expand_as(means)
    camera = _camera_below(middle, float(half), shadow.size)
    picture = rasterize(means, covariances, opacities, darkness, camera).image[..., 0]

    def light(point: Float[Tensor, "frame height width 2"]) -> Float[Tensor, "frame height width"]:
        place = (point - middle[:, None, None]) / half * point.new_tensor((1.0, -1.0))
        dark = torch.nn.functional.grid_sample(picture[:, None], place, align_corners=False).squeeze(1)
        return 1 - shadow.strength * dark

    return light


def _camera_below(middle: Float[Tensor, "frame 2"], half: float, size: int) -> Camera:
    """Looks straight up; +x to the right and +z upwards in the picture, which is 2 · half wide at the ground."""
    rotation = middle.new_tensor(((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)))
    depth = SHADOW_CAMERA_DEPTH * half
    eye = torch.stack((middle[:, 0], torch.full_like(middle[:, 0], -depth), middle[:, 1]), -1)
    pose = torch.eye(4, dtype=middle.dtype, device=middle.device).repeat(len(middle), 1, 1)
    pose[:, :3, :3] = rotation
    pose[:, :3, 3] = -eye @ rotation.T
    focal = SHADOW_CAMERA_DEPTH * size / 2
    intrinsics = middle.new_tensor(((focal, 0.0, size / 2), (0.0, focal, size / 2), (0.0, 0.0, 1.0)))
    return Camera(pose, intrinsics.expand(len(middle), 3, 3), size, size)
