"""The rasteriser for ordinary processors: compiled, eight pixels at a time, parallel over frames and bands of rows.

A frame goes from its splats to its picture on one thread, so that what it works on stays in one core's cache, and one call
does several. Where frames are few, each is cut further, into chunks of splats and bands of rows. Tasks own everything they
write, so there is nothing to lock. They run on as many threads as ``torch.get_num_threads()`` says; the kernels release
the GIL.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from akd.errors import AkdError
from akd.render.camera import Camera
from akd.render.compiled import run_tasks, split_range
from akd.render.kernel_blend import backward_frames, blend, blend_backward, draw_frames
from akd.render.kernel_ellipses import (
    ELLIPSE_SIZE,
    GRADIENT_SIZE,
    LENS_SIZE,
    arrange_ellipses,
    cut_into_bands,
    project_splats,
    rank_ellipses,
    splat_gradients,
)
from akd.render.raster_reference import Layers
from akd.render.simd import WIDTH

FLOAT_AND_KEY_TYPES: dict[torch.dtype, tuple[Any, Any]] = {
    torch.float32: (np.float32, np.uint32),
    torch.float64: (np.float64, np.uint64),
}
Banded = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The ellipses of each band, as ``cut_into_bands`` gives them."""
TASKS_PER_THREAD = 4
"""More than one, so that a thread with little to draw helps the others."""
MIN_BAND_ROWS = 16
"""Rows; below this what every band must do would outweigh the drawing."""
MAX_BAND_PIXELS = 1 << 16
"""Pixels; more of them would not stay in a core's own cache."""
MIN_CHUNK_SPLATS = 2048
"""Splats."""


def rasterize_cpu(
    means: Float[Tensor, "#frame splat 3"], covariances: Float[Tensor, "#frame splat 3 3"],
    opacities: Float[Tensor, "#frame splat"], colors: Float[Tensor, "#frame splat 3"],
    camera: Camera, near: float, far: float,
) -> Layers:
    """Blended colour over black, transmittance, and depth Σ w z."""
    if means.device.type != "cpu" or means.dtype not in FLOAT_AND_KEY_TYPES:
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

    Torch's own parallel operations are avoided in here, also for filling with zeros (see ``compiled``).
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
        rows, pictures = [_frame_rows(tensor) for tensor in inputs], [layer.numpy() for layer in layers]
        made = ellipses.numpy(), order.numpy(), visible.numpy()
        banded: dict[int, Banded] = {}

        def draw_whole(share: range) -> None:
            draw_frames(share.start, share.stop, *rows, *_sorting_space(splats, dtype), *made, found, *pictures)

        def draw_in_parts(frame: int) -> None:
            *geometry, color, lens = (_of(row, frame) for row in rows)
            sorted_out, ordered, present = (array[frame] for array in made)
            flat = np.empty(len(present) * ELLIPSE_SIZE, color.dtype)

            def project(chunk: Chunk) -> None:
                found[frame, chunk.number] = project_splats(*geometry, lens, chunk.first, chunk.last, chunk.start, flat, present)

            def arrange(share: range) -> None:
                arrange_ellipses(flat, present, color, ordered, share.start, share.stop, sorted_out.reshape(-1))

            def draw(band: Band) -> None:
                own, _ = band.of(banded[frame])
                blend(own, band.top, band.bottom, *(picture[frame] for picture in pictures))

            run_tasks(threads, project, chunks)
            starts = np.array([chunk.start for chunk in chunks])
            count = rank_ellipses(flat, starts, found[frame], *_sorting_space(splats, dtype), ordered)
            run_tasks(threads, arrange, split_range(count, len(chunks)))
            banded[frame] = cut_into_bands(sorted_out[:count], ordered, bands[0].bottom, len(bands))
            run_tasks(threads, draw, bands)

        if _is_whole(chunks, bands):
            run_tasks(threads, draw_whole, split_range(frames, threads * TASKS_PER_THREAD))
        else:
            run_tasks(threads, draw_in_parts, range(frames))
        ctx.save_for_backward(*inputs, ellipses, order, visible, *layers)
        ctx.chunks, ctx.bands, ctx.found, ctx.banded = chunks, bands, found, banded
        return layers

    @staticmethod
    @once_differentiable
    def backward(ctx, *d_layers):
        *inputs, ellipses, order, visible, color, transmittance, depth = ctx.saved_tensors
        frames, chunks, bands, found, threads = len(order), ctx.chunks, ctx.bands, ctx.found, torch.get_num_threads()
        gradients = [color.new_empty(frames, *tensor.shape[1:]) for tensor in inputs[:-1]]
        d_lenses = np.zeros((frames, len(chunks), LENS_SIZE), ellipses.numpy().dtype)
        pictures = [layer.contiguous().numpy() for layer in (color, transmittance, depth, *d_layers)]
        means, covariances, _, _, lenses = (_frame_rows(tensor) for tensor in inputs)
        made, outputs = (ellipses.numpy(), order.numpy(), visible.numpy()), [_frame_rows(gradient) for gradient in gradients]

        def backward_whole(share: range) -> None:
            given = means, covariances, lenses, *made, found, *pictures
            backward_frames(share.start, share.stop, *given, *outputs, d_lenses)

        def backward_in_parts(frame: int) -> None:
            _, ordered, present = (array[frame] for array in made)
            d_ellipses = np.zeros((len(present), GRADIENT_SIZE), d_lenses.dtype)
            overflow = [(ordered[:0], d_ellipses[:0])] * len(bands)

            def backward_band(band: Band) -> None:
                place, here = (band.top, band.bottom), (picture[frame] for picture in pictures)
                overflow[band.number] = blend_backward(*band.of(ctx.banded[frame]), *place, *here, d_ellipses.reshape(-1))

            def backward_chunk(chunk: Chunk) -> None:
                given = _of(means, frame), _of(covariances, frame), lenses[frame], present, d_ellipses.reshape(-1)
                place = chunk.first, chunk.last, chunk.start, found[frame, chunk.number]
                splat_gradients(*given, *place, *(rows[frame] for rows in outputs), d_lenses[frame, chunk.number])

            run_tasks(threads, backward_band, bands)
            for overflow_rows, overflow_values in overflow:
                d_ellipses[overflow_rows] += overflow_values.reshape(-1, GRADIENT_SIZE)
            run_tasks(threads, backward_chunk, chunks)

        if _is_whole(chunks, bands):
            run_tasks(threads, backward_whole, split_range(frames, threads * TASKS_PER_THREAD))
        else:
            run_tasks(threads, backward_in_parts, range(frames))
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

    def of(self, banded: Banded) -> tuple[np.ndarray, np.ndarray]:
        """Its own ellipses, and their entries of the order."""
        starts, ellipses, order = banded
        own = slice(*starts[self.number : self.number + 2])
        return ellipses[own], order[own]


