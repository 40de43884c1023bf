"""The simulation as a function of torch tensors: a start and controls in, states over time out, gradients back."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.articulation import Articulation
from akd.errors import AkdError
from akd.physics.engine import engine_for, pack, unpack
from akd.physics.reference import up_in_root
from akd.physics.settings import Constants, PhysicsSettings, constants
from akd.physics.state import State


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
