"""BVH: what we write reads back as the same joints; what others wrote means what they meant; bad files are named."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from akd.errors import AkdError
from akd.files.bvh import T_BVH_STAGE, read_bvh, write_bvh
from akd.motion import Motion, Pose
from akd.rotations import rotation_vector_to_quaternion
from akd.skeleton import Skeleton, forward_kinematics

SMALL = """HIERARCHY
ROOT Hips {
  OFFSET 0 1 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Left Knee
  {
    OFFSET 0 -0.5 0
    CHANNELS 1 Xrotation
    End Site
    {
      OFFSET 0 -0.5 0.1
    }
  }
}
MOTION
Frames:\t2
Frame Time:\t0.5
0 1 0 0 0 0 0
1 1 0 0 0 90 90
"""


def small_file(folder: Path, text: str = SMALL) -> Path:
    path = folder / "small.bvh"
    path.write_text(text)
    return path


def random_tree(rng: np.random.Generator, count: int) -> Skeleton:
    parents = np.array([-1, *(rng.integers(0, joint) for joint in range(1, count))])
    positions = np.zeros((count, 3))
    for joint in range(count):
        positions[joint] = rng.normal(size=3) * 0.3 + (positions[parents[joint]] if joint else (0, 1, 0))
    return Skeleton.from_joints(tuple(f"bone {joint}/x" for joint in range(count)), parents, positions)


@pytest.mark.parametrize("seed", range(5))
def test_written_motion_reads_back_as_the_same_joint_positions(tmp_path: Path, seed: int) -> None:
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    skeleton = random_tree(rng, 12)
    angles = torch.randn(20, 12, 3, generator=generator, dtype=torch.float64)
    root = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    turn = rotation_vector_to_quaternion(torch.randn(20, 3, generator=generator, dtype=torch.float64))
    motion = Motion(Pose(root, turn, angles), fps=24.0)
    write_bvh(tmp_path / "out.bvh", skeleton, motion, scale=80.0)
    rig = read_bvh(tmp_path / "out.bvh")
    expected = forward_kinematics(skeleton, motion.pose).position.numpy() @ T_BVH_STAGE.T
    bones = [rig.names.index(f"bone_{joint}_x") for joint in range(12)]
    assert rig.sample is not None
    world = rig.sample("out", np.arange(20) / 24.0)
    assert np.allclose(world[..., :3, 3][:, bones] / 80.0, expected, atol=1e-6)
    assert np.allclose(rig.rest[bones, :3, 3] / 80.0, skeleton.positions @ T_BVH_STAGE.T, atol=1e-6)
    assert rig.clips[0].duration == pytest.approx(motion.duration, rel=1e-6)
    leaf = next(joint for joint in range(12) if not skeleton.children(joint))
    end = rig.names.index(f"bone_{leaf}_x_end")
    assert np.allclose(rig.rest[end, :3, 3] / 80.0, skeleton.tails[leaf] @ T_BVH_STAGE.T, atol=1e-6)


def test_written_curves_have_no_jumps(tmp_path: Path) -> None:
    """A joint that keeps turning must not flip by a full turn between frames, or players that blend angles spin it."""
    skeleton = random_tree(np.random.default_rng(0), 2)
    spin = torch.linspace(0, 12, 100, dtype=torch.float64)
    vectors = torch.stack((0.2 * spin.sin(), spin, 0 * spin), -1)
    still = torch.zeros(100, 2, 3, dtype=torch.float64)
    motion = Motion(Pose(still[:, 0], rotation_vector_to_quaternion(vectors), still), 30.0)
    write_bvh(tmp_path / "spin.bvh", skeleton, motion)
    rows = np.array([line.split() for line in (tmp_path / "spin.bvh").read_text().splitlines()[-100:]], float)
    assert np.abs(np.diff(rows, axis=0)).max() < 20.0


def test_small_file_by_hand(tmp_path: Path) -> None:
    """Positions replace offsets, Z X Y order, one-channel joints, a brace on the joint's line, a name with a space, slerp."""
    rig = read_bvh(small_file(tmp_path))
    assert rig.names == ("Hips", "Left Knee", "Left Knee_end")
    assert rig.sample is not None
    assert np.allclose(rig.rest[:, :3, 3], [[0, 1, 0], [0, 0.5, 0], [0, 0, 0.1]])
    end = rig.sample("small", np.array([0.5]))[0]
    # The hips turn by 90° about Y, the knee by 90° about its own X: its end points to −z before the hips turn, to −x after.
    assert np.allclose(end[:, :3, 3], [[1, 1, 0], [1, 0.5, 0], [1 - 0.5, 0.5 - 0.1, 0]])
    middle = rig.sample("small", np.array([0.25]))[0]
    assert np.allclose(middle[0, :3, :3], Rotation.from_euler("y", 45, degrees=True).as_matrix())
    assert np.allclose(rig.sample("small", np.array([-1.0, 9.0])), rig.sample("small", np.array([0.0, 0.5])))


