"""The search for controls with which a body follows a target.

Gradients of thousands of steps explode, or lead nowhere once the body has fallen. So there are three stages:

1. *Windows.* Time is cut into windows of a few frames, which all start in the target's own states and are simulated side by
   side. Gradients quickly find the controls that carry the weight.
2. *Receding horizon.* Frame by frame from the state the *simulation* has reached, Gauss–Newton steps on the controls of the
   next frames. An error of one frame is corrected in the next, and balance is found over clips of any length.
3. *The whole.* All controls and the initial velocity together, by gradients, warm-started with the result of stage 2.

The loss is the differentiable part of a good motion. Which rollout is found is decided by a cost of the motion itself
(``RolloutCost``), and the last two stages are repeated from where they ended until that cost is zero.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.adam import Adam
from akd.character.articulation import Articulation
from akd.character.limb_model import limb_model
from akd.contact.foot_lock import typical_leg
from akd.contact.prepare import Target
from akd.errors import AkdError
from akd.physics.objective import Objective, Weights
from akd.physics.settings import PhysicsSettings, State, constants, pose_of, state_at_rest, suitable_substeps, with_velocity
from akd.physics.simulate import Rollout, between_frames, simulate
from akd.physics.track_settings import TrackSettings
from akd.rig import Rig
from akd.skeleton import Pose

VELOCITY_RATE = 0.5
"""Learning rate of the initial velocity against that of the controls, in units of √(ℓ/g)."""
MAX_SUBSTEPS = 80
"""A simulation that diverges is repeated with twice as many substeps, up to this many per frame."""
HORIZON, MIN_HORIZON_FRAMES, MAX_HORIZON_FRAMES = 0.5, 2, 8
"""Length of the receding horizon, in the time √(L/g) in which legs of length L swing; in frames, within these bounds."""
FINITE_DIFFERENCE = 1e-4
"""Step of the finite differences of the Jacobian [rad]."""
CHANGE_COST = 0.002
"""Damping of Gauss–Newton: cost of a change of one radian, against squared distances [ℓ²]."""
EVALUATE_EVERY = 3
"""One in so many steps on the whole clip computes the rollout's cost, which takes a third of a step."""
LINE_SEARCH = (1.0, 0.5, 0.25, 0.1, 0.0)
"""Shares of a Gauss–Newton step that the line search compares."""
RolloutCost = Callable[[Rollout], float]
"""By how much a whole rollout exceeds the tolerances; 0 is good enough."""


class BestRollout(NamedTuple):
    """The best whole rollout so far: that of the least cost, and of equal costs that of the least loss."""

    cost: float
    loss: float
    error: float
    controls: Tensor
    start: State
    rollout: Rollout | None


