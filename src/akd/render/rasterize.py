"""The interface of the rasteriser: from Gaussians and cameras to pictures, differentiable in everything."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.render.camera import Camera
from akd.render.compiled import run_tasks, split_range
from akd.render.raster_reference import rasterize_reference
from akd.splats import Splats, color_from_direction

Backend = Literal["auto", "reference", "cpu", "gsplat"]
MIN_PARALLEL_SIZE = 1 << 16
"""Tensors with fewer numbers are checked on one thread."""


@dataclass(frozen=True, eq=False)
class Rendered:
    """Pictures of all cameras."""

    image: Float[Tensor, "frame height width 3"]
    """Colour, over the background if one was given and over black if not."""
    alpha: Float[Tensor, "frame height width"]
    """How much of each pixel the splats cover, 0 to 1."""
    depth: Float[Tensor, "frame height width"]
    """Σ w z: depth weighted by coverage and not divided by it, so 0 where nothing is. Mean depth is ``depth / alpha``."""


def rasterize(
    means: Float[Tensor, "#frame splat 3"],
    covariances: Float[Tensor, "#frame splat 3 3"],
    opacities: Float[Tensor, "#frame splat"] | Float[Tensor, " splat"],
    colors: Float[Tensor, "#frame splat 3"] | Float[Tensor, "splat 3"],
    camera: Camera,
    *,
    background: Float[Tensor, "3"] | Float[Tensor, "frame height width 3"] | None = None,
    near: float = 0.01,
    far: float = 1e10,
    backend: Backend = "auto",
) -> Rendered:
    """Splats seen by one camera per frame, with gsplat's conventions.

    A frame axis of length one is shared by all frames. ``auto`` takes gsplat for CUDA tensors when it is installed, the
    compiled ``cpu`` backend for tensors in main memory, ``reference`` otherwise; a backend named explicitly is used or
    the call fails.
    """
    opacities = opacities[None] if opacities.ndim == 1 else opacities
    colors = colors[None] if colors.ndim == 2 else colors
    if not 0 < near < far:
        raise AkdError(f"the near plane is at {near:g} and the far plane at {far:g}; they must be positive and in this order")
    _check_shapes(means, covariances, opacities, colors, camera, background)
    _check_values(means, covariances, opacities, colors, camera, background)
    camera = Camera(camera.world_to_camera.to(means), camera.intrinsics.to(means), camera.width, camera.height)
    implementation = _implementation(backend, means)
    blended, transmittance, depth = implementation(means, covariances, opacities, colors, camera, near, far)
    image = blended if background is None else blended + transmittance[..., None] * background
    return Rendered(image, 1 - transmittance, depth)


def film_device(device: torch.device) -> torch.device:
    """Where films for a model on a device are best made: there if its rasteriser is installed, in main memory if not."""
    from akd.render.raster_gsplat import gsplat_is_installed

    return device if device.type == "cuda" and gsplat_is_installed() else torch.device("cpu")


def rasterize_splats(
    splats: Splats,
    camera: Camera,
    *,
    background: Float[Tensor, "3"] | Float[Tensor, "frame height width 3"] | None = None,
    backend: Backend = "auto",
) -> Rendered:
    """The same splats seen by every camera, their colour by spherical harmonics of the viewing direction."""
    if bool((splats.scales <= 0).any()):
        raise AkdError(f"a splat's scale is {splats.scales.min().item():g}; scales are lengths and must be positive")
    colors = color_from_direction(splats.sh, splats.means - camera.centers.to(splats.means)[:, None])
    return rasterize(
        splats.means[None], splats.covariances[None], splats.opacities, colors, camera, background=background, backend=backend
    )


def _implementation(backend: Backend, means: Tensor):
    """The function behind a backend's name; each is imported only when used."""
    if backend == "auto":
        backend = _automatic(means)
    if backend == "cpu":
        from akd.render.raster_cpu import rasterize_cpu

        return rasterize_cpu
    if backend == "gsplat":
        from akd.render.raster_gsplat import rasterize_gsplat

        return rasterize_gsplat
    if backend == "reference":
        return rasterize_reference
    raise AkdError(f"there is no rasteriser backend {backend!r}; choose auto, reference, cpu or gsplat")


def _automatic(means: Tensor) -> Backend:
    if means.device.type == "cpu":
        return "cpu"
    from akd.render.raster_gsplat import gsplat_is_installed

    return "gsplat" if means.is_cuda and gsplat_is_installed() else "reference"


def _check_shapes(
    means: Tensor, covariances: Tensor, opacities: Tensor, colors: Tensor, camera: Camera, background: Tensor | None
) -> None:
    frames, splats = camera.frame_count, means.shape[-2] if means.ndim == 3 else -1
    expected = {
        "means": (means, (splats, 3)), "covariances": (covariances, (splats, 3, 3)),
        "opacities": (opacities, (splats,)), "colors": (colors, (splats, 3)),
    }  # fmt: skip
    if frames == 0:
        raise AkdError("there are no cameras; give one for each frame")
    for name, (tensor, shape) in expected.items():
        if tensor.dtype != means.dtype or tensor.device != means.device:
            found, required = (f"{t.dtype} on {t.device}" for t in (tensor, means))
            raise AkdError(f"{name} are {found} but means are {required}; make them alike")
        if tensor.shape[1:] != shape or tensor.shape[0] not in (1, frames):
            raise AkdError(
                f"{name} have shape {tuple(tensor.shape)}, but {frames} cameras and {max(splats, 0)} splats need "
                f"{(frames, *shape)} or {(1, *shape)}"
            )
    picture = (frames, camera.height, camera.width, 3)
    if background is not None and tuple(background.shape) not in ((3,), picture):
        raise AkdError(f"the background has shape {tuple(background.shape)}; give one colour (3,) or pictures {picture}")


def _check_values(
    means: Tensor, covariances: Tensor, opacities: Tensor, colors: Tensor, camera: Camera, background: Tensor | None
) -> None:
    named = {
        "means": means, "covariances": covariances, "opacities": opacities, "colors": colors, "background": background,
        "camera poses": camera.world_to_camera, "camera intrinsics": camera.intrinsics,
    }  # fmt: skip
    for name, tensor in named.items():
        # The sum is not finite if any entry is not, and costs one cheap pass; only then look closer.
        if tensor is not None and not isfinite(sum(_reduce_parts(tensor, _total))) and not bool(tensor.isfinite().all()):
            raise AkdError(f"the {name} contain NaN or infinity; stop where they first appear")
    if covariances.numel() and min(_reduce_parts(covariances, _smallest_variance)) < 0:
        raise AkdError("a covariance has a negative variance on its diagonal; build it as R S² Rᵀ with positive scales")


def _total(part: Tensor | np.ndarray) -> float:
    return float(part.sum())


def _smallest_variance(part: Tensor | np.ndarray) -> float:
    return min(float(part[..., i, i].min()) for i in range(3))


def _reduce_parts(tensor: Tensor, reduce: Callable[[Tensor | np.ndarray], float]) -> list[float]:
    """A reduction of each part of a tensor; in main memory by numpy on the kernels' thread pool, not on torch's."""
    if tensor.device.type != "cpu":
        return [reduce(tensor.detach())]
    rows = tensor.detach().numpy()
    rows = rows[0] if len(rows) == 1 else rows
    threads = torch.get_num_threads() if tensor.numel() > MIN_PARALLEL_SIZE else 1
    parts = [rows[share.start : share.stop] for share in split_range(len(rows), threads)]
    found: list[float] = []
    run_tasks(threads, lambda part: found.append(reduce(part)), parts)
    return found
