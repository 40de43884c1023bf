"""The rasteriser of gsplat, on CUDA. Written against gsplat ≥ 1.5; not run on hardware here."""

import importlib.util

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.render.camera import Camera
from akd.render.raster_reference import Layers


def gsplat_is_installed() -> bool:
    return importlib.util.find_spec("gsplat") is not None


def rasterize_gsplat(
    means: Float[Tensor, "#frame splat 3"], covariances: Float[Tensor, "#frame splat 3 3"],
    opacities: Float[Tensor, "#frame splat"], colors: Float[Tensor, "#frame splat 3"],
    camera: Camera, near: float, far: float,
) -> Layers:
    """Blended colour over black, transmittance, and depth Σ w z: gsplat with a batch of frames, one camera in each."""
    if not gsplat_is_installed():
        raise AkdError("the gsplat backend needs gsplat, which is not installed; pip install 'akd[cuda]' or use backend='cpu'")
    if not means.is_cuda:
        raise AkdError(f"gsplat needs tensors on a CUDA device and these are on {means.device}; move them or use backend='cpu'")
    return rasterize_with_gsplat(means, covariances, opacities, colors, camera, near, far)


def rasterize_with_gsplat(
    means: Float[Tensor, "#frame splat 3"], covariances: Float[Tensor, "#frame splat 3 3"],
    opacities: Float[Tensor, "#frame splat"], colors: Float[Tensor, "#frame splat 3"],
    camera: Camera, near: float, far: float,
) -> Layers:
    """The call itself, wherever the tensors live."""
    from gsplat import rasterization

    frames = camera.frame_count

    def per_frame(tensor: Tensor) -> Tensor:
        return tensor.expand(frames, *tensor.shape[1:]).contiguous()

    blended, alpha, _ = rasterization(
        means=per_frame(means),
        quats=None,
        scales=None,
        covars=per_frame(covariances),
        opacities=per_frame(opacities),
        colors=per_frame(colors)[:, None],
        viewmats=camera.world_to_camera[:, None].contiguous(),
        Ks=camera.intrinsics[:, None].contiguous(),
        width=camera.width,
        height=camera.height,
        near_plane=near,
        far_plane=far,
        packed=False,
        render_mode="RGB+D",
    )
    blended, alpha = torch.squeeze(blended, 1), alpha[:, 0, :, :, 0]
    return blended[..., :3], 1 - alpha, blended[..., 3]
