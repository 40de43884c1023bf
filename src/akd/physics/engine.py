"""Launches of the kernel, forward and backward, on torch's own memory: nothing is copied.

A trajectory is one tensor, state × sample × numbers of a state, the six parts of ``State`` side by side: so what is
clipped and checked between chunks is one row of it. The scratch memory holds one chunk of steps and is kept for the next
simulation of the same body.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
import warp as wp
from jaxtyping import Float
from torch import Tensor

from akd.character.articulation import Articulation
from akd.physics import kernel
from akd.physics.settings import Constants
from akd.physics.state import State

Trajectory = Float[Tensor, "state sample number"]
PARTS = ("position", "rotation", "angles", "velocity", "spin", "rates")
START, COUNT = 6, 7
"""Places of the first step and the number of steps among the kernel's arguments."""
_engines: WeakKeyDictionary[Articulation, dict[tuple, "Engine"]] = WeakKeyDictionary()


def engine_for(body: Articulation, constants: Constants, chunk: int, targets: Float[Tensor, "step sample link 3"]) -> "Engine":
    """The engine that suits these targets' device and number of samples."""
    key = (constants, chunk, targets.device, targets.shape[1])
    known = _engines.setdefault(body, {})
    if key not in known:
        known[key] = Engine(body, constants, chunk, targets)
    return known[key]


class Engine:
    """One body's kernel for a number of samples side by side, with its scratch memory."""

    def __init__(self, body: Articulation, constants: Constants, chunk: int, like: Float[Tensor, "step sample link 3"]) -> None:
        self.device = wp.device_from_torch(like.device)
        self.sample_count, self.link_count, self.chunk = like.shape[1], body.link_count, chunk
        self.model = _model(body, self.device)
        self.world = kernel.World()
        for name, value in constants._asdict().items():
            setattr(self.world, name, value)
        kinds = {name: var.type.dtype for name, var in kernel.Work.vars.items()}  # type: ignore[attr-defined]
        rows = chunk * self.sample_count * (self.link_count + 1)  # one more link, for none: it stays zero
        self.scratch, self.d_scratch = like.new_zeros(2, rows * sum(kind._length_ for kind in kinds.values()))
        self.work = kernel.Work()
        sizes = [rows * kind._length_ for kind in kinds.values()]
        memory = zip(self.scratch.split(sizes), self.d_scratch.split(sizes), strict=True)
        for (name, kind), (cells, d_cells) in zip(kinds.items(), memory, strict=True):
            shape = (chunk, self.sample_count, self.link_count + 1, *kind._shape_)
            setattr(self.work, name, _array(cells.view(shape), kind, d_cells.view(shape)))

    def forward(self, up: Float[Tensor, "sample 3"], at: Trajectory, targets: Float[Tensor, "step sample link 3"]) -> None:
        """Fill a trajectory whose first row is given."""
        command = self._command(self._inputs(up, at, targets))
        for start, count in self._chunks(len(targets)):
            _launch(command, start, count)

    def backward(
        self, up: Float[Tensor, "sample 3"], at: Trajectory, targets: Float[Tensor, "step sample link 3"],
        d_at: Trajectory, d_targets: Float[Tensor, "step sample link 3"], between_chunks: Callable[[int], None],
    ) -> None:  # fmt: skip
        """Send ``d_at`` back in time and into ``d_targets``; ``between_chunks(step)`` is called when it has reached a step.

        Afterwards only row 0 of ``d_at`` is a gradient: the others have been passed on.
        """
        inputs = self._inputs(up, at, targets, d_at, d_targets)
        # Warp looks for the gradients of a struct's arrays in the arrays, and for those of an array here.
        adjoint = [kernel.Model(), kernel.World(), None, kernel.Trajectory(), inputs[4].grad, kernel.Work()]
        again, back = self._command(inputs), self._command(inputs, adjoint)
        for start, count in reversed(self._chunks(len(targets))):
            _launch(again, start, count)  # the scratch memory holds this chunk once more
            self.d_scratch.zero_()
            _launch(back, start, count)
            between_chunks(start)

    def _chunks(self, step_count: int) -> list[tuple[int, int]]:
        return [(start, min(self.chunk, step_count - start)) for start in range(0, step_count, self.chunk)]

    def _command(self, inputs: list, adjoint: list | None = None) -> wp.Launch:
        """A launch that can be repeated with another start and count for a fraction of the cost of a new one."""
        counts = [0, 0, self.link_count]
        return wp.launch(
            kernel.run, self.sample_count, inputs=inputs + counts, device=self.device, record_cmd=True,
            adj_inputs=adjoint + counts if adjoint else [], adjoint=bool(adjoint),
        )  # fmt: skip

    def _inputs(
        self, up: Tensor, at: Trajectory, targets: Tensor, d_at: Trajectory | None = None, d_targets: Tensor | None = None
    ) -> list:
        """The kernel's arguments up to the counts."""
        trajectory = kernel.Trajectory()
        parts = unpack(at, self.link_count)
        d_parts = [None] * len(PARTS) if d_at is None else list(unpack(d_at, self.link_count))
        for name, part, d_part in zip(PARTS, parts, d_parts, strict=True):
            setattr(trajectory, name, _array(part, kernel.quat if name == "rotation" else kernel.vec, d_part))
        return [self.model, self.world, _array(up, kernel.vec), trajectory, _array(targets, kernel.vec, d_targets), self.work]


