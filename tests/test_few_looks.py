"""Few looks, then fit, and the controls of candidates, with priors in closed form that know one film for each sentence."""

from dataclasses import replace

import pytest
import torch

from akd.contact.traces import trace
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.creatures.wish import read_wish
from akd.distill.assumptions import CANDIDATES
from akd.distill.finishing import finish
from akd.distill.loop import Distillation, distill, initial_trajectory
from akd.distill.pictures import blurred, picture_distance
from akd.distill.recipe import QUICK, Recipe
from akd.distill.soft_film import film_softly
from akd.distill.task import Task
from akd.motion import Motion
from akd.reconstruct.skinned import skinned_splats
from akd.render.film import film
from akd.skeleton import forward_kinematics
from test_distill import SMALL, GaussianPrior

HUMAN = creature("human", 2)
SKINNED = skinned_splats(HUMAN, count=1500, resolution=32)
RATE = SMALL.rate(HUMAN.leg_metres)
FEW = replace(QUICK, iterations=3, fit_steps=25, denoising_steps=2, phases_at=(), compared_draws=1, lock_feet=False)
ONCE = replace(FEW, candidates=("once",))


class KnowingPrior(GaussianPrior):
    """Knows the film of one motion for each sentence, and the mean of all of them for any other."""

    def __init__(self, motions: dict[str, Motion]) -> None:
        super().__init__(torch.zeros(1, 3, 9, 16, 16))
        with torch.no_grad():
            self.films = {
                text: self.encode(film(HUMAN.skeleton, motion, SKINNED, SMALL)[None]) for text, motion in motions.items()
            }
        if self.films:
            self.mean = torch.stack(list(self.films.values())).mean(0)

    def embed(self, text: str) -> dict[str, torch.Tensor]:
        return {"mean": self.films.get(text, self.mean)}

    def decode(self, latents: torch.Tensor) -> torch.Tensor:
        return latents.repeat_interleave(2, -1).repeat_interleave(2, -2).permute(0, 2, 3, 4, 1)


def known(action: str) -> Motion:
    return gait_motion(HUMAN, action, fps=RATE, frames=SMALL.frames)


def apart(one: Motion, other: Motion) -> float:
    """Mean distance of the joints as seen from the root [ℓ]."""
    places = [forward_kinematics(HUMAN.skeleton, each.pose.detach().to(torch.float64)).position for each in (one, other)]
    relative = [place - place[:, :1] for place in places]
    return float((relative[0] - relative[1]).norm(dim=-1).mean())


@torch.no_grad()
def distance(prior: KnowingPrior, motion: Motion, text: str) -> float:
    """From a motion's film to the one that the prior knows for a sentence, a little blurred."""
    return float(picture_distance(film(HUMAN.skeleton, motion, SKINNED, SMALL), prior.decode(prior.films[text])[0], 0.5, 1))


def task_of(prior: KnowingPrior, prompt: str, recipe: Recipe, wish: str = "") -> Task:
    return Task(HUMAN, SKINNED, prior, prompt, ("",), recipe, 1.0, wish=read_wish(wish) if wish else None)


def test_a_motion_is_fitted_to_the_film_that_the_prior_finishes() -> None:
    prior = KnowingPrior({"wave": known("wave_hand")})
    task = task_of(prior, "wave", ONCE)
    start = Distillation(task).trajectory.motion(SMALL.frames, RATE)
    found = distill(task).motion(SMALL.frames, RATE)
    assert distance(prior, found, "wave") < 0.25 * distance(prior, start, "wave")


@pytest.mark.parametrize(("told", "other"), [("kick", "wave_hand"), ("wave_hand", "kick")])
def test_the_prior_alone_knows_the_action(told: str, other: str) -> None:
    """The swap: reader and order of candidates hear of one action, the prior of another. What it was told is what is made."""
    motions = {"kick": known("kick"), "wave_hand": known("wave_hand")}
    prior = KnowingPrior(motions)
    wish = {"kick": "a human kicking", "wave_hand": "a human waving"}[other]
    found = distill(task_of(prior, told, FEW, wish)).motion(SMALL.frames, RATE)
    assert distance(prior, found, told) < 0.6 * distance(prior, found, other)


