"""The loop: motion → film → latents → the prior's opinion → a better motion."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from akd.distill.curves import Curves, Fourier, Frames, Spline
from akd.distill.dance import Dance, channel_reach
from akd.distill.estimators import ESTIMATORS, Question, draw_noise
from akd.distill.objective import Footing, ground_depth, settle, slip, smoothness, steps
from akd.distill.recipe import PAPER_LATENTS, Recipe
from akd.distill.soft_film import film_softly
from akd.errors import AkdError
from akd.motion import Motion
from akd.pose import Pose
from akd.prior.clips import film_rate
from akd.prior.prior import VideoPrior
from akd.render.film import film
from akd.rig import Rig
from akd.skeleton import forward_kinematics
from akd.splats import SkinnedSplats

SPREAD = 0.01
"""Size of the random coefficients that a motion starts from [rad]."""
SETTLE = 0.1
"""Share by which speed and height follow the feet in one iteration."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be distilled."""

    rig: Rig
    skinned: SkinnedSplats
    prior: VideoPrior
    wanted: str
    unwanted: str
    recipe: Recipe
    seconds: float
    """Length of the clip."""
    seed: int = 0

    @property
    def fps(self) -> float:
        """The rate at which the prior watches a body of this size."""
        return film_rate(self.prior.film, self.rig.leg_metres)


class Distillation:
    """A motion on its way: what is optimised, and how."""

    def __init__(self, task: Task) -> None:
        self.task = task
        recipe = task.recipe
        self.footing = Footing.of(task.rig)
        self.dance = start_dance(task)
        self.optimiser = torch.optim.Adam([
            {"params": [self.dance.curves.coefficients], "lr": recipe.learning_rate, "base": recipe.learning_rate},
            {"params": [p for n,p in self.dance.named_parameters() if not n.endswith("coefficients")], "lr": recipe.learning_rate*recipe.lrf, "base":recipe.learning_rate*recipe.lrf}], betas=(0.9, 0.99))
        self.iteration = 0

    def step(self) -> dict[str, float]:
        """One iteration; returns what it measured."""
        task, recipe, iteration = self.task, self.task.recipe, self.iteration
        prior, settings = task.prior, task.prior.film
        randomness = torch.Generator().manual_seed(task.seed * 1_000_003 + iteration)
        motion = self.dance.motion(settings.frames, task.fps, self._window(randomness))
        video = film_softly(task.rig.skeleton, as_seen(motion), task.skinned, settings, settings.sample_views(1, randomness)[0], recipe.tau, recipe.blur)
        z = prior.encode(video[None])
        noise, t = draw_noise(tuple(z.shape[1:]), recipe.draws, recipe.noise_range(iteration), randomness)
        ask = Question(noise, t, prior.embed(task.wanted), prior.embed(task.unwanted), recipe.guidance)
        gradient = ESTIMATORS[recipe.estimator](prior, z.detach(), ask)
        terms = self._terms(motion)
        self.optimiser.zero_grad()
        total = (z * gradient).sum() + z.numel() / PAPER_LATENTS * sum(terms.values())
        total.backward()
        norms = self._check()
        if iteration == 0:
            size = self.dance.curves.coefficients.grad.square().mean().sqrt().item()
            for group in self.optimiser.param_groups: group['eps'] = size*recipe.eps
        for group in self.optimiser.param_groups: group['lr'] = group['base'] * (1-iteration/recipe.iterations)**0.5
        self.optimiser.step()
        self.iteration += 1
        return {"score": float(gradient.square().mean().sqrt()), **{k: float(v.detach()) for k, v in terms.items()}, **norms}

    def _window(self, randomness: torch.Generator) -> float:
        """When the film begins [s]: a loop is one window, a longer clip is seen in windows that overlap."""
        if isinstance(self.dance.curves, Fourier):
            return 0.0
        film_seconds = (self.task.prior.film.frames - 1) / self.task.fps
        return max(self.task.seconds - film_seconds, 0.0) * float(torch.rand((), generator=randomness))

    def _terms(self, motion: Motion) -> dict[str, Float[Tensor, ""]]:
        recipe = self.task.recipe
        posed = forward_kinematics(self.task.rig.skeleton, motion.pose)
        terms = {"restraint": recipe.restraint * self.dance.restraint(), "smooth": recipe.smooth * smoothness(motion.pose), "ground": recipe.ground * ground_depth(self.footing, posed)}
        if recipe.footing and len(self.footing.points):
            feet = steps(self.footing, posed, motion.fps)
            terms["slip"] = recipe.footing * slip(feet) * self.task.rig.leg_metres / 9.81
            settle(self.dance, feet, SETTLE)
        return terms

    def _check(self) -> dict[str, float]:
        for name, value in self.dance.named_parameters():
            if value.grad is not None and not value.grad.isfinite().all():
                raise AkdError(f"The gradient of {name} is not finite at iteration {self.iteration}: use a lower learning rate.")
        return {}


def start_dance(task: Task) -> Dance:
    """Rest pose, constant speed, a little noise: nothing here knows the sentence."""
    recipe, randomness = task.recipe, torch.Generator().manual_seed(task.seed)
    channels, frames = len(channel_reach(task.rig.skeleton)), task.prior.film.frames
    film_seconds = (frames - 1) / task.fps
    curves: Curves
    if recipe.curves == "fourier":
        frequency = recipe.strides_per_film / film_seconds
        curves = Fourier(channels, frequency, film_seconds / 2, spread=SPREAD, randomness=randomness)
    elif recipe.curves == "spline":
        curves = Spline(channels, task.seconds, knots_per_second=task.fps / 2, spread=SPREAD, randomness=randomness)
    else:
        curves = Frames(channels, round(task.seconds * task.fps) + 1, task.fps, spread=SPREAD, randomness=randomness)
    return Dance(task.rig.skeleton, curves, recipe.speed * (9.81 / task.rig.leg_metres) ** 0.5)


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
