"""The loop: motion → film → latents → the prior's opinion → a better motion."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from akd.distill.curves import Curves, Fourier, Frames, Spline
from akd.distill.dance import Dance, channel_reach
from akd.distill.estimators import ESTIMATORS, Question, draw_noise
from akd.distill.hinges import hinges_of
from akd.distill.objective import STANCE, Footing, ground_depth, lift, settle, settle_speed, slip, smoothness, steps
from akd.distill.phases import choose_phases
from akd.distill.recipe import PAPER_LATENTS, Recipe
from akd.distill.soft_film import film_softly
from akd.errors import AkdError
from akd.measure.gait import GRAVITY
from akd.motion import Motion
from akd.pose import Pose
from akd.prior.clips import film_rate
from akd.prior.prior import VideoPrior, surprise
from akd.render.film import film
from akd.render.follow_camera import View
from akd.rig import Rig
from akd.skeleton import forward_kinematics
from akd.splats import SkinnedSplats

SPREAD = 0.1
"""Size of the random coefficients that a loop starts from: enough for the prior to see what swings before what."""
ROUGHNESS = 0.01
"""The same for motions that are no loops: larger ones would shake."""
TELLING = (0.45, 0.85)
"""Range of noise at which the prior tells orders of legs apart."""
SETTLE = 0.1
"""Share by which speed and height follow the feet in one iteration."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be distilled."""

    rig: Rig
    skinned: SkinnedSplats
    prior: VideoPrior
    wanted: str
    unwanted: tuple[str, ...]
    """Sentences to be led away from; the first says that the character rests."""
    recipe: Recipe
    seconds: float
    """Length of the clip."""
    seed: int = 0

    @property
    def fps(self) -> float:
        """The rate at which the prior watches a body of this size."""
        return film_rate(self.prior.film, self.rig.leg_metres)

    @property
    def film_seconds(self) -> float:
        """How long the prior watches."""
        return (self.prior.film.frames - 1) / self.fps

    @property
    def start_frequency(self) -> float:
        """Strides per second at the start."""
        return self.recipe.strides_per_film / self.film_seconds

    @property
    def start_speed(self) -> float:
        """Forward at the start [ℓ/s]."""
        return self.recipe.speed * (GRAVITY / self.rig.leg_metres) ** 0.5


