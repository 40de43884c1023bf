"""The rasteriser against its reference, per-pixel tiles and the machine's arithmetic: the speed tables of docs/render.md.

    python -m experiments.rasterize
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from unittest.mock import patch

import numba
import numpy as np
import torch
from rich.table import Table
from torch import Tensor

from akd.render import raster_cpu
from akd.render import rasterize as rasterize_door
from akd.render.camera import Camera, look_at
from akd.render.compiled import run_tasks
from akd.render.kernel_ellipses import HALF_HEIGHT, HALF_WIDTH, OPACITY, XX, XY, YY, X, Y
from akd.render.raster_reference import MAX_ALPHA, MIN_ALPHA, MIN_TRANSMITTANCE
from akd.render.rasterize import Rendered, rasterize
from akd.render.simd import WIDTH, broadcast, horizontal_sum, load
from experiments import tiled_raster

FORWARD_OPERATIONS, BACKWARD_OPERATIONS = 31, 46
"""Vector operations eight neighbouring pixels of a splat cannot do without, counted in ``kernel_blend``: ellipse,
exponential, cut-offs, transmittance and blending; and once more, with the sums for ten gradients, on the way back. The bound
is their number over the measured speed of fused multiply–adds: loads, stores and finding the pixels are free in it. Rows of
small ellipses do not fill eight SIMD lanes; "full lanes" is the bound if they did."""
RADII = torch.tensor((0.9, 0.5, 0.4))
ARITHMETIC = np.ones(64, np.float32)
Turn = tuple[Callable[[int], None], int]
"""Some work and on how many threads."""


@dataclass(frozen=True)
class Case:
    """A body covered with splats, like a character at this size."""

    frames: int
    width: int
    height: int
    splats: int
    reference_frames: int
    """The reference is timed on this many frames …"""
    reference_rows: int
    """… and rows, and scaled up: in full it would take minutes."""

    def __str__(self) -> str:
        return f"{self.frames} × {self.height}×{self.width}, {self.splats:,} splats"


CASES = (
    Case(17, 64, 64, 3_000, reference_frames=1, reference_rows=64),
    Case(49, 96, 64, 10_000, reference_frames=1, reference_rows=16),
    Case(1, 720, 480, 50_000, reference_frames=1, reference_rows=1),
)


def tables() -> Iterator[Table]:
    """All measurements, one table each."""
    first_call = _seconds(lambda: _forward_backward(*_scene(CASES[0])), time.process_time)
    yield _comparison(first_call)
    yield _cores()
    yield _scaling("splats", [(f"{n:,}", replace(CASES[0], splats=n)) for n in (1_000, 3_000, 10_000, 30_000)])
    yield _scaling("pixels", [(f"{n}×{n}", replace(CASES[0], width=n, height=n)) for n in (32, 64, 128, 256)])


def _comparison(first_call: float) -> Table:
    title = "Rasterise, forward + backward: milliseconds of one core"
    table = Table(title=title, caption=f"first call, with compiling or loading: {first_call:.1f} s")
    for heading in ("case", "cpu", "reference", "ratio", "tiled", "ratio", "blending only", "bound", "ratio", "full lanes"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    with _threads(1):
        speed = _vector_operations_per_second()
        for case in CASES:
            table.add_row(str(case), *_compared(case, speed))
    return table


def _compared(case: Case, speed: float) -> Iterator[str]:
    leaves, camera = _scene(case)

    def work() -> None:
        _forward_backward(leaves, camera)

    ours, blending = _best(work, repeats=7), _blending_seconds(leaves, camera)
    with _tiled():
        tiled = _best(work, repeats=2)
    slow = _reference_seconds(case)
    pairs, blocks = _blended(leaves, camera)
    bound, full = ((FORWARD_OPERATIONS + BACKWARD_OPERATIONS) * count / speed for count in (blocks, pairs / WIDTH))
    for seconds in (ours, slow, slow / ours * 1e-3, tiled, tiled / ours * 1e-3, blending, bound, blending / bound * 1e-3, full):
        yield f"{1e3 * seconds:,.1f}"


def _cores() -> Table:
    """One thread and two, by the clock and in the work of all threads together (waiting in a spinning thread counts as work).

    Two virtual cores need not be worth two: they may share one real core, or a neighbour may use the other. So two controls
    are timed in turns with ours, the same tasks on one thread and on two: plain arithmetic, and the forward kernel by itself
    on pictures of its own. What is to be expected is the kernel's ratio, but for the share that one thread does alone.
    """
    table = Table(title="Scaling with cores", caption="by the clock, least of many turns; alone: outside the shared tasks")
    headings = "case", "1: ms", "2: ms", "ratio", "arithmetic", "kernel", "alone", "to expect", "1: core ms", "2: core ms"
    for heading in headings:
        table.add_column(heading, justify="right")
    for case in CASES:
        table.add_row(str(case), *_scaled(*_scene(case)))
    return table


def _scaled(leaves: list[Tensor], camera: Camera) -> Iterator[str]:
    calls = _blend_calls(leaves, camera)

    def ours(threads: int) -> None:
        with _threads(threads):
            _forward_backward(leaves, camera)

    def arithmetic(threads: int) -> None:
        run_tasks(threads, lambda repetitions: _independent_operations(ARITHMETIC, repetitions), [200_000] * 16)

    def kernel(threads: int) -> None:
        run_tasks(threads, lambda call: call(), calls * 2)

    works = {(work, threads): partial(work, threads) for threads in (1, 2) for work in (ours, arithmetic, kernel)}
    clock, cores = _in_turns(works, repetitions=25)
    arithmetic_ratio, kernel_ratio = clock[arithmetic, 2] / clock[arithmetic, 1], clock[kernel, 2] / clock[kernel, 1]
    alone = _alone_share(partial(ours, 1))
    for seconds in (clock[ours, 1], clock[ours, 2]):
        yield f"{1e3 * seconds:.1f}"
    for ratio in (clock[ours, 2] / clock[ours, 1], arithmetic_ratio, kernel_ratio):
        yield f"{ratio:.2f}"
    yield f"{alone:.0%}"
    yield f"{alone + (1 - alone) * kernel_ratio:.2f}"
    for seconds in (cores[ours, 1], cores[ours, 2]):
        yield f"{1e3 * seconds:.1f}"


def _blend_calls(leaves: list[Tensor], camera: Camera) -> list[Callable[[], None]]:
    """The forward kernel's calls for one picture after the other; each may be made again, at the same time as the others."""
    calls: list[Callable[[], None]] = []
    blend = raster_cpu.blend

    def note(*arguments) -> None:
        calls.append(partial(blend, *arguments))

    with _blending_by(note, raster_cpu.blend_backward), _threads(1):
        rasterize(*leaves, camera, backend="cpu")
    return calls


