"""Launches of the kernel, forward and backward, on torch's own memory: nothing is copied.

Packed states are one tensor, state × sample × numbers of a state, the six parts of ``State`` side by side: so what is
clipped and checked between chunks is one row of it. The scratch memory holds one chunk of steps and is reused by the next
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

PackedStates = Float[Tensor, "state sample number"]
PARTS = ("position", "rotation", "angles", "velocity", "spin", "rates")
START_ARGUMENT, COUNT_ARGUMENT = 6, 7
"""Positions of the first step and of the number of steps among the kernel's arguments."""
_engines: WeakKeyDictionary[Articulation, dict[tuple, "Engine"]] = WeakKeyDictionary()


def engine_for(body: Articulation, constants: Constants, chunk: int, targets: Float[Tensor, "step sample link 3"]) -> "Engine":
    """The cached engine for these targets' device and number of samples."""
    key = (constants, chunk, targets.device, targets.shape[1])
    engines = _engines.setdefault(body, {})
    if key not in engines:
        engines[key] = Engine(body, constants, chunk, targets)
    return engines[key]


class Engine:
    """One body's kernel for a number of samples side by side, with its scratch memory."""

    def __init__(
        self, body: Articulation, constants: Constants, chunk: int, targets: Float[Tensor, "step sample link 3"]
    ) -> None:
        self.device = wp.device_from_torch(targets.device)
        self.sample_count, self.link_count, self.chunk = targets.shape[1], body.link_count, chunk
        self.model = _model(body, self.device)
        self.world = kernel.World()
        for name, value in constants._asdict().items():
            setattr(self.world, name, value)
        types = {name: var.type.dtype for name, var in kernel.Work.vars.items()}  # type: ignore[attr-defined]
        rows = chunk * self.sample_count * (self.link_count + 1)  # one more link stands for "none" and stays zero
        self.scratch, self.d_scratch = targets.new_zeros(2, rows * sum(dtype._length_ for dtype in types.values()))
        self.work = kernel.Work()
        sizes = [rows * dtype._length_ for dtype in types.values()]
        memory = zip(self.scratch.split(sizes), self.d_scratch.split(sizes), strict=True)
        for (name, dtype), (values, d_values) in zip(types.items(), memory, strict=True):
            shape = (chunk, self.sample_count, self.link_count + 1, *dtype._shape_)
            setattr(self.work, name, _array(values.view(shape), dtype, d_values.view(shape)))

    def forward(self, up: Float[Tensor, "sample 3"], states: PackedStates, targets: Float[Tensor, "step sample link 3"]) -> None:
        """Fill packed states whose first row is given."""
        command = self._command(self._inputs(up, states, targets))
        for start, count in self._chunks(len(targets)):
            _launch(command, start, count)

    def backward(
        self, up: Float[Tensor, "sample 3"], states: PackedStates, targets: Float[Tensor, "step sample link 3"],
        d_states: PackedStates, d_targets: Float[Tensor, "step sample link 3"], between_chunks: Callable[[int], None],
    ) -> None:  # fmt: skip
        """Propagate ``d_states`` back in time and into ``d_targets``; calls ``between_chunks(step)`` at the start of every chunk.

        Afterwards only row 0 of ``d_states`` is a gradient: the others have been passed on.
        """
        inputs = self._inputs(up, states, targets, d_states, d_targets)
        # Warp looks for the gradients of a struct's arrays in the arrays, and for those of an array here.
        adjoint = [kernel.Model(), kernel.World(), None, kernel.States(), inputs[4].grad, kernel.Work()]
        replay, adjoint_launch = self._command(inputs), self._command(inputs, adjoint)
        for start, count in reversed(self._chunks(len(targets))):
            _launch(replay, start, count)  # the scratch memory holds this chunk once more
            self.d_scratch.zero_()
            _launch(adjoint_launch, start, count)
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
        self, up: Tensor, states: PackedStates, targets: Tensor, d_states: PackedStates | None = None,
        d_targets: Tensor | None = None,
    ) -> list:  # fmt: skip
        """The kernel's arguments up to the counts."""
        state_arrays = kernel.States()
        parts = unpack(states, self.link_count)
        d_parts = [None] * len(PARTS) if d_states is None else list(unpack(d_states, self.link_count))
        for name, part, d_part in zip(PARTS, parts, d_parts, strict=True):
            setattr(state_arrays, name, _array(part, kernel.quat if name == "rotation" else kernel.vec, d_part))
        return [self.model, self.world, _array(up, kernel.vec), state_arrays, _array(targets, kernel.vec, d_targets), self.work]


def pack(state: State) -> Float[Tensor, "*batch number"]:
    """The parts of a state side by side."""
    batch = state.position.shape[:-1]
    return torch.cat([part.reshape(*batch, -1) for part in state], -1)


def unpack(numbers: Float[Tensor, "*batch number"], link_count: int) -> State:
    """Inverse of ``pack``: views, not copies."""
    parts = numbers.split([3, 4, 3 * link_count, 3, 3, 3 * link_count], -1)
    return State(*(part.unflatten(-1, (link_count, 3)) if k in (2, 5) else part for k, part in enumerate(parts)))


def _launch(command: wp.Launch, start: int, count: int) -> None:
    command.set_param_at_index_from_ctype(START_ARGUMENT, start)
    command.set_param_at_index_from_ctype(COUNT_ARGUMENT, count)
    command.launch()


def _array(values: Tensor, dtype: type, gradient: Tensor | None = None) -> Any:
    """A tensor's own memory as an array of vectors or matrices, with the memory for its gradient."""
    if gradient is None:
        return wp.from_torch(values, dtype, requires_grad=False)
    return wp.from_torch(values, dtype, requires_grad=True, grad=wp.from_torch(gradient, dtype, requires_grad=False))


def _model(body: Articulation, device: Any) -> Any:
    """A body's arrays on a device."""
    first_child, next_sibling = _tree(body.parents)
    contact_radius = np.zeros(body.link_count)
    np.maximum.at(contact_radius, body.point_link, np.linalg.norm(body.points, axis=1))
    com = body.com
    steiner = (com**2).sum(1)[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
    point_start = np.searchsorted(body.point_link, np.arange(body.link_count + 1))
    arrays = {
        "parents": (body.parents, int), "first_child": (first_child, int), "next_sibling": (next_sibling, int),
        "offsets": (body.offsets, kernel.vec), "frames": (body.frames, kernel.mat),
        "mass": (body.mass, kernel.real), "com": (com, kernel.vec),
        "inertia": (body.inertia + body.mass[:, None, None] * steiner, kernel.mat),
        "points": (body.points, kernel.vec), "point_start": (point_start, int), "contact_radius": (contact_radius, kernel.real),
    }  # fmt: skip
    model = kernel.Model()
    for name, (values, dtype) in arrays.items():
        setattr(model, name, wp.array(values.astype(np.int32) if dtype is int else values, dtype=dtype, device=device))
    model.anchored = int(body.anchored)
    return model


def _tree(parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First child and next sibling of each link, the link after the last where there is none; siblings come later."""
    none = len(parents)
    first_child, next_sibling = np.full(none, none), np.full(none, none)
    for link in reversed(range(1, none)):
        next_sibling[link] = first_child[parents[link]]
        first_child[parents[link]] = link
    return first_child, next_sibling
