"""The distillation loop: trajectory → motion → film → latents → gradient of the prior → a better trajectory."""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.adam import Adam
from akd.character.hinges import hinges_of
from akd.creatures.neutral import neutral_pose
from akd.distill import gait
from akd.distill.assumptions import CANDIDATES, DRAW, Assumptions, CandidateName, body_axis, candidates_for
from akd.distill.estimators import ScoreInputs, draw_noise, score_gradient
from akd.distill.losses import STANCE_HEIGHT, FootMotion, GroundContacts, foot_motion, ground_depth, lift, slip, smoothness
from akd.distill.phases import choose_phases
from akd.distill.pictures import picture_distance
from akd.distill.reach import joint_reach
from akd.distill.reading_fit import fit_to_points, wanted_of
from akd.distill.recipe import PAPER_LATENTS, Recipe
from akd.distill.soft_film import film_softly
from akd.distill.task import COMPARISON_VIEWS, Task, motion_error
from akd.distill.trajectory import Curves, Fourier, Frames, Spline, Trajectory, channel_count
from akd.errors import AkdError
from akd.gait.undulation import carried_speed
from akd.motion import Motion
from akd.prior.prior import guided_denoising_error
from akd.prior.schedule import Latents
from akd.render.camera import View
from akd.render.film import film, followed_path, move_splats
from akd.rig import GRAVITY
from akd.skeleton import Pose, Posed, forward_kinematics

ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")
"""What Adam keeps of every parameter."""
FOURIER_START = 0.05
"""Standard deviation of the coefficients that a loop starts from: enough to grow from, too little to be a walk by itself."""
FREE_START = 0.01
"""The same for clips that are no loops: larger ones would shake."""
KNOT_FRAMES = 3
"""Frames of the prior's film between two knots of a motion that happens once."""
PRUNED_TO = 2
"""Candidates that go on after the first comparison."""
ALOFT_HEIGHT = 1.5
"""How high a body that nothing carries starts, above where it stands at rest [ℓ]: clear of the ground."""
SLOW_SHARE = 0.2
"""Low feet of a body that does not travel stand if they are about as slow as this [√(g ℓ)]."""
GOLDEN_RATIO = (5**0.5 - 1) / 2
"""Multiples of it are spread evenly over the unit interval."""
MOVING_AVERAGE = 0.1
"""Share by which speed and height move towards what the feet imply, per step."""
GROUNDED_SHARE = 0.4
"""Share of the frames in which at least one foot is on the ground: less than in any gait but a gallop or a jump."""


