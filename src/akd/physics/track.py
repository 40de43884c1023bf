"""Track a motion in simulation: find controls with which the body, under gravity and on its own feet, does the same.

Gradients of thousands of steps explode or lead nowhere once the body has fallen. So time is first cut into short windows
that all start in the target's own states and are simulated side by side; their controls are found quickly. Then windows
grow until one covers the whole clip: each stage starts from controls that already work nearly twice as long as before.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.creatures.puppet import puppet
from akd.errors import AkdError
from akd.measure.evaluate import evaluate
from akd.measure.evaluation import Evaluation
from akd.measure.trace import trace
from akd.measure.tracking import coordinate_error, joint_error, mechanical_work, upright_impulse
from akd.motion import Motion
from akd.physics.body import Body, body_from_rig
from akd.physics.effort import joint_torques, support_torques
from akd.physics.footlock import leg_length
from akd.physics.objective import Objective, Weights
from akd.physics.settings import PhysicsSettings, constants, suitable_substeps
from akd.physics.simulate import Rollout, between_frames, simulate
from akd.physics.state import State, pose_of, state_at_rest, with_velocity
from akd.physics.target import Target, TargetSettings, prepare
from akd.pose import Pose
from akd.rig import Rig
from akd.rotations import matrix_to_quaternion, quaternion_to_rotation_vector
from akd.skeleton import forward_kinematics

FAILED = 0.15
"""A whole clip tracked worse than this has fallen over or lost its way [ℓ]."""
CRUTCH = 1.0
"""The upright torque with which it is then tried again [m g ℓ/rad]."""
VELOCITY_RATE = 0.5
"""Learning rate of the initial velocity against that of the controls, in units of √(ℓ/g)."""
MOST_SUBSTEPS = 80
"""A simulation that comes apart is tried again with twice as many steps, up to this many per frame."""


@dataclass(frozen=True)
class TrackSettings:
    """How a motion is tracked."""

    windows: tuple[int, ...] = (4, 8, 16, 0)
    """Frames of the windows of each stage; 0 is the whole clip, and comes last."""
    iterations: tuple[int, ...] = (40, 40, 60, 200)
    """Steps of Adam in each stage."""
    rate: float = 0.02
    """Learning rate for windows of four frames [rad]; longer ones take smaller steps, with the root of their length."""
    cooling: float = 0.1
    """Share of the learning rate that is left at the end of each stage."""
    turn: float = 0.5
    """Weight of the bones' rotations against their positions; with too little, heads are spun to keep balance."""
    feet: float = 1.0
    """Weight of the soles' touching points; 0 leaves the paper's loss."""
    smooth: float = 0.2
    """λ3: weight of the change of controls from one to the next."""
    every: Literal["frame", "substep"] = "frame"
    """Are there controls at every frame, with straight lines between, or at every substep as in the paper?"""
    crutch: bool = True
    """Try once more with the virtual upright torque if the body falls without it."""
    target: TargetSettings = field(default_factory=TargetSettings)
    """How the target is mended before."""
    physics: PhysicsSettings = field(default_factory=PhysicsSettings)

    def __post_init__(self) -> None:
        if len(self.windows) != len(self.iterations) or not self.windows or self.windows[-1] != 0:
            raise AkdError(
                f"Windows {self.windows} and iterations {self.iterations} must be equally many, and the last window 0 (all)."
            )


PAPER = TrackSettings(
    windows=(0,), iterations=(200,), rate=0.01, cooling=1.0, feet=0.0, every="substep", crutch=False,
    target=TargetSettings(lock=False), physics=PhysicsSettings(substeps=100, upright=1.0),
)  # fmt: skip
"""AKD's own way: one window, controls at every substep, a virtual torque, no foot locking."""
RECIPES: dict[str, TrackSettings] = {"default": TrackSettings(), "paper": PAPER}


@dataclass(frozen=True, eq=False)
class TrackResult:
    """A simulated motion, how it was controlled, and how good it is."""

    motion: Motion
    """What the body did; joints that are not simulated move as in the target."""
    target: Target
    body: Body
    physics: PhysicsSettings
    controls: Float[np.ndarray, "time link 3"]
    """Angles the controllers aimed at, at frames or substeps [rad]."""
    start: State
    """Where the simulation started, and how fast."""
    torques: Float[np.ndarray, "step link 3"]
    """Of the controllers about the three axes of each joint [m g ℓ]."""
    upright: Float[np.ndarray, "step 3"]
    """The virtual torque [m g ℓ]; all zero without it."""
    losses: Float[np.ndarray, " iteration"]
    tracking_error: float
    """Mean distance of joints from the target [ℓ]."""
    turn_error: float
    """Mean angle between bones and their directions in the target [rad]: the twist of a head moves no joint."""
    coordinate_error: float
    upright_impulse: float
    """∫‖virtual torque‖ dt / (m g ℓ T)."""
    work: float
    """Mechanical work of the controllers per m g ℓ."""
    source_metrics: Evaluation
    """Of the motion as it was given."""
    target_metrics: Evaluation
    metrics: Evaluation
    """Of the simulated motion."""
    seconds: float
    notes: tuple[str, ...]


