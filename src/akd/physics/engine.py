"""Bodies, trajectories and scratch memory as the kernel wants them, and launches forward and backward.

Trajectories are torch tensors that Warp writes into; nothing is copied. The scratch memory holds one chunk of steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import zip_longest
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
import warp as wp
from torch import Tensor

from akd.physics.body import Body
from akd.physics.kernel import Kernels, kernels
from akd.physics.settings import Constants
from akd.physics.state import State

Parts = Sequence[Tensor]
"""The six tensors of a ``State`` over steps and samples: step × sample (× link) × components."""

PARTS = tuple(field.name for field in fields(State))
_models: WeakKeyDictionary[Body, dict] = WeakKeyDictionary()


class Engine:
    """One body's kernel, for a number of samples side by side, in the precision and on the device of a tensor."""

    def __init__(self, body: Body, constants: Constants, like: Tensor, sample_count: int, chunk: int) -> None:
        self.kernels = kernels(like.dtype == torch.float64)
        self.device = wp.device_from_torch(like.device)
        self.body, self.sample_count, self.chunk = body, sample_count, chunk
        self.model = _model(body, self.kernels, like, self.device)
        self.world = self.kernels.World()
        for name, value in constants._asdict().items():
            setattr(self.world, name, value)
        self.like = like
        self.rows = chunk * sample_count * (body.link_count + 1)

    def forward(self, up: Tensor, at: Parts, targets: Tensor) -> None:
        """Fill a trajectory whose first row is given."""
        inputs = self._inputs(up, at, targets, self._scratch())
        for start, count in self._chunks(len(targets)):
            self._launch(inputs, start, count)

    def backward(
        self, up: Tensor, at: Parts, targets: Tensor, d_at: Parts, d_targets: Tensor, between_chunks: Callable[[int], None]
    ) -> None:
        """Send ``d_at`` back in time and into ``d_targets``; ``between_chunks(step)`` is called when it has reached a step.

        Afterwards only row 0 of ``d_at`` is a gradient: the others have been passed on.
        """
        scratch = self._scratch()
        d_scratch = torch.zeros_like(scratch)
        inputs = self._inputs(up, at, targets, scratch, (d_at, d_targets, d_scratch))
        k = self.kernels
        # Warp looks for the gradients of a struct's arrays in the arrays, and for those of an array here.
        adjoint = [k.Model(), k.World(), None, k.Trajectory(), inputs[4].grad, k.Work()]
        for start, count in reversed(self._chunks(len(targets))):
            self._launch(inputs, start, count)  # the scratch memory holds this chunk again
            d_scratch.zero_()
            self._launch(inputs, start, count, adjoint)
            between_chunks(start)

    def _chunks(self, step_count: int) -> list[tuple[int, int]]:
        return [(start, min(self.chunk, step_count - start)) for start in range(0, step_count, self.chunk)]

    def _launch(self, inputs: list, start: int, count: int, adjoint: list | None = None) -> None:
        counts = [start, count, self.body.link_count]
        wp.launch(
            self.kernels.run, self.sample_count, inputs=inputs + counts, device=self.device,
            adj_inputs=adjoint + counts if adjoint else [], adjoint=bool(adjoint),
        )  # fmt: skip

    def _inputs(
        self, up: Tensor, at: Parts, targets: Tensor, scratch: Tensor, gradients: tuple[Parts, Tensor, Tensor] | None = None
    ) -> list:
        """The kernel's arguments up to the counts."""
        k = self.kernels
        d_at, d_targets, d_scratch = gradients or ((), None, None)
        trajectory, work = k.Trajectory(), k.Work()
        for name, part, d_part in zip_longest(PARTS, at, d_at):
            setattr(trajectory, name, _array(part, k.quat if name == "rotation" else k.vec, d_part))
        d_cells = [] if d_scratch is None else self._cells(d_scratch)
        for name, kind, cells, d_cell in zip_longest(k.Work.vars, self._kinds(), self._cells(scratch), d_cells):
            setattr(work, name, _array(cells, kind, d_cell))
        return [self.model, self.world, _array(up, k.vec), trajectory, _array(targets, k.vec, d_targets), work]

    def _scratch(self) -> Tensor:
        """Memory for what one chunk of steps computes."""
        return self.like.new_zeros(self.rows * sum(kind._length_ for kind in self._kinds()))

    def _cells(self, memory: Tensor) -> list[Tensor]:
        """The arrays of ``Work`` in it: step × sample × link (and one for none) × vector or matrix."""
        shape = (self.chunk, self.sample_count, self.body.link_count + 1)
        parts = memory.split([self.rows * kind._length_ for kind in self._kinds()])
        return [part.view(*shape, *kind._shape_) for part, kind in zip(parts, self._kinds(), strict=True)]

    def _kinds(self) -> list:
        """The vector or matrix type of each array of ``Work``."""
        return [var.type.dtype for var in self.kernels.Work.vars.values()]


def _array(values: Tensor, kind: type, gradient: Tensor | None = None) -> Any:
    """A tensor's own memory as an array of vectors or matrices, with the memory for its gradient."""
    if gradient is None:
        return wp.from_torch(values, kind, requires_grad=False)
    return wp.from_torch(values, kind, requires_grad=True, grad=wp.from_torch(gradient, kind, requires_grad=False))


def _model(body: Body, k: Kernels, like: Tensor, device) -> object:
    """A body's arrays on a device, made once."""
    known = _models.setdefault(body, {})
    key = (like.dtype, str(device))
    if key not in known:
        model = k.Model()
        first_child, next_sibling = _family(body.parents)
        start = np.searchsorted(body.point_link, np.arange(body.link_count + 1))
        reach = np.zeros(body.link_count)
        np.maximum.at(reach, body.point_link, np.linalg.norm(body.points, axis=1))
        for name, values in (
            ("parents", body.parents), ("first_child", first_child), ("next_sibling", next_sibling), ("point_start", start)
        ):  # fmt: skip
            setattr(model, name, wp.array(values.astype(np.int32), dtype=int, device=device))
        for name, values, kind in (
            ("offsets", body.offsets, k.vec), ("frames", body.frames, k.mat), ("mass", body.mass, k.real),
            ("com", body.com, k.vec), ("inertia", _about_joints(body), k.mat), ("points", body.points, k.vec),
            ("reach", reach, k.real),
        ):  # fmt: skip
            setattr(model, name, wp.array(values, dtype=kind, device=device))
        model.anchored = int(body.anchored)
        known[key] = model
    return known[key]


def _about_joints(body: Body) -> np.ndarray:
    """Inertias moved from the centres of mass to the joints."""
    com = body.com
    steiner = (com**2).sum(1)[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
    return body.inertia + body.mass[:, None, None] * steiner


def _family(parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First child and next sibling of each link, the link after the last where there is none; a sibling has the higher number."""
    none = len(parents)
    first_child, next_sibling = np.full(none, none), np.full(none, none)
    for link in reversed(range(1, len(parents))):
        next_sibling[link] = first_child[parents[link]]
        first_child[parents[link]] = link
    return first_child, next_sibling