class Candidate:
    """A trajectory with its structural assumptions and its Adam state, by the name of its kind and its place at the start.

    Several are optimised side by side until the prior decides between them.
    """

    def __init__(self, trajectory: Trajectory, name: str = "", number: int = 0) -> None:
        self.trajectory, self.name, self.number = trajectory, name, number
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
    """The state of one distillation. Candidates differ in what they assume of the motion until one is kept."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.contacts = GroundContacts.of(task.rig)
        self.axis = body_axis(task.rig)
        self.candidates = [
            Candidate(initial_trajectory(task, assumptions), name, number)
            for number, (name, assumptions) in enumerate(begun_candidates(task).items())
        ]
        self.iteration = 0
        self.compared: dict[str, float] = {}
        """The prior's error on every candidate, if the last iteration compared them."""

    @property
    def trajectory(self) -> Trajectory:
        """The trajectory as far as it is optimised."""
        return self.candidates[0].trajectory

    def step(self) -> dict[str, float]:
        """One iteration: one gradient of the prior and the steps towards it, for every candidate; returns its numbers."""
        recipe = self.task.recipe
        randomness = self._randomness()
        view = self.task.prior.film.sample_views(1, randomness)[0]
        inputs = self._score_inputs(recipe.noise_range(self.iteration), view, randomness)
        fit = self._fit_best_reading if self._reads else self._fit
        measured = [fit(candidate, inputs, view) for candidate in self.candidates]
        self.iteration += 1
        self.compared = {}
        for at, kept in ((recipe.prune_at, PRUNED_TO), (recipe.decide_at, 1)):
            if len(self.candidates) > kept and self.iteration >= at * recipe.iterations:
                self._keep_best(kept, randomness)
        if self.iteration in self._phase_iterations:
            self._choose_order(randomness)
        if self.iteration == recipe.iterations:
            gait.refine(self.task, self.trajectory, randomness)
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

    def _fit(self, candidate: Candidate, inputs: ScoreInputs, view: View) -> dict[str, float]:
        """One look, and the steps of the optimiser towards what the prior answered: latents, or pictures."""
        task, recipe, trajectory, target = self.task, self.task.recipe, candidate.trajectory, None
        start, elements = window_start(task, trajectory, self.iteration), math.prod(task.prior.film_latents)
        for step in range(recipe.fit_steps):
            motion = trajectory.motion(task.prior.film.frames, task.fps, start)
            video = self._film(trajectory, motion, view)
            seen = video if self._in_pictures else task.prior.encode(video[None])
            if target is None:
                gradient, target = self._look(video, seen, inputs)
                if recipe.fit_steps > 1:
                    candidate.reset_momentum()
            losses, posed, feet = self._losses(trajectory, motion)
            if self._in_pictures:
                score = picture_distance(seen, target, step / recipe.fit_steps, elements)
            else:
                score = (seen - target).square().sum() / 2
            score = score.to(motion.pose.angles.device)  # latents may be on a card
            candidate.descend(score + elements / PAPER_LATENTS * sum(losses.values()), recipe, self.iteration)
            self._follow_support(trajectory, posed, feet)
        return {"score": float(gradient.square().mean().sqrt()), **{name: float(loss.detach()) for name, loss in losses.items()}}

    def _fit_best_reading(self, candidate: Candidate, inputs: ScoreInputs, view: View) -> dict[str, float]:
        """The first look from several noises; the prior's own error keeps one of the motions."""
        task, trajectory = self.task, candidate.trajectory
        samples = task.recipe.samples if self.iteration == 0 else 1
        if samples == 1:
            return self._fit_reading(candidate, inputs, view)
        randomness = self._randomness()
        error = motion_error(task, guided_denoising_error, 1, randomness)
        begun, tried = deepcopy(trajectory.state_dict()), []
        for number in range(samples):
            trajectory.load_state_dict(begun)
            noise = torch.randn(inputs.noise.shape, generator=randomness) if number else inputs.noise
            numbers = self._fit_reading(candidate, inputs._replace(noise=noise), view)
            with torch.no_grad():
                tried.append((error(task.film_motion(trajectory)), number, numbers, deepcopy(trajectory.state_dict())))
        least, _, numbers, best = min(tried, key=lambda each: each[:2])
        trajectory.load_state_dict(best)
        return numbers | {"error": least}

    def _fit_reading(self, candidate: Candidate, inputs: ScoreInputs, view: View) -> dict[str, float]:
        """One look, and the curves fitted to where the prior's reader sees the limbs in the film that the prior finished."""
        task, prior, trajectory = self.task, self.task.prior, candidate.trajectory
        start, settings, reader = window_start(task, trajectory, self.iteration), prior.film, prior.reader
        assert reader is not None
        with torch.no_grad():
            motion = trajectory.motion(settings.frames, task.fps, start)
            begin = followed_path(move_splats(task.rig.skeleton, motion, task.skinned), settings, task.fps)[0]
            video = film(task.rig.skeleton, motion, task.skinned, settings, view)
            z = prior.encode(video[None])
            gradient = score_gradient(task.recipe.estimator, prior, z, inputs._replace(condition=task.condition(video)))
            wanted = wanted_of(task.rig, reader(z - gradient), begin)
        miss = fit_to_points(trajectory, wanted, task.fps, start, task.recipe.fit_steps)
        return {"score": float(gradient.square().mean().sqrt()), "miss": miss}

    @property
    def _reads(self) -> bool:
        """Is the prior's film read, rather than compared with ours as a picture?"""
        return self._in_pictures and self.task.prior.reader is not None

    @property
    def _in_pictures(self) -> bool:
        return self.task.recipe.fit == "pictures"

    def _film(self, trajectory: Trajectory, motion: Motion, view: View) -> Float[Tensor, "frame height width 3"]:
        """The film of a motion. Gaits under score distillation are as they were found with a camera held fixed."""
        if self.task.recipe.film_gradient == "sharp":
            return film(self.task.rig.skeleton, motion, self.task.skinned, self.task.prior.film, view)
        held = trajectory.assumptions.is_gait and not self._in_pictures
        shown = without_steady_path(motion) if held else motion
        return film_softly(self.task.rig.skeleton, shown, self.task.skinned, self.task.prior.film, view, following=not held)

    def _look(self, video: Float[Tensor, "frame height width 3"], seen: Tensor, inputs: ScoreInputs) -> tuple[Tensor, Tensor]:
        """One question to the prior: its gradient on the latents of a film, and the latents or pictures to which it leads."""
        prior = self.task.prior
        z = prior.encode(video.detach()[None]) if self._in_pictures else seen.detach()
        inputs = inputs._replace(condition=self.task.condition(video))
        gradient = score_gradient(self.task.recipe.estimator, prior, z, inputs)
        return gradient, prior.decode(z - gradient)[0] if self._in_pictures else z - gradient

    def _losses(
        self, trajectory: Trajectory, motion: Motion
    ) -> tuple[dict[str, Float[Tensor, ""]], Posed, FootMotion | None]:
        """The weighted losses besides the prior's, by name, and the motion of body and feet, the latter if they count."""
        recipe, rig, assumed = self.task.recipe, self.task.rig, trajectory.assumptions
        posed = forward_kinematics(rig.skeleton, motion.pose)
        losses = {
            "coefficient_penalty": recipe.coefficient_penalty * trajectory.coefficient_penalty(),
            "smooth": recipe.smooth * smoothness(motion.pose),
            "ground": recipe.ground * ground_depth(self.contacts, posed),
        }
        if not recipe.contact or not len(self.contacts.points) or assumed.support == "none":
            return losses, posed, None
        slow = None if assumed.travels else SLOW_SHARE * rig.gravity**0.5
        feet = foot_motion(self.contacts, posed, motion.fps, float(trajectory.speed), slow=slow)
        if self._feet_count:
            losses["slip"] = recipe.contact * slip(feet) * rig.leg_metres / GRAVITY
            losses["lift"] = recipe.contact * lift(feet) / STANCE_HEIGHT**2
        return losses, posed, feet

    @property
    def _feet_count(self) -> bool:
        """Is the run far enough for slip and lift to count?"""
        return self.iteration >= self.task.recipe.contact_from * self.task.recipe.iterations

    def _follow_support(self, trajectory: Trajectory, posed: Posed, feet: FootMotion | None) -> None:
        """Moving-average update of height and speed, which films hardly show, towards what standing feet or the wave imply."""
        assumed = trajectory.assumptions
        if feet is not None:
            update_height(trajectory, feet, MOVING_AVERAGE)
            if assumed.travels and self._feet_count:
                update_speed(trajectory, feet, MOVING_AVERAGE)
        elif assumed.travels and assumed.support != "feet":
            update_carried_speed(trajectory, posed.position[:, self.axis], self.task.fps, MOVING_AVERAGE)

    def _keep_best(self, count: int, randomness: torch.Generator) -> None:
        """Keep the candidates with the least error of the prior, under the same noise and views; in a draw the earlier."""
        error = motion_error(self.task, guided_denoising_error, COMPARISON_VIEWS, randomness)
        errors = {each.number: error(self.task.film_motion(each.trajectory)) for each in self.candidates}
        best = best_of(errors, count)
        self.compared |= {each.name: errors[each.number] for each in self.candidates}
        self.candidates = [each for each in self.candidates if each.number in best]

    def _choose_order(self, randomness: torch.Generator) -> None:
        """Choose the order of the legs of every candidate that is a gait."""
        error = motion_error(self.task, guided_denoising_error, 1, randomness)
        for candidate in self.candidates:
            if candidate.trajectory.assumptions.is_gait:
                expected = gait.expected_shifts(self.task, candidate.trajectory)
                choose_phases(candidate.trajectory, lambda trajectory: error(self.task.film_motion(trajectory)), expected)
                candidate.reset_momentum()


