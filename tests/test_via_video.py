"""Animation by way of a clip: a prior that films a known motion from the picture it is given gives that motion back."""

import json

import numpy as np
import pytest
import torch

from akd.assets import load_rig
from akd.cli.animate import _recipe
from akd.errors import AkdError
from akd.files.gltf.write_rig import write_rig
from akd.files.motion_npz import read_motion
from akd.follow.clip import Clip
from akd.follow.first_frame import BACKGROUND, draw_first_frame, make_first_frame, pose_at_ease
from akd.follow.marker_film import marker_subject
from akd.motion import Motion
from akd.pipeline import follow, results
from akd.pipeline import runs as several_runs
from akd.pipeline.job import SAMPLING, Job, Progress
from akd.pipeline.kinds import KINDS
from akd.pipeline.run_folder import RESULTS
from akd.pipeline.runs import begin_runs, resume_runs
from akd.pipeline.via_video import enlarged
from akd.prior.family import Condition
from akd.prior.prior import VideoPrior
from akd.reconstruct.skinned import skinned_splats
from akd.render.film import FilmSettings, film
from akd.render.looks import limb_color
from akd.render.preview import PreviewSettings, still
from akd.skeleton import Pose
from sample_rigs import box_rig

pytest.importorskip("cv2")
FILM = FilmSettings(frames=9, azimuth=(80, 80), elevation=(12, 12), distance=(1, 1), reference_leg=0.9, follow=0.0)

SMALL = PreviewSettings(width=32, height=24, supersample=1)


def swinging(rig, fps, count=9, angle=0.5):
    """Both legs swing from ease, in antiphase."""
    pose = pose_at_ease(rig)
    angles = pose.angles.repeat(count, 1, 1)
    for leg, sign in zip(rig.legs, (1, -1), strict=True):
        angles[:, leg.joints[0], 1] += sign * angle * torch.sin(torch.linspace(0, 4.5, count))
    return Motion(Pose(pose.root_position.repeat(count, 1), pose.root_rotation.repeat(count, 1), angles), fps)


class FilmingPrior(VideoPrior):
    """Knows one motion of one character, and films it; latents are its pictures. With higher seeds noise covers the film."""

    device = torch.device("cpu")
    takes_first_frame = trained_on_captions = True
    known_actions = ("walk",)

    def __init__(self, rig, settings=FILM):
        self.film, self.rig, self.asked = settings, rig, []
        self.motion = swinging(rig, settings.rate(rig.leg_metres))

    def check_sentence(self, text):
        pass

    def check_film(self, frames, height, width):
        pass

    def condition(self, first, frames=None):
        return Condition(first[None], 1)

    def sample_latents(self, text, *, seed=0, condition=None, **options):
        self.asked.append((text, options))
        made = film(self.rig.skeleton, self.motion, skinned_splats(self.rig, resolution=64), self.film)
        # It was given the picture of its own first frame.
        torch.testing.assert_close(condition.latents[0, 0], made[0], atol=0.1, rtol=0)
        return (made + 0.1 * seed * torch.randn(made.shape, generator=torch.Generator().manual_seed(seed)))[None]

    def decode(self, latents):
        return latents.clamp(0, 1)


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch):
    monkeypatch.setattr(follow, "PREVIEW_HEIGHT", 48)
    for name in ("STRIP", "FILM"):
        monkeypatch.setattr(results, name, SMALL)


@pytest.fixture(scope="module")
def character(tmp_path_factory):
    path = tmp_path_factory.mktemp("via") / "box.glb"
    write_rig(box_rig(1), {}, path)
    return path


def job(character, **options):
    return Job("a box walking", str(character), via="video", recipe=SAMPLING, expand=False, **options)


def leg_angles(rig, motion):
    return torch.stack([motion.pose.angles[:, leg.joints[0], 1] for leg in rig.legs])


