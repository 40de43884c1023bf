"""Control films, first frames and control given as files."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image

from akd.creatures.build import creature
from akd.errors import AkdError
from akd.files.motion_npz import write_motion
from akd.files.video import read_picture, read_video, write_picture, write_video
from akd.motion import Motion
from akd.pipeline.control_film import control_film, control_settings
from akd.prior.families import FAMILIES
from akd.prior.given import given_to
from akd.prior.prior import VideoPrior
from akd.rig import Rig
from akd.skeleton import Pose
from in_process import command_line
from tiny_priors import tiny


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    return command_line(monkeypatch, capsys)


@pytest.fixture(scope="module")
def dog() -> Rig:
    return creature("dog", 0)


def moving(rig: Rig, frames: int) -> Motion:
    """A character that goes forward with stiff legs."""
    pose = rig.skeleton.rest_pose(frames)
    forward = torch.linspace(0, 1, frames)[:, None] * torch.tensor((1.0, 0, 0))
    return Motion(Pose(pose.root_position + forward, pose.root_rotation, pose.angles), 16.0)


@pytest.mark.parametrize("control", ["depth", "mask", "pose"])
def test_control_films_show_the_character_alone(control: str, dog: Rig) -> None:
    film = control_film(dog, moving(dog, 12), control, control_settings("81x48x80", 16.0))  # type: ignore[arg-type]
    assert film.shape == (9, 48, 80, 3)  # the most of 4k + 1 frames that there are
    assert film.min() >= 0
    assert film.max() <= 1
    assert film[:, :4, :4].max() < 0.05  # black around it
    assert film.mean((1, 2, 3)).min() > 0.01
    if control == "mask":
        assert film.max() > 0.95
    if control == "pose":
        assert len({tuple(color) for color in film[0].reshape(-1, 3).tolist()}) > 3  # limbs have colours of their own


def test_bones_lie_within_the_mask(dog: Rig) -> None:
    settings = control_settings("5x96x160", 16.0)
    bones, mask = (control_film(dog, moving(dog, 5), control, settings) for control in ("pose", "mask"))  # type: ignore[arg-type]
    drawn = bones.amax(-1) > 0.1
    assert (mask[..., 0][drawn] > 0.3).float().mean() > 0.9


def test_films_that_no_model_takes_are_refused(dog: Rig) -> None:
    for film in ("80x480x832", "81x480x830"):
        with pytest.raises(AkdError, match="4k \\+ 1 frames"):
            control_settings(film, 16.0)
    with pytest.raises(AkdError, match="at least 5 frames, and this clip has 3"):
        control_film(dog, moving(dog, 3), "mask", control_settings("81x48x80", 16.0))


def test_pictures_are_cut_to_the_films_shape(tmp_path: Path) -> None:
    wide = torch.zeros(20, 60, 3)
    wide[:, 20:40] = 1.0
    write_picture(tmp_path / "wide.png", wide)
    seen = read_picture(tmp_path / "wide.png", size=(40, 40))
    assert seen.shape == (40, 40, 3)
    assert seen.mean() > 0.95  # its middle
    (tmp_path / "no.png").write_text("no picture")
    with pytest.raises(AkdError, match="is no picture"):
        read_picture(tmp_path / "no.png", size=(40, 40))


def test_files_become_conditions(tmp_path: Path) -> None:
    pipe = tiny("wan-vace")
    prior = VideoPrior(FAMILIES[type(pipe).__name__](pipe)).with_film({"frames": 13, "height": 32, "width": 64})
    write_video(tmp_path / "control.mp4", torch.rand(11, 64, 128, 3), 12.0)
    Image.new("RGB", (100, 50), (200, 30, 30)).save(tmp_path / "first.png")
    following, condition = given_to(prior, image=tmp_path / "first.png", control=tmp_path / "control.mp4")
    assert (following.film.frames, following.film.fps) == (9, 12.0)
    assert condition is not None
    assert condition.cells == 1
    assert following.sample("a dog", steps=1, condition=condition).shape == (1, 9, 32, 64, 3)
    assert given_to(prior) == (prior, None)
    pipe = tiny("wan")
    plain = VideoPrior(FAMILIES[type(pipe).__name__](pipe))
    with pytest.raises(AkdError, match="takes no control film"):
        given_to(plain, control=tmp_path / "control.mp4")
    with pytest.raises(AkdError, match="takes no first frame"):
        given_to(plain, image=tmp_path / "first.png")


def test_samples_of_a_folder_begin_with_a_picture(tmp_path: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    """The layout of the embedded prior's second edition: CogVideoX image-to-video as plain modules."""
    folder = tmp_path / "prior"
    tiny("cogvideox-i2v").save_pretrained(folder)
    Image.new("RGB", (64, 32), (200, 30, 30)).save(tmp_path / "first.png")
    common = ("prior", "sample", folder, "a dog walking", "--steps", "2", "--film", "9x32x64")
    code, out, err = command(*common, "--image", tmp_path / "first.png", "--out", tmp_path / "given.mp4")
    assert code == 0, err
    assert "given.mp4: a dog walking" in out
    assert read_video(tmp_path / "given.mp4")[0].shape == (9, 32, 64, 3)
    assert command(*common, "--image", tmp_path / "none.png", "--out", tmp_path / "x.png")[0] != 0
    code, _, err = command("prior", "sample", "embedded", "a dog", "--image", tmp_path / "first.png", "--out", tmp_path / "x.png")
    assert code != 0
    assert "takes no first frame" in err


def test_poses_are_filmed_by_a_command(tmp_path: Path, dog: Rig, command: Callable[..., tuple[int, str, str]]) -> None:
    write_motion(tmp_path / "walk.npz", dog.skeleton, moving(dog, 9))
    out = tmp_path / "control.mp4"
    options = ("--control", "mask", "--film", "81x48x80", "--out", out)
    code, said, err = command("pose", "film", "a dog", tmp_path / "walk.npz", *options)
    assert (code, err) == (0, "")
    assert "9 frames of 80 × 48" in said
    assert read_video(out)[0].shape == (9, 48, 80, 3)