def _in_turns(works: dict[Turn, Callable[[], None]], repetitions: int) -> tuple[dict[Turn, float], dict[Turn, float]]:
    """Least seconds of each by the clock, and of all cores together: a disturbance hits them all, not one of them."""
    clock, cores = ({key: float("inf") for key in works} for _ in range(2))
    for _ in range(repetitions):
        for key, work in works.items():
            start = time.perf_counter(), time.process_time()
            work()
            clock[key] = min(clock[key], time.perf_counter() - start[0])
            cores[key] = min(cores[key], time.process_time() - start[1])
    return clock, cores


def _alone_share(work: Callable[[], object]) -> float:
    """Share of a run outside what is done task by task, in the quickest of many runs on one thread."""
    spent, depth = [0.0], [0]

    def timed(*arguments):
        start, depth[0] = time.process_time(), depth[0] + 1
        run_tasks(*arguments)
        depth[0] -= 1
        spent[0] += (time.process_time() - start) * (depth[0] == 0)  # tasks may have tasks of their own

    runs = []
    with patch.object(raster_cpu, "run_tasks", timed), patch.object(rasterize_door, "run_tasks", timed):
        for _ in range(15):
            spent[0] = 0.0
            whole = _seconds(work, time.process_time)
            runs.append((whole, 1 - spent[0] / whole))
    return min(runs)[1]


