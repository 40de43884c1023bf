"""The loop: motion → film → latents → the prior's opinion → a better motion."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.hinges import hinges_of
from akd.distill.candidate import Candidate
from akd.distill.channel_scale import channel_count, neutral_pose
from akd.distill.estimators import ESTIMATORS, ScoreInputs, draw_noise
from akd.distill.foot_locking import choose_travel, choose_walk_or_run
from akd.distill.gait_timing import GALLOPING_LEGS
from akd.distill.losses import (
    STANCE_HEIGHT,
    GroundContacts,
    foot_motion,
    ground_depth,
    lift,
    slip,
    smoothness,
    update_height,
    update_speed,
)
from akd.distill.phases import choose_phases
from akd.distill.recipe import PAPER_LATENTS, Recipe
from akd.distill.soft_film import film_softly
from akd.distill.task import Task, motion_error
from akd.distill.trajectory import Curves, Fourier, Frames, Spline, Trajectory, is_antiphase
from akd.motion import Motion
from akd.prior.prior import guided_denoising_error, text_log_ratio
from akd.render.camera import View
from akd.rig import GRAVITY, Rig
from akd.skeleton import Pose, forward_kinematics

if TYPE_CHECKING:
    from akd.posespace.space import PoseSpace

FOURIER_START = 0.05
"""Size of the random coefficients that a loop starts from: large enough to grow from, too small to be a walk by itself."""
FREE_START = 0.01
"""The same for motions that are no loops: larger ones would shake."""
COMPARISON_VIEWS = 3
"""From so many sides candidates are looked at before one is kept."""
LOCKING_FPS = 30.0
"""Frames per second at which feet are planted, at least, to ask for the pace."""
MOVING_AVERAGE = 0.1
"""Share by which speed and height follow the feet in one iteration."""


class Distillation:
    """Motions on their way: what is optimised, and how. They differ in the phase_offset of the right side, until the prior has chosen."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.contacts = GroundContacts.of(task.rig)
        self.space = pose_space(task)
        self.candidates = [Candidate(initial_trajectory(task, phase_offset)) for phase_offset in candidate_offsets(task.rig, task.recipe)]
        self.iteration = 0

    @property
    def trajectory(self) -> Trajectory:
        """The motion, as far as it is."""
        return self.candidates[0].trajectory

    def step(self) -> dict[str, float]:
        """One iteration: ask the prior once, and take a few steps towards what it believes; returns what was measured."""
        recipe = self.task.recipe
        randomness = self._randomness()
        film = self.task.prior.film
        window, view = self._window(randomness), film.sample_views(1, randomness)[0]
        question = self._question(recipe.noise_range(self.iteration), randomness)
        measured = [self._follow(candidate, question, window, view) for candidate in self.candidates]
        self.iteration += 1
        if len(self.candidates) > 1 and self.iteration >= recipe.decide_at * recipe.iterations:
            self._decide(randomness)
        if self.iteration in self._moments:
            self._choose_phases(randomness)
        return measured[0]

    @property
    def _moments(self) -> list[int]:
        """Iterations after which the prior is asked outright."""
        return [round(share * self.task.recipe.iterations) for share in self.task.recipe.phases_at]

    def _randomness(self) -> torch.Generator:
        """All chance of an iteration comes from its number and the seed."""
        return torch.Generator().manual_seed(self.task.seed * 1_000_003 + self.iteration)

    def _question(self, times: tuple[float, float], randomness: torch.Generator) -> ScoreInputs:
        task, prior, recipe = self.task, self.task.prior, self.task.recipe
        noise, t = draw_noise(prior.film_latents, recipe.draws, times, randomness)
        others = tuple(map(prior.embed, task.negative_prompts))
        return ScoreInputs(noise, t, prior.embed(task.prompt), others, recipe.guidance, recipe.denoising_steps)

    def _follow(self, candidate: Candidate, question: ScoreInputs, window: float, view: View) -> dict[str, float]:
        """Ask, and go where the answer points."""
        task, recipe, prior = self.task, self.task.recipe, self.task.prior
        target = None
        for _ in range(recipe.fit_steps):
            motion = candidate.trajectory.motion(prior.film.frames, task.fps, window)
            video = film_softly(task.rig.skeleton, without_steady_path(motion), task.skinned, prior.film, view)
            z = prior.encode(video[None])
            if target is None:
                gradient = ESTIMATORS[recipe.estimator](prior, z.detach(), question, *self._beside(view))
                target = z.detach() - gradient
            terms = self._terms(candidate.trajectory, motion)
            total = (z - target).square().sum() / 2 + z.numel() / PAPER_LATENTS * sum(terms.values())
            candidate.descend(total, recipe, self.iteration)
        return {"score": float(gradient.square().mean().sqrt()), **{name: float(term.detach()) for name, term in terms.items()}}

    def _decide(self, randomness: torch.Generator) -> None:
        """Keep the candidate that surprises the prior least."""
        opinion = motion_error(self.task, guided_denoising_error, COMPARISON_VIEWS, randomness)
        self.candidates = [min(self.candidates, key=lambda each: opinion(self.task.film_motion(each.trajectory)))]

    def _choose_phases(self, randomness: torch.Generator) -> None:
        """Let the prior say which legs go when, where there are rounds, and whether that is a walk or a run."""
        task = self.task
        if task.recipe.curves != "fourier":
            return
        opinion = motion_error(task, guided_denoising_error, 1, randomness)
        for candidate in self.candidates:
            choose_phases(candidate.trajectory, lambda trajectory: opinion(task.film_motion(trajectory)))
            candidate.forget_direction()
        if len(self.candidates) > 1 or not task.recipe.lock_feet:
            return
        clip = partial(task.film_motion, finer=math.ceil(LOCKING_FPS / task.fps))
        if self.trajectory.antiphase:
            choose_walk_or_run(task.rig, self.trajectory, clip, motion_error(task, text_log_ratio, COMPARISON_VIEWS, randomness))
        if self.iteration == self._moments[-1]:
            choose_travel(task.rig, self.trajectory, clip, motion_error(task, guided_denoising_error, COMPARISON_VIEWS, randomness))

    def _window(self, randomness: torch.Generator) -> float:
        """When the film begins [s]: a loop is one window, a longer clip is seen in windows that overlap."""
        if isinstance(self.trajectory.curves, Fourier):
            return 0.0
        return max(self.task.seconds - self.task.film_seconds, 0.0) * float(torch.rand((), generator=randomness))

    @torch.no_grad()
    def _beside(self, view: View) -> tuple[Tensor, ...]:
        """What an estimator compares with: for delta denoising, the character at rest, seen from the same side."""
        task, settings = self.task, self.task.prior.film
        if task.recipe.estimator != "dds":
            return ()
        rest = Trajectory(task.rig.skeleton, Frames(len(self.trajectory.scale), 1, task.fps, randomness=torch.Generator()), 0.0)
        still = film_softly(task.rig.skeleton, rest.motion(settings.frames, task.fps), task.skinned, settings, view)
        return (task.prior.encode(still[None]),)

    def _terms(self, trajectory: Trajectory, motion: Motion) -> dict[str, Float[Tensor, ""]]:
        recipe = self.task.recipe
        posed = forward_kinematics(self.task.rig.skeleton, motion.pose)
        terms = {
            "coefficient_penalty": recipe.coefficient_penalty * trajectory.coefficient_penalty(),
            "smooth": recipe.smooth * smoothness(motion.pose),
            "ground": recipe.ground * ground_depth(self.contacts, posed),
        }
        if self.space is not None:
            terms["plausible"] = recipe.plausible * self.space.energy(motion.pose, self._randomness()).mean()
        if recipe.contact and len(self.contacts.points):
            feet = foot_motion(self.contacts, posed, motion.fps, float(trajectory.speed))
            update_height(trajectory, feet, MOVING_AVERAGE)
            if self.iteration >= recipe.contact_from * recipe.iterations:
                terms["slip"] = recipe.contact * slip(feet) * self.task.rig.leg_metres / GRAVITY
                terms["lift"] = recipe.contact * lift(feet) / STANCE_HEIGHT**2
                update_speed(trajectory, feet, MOVING_AVERAGE)
        return terms