Watch = Callable[[Iterable[int], int], Iterable[int]]
"""Is handed the iterations and their number, to show how far it is."""


def track(
    rig: Rig, motion: Motion, settings: TrackSettings | None = None, *, from_file: bool = False,
    watch: Watch = lambda steps, count: steps,
) -> TrackResult:  # fmt: skip
    """Simulate a rig so that it follows a motion. ``from_file`` only says how the given motion is measured."""
    settings, begun = settings or TrackSettings(), time.perf_counter()
    body = body_from_rig(rig)
    target = prepare(rig, motion, settings.target)
    search = _Search(body, rig, target, settings)
    count = sum(settings.iterations) + (settings.iterations[-1] if settings.crutch else 0)
    steps = iter(watch(range(count), count))
    for window, iterations in zip(settings.windows, settings.iterations, strict=True):
        search.run(window, iterations, steps)
    if settings.crutch and search.best.error > FAILED and search.physics.upright == 0:
        search.notes.append(f"Without help the body fell ({search.best.error:.2f} ℓ off), so a virtual torque keeps it upright.")
        search.use_crutch()
        search.run(0, settings.iterations[-1], steps)
    list(steps)
    return _result(rig, motion, target, search, time.perf_counter() - begun, from_file)


class _Best(NamedTuple):
    """The best whole rollout so far."""

    loss: float
    error: float
    controls: Tensor
    start: State
    rollout: Rollout | None


class _Search:
    """The unknowns, what is known of the target, and the best found so far."""

    def __init__(self, body: Body, rig: Rig, target: Target, settings: TrackSettings) -> None:
        self.body, self.settings, self.fps = body, settings, target.motion.fps
        self.physics = suited(settings.physics, rig, body, self.fps)
        self.pose = target.motion.pose.to(torch.float32)
        self.objective = Objective.of(rig, body, self.pose, Weights(settings.turn, settings.feet))
        self.states = moving_states(body, self.pose, self.fps)
        c = constants(body, self.physics, self.fps)
        # A controller lags by k_d/k_e behind what it aims at, so it aims ahead.
        controls = self.states.angles + c.damping / c.stiffness * self.states.rates
        if settings.every == "substep":
            controls = between_frames(controls, self.physics.substeps)
        self.controls = controls.clone().requires_grad_()
        first = self.states[0]
        self.velocity = [part.clone().requires_grad_() for part in (first.velocity, first.spin, first.rates)]
        self.best = _Best(np.inf, np.inf, self.controls.detach(), first, None)
        self.losses: list[float] = []
        self.notes: list[str] = list(target.notes)

    def run(self, window: int, iterations: int, steps: Iterator[int]) -> None:
        """One stage: windows of so many frames, Adam with a learning rate that falls along a cosine."""
        frames = len(self.states.position) - 1
        window = min(window or frames, frames)
        rate = self.settings.rate * (4 / max(window, 4)) ** 0.5
        groups = [{"params": [self.controls]}, {"params": self.velocity}]
        optimiser = torch.optim.Adam(groups, lr=rate, betas=(0.9, 0.95))
        speed = VELOCITY_RATE * self.body.gravity**0.5
        unknowns = [self.controls, *self.velocity]
        before = [part.detach().clone() for part in unknowns]
        for step in range(iterations):
            next(steps, None)
            cooled = self.settings.cooling + (1 - self.settings.cooling) * (1 + np.cos(np.pi * step / iterations)) / 2
            for group, factor in zip(optimiser.param_groups, (1.0, speed), strict=True):
                group["lr"] = rate * cooled * factor
            optimiser.zero_grad()
            try:
                self._loss(window, frames).backward()
            except AkdError as error:
                with torch.no_grad():
                    for part, value in zip(unknowns, before, strict=True):
                        part.copy_(value)
                return self._after_trouble(error, window, iterations - step, steps)
            optimiser.step()

    def _after_trouble(self, error: AkdError, window: int, iterations: int, steps: Iterator[int]) -> None:
        """Keep what there is, or take smaller steps through time, or give up."""
        if self.best.rollout is not None:
            self.notes.append(f"Stopped early and kept the best so far. {error}")
            return
        if 2 * self.physics.substeps > MOST_SUBSTEPS or self.settings.every == "substep":
            raise error
        self.physics = replace(self.physics, substeps=2 * self.physics.substeps)
        self.notes.append(f"The simulation came apart, so it takes {self.physics.substeps} steps per frame.")
        self.run(window, iterations, steps)

    def use_crutch(self) -> None:
        """Begin again from the best controls, with the virtual torque."""
        self.physics = replace(self.physics, upright=CRUTCH)
        with torch.no_grad():
            self.controls.copy_(self.best.controls)
        self.best = self.best._replace(loss=np.inf, error=np.inf)

    def _loss(self, window: int, frames: int) -> Tensor:
        """Simulate all windows side by side and compare them with the target; whole clips may become the best."""
        at = _window_frames(window, frames)
        start = self._starts(at[0])
        every = self.settings.every
        controls = self.controls[at] if every == "frame" else self.controls[_substeps(at, self.physics.substeps)]
        rollout = simulate(self.body, start, controls, self.physics, self.fps, every=every)
        apart, error = self.objective(pose_of(self.body, rollout.frames, self.pose.angles[at]), at)
        loss = apart + self.settings.smooth * self.controls.diff(dim=0).abs().mean()
        value = float(loss.detach())
        self.losses.append(value)
        if window == frames and value < self.best.loss:
            kept = replace(
                rollout, states=rollout.states.detach()[:, 0], targets=rollout.targets.detach()[:, 0], exact=rollout.exact[:, 0]
            )
            self.best = _Best(value, error, self.controls.detach().clone(), start.detach()[0], kept)
        return loss

    def _starts(self, frames: Tensor) -> State:
        """The target's own states at the beginnings of windows; the clip's initial velocity is one of the unknowns."""
        known = self.states[frames]
        velocity, spin, rates = (
            torch.cat((free[None], part[1:]))
            for free, part in zip(self.velocity, (known.velocity, known.spin, known.rates), strict=True)
        )
        return State(known.position, known.rotation, known.angles, velocity, spin, rates)


