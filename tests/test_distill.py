"""Laws of distillation: curves, estimators, terms, and a closed-form prior that leads back to a known motion."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.creatures.neutral import neutral_pose
from akd.creatures.wish import read_wish
from akd.distill.assumptions import CANDIDATES
from akd.distill.estimators import ScoreInputs, csd, dds, draw_noise, sds, variance_preserving_sds
from akd.distill.loop import Distillation, distill, initial_trajectory, update_height, update_speed, without_steady_path
from akd.distill.losses import GroundContacts, foot_motion, ground_depth, lift, slip, smoothness
from akd.distill.prompts import expand, negative_prompts, subject
from akd.distill.recipe import PAPER, Recipe
from akd.distill.soft_film import film_softly
from akd.distill.task import Task
from akd.distill.trajectory import Fourier, Frames, Spline, Trajectory, channel_scale
from akd.errors import AkdError
from akd.motion import Motion
from akd.prior.prior import CHANGE_EXPONENT, TEXT_WEIGHT, LatentShape, VideoPrior, guided_denoising_error
from akd.prior.schedule import Denoised, NoiseSchedule
from akd.reconstruct.skinned import skinned_splats
from akd.render.film import FilmSettings, film
from akd.rig import Rig
from akd.skeleton import Pose, forward_kinematics

SMALL = FilmSettings(
    width=32, height=32, frames=9, reference_leg=0.9, ground=None, azimuth=(60, 60), elevation=(20, 20), distance=(1, 1)
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class GaussianPrior(VideoPrior):
    """A prior whose answer is known: films are ``mean`` plus noise of size ``spread``. Latents are pictures, made smaller.

    A text embedding with a ``mean`` of its own stands for a prompt, so that guidance can be tested, too.
    """

    device = torch.device("cpu")

    def __init__(self, mean: torch.Tensor, spread: float = 0.0) -> None:
        self.mean, self.spread, self.film = mean, spread, SMALL
        self.schedule = NoiseSchedule("flow")

    def embed(self, text: str) -> dict[str, torch.Tensor]:
        return {}

    def latent_shape(self, frames: int, height: int, width: int) -> LatentShape:
        return LatentShape(3, frames, height // 2, width // 2)

    def encode(self, video: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool3d(video.permute(0, 4, 1, 2, 3), (1, 2, 2))

    def denoise(self, z_t, t, text, negative=None, guidance=1.0, condition=None):  # type: ignore[no-untyped-def]
        level = self.schedule.level(t)
        kept = level.alpha * self.spread**2 / (level.alpha.square() * self.spread**2 + level.sigma.square())
        mean = text.get("mean", self.mean)
        clean = mean + kept * (z_t - level.alpha * mean)
        return Denoised(clean, (z_t - level.alpha * clean) / level.sigma)


def test_a_fourier_motion_is_an_exact_loop() -> None:
    curves = Fourier(5, 1.7, 0.4, spread=0.3, randomness=seeded())
    times = torch.linspace(0, 1, 7)
    torch.testing.assert_close(curves(times), curves(times + curves.period), rtol=1e-4, atol=1e-5)


def test_a_spline_with_wrapped_knots_is_an_exact_loop() -> None:
    curves = Spline(3, 2.0, knots_per_second=4.0, wrapped=True, spread=0.5, randomness=seeded())
    assert curves.period == 2.0
    times = torch.linspace(0, 2, 23, dtype=torch.float64)
    one, next_one = (curves.basis(times + shift) @ curves.coefficients.double() for shift in (0.0, 2.0))
    torch.testing.assert_close(one, next_one)
    curves.quicken(2.0)
    assert curves.period == 1.0
    torch.testing.assert_close(curves.basis(times / 2) @ curves.coefficients.double(), one)


def test_curves_without_a_cycle_say_so() -> None:
    for curves in (Spline(2, 1.0, knots_per_second=3.0, randomness=seeded()), Frames(3, 6, 4.0, randomness=seeded())):
        assert curves.period is None
        with pytest.raises(ValueError, match="no cycle"):
            curves.quicken(2.0)
        with pytest.raises(ValueError, match="no cycle"):
            _ = curves.frequency


@pytest.mark.parametrize("wrapped", [False, True])
def test_splines_are_smooth_and_add_up_to_one(wrapped: bool) -> None:
    curves = Spline(2, 2.0, knots_per_second=3.0, wrapped=wrapped, randomness=seeded())
    basis = curves.basis(torch.linspace(0, 2.0, 50, dtype=torch.float64))
    torch.testing.assert_close(basis.sum(1), torch.ones(50, dtype=torch.float64))
    assert basis.diff(n=2, dim=0).abs().max() < 0.06


def test_frames_are_met_exactly() -> None:
    curves = Frames(3, 6, 4.0, spread=1.0, randomness=seeded())
    torch.testing.assert_close(curves(torch.arange(6) / 4.0), curves.coefficients)


def test_the_start_is_rest_at_constant_speed_and_knows_no_sentence() -> None:
    rig = creature("dog", 3)
    prior, skinned = GaussianPrior(torch.zeros(1, 3, 9, 16, 16)), skinned_splats(rig)
    tasks = (Task(rig, skinned, prior, words, ("",), Recipe(), 1.0) for words in ("a dog walking", "a dog running"))
    walk, run = (initial_trajectory(task, CANDIDATES["antiphase"]) for task in tasks)
    for a, b in zip(walk.parameters(), run.parameters(), strict=True):
        assert torch.equal(a, b)
    motion = walk.motion(9, 8.0)
    assert motion.pose.angles.abs().max() < 0.2
    forward = motion.pose.root_position[:, 0].diff()
    torch.testing.assert_close(forward, torch.full((8,), float(walk.speed) / 8), rtol=0.05, atol=0.01)


def test_a_smaller_amplitude_swings_about_the_same_mean() -> None:
    rig = creature("dog", 3)
    curves = Fourier(len(channel_scale(rig.skeleton)), 1.0, 0.5, spread=0.3, randomness=seeded())
    with torch.no_grad():
        curves.coefficients[0] = 0.2
    trajectory = Trajectory(rig.skeleton, curves, 2.0)
    assert float(trajectory.with_amplitude(0.5).speed) == 1.0
    middle = trajectory.with_amplitude(0.0).motion(1, 1.0).pose.angles
    a, b = (each.motion(20, 20.0).pose.angles - middle for each in (trajectory, trajectory.with_amplitude(0.5)))
    torch.testing.assert_close(b, a / 2, atol=1e-5, rtol=1e-4)
    assert a.abs().max() > 0.01


def test_channel_scales_are_largest_where_animals_move() -> None:
    """A leg's swing fore and aft has a larger scale than its twist, whether the leg points down or aside."""
    for plan in ("dog", "spider"):
        skeleton = creature(plan, 1).skeleton
        scale = channel_scale(skeleton)[6:].reshape(-1, 3)
        hips = [limb.joints[0] - 1 for limb in skeleton.limbs if limb.kind == "leg"]
        assert (scale[hips].max(1) > 0.4).all()
        assert (scale[hips].min(1) < 0.5 * scale[hips].max(1)).all()


