"""Files that cannot be opened, or hold places that no space has: one sentence, whatever the format."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import trimesh

from akd.errors import AkdError
from akd.files.bvh import read_bvh
from akd.files.fbx import read_fbx
from akd.files.meshes import read_mesh
from akd.files.motion_npz import read_motion
from akd.files.reading import MAX_COORDINATE, unique_names
from akd.files.rignet import read_rignet
from akd.files.skeleton_json import read_skeleton_json
from akd.files.splat_ply import read_splats
from akd.files.usd import read_usd
from akd.files.video import read_video
from akd.skeleton import Skeleton

SKELETON = Skeleton.from_joints(("a",), np.array([-1]), np.zeros((1, 3)))
READERS: dict[str, Callable[[Path], object]] = {
    "a.bvh": read_bvh, "a.obj": read_mesh, "a.ply": read_mesh, "a.stl": read_mesh, "a.off": read_mesh, "a.txt": read_rignet,
    "splats.ply": read_splats, "motion.npz": lambda path: read_motion(path, SKELETON), "skeleton.json": read_skeleton_json,
    "a.usda": read_usd, "a.usdz": read_usd, "a.fbx": read_fbx, "a.mp4": read_video,
}  # fmt: skip


@pytest.fixture(params=READERS)
def name(request: pytest.FixtureRequest) -> str:
    if request.param.startswith("a.usd"):
        pytest.importorskip("pxr", reason="the extra 'usd' is not installed")
    if request.param.endswith(".fbx"):
        pytest.importorskip("ufbx", reason="the extra 'fbx' is not installed")
    return str(request.param)


@pytest.fixture
def nobody() -> Iterator[None]:
    """Without the rights of the superuser, who may read everything."""
    if not hasattr(os, "geteuid"):
        pytest.skip("this system has other permissions")
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)


def refused(path: Path, words: str) -> None:
    with pytest.raises(AkdError, match=words) as caught:
        READERS[path.name](path)
    assert re.fullmatch(r"[^\n]{1,600}[.?]", str(caught.value))


def test_what_is_not_there(tmp_path: Path, name: str) -> None:
    refused(tmp_path / name, "no such file|no video at")


def test_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    refused(tmp_path / name, "it is a folder")


def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    refused(tmp_path / name, "is a pipe")


def test_permission_denied(tmp_path: Path, name: str, request: pytest.FixtureRequest) -> None:
    (tmp_path / name).write_text("x")
    (tmp_path / name).chmod(0)
    request.getfixturevalue("nobody")
    refused(tmp_path / name, "permission is denied")


NO_TEXT = {"empty": b"", "ff": b"\xff\xfe\xfa" * 50, "utf-16": "größe".encode("utf-16"), "zeros": b"\0" * 300}


@pytest.mark.parametrize("content", NO_TEXT)
def test_what_is_no_text(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(NO_TEXT[content])
    refused(tmp_path / name, ".")


@pytest.mark.parametrize("kind", ["obj", "ply", "stl", "off"])
@pytest.mark.parametrize("value", ["nan", "inf", "1e300"])
def test_places_that_no_space_has(tmp_path: Path, kind: str, value: str) -> None:
    path = tmp_path / f"a.{kind}"
    options = {"ply": {"encoding": "ascii"}, "stl": {"file_type": "stl_ascii"}}.get(kind, {})
    trimesh.creation.box().export(path, **options)
    text = path.read_text()
    assert "0.5" in text
    path.write_text(re.sub(r"-?0\.50*", value, text, count=1))
    refused(path, "finite|beyond|cannot be read")


def test_the_same_places_are_refused_everywhere() -> None:
    from akd.files.gltf.nodes import MAX_COORDINATE as IN_GLTF

    assert IN_GLTF == MAX_COORDINATE


def test_many_equal_names_get_numbers_soon() -> None:
    names = unique_names(["a"] * 20_000 + ["a_2", "b"])
    assert len(set(names)) == 20_002
    assert names[-2:] == ("a_2", "b")
    assert unique_names(["a", "a_2", "a", "a_2"]) == ("a", "a_2", "a_3", "a_2_2")