def suited(physics: PhysicsSettings, rig: Rig, body: Body, fps: float) -> PhysicsSettings:
    """Controllers as strong as the legs are long: ℓ is how high a body stands, and a spider's legs are six times that.

    A leg of length L bears the weight on lever arms of that size, and swings in √(L/g): so k_e grows with L, k_d with L^{3/2}.
    """
    strings = puppet(rig)
    length = float(np.median([leg_length(strings, number) for number in range(len(strings.feet))]))
    return replace(
        physics, substeps=max(physics.substeps, suitable_substeps(body, fps)),
        stiffness=physics.stiffness * length, damping=physics.damping * length**1.5,
    )  # fmt: skip


def moving_states(body: Body, pose: Pose, fps: float) -> State:
    """The states of a motion at its frames, with velocities from its neighbours."""
    states = state_at_rest(body, pose)
    steps = with_velocity(states[:-1], states[1:], 1 / fps)

    def at_frames(rate: Tensor) -> Tensor:
        return torch.cat((rate[:1], (rate[1:] + rate[:-1]) / 2, rate[-1:]))

    return replace(
        states, velocity=at_frames(steps.velocity), spin=at_frames(steps.spin), rates=at_frames(steps.rates)
    )


def _window_frames(window: int, frames: int) -> Tensor:
    """The frame of each moment of each window, moments × windows; the last window may overlap the one before it."""
    starts = torch.arange(0, frames, window).clamp(max=frames - window)
    return starts + torch.arange(window + 1)[:, None]


def _substeps(at: Tensor, substeps: int) -> Tensor:
    """The steps between the frames of windows, steps × windows."""
    return (at[:-1, None] * substeps + torch.arange(substeps)[:, None]).flatten(0, 1)


def _turn_error(rig: Rig, simulated: Motion, target: Motion) -> float:
    here, there = (forward_kinematics(rig.skeleton, m.pose.to(torch.float64)).rotation for m in (simulated, target))
    return float(quaternion_to_rotation_vector(matrix_to_quaternion(there.transpose(-1, -2) @ here)).norm(dim=-1).mean())


def _result(rig: Rig, motion: Motion, target: Target, search: _Search, seconds: float, from_file: bool) -> TrackResult:
    best, body, fps = search.best, search.body, search.fps
    assert best.rollout is not None
    simulated = Motion(pose_of(body, best.rollout.frames, search.pose.angles), fps)
    seen, wanted = trace(rig, simulated), trace(rig, target.motion)
    torques, upright = ((part(best.rollout) / body.gravity).numpy() for part in (joint_torques, support_torques))
    speeds = best.rollout.states.rates[1:].flatten(1).numpy()
    return TrackResult(
        motion=simulated, target=target, body=body, physics=search.physics, controls=best.controls.numpy(), start=best.start,
        torques=torques, upright=upright, losses=np.array(search.losses),
        tracking_error=joint_error(seen.joints, wanted.joints),
        turn_error=_turn_error(rig, simulated, target.motion),
        coordinate_error=coordinate_error(seen.coordinates, wanted.coordinates),
        upright_impulse=upright_impulse(upright, 1.0),
        work=mechanical_work(torques.reshape(len(torques), -1), speeds, 1 / (fps * search.physics.substeps), 1.0),
        source_metrics=evaluate(rig, motion, from_file=from_file),
        target_metrics=evaluate(rig, target.motion, from_file=False),
        metrics=evaluate(rig, simulated, from_file=False), seconds=seconds, notes=tuple(search.notes),
    )  # fmt: skip
