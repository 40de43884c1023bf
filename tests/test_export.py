"""Wishes of other programs: a root bone, names they know, fewer keys, several clips; the skin stays where it was."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from akd.assets import load_rig, read_file, save_clips
from akd.character.clips import read_clip
from akd.character.export import Export, exported_scene, ground_path, preset_name
from akd.character.scene import scene_of
from akd.errors import AkdError
from akd.files.gltf.document import read_document
from akd.files.keys import ALLOWED, PERSON, fitted, sampled
from akd.motion import Motion, resample
from akd.rig import Rig
from sample_rigs import box_rig, stride
from written_scenes import parents_by_name, skinned

SUFFIXES = [".glb", ".fbx", ".usdz"]
MODULES = {".fbx": "ufbx", ".usdz": "pxr"}


@pytest.fixture(scope="module")
def knight(assets: Path) -> tuple[Rig, Motion]:
    """Its hips hang on a bone "root" that no clip moves."""
    rig = load_rig(assets / "kaykit_knight" / "Knight.glb")
    return rig, resample(read_clip(rig, "Walking_A").motion, 30)


@pytest.fixture(scope="module")
def man(assets: Path) -> tuple[Rig, Motion]:
    """It has no such bone."""
    rig = load_rig(assets / "cesium_man" / "CesiumMan.glb")
    assert rig.origin is not None
    return rig, resample(read_clip(rig, rig.origin.file.clips[0].name).motion, 30)


def test_a_root_bone_takes_the_way_over_the_ground() -> None:
    rig = box_rig(1)
    motion = stride(rig, (0.0, 0.5), seconds=2.0)
    path = ground_path(rig, motion)
    travelled = (motion.pose.root_position[-1] - motion.pose.root_position[0]).numpy()
    assert path[-1, 2, 3] - path[0, 2, 3] == pytest.approx(travelled[0], abs=1e-9)  # ahead is +Z in the file
    assert np.abs(path[:, 1, 3]).max() == 0
    scene = exported_scene(rig, {"walk": motion}, Export(root="bone"))
    assert scene.bones[0] == "root"
    hips = np.linalg.inv(scene.clips[0].world[:, 0]) @ scene.clips[0].world[:, 1]
    assert np.ptp(hips[:, 2, 3]) < 0.05 * travelled[0]
    assert np.allclose(scene.clips[0].world[:, 1:], scene_of(rig, {"walk": motion}).clips[0].world)


def test_a_bone_of_the_file_is_the_root_where_there_is_one(knight: tuple[Rig, Motion]) -> None:
    rig, motion = knight
    scene = exported_scene(rig, {"walk": motion}, Export(root="bone"))
    assert scene.bones == rig.origin.file.names  # type: ignore[union-attr]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("who", ["knight", "man"])
def test_root_bone_and_names_in_every_format(request, tmp_path: Path, suffix: str, who: str) -> None:
    if suffix in MODULES and importlib.util.find_spec(MODULES[suffix]) is None:
        pytest.skip("its extra is not installed")
    rig, motion = request.getfixturevalue(who)
    save_clips(rig, {"a walk": motion}, tmp_path / f"out{suffix}", Export(root="bone", names="unreal", loop_suffix=True))
    back, plain = read_file(tmp_path / f"out{suffix}"), scene_of(rig, {"a walk": motion})
    assert {"pelvis", "thigh_l", "calf_r", "foot_l", "upperarm_l", "lowerarm_r", "head", "root"} <= set(back.names)
    assert parents_by_name(back.names, back.parents)["root"] is None
    assert "a walk-loop" in {clip.name for clip in back.clips}
    assert back.sample is not None
    frames = np.array([0, 7, 15])
    found = skinned(back, back.sample("a walk-loop", plain.clips[0].times[frames]))
    wanted = skinned(plain, plain.clips[0].world[frames])
    height = np.ptp(wanted[0][:, 1])
    assert np.abs(np.sort(found[..., 1]) - np.sort(wanted[..., 1])).max() < 1e-4 * height
    assert np.abs(found.mean(1) - wanted.mean(1)).max() < 0.05 * height


def test_names_of_the_programs() -> None:
    assert [preset_name("leftUpperArm", preset) for preset in ("mixamo", "vrm", "unreal")] == [
        "mixamorig:LeftArm", "leftUpperArm", "upperarm_l"
    ]  # fmt: skip
    assert preset_name("hips", "mixamo") == "mixamorig:Hips"
    assert preset_name("chest", "unreal") == "spine_02"


def test_animals_have_no_human_names(assets: Path, tmp_path: Path) -> None:
    rig = load_rig(assets / "fox_khronos" / "Fox.glb")
    motion = read_clip(rig, "Walk").motion
    with pytest.raises(AkdError, match="two legs and two arms"):
        save_clips(rig, {"walk": motion}, tmp_path / "fox.glb", Export(names="mixamo"))


def test_curves_meet_their_tolerance_with_few_keys() -> None:
    times = np.linspace(0, 2, 61)
    values = np.stack((np.sin(np.pi * times), times**3, np.ones_like(times)), 1)
    keys = fitted(times, values, 1e-3)
    assert len(keys.frames) <= 12
    assert np.linalg.norm(sampled(times, keys, times) - values, axis=1).max() <= 1e-3
    assert np.array_equal(keys.values[[0, -1]], values[[0, -1]])
    knots = times[keys.frames[1:-1]]
    before, after = (sampled(times, keys, knots + shift) for shift in (-1e-6, 1e-6))
    slopes = [(sampled(times, keys, knots) - before) / 1e-6, (after - sampled(times, keys, knots)) / 1e-6]
    assert np.allclose(*slopes, atol=1e-3)  # no corner at a key


@pytest.mark.parametrize("suffix", [".glb", ".fbx"])
def test_reduced_keys_keep_the_skin_within_half_a_millimetre(man: tuple[Rig, Motion], tmp_path: Path, suffix: str) -> None:
    if suffix in MODULES and importlib.util.find_spec(MODULES[suffix]) is None:
        pytest.skip("its extra is not installed")
    rig, motion = man
    path = tmp_path / f"out{suffix}"
    save_clips(rig, {"walk": motion}, path, Export(keys="reduced"))
    back, plain = read_file(path), scene_of(rig, {"walk": motion})
    assert back.sample is not None
    frames = np.arange(0, motion.frame_count, 6)
    found = skinned(back, back.sample("walk", plain.clips[0].times[frames]))
    wanted = skinned(plain, plain.clips[0].world[frames])
    height = np.ptp(wanted[0][:, 1])
    allowed = 1.02 * ALLOWED / PERSON * height
    if suffix == ".glb":  # the file's own mesh, so vertices are in the same order
        assert np.linalg.norm(found - wanted, axis=-1).max() < allowed
        content = read_document(path).json
        samplers = content["animations"][-1]["samplers"]
        keys = sum(content["accessors"][sampler["input"]]["count"] for sampler in samplers)
        assert keys < 0.5 * len(samplers) * motion.frame_count
    joints = [back.names.index(name) for name in plain.bones]
    world = back.sample("walk", plain.clips[0].times[frames])[..., :3, 3][:, joints] * back.metres
    assert np.linalg.norm(world - plain.clips[0].world[frames][..., :3, 3] * plain.metres, axis=-1).max() < allowed


def test_what_a_format_cannot_hold_is_refused(man: tuple[Rig, Motion], tmp_path: Path) -> None:
    rig, motion = man
    for suffix, export in ((".usdz", Export(keys="reduced")), (".bvh", Export(root="bone")), (".bvh", Export(names="vrm"))):
        with pytest.raises(AkdError, match=r"write a|leave --keys"):
            save_clips(rig, {"walk": motion}, tmp_path / f"a{suffix}", export)
    with pytest.raises(AkdError, match="one clip"):
        save_clips(rig, {"a": motion, "b": motion}, tmp_path / "a.bvh")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_several_clips_in_one_file(man: tuple[Rig, Motion], tmp_path: Path, suffix: str) -> None:
    if suffix in MODULES and importlib.util.find_spec(MODULES[suffix]) is None:
        pytest.skip("its extra is not installed")
    rig, motion = man
    save_clips(rig, {"one": motion, "two": motion}, tmp_path / f"out{suffix}")
    assert {"one", "two"} <= {clip.name for clip in read_file(tmp_path / f"out{suffix}").clips}