class Search:
    """The unknowns (controls, initial velocity), the target's states, and the best rollout found so far."""

    def __init__(
        self, body: Articulation, rig: Rig, target: Target, settings: TrackSettings,
        rollout_cost: RolloutCost = lambda rollout: 0.0,
    ) -> None:  # fmt: skip
        self.body, self.settings, self.fps, self.rollout_cost = body, settings, target.motion.fps, rollout_cost
        self.leg = typical_leg(limb_model(rig))
        self.physics = scaled_to_leg(settings.physics, self.leg, body, self.fps)
        self.pose = target.motion.pose.to(torch.float64)
        weights = Weights(
            settings.rotation_weight, settings.sole_weight, settings.velocity_weight * self.fps / body.gravity**0.5,
            settings.slip_weight * self.fps, settings.clearance_weight,
        )  # fmt: skip
        self.objective = Objective.of(rig, body, self.pose, target.stance, weights)
        self.states = moving_states(body, self.pose, self.fps)
        self.frame_count = len(self.pose.root_position) - 1
        """Frames to simulate: all but the first."""
        c = constants(body, self.physics, self.fps)
        # A PD controller lags by k_d/k_e behind its target, so the target is set ahead.
        controls = self.states.angles + c.damping / c.stiffness * self.states.rates
        if settings.every == "substep":
            controls = between_frames(controls, self.physics.substeps)
        self.controls = controls.clone().requires_grad_()
        first = self.states[0]
        self.velocity = [part.clone().requires_grad_() for part in (first.velocity, first.spin, first.rates)]
        self.best = BestRollout(math.inf, math.inf, math.inf, self.controls.detach(), first, None)
        self.losses: list[float] = []
        self.notes: list[str] = list(target.notes)

    def windows(self, window: int, iterations: int, steps: Iterator[int]) -> None:
        """Improve the controls of all windows of so many frames side by side; one window as long as the clip is the whole."""
        window = min(window, self.frame_count)
        at = window_frames(window, self.frame_count)
        unknowns = [self.controls, *self.velocity]
        of_controls, of_velocity = (Adam(part, betas=(0.9, 0.95)) for part in ([self.controls], self.velocity))
        before = [part.detach().clone() for part in unknowns]
        for step in range(iterations):
            next(steps, None)
            of_controls.zero_grad()
            of_velocity.zero_grad()
            try:
                self._loss(at, with_cost=step % EVALUATE_EVERY == 0 or step == iterations - 1).backward()
            except AkdError as error:
                with torch.no_grad():
                    for part, value in zip(unknowns, before, strict=True):
                        part.copy_(value)
                if self.best.rollout is not None:
                    self.notes.append(f"Stopped early and kept the best so far. {error}")
                    return
                self._double_substeps(error)
                return self.windows(window, iterations - step, steps)
            rate = self._rate(window, step / iterations)
            of_controls.step(rate)
            of_velocity.step(rate * (VELOCITY_RATE * self.body.gravity**0.5))

    def follow(self, iterations: int, steps: Iterator[int]) -> None:
        """Go through the clip once with a receding horizon, at every frame from the state the simulation has reached."""
        horizon = horizon_frames(self.leg, self.body.gravity, self.fps)
        saved, state = self.controls.detach().clone(), self._starts(torch.zeros(1, dtype=torch.long)).detach()[0]
        for frame in range(self.frame_count):
            at = torch.arange(frame, min(frame + horizon, self.frame_count) + 1)
            try:
                for _ in range(iterations):
                    next(steps, None)
                    after = self._gauss_newton_step(state, at)
            except AkdError as error:
                with torch.no_grad():
                    self.controls.copy_(saved)
                self._double_substeps(error)
                return self.follow(iterations, steps)
            state = after

    @torch.no_grad()
    def _gauss_newton_step(self, state: State, at: Int[Tensor, " moment"]) -> State:
        """One Gauss–Newton step with line search on a common change of all controls of the horizon; the state one frame on.

        The Jacobian is simulated with half the substeps, residuals and line search with all of them.
        """
        controls = self.controls[at]
        basis = torch.eye(3 * self.body.link_count, dtype=controls.dtype)[3:].reshape(-1, self.body.link_count, 3)
        unchanged, coarse = torch.zeros_like(basis[:1]), max(self.physics.substeps // 2, 1)
        perturbed, _ = self._residuals(state, controls, torch.cat((unchanged, FINITE_DIFFERENCE * basis)), at, coarse)
        now, _ = self._residuals(state, controls, unchanged, at, self.physics.substeps)
        jacobian = (perturbed[1:] - perturbed[0]) / FINITE_DIFFERENCE
        normal = jacobian @ jacobian.T + CHANGE_COST * torch.eye(len(basis), dtype=basis.dtype)
        change = torch.linalg.solve(normal, -(jacobian @ now[0]))
        changes = torch.tensor(LINE_SEARCH, dtype=basis.dtype)[:, None, None] * (change[:, None, None] * basis).sum(0)
        residuals, reached = self._residuals(state, controls, changes, at, self.physics.substeps)
        best = int((residuals.square().sum(1) + CHANGE_COST * changes.square().sum((1, 2))).argmin())
        self.controls[at[1:]] += changes[best]
        return reached[best]

    def _residuals(
        self, state: State, controls: Float[Tensor, "moment link 3"], changes: Float[Tensor, "trial link 3"],
        at: Int[Tensor, " moment"], substeps: int,
    ) -> tuple[Float[Tensor, "trial residual"], State]:  # fmt: skip
        """Residuals against the target after each of several changes of the controls, and the states one frame on."""
        trials = controls[:, None] + torch.cat((torch.zeros_like(changes)[None], changes.expand(len(at) - 1, *changes.shape)))
        start = State(*(part.expand(len(changes), *part.shape) for part in state))
        rollout = simulate(self.body, start, trials, replace(self.physics, chunk=1, substeps=substeps), self.fps)
        moments = at[:, None].expand(-1, len(changes))
        return self.objective.residuals(self._pose(rollout, moments), moments), rollout.frames[1]

    def use_assist_torque(self, stiffness: float) -> None:
        """Begin again from the best controls, with the assist torque."""
        self.physics = replace(self.physics, assist_stiffness=stiffness)
        with torch.no_grad():
            self.controls.copy_(self.best.controls)
        self.best = self.best._replace(cost=math.inf, loss=math.inf, error=math.inf)

    def _rate(self, frames: int, done: float) -> float:
        """The learning rate of the controls: a cosine over the stage, smaller for longer windows."""
        settings = self.settings
        rate = settings.rate * (4 / max(frames, 4)) ** 0.5 * (settings.whole_rate_share if frames == self.frame_count else 1.0)
        return rate * (settings.final_rate_share + (1 - settings.final_rate_share) * (1 + math.cos(math.pi * done)) / 2)

    def _double_substeps(self, error: AkdError) -> None:
        """After a simulation that diverged: twice as many substeps, or raise its error."""
        if 2 * self.physics.substeps > MAX_SUBSTEPS or self.settings.every == "substep":
            raise error
        self.physics = replace(self.physics, substeps=2 * self.physics.substeps)
        self.notes.append(f"The simulation came apart, so it takes {self.physics.substeps} steps per frame.")

    def _loss(self, at: Int[Tensor, "moment window"], *, with_cost: bool) -> Float[Tensor, ""]:
        """Simulate all windows side by side and compare them with the target; a whole clip ``with_cost`` may become the best."""
        start, every = self._starts(at[0]), self.settings.every
        controls = self.controls[at] if every == "frame" else self.controls[_substeps(at, self.physics.substeps)]
        rollout = simulate(self.body, start, controls, self.physics, self.fps, every=every)
        distance, error = self.objective(self._pose(rollout, at), at)
        loss = distance + self.settings.smoothness_weight * self.controls.diff(dim=0).abs().mean()
        value = float(loss.detach())
        self.losses.append(value)
        if at.shape[1] == 1 and with_cost:
            found = replace(
                rollout, states=rollout.states.detach()[:, 0], targets=rollout.targets.detach()[:, 0], exact=rollout.exact[:, 0]
            )
            cost = self.rollout_cost(found)
            if (cost, value) < self.best[:2]:
                self.best = BestRollout(cost, value, error, self.controls.detach().clone(), start.detach()[0], found)
        return loss

    def _pose(self, rollout: Rollout, at: Int[Tensor, "moment window"]) -> Pose:
        return pose_of(self.body, rollout.frames, self.pose.angles[at])

    def _starts(self, frames: Int[Tensor, " window"]) -> State:
        """The target's own states at the beginnings of windows; the clip's initial velocity is one of the unknowns."""
        given = self.states[frames]
        velocity, spin, rates = (
            torch.cat((free[None], part[1:]))
            for free, part in zip(self.velocity, (given.velocity, given.spin, given.rates), strict=True)
        )
        return State(given.position, given.rotation, given.angles, velocity, spin, rates)


def horizon_frames(leg: float, gravity: float, fps: float) -> int:
    """Frames of the receding horizon."""
    return min(max(round(HORIZON * fps * (leg / gravity) ** 0.5), MIN_HORIZON_FRAMES), MAX_HORIZON_FRAMES)


def scaled_to_leg(physics: PhysicsSettings, leg: float, body: Articulation, fps: float) -> PhysicsSettings:
    """The settings with PD gains scaled to the length of the legs, and enough substeps for the body.

    A leg of length L bears the weight on lever arms of that size, and swings in √(L/g): so k_e grows with L, k_d with L^{3/2}.
    """
    return replace(
        physics, substeps=max(physics.substeps, suitable_substeps(body, fps)),
        stiffness=physics.stiffness * leg, damping=physics.damping * leg**1.5,
    )  # fmt: skip


def moving_states(body: Articulation, pose: Pose, fps: float) -> State:
    """The states of a motion at its frames, with velocities from its neighbours."""
    states = state_at_rest(body, pose)
    steps = with_velocity(states[:-1], states[1:], 1 / fps)

    def at_frames(rate: Tensor) -> Tensor:
        return torch.cat((rate[:1], (rate[1:] + rate[:-1]) / 2, rate[-1:]))

    return replace(states, velocity=at_frames(steps.velocity), spin=at_frames(steps.spin), rates=at_frames(steps.rates))


def window_frames(window: int, frames: int) -> Int[Tensor, "moment window"]:
    """The frame of each moment of each window; the last window may overlap the one before it."""
    starts = torch.arange(0, frames, window).clamp(max=frames - window)
    return starts + torch.arange(window + 1)[:, None]


def _substeps(at: Int[Tensor, "moment window"], substeps: int) -> Int[Tensor, "step window"]:
    """The steps between the frames of windows."""
    return (at[:-1, None] * substeps + torch.arange(substeps)[:, None]).flatten(0, 1)
