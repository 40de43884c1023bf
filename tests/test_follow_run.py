"""akd follow as a run: its folder, going on after an interruption, and the command line's sentences."""

import json
import re

import numpy as np
import pytest
import torch

from akd.assets import load_rig
from akd.errors import AkdError
from akd.files.gltf.write_rig import write_rig
from akd.files.motion_npz import read_motion
from akd.files.video import write_video
from akd.follow.first_frame import FirstFrame, frame_camera, parse_view
from akd.pipeline.follow import FollowJob, begin_follow, follow, resume_follow
from akd.pipeline.job import Progress
from akd.pipeline.kinds import KINDS
from akd.render.preview import still
from sample_rigs import box_rig, stride

pytest.importorskip("av")
pytest.importorskip("cv2")
SIZE = (200, 150)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A character's file, a clip of it, and the clip's first frame."""
    folder = tmp_path_factory.mktemp("follow")
    write_rig(box_rig(1), {}, folder / "box.glb")
    rig = load_rig(folder / "box.glb")
    motion = stride(rig, (0.0, 0.5), seconds=0.4, fps=20, amplitude=0.2)
    camera = frame_camera(rig, motion.pose[4].to(torch.float32), parse_view("side"), *SIZE)
    pictures = [
        still(rig, motion.pose[n].to(torch.float32), camera, background=(0.93, 0.93, 0.95), supersample=2)[0]
        for n in range(motion.frame_count)
    ]
    write_video(folder / "clip.mp4", pictures, 20)
    FirstFrame(camera, motion.pose[0].to(torch.float32), rig.skeleton.names).save(folder / "first.json")
    return folder


@pytest.mark.long
def test_a_row_of_a_batch_follows_a_clip(files, tmp_path):
    """Checked before it starts, done once, and found done the second time."""
    request = KINDS["follow"].request({"character": str(files / "box.glb"), "clip": str(files / "clip.mp4"),
                                       "first": str(files / "first.json")})  # fmt: skip
    assert [path.name for path in KINDS["follow"].files(request)] == ["box.glb", "clip.mp4", "first.json"]
    KINDS["follow"].run(request, tmp_path / "run", None, Progress())
    first = (tmp_path / "run" / "motion.npz").read_bytes()
    KINDS["follow"].run(request, tmp_path / "run", None, Progress())
    assert (tmp_path / "run" / "motion.npz").read_bytes() == first
    with pytest.raises(AkdError, match="camera is auto, static or following"):
        KINDS["follow"].request({"character": "a.glb", "clip": "b.mp4", "camera": "flying"})


class Impatient(Progress):
    """Stops after some steps, as Ctrl-C does."""

    def __init__(self, steps):
        self.steps = steps

    def items(self, items, count, what):
        for number, item in enumerate(items):
            if number == self.steps:
                raise KeyboardInterrupt
            yield item


@pytest.mark.long
def test_a_run_that_was_stopped_goes_on_to_the_same_motion(files, tmp_path):
    job = FollowJob(str(files / "box.glb"), str(files / "clip.mp4"), first=str(files / "first.json"))
    whole = begin_follow(tmp_path / "whole", job, Progress())
    with pytest.raises(KeyboardInterrupt):
        begin_follow(tmp_path / "stopped", job, Impatient(5))
    assert not (tmp_path / "stopped" / "result.json").exists()
    again = resume_follow(tmp_path / "stopped", Progress())
    rig = load_rig(files / "box.glb")
    one, other = (read_motion(run["motion.npz"], rig.skeleton).pose for run in (whole, again))
    torch.testing.assert_close(one.angles, other.angles, rtol=0, atol=0)
    result = json.loads((tmp_path / "whole" / "result.json").read_text())
    assert result["overlap"] > result["overlap_motionless"]
    assert set(result["limbs_seen"]) == {limb.name for limb in rig.skeleton.limbs}
    assert set(result["joint_confidence"]) == set(rig.skeleton.names)
    assert min(result["joint_confidence"].values()) >= 0
    assert max(result["joint_confidence"].values()) == 1
    assert np.array(result["camera"]["world_to_camera"]).shape == (9, 4, 4)
    for name in ("animated.glb", "preview.mp4", "report.html", "strip.png", "rig.glb"):
        assert (tmp_path / "whole" / name).stat().st_size > 0
    with pytest.raises(AkdError, match="exists already"):
        begin_follow(tmp_path / "whole", job, Progress())
    assert resume_follow(tmp_path / "whole", Progress()).path == whole.path


def bar(count=8, move=2):
    """Something thin that is no character and moves across a plain background."""
    pictures = torch.full((count, 150, 200, 3), 0.9)
    for index in range(count):
        pictures[index, 10:140, 90 + move * index : 93 + move * index] = 0.2
    return pictures


BAD = {
    "black": (lambda: torch.zeros(8, 150, 200, 3), "No subject stands out"), "still": (lambda: bar(move=0), "Nothing moves"),
    "two frames": (lambda: bar(2), "at least 4"), "no character": (bar, "does not show this character"),
    "cut": (lambda: torch.cat((bar(), 1 - bar())), "has a cut at 0.40 s"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_clips_that_show_nothing_to_follow_are_a_sentence_with_a_cure(files, tmp_path, kind):
    """And nothing is written."""
    make, sentence = BAD[kind]
    write_video(tmp_path / "clip.mp4", make(), 20)
    job = FollowJob(str(files / "box.glb"), str(tmp_path / "clip.mp4"), first=str(files / "first.json"))
    with pytest.raises(AkdError, match=sentence) as caught:
        begin_follow(tmp_path / "run", job, Progress())
    assert "\n" not in str(caught.value)
    assert re.search(r"[:;.] ?[Gg]ive ", str(caught.value))
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_clip_without_the_character_is_refused_without_its_camera_too(files, tmp_path):
    write_video(tmp_path / "clip.mp4", bar(), 20)
    job = FollowJob(str(files / "box.glb"), str(tmp_path / "clip.mp4"))
    with pytest.raises(AkdError, match="was not found in the first frame"):
        begin_follow(tmp_path / "run", job, Progress())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["no clip", "text", "other shape", "other first"])
def test_mistakes_leave_nothing_behind(files, tmp_path, kind):
    clip, first = files / "clip.mp4", files / "first.json"
    if kind == "no clip":
        clip = tmp_path / "none.mp4"
    elif kind == "text":
        clip = tmp_path / "text.mp4"
        clip.write_text("no video")
    elif kind == "other shape":
        clip = tmp_path / "wide.mp4"
        x = torch.linspace(0, 1, 300)[None, None, :, None]
        discs = ((x - torch.linspace(0.4, 0.6, 8)[:, None, None, None]).abs() > 0.05).float().expand(8, 60, 300, 3).clone()
        discs[:, :10] = discs[:, -10:] = 1
        write_video(clip, discs, 10)
    else:
        first = tmp_path / "first.json"
        first.write_text("{}")
    job = FollowJob(str(files / "box.glb"), str(clip), first=str(first))
    with pytest.raises(AkdError) as caught:
        begin_follow(tmp_path / "run", job, Progress())
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_the_public_name_can_be_called(files, tmp_path):
    import akd
    import akd.follow.clip

    with pytest.raises(AkdError, match="There is no clip"):
        akd.follow(load_rig(files / "box.glb"), tmp_path / "none.mp4", first=files / "first.json")
    assert follow is not None