def test_position_channels_left_at_zero_do_not_fold_bones(tmp_path: Path) -> None:
    text = SMALL[: SMALL.index("0 1 0 0 0")].replace("1 Xrotation", "3 Xposition Yposition Zposition") + "0 " * 18
    rig = read_bvh(small_file(tmp_path, text))
    assert rig.sample is not None
    assert np.allclose(rig.sample("small", np.zeros(1))[0], rig.rest)


def test_several_roots(tmp_path: Path) -> None:
    block = SMALL[SMALL.index("ROOT") : SMALL.index("MOTION")]
    text = "HIERARCHY\n" + block + block + "MOTION\nFrames: 1\nFrame Time: 0.1\n" + "0 " * 14
    rig = read_bvh(small_file(tmp_path, text))
    assert (rig.parents == -1).sum() == 2
    assert len(set(rig.names)) == 6
    assert "same name" in rig.notes[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("HIERARCHY", "HIERARCH"), "does not begin"),
        (("MOTION", ""), "no MOTION"),
        (("OFFSET 0 1 0", "OFFSET 0 1"), "three numbers"),
        (("OFFSET 0 1 0", ""), "no OFFSET"),
        (("CHANNELS 1", "CHANNELS 2"), "CHANNELS"),
        (("Xrotation\n    End", "Wrotation\n    End"), "CHANNELS"),
        (("Frames:\t2", "Frames:\t3"), "14 channel values"),
        (("Frame Time:\t0.5", ""), "Frame Time"),
        (("0.5\n0", "0\n0"), "frame time"),
        (("0 1 0 0", "0 nan 0 0"), "not finite"),
        (("0 1 0 0", "0 x 0 0"), "only numbers"),
        (("ROOT Hips", "ROOT"), "no name"),
        (("  }\n}\n", "  }\n"), "not closed"),
        (("  JOINT", "  ROOT"), "wrong place"),
        (("Frames:\t2", "Frames:\t" + "2" * 5000), "digits"),
        (("0.5\n0", "1e-300\n0"), "frame time"),
        (("0.5\n0", "1e11\n0"), "frame time"),
        (("OFFSET 0 1 0", "OFFSET 0 1e300 0"), "beyond"),
        (("0 1 0 0", "0 1e300 0 0"), "beyond"),
        (("CHANNELS 1", "CHANNELS 1" + " Xrotation" * 200), "^.{1,400}$"),
        (("ROOT Hips", "STEM Hips" + "s" * 9999), "^.{1,400}$"),
    ],
)
def test_errors_are_named(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    assert change[0] in SMALL
    with pytest.raises(AkdError, match=words):
        read_bvh(small_file(tmp_path, SMALL.replace(*change, 1)))


def test_a_claim_of_many_frames_of_nothing_takes_no_memory(tmp_path: Path) -> None:
    text = "HIERARCHY\nROOT a {\nOFFSET 0 0 0\n}\nMOTION\nFrames: 99999999999999999\nFrame Time: 1\n"
    assert read_bvh(small_file(tmp_path, text)).clips == ()


def test_missing_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(AkdError, match="cannot be read"):
        read_bvh(tmp_path / "nowhere.bvh")
    (tmp_path / "binary.bvh").write_bytes(bytes(range(256)))
    with pytest.raises(AkdError, match="binary"):
        read_bvh(tmp_path / "binary.bvh")


def test_damaged_files_end_in_a_rig_or_an_error(tmp_path: Path) -> None:
    rng, rigs = np.random.default_rng(0), 0
    for _ in range(400):
        content = bytearray(SMALL.encode())
        for place in rng.integers(0, len(content), rng.integers(1, 3)):
            content[place] = rng.choice(list(b" \n{}0179-.eXYZ\tn\xff"))
        path = tmp_path / "damaged.bvh"
        path.write_bytes(bytes(content[: rng.integers(1, 4 * len(content))]))
        try:
            rig = read_bvh(path)
        except AkdError:
            continue
        rigs += 1
        if rig.sample:
            assert np.all(np.isfinite(rig.sample(rig.clips[0].name, np.linspace(0, 1, 3))))
    assert rigs > 20  # or the damage is so heavy that only the first check is ever tried


def test_cmu_walk_matches_an_independent_computation(assets: Path) -> None:
    """Frame by frame with scipy's Euler angles, straight from the numbers of the file."""
    path = assets / "bvh_cmu_dev" / "02_01.bvh"
    rig = read_bvh(path)
    assert rig.sample is not None
    assert rig.clips[0].duration == pytest.approx(343 / 120, rel=1e-3)
    rows = np.array([line.split() for line in path.read_text().splitlines() if line.strip()][-344:], float)
    joints = [bone for bone, name in enumerate(rig.names) if not name.endswith("_end")]
    for frame in (0, 100, 343):
        world = np.tile(np.eye(4), (len(rig.names), 1, 1))
        angles = iter(rows[frame, 3:].reshape(-1, 3))
        for bone, parent in enumerate(rig.parents):
            local = np.eye(4)
            local[:3, 3] = rig.rest[bone, :3, 3] - rig.rest[parent, :3, 3] if parent >= 0 else rows[frame, :3]
            if bone in joints:
                local[:3, :3] = Rotation.from_euler("ZYX", next(angles), degrees=True).as_matrix()
            world[bone] = world[parent] @ local if parent >= 0 else local
        assert np.allclose(rig.sample(rig.clips[0].name, np.array([frame * rig.clips[0].duration / 343]))[0], world, atol=1e-6)


def test_real_files_read(assets: Path) -> None:
    files = sorted(assets.glob("*/*.bvh"))
    assert files
    for path in files:
        rig = read_bvh(path)
        assert rig.sample is not None
        world = rig.sample(path.stem, np.linspace(0, rig.clips[0].duration, 5))
        child, rest, posed = np.flatnonzero(rig.parents >= 0), rig.rest[:, :3, 3], world[..., :3, 3]
        length = np.linalg.norm(rest[child] - rest[rig.parents[child]], axis=-1)
        assert np.allclose(np.linalg.norm(posed[:, child] - posed[:, rig.parents[child]], axis=-1), length, atol=1e-4)


@pytest.mark.parametrize("name", ["walk1.bvh", "dance1.bvh"])
def test_a_skeleton_that_lies_along_z_is_set_upright(assets, name):
    file = read_bvh(assets / "makehuman_base" / name)
    heads = dict(zip(file.names, file.rest[:, 1, 3], strict=True))
    lowest, highest = min(heads, key=heads.get), max(heads, key=heads.get)
    assert "toe" in lowest.lower() or "foot" in lowest.lower()
    assert any(word in highest.lower() for word in ("head", "jaw"))
    assert any("upright" in note for note in file.notes)