def best_of(errors: dict[int, float], count: int) -> list[int]:
    """The candidates with the least errors, by number; of those in a draw the one that comes first."""
    left, kept = dict(errors), []
    for _ in range(min(count, len(errors))):
        least = min(left.values())
        kept.append(min(number for number, error in left.items() if error <= least + DRAW))
        del left[kept[-1]]
    return kept


def window_start(task: Task, trajectory: Trajectory, iteration: int) -> float:
    """Start of the film in the clip [s]: zero for loops, evenly over clips longer than it, so that windows overlap."""
    if trajectory.curves.period is not None:
        return 0.0
    return max(trajectory.curves.duration - task.film_seconds, 0.0) * (GOLDEN_RATIO * iteration % 1.0)


@torch.no_grad()
def rest_latents(task: Task, view: View) -> Latents:
    """Latents of a film of the character at rest."""
    settings = task.prior.film
    curves = Frames(channel_count(task.rig.skeleton), 1, task.fps, randomness=torch.Generator())
    motion = Trajectory(task.rig.skeleton, curves, 0.0, assumptions=CANDIDATES["once"]).motion(settings.frames, task.fps)
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


@torch.no_grad()
def update_carried_speed(trajectory: Trajectory, axis: Float[Tensor, "frame point 3"], fps: float, share: float) -> None:
    """Move the speed towards the one at which the wave along the body carries it."""
    ahead = trajectory.speed * torch.arange(len(axis))[:, None] / fps * torch.tensor((1.0, 0.0, 0.0))
    implied = carried_speed((axis - ahead[:, None]).double().numpy(), fps)
    if implied is not None:
        trajectory.speed += share * (implied - trajectory.speed)


