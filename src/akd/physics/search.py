"""The search for controls with which a body follows a target.

Gradients of thousands of steps explode, or lead nowhere once the body has fallen. So there are three stages:

1. *Windows.* Time is cut into windows of a few frames, which all start in the target's own states and are simulated side by
   side. Their controls are found quickly by gradients: this is how the muscles carry the weight.
2. *Following.* Frame by frame from the state in which the *simulation* has arrived, Gauss–Newton steps on the controls of the
   next moments. So what went wrong in one frame is mended in the next, as by an animal that looks where it goes, and
   balance is kept over clips of any length.
3. *The whole.* All controls and the initial velocity together, by gradients, from what works already.

The loss is what gradients can see of a good motion. What is kept is chosen by a judge of the motion itself, and the last two
stages are gone through again, from where they ended, until it is content.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.character.articulation import Articulation
from akd.character.limb_model import limb_model
from akd.contact.foot_lock import typical_leg
from akd.contact.prepare import Target
from akd.errors import AkdError
from akd.physics.objective import Objective, Weights
from akd.physics.settings import PhysicsSettings, constants, suitable_substeps
from akd.physics.simulate import Rollout, between_frames, simulate
from akd.physics.state import State, pose_of, state_at_rest, with_velocity
from akd.physics.track_settings import TrackSettings
from akd.rig import Rig
from akd.skeleton import Pose

VELOCITY_RATE = 0.5
"""Learning rate of the initial velocity against that of the controls, in units of √(ℓ/g)."""
MOST_SUBSTEPS = 80
"""A simulation that comes apart is tried again with twice as many steps, up to this many per frame."""
AHEAD, FEWEST_AHEAD, MOST_AHEAD = 0.5, 2, 8
"""How far following looks ahead, in the time √(L/g) in which legs of length L swing; in frames, not fewer nor more than these."""
NUDGE = 1e-4
"""By how much each control is changed to see what it does [rad]."""
EFFORT = 0.002
"""What a change of one radian costs in following, against squared distances [ℓ²]."""
JUDGED = 3
"""Of so many steps on the whole clip one is judged: that costs a third of a step."""
TRIES = (1.0, 0.5, 0.25, 0.1, 0.0)
"""Shares of a Gauss–Newton step that are tried; the best is taken."""
Judge = Callable[[Rollout], float]
"""Says how far a whole rollout is from what tracking aims at; 0 is good enough."""


class Best(NamedTuple):
    """The best whole rollout so far: the nearest to the aims, and of equally near ones that of the least loss."""

    shortfall: float
    loss: float
    error: float
    controls: Tensor
    start: State
    rollout: Rollout | None


class Search:
    """The unknowns, what is known of the target, and the best found so far."""

    def __init__(
        self, body: Articulation, rig: Rig, target: Target, settings: TrackSettings, judge: Judge = lambda rollout: 0.0
    ) -> None:  # fmt: skip
        self.body, self.settings, self.fps, self.judge = body, settings, target.motion.fps, judge
        self.leg = typical_leg(limb_model(rig))
        self.physics = suited(settings.physics, self.leg, body, self.fps)
        self.pose = target.motion.pose.to(torch.float64)
        pace = settings.pace * self.fps / body.gravity**0.5
        weights = Weights(settings.turn, settings.feet, pace, settings.stand * self.fps, settings.clear)
        self.objective = Objective.of(rig, body, self.pose, target.stance, weights)
        self.states = moving_states(body, self.pose, self.fps)
        self.frame_count = len(self.pose.root_position) - 1
        """Frames to simulate: all but the first."""
        c = constants(body, self.physics, self.fps)
        # A controller lags by k_d/k_e behind what it aims at, so it aims ahead.
        controls = self.states.angles + c.damping / c.stiffness * self.states.rates
        if settings.every == "substep":
            controls = between_frames(controls, self.physics.substeps)
        self.controls = controls.clone().requires_grad_()
        first = self.states[0]
        self.velocity = [part.clone().requires_grad_() for part in (first.velocity, first.spin, first.rates)]
        self.best = Best(math.inf, math.inf, math.inf, self.controls.detach(), first, None)
        self.losses: list[float] = []
        self.notes: list[str] = list(target.notes)

    def windows(self, window: int, iterations: int, steps: Iterator[int]) -> None:
        """Improve the controls of all windows of so many frames side by side; one window as long as the clip is the whole."""
        window = min(window, self.frame_count)
        at = window_frames(window, self.frame_count)
        unknowns = [self.controls, *self.velocity]
        optimiser = torch.optim.Adam([{"params": [self.controls]}, {"params": self.velocity}], betas=(0.9, 0.95))
        before = [part.detach().clone() for part in unknowns]
        for step in range(iterations):
            next(steps, None)
            self._cool(optimiser, window, step / iterations)
            try:
                self._whole_loss(at, is_judged=step % JUDGED == 0 or step == iterations - 1).backward()
            except AkdError as error:
                with torch.no_grad():
                    for part, value in zip(unknowns, before, strict=True):
                        part.copy_(value)
                if self.best.rollout is not None:
                    self.notes.append(f"Stopped early and kept the best so far. {error}")
                    return
                self._smaller_steps(error)
                return self.windows(window, iterations - step, steps)
            optimiser.step()

    def follow(self, iterations: int, steps: Iterator[int]) -> None:
        """Go through the clip once, frame by frame, each time from where the simulation has arrived."""
        ahead = frames_ahead(self.leg, self.body.gravity, self.fps)
        known, state = self.controls.detach().clone(), self._starts(torch.zeros(1, dtype=torch.long)).detach()[0]
        for frame in range(self.frame_count):
            at = torch.arange(frame, min(frame + ahead, self.frame_count) + 1)
            try:
                for _ in range(iterations):
                    next(steps, None)
                    after = self._improve(state, at)
            except AkdError as error:
                with torch.no_grad():
                    self.controls.copy_(known)
                self._smaller_steps(error)
                return self.follow(iterations, steps)
            state = after

    @torch.no_grad()
    def _improve(self, state: State, at: Int[Tensor, " moment"]) -> State:
        """One Gauss–Newton step on what all controls after the first moment are changed by; the state one frame on.

        What a change does is seen at half the steps through time; what is wrong now, and what is best, at all of them.
        """
        controls = self.controls[at]
        unit = torch.eye(3 * self.body.link_count, dtype=controls.dtype)[3:].reshape(-1, self.body.link_count, 3)
        still, coarse = torch.zeros_like(unit[:1]), max(self.physics.substeps // 2, 1)
        nudged, _ = self._residuals(state, controls, torch.cat((still, NUDGE * unit)), at, coarse)
        now, _ = self._residuals(state, controls, still, at, self.physics.substeps)
        jacobian = (nudged[1:] - nudged[0]) / NUDGE
        normal = jacobian @ jacobian.T + EFFORT * torch.eye(len(unit), dtype=unit.dtype)
        change = torch.linalg.solve(normal, -(jacobian @ now[0]))
        tried = torch.tensor(TRIES, dtype=unit.dtype)[:, None, None] * (change[:, None, None] * unit).sum(0)
        residuals, arrived = self._residuals(state, controls, tried, at, self.physics.substeps)
        best = int((residuals.square().sum(1) + EFFORT * tried.square().sum((1, 2))).argmin())
        self.controls[at[1:]] += tried[best]
        return arrived[best]

    def _residuals(
        self, state: State, controls: Float[Tensor, "moment link 3"], changes: Float[Tensor, "trial link 3"],
        at: Int[Tensor, " moment"], substeps: int,
    ) -> tuple[Float[Tensor, "trial residual"], State]:  # fmt: skip
        """How far the body is from the target after each of several changes of the controls, and its states one frame on."""
        trials = controls[:, None] + torch.cat((torch.zeros_like(changes)[None], changes.expand(len(at) - 1, *changes.shape)))
        start = State(*(part.expand(len(changes), *part.shape) for part in state))
        rollout = simulate(self.body, start, trials, replace(self.physics, chunk=1, substeps=substeps), self.fps)
        moments = at[:, None].expand(-1, len(changes))
        return self.objective.residuals(self._pose(rollout, moments), moments), rollout.frames[1]

    def use_crutch(self, stiffness: float) -> None:
        """Begin again from the best controls, with the virtual torque."""
        self.physics = replace(self.physics, upright=stiffness)
        with torch.no_grad():
            self.controls.copy_(self.best.controls)
        self.best = self.best._replace(shortfall=math.inf, loss=math.inf, error=math.inf)

    def _cool(self, optimiser: torch.optim.Adam, frames: int, done: float) -> None:
        """Begin a step: no gradients yet, and a rate that falls along a cosine; long pieces of time take smaller steps."""
        settings = self.settings
        rate = settings.rate * (4 / max(frames, 4)) ** 0.5 * (settings.polish if frames == self.frame_count else 1.0)
        rate *= settings.cooling + (1 - settings.cooling) * (1 + math.cos(math.pi * done)) / 2
        for group, factor in zip(optimiser.param_groups, (1.0, VELOCITY_RATE * self.body.gravity**0.5), strict=True):
            group["lr"] = rate * factor
        optimiser.zero_grad()

    def _smaller_steps(self, error: AkdError) -> None:
        """After a simulation that came apart: smaller steps through time, or give up."""
        if 2 * self.physics.substeps > MOST_SUBSTEPS or self.settings.every == "substep":
            raise error
        self.physics = replace(self.physics, substeps=2 * self.physics.substeps)
        self.notes.append(f"The simulation came apart, so it takes {self.physics.substeps} steps per frame.")

    def _whole_loss(self, at: Int[Tensor, "moment window"], *, is_judged: bool) -> Float[Tensor, ""]:
        """Simulate all windows side by side and compare them with the target; whole clips that are judged may become the best."""
        start, every = self._starts(at[0]), self.settings.every
        controls = self.controls[at] if every == "frame" else self.controls[_substeps(at, self.physics.substeps)]
        rollout = simulate(self.body, start, controls, self.physics, self.fps, every=every)
        apart, error = self.objective(self._pose(rollout, at), at)
        loss = apart + self.settings.smooth * self.controls.diff(dim=0).abs().mean()
        value = float(loss.detach())
        self.losses.append(value)
        if at.shape[1] == 1 and is_judged:
            kept = replace(
                rollout, states=rollout.states.detach()[:, 0], targets=rollout.targets.detach()[:, 0], exact=rollout.exact[:, 0]
            )
            shortfall = self.judge(kept)
            if (shortfall, value) < self.best[:2]:
                self.best = Best(shortfall, value, error, self.controls.detach().clone(), start.detach()[0], kept)
        return loss

    def _pose(self, rollout: Rollout, at: Int[Tensor, "moment window"]) -> Pose:
        return pose_of(self.body, rollout.frames, self.pose.angles[at])

    def _starts(self, frames: Int[Tensor, " window"]) -> State:
        """The target's own states at the beginnings of windows; the clip's initial velocity is one of the unknowns."""
        known = self.states[frames]
        velocity, spin, rates = (
            torch.cat((free[None], part[1:]))
            for free, part in zip(self.velocity, (known.velocity, known.spin, known.rates), strict=True)
        )
        return State(known.position, known.rotation, known.angles, velocity, spin, rates)


def frames_ahead(leg: float, gravity: float, fps: float) -> int:
    """How many frames following looks ahead."""
    return min(max(round(AHEAD * fps * (leg / gravity) ** 0.5), FEWEST_AHEAD), MOST_AHEAD)


def suited(physics: PhysicsSettings, leg: float, body: Articulation, fps: float) -> PhysicsSettings:
    """Controllers as strong as the legs are long.

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
