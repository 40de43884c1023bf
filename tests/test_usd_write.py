"""USD written by us: reads back as the same character, and Pixar's validators find nothing to say."""

from pathlib import Path

import pytest

from akd.errors import AkdError
from akd.files.usd import read_usd
from akd.files.usd_write import joint_paths, write_usd
from written_scenes import assert_same, box_scene, real_scene

pytest.importorskip("pxr", reason="the extra 'usd' is not installed")
from pxr import Usd


def complaints(path: Path) -> list[str]:
    """What ``usdchecker`` would print: the messages of all validators of the library."""
    from pxr import UsdValidation

    registry = UsdValidation.ValidationRegistry()
    context = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators())
    return [f"{error.GetName()}: {error.GetMessage()}" for error in context.Validate(Usd.Stage.Open(str(path)))]


@pytest.mark.parametrize("suffix", [".usdz", ".usda", ".usdc", ".usd"])
def test_a_rig_of_ours_comes_back(tmp_path: Path, suffix: str) -> None:
    scene = box_scene()
    write_usd(tmp_path / f"box{suffix}", scene)
    back = read_usd(tmp_path / f"box{suffix}")
    assert_same(scene, back)
    assert [clip.name for clip in back.clips] == ["a walk.001", "run"]
    assert complaints(tmp_path / f"box{suffix}") == []


@pytest.mark.parametrize(
    ("file", "clip"), [("fox_khronos/Fox.glb", "Walk"), ("q_wolf/Wolf.glb", "Walk"), ("kenney_platformer/character.glb", "walk")]
)
def test_an_artists_rig_comes_back(assets: Path, tmp_path: Path, file: str, clip: str) -> None:
    scene = real_scene(assets / file, clip)
    write_usd(tmp_path / "out.usdz", scene)
    back = read_usd(tmp_path / "out.usdz")
    assert_same(scene, back)
    assert complaints(tmp_path / "out.usdz") == []
    pictured = [material.texture is not None for material in scene.mesh.materials]
    assert any(material.texture is not None for material in back.mesh.materials) == any(pictured)


def test_the_same_scene_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.usdz", "b.usdz"):
        write_usd(tmp_path / name, box_scene())
    assert (tmp_path / "a.usdz").read_bytes() == (tmp_path / "b.usdz").read_bytes()


def test_joints_that_paths_cannot_name_stay_apart() -> None:
    from dataclasses import replace

    scene = box_scene()
    names = ("body", "a.1", "a 1", *scene.bones[3:])
    paths = joint_paths(replace(scene, bones=names))
    assert len(set(paths)) == len(names)
    assert paths[1].split("/")[-1] == "a_1"


def test_pictures_lie_beside_and_replace_nothing(assets: Path, tmp_path: Path) -> None:
    scene = real_scene(assets / "fox_khronos" / "Fox.glb", "Walk")
    write_usd(tmp_path / "fox.usdc", scene)
    (picture,) = (tmp_path / "fox-pictures").iterdir()
    assert any(material.texture is not None for material in read_usd(tmp_path / "fox.usdc").mesh.materials)
    write_usd(tmp_path / "fox.usdc", scene)
    picture.write_bytes(b"somebody's own")
    with pytest.raises(AkdError, match="in the way"):
        write_usd(tmp_path / "fox.usdc", scene)
    assert picture.read_bytes() == b"somebody's own"
