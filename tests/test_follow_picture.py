"""The first frame for an image-to-video model: what is drawn is what first.json says, and damaged files are refused."""

import json

import numpy as np
import pytest
import torch

from akd.creatures.build import creature
from akd.errors import AkdError
from akd.follow.first_frame import (
    BACKGROUND,
    FirstFrame,
    draw_first_frame,
    make_first_frame,
    parse_size,
    parse_view,
    pose_at_ease,
    posed_vertices,
)
from sample_rigs import box_rig


@pytest.mark.parametrize("view", ["side", "three-quarter", "front", "top", "200,-5"])
def test_the_character_is_where_its_camera_says(view):
    rig = box_rig(2)
    first = make_first_frame(rig, view=parse_view(view), width=160, height=96)
    picture = draw_first_frame(rig, first)
    drawn = (picture - torch.tensor(BACKGROUND)).abs().amax(-1) > 0.02
    camera = first.camera
    seen = posed_vertices(rig, first.pose) @ camera.world_to_camera[0, :3, :3].T + camera.world_to_camera[0, :3, 3]
    pixels = (seen @ camera.intrinsics[0].T)[:, :2] / seen[:, 2:]
    rows, columns = torch.nonzero(drawn, as_tuple=True)
    assert columns.min() - 1.5 <= pixels[:, 0].min() <= columns.min() + 1.5
    assert rows.max() - 0.5 <= pixels[:, 1].max() <= rows.max() + 2.5
    assert pixels.min() > 0
    assert pixels[:, 0].max() < 160
    assert pixels[:, 1].max() < 96


def test_camera_and_pose_come_back_from_the_file(tmp_path):
    rig = box_rig(1)
    first = make_first_frame(rig, width=320, height=200)
    first.save(tmp_path / "first.json")
    again = FirstFrame.load(tmp_path / "first.json", rig)
    assert (again.camera.width, again.camera.height) == (320, 200)
    torch.testing.assert_close(again.camera.world_to_camera, first.camera.world_to_camera)
    torch.testing.assert_close(again.pose.angles, first.pose.angles)


def test_arms_hang_at_ease():
    rig = creature("human", 1)
    arms = rig.skeleton.limbs_of("arm")
    pose = pose_at_ease(rig)
    vertices = posed_vertices(rig, pose).numpy()
    assert abs(vertices[:, 1].min()) < 0.05
    for arm in arms:
        hand = rig.weights[:, arm.tip] > 0.5
        assert vertices[hand, 1].mean() < rig.skeleton.positions[arm.joints[0], 1] - 0.3
    assert np.ptp(vertices[:, 2]) < 0.8 * np.ptp(rig.mesh.vertices[:, 2])


@pytest.mark.parametrize("change", ["another", "format", "numbers", "text", "camera"])
def test_files_that_do_not_fit_are_refused(tmp_path, change):
    path, rig = tmp_path / "first.json", box_rig(1)
    make_first_frame(rig).save(path)
    value = json.loads(path.read_text())
    if change == "another":
        rig = box_rig(2)
    elif change == "format":
        value["format"] = "other"
    elif change == "numbers":
        value["pose"]["root_position"] = [0, float("nan"), 0]
    elif change == "camera":
        value["camera"]["intrinsics"][0][0] = -1
    path.write_text("{" if change == "text" else json.dumps(value))
    with pytest.raises(AkdError, match=r"another character|make it anew"):
        FirstFrame.load(path, rig)


@pytest.mark.parametrize("text", ["12", "0x9", "1280×720", "99999x4", "-3x5"])
def test_sizes_that_are_none(text):
    with pytest.raises(AkdError, match="WIDTHxHEIGHT"):
        parse_size(text)


@pytest.mark.parametrize("text", ["left", "1,2,3", "nan,0", "10,100"])
def test_views_that_are_none(text):
    with pytest.raises(AkdError, match="AZIMUTH,ELEVATION"):
        parse_view(text)