def pack(state: State) -> Float[Tensor, "*batch number"]:
    """The parts of a state side by side."""
    batch = state.position.shape[:-1]
    return torch.cat([part.reshape(*batch, -1) for part in state], -1)


def unpack(numbers: Float[Tensor, "*batch number"], link_count: int) -> State:
    """Inverse of ``pack``: views, not copies."""
    parts = numbers.split([3, 4, 3 * link_count, 3, 3, 3 * link_count], -1)
    return State(*(part.unflatten(-1, (link_count, 3)) if k in (2, 5) else part for k, part in enumerate(parts)))


def _launch(command: wp.Launch, start: int, count: int) -> None:
    command.set_param_at_index_from_ctype(START, start)
    command.set_param_at_index_from_ctype(COUNT, count)
    command.launch()


def _array(values: Tensor, kind: type, gradient: Tensor | None = None) -> Any:
    """A tensor's own memory as an array of vectors or matrices, with the memory for its gradient."""
    if gradient is None:
        return wp.from_torch(values, kind, requires_grad=False)
    return wp.from_torch(values, kind, requires_grad=True, grad=wp.from_torch(gradient, kind, requires_grad=False))


def _model(body: Articulation, device: Any) -> Any:
    """A body's arrays on a device."""
    first_child, next_sibling = _family(body.parents)
    reach = np.zeros(body.link_count)
    np.maximum.at(reach, body.point_link, np.linalg.norm(body.points, axis=1))
    com = body.com
    steiner = (com**2).sum(1)[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
    point_start = np.searchsorted(body.point_link, np.arange(body.link_count + 1))
    arrays = {
        "parents": (body.parents, int), "first_child": (first_child, int), "next_sibling": (next_sibling, int),
        "offsets": (body.offsets, kernel.vec), "frames": (body.frames, kernel.mat),
        "mass": (body.mass, kernel.real), "com": (com, kernel.vec),
        "inertia": (body.inertia + body.mass[:, None, None] * steiner, kernel.mat),
        "points": (body.points, kernel.vec), "point_start": (point_start, int), "reach": (reach, kernel.real),
    }  # fmt: skip
    model = kernel.Model()
    for name, (values, kind) in arrays.items():
        setattr(model, name, wp.array(values.astype(np.int32) if kind is int else values, dtype=kind, device=device))
    model.anchored = int(body.anchored)
    return model


def _family(parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First child and next sibling of each link, the link after the last where there is none; siblings come later."""
    none = len(parents)
    first_child, next_sibling = np.full(none, none), np.full(none, none)
    for link in reversed(range(1, none)):
        next_sibling[link] = first_child[parents[link]]
        first_child[parents[link]] = link
    return first_child, next_sibling