def _chunks(threads: int, frames: int, splats: int) -> list[Chunk]:
    parts = split_range(splats, min(_parts(threads, frames), splats // MIN_CHUNK_SPLATS))
    return [Chunk(i, share.start, share.stop, share.start + i * WIDTH) for i, share in enumerate(parts)]


def _bands(threads: int, frames: int, height: int, width: int) -> list[Band]:
    band_count = max(_parts(threads, frames), -(-height * width // MAX_BAND_PIXELS))
    parts = split_range(height, min(band_count, height // MIN_BAND_ROWS))
    return [Band(i, share.start, share.stop) for i, share in enumerate(parts)]


def _parts(threads: int, frames: int) -> int:
    """Into how many tasks a frame is cut: one, unless frames are too few to keep all threads busy."""
    return 1 if threads == 1 else -(-threads * TASKS_PER_THREAD // frames)


def _is_whole(chunks: list[Chunk], bands: list[Band]) -> bool:
    """Whether frames are not cut."""
    return len(chunks) == len(bands) == 1


def _sorting_space(splats: int, dtype: torch.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Room for depths, and the same memory as the integers they are sorted by."""
    float_type, key_type = FLOAT_AND_KEY_TYPES[dtype]
    depths = np.empty(splats, float_type)
    return depths, depths.view(key_type)


def _frame_rows(tensor: Tensor) -> np.ndarray:
    """The tensor's own memory, a flat row for each frame; but one where all frames share it."""
    return tensor.detach().reshape(len(tensor), -1).numpy()


def _of(rows: np.ndarray, frame: int) -> np.ndarray:
    return rows[min(frame, len(rows) - 1)]