def test_arms_hang_and_swing_however_they_are_spread_at_rest() -> None:
    """People's arms hang, reach forward rather than aside from there, and other bodies are left as they are."""
    assert not neutral_pose(creature("tyrannosaur", 1)).any()
    rig = creature("human", 1)
    neutral, names = neutral_pose(rig), rig.skeleton.names
    rest = rig.skeleton.rest_pose()
    hands = [limb.tip for limb in rig.skeleton.limbs if limb.kind == "arm"]
    posed = forward_kinematics(rig.skeleton, Pose(rest.root_position, rest.root_rotation, neutral)).position[hands].numpy()
    at_rest = rig.skeleton.positions[hands]
    assert (np.abs(posed[:, 2]) < np.abs(at_rest[:, 2]) - 0.2).all()
    assert (posed[:, 1] < at_rest[:, 1] - 0.05).all()
    shoulder = names.index("left_upper_arm")
    axis = int(channel_scale(rig.skeleton, neutral)[6:].reshape(-1, 3)[shoulder - 1].argmax())
    neutral[shoulder, axis] += 0.1
    raised = forward_kinematics(rig.skeleton, Pose(rest.root_position, rest.root_rotation, neutral)).position[hands].numpy()
    assert np.abs(raised - posed).max(0).argmax() == 0, "the most useful angle takes the hand fore and aft"


