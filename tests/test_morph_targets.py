"""Morph targets of the user's own file: shapes, names and animated weights are the same after a clip was added or converted."""

import importlib.util
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from akd.assets import load_rig, read_file, save_clips
from akd.character.clips import read_clip
from akd.character.export import Export
from akd.errors import AkdError
from akd.files.gltf.document import GltfDocument, accessor, read_document
from akd.motion import crop
from akd.rig import Rig
from in_process import command_line

FILE = "robot_expressive/RobotExpressive.glb"
FACE = ["Angry", "Surprised", "Sad"]
has_blender = "AKD_BLENDER" in os.environ or shutil.which("blender") or importlib.util.find_spec("bpy")
needs_blender = pytest.mark.skipif(not has_blender, reason="there is no Blender: set AKD_BLENDER to one, or to a Python with bpy")


def shapes(document: GltfDocument) -> dict[str, list]:
    """Everything that belongs to morph targets: names, shifts of every vertex, amounts at rest, and their keys in all clips."""
    content, out = document.json, dict[str, list]()
    for mesh in content["meshes"]:
        for number, primitive in enumerate(mesh["primitives"]):
            targets = [{k: accessor(document, v) for k, v in sorted(t.items())} for t in primitive.get("targets", [])]
            if targets:
                out[f"{mesh['name']} {number}"] = [mesh.get("extras"), mesh.get("weights"), targets]
    for clip in content["animations"]:
        for channel in clip["channels"]:
            if channel["target"]["path"] == "weights":
                sampler = clip["samplers"][channel["sampler"]]
                keys = [accessor(document, sampler[part]) for part in ("input", "output")]
                node = content["nodes"][channel["target"]["node"]]["name"]
                out[f"{clip['name']} of {node}"] = [sampler.get("interpolation", "LINEAR"), *keys]
    return out


def assert_equal(ours: dict[str, list], theirs: dict[str, list]) -> None:
    assert ours.keys() == theirs.keys()
    for name, parts in ours.items():
        np.testing.assert_equal(theirs[name], parts, err_msg=name)


@pytest.fixture(scope="module")
def robot(assets: Path) -> Rig:
    return load_rig(assets / FILE)


@pytest.mark.parametrize("export", [Export(), Export(root="bone"), Export(keys="reduced", loop_suffix=True)], ids=str)
def test_they_survive_untouched(robot: Rig, assets: Path, tmp_path: Path, export: Export) -> None:
    before = shapes(read_document(assets / FILE))
    assert any(name.startswith("Head") for name in before)
    assert sum(" of " in name for name in before) == 14  # clips that move the face
    assert all(parts[0] == {"targetNames": FACE} for name, parts in before.items() if name.startswith("Head"))
    motion = crop(read_clip(robot, "Walking", 30).motion, 0.0, 0.5)
    save_clips(robot, {"a robot walking": motion}, tmp_path / "out.glb", export)
    after = read_document(tmp_path / "out.glb")
    assert_equal(before, shapes(after))
    assert after.json["animations"][-1]["name"].startswith("a robot walking")
    assert not any(channel["target"]["path"] == "weights" for channel in after.json["animations"][-1]["channels"])
    # Once more, now from what was written: nothing wears off.
    again = load_rig(tmp_path / "out.glb")
    save_clips(again, {"second": motion}, tmp_path / "again.glb", export)
    assert_equal(before, shapes(read_document(tmp_path / "again.glb")))


def test_the_command_says_what_a_format_leaves_out(
    assets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = command_line(monkeypatch, capsys)
    for name, said in [("robot.fbx", True), ("robot.glb", False)]:
        code, out, _ = command("convert", f"{assets / FILE}#Wave", "--out", tmp_path / name)
        assert code == 0
        assert ("Morph targets are not in it" in out) == said


@needs_blender
@pytest.mark.long
def test_blender_takes_them_to_fbx(robot: Rig, tmp_path: Path) -> None:
    pytest.importorskip("ufbx")
    motion = crop(read_clip(robot, "Walking", 30).motion, 0.0, 0.5)
    save_clips(robot, {"a robot walking": motion}, tmp_path / "out.fbx", Export(writer="blender"))
    content = (tmp_path / "out.fbx").read_bytes()
    for name in FACE:  # as FBX names a channel of a blend shape
        assert name.encode() + b"\x00\x01SubDeformer" in content
    assert [clip.name for clip in read_file(tmp_path / "out.fbx").clips] == ["a robot walking"]


@needs_blender
@pytest.mark.long
def test_blender_writes_the_same_motion(assets: Path, tmp_path: Path) -> None:
    """A clip whose rate is no whole number; and two of different rates in one file, for which Blender has but one rate."""
    pytest.importorskip("ufbx")
    rig = load_rig(assets / "fox_khronos/Fox.glb")
    motions = {name: read_clip(rig, name, 30).motion for name in ("Walk", "Run")}
    for name, chosen, bound in [("one", {"Walk": motions["Walk"]}, 1e-5), ("two", motions, 1e-2)]:
        save_clips(rig, chosen, tmp_path / f"{name}-own.fbx")
        save_clips(rig, chosen, tmp_path / f"{name}.fbx", Export(writer="blender"))
        ours, theirs = read_file(tmp_path / f"{name}-own.fbx"), read_file(tmp_path / f"{name}.fbx")
        assert ours.sample is not None
        assert theirs.sample is not None
        assert sorted(clip.name for clip in theirs.clips) == sorted(chosen)
        order, height = [theirs.names.index(bone) for bone in ours.names], np.ptp(ours.mesh.vertices[:, 1]) * ours.metres
        for clip in ours.clips:
            times = motions[clip.name].times[:-1]  # at our keys: between them Blender's angles take another way
            a = ours.sample(clip.name, times)[..., :3, 3] * ours.metres
            b = theirs.sample(clip.name, times)[:, order][..., :3, 3] * theirs.metres
            assert np.abs(a - b).max() < bound * height


def test_without_blender_it_says_so(robot: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    motion = crop(read_clip(robot, "Walking", 30).motion, 0.0, 0.2)

    def attempt(path: str = "out.fbx", **wishes) -> None:
        save_clips(robot, {"a": motion}, tmp_path / path, Export(writer="blender", **wishes))

    monkeypatch.setenv("AKD_BLENDER", str(tmp_path / "nowhere"))
    with pytest.raises(AkdError, match=r"AKD_BLENDER is .*nowhere, which cannot be run"):
        attempt()
    broken = tmp_path / "blender"
    broken.write_text("#!/bin/sh\necho 'no screen' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("AKD_BLENDER", str(broken))
    with pytest.raises(AkdError, match=r"Blender did not write .*out\.fbx \(no screen\)"):
        attempt()
    assert not list(tmp_path.glob("*.fbx"))
    with pytest.raises(AkdError, match="key on every frame"):
        attempt(keys="reduced")
    with pytest.raises(AkdError, match=r"Blender writes \.fbx"):
        attempt("out.usdz")
    if importlib.util.find_spec("bpy") is None:
        monkeypatch.delenv("AKD_BLENDER")
        monkeypatch.setenv("PATH", "")
        with pytest.raises(AkdError, match="There is no Blender here"):
            attempt()
