"""The distillation loop: trajectory → motion → film → latents → gradient of the prior → a better trajectory."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from akd.adam import Adam
from akd.character.hinges import hinges_of
from akd.creatures.neutral import neutral_pose
from akd.distill.estimators import ScoreInputs, draw_noise, score_gradient
from akd.distill.foot_locking import choose_travel, choose_walk_or_run
from akd.distill.losses import STANCE_HEIGHT, FootMotion, GroundContacts, foot_motion, ground_depth, lift, slip, smoothness
from akd.distill.phases import choose_phases
from akd.distill.recipe import PAPER_LATENTS, Recipe
from akd.distill.soft_film import film_softly
from akd.distill.task import Task, motion_error
from akd.distill.trajectory import Curves, Fourier, Frames, Spline, Trajectory, channel_count, is_antiphase
from akd.errors import AkdError
from akd.gait.timing import GALLOPING_LEGS
from akd.motion import Motion
from akd.posespace.space import PoseSpace
from akd.prior.prior import guided_denoising_error, text_log_ratio
from akd.prior.schedule import Latents
from akd.render.camera import View
from akd.rig import GRAVITY, Rig
from akd.skeleton import Pose, forward_kinematics

ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")
"""What Adam keeps of every parameter."""
FOURIER_START = 0.05
"""Standard deviation of the coefficients that a loop starts from: enough to grow from, too little to be a walk by itself."""
FREE_START = 0.01
"""The same for clips that are no loops: larger ones would shake."""
COMPARISON_VIEWS = 3
"""Views under which candidates are compared."""
LOCKING_FPS = 30.0
"""Frames per second, at least, at which feet are locked to compare a walk with a run."""
MOVING_AVERAGE = 0.1
"""Share by which speed and height move towards what the feet imply, per step."""
GROUNDED_SHARE = 0.4
"""Share of the frames in which at least one foot is on the ground: less than in any gait but a gallop or a jump."""


class Candidate:
    """A trajectory and its Adam state. Several are optimised side by side until the prior decides between them."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        # Adam's ε is set to the size of the first gradient (see ``descend``), so that channels with a small gradient move
        # little instead of as fast as all others.
        self.optimiser = Adam(trajectory.parameters(), betas=(0.9, 0.99))

    def descend(self, total: Float[Tensor, ""], recipe: Recipe, iteration: int) -> None:
        """One step of the optimiser on a total loss."""
        self.optimiser.zero_grad()
        total.backward()
        for name, value in self.trajectory.named_parameters():
            if value.grad is not None and not value.grad.isfinite().all():
                raise AkdError(f"The gradient of {name} is not finite at iteration {iteration}: use a lower learning rate.")
        if not self.optimiser.state:
            gradient = self.trajectory.curves.coefficients.grad
            self.optimiser.eps = gradient.square().mean().sqrt().item() if gradient is not None else 0.0
        self.optimiser.step(recipe.rate(iteration))

    def reset_momentum(self) -> None:
        """Drop Adam's first moments, after the trajectory was changed by other means."""
        for state in self.optimiser.state.values():
            state["exp_avg"].zero_()

    def tensors(self) -> dict[str, Tensor]:
        """The whole state, Adam's ε included because it is measured at the first step."""
        tensors = {f"trajectory.{name}": part.detach() for name, part in self.trajectory.state_dict().items()}
        for name, value in self.trajectory.named_parameters():
            tensors |= {f"adam.{name}.{key}": part for key, part in self.optimiser.state.get(value, {}).items()}
        return tensors | {"eps": torch.tensor(self.optimiser.eps, dtype=torch.float64)}

    @torch.no_grad()
    def load(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what ``tensors`` returned."""
        self.trajectory.load_state_dict({name: tensors[f"trajectory.{name}"] for name in self.trajectory.state_dict()})
        for name, value in self.trajectory.named_parameters():
            if f"adam.{name}.step" in tensors:
                self.optimiser.state[value] = {key: tensors[f"adam.{name}.{key}"] for key in ADAM_STATE}
        self.optimiser.eps = float(tensors["eps"])


class Distillation:
    """The state of one distillation. Candidates differ in the phase offset of the right side until one is kept."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.contacts = GroundContacts.of(task.rig)
        self.space = PoseSpace.build(task.rig) if task.recipe.plausible else None
        self.candidates = [Candidate(initial_trajectory(task, offset)) for offset in candidate_offsets(task.rig, task.recipe)]
        self.iteration = 0

    @property
    def trajectory(self) -> Trajectory:
        """The trajectory as far as it is optimised."""
        return self.candidates[0].trajectory

    def step(self) -> dict[str, float]:
        """One iteration: one gradient of the prior and the steps towards it, for every candidate; returns its numbers."""
        recipe = self.task.recipe
        randomness = self._randomness()
        window, view = self._window(randomness), self.task.prior.film.sample_views(1, randomness)[0]
        inputs = self._score_inputs(recipe.noise_range(self.iteration), view, randomness)
        measured = [self._fit(candidate, inputs, window, view) for candidate in self.candidates]
        self.iteration += 1
        if len(self.candidates) > 1 and self.iteration >= recipe.decide_at * recipe.iterations:
            self._keep_best_candidate(randomness)
        if self.iteration in self._phase_iterations:
            self._choose_structure(randomness)
        return measured[0]

    @property
    def _phase_iterations(self) -> list[int]:
        """Iterations after which the order of the legs is chosen."""
        return [round(share * self.task.recipe.iterations) for share in self.task.recipe.phases_at]

    def _randomness(self) -> torch.Generator:
        """All randomness of an iteration comes from its number and the seed, so a resumed run needs no random state."""
        return torch.Generator().manual_seed(self.task.seed * 1_000_003 + self.iteration)

    def _score_inputs(self, t: tuple[float, float], view: View, randomness: torch.Generator) -> ScoreInputs:
        """Noise, timesteps and conditioning, the same for every candidate."""
        task, prior, recipe = self.task, self.task.prior, self.task.recipe
        noise, timesteps = draw_noise(prior.film_latents, recipe.draws, t, randomness)
        negative = tuple(map(prior.embed, task.negative_prompts))
        rest = partial(rest_latents, task, view)
        return ScoreInputs(
            noise, timesteps, prior.embed(task.prompt), negative, recipe.guidance, recipe.denoising_steps, rest
        )

    def _fit(self, candidate: Candidate, inputs: ScoreInputs, window: float, view: View) -> dict[str, float]:
        """One gradient of the prior, and the steps of the optimiser towards the latents that it points to."""
        task, recipe, prior, trajectory = self.task, self.task.recipe, self.task.prior, candidate.trajectory
        target = None
        for _ in range(recipe.fit_steps):
            motion = trajectory.motion(prior.film.frames, task.fps, window)
            video = film_softly(task.rig.skeleton, without_steady_path(motion), task.skinned, prior.film, view)
            z = prior.encode(video[None])
            if target is None:
                inputs = inputs._replace(condition=task.condition(video))
                gradient = score_gradient(recipe.estimator, prior, z.detach(), inputs)
                target = z.detach() - gradient
            losses, feet = self._losses(trajectory, motion)
            score = ((z - target).square().sum() / 2).to(motion.pose.angles.device)  # latents may be on a card
            total = score + z.numel() / PAPER_LATENTS * sum(losses.values())
            candidate.descend(total, recipe, self.iteration)
            if feet is not None:
                self._follow_feet(trajectory, feet)
        return {"score": float(gradient.square().mean().sqrt()), **{name: float(loss.detach()) for name, loss in losses.items()}}

    def _losses(self, trajectory: Trajectory, motion: Motion) -> tuple[dict[str, Float[Tensor, ""]], FootMotion | None]:
        """The weighted losses besides the prior's, by name, and the motion of the feet if they count."""
        recipe, rig = self.task.recipe, self.task.rig
        posed = forward_kinematics(rig.skeleton, motion.pose)
        losses = {
            "coefficient_penalty": recipe.coefficient_penalty * trajectory.coefficient_penalty(),
            "smooth": recipe.smooth * smoothness(motion.pose),
            "ground": recipe.ground * ground_depth(self.contacts, posed),
        }
        if self.space is not None:
            losses["plausible"] = recipe.plausible * self.space.energy(motion.pose, self._randomness()).mean()
        if not recipe.contact or not len(self.contacts.points):
            return losses, None
        feet = foot_motion(self.contacts, posed, motion.fps, float(trajectory.speed))
        if self._feet_count:
            losses["slip"] = recipe.contact * slip(feet) * rig.leg_metres / GRAVITY
            losses["lift"] = recipe.contact * lift(feet) / STANCE_HEIGHT**2
        return losses, feet

    @property
    def _feet_count(self) -> bool:
        """Is the run far enough for slip and lift to count?"""
        return self.iteration >= self.task.recipe.contact_from * self.task.recipe.iterations

    def _follow_feet(self, trajectory: Trajectory, feet: FootMotion) -> None:
        """Moving-average update of height and speed, which films hardly show, towards what the standing feet imply."""
        update_height(trajectory, feet, MOVING_AVERAGE)
        if self._feet_count:
            update_speed(trajectory, feet, MOVING_AVERAGE)

    def _keep_best_candidate(self, randomness: torch.Generator) -> None:
        """Keep the candidate with the least error of the prior."""
        error = motion_error(self.task, guided_denoising_error, COMPARISON_VIEWS, randomness)
        self.candidates = [min(self.candidates, key=lambda each: error(self.task.film_motion(each.trajectory)))]

    def _choose_structure(self, randomness: torch.Generator) -> None:
        """Choose the order of the legs of loops, then walk or run, and at the last such iteration whether the body travels."""
        task = self.task
        if not self.trajectory.mirrored or self.trajectory.curves.period is None:
            return
        error = motion_error(task, guided_denoising_error, 1, randomness)
        for candidate in self.candidates:
            choose_phases(candidate.trajectory, lambda trajectory: error(task.film_motion(trajectory)))
            candidate.reset_momentum()
        if len(self.candidates) > 1 or not task.recipe.lock_feet:
            return
        clip = partial(task.film_motion, finer=math.ceil(LOCKING_FPS / task.fps))
        if self.trajectory.antiphase:
            log_ratio = motion_error(task, text_log_ratio, COMPARISON_VIEWS, randomness)
            choose_walk_or_run(task.rig, self.trajectory, clip, log_ratio)
        if self.iteration == self._phase_iterations[-1]:
            error = motion_error(task, guided_denoising_error, COMPARISON_VIEWS, randomness)
            choose_travel(task.rig, self.trajectory, clip, error)

    def _window(self, randomness: torch.Generator) -> float:
        """Start of the film in the clip [s]: zero for loops, random for longer clips, so that windows overlap."""
        if self.trajectory.curves.period is not None:
            return 0.0
        return max(self.task.span - self.task.film_seconds, 0.0) * float(torch.rand((), generator=randomness))


@torch.no_grad()
def rest_latents(task: Task, view: View) -> Latents:
    """Latents of a film of the character at rest."""
    settings = task.prior.film
    curves = Frames(channel_count(task.rig.skeleton), 1, task.fps, randomness=torch.Generator())
    motion = Trajectory(task.rig.skeleton, curves, 0.0).motion(settings.frames, task.fps)
    return task.prior.encode(film_softly(task.rig.skeleton, motion, task.skinned, settings, view)[None])


@torch.no_grad()
def update_height(trajectory: Trajectory, feet: FootMotion, share: float) -> None:
    """Move the height towards the one at which a foot is on the ground for the usual share of the time."""
    trajectory.height -= share * feet.height.amin(-1).quantile(GROUNDED_SHARE)


@torch.no_grad()
def update_speed(trajectory: Trajectory, feet: FootMotion, share: float) -> None:
    """Move the speed towards the one at which standing feet stand still."""
    along = feet.velocity[..., 0]
    trajectory.speed -= share * (feet.stance * along).sum() / feet.stance.sum().clamp(min=1.0)


def candidate_offsets(rig: Rig, recipe: Recipe) -> tuple[float, ...]:
    """Phase offsets between the sides for which a candidate is begun on this body."""
    offsets, mirror = recipe.phase_offsets, rig.skeleton.mirror.tolist()
    if recipe.curves != "fourier" or mirror == list(range(len(mirror))):
        return offsets[:1]
    return tuple(filter(is_antiphase, offsets)) or offsets if len(rig.legs) > GALLOPING_LEGS else offsets


def initial_trajectory(task: Task, phase_offset: float) -> Trajectory:
    """The neutral pose at constant speed, with a little noise: nothing here depends on the prompt."""
    recipe, randomness = task.recipe, torch.Generator().manual_seed(task.seed)
    channels = channel_count(task.rig.skeleton)
    curves: Curves
    if recipe.curves == "fourier":
        curves = Fourier(channels, task.start_frequency, task.film_seconds / 2, spread=FOURIER_START, randomness=randomness)
    elif recipe.curves == "spline":
        curves = Spline(
            channels, task.span, knots_per_second=task.fps / 2, wrapped=task.loop, spread=FREE_START, randomness=randomness
        )
    else:
        curves = Frames(channels, round(task.span * task.fps) + 1, task.fps, spread=FREE_START, randomness=randomness)
    anatomy = (hinges_of(task.rig), neutral_pose(task.rig)) if recipe.anatomy else ()
    mirrored = recipe.curves == "fourier"
    return Trajectory(task.rig.skeleton, curves, task.start_speed, phase_offset, *anatomy, mirrored=mirrored)


def without_steady_path(motion: Motion) -> Motion:
    """The motion without a gradient on the steady part of the root's path, which the camera follows and films do not show."""
    position = motion.pose.root_position
    time = torch.linspace(-1, 1, len(position), dtype=position.dtype)[:, None]
    steady = position.mean(0) + time * (time * position).sum(0) / time.square().sum()
    shown = Pose(position - steady + steady.detach(), motion.pose.root_rotation, motion.pose.angles)
    return replace(motion, pose=shown)


def distill(task: Task, watch: Callable[[Distillation, dict[str, float]], None] = lambda run, numbers: None) -> Trajectory:
    """Distil from beginning to end in memory; ``watch`` is called after every iteration."""
    run = Distillation(task)
    while run.iteration < task.recipe.iterations:
        watch(run, run.step())
    return run.trajectory
