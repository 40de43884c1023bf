"""The simulation as a function of torch tensors: initial state and controls in, states over time out, gradients back.

Kernel launches, forward and backward, work on torch's own memory: nothing is copied.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import torch
import warp as wp
from jaxtyping import Float
from torch import Tensor

from akd.character.articulation import Articulation
from akd.errors import AkdError
from akd.physics import kernel
from akd.physics.reference import up_in_root
from akd.physics.settings import Constants, PhysicsSettings, State, constants

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


@dataclass(frozen=True, eq=False)
class Rollout:
    """A simulated motion, step by step."""

    states: State
    """Before every step and after the last: the first axis has one more than there are steps."""
    targets: Float[Tensor, "step *batch link 3"]
    """Target angles of the PD controllers in every step [rad]."""
    substeps: int
    """Steps per frame."""
    constants: Constants
    """The world it happened in."""
    exact: State
    """The states in double precision, without gradients: forces are small differences of large packed."""

    @property
    def frames(self) -> State:
        """The states at the frames."""
        return self.states[:: self.substeps]

    def until(self, frame: int) -> "Rollout":
        """The part up to this frame."""
        steps = frame * self.substeps
        kept = slice(0, steps + 1)
        return replace(self, states=self.states[kept], targets=self.targets[:steps], exact=self.exact[kept])


def simulate(
    body: Articulation,
    start: State,
    controls: Float[Tensor, "time *batch link 3"],
    settings: PhysicsSettings,
    fps: float,
    *,
    every: Literal["frame", "substep"] = "frame",
) -> Rollout:
    """Simulate a body for as long as there are controls. Differentiable in the start and in the controls.

    ``controls`` are the controllers' target angles: at every frame, the first one included, with straight lines in between,
    or for every substep. Row 0 (the root) is not used. Batch axes are independent samples. Computed in
    double precision, returned in that of the start.
    """
    targets = between_frames(controls, settings.substeps) if every == "frame" else controls
    batch = start.position.shape[:-1]
    if targets.shape[1:] != (*batch, body.link_count, 3):
        raise AkdError(
            f"Controls of shape {tuple(controls.shape)} do not fit a start of shape {tuple(batch)} and {body.link_count} links."
        )
    _check_inputs(body, start, targets, settings)
    samples = targets.reshape(len(targets), -1, body.link_count, 3).double().contiguous()
    packed = _Simulation.apply(body, settings, fps, samples, pack(start).reshape(samples.shape[1], -1).double())
    exact = unpack(packed.reshape(len(packed), *batch, -1), body.link_count)
    states = exact.to(start.position.dtype)
    return Rollout(states, targets, settings.substeps, constants(body, settings, fps), exact.detach())


def between_frames(controls: Float[Tensor, "frame *batch link 3"], substeps: int) -> Float[Tensor, "step *batch link 3"]:
    """Values at the end of every substep, on straight lines between those at the frames."""
    u = torch.arange(1, substeps + 1, dtype=controls.dtype, device=controls.device) / substeps
    u = u.reshape(-1, *[1] * (controls.ndim - 1))
    return (controls[:-1, None] + u * (controls[1:, None] - controls[:-1, None])).flatten(0, 1)


class _Simulation(torch.autograd.Function):
    """Targets and packed initial states → packed states over time, over one axis of samples."""

    @staticmethod
    def forward(ctx, body: Articulation, settings: PhysicsSettings, fps: float, targets: Tensor, start: Tensor):
        engine = engine_for(body, constants(body, settings, fps), settings.chunk, targets)
        states = start.new_empty(len(targets) + 1, *start.shape)
        states[0] = start
        up = up_in_root(unpack(start, body.link_count)).contiguous()
        engine.forward(up, states, targets)
        _check(body, settings, unpack(states, body.link_count))
        ctx.save_for_backward(targets, up, states)
        ctx.body, ctx.settings, ctx.engine = body, settings, engine
        return states

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, d_out: Tensor):
        targets, up, states = ctx.saved_tensors
        settings: PhysicsSettings = ctx.settings
        d_states, d_targets = d_out.clone(memory_format=torch.contiguous_format), torch.zeros_like(targets)

        def between_chunks(step: int) -> None:
            norm = d_states[step].norm(dim=-1)
            if not bool(torch.isfinite(norm).all()):
                raise _not_finite(ctx.body, settings, unpack(d_states[step], ctx.body.link_count), step)
            if settings.clip_mode == "chunk" and step > 0:
                d_states[step] *= _clip_factor(norm, settings.clip_norm)[:, None]

        ctx.engine.backward(up, states, targets, d_states, d_targets, between_chunks)
        d_start = d_states[0]
        if settings.clip_mode == "global":
            norm = (d_targets.square().sum((0, 2, 3)) + d_start.square().sum(-1)).sqrt()
            scale = _clip_factor(norm, settings.clip_norm)
            d_targets, d_start = d_targets * scale[:, None, None], d_start * scale[:, None]
        return None, None, None, d_targets, d_start


def _clip_factor(norm: Tensor, limit: float) -> Tensor:
    """The factor that brings a vector of this norm within the limit."""
    return (limit / norm.clamp(min=1e-12)).clamp(max=1)


def _check(body: Articulation, settings: PhysicsSettings, states: State) -> None:
    """Raise at the first number that is not finite, naming frame and bone."""
    if all(bool(torch.isfinite(part[-1]).all()) for part in states):  # what is not finite once stays so
        return
    finite = torch.stack([torch.isfinite(part).flatten(1).all(1) for part in states]).all(0)
    step = int(finite.logical_not().nonzero()[0])
    before = states.rates[max(step - 1, 0)].norm(dim=-1).reshape(-1, body.link_count)
    fastest = body.names[int(before.amax(0).argmax())]
    raise AkdError(
        f"The simulation came apart in frame {(step - 1) // settings.substeps}, where bone {fastest}"
        f" turned fastest: use more substeps than {settings.substeps} or targets that move less abruptly."
    )


def _check_inputs(body: Articulation, start: State, targets: Tensor, settings: PhysicsSettings) -> None:
    """Raise if the start or a control is not finite: then the input is at fault, not the simulation."""
    if not all(bool(torch.isfinite(part).all()) for part in start):
        raise AkdError("The state to start from contains packed that are not finite: mend the first frame.")
    if not bool(torch.isfinite(targets).all()):
        step, *_, link, _ = torch.isfinite(targets).logical_not().nonzero()[0].tolist()
        raise AkdError(f"The controls are not finite in frame {step // settings.substeps} at bone {body.names[link]}.")


def _not_finite(body: Articulation, settings: PhysicsSettings, gradient: State, step: int) -> AkdError:
    """The error for a gradient that exploded."""
    bad = torch.isfinite(gradient.angles + gradient.rates).logical_not().any(-1).any(0)
    name = body.names[int(bad.nonzero()[0]) if bad.any() else 0]
    return AkdError(
        f"The gradient is not finite at frame {step // settings.substeps}, bone {name}: use a smaller chunk than"
        f" {settings.chunk} steps, a smaller clip than {settings.clip_norm}, or more substeps."
    )