def test_a_prior_that_agrees_with_everything_moves_nothing() -> None:
    """The control with a score of zero: what is shown is what it expects."""

    class Agreeing(KnowingPrior):
        def encode(self, video: torch.Tensor) -> torch.Tensor:
            self.shown = super().encode(video)
            return self.shown

        def embed(self, text: str) -> dict[str, torch.Tensor]:
            return {"mean": self.shown.detach() if hasattr(self, "shown") else self.mean}

        def denoise(self, z_t, t, text, negative=None, guidance=1.0, condition=None):  # type: ignore[no-untyped-def]
            return super().denoise(z_t, t, {"mean": self.shown.detach()})

    task = task_of(Agreeing({"kick": known("kick")}), "kick", replace(ONCE, fit="latents", fit_steps=3))
    start = Distillation(task).trajectory.motion(SMALL.frames, RATE)
    assert apart(distill(task).motion(SMALL.frames, RATE), start) < 0.02


def test_seeds_of_few_looks_begin_with_different_samples() -> None:
    """Where the prior knows many films, the first look chooses one of them: other seeds, other motions."""
    prior = KnowingPrior({"kick": known("kick")})
    prior.spread = 0.3
    tasks = [replace(task_of(prior, "kick", replace(ONCE, iterations=1)), seed=seed) for seed in (0, 1)]
    one, other = (distill(task).motion(SMALL.frames, RATE) for task in tasks)
    starts = [Distillation(task).trajectory.motion(SMALL.frames, RATE) for task in tasks]
    assert apart(one, other) > 3 * apart(*starts)


def test_a_snake_goes_where_its_wave_carries_it_and_a_bird_stays_aloft() -> None:
    """Nothing of a finished clip is held that should slide, and nothing is put down that flies."""
    for plan, name, travels in (("snake", "carried", True), ("bird", "aloft", True), ("snake", "once", False)):
        rig = creature(plan, 3)
        prior = KnowingPrior({})
        task = Task(rig, skinned_splats(rig, count=300, resolution=16), prior, "", ("",), replace(QUICK, candidates=(name,)), 1.0)
        trajectory = initial_trajectory(task, CANDIDATES[name])  # type: ignore[index]
        clip = finish(task, trajectory).motion
        lowest, path = trace(rig, clip).lowest, clip.pose.root_position[:, 0]
        assert (float(path[-1] - path[0]) > 0.5 * task.start_speed) == travels
        assert lowest.min() > 1.0 if name == "aloft" else lowest == pytest.approx(0, abs=0.02)


def test_a_blur_keeps_the_mean() -> None:
    picture = torch.zeros(1, 33, 33, 3)
    picture[0, 16, 16] = 1.0
    soft = blurred(picture, 2.0)
    assert float(soft.sum()) == pytest.approx(3.0, rel=1e-3)
    assert float(soft[0, 16, 16, 0]) == pytest.approx(1 / (2 * torch.pi * 4), rel=0.05)


@pytest.mark.parametrize("following", [False, True])
def test_the_gradient_of_a_fit_leads_downhill_only_if_it_knows_that_the_camera_follows(following: bool) -> None:
    """A raised arm moves the box that the camera follows: with a camera held fixed, a step along the gradient makes it worse."""
    prior = KnowingPrior({"wave": known("wave_hand")})
    target, trajectory = prior.decode(prior.films["wave"])[0], Distillation(task_of(prior, "wave", ONCE)).trajectory

    def distance(shoot, **options: bool) -> torch.Tensor:
        video = shoot(HUMAN.skeleton, trajectory.motion(SMALL.frames, RATE), SKINNED, SMALL, SMALL.view, **options)
        return picture_distance(video, target, 0.5, 1)

    coefficients, before = trajectory.curves.coefficients, distance(film_softly, following=following)
    before.backward()
    slope = coefficients.grad
    assert slope is not None
    with torch.no_grad():
        slope[:, :6] = 0.0
        coefficients -= 0.02 * slope / slope.norm()
        gained = float(distance(film) - before)
    expected = -0.02 * float(slope.norm())
    assert (0.5 < gained / expected < 2) if following else gained > 0
