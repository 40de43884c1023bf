"""The rasteriser for ordinary processors: compiled, eight pixels at a time, parallel over frames and bands of rows.

A frame is one task from its splats to its picture, so that what it works on stays in one core's cache; where frames are
few, each is cut further, into chunks of splats and bands of rows. Tasks own everything they write, so there is nothing
to lock. They run on as many threads as ``torch.get_num_threads()`` says; the kernels release the GIL.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from akd.errors import AkdError
from akd.render.camera import Camera
from akd.render.kernel_blend import blend, blend_back
from akd.render.kernel_ellipses import (
    ELLIPSE_SIZE,
    GRADIENT_SIZE,
    LENS_SIZE,
    arrange_ellipses,
    project_splats,
    rank_ellipses,
    splat_gradients,
)
from akd.render.lanes import WIDTH
from akd.render.raster_reference import Layers
from akd.render.tasks import run_tasks, shares

KEY_TYPES: dict[torch.dtype, Any] = {torch.float32: np.uint32, torch.float64: np.uint64}
TASKS_PER_THREAD = 4
"""More than one, so that a thread with little to draw helps the others."""
SMALLEST_BAND = 16
"""Rows; below this what every band must do would outweigh the drawing."""
LARGEST_BAND = 1 << 16
"""Pixels; more of them would not stay in a core's own cache."""
SMALLEST_CHUNK = 2048
"""Splats."""


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
    """The kernels and their derivatives as one differentiable operation.

    Torch's own parallel operations are avoided in here, also for filling with zeros (see ``tasks``).
    """

    @staticmethod
    def forward(ctx, means, covariances, opacities, colors, lenses, width, height):
        inputs = tuple(tensor.contiguous() for tensor in (means, covariances, opacities, colors, lenses))
        frames, splats, dtype, threads = len(lenses), means.shape[1], means.dtype, torch.get_num_threads()
        chunks, bands = _chunks(threads, frames, splats), _bands(threads, frames, height, width)
        layers = tuple(torch.empty(frames, height, width, *channels, dtype=dtype) for channels in ((3,), (), ()))
        ellipses = torch.empty(frames, splats, ELLIPSE_SIZE, dtype=dtype)
        order = torch.empty(frames, splats, dtype=torch.int32)
        visible = torch.empty(frames, splats + WIDTH * len(chunks), dtype=torch.int32)
        found = np.zeros((frames, len(chunks)), np.int64)
        rows = [_frame_rows(tensor, frames) for tensor in inputs]
        pictures = [layer.numpy() for layer in layers]
        starts = np.array([chunk.start for chunk in chunks])

        def draw_frame(frame: int) -> None:
            *geometry, color, lens = (row[frame] for row in rows)
            ordered, present, sorted_out = order.numpy()[frame], visible.numpy()[frame], ellipses.numpy()[frame]
            flat, depths = np.empty(len(present) * ELLIPSE_SIZE, color.dtype), np.empty(splats, color.dtype)

            def project(chunk: Chunk) -> None:
                found[frame, chunk.number] = project_splats(*geometry, lens, chunk.first, chunk.last, chunk.start, flat, present)

            def arrange(share: range) -> None:
                arrange_ellipses(flat, present, color, ordered, share.start, share.stop, sorted_out.reshape(-1))

            def draw(band: Band) -> None:
                blend(sorted_out[:count], band.top, band.bottom, *(picture[frame] for picture in pictures))

            run_tasks(threads, project, chunks)
            count = rank_ellipses(flat, starts, found[frame], depths, depths.view(KEY_TYPES[dtype]), ordered)
            run_tasks(threads, arrange, shares(count, len(chunks)))
            run_tasks(threads, draw, bands)

        run_tasks(threads, draw_frame, range(frames))
        ctx.save_for_backward(*inputs, ellipses, order, visible, *layers)
        ctx.chunks, ctx.found = chunks, found
        return layers

    @staticmethod
    @once_differentiable
    def backward(ctx, *d_layers):
        *inputs, ellipses, order, visible, color, transmittance, depth = ctx.saved_tensors
        frames, chunks, found, threads = len(order), ctx.chunks, ctx.found, torch.get_num_threads()
        bands = _bands(threads, *color.shape[:3])
        gradients = [color.new_empty(frames, *tensor.shape[1:]) for tensor in inputs[:-1]]
        d_lenses = np.zeros((frames, len(chunks), LENS_SIZE), ellipses.numpy().dtype)
        pictures = [layer.contiguous().numpy() for layer in (color, transmittance, depth, *d_layers)]
        means, covariances, _, _, lenses = (_frame_rows(tensor, frames) for tensor in inputs)
        outputs = [_frame_rows(gradient, frames) for gradient in gradients]

        def carry_frame_back(frame: int) -> None:
            ordered, present = order.numpy()[frame], visible.numpy()[frame]
            sorted_out = ellipses.numpy()[frame, : found[frame].sum()]
            d_ellipses = np.zeros((len(present), GRADIENT_SIZE), d_lenses.dtype)
            elsewhere = [(ordered[:0], d_ellipses[:0])] * len(bands)

            def draw_back(band: Band) -> None:
                place, here = (band.top, band.bottom), (picture[frame] for picture in pictures)
                elsewhere[band.number] = blend_back(sorted_out, ordered, *place, *here, d_ellipses.reshape(-1))

            def carry_back(chunk: Chunk) -> None:
                given = means[frame], covariances[frame], lenses[frame], present, d_ellipses.reshape(-1)
                place = chunk.first, chunk.last, chunk.start, found[frame, chunk.number]
                splat_gradients(*given, *place, *(rows[frame] for rows in outputs), d_lenses[frame, chunk.number])

            run_tasks(threads, draw_back, bands)
            for hosts, guests in elsewhere:
                d_ellipses[hosts] += guests.reshape(-1, GRADIENT_SIZE)
            run_tasks(threads, carry_back, chunks)

        run_tasks(threads, carry_frame_back, range(frames))
        pairs = zip(gradients, inputs[:-1], strict=True)
        shared = (gradient if len(tensor) == frames else gradient.sum(0, keepdim=True) for gradient, tensor in pairs)
        return (*shared, torch.from_numpy(d_lenses.sum(1)), None, None)


