"""Gaussians in space to Gaussians in the picture, as gsplat projects them (Zwicker et al., EWA splatting)."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.render.camera import Camera

BLUR = 0.3
"""Added to both picture variances [px²], so that no splat is thinner than a pixel."""
MARGIN = 0.3
"""How far outside the field of view, in half pictures, the Jacobian is still taken at the splat itself."""


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
    margin = MARGIN * 0.5 * size / focal
    held = torch.clamp(slope, -(middle / focal + margin), (size - middle) / focal + margin)
    (fx, fy), (sx, sy), zero = (focal / z[..., None]).unbind(-1), held.unbind(-1), torch.zeros_like(z)
    return torch.stack((torch.stack((fx, zero, -fx * sx), -1), torch.stack((zero, fy, -fy * sy), -1)), -2)