def test_estimator_is_the_analytic_gradient_of_a_gaussian() -> None:
    """For a Gaussian, E[z − ẑ] = (1 − kept · signal)(z − mean)."""
    mean = torch.randn(1, 2, 3, 4, 4, generator=seeded(1))
    z = torch.randn(1, 2, 3, 4, 4, generator=seeded(2))
    prior = GaussianPrior(mean, 0.7)
    noise, t = draw_noise((2, 3, 4, 4), 64, (0.5, 0.5), seeded(3))
    gradient = sds(prior, z, ScoreInputs(noise, t, {}, ({},), 1.0))
    kept = 0.5 * 0.49 / (0.25 * 0.49 + 0.25)
    torch.testing.assert_close(gradient, (1 - 0.5 * kept) * (z - mean), rtol=1e-4, atol=1e-4)  # opposite noises cancel


def test_one_denoising_step_blurs_and_several_choose() -> None:
    """From pure noise, one step gives the mean of all clips; many give one of them, as different from it as clips are."""
    prior, z = GaussianPrior(torch.zeros(1, 3, 1, 8, 8), 0.5), torch.zeros(1, 3, 1, 8, 8)
    noise = torch.randn(1, 3, 1, 8, 8, generator=seeded())
    t = torch.tensor([0.999])
    once, often = (-sds(prior, z, ScoreInputs(noise, t, {}, ({},), 1.0, denoising_steps=steps)) for steps in (1, 60))
    assert once.std() < 0.05
    assert 0.4 < often.std() < 0.6


def test_variance_preserving_scores_do_not_damp() -> None:
    """A guess that is the clip but weaker asks for no weaker motion; plain score distillation does."""
    z = torch.randn(1, 2, 3, 4, 4, generator=seeded(2))
    z -= z.mean(2, keepdim=True)
    noise, t = draw_noise((2, 3, 4, 4), 64, (0.5, 0.5), seeded(3))
    inputs = ScoreInputs(noise, t, {}, ({},), 1.0)
    prior = GaussianPrior(torch.zeros_like(z), 0.7)
    assert variance_preserving_sds(prior, z, inputs).norm() < 1e-3 * z.norm() < 0.1 * sds(prior, z, inputs).norm()


def test_differences_of_scores_cancel_where_there_is_nothing_to_say() -> None:
    mean = torch.randn(1, 2, 3, 4, 4, generator=seeded(1))
    prior, z = GaussianPrior(mean, 0.5), torch.randn(1, 2, 3, 4, 4, generator=seeded(2))
    noise, t = draw_noise((2, 3, 4, 4), 3, (0.4, 0.8), seeded())
    inputs = ScoreInputs(noise, t, {}, ({},), 1.0)
    assert csd(prior, z, inputs).abs().max() == 0
    assert dds(prior, z, inputs._replace(rest=lambda: z)).abs().max() == 0


