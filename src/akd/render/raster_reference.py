"""The reference rasteriser in plain torch: slow, exact, and the oracle of the fast ones.

Gaussians are projected as gsplat does (EWA splatting, Zwicker et al.) and blended exactly, pixel by pixel.

Front to back, α_i = min(0.999, opacity · exp(−σ)) and w_i = α_i Π_{j<i} (1 − α_j). Two rules make it finite work:
α below 1/255 counts as nothing, and a pixel is finished before the splat that would leave less than 1/10000 of it.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from akd.render.camera import Camera

BLUR = 0.3
"""Added to both picture variances [px²], so that no splat is thinner than a pixel."""
JACOBIAN_MARGIN = 0.3
"""How far outside the field of view, in half pictures, the Jacobian is still taken at the splat itself."""
MIN_ALPHA = 1 / 255
"""α below this is not blended."""
MAX_ALPHA = 0.999
"""α above this is cut, so that something always shines through and gradients stay finite."""
MIN_TRANSMITTANCE = 1e-4
"""A pixel ends before its transmittance would fall to this."""
PAIRS_AT_ONCE = 1 << 22
"""Splat–pixel pairs held in memory together; pictures are cut into bands of rows to keep to it."""
Layers = tuple[Float[Tensor, "frame height width 3"], Float[Tensor, "frame height width"], Float[Tensor, "frame height width"]]


@dataclass(frozen=True, eq=False)
class Projected:
    """Splats as ellipses in each frame's picture."""

    means: Float[Tensor, "frame splat 2"]
    """Centres [px]."""
    conics: Float[Tensor, "frame splat 3"]
    """Inverse covariance (xx, xy, yy) [1/px²]."""
    depths: Float[Tensor, "frame splat"]
    """Distance along the viewing axis."""
    visible: Bool[Tensor, "frame splat"]
    """Between the near and far plane, and with an area; the other fields are meaningless (but finite) where false."""


def project(
    means: Float[Tensor, "#frame splat 3"], covariances: Float[Tensor, "#frame splat 3 3"], camera: Camera,
    near: float, far: float,
) -> Projected:
    """Centres by perspective, covariances by its Jacobian: Σ' = J R Σ Rᵀ Jᵀ + blur."""
    rotation = camera.world_to_camera[:, None, :3, :3]
    k = camera.intrinsics[:, None]
    seen = means @ camera.world_to_camera[:, :3, :3].transpose(-1, -2) + camera.world_to_camera[:, None, :3, 3]
    visible = (seen[..., 2] >= near) & (seen[..., 2] <= far)
    # Splats behind the camera would divide by zero; they are dropped, so any harmless depth will do.
    z = torch.where(visible, seen[..., 2], 1.0)
    slope = seen[..., :2] / z[..., None]
    focal, middle = torch.stack((k[..., 0, 0], k[..., 1, 1]), -1), k[..., :2, 2]

    to_picture = _jacobian(slope, z, focal, middle, camera) @ rotation
    flat = to_picture @ covariances @ to_picture.transpose(-1, -2)
    xx, xy, yy = flat[..., 0, 0] + BLUR, (flat[..., 0, 1] + flat[..., 1, 0]) / 2, flat[..., 1, 1] + BLUR
    determinant = xx * yy - xy * xy
    visible = visible & (determinant > 0)
    conics = torch.stack((yy, -xy, xx), -1) / torch.where(determinant > 0, determinant, 1.0)[..., None]
    return Projected(slope * focal + middle, conics, seen[..., 2], visible)


