"""Films of figures: what is drawn, from how many sides, what is read from them, and the motion that goes where it is read."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.distill.assumptions import CANDIDATES
from akd.distill.loop import Distillation
from akd.distill.reading_fit import Wanted, fit_to_points, wanted_of
from akd.distill.recipe import LOOKS
from akd.distill.task import motion_error
from akd.distill.trajectory import Spline, Trajectory, channel_count
from akd.errors import AkdError
from akd.motion import Motion
from akd.pipeline.checkpoint import load_checkpoint, save_checkpoint
from akd.pipeline.choice import embedded_for, recipe_name
from akd.pipeline.job import Job, make_task
from akd.pipeline.via_video import check_via_video
from akd.prior.load import load_prior
from akd.prior.prior import guided_denoising_error
from akd.prior.reader import FigureReader, Reading
from akd.render.camera import View
from akd.render.figure import POINT_COUNT, figure_points, figure_size, figure_splats
from akd.render.film import FilmSettings, film
from akd.skeleton import Pose, forward_kinematics
from akd.training.prior.proportions import stretched
from akd.training.prior.shown_points import shown_points

TWO_SIDES = FilmSettings(width=96, height=48, panels=(0.0, -90.0), camera="body", look="figure", ground=None)


@pytest.fixture(scope="module")
def human():
    return creature("human", 3)


@pytest.fixture(scope="module")
def walk(human):
    return gait_motion(human, "walk", seed=1, fps=12.0, frames=25)


def test_every_splat_of_a_figure_moves_with_one_bone(human):
    figure = figure_splats(human.skeleton)
    assert torch.equal(figure.weights.sum(1), torch.ones(figure.splats.splat_count))
    assert set(figure.weights.unique().tolist()) == {0.0, 1.0}


def test_a_skeleton_without_labels_has_no_figure(human):
    with pytest.raises(AkdError, match="needs limb labels"):
        figure_splats(replace(human.skeleton, limbs=()))


def test_spread_arms_do_not_change_the_size(human):
    arms = [joint for limb in human.skeleton.limbs_of("arm") for joint in limb.joints]
    positions, tails = human.skeleton.positions.copy(), human.skeleton.tails.copy()
    positions[arms] += (0.0, 0.0, 2.0)
    tails[arms] += (0.0, 0.0, 2.0)
    assert figure_size(replace(human.skeleton, positions=positions, tails=tails)) == figure_size(human.skeleton)


def test_panels_are_the_views_side_by_side(human, walk):
    figure, view = figure_splats(human.skeleton), View(60.0, 12.0, 1.3)
    both = film(human.skeleton, walk, figure, TWO_SIDES, view)
    one = replace(TWO_SIDES, width=48, panels=(0.0,))
    parts = [film(human.skeleton, walk, figure, one, View(azimuth, 12.0, 1.3)) for azimuth in (60.0, -30.0)]
    assert torch.equal(both, torch.cat(parts, 2))


def test_panels_must_share_the_width():
    with pytest.raises(AkdError, match="3 panels"):
        FilmSettings(width=64, panels=(0.0, 90.0, 180.0))


def test_film_settings_of_panels_are_kept(tmp_path):
    TWO_SIDES.save(tmp_path / "film.json")
    assert FilmSettings.load(tmp_path / "film.json") == TWO_SIDES


def raised(motion: Motion, heights: torch.Tensor) -> Motion:
    up = heights[:, None] * torch.tensor((0.0, 1.0, 0.0))
    return replace(motion, pose=Pose(motion.pose.root_position + up, motion.pose.root_rotation, motion.pose.angles))


def test_a_jump_rises_in_the_picture_of_a_camera_that_follows_the_body(human, walk):
    """One that follows the bounding box goes up with it."""
    still = Motion(walk.pose[torch.zeros(25, dtype=torch.long)], walk.fps)
    jump, figure = raised(still, torch.linspace(0, 0.5, 25)), figure_splats(human.skeleton)

    def height_in_picture(camera: str) -> torch.Tensor:
        settings = replace(TWO_SIDES, width=48, panels=(0.0,), camera=camera)
        dark = (film(human.skeleton, jump, figure, settings) - torch.tensor(settings.background)).abs().sum(-1)
        rows = torch.arange(48.0)[:, None]
        return -(dark * rows).sum((1, 2)) / dark.sum((1, 2))

    assert height_in_picture("body")[-1] - height_in_picture("body")[0] > 5.0
    assert (height_in_picture("box")[-1] - height_in_picture("box")[0]).abs() < 1.0


def test_points_lie_on_the_limbs(human):
    points, rest = figure_points(human.skeleton), forward_kinematics(human.skeleton, human.skeleton.rest_pose())
    at = points.at(rest).numpy()
    ends = np.stack((human.skeleton.positions, human.skeleton.tails), 1)
    along = ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * np.linspace(0, 1, 200)[:, None]
    chains = np.concatenate((along.reshape(-1, 3), human.skeleton.positions))
    apart = np.linalg.norm(at[:, None] - chains[None], axis=-1).min(1)
    assert apart.max() < 0.08  # a bone may end beside the joint that follows it
    assert len(set(points.places.tolist())) == len(points.places) <= POINT_COUNT


def test_other_proportions_keep_feet_where_they_are(human):
    feet = [limb.tip for limb in human.skeleton.limbs_of("leg")]
    for seed in range(5):
        other = stretched(human.skeleton, np.random.default_rng(seed))
        np.testing.assert_allclose(other.positions[feet, 1], human.skeleton.positions[feet, 1], atol=1e-12)
        np.testing.assert_allclose(other.positions[other.mirror] * (1, 1, -1), other.positions, atol=1e-9)
        assert not np.allclose(other.positions, human.skeleton.positions)


def test_the_way_read_from_a_film_begins_where_it_is():
    reader = FigureReader(channels=24, tokens_per_cell=8)
    reading = reader(torch.randn(2, 24, 4, 6, 12, generator=torch.Generator().manual_seed(0)))
    assert reading.points.shape == (2, 7, POINT_COUNT, 3)
    assert torch.equal(reading.path[:, 0, (0, 2)], torch.zeros(2, 2))


def true_reading(rig, motion) -> Reading:
    """What a perfect reader would say."""
    shown = shown_points(rig.skeleton, motion, figure_splats(rig.skeleton), TWO_SIDES)[None]
    path = shown[:, :, -1] - shown[:, :1, -1] * torch.tensor((1.0, 0.0, 1.0))
    return Reading(shown[:, :, :-1].nan_to_num(), path)


def new_trajectory(rig, motion, name) -> Trajectory:
    curves = Spline(
        channel_count(rig.skeleton), (motion.frame_count - 1) / motion.fps, knots_per_second=6.0,
        randomness=torch.Generator().manual_seed(0),
    )  # fmt: skip
    return Trajectory(rig.skeleton, curves, 0.0, assumptions=CANDIDATES[name], scale=np.full(channel_count(rig.skeleton), 0.3))


def test_a_motion_is_found_again_from_its_points(human, walk):
    begin = walk.pose.root_position[0]
    wanted = wanted_of(human, true_reading(human, walk), begin)
    trajectory = new_trajectory(human, walk, "once")
    before = fit_to_points(new_trajectory(human, walk, "once"), wanted, walk.fps, 0.0, 1)
    miss = fit_to_points(trajectory, wanted, walk.fps, 0.0, 80)
    found = forward_kinematics(human.skeleton, trajectory.motion(25, walk.fps).pose).position
    true = forward_kinematics(human.skeleton, walk.pose).position
    apart = ((found - found[:, :1]) - (true - true[:, :1])).norm(dim=-1).mean()
    assert miss < 0.02 < before
    assert apart < 0.03


def test_a_cycle_that_stays_is_not_carried_away(human, walk):
    wanted = wanted_of(human, true_reading(human, walk), walk.pose.root_position[0])
    ahead = torch.linspace(0, 3, 25)[:, None, None] * torch.tensor((1.0, 0, 0))
    wanted = Wanted(wanted.figure, wanted.places + ahead, wanted.size)
    channels = channel_count(human.skeleton)
    loops = [Spline(channels, 2.0, knots_per_second=4.0, wrapped=True, randomness=torch.Generator()) for _ in range(2)]
    staying, going = (
        Trajectory(human.skeleton, loop, 0.0, assumptions=CANDIDATES[name])
        for loop, name in zip(loops, ("staying", "antiphase"), strict=True)
    )
    for trajectory in (staying, going):
        fit_to_points(trajectory, wanted, walk.fps, 0.0, 10)
    assert float(staying.speed) == 0.0
    assert float(going.speed) > 1.4


def test_a_sentence_chooses_its_model_and_a_model_its_recipe():
    assert [embedded_for(f"a person {verb}") for verb in ("walking", "running", "kicking", "sitting down")] == [
        "embedded", "embedded", "embedded-actions", "embedded-actions",
    ]  # fmt: skip
    assert embedded_for("a dog galloping") == "embedded"
    assert recipe_name("default", "embedded-actions") == "looks"
    assert recipe_name("default", "embedded") == recipe_name("default", "THUDM/CogVideoX-5b") == "default"
    assert recipe_name("paper", "embedded-actions") == "paper"


def test_the_model_for_actions_reads_its_own_films(human, walk):
    prior = load_prior("embedded-actions")
    figure = figure_splats(human.skeleton)
    at_rate = replace(walk, fps=prior.film.rate(human.leg_metres))
    with torch.no_grad():
        reading = prior.reader(prior.encode(film(human.skeleton, at_rate, figure, prior.film)[None]))
    true = shown_points(human.skeleton, at_rate, figure, prior.film)
    known = true[:, :-1, 0].isfinite()
    miss = (reading.points[0] - true[:, :-1].nan_to_num()).norm(dim=-1)[known].mean()
    still = (true[:, :-1] - true[:, :-1].nanmean(0)).nan_to_num().norm(dim=-1)[known].mean()
    assert miss < 0.08
    assert miss < still, "better than the mean pose"


@pytest.mark.long
def test_a_run_of_looks_that_was_stopped_goes_on_as_if_it_had_not_been(human, tmp_path):
    prior = load_prior("embedded-actions")
    recipe = replace(LOOKS, iterations=3, samples=2, denoising_steps=2, fit_steps=5, t_end=(0.6, 0.6))
    task = make_task(Job("a person kicking", recipe=recipe), prior, human)

    def run(stop: int | None) -> torch.Tensor:
        running = Distillation(task)
        while running.iteration < 3:
            if running.iteration == stop:
                save_checkpoint(running, tmp_path / "state.safetensors")
                running, stop = Distillation(task), None
                load_checkpoint(running, tmp_path / "state.safetensors")
            running.step()
        assert [each.name for each in running.candidates] == ["once"]
        return running.trajectory.motion(25, task.fps).pose.angles

    assert torch.equal(run(None), run(1))


@pytest.mark.long
def test_the_prior_keeps_the_film_with_the_least_error(human):
    prior = load_prior("embedded-actions")
    recipe = replace(LOOKS, denoising_steps=2, fit_steps=5)
    first, best = (
        Distillation(make_task(Job("a person kicking", recipe=replace(recipe, samples=samples)), prior, human))
        for samples in (1, 3)
    )
    error = motion_error(first.task, guided_denoising_error, 1, torch.Generator().manual_seed(0))
    assert "error" not in first.step()
    least = best.step()["error"]
    assert least <= error(first.task.film_motion(first.trajectory)) + 1e-6
    assert least == pytest.approx(error(best.task.film_motion(best.trajectory)), abs=1e-5)


def test_films_of_figures_are_not_followed(human):
    with pytest.raises(AkdError, match="read and not followed"):
        check_via_video(Job("a person kicking", via="video"), load_prior("embedded-actions"))
