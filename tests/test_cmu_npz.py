"""Compact captures: what is written by the rules of the format is read as it was."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from akd.character.build import build_rig
from akd.character.clips import read_clip
from akd.errors import AkdError
from akd.files.cmu_npz import FPS, UNIT, is_compact_capture, read_cmu_npz

MOTIONS = Path(__file__).resolve().parents[2] / "shared" / "motions" / "cmu"
PARENTS = [-1, 0, 1]


@pytest.fixture
def captures(tmp_path: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    """Two clips of five and three frames on two skeletons of a hip, a leg and a foot."""
    rng = np.random.default_rng(1)
    quaternions = np.roll(Rotation.random(24, random_state=2).as_quat().reshape(8, 3, 4), 1, axis=-1)
    root = rng.normal(size=(8, 3)).astype(np.float32)
    path = tmp_path / "walk.npz"
    np.savez(
        path, root=root, quat=(quaternions * UNIT).round().astype(np.int16), start=[0, 5], length=[5, 3], skeleton=[0, 1],
        source=["a", "b"],
    )  # fmt: skip
    offsets = [[[0, 0, 0], [0.1, -0.1, 0], [0, -0.8 - k, 0]] for k in (0.0, 0.1)]
    description = {
        "joints": ["Hips", "LeftLeg", "LeftFoot"], "parents": PARENTS, "offsets": offsets,
        "end_offsets": [{"LeftFoot": [0, 0, 0.1]}, {"LeftFoot": [0, 0, 0.2]}],
        "t_pose_euler_zyx_degrees": {"LeftLeg": [-20, 0, 0]},
    }  # fmt: skip
    (tmp_path / "skeleton.json").write_text(json.dumps(description))
    return path, quaternions, root


def test_positions_follow_the_rule_of_the_format(captures):
    path, quaternions, root = captures
    file = read_cmu_npz(path, 1)
    assert file.names == ("Hips", "LeftLeg", "LeftFoot", "LeftFoot_end")
    (clip,) = file.clips
    assert clip.duration == pytest.approx(2 / FPS)
    assert file.sample is not None
    world = file.sample(clip.name, np.arange(3) / FPS)
    turn, at = np.eye(3), root[6].astype(float)
    offsets = [np.zeros(3), np.array([0.1, -0.1, 0]), np.array([0, -0.9, 0]), np.array([0, 0, 0.2])]
    for bone, offset in enumerate(offsets):
        at = at + turn @ offset
        np.testing.assert_allclose(world[1, bone, :3, 3], at, atol=1e-3)
        if bone < 3:
            turn = turn @ Rotation.from_quat(np.roll(quaternions[6, bone], -1)).as_matrix()


def test_the_rest_pose_stands_on_the_ground_in_its_t_pose(captures):
    file = read_cmu_npz(captures[0], 0)
    assert file.rest[:, 1, 3].min() == pytest.approx(0)
    turned = Rotation.from_matrix(file.rest[1, :3, :3]).as_euler("ZYX", degrees=True)
    np.testing.assert_allclose(turned, (-20, 0, 0), atol=1e-9)


def test_what_is_missing_is_said(captures, tmp_path: Path):
    path, *_ = captures
    assert is_compact_capture(path)
    with pytest.raises(AkdError, match="no clip 2: its 2 clips are 0 to 1"):
        read_cmu_npz(path, 2)
    other = tmp_path / "other.npz"
    np.savez(other, root=np.zeros((2, 3)))
    assert not is_compact_capture(other)
    with pytest.raises(AkdError, match="no 'quat'"):
        read_cmu_npz(other, 0)
    (tmp_path / "skeleton.json").unlink()
    with pytest.raises(AkdError, match=r"put skeleton\.json beside it"):
        read_cmu_npz(path, 0)


def test_a_real_capture_walks_on_the_floor():
    if not MOTIONS.is_dir():
        pytest.skip("the folder of captured motions is not here")
    file = read_cmu_npz(MOTIONS / "walk.npz", 5)
    rig = build_rig(file, forward=np.array([0.0, 0.0, 1.0]))
    assert len(rig.legs) == 2
    assert len(rig.skeleton.limbs_of("arm")) == 2
    read = read_clip(rig, file.clips[0].name)
    assert read.residual < 1e-6
    root = read.motion.pose.root_position
    assert float(root[-1, 0] - root[0, 0]) > 2
    assert 0.9 < float(root[:, 1].mean()) < 1.3