def _scaling(what: str, rows: list[tuple[str, Case]]) -> Table:
    table = Table(title=f"Scaling with {what}")
    for heading in (what, "case", "ms", "against the first", "ns per splat and frame"):
        table.add_column(heading, justify="right")
    first = 0.0
    for label, case in rows:
        scene = _scene(case)
        with _threads(1):
            seconds = _best(partial(_forward_backward, *scene), repeats=7)
        first = first or seconds
        each = seconds / (case.frames * case.splats)
        table.add_row(label, str(case), f"{1e3 * seconds:.1f}", f"{seconds / first:.2f}", f"{1e9 * each:.0f}")
    return table


def _scene(case: Case) -> tuple[list[Tensor], Camera]:
    """Flat splats on an ellipsoid, overlapping as on a reconstructed character, moving a little from frame to frame."""
    generator = torch.Generator().manual_seed(0)
    points = torch.nn.functional.normalize(torch.randn(case.splats, 3, generator=generator), dim=-1) * RADII
    normals = torch.nn.functional.normalize(points / RADII.square(), dim=-1)
    spread = 0.7 * (2.5 / case.splats) ** 0.5
    tangent = torch.eye(3) - normals[:, :, None] * normals[:, None]
    means = points + 0.05 * torch.randn(case.frames, 1, 3, generator=generator)
    covariances = (spread**2 * tangent + 1e-6 * torch.eye(3)).expand(case.frames, -1, -1, -1)
    colors = torch.rand(case.frames, case.splats, 3, generator=generator)
    leaves = [means, covariances.contiguous(), torch.full((case.frames, case.splats), 0.9), colors]
    eye = torch.tensor((2.5, 1.0, 2.5)).expand(case.frames, 3)
    camera = look_at(eye, torch.zeros(case.frames, 3), width=case.width, height=case.height, fov_y=0.6)
    return [leaf.requires_grad_() for leaf in leaves], camera


def _forward_backward(leaves: list[Tensor], camera: Camera, backend: str = "cpu") -> Rendered:
    for leaf in leaves:
        leaf.grad = None
    seen = rasterize(*leaves, camera, backend=backend)
    torch.autograd.backward((seen.image, seen.alpha, seen.depth), _pulls(camera.frame_count, camera.height, camera.width))
    return seen


@cache
def _pulls(*picture: int) -> tuple[Tensor, ...]:
    """What a loss would ask of every pixel: given, since computing a loss is not the rasteriser's work."""
    generator = torch.Generator().manual_seed(1)
    return tuple(torch.randn(*picture, *channels, generator=generator) for channels in ((3,), (), ()))


def _reference_seconds(case: Case) -> float:
    """Time of the reference on a part of the case, scaled to all of it, which is fair: its cost is pixels × splats."""
    leaves, camera = _scene(replace(case, frames=case.reference_frames))
    intrinsics = camera.intrinsics.clone()
    intrinsics[:, 1, 2] -= (case.height - case.reference_rows) / 2
    part = Camera(camera.world_to_camera, intrinsics, case.width, case.reference_rows)
    share = case.reference_frames / case.frames * case.reference_rows / case.height
    return _best(lambda: _forward_backward(leaves, part, "reference"), repeats=1) / share


def _blending_seconds(leaves: list[Tensor], camera: Camera) -> float:
    """Time within the two blending kernels, and of handing ellipses out to bands where there are several."""
    spent = [0.0]

    def timed(function: Callable) -> Callable:
        def call(*arguments):
            start = time.process_time()
            result = function(*arguments)
            spent[0] += time.process_time() - start
            return result

        return call

    best, cut = float("inf"), raster_cpu.cut_into_bands

    def hand_out(*arguments):
        bands = arguments[-1]
        return (timed(cut) if bands > 1 else cut)(*arguments)

    in_bands = patch.object(raster_cpu, "cut_into_bands", hand_out)
    with in_bands, _blending_by(timed(raster_cpu.blend), timed(raster_cpu.blend_backward)):
        for _ in range(7):
            spent[0] = 0.0
            _forward_backward(leaves, camera)
            best = min(best, spent[0])
    return best