def pose_space(task: Task) -> "PoseSpace | None":
    """What knows which poses are plausible, if the recipe asks for it."""
    if not task.recipe.plausible:
        return None
    from akd.posespace.space import PoseSpace

    return PoseSpace.build(task.rig)


def candidate_offsets(rig: Rig, recipe: Recipe) -> tuple[float, ...]:
    """By how much of a round the right side may follow the left, for this body."""
    phase_offsets, mirror = recipe.phase_offsets, rig.skeleton.mirror.tolist()
    if recipe.curves != "fourier" or mirror == list(range(len(mirror))):
        return phase_offsets[:1]
    return tuple(filter(is_antiphase, phase_offsets)) or phase_offsets if len(rig.legs) > GALLOPING_LEGS else phase_offsets


def initial_trajectory(task: Task, phase_offset: float) -> Trajectory:
    """A body at neutral, constant speed, a little noise: nothing here knows the sentence."""
    recipe, randomness = task.recipe, torch.Generator().manual_seed(task.seed)
    channels = channel_count(task.rig.skeleton)
    curves: Curves
    if recipe.curves == "fourier":
        curves = Fourier(channels, task.start_frequency, task.film_seconds / 2, spread=FOURIER_START, randomness=randomness)
    elif recipe.curves == "spline":
        curves = Spline(channels, task.seconds, knots_per_second=task.fps / 2, spread=FREE_START, randomness=randomness)
    else:
        curves = Frames(channels, round(task.seconds * task.fps) + 1, task.fps, spread=FREE_START, randomness=randomness)
    anatomy = (hinges_of(task.rig), neutral_pose(task.rig)) if recipe.anatomy else ()
    return Trajectory(task.rig.skeleton, curves, task.start_speed, phase_offset, *anatomy)


def without_steady_path(motion: Motion) -> Motion:
    """The motion as far as pictures tell it: the camera follows what is steady in the root's path, so that has no gradient."""
    position = motion.pose.root_position
    time = torch.linspace(-1, 1, len(position), dtype=position.dtype)[:, None]
    steady = position.mean(0) + time * (time * position).sum(0) / time.square().sum()
    shown = Pose(position - steady + steady.detach(), motion.pose.root_rotation, motion.pose.angles)
    return replace(motion, pose=shown)


def distill(task: Task, watch: Callable[[Distillation, dict[str, float]], None] = lambda run, numbers: None) -> Trajectory:
    """Distil from beginning to end."""
    run = Distillation(task)
    while run.iteration < task.recipe.iterations:
        watch(run, run.step())
    return run.trajectory
