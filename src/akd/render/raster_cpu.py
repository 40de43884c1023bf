"""The rasteriser for ordinary processors: compiled, eight pixels at a time, parallel over frames and bands of rows.

Work is cut into tasks (a frame, or a band of one) that own everything they write, so there is nothing to lock. They run
on plain threads, as many as ``torch.get_num_threads()``: the kernels release the GIL and several callers may render at
once. numba's own parallel loops are not used: their thread pools may not be shared between callers or survive a fork.
"""

import functools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from akd.errors import AkdError
from akd.render.camera import Camera
from akd.render.kernel_blend import blend, blend_back
from akd.render.kernel_ellipses import ELLIPSE_SIZE, GRADIENT_SIZE, find_ellipses, splat_gradients
from akd.render.lanes import WIDTH
from akd.render.raster_reference import Layers

KEY_TYPES: dict[torch.dtype, Any] = {torch.float32: np.uint32, torch.float64: np.uint64}
TASKS_PER_THREAD = 4
"""More than one, so that a thread with little to draw helps the others."""
SMALLEST_BAND = 16
"""Rows; below this what every band must do would outweigh the drawing."""


def rasterize_cpu(
    means: Float[Tensor, "#frame splat 3"], covariances: Float[Tensor, "#frame splat 3 3"],
    opacities: Float[Tensor, "#frame splat"], colors: Float[Tensor, "#frame splat 3"],
    camera: Camera, near: float, far: float,
) -> Layers:
    """Blended colour over black, transmittance, and depth Σ w z."""
    if means.device.type != "cpu" or means.dtype not in KEY_TYPES:
        raise AkdError(
            f"the cpu backend takes float32 or float64 tensors in main memory, not {means.dtype} on {means.device}; "
            "convert them or use backend='reference'"
        )
    pose, k = camera.world_to_camera[:, :3].flatten(1), camera.intrinsics
    optics = torch.stack((k[:, 0, 0], k[:, 1, 1], k[:, 0, 2], k[:, 1, 2]), -1)
    limits = means.new_tensor((camera.width, camera.height, near, far)).expand(camera.frame_count, 4)
    lenses = torch.cat((pose, optics, limits), -1)
    return _Rasterize.apply(means, covariances, opacities, colors, lenses, camera.width, camera.height)


class _Rasterize(torch.autograd.Function):
    """Both kernels and their derivatives as one differentiable operation."""

    @staticmethod
    def forward(ctx, means, covariances, opacities, colors, lenses, width, height):
        inputs = tuple(tensor.contiguous() for tensor in (means, covariances, opacities, colors, lenses))
        frames, splats, dtype = len(lenses), means.shape[1], means.dtype
        layers = tuple(torch.empty(frames, height, width, *channels, dtype=dtype) for channels in ((3,), (), ()))
        ellipses = torch.empty(frames, splats, ELLIPSE_SIZE, dtype=dtype)
        order = torch.empty(frames, splats, dtype=torch.int32)
        counts = np.zeros(frames, np.int64)
        splat_rows = [_frame_rows(tensor, frames) for tensor in inputs]
        ellipse_rows, order_rows = _frame_rows(ellipses, frames), order.numpy()
        pictures = [layer.numpy() for layer in layers]

        def find(frame: int) -> None:
            depths = np.empty(splats, splat_rows[0][0].dtype)
            here = (rows[frame] for rows in splat_rows)
            found = find_ellipses(*here, depths, depths.view(KEY_TYPES[dtype]), ellipse_rows[frame], order_rows[frame])
            counts[frame] = found

        def draw(band: Band) -> None:
            here = (picture[band.frame] for picture in pictures)
            blend(ellipses.numpy()[band.frame, : counts[band.frame]], band.top, band.bottom, *here)

        _run(find, range(frames))
        _run(draw, _bands(frames, height))
        ctx.save_for_backward(*inputs, ellipses, order, *layers)
        ctx.counts = counts
        return layers

    @staticmethod
    @once_differentiable
    def backward(ctx, *d_layers):
        *inputs, ellipses, order, color, transmittance, depth = ctx.saved_tensors
        (frames, splats), height, counts = order.shape, color.shape[1], ctx.counts
        bands = _bands(frames, height)
        shares = color.new_zeros(frames, len(bands) // frames, splats + WIDTH, GRADIENT_SIZE)
        gradients = [color.new_zeros(frames, *tensor.shape[1:]) for tensor in inputs]
        pictures = [layer.contiguous().numpy() for layer in (color, transmittance, depth, *d_layers)]

        def draw(band: Band) -> None:
            here = (picture[band.frame] for picture in pictures)
            share = shares[band.frame, band.number].numpy()
            blend_back(ellipses.numpy()[band.frame, : counts[band.frame]], band.top, band.bottom, *here, share)

        _run(draw, bands)
        summed = _frame_rows(shares.sum(1) if shares.shape[1] > 1 else shares, frames)
        means, covariances, _, _, lenses = (_frame_rows(tensor, frames) for tensor in inputs)
        outputs = [_frame_rows(gradient, frames) for gradient in gradients]

        def carry_back(frame: int) -> None:
            here = (means[frame], covariances[frame], lenses[frame], order.numpy()[frame], counts[frame], summed[frame])
            splat_gradients(*here, *(rows[frame] for rows in outputs))

        _run(carry_back, range(frames))
        pairs = zip(gradients, inputs, strict=True)
        return (*(g if len(tensor) == frames else g.sum(0, keepdim=True) for g, tensor in pairs), None, None)


class Band(NamedTuple):
    """Neighbouring rows of one frame's picture."""

    frame: int
    number: int
    """Which band of its frame."""
    top: int
    bottom: int
    """One behind the last row."""


def _bands(frames: int, height: int) -> list[Band]:
    """The same bands in every frame; more than one only where frames are too few to keep all threads busy."""
    threads = torch.get_num_threads()
    wanted = 1 if threads == 1 else -(-threads * TASKS_PER_THREAD // frames)
    rows = max(SMALLEST_BAND, -(-height // wanted))
    tops = range(0, height, rows)
    return [Band(f, i, top, min(top + rows, height)) for f in range(frames) for i, top in enumerate(tops)]


def _frame_rows(tensor: Tensor, frames: int) -> list[np.ndarray]:
    """The tensor's own memory, a flat array for each frame; one that all frames share is listed again and again."""
    rows = list(tensor.detach().reshape(len(tensor), -1).numpy())
    return rows if len(rows) == frames else rows * frames


def _run(work: Callable[[Any], None], tasks: Iterable[Any]) -> None:
    threads = torch.get_num_threads()
    for _ in map(work, tasks) if threads == 1 else _pool(threads).map(work, tasks):
        pass  # taking the result is what passes on an exception


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="rasterize")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child process inherits the pool but not its threads