def _jacobian(slope: Tensor, z: Tensor, focal: Tensor, middle: Tensor, camera: Camera) -> Tensor:
    """Of the perspective map. Far outside the picture the linearisation is useless, so the slope is held at its rim."""
    size = slope.new_tensor((camera.width, camera.height))
    margin = JACOBIAN_MARGIN * 0.5 * size / focal
    held = torch.clamp(slope, -(middle / focal + margin), (size - middle) / focal + margin)
    (fx, fy), (sx, sy), zero = (focal / z[..., None]).unbind(-1), held.unbind(-1), torch.zeros_like(z)
    return torch.stack((torch.stack((fx, zero, -fx * sx), -1), torch.stack((zero, fy, -fy * sy), -1)), -2)


def rasterize_reference(
    means: Float[Tensor, "#frame splat 3"], covariances: Float[Tensor, "#frame splat 3 3"],
    opacities: Float[Tensor, "#frame splat"], colors: Float[Tensor, "#frame splat 3"],
    camera: Camera, near: float, far: float,
) -> Layers:
    """Blended colour over black, transmittance, and depth Σ w z."""
    flat = project(means, covariances, camera, near, far)
    opacities = torch.where(flat.visible, opacities, 0.0)
    colors = colors.expand(camera.frame_count, -1, -1)
    frames = [_frame(flat, opacities[f], colors[f], f, camera) for f in range(camera.frame_count)]
    blended, transmittance = (torch.stack(layer) for layer in zip(*frames, strict=True))
    return blended[..., :3], transmittance, blended[..., 3]


def _frame(flat: Projected, opacities: Tensor, colors: Tensor, frame: int, camera: Camera) -> tuple[Tensor, Tensor]:
    """One picture: colour with depth as the fourth channel, and transmittance."""
    order = torch.argsort(flat.depths[frame], stable=True)
    order = order[opacities[order] >= MIN_ALPHA]
    values = torch.cat((colors, flat.depths[frame][:, None]), -1)[order]
    splats = flat.means[frame][order], flat.conics[frame][order], opacities[order], values
    rows = max(1, PAIRS_AT_ONCE // (max(len(order), 1) * camera.width))
    bands = []
    for top in range(0, camera.height, rows):
        pixels = _pixel_centres(top, min(top + rows, camera.height), camera.width, values)
        # Without this a large picture would keep every band's pairs until the backward pass.
        bands.append(checkpoint(_blend, pixels, *splats, use_reentrant=False))
    blended, transmittance = (torch.cat(layer) for layer in zip(*bands, strict=True))
    return blended.unflatten(0, (camera.height, -1)), transmittance.unflatten(0, (camera.height, -1))


def _blend(
    pixels: Float[Tensor, "pixel 2"], means: Float[Tensor, "splat 2"], conics: Float[Tensor, "splat 3"],
    opacities: Float[Tensor, " splat"], values: Float[Tensor, "splat channel"],
) -> tuple[Float[Tensor, "pixel channel"], Float[Tensor, " pixel"]]:
    """Splats, already in depth order, over pixels."""
    dx, dy = (pixels[:, None] - means).unbind(-1)
    sigma = 0.5 * (conics[:, 0] * dx * dx + conics[:, 2] * dy * dy) + conics[:, 1] * dx * dy
    alpha = torch.clamp(opacities * torch.exp(-sigma), max=MAX_ALPHA)
    alpha = torch.where((alpha >= MIN_ALPHA) & (sigma >= 0), alpha, 0.0)
    unfinished = torch.cumprod(1 - alpha.detach(), 1) > MIN_TRANSMITTANCE
    alpha = torch.where(unfinished, alpha, 0.0)
    through = torch.cat((alpha.new_ones(len(pixels), 1), torch.cumprod(1 - alpha, 1)), 1)
    return (alpha * through[:, :-1]) @ values, through[:, -1]


def _pixel_centres(top: int, bottom: int, width: int, like: Tensor) -> Tensor:
    y = torch.arange(top, bottom, dtype=like.dtype, device=like.device) + 0.5
    x = torch.arange(width, dtype=like.dtype, device=like.device) + 0.5
    return torch.stack(torch.meshgrid(x, y, indexing="xy"), -1).reshape(-1, 2)