@pytest.mark.long
def test_the_motion_of_the_clip_comes_back_best_followed_first(character, tmp_path):
    rig = load_rig(character)
    prior = FilmingPrior(rig)
    runs = begin_runs(tmp_path / "runs", job(character), 2, Progress(), prior=prior)
    results = [run.result() for run in runs]
    assert [run.path.name for run in runs] == ["seed-0", "seed-1"]
    assert results[0]["followed"]["score"] > results[1]["followed"]["score"]
    assert results[0]["followed"]["score"] > results[0]["followed"]["score_motionless"]
    assert set(results[0]) >= {"asked", "looks_like", "checks", "verdict", "sentence", "measured"}
    found = leg_angles(rig, read_motion(runs[0]["motion.npz"], rig.skeleton))
    # One leg forward, the other back, by about as much, in the middle of the first swing.
    middle = found[:, found.shape[1] // 3]
    assert (middle[0] - middle[1]) == pytest.approx(1.0, abs=0.45)
    for name in ("clip.mp4", "first.png", "first.json", "followed.mp4"):
        assert (runs[0].path / name).stat().st_size > 0
    assert [run.path.name for run in resume_runs(tmp_path / "runs", Progress(), prior=prior)] == ["seed-0", "seed-1"]


def test_one_clip_that_shows_nothing_does_not_stop_the_others(character, tmp_path, monkeypatch):
    rig, told = load_rig(character), []

    def do(run, job, *rest):
        if job.seed != 1:
            raise AkdError("Nothing moves.")
        for name in RESULTS:
            run[name].write_text(json.dumps({"sentence": "", "followed": {"score": 0.5}}))

    monkeypatch.setattr(several_runs, "run_job", do)
    monkeypatch.setattr(Progress, "notice", lambda self, sentence: told.append(sentence))
    found = begin_runs(tmp_path / "runs", job(character), 2, Progress(), prior=FilmingPrior(rig))
    assert [run.path.name for run in found] == ["seed-1"]
    assert "Seed 0: Nothing moves." in told


class Photographer(FilmingPrior):
    """A big model: it has read everything, and its clips look like the picture it is given."""

    trained_on_captions = False
    known_actions = None

    def sample_latents(self, text, *, condition=None, **options):
        first = make_first_frame(self.rig, width=self.film.width, height=self.film.height)
        torch.testing.assert_close(condition.latents[0, 0], draw_first_frame(self.rig, first), atol=0.02, rtol=0)
        poses = (self.motion.pose[n].to(torch.float32) for n in range(self.film.frames))
        return torch.stack([still(self.rig, pose, first.camera, background=BACKGROUND)[0] for pose in poses])[None]


@pytest.mark.long
def test_clips_of_a_big_model_are_followed_by_their_outlines(character, tmp_path):
    rig = load_rig(character)
    prior = Photographer(rig, FilmSettings(width=160, height=120, frames=7, fps=12.0, look="natural"))
    run = begin_runs(tmp_path / "run", job(character), 1, Progress(), prior=prior)[0]
    found = run.result()["followed"]
    assert found["limbs_agree"] is None
    assert found["overlap"] > found["overlap_motionless"] + 0.03
    swing = leg_angles(rig, read_motion(run["motion.npz"], rig.skeleton))
    assert float((swing[0] - swing[1]).abs().max()) > 0.3


class Impatient(Progress):
    """Stops after some steps, as Ctrl-C does."""

    def items(self, items, count, what):
        for number, item in enumerate(items):
            if what == "following" and number == 4:
                raise KeyboardInterrupt
            yield item


@pytest.mark.long
def test_a_run_that_was_stopped_goes_on_with_the_same_clip(character, tmp_path):
    rig = load_rig(character)
    prior = FilmingPrior(rig)
    whole = begin_runs(tmp_path / "whole", job(character), 1, Progress(), prior=prior)[0]
    with pytest.raises(KeyboardInterrupt):
        begin_runs(tmp_path / "stopped", job(character), 1, Impatient(), prior=prior)
    assert not (tmp_path / "stopped" / "result.json").exists()
    asked = len(prior.asked)
    again = resume_runs(tmp_path / "stopped", Progress(), prior=prior)[0]
    assert len(prior.asked) == asked
    one, other = (read_motion(run["motion.npz"], rig.skeleton).pose for run in (whole, again))
    torch.testing.assert_close(one.angles, other.angles, rtol=0, atol=0)
    assert json.loads((tmp_path / "stopped" / "config.json").read_text())["job"]["via"] == "video"


def test_what_cannot_go_by_way_of_a_clip_is_a_sentence(character, tmp_path):
    with pytest.raises(AkdError, match=r"embedded prior cannot be given a picture.* --prior"):
        begin_runs(tmp_path / "run", Job("a box walking", str(character), via="video"), 1, Progress())
    with pytest.raises(AkdError, match="leave --loop out"):
        begin_runs(tmp_path / "run", job(character, loop=True), 1, Progress(), prior=FilmingPrior(load_rig(character)))
    assert not (tmp_path / "run").exists()


def test_a_clip_without_the_character_is_a_sentence(character, tmp_path):
    class Empty(FilmingPrior):
        def sample_latents(self, text, **options):
            return torch.full((1, 9, 64, 64, 3), 0.5)

    with pytest.raises(AkdError, match=r"cannot be followed .*another --seed") as caught:
        begin_runs(tmp_path / "run", job(character), 1, Progress(), prior=Empty(load_rig(character)))
    assert "\n" not in str(caught.value)


def test_limbs_are_found_by_their_colours():
    rig = box_rig(1)
    left, right = (index for index, limb in enumerate(rig.skeleton.limbs) if limb.kind == "leg")
    picture = np.tile(np.linspace(0.85, 0.5, 64)[:, None, None], (1, 64, 3))
    picture[20:50, 20:28] = limb_color(rig.skeleton.limbs[left])
    picture[20:50, 36:44] = limb_color(rig.skeleton.limbs[right])
    clip = enlarged(np.uint8(255 * np.repeat(picture[None], 4, 0)), 10.0)
    assert isinstance(clip, Clip)
    assert clip.frames.shape[1:3] == (192, 192)
    subject = marker_subject(clip, rig.skeleton)
    assert (subject.limbs[0, 70:140, 65:80] == left).all()
    assert (subject.limbs[0, 70:140, 113:128] == right).all()
    assert (subject.limbs[0, :50] == -1).all()
    assert subject.masks[0].sum() == pytest.approx(2 * 24 * 90, rel=0.1)


def test_rows_of_a_batch_and_the_command_line_sample_alike():
    """Steps and guidance can be said; what belongs to distillation is refused."""
    asked = KINDS["animate"].request({"prompt": "a dog walking", "via": "video", "guidance": 2.0})
    assert asked.via == "video"
    assert (asked.recipe.denoising_steps, asked.recipe.guidance) == (SAMPLING.denoising_steps, 2.0)
    nothing = dict.fromkeys(("estimator", "iterations", "draws", "learning_rate", "plausible", "denoising_steps"))
    assert _recipe("default", "embedded", False, nothing | {"guidance": 2.0}, "video") == asked.recipe
    for own, name in (({"iterations": 3}, "--iterations"), ({"learning_rate": 0.1}, "--learning-rate")):
        with pytest.raises(AkdError, match=name):
            _recipe("default", "embedded", False, nothing | own, "video")
    with pytest.raises(AkdError, match="--recipe"):
        _recipe("quick", "embedded", False, nothing, "video")