class Distillation:
    """A motion on its way: what is optimised, and how."""

    def __init__(self, task: Task) -> None:
        self.task = task
        recipe = task.recipe
        self.footing = Footing.of(task.rig)
        self.dance = start_dance(task)
        self.dance.lag.requires_grad_(not recipe.phases_at)  # asked for outright, or felt for
        # A step is in proportion to the gradient where that is small (see ``_descend``): what hardly shows hardly moves.
        self.optimiser = torch.optim.Adam(self.dance.parameters(), lr=recipe.learning_rate, betas=(0.9, 0.99))
        self.iteration = 0

    def step(self) -> dict[str, float]:
        """One iteration: ask the prior once, and take a few steps towards what it believes; returns what was measured."""
        task, recipe = self.task, self.task.recipe
        prior, settings = task.prior, task.prior.film
        randomness = torch.Generator().manual_seed(task.seed * 1_000_003 + self.iteration)
        start, view = self._window(randomness), settings.sample_views(1, randomness)[0]
        shape = prior.latent_shape(settings.frames, settings.height, settings.width)
        noise, t = draw_noise(shape, recipe.draws, recipe.noise_range(self.iteration), randomness)
        others = tuple(map(prior.embed, task.unwanted))
        ask = Question(noise, t, prior.embed(task.wanted), others, recipe.guidance, recipe.look_ahead)
        target = None
        for _ in range(recipe.steps_each):
            motion = self.dance.motion(settings.frames, task.fps, start)
            video = film_softly(task.rig.skeleton, as_seen(motion), task.skinned, settings, view)
            z = prior.encode(video[None])
            if target is None:
                gradient = ESTIMATORS[recipe.estimator](prior, z.detach(), ask, *self._beside(view))
                target = z.detach() - gradient
            terms = self._terms(motion)
            self._descend((z - target).square().sum() / 2 + z.numel() / PAPER_LATENTS * sum(terms.values()))
        self.iteration += 1
        if self.iteration in (round(share * recipe.iterations) for share in recipe.phases_at):
            self._choose_phases(view, randomness)
        return {"score": float(gradient.square().mean().sqrt()), **{name: float(term.detach()) for name, term in terms.items()}}

    def _choose_phases(self, view: View, randomness: torch.Generator) -> None:
        """Let the prior say which legs go when; what Adam remembers of the old order is forgotten."""
        task, curves, prior, settings = self.task, self.dance.curves, self.task.prior, self.task.prior.film
        if not isinstance(curves, Fourier):
            return
        shape = prior.latent_shape(settings.frames, settings.height, settings.width)
        noise, t = draw_noise(shape, task.recipe.draws, TELLING, randomness)

        def opinion() -> float:
            video = film(task.rig.skeleton, self.dance.motion(settings.frames, task.fps), task.skinned, settings, view)
            return float(surprise(prior, prior.encode(video[None]), noise, t, prior.embed(task.wanted)).mean())

        choose_phases(self.dance, curves, opinion)
        for memory in self.optimiser.state.values():
            memory["exp_avg"].zero_()

    def _descend(self, total: Float[Tensor, ""]) -> None:
        """One step of the optimiser."""
        self.optimiser.zero_grad()
        total.backward()
        for name, value in self.dance.named_parameters():
            if value.grad is not None and not value.grad.isfinite().all():
                raise AkdError(f"The gradient of {name} is not finite at iteration {self.iteration}: use a lower learning rate.")
        if not self.optimiser.state:
            slope = self.dance.curves.coefficients.grad
            usual = slope.square().mean().sqrt().item() if slope is not None else 0.0
            for group in self.optimiser.param_groups:
                group["eps"] = usual
        for group in self.optimiser.param_groups:
            group["lr"] = self.task.recipe.learning_rate * (1 - self.iteration / self.task.recipe.iterations) ** 0.5
        self.optimiser.step()

    def _window(self, randomness: torch.Generator) -> float:
        """When the film begins [s]: a loop is one window, a longer clip is seen in windows that overlap."""
        if isinstance(self.dance.curves, Fourier):
            return 0.0
        return max(self.task.seconds - self.task.film_seconds, 0.0) * float(torch.rand((), generator=randomness))

    @torch.no_grad()
    def _beside(self, view: View) -> tuple[Tensor, ...]:
        """What an estimator compares with: for delta denoising, the character at rest, seen from the same side."""
        task, settings = self.task, self.task.prior.film
        if task.recipe.estimator != "dds":
            return ()
        rest = Dance(task.rig.skeleton, Frames(len(self.dance.reach), 1, task.fps, randomness=torch.Generator()), 0.0)
        still = film_softly(task.rig.skeleton, rest.motion(settings.frames, task.fps), task.skinned, settings, view)
        return (task.prior.encode(still[None]),)

    def _terms(self, motion: Motion) -> dict[str, Float[Tensor, ""]]:
        recipe = self.task.recipe
        posed = forward_kinematics(self.task.rig.skeleton, motion.pose)
        terms = {
            "restraint": recipe.restraint * self.dance.restraint(),
            "smooth": recipe.smooth * smoothness(motion.pose),
            "ground": recipe.ground * ground_depth(self.footing, posed),
        }
        if recipe.footing and len(self.footing.points):
            feet = steps(self.footing, posed, motion.fps, float(self.dance.speed))
            settle(self.dance, feet, SETTLE)
            if self.iteration >= recipe.footing_from * recipe.iterations:
                terms["slip"] = recipe.footing * slip(feet) * self.task.rig.leg_metres / GRAVITY
                terms["lift"] = recipe.footing * lift(feet) / STANCE**2
                settle_speed(self.dance, feet, SETTLE)
        return terms


def start_dance(task: Task) -> Dance:
    """Rest pose, constant speed, a little noise: nothing here knows the sentence."""
    recipe, randomness = task.recipe, torch.Generator().manual_seed(task.seed)
    channels = len(channel_reach(task.rig.skeleton))
    curves: Curves
    if recipe.curves == "fourier":
        curves = Fourier(channels, task.start_frequency, task.film_seconds / 2, spread=SPREAD, randomness=randomness)
    elif recipe.curves == "spline":
        curves = Spline(channels, task.seconds, knots_per_second=task.fps / 2, spread=ROUGHNESS, randomness=randomness)
    else:
        curves = Frames(channels, round(task.seconds * task.fps) + 1, task.fps, spread=ROUGHNESS, randomness=randomness)
    return Dance(task.rig.skeleton, curves, task.start_speed, hinges_of(task.rig) if recipe.hinges else None)


def as_seen(motion: Motion) -> Motion:
    """The motion as far as pictures tell it: the camera follows what is steady in the root's path, so that has no gradient."""
    position = motion.pose.root_position
    time = torch.linspace(-1, 1, len(position), dtype=position.dtype)[:, None]
    steady = position.mean(0) + time * (time * position).sum(0) / time.square().sum()
    shown = Pose(position - steady + steady.detach(), motion.pose.root_rotation, motion.pose.angles)
    return replace(motion, pose=shown)


def distill(task: Task, watch: Callable[[Distillation, dict[str, float]], None] = lambda run, numbers: None) -> Dance:
    """Distil from beginning to end."""
    run = Distillation(task)
    while run.iteration < task.recipe.iterations:
        watch(run, run.step())
    return run.dance
