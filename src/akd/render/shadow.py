"""The character's shadow on the ground, as if all light came from straight above.

``s(P) = 1 − s_max exp(−β d(P))`` with d(P) the height of the character above the ground point P. The heights are seen
by a camera far below the ground that looks up: it draws every splat in the colour exp(−β · its height), so one blended
picture holds exp(−β d) times coverage, with soft edges and without a search along rays.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.render.camera import Camera
from akd.render.ground import Light
from akd.render.rasterize import rasterize

FAR_BELOW = 50.0
"""Depth of the shadow camera in half widths of its picture: far enough for rays that are almost parallel."""
MARGIN = 1.15
"""Half width of the shadow's picture over that of the character."""


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
    middle, half = (low + high) / 2, (high - low).max() / 2 * MARGIN
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
    depth = FAR_BELOW * half
    eye = torch.stack((middle[:, 0], torch.full_like(middle[:, 0], -depth), middle[:, 1]), -1)
    pose = torch.eye(4, dtype=middle.dtype, device=middle.device).repeat(len(middle), 1, 1)
    pose[:, :3, :3] = rotation
    pose[:, :3, 3] = -eye @ rotation.T
    focal = FAR_BELOW * size / 2
    intrinsics = middle.new_tensor(((focal, 0.0, size / 2), (0.0, focal, size / 2), (0.0, 0.0, 1.0)))
    return Camera(pose, intrinsics.expand(len(middle), 3, 3), size, size)
