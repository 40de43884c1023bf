"""motion.npz: write then read is the identity; what is no motion is one sentence, in little memory."""

import io
import os
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from akd.errors import AkdError
from akd.files import motion_npz
from akd.files.motion_npz import read_motion, write_motion
from akd.motion import Motion
from akd.skeleton import Pose, Skeleton

SKELETON = Skeleton.from_joints(("a", "b", "c"), np.array([-1, 0, 1]), np.array([[0.0, 1, 0], [0, 2, 0], [0, 3, 0]]))


def motion(frames: int = 5) -> Motion:
    generator = torch.Generator().manual_seed(0)
    return Motion(Pose(*(torch.randn(frames, *shape, generator=generator) for shape in ((3,), (4,), (3, 3)))), 24.0)


def fields(**changes: Any) -> dict[str, Any]:
    pose = motion().pose
    arrays = {"root_position": pose.root_position, "root_rotation": pose.root_rotation, "angles": pose.angles}
    good: dict[str, Any] = {name: value.numpy() for name, value in arrays.items()}
    good |= {"fps": 24.0, "joints": np.array(SKELETON.names)}
    return {name: value for name, value in (good | changes).items() if value is not None}


def refused(path: Path, words: str) -> None:
    with pytest.raises(AkdError, match=words) as caught:
        read_motion(path, SKELETON)
    assert re.fullmatch(r"[^\n]{1,600}\.", str(caught.value))


def test_write_then_read_is_the_identity(tmp_path: Path) -> None:
    write_motion(tmp_path / "motion.npz", SKELETON, motion())
    back = read_motion(tmp_path / "motion.npz", SKELETON)
    assert back.fps == 24.0
    for name in ("root_position", "root_rotation", "angles"):
        assert torch.equal(getattr(back.pose, name), getattr(motion().pose, name))
    assert [path.name for path in tmp_path.iterdir()] == ["motion.npz"]


def test_joints_are_matched_by_name_and_columns_may_come_first(tmp_path: Path) -> None:
    angles = fields()["angles"]
    turned = np.asfortranarray(angles.astype(float)[:, [2, 0, 1]])
    np.savez(tmp_path / "m.npz", **fields(joints=np.array(["c", "a", "b"]), angles=turned))
    assert np.allclose(read_motion(tmp_path / "m.npz", SKELETON).pose.angles, angles)
    np.savez(tmp_path / "m.npz", **fields(joints=None))
    assert np.allclose(read_motion(tmp_path / "m.npz", SKELETON).pose.angles, angles)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fps": None}, "no 'fps'"),
        ({"fps": "fast"}, "'fps'"),
        ({"fps": np.array([1.0, 2.0])}, "'fps'"),
        ({"fps": 0.0}, "'fps'"),
        ({"fps": -24}, "'fps'"),
        ({"fps": np.nan}, "'fps'"),
        ({"fps": 1e-320}, "'fps'"),
        ({"angles": np.zeros(5)}, "shape"),
        ({"angles": np.zeros((5, 2, 3))}, "joints are others"),
        (dict(angles=np.zeros((0, 3, 3)), root_position=np.zeros((0, 3)), root_rotation=np.zeros((0, 4))), "at least one frame"),
        ({"angles": np.full((5, 3, 3), "x")}, "numbers of shape"),
        ({"angles": np.zeros((5, 3, 3), complex)}, "not numbers"),
        ({"angles": np.full((5, 3, 3), np.nan)}, "not finite"),
        ({"root_position": np.full((5, 3), np.inf)}, "not finite"),
        ({"root_position": np.full((5, 3), 1e300)}, "beyond"),
        ({"root_position": np.zeros((4, 3))}, "shape"),
        ({"root_rotation": np.zeros((5, 3))}, "shape"),
        ({"root_rotation": np.zeros((5, 4))}, "no rotation"),
        ({"joints": np.array(["a", "b", "x"])}, "joints are others"),
        ({"joints": np.array([1, 2, 3])}, "joints are others"),
        ({"joints": np.array(["a", "b", "c"], object)}, "not numbers"),
        ({"angles": np.array([None, {}], object)}, "not numbers"),
    ],
)
def test_what_is_no_motion_is_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    np.savez(tmp_path / "m.npz", **fields(**changes))
    refused(tmp_path / "m.npz", words)


def test_what_is_no_package_is_named(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere.npz", "no such file")
    (tmp_path / "folder.npz").mkdir()
    refused(tmp_path / "folder.npz", "folder")
    os.mkfifo(tmp_path / "pipe.npz")
    refused(tmp_path / "pipe.npz", "pipe")
    write_motion(tmp_path / "good.npz", SKELETON, motion())
    good = (tmp_path / "good.npz").read_bytes()
    for content in (b"", b"hello", good[:100], good[:-30], good[:200] + good[230:]):
        (tmp_path / "m.npz").write_bytes(content)
        refused(tmp_path / "m.npz", "is not an .npz file")


def header(shape: str, kind: str = "<f4") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


NESTED = "(" * 200 + ")" * 200


@pytest.mark.parametrize("shape", ["(5, 3, 99999999999)", "(5, 3, 10**9)", "(-1, 3, 3)", NESTED, "(5, 3, 3.0)", "'x'", "(5, "])
@pytest.mark.parametrize("kind", ["<f4", "<U100000000", "|O", "V9"])
def test_claims_are_checked_before_memory_is_taken(tmp_path: Path, shape: str, kind: str) -> None:
    np.savez(tmp_path / "m.npz", **fields(angles=None))
    with zipfile.ZipFile(tmp_path / "m.npz", "a") as package:
        package.writestr("angles.npy", header(shape, kind) + bytes(180))
    refused(tmp_path / "m.npz", "is not an .npz file")


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion_npz, "LARGEST", 10_000_000)
    frames = 400_000  # 14.4 MB of zeros, deflated to a thousandth
    np.savez(tmp_path / "m.npz", **fields(angles=None))
    with zipfile.ZipFile(tmp_path / "m.npz", "a", zipfile.ZIP_DEFLATED) as package, package.open("angles.npy", "w") as stream:
        stream.write(header(f"({frames}, 3, 3)"))
        stream.write(bytes(frames * 36))
    refused(tmp_path / "m.npz", "which a motion does not need")


def test_a_length_that_lies_is_not_believed(tmp_path: Path) -> None:
    """The package says that a few bytes unpack to 900 MB."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("angles.npy", header("(25000000, 3, 3)") + bytes(36))
    size = len(header("(25000000, 3, 3)")) + 36
    (tmp_path / "m.npz").write_bytes(content.getvalue().replace(struct.pack("<I", size), struct.pack("<I", 900_000_100)))
    refused(tmp_path / "m.npz", "claims 900000100 bytes")