class Chunk(NamedTuple):
    """Neighbours among the splats of a frame."""

    number: int
    first: int
    last: int
    """One behind the last splat."""
    start: int
    """Where its ellipses begin: eight empty rows lie between those of two chunks."""


class Band(NamedTuple):
    """Neighbouring rows of a picture."""

    number: int
    top: int
    bottom: int
    """One behind the last row."""


def _chunks(threads: int, frames: int, splats: int) -> list[Chunk]:
    parts = shares(splats, min(_parts(threads, frames), splats // SMALLEST_CHUNK))
    return [Chunk(i, share.start, share.stop, share.start + i * WIDTH) for i, share in enumerate(parts)]


def _bands(threads: int, frames: int, height: int, width: int) -> list[Band]:
    wanted = max(_parts(threads, frames), -(-height * width // LARGEST_BAND))
    parts = shares(height, min(wanted, height // SMALLEST_BAND))
    return [Band(i, share.start, share.stop) for i, share in enumerate(parts)]


def _parts(threads: int, frames: int) -> int:
    """Into how many tasks a frame is cut: one, unless frames are too few to keep all threads busy."""
    return 1 if threads == 1 else -(-threads * TASKS_PER_THREAD // frames)


def _frame_rows(tensor: Tensor, frames: int) -> list[np.ndarray]:
    """The tensor's own memory, a flat array for each frame; one that all frames share is listed again and again."""
    rows = list(tensor.detach().reshape(len(tensor), -1).numpy())
    return rows if len(rows) == frames else rows * frames