def _blended(leaves: list[Tensor], camera: Camera) -> tuple[int, int]:
    """How many splat–pixel pairs are really blended, α ≥ 1/255 in an unfinished pixel, and in how many runs of eight at best."""
    counted = np.zeros(2, np.int64)

    def count(ellipses, top, bottom, *pictures):
        counted[:] += _count_blended(ellipses, top, bottom, camera.width)

    with _blending_by(count, raster_cpu.blend_backward):
        rasterize(*leaves, camera, backend="cpu")
    return int(counted[0]), int(counted[1])


@numba.njit
def _count_blended(ellipses, top, bottom, width):
    left, pairs, runs = np.ones((bottom, width), np.float32), 0, 0
    for e in ellipses:
        for row in range(max(top, int(e[Y] - e[HALF_HEIGHT])), min(bottom, int(e[Y] + e[HALF_HEIGHT]) + 1)):
            in_row = 0
            for column in range(max(0, int(e[X] - e[HALF_WIDTH])), min(width, int(e[X] + e[HALF_WIDTH]) + 1)):
                dx, dy = column + 0.5 - e[X], row + 0.5 - e[Y]
                alpha = e[OPACITY] * np.exp(-(e[XX] * dx * dx + e[YY] * dy * dy) / 2 - e[XY] * dx * dy)
                if alpha >= MIN_ALPHA and left[row, column] > 0:
                    in_row += 1
                    after = left[row, column] * (1 - min(alpha, MAX_ALPHA))
                    left[row, column] = after if after > MIN_TRANSMITTANCE else 0.0
            pairs += in_row
            runs += (in_row + WIDTH - 1) // WIDTH
    return pairs, runs


@numba.njit(nogil=True)
def _independent_operations(array, repetitions):
    """Ten chains of fused multiply–adds on eight SIMD lanes, which fill both units of a processor."""
    a, b, c, d, e = load(array, 0), load(array, 8), load(array, 16), load(array, 24), load(array, 32)
    f, g, h, i, j = a * 1.1, b * 1.1, c * 1.1, d * 1.1, e * 1.1
    m, s = broadcast(np.float32(0.999)), broadcast(np.float32(1e-3))
    for _ in range(repetitions):
        a, b, c, d, e = a * m + s, b * m + s, c * m + s, d * m + s, e * m + s
        f, g, h, i, j = f * m + s, g * m + s, h * m + s, i * m + s, j * m + s
    return horizontal_sum(a + b + c + d + e + f + g + h + i + j)


def _vector_operations_per_second() -> float:
    repetitions = 2_000_000
    _independent_operations(ARITHMETIC, 1)
    return 10 * repetitions / _best(lambda: _independent_operations(ARITHMETIC, repetitions), repeats=5)


def _best(work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    """Shortest of several runs after a first; processor time unless told otherwise, as other programs may be running."""
    if repeats > 1:
        work()
    return min(_seconds(work, clock) for _ in range(repeats))


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    yield
    torch.set_num_threads(before)


@contextmanager
def _blending_by(blend: Callable, blend_backward: Callable) -> Iterator[None]:
    """Other kernels in place of ours; everything before and after the blending stays, but is called step by step."""
    in_parts = patch.object(raster_cpu, "_is_whole", lambda *_: False)
    with in_parts, patch.object(raster_cpu, "blend", blend), patch.object(raster_cpu, "blend_backward", blend_backward):
        yield


def _tiled() -> AbstractContextManager[None]:
    return _blending_by(tiled_raster.blend, tiled_raster.blend_backward)