def test_guidance_leads_from_the_negative_prompt_to_the_prompt() -> None:
    """At spread 0 the prediction is the prompt's own film, so the gradient is known for every guidance."""
    z, wanted, other = (torch.randn(1, 2, 3, 4, 4, generator=seeded(seed)) for seed in range(3))
    noise, t = draw_noise((2, 3, 4, 4), 4, (0.4, 0.8), seeded())
    inputs = ScoreInputs(noise, t, {"mean": wanted}, ({"mean": other},), 3.0)
    prior = GaussianPrior(torch.zeros_like(z))
    torch.testing.assert_close(sds(prior, z, inputs), z - (other + 3.0 * (wanted - other)), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(csd(prior, z, inputs), 3.0 * (other - wanted), atol=1e-4, rtol=1e-4)


def test_noise_comes_in_opposite_pairs_spread_over_time() -> None:
    noise, t = draw_noise((1, 2, 2, 2), 8, (0.2, 0.6), seeded())
    torch.testing.assert_close(noise[::2], -noise[1::2])
    assert ((t[::2] - 0.2) // 0.1).tolist() == [0, 1, 2, 3]


def test_soft_film_shows_the_same_and_moves_hidden_limbs() -> None:
    rig = creature("dog", 0)
    skinned = skinned_splats(rig)
    motion = gait_motion(rig, "walk", fps=10.0, frames=3)
    view = SMALL.view
    seen = film_softly(rig.skeleton, motion, skinned, SMALL, view)
    torch.testing.assert_close(seen, film(rig.skeleton, motion, skinned, SMALL, view), rtol=1e-4, atol=1e-5)


def test_soft_film_gives_hidden_limbs_more_gradient() -> None:
    """Seen from the right, a person's left arm is behind the trunk: beside the right arm's, its gradient grows (mean of four)."""
    side = replace(SMALL, azimuth=(90, 90), elevation=(0, 0))
    rigs = [creature("human", seed) for seed in range(4)]
    splats = [skinned_splats(rig) for rig in rigs]

    def hidden_share(shoot, rig: Rig, skinned) -> float:
        rest = rig.skeleton.rest_pose()
        left, right = (next(limb for limb in rig.skeleton.limbs_of("arm") if limb.side == name) for name in "LR")
        angles = torch.zeros(1, rig.skeleton.joint_count, 3, requires_grad=True)
        motion = Motion(Pose(rest.root_position[None], rest.root_rotation[None], angles), 8.0)
        video = shoot(rig.skeleton, motion, skinned, side, side.view)
        (slope,) = torch.autograd.grad((video * torch.randn(video.shape, generator=seeded())).sum(), angles)
        return float(slope[:, list(left.joints)].norm() / slope[:, list(right.joints)].norm())

    sharp, soft = (
        sum(hidden_share(shoot, *pair) for pair in zip(rigs, splats, strict=True)) / 4 for shoot in (film, film_softly)
    )
    assert sharp < 0.02
    assert soft > 1.5 * sharp


def test_a_standing_foot_rests_and_a_moving_one_slips() -> None:
    rig = creature("human", 0)
    contacts = GroundContacts.of(rig)
    walk = gait_motion(rig, "walk", fps=30.0, frames=40)
    posed = forward_kinematics(rig.skeleton, walk.pose.to(torch.float32))
    ahead = torch.arange(40)[:, None] / 30 * torch.eye(3)[0]
    glide = replace(walk, pose=replace(walk.pose, root_position=walk.pose.root_position + ahead))
    slides = forward_kinematics(rig.skeleton, glide.pose.to(torch.float32))
    speed = 30 * float(walk.pose.root_position[:, 0].diff().mean())
    assert slip(foot_motion(contacts, posed, 30.0, speed)) < 0.2 * slip(foot_motion(contacts, slides, 30.0, speed + 1))
    assert lift(foot_motion(contacts, posed, 30.0, speed)) < 0.02**2
    assert ground_depth(contacts, posed) < 1e-3
    assert smoothness(walk.pose) > 0


def test_speed_and_height_follow_the_feet() -> None:
    rig = creature("human", 0)
    trajectory = Trajectory(rig.skeleton, Fourier(len(channel_scale(rig.skeleton)), 1.0, 0.5, randomness=seeded()), 2.0)
    trajectory.height += 0.02
    for _ in range(60):
        motion = trajectory.motion(9, 8.0)
        feet = foot_motion(GroundContacts.of(rig), forward_kinematics(rig.skeleton, motion.pose), 8.0, float(trajectory.speed))
        update_height(trajectory, feet, 0.2)
        update_speed(trajectory, feet, 0.2)
    assert abs(float(trajectory.speed)) < 0.05  # legs that do not move belong to a body that stands
    assert abs(float(trajectory.height)) < 0.01


def test_films_give_no_gradient_on_steady_travel() -> None:
    rig = creature("dog", 0)
    motion = gait_motion(rig, "walk", fps=8.0, frames=9)
    position = motion.pose.root_position.clone().requires_grad_()
    shown = without_steady_path(replace(motion, pose=replace(motion.pose, root_position=position))).pose.root_position
    torch.testing.assert_close(shown, position)
    time = torch.linspace(-1, 1, 9, dtype=shown.dtype)
    (gradient,) = torch.autograd.grad((shown * torch.randn(shown.shape, generator=seeded(), dtype=shown.dtype)).sum(), position)
    torch.testing.assert_close(gradient.sum(0), torch.zeros_like(gradient[0]), atol=1e-5, rtol=0)
    torch.testing.assert_close(time @ gradient, torch.zeros_like(gradient[0]), atol=1e-5, rtol=0)


@pytest.mark.parametrize("curves", ["fourier", "spline"])
def test_a_prior_that_knows_one_clip_leads_to_its_motion(curves: str) -> None:
    rig = creature("human", 2)
    skinned = skinned_splats(rig)
    prior = GaussianPrior(torch.zeros(1, 3, 9, 16, 16))
    recipe = Recipe(
        iterations=40, draws=1, estimator="sds", learning_rate=0.25, curves=curves,  # type: ignore[arg-type]
        contact=0.0, coefficient_penalty=0.0, smooth=0.0, ground=0.0, cycles_per_film=0.7,
    )  # fmt: skip
    task = Task(rig, skinned, prior, "", ("",), recipe, 1.0)
    rate = task.fps
    task = replace(task, seconds=(SMALL.frames - 1) / rate)
    true = gait_motion(rig, "walk", fps=rate, frames=SMALL.frames)
    with torch.no_grad():
        prior.mean = prior.encode(film(rig.skeleton, true, skinned, SMALL)[None])
    errors: list[float] = []
    trajectory = distill(task, lambda run, numbers: errors.append(numbers["score"]))
    assert errors[-1] < 0.85 * errors[0]
    legs = [joint for leg in rig.legs for joint in leg.joints]

    def apart(found: Motion) -> float:
        places = [forward_kinematics(rig.skeleton, each.pose.to(torch.float64)).position for each in (found, true)]
        relative = [place[:, legs] - place[:, :1] for place in places]
        return float((relative[0] - relative[1]).detach().norm(dim=-1).mean())

    start = initial_trajectory(task, CANDIDATES["antiphase"]).motion(SMALL.frames, rate)
    assert apart(trajectory.motion(SMALL.frames, rate)) < 0.9 * apart(start), "the legs come nearer to the motion it knows"
    assert trajectory.antiphase or curves != "fourier"


def test_same_seed_same_motion() -> None:
    rig = creature("human", 2)
    prior = GaussianPrior(torch.zeros(1, 3, 9, 16, 16), 0.3)
    task = Task(rig, skinned_splats(rig), prior, "", ("",), Recipe(iterations=3, draws=2), 1.0, seed=5)
    first, second = distill(task).state_dict(), distill(task).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    other = Distillation(replace(task, seed=6)).trajectory.state_dict()
    assert not torch.equal(first["curves.coefficients"], other["curves.coefficients"])


def test_runs_that_gave_the_pose_space_no_weight_are_still_understood() -> None:
    assert Recipe.from_dict({"iterations": 7, "plausible": 0.0}) == Recipe(iterations=7)
    with pytest.raises(AkdError, match="plausible"):
        Recipe.from_dict({"plausible": 1e4})


@pytest.mark.parametrize("name", ["in phase", "antiphase", "staying", "once"])
def test_the_prior_decides_between_the_candidates(name: str) -> None:
    """Whatever it knows wins, whatever the sentence is taken for: two are left after the pruning, one after the decision."""
    rig = creature("human", 2)
    skinned = skinned_splats(rig)
    prior = GaussianPrior(torch.zeros(1, 3, 9, 16, 16))
    recipe = Recipe(iterations=4, draws=1, prune_at=0.25, decide_at=0.5, phases_at=())
    task = Task(rig, skinned, prior, "", ("",), recipe, 1.0, seed=3, wish=read_wish("a human waving"))
    run = Distillation(task)
    assert [each.name for each in run.candidates] == ["staying", "in phase", "antiphase", "once"], "the sentence only orders them"
    (wanted,) = (each for each in run.candidates if each.name == name)
    with torch.no_grad():
        wanted.trajectory.curves.coefficients *= 8
    prior.mean = prior.encode(film(rig.skeleton, wanted.trajectory.motion(SMALL.frames, task.fps), skinned, SMALL)[None]).detach()
    run.step()
    assert len(run.candidates) == 2
    run.step()
    (kept,) = run.candidates
    assert kept is wanted
    assert run.trajectory is kept.trajectory


def test_papers_noise_narrows_over_half_its_iterations() -> None:
    assert PAPER.noise_range(0) == pytest.approx((0.02, 0.98))
    assert PAPER.noise_range(4_999) == pytest.approx((0.02, 0.5))
    assert PAPER.noise_range(9_999) == pytest.approx((0.02, 0.5))


def test_papers_recipe_is_the_papers() -> None:
    """Angles of every frame in radians from the rest pose, the film's own gradient, nothing but the three published losses."""
    rig = creature("dog", 1)
    skinned = skinned_splats(rig)
    prior = GaussianPrior(torch.zeros(1, 3, 9, 16, 16))
    task = Task(rig, skinned, prior, "", ("",), replace(PAPER, iterations=4), 0.5, seed=3)
    run = Distillation(task)
    (candidate,) = run.candidates
    trajectory = candidate.trajectory
    assert isinstance(trajectory.curves, Frames)
    assert torch.equal(trajectory.scale, torch.ones_like(trajectory.scale))
    assert not trajectory.neutral.any()
    assert not trajectory.speed
    motion = trajectory.motion(SMALL.frames, task.fps)
    own, soft = (
        torch.autograd.grad(shot.square().sum(), trajectory.curves.coefficients, retain_graph=True)[0]
        for shot in (film(rig.skeleton, motion, skinned, SMALL), film_softly(rig.skeleton, motion, skinned, SMALL, SMALL.view))
    )
    shot = run._film(trajectory, motion, SMALL.view)
    (found,) = torch.autograd.grad(shot.square().sum(), trajectory.curves.coefficients)
    assert torch.equal(found, own)
    assert not torch.allclose(found, soft)
    measured = run.step()
    assert {name for name, value in measured.items() if value} <= {"score", "smooth", "ground"}


@pytest.mark.parametrize(
    ("prompt", "who"),
    [("a fox walking", "fox"), ("The horse gallops", "horse"), ("walking", "creature"), ("a knight who punches", "knight")],
)
def test_the_subject_is_found(prompt: str, who: str) -> None:
    assert subject(prompt) == who
    assert who in expand(prompt)
    assert who in negative_prompts(prompt)[0]


def test_unknown_motions_stay_as_they_are() -> None:
    assert expand("a fox yodels") == "a fox yodels"


@pytest.mark.parametrize("prompt", ["a robot walking backwards", "a man walking on his hands", "a dog jumping twice"])
def test_what_a_description_would_lose_is_not_expanded(prompt: str) -> None:
    assert expand(prompt) == prompt


@pytest.mark.parametrize(
    ("prompt", "action"),
    [("a man doing a backflip", "backflip"), ("a knight somersaulting", "somersault"), ("a fox yodels loudly", "yodel")],
)
def test_negative_prompts_never_contain_the_unknown_action(prompt: str, action: str) -> None:
    assert all(action not in sentence for sentence in negative_prompts(prompt))


def test_all_are_led_away_from_stillness_and_fast_gaits_from_a_walk_too() -> None:
    still, walking = negative_prompts("a brown dog galloping")
    assert "standing still" in still
    assert "walking" in walking
    for prompt in ("a brown dog walking", "a girl dancing", "a fox jumping"):
        (only,) = negative_prompts(prompt)
        assert "standing still" in only


class ListeningPrior(GaussianPrior):
    """One that expects the clip it knows when it hears of it, and stillness otherwise."""

    def embed(self, text: str) -> dict[str, torch.Tensor]:
        return {"heard": torch.tensor(float(text == "the clip"))}

    def denoise(self, z_t, t, text, negative=None, guidance=1.0, condition=None):  # type: ignore[no-untyped-def]
        guess = super().denoise(z_t, t, text)
        still = guess.x0.mean(2, keepdim=True)
        return guess._replace(x0=still + (0.1 + 0.8 * text["heard"]) * (guess.x0 - still))


def test_surprise_is_small_for_what_is_known_and_grows_slowly_with_what_is_shown() -> None:
    clip = torch.randn(1, 3, 9, 16, 16, generator=seeded())
    noise, t = draw_noise(clip.shape[1:], 4, (0.3, 0.8), seeded(1))
    still = clip.mean(2, keepdim=True).expand_as(clip)
    expecting = [
        guided_denoising_error(GaussianPrior(still), still + larger * (clip - still), noise, t, "") for larger in (1.0, 3.0)
    ]
    assert float(expecting[1] - expecting[0]) == pytest.approx((1 - CHANGE_EXPONENT) * 2 * np.log(3.0), abs=1e-3)
    assert guided_denoising_error(GaussianPrior(clip), clip, noise, t, "") < expecting[0] - 5
    prior = ListeningPrior(clip)
    right, wrong = (guided_denoising_error(prior, clip, noise, t, text) for text in ("the clip", "another"))
    assert right < wrong - TEXT_WEIGHT
