"""The rasteriser for ordinary processors: compiled, eight pixels at a time, parallel over frames and bands of rows.

Work is cut into tasks (a frame, or a band of one) that own everything they write, so there is nothing to lock. They run
on plain threads, as many as ``torch.get_num_threads()``: the kernels release the GIL, several callers may render at
once, and none of the thread pools a process may not fork or share is involved.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.render.camera import Camera
from akd.render.kernel_blend import blend, blend_back
from akd.render.kernel_ellipses import (
    ELLIPSE_SIZE, GRADIENT_SIZE, find_ellipses, splat_gradients,
)  # fmt: skip
from akd.render.lanes import WIDTH
from akd.render.raster_reference import Layers

KEY_TYPES = {torch.float32: np.uint32, torch.float64: np.uint64}
TASKS_PER_THREAD = 4
"""More than one, so that a thread with little to draw helps the others."""
SMALLEST_BAND = 16
"""Rows; below this the bands' common work would outweigh the drawing."""


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
        arrays = [_rows(tensor, frames) for tensor in inputs]
        pictures = [layer.numpy() for layer in layers]

        def find(frame: int) -> None:
            depths = np.empty(splats, arrays[0][0].dtype)
            keys = depths.view(KEY_TYPES[dtype])
            here = (array[frame] for array in arrays)
            counts[frame] = find_ellipses(*here, depths, keys, ellipses[frame].view(-1).numpy(), order[frame].numpy())

        def draw(task: tuple[int, int, int]) -> None:
            frame, top, bottom = task
            blend(ellipses[frame].numpy()[: counts[frame]], top, bottom, *(picture[frame] for picture in pictures))

        _run(find, range(frames))
        _run(draw, _bands(frames, height))
        ctx.save_for_backward(*inputs, ellipses, order, *layers)
        ctx.counts = counts
        return layers

    @staticmethod
    def backward(ctx, *d_layers):
        *inputs, ellipses, order, color, transmittance, depth = ctx.saved_tensors
        frames, height, dtype = len(order), color.shape[1], color.dtype
        bands = _bands(frames, height)
        band_count = len(bands) // frames
        partial = torch.zeros(frames, band_count, order.shape[1] + WIDTH, GRADIENT_SIZE, dtype=dtype)
        arrays = [_rows(tensor, frames) for tensor in inputs]
        pictures = [layer.contiguous().numpy() for layer in (color, transmittance, depth, *d_layers)]
        gradients = [torch.zeros(frames, *tensor.shape[1:], dtype=dtype) for tensor in inputs[:4]]
        gradients.append(torch.zeros(frames, inputs[4].shape[1], dtype=dtype))
        outputs = [_rows(tensor, frames) for tensor in gradients]
        order_array, counts = order.numpy(), ctx.counts

        def draw(task: tuple[int, int, int]) -> None:
            frame, top, bottom = task
            share = partial[frame, bands.index(task) % band_count].numpy()
            blend_back(
                ellipses[frame].numpy()[: counts[frame]], top, bottom, *(picture[frame] for picture in pictures), share
            )

        def spread(frame: int) -> None:
            means, covariances, _, _, lens = (array[frame] for array in arrays)
            splat_gradients(
                means, covariances, lens, order_array[frame], counts[frame], summed[frame],
                *(output[frame] for output in outputs),
            )  # fmt: skip

        _run(draw, bands)
        summed = _rows(partial.sum(1) if band_count > 1 else partial, frames)
        _run(spread, range(frames))
        shared = (g if len(tensor) == frames else g.sum(0, keepdim=True) for g, tensor in zip(gradients, inputs, strict=True))
        return (*shared, None, None)


def _rows(tensor: Tensor, frames: int) -> np.ndarray:
    """The tensor's own memory, a flat array for each frame; a shared frame is seen again and again."""
    flat = tensor.detach().reshape(len(tensor), -1).numpy()
    return flat if len(flat) == frames else np.broadcast_to(flat, (frames, flat.shape[1]))


def _bands(frames: int, height: int) -> list[tuple[int, int, int]]:
    """Tasks (frame, top, bottom), the same number in every frame: more than one only where frames are few."""
    threads = torch.get_num_threads()
    wanted = 1 if threads == 1 else -(-threads * TASKS_PER_THREAD // max(frames, 1))
    rows = max(SMALLEST_BAND, -(-height // wanted))
    return [(frame, top, min(top + rows, height)) for frame in range(frames) for top in range(0, height, rows)]


def _run(work: Callable[..., None], tasks: Iterable) -> None:
    threads = torch.get_num_threads()
    if threads == 1:
        for task in tasks:
            work(task)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, tasks))