def begun_candidates(task: Task) -> dict[CandidateName, Assumptions]:
    """The candidates of a task; one with nothing but what its curves imply, if the recipe names its curves."""
    recipe = task.recipe
    if recipe.curves != "fourier":
        return {"once": Assumptions(task.loop and recipe.curves == "spline", "none", travels=True, support="feet")}
    return candidates_for(task.rig, recipe.candidates, loop=task.loop, expected=task.wish.action if task.wish else "")


def initial_trajectory(task: Task, assumptions: Assumptions) -> Trajectory:
    """The neutral pose, at constant speed if it travels, with a little noise: nothing here depends on the prompt."""
    recipe, rig, randomness = task.recipe, task.rig, torch.Generator().manual_seed(task.seed)
    anatomy = (hinges_of(rig), neutral_pose(rig)) if recipe.anatomy else ()
    if recipe.scales == "plain":
        scale: Float[np.ndarray, " channel"] | None = np.ones(channel_count(rig.skeleton))
    else:
        scale = None if assumptions.is_gait or recipe.curves != "fourier" else joint_reach(rig)
    trajectory = Trajectory(
        rig.skeleton, _curves(task, assumptions, randomness), task.start_speed if assumptions.travels else 0.0,
        assumptions.phase_offset, *anatomy, assumptions=assumptions, scale=scale,
    )  # fmt: skip
    if assumptions.support == "none":
        trajectory.height += ALOFT_HEIGHT
    return trajectory


def _curves(task: Task, assumptions: Assumptions, randomness: torch.Generator) -> Curves:
    """Curves near zero: a cycle's, or those of a clip."""
    channels, kind = channel_count(task.rig.skeleton), task.recipe.curves
    if kind == "frames":
        return Frames(channels, round(task.span * task.fps) + 1, task.fps, spread=FREE_START, randomness=randomness)
    if kind == "fourier" and assumptions.cycle:
        return Fourier(channels, task.start_frequency, task.film_seconds / 2, spread=FOURIER_START, randomness=randomness)
    seconds, knot_frames = (task.film_seconds, KNOT_FRAMES) if kind == "fourier" else (task.span, 2)
    return Spline(
        channels, seconds, knots_per_second=task.fps / knot_frames, wrapped=assumptions.cycle, spread=FREE_START,
        randomness=randomness,
    )  # fmt: skip


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
