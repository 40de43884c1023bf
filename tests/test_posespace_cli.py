"""`akd pose` and `akd posespace` as a user meets them: every mistake ends in one sentence, and no file is lost."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from akd.cli import main
from akd.cli.pose import Character
from akd.creatures.build import creature
from akd.files.gltf.write_rig import write_rig
from akd.files.motion_npz import write_motion
from akd.motion import Motion
from akd.posespace.network import SHIPPED, NetworkConfig, PoseNetwork, load_network, save_weights
from akd.posespace.space import PoseSpace
from akd.training.data_card import CARD_NAME
from akd.training.posespace.dataset import read_pose_shards

ODD = "[bold]foot[/]"
"""A joint whose name looks like markup."""


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_weights(PoseNetwork(NetworkConfig(width=32, heads=2, blocks=2, rig_blocks=1)), path, {})
    return path


@pytest.fixture(scope="module")
def space(weights: Path) -> PoseSpace:
    rig = creature("human", 1)
    names = tuple(ODD if joint == len(rig.skeleton.names) - 1 else name for joint, name in enumerate(rig.skeleton.names))
    return PoseSpace.build(replace(rig, name="[red]man", skeleton=replace(rig.skeleton, names=names)), weights=weights)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], space: PoseSpace):
    """Run a command on the same small space; returns what it printed, or the one sentence it ended with."""

    def command(*arguments: object, fails: bool = False) -> str:
        monkeypatch.setattr(Character, "space", lambda character, **_: space)
        return _run(monkeypatch, capsys, arguments, fails)

    return command


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command from the file on."""
    return lambda *arguments, fails=False: _run(monkeypatch, capsys, arguments, fails)


def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple, fails: bool) -> str:
    monkeypatch.setattr(sys, "argv", ["akd", *map(str, arguments)])
    if not fails:
        main()
        return capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("akd: ")
    assert said.count("\n") == 1
    return said


@pytest.fixture
def poses(space: PoseSpace, tmp_path: Path) -> Path:
    path = tmp_path / "poses.npz"
    write_motion(path, space.rig.skeleton, Motion(space.pose(space.sample(3)), 1.0))
    return path


def _with_config(**changes: object) -> dict[str, str]:
    config = {"features": 58, "width": 32, "heads": 2, "rig_blocks": 1, "blocks": 2, "widening": 2, "graph": True}
    return {"config": json.dumps(config | changes)}


def test_junk_for_weights_ends_in_one_sentence(real, weights: Path, tmp_path: Path) -> None:
    good = load_file(weights)
    junk = tmp_path / "junk.safetensors"

    def refused() -> bool:
        said = real("pose", "limits", "a dog", "--weights", junk, "--out", tmp_path / "limits.csv", fails=True)
        return "pose-space weights" in said or "weights of the pose space" in said

    assert refused()  # no such file
    for content in (b"", b"hello\n", weights.read_bytes()[:2000], SHIPPED.read_bytes()[:-1], b"\xff" * 99, b"\x00" * 99):
        junk.write_bytes(content)
        assert refused()
    save_file(good, junk)  # nothing about sizes
    assert refused()
    broken: dict[str, dict] = {"too wide": {"width": 64}, "huge": {"width": 10**9}, "odd": {"heads": 0}, "new": {"colour": 1},
                               "text": {"width": "32"}, "other features": {"features": 3}, "heads": {"heads": 5}}  # fmt: skip
    for changes in broken.values():
        save_file(good, junk, _with_config(**changes))
        assert refused(), changes
    for metadata in ({"config": "{"}, {"config": "[]"}, {"config": "3"}):
        save_file(good, junk, metadata)
        assert refused(), metadata
    name = next(iter(good))
    for tensors in ({}, {key: value for key, value in good.items() if key != name}, good | {name: good[name][:1]},
                    good | {name: torch.full_like(good[name], float("nan"))}):  # fmt: skip
        save_file(tensors, junk, _with_config())
        assert refused()
    junk.unlink()
    junk.mkdir()
    assert refused()


def test_junk_for_noise_ends_in_one_sentence(run, space: PoseSpace, tmp_path: Path) -> None:
    noise, out = tmp_path / "noise.npz", tmp_path / "out.npz"
    joints = space.rig.skeleton.joint_count

    def refused() -> str:
        return run("pose", "decode", "a man", "--noise", noise, "--out", out, fails=True)

    assert "noise.npz" in refused()
    for content in (b"", b"hello", b"PK\x03\x04 and nothing"):
        noise.write_bytes(content)
        assert "not an .npz" in refused()
    good = np.zeros((2, joints, 3), np.float32)
    for value, words in ((good[0], "shape"), (good[:, :4], "4 joints"), (good[:0], "shape"), (good.astype(int), "shape"),
                         (np.full_like(good, np.nan), "Gaussian"), (np.full_like(good, 1e9), "Gaussian"),
                         (np.array(["a"]), "shape"), (np.array([{}]), "numbers")):  # fmt: skip
        np.savez(noise, noise=value)
        assert words in refused()
    np.savez(noise, other=good)
    assert "no 'noise'" in refused()
    np.savez_compressed(noise, noise=good)
    noise.write_bytes(noise.read_bytes()[:-40])
    assert "not an .npz" in refused()
    noise.unlink()
    noise.mkdir()
    refused()
    assert not out.exists()


def test_noise_goes_out_and_comes_back(run, poses: Path, tmp_path: Path) -> None:
    run("pose", "invert", "a man", "--poses", poses, "--noise", tmp_path / "noise.npz")
    assert (tmp_path / "noise.png").is_file()
    run("pose", "decode", "a man", "--noise", tmp_path / "noise.npz", "--out", tmp_path / "back.npz")
    with np.load(poses) as one, np.load(tmp_path / "back.npz") as other:
        assert np.allclose(one["angles"], other["angles"], atol=0.15)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("sample", "--count", 0), "count of at least 1"), (("sample", "--count", -1), "count of at least 1"),
        (("sample", "--count", 10**12), "at most 1,024"), (("sample", "--temperature", "nan"), "temperature"),
        (("sample", "--temperature", "inf"), "temperature"), (("sample", "--temperature", -1), "temperature"),
        (("sample", "--seed", -1), "seed"), (("sample", "--seed", 10**30), "seed"),
        (("solve", "--handles", "head=1,nan,0"), "not finite"), (("solve", "--handles", "head@inf,0,0"), "not finite"),
        (("solve", "--handles", "head=1e30,0,0"), "larger than"), (("solve", "--handles", "head~0,0,0,0"), "no rotation"),
        (("solve", "--handles", "head=1,1"), "needs 3 numbers"), (("solve", "--handles", "head"), "A handle is"),
        (("solve", "--handles", "nose=1,1,1"), "no joint 'nose'"),
        (("solve", "--handles", "head=1,1,1", "--count", 0), "at least 1"),
        (("solve", "--handles", "head=1,1,1", "--count", -1), "at least 1"),
        (("solve", "--handles", "head=1,1,1", "--count", 97), "at most 96"),
        (("solve", "--handles", "head=1,1,1", "--tolerance", "nan"), "tolerance"),
        (("project", "--poses", "POSES", "--strength", "nan"), "strength"),
        (("project", "--poses", "POSES", "--strength", 1), "strength"),
        (("project", "--poses", "MISSING"), "missing.npz"),
        (("walk", "--keys", "POSES", "--seconds", "nan"), "duration"), (("walk", "--keys", "POSES", "--seconds", 0), "duration"),
        (("walk", "--keys", "POSES", "--seconds", "inf"), "frames"), (("walk", "--keys", "POSES", "--seconds", 1e9), "frames"),
    ],
)  # fmt: skip
def test_impossible_options_are_refused(run, poses: Path, tmp_path: Path, options: tuple, words: str) -> None:
    command, *rest = (poses if part == "POSES" else tmp_path / "missing.npz" if part == "MISSING" else part for part in options)
    assert words in run("pose", command, "a man", *rest, "--out", tmp_path / "out.npz", fails=True)
    assert not (tmp_path / "out.npz").exists()


OUTPUTS = {
    "sample": ("--out", "x.npz", ("--count", 1)),
    "solve": ("--out", "x.npz", ("--handles", "head=0.2,2,0")),
    "limits": ("--out", "x.csv", ()),
    "project": ("--out", "x.npz", ("--poses", "POSES")),
    "walk": ("--out", "x.npz", ("--keys", "POSES", "--seconds", 0.2)),
    "invert": ("--noise", "x.npz", ("--poses", "POSES")),
    "score": ("--sheet", "x.png", ("--poses", "POSES")),
}


@pytest.mark.parametrize("command", OUTPUTS)
def test_files_are_kept_unless_forced_and_folders_always(run, poses: Path, tmp_path: Path, command: str) -> None:
    option, name, rest = OUTPUTS[command]
    arguments = [poses if part == "POSES" else part for part in rest]
    out = tmp_path / name
    out.write_text("precious")
    assert "exists already" in run("pose", command, "a man", *arguments, option, out, fails=True)
    assert out.read_text() == "precious"
    run("pose", command, "a man", *arguments, option, out, "--force")
    assert out.read_bytes() != b"precious"
    folder = tmp_path / f"folder{out.suffix}"
    folder.mkdir()
    assert "is a folder" in run("pose", command, "a man", *arguments, option, folder, "--force", fails=True)
    wrong = run("pose", command, "a man", *arguments, option, tmp_path / "x.docx", fails=True)
    assert "written as" in wrong
    (tmp_path / "file").write_text("")
    assert "cannot be written" in run("pose", command, "a man", *arguments, option, tmp_path / "file" / name, fails=True)


def test_finish_keeps_files_and_refuses_other_formats(run, tmp_path: Path) -> None:
    (tmp_path / "x-mask.mp4").write_text("precious")
    options = ("pose", "finish", "a man", "--sentence", "a man walking", "--clip", "Walk", "--out")
    assert "x-mask.mp4 exists already" in run(*options, tmp_path / "x.mp4", fails=True)
    assert ".mp4 or .gif" in run(*options, tmp_path / "x.avi", fails=True)


def test_the_characters_own_file_is_never_overwritten(run, tmp_path: Path) -> None:
    own = tmp_path / "man.glb"
    own.write_text("precious")
    assert "never overwritten" in run("pose", "sample", own, "--out", own, "--force", fails=True)
    assert own.read_text() == "precious"


def test_names_are_printed_as_they_are(run, poses: Path, tmp_path: Path, monkeypatch, space: PoseSpace) -> None:
    foot = space.rig.skeleton.names.index(ODD)
    found = space.score(space.sample(3))
    blamed = found._replace(worst_joint=torch.full_like(found.worst_joint, foot))
    monkeypatch.setattr(PoseSpace, "score", lambda self, vectors: blamed)
    table = run("pose", "score", "a man", "--poses", poses)
    assert ODD in table
    assert "[red]man" in table
    assert {row["worst_joint"] for row in json.loads(run("pose", "score", "a man", "--poses", poses, "--json"))} == {ODD}
    odd = tmp_path / "[bold]x[/nothing].csv"
    said = run("pose", "limits", "a man", "--out", odd)
    assert odd.name in said
    assert ODD in odd.read_text()


def test_a_file_with_odd_names_goes_through(real, weights: Path, space: PoseSpace, tmp_path: Path) -> None:
    chick = creature("chick", 1)
    names = tuple(f"[b]{name}[/]" for name in chick.skeleton.names)
    path = tmp_path / "chick.glb"
    write_rig(replace(chick, skeleton=replace(chick.skeleton, names=names)), {}, path)
    real("pose", "sample", path, "--weights", weights, "--count", 1, "--out", tmp_path / "one.npz")
    assert "[b]" in real("pose", "score", path, "--weights", weights, "--poses", tmp_path / "one.npz")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("draw", "--seeds", 0), "--seeds"), (("draw", "--seeds", 10**9), "--seeds"), (("distil", "--count", 0), "--count"),
        (("distil", "--count", 10**6), "--count"), (("train", "--steps", 0), "--steps"), (("train",), "no poses"),
        (("train", "--learning-rate", 0), "--learning-rate"), (("train", "--learning-rate", "nan"), "--learning-rate"),
        (("export", "--out", "w.safetensors"), "no training"), (("collect", "--runs", "nowhere"), "not a finished run"),
        (("collect", "--runs", "nowhere", "--every", 0), "--every"),
        (("collect", "--runs", "nowhere", "--source", "../x"), "--source"),
    ],
)  # fmt: skip
def test_impossible_trainings_are_refused(real, tmp_path: Path, options: tuple, words: str) -> None:
    command, *rest = options
    assert words in real("posespace", command, tmp_path / "run", *rest, fails=True)


def test_the_mean_of_two_weight_files_lies_between_them(real, weights: Path, tmp_path: Path) -> None:
    first = load_network(weights)
    other = PoseNetwork(replace(first.config, example_blocks=0, judges=False))
    save_weights(other, tmp_path / "old.safetensors", {})
    real("posespace", "mean", weights, tmp_path / "old.safetensors", "--share", 0.25, "--out", tmp_path / "mean.safetensors")
    files = weights, tmp_path / "old.safetensors", tmp_path / "mean.safetensors"
    own, old, mean = (load_network(file).state_dict() for file in files)
    for name, weight in mean.items():
        expected = own[name] if name not in old else 0.25 * own[name] + 0.75 * old[name]
        assert torch.allclose(weight, expected, atol=1e-3), name
    words = real("posespace", "mean", weights, weights, "--share", 2, "--out", tmp_path / "no.safetensors", fails=True)
    assert "--share" in words


def test_broken_runs_are_refused_and_exports_kept(real, tmp_path: Path) -> None:
    (tmp_path / "poses").mkdir()
    (tmp_path / "poses" / "000000.npz").write_bytes(b"junk")
    assert "not a shard" in real("posespace", "train", tmp_path, fails=True)
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "state.safetensors").write_bytes(b"junk")
    assert "no checkpoint" in real("posespace", "export", tmp_path, "--out", tmp_path / "w.safetensors", fails=True)
    (tmp_path / "w.safetensors").write_text("precious")
    assert "exists already" in real("posespace", "export", tmp_path, "--out", tmp_path / "w.safetensors", fails=True)
    (tmp_path / CARD_NAME).write_text("{")
    assert "not the card" in real("posespace", "draw", tmp_path, "--seeds", 1, fails=True)


def test_a_bare_skeleton_has_poses_but_no_picture(real, weights: Path, tmp_path: Path) -> None:
    from akd.files.bvh import write_bvh

    rig = creature("chick", 1)
    write_bvh(tmp_path / "chick.bvh", rig.skeleton, Motion(rig.skeleton.rest_pose(2), 30.0))
    said = real("pose", "sample", tmp_path / "chick.bvh", "--weights", weights, "--count", 2, "--out", tmp_path / "poses.npz")
    assert (tmp_path / "poses.npz").is_file()
    assert "poses.png" not in said
    assert not (tmp_path / "poses.png").exists()


def test_poses_of_followed_clips_are_taken_once(real, tmp_path: Path) -> None:
    """Runs that follow their clip, however deep they lie; lost ones and other runs are left out."""
    rig = creature("dog", 3)
    motion = Motion(rig.skeleton.rest_pose(6), 10.0)
    found = {"good": {"verdict": "follows", "overlap_motionless": 0.4}, "lost": {"verdict": "lost", "overlap_motionless": 0.4},
             "deep/via": {"verdict": "unsure", "followed": {"verdict": "follows", "overlap_motionless": 0.4}},
             "other": {"verdict": "as_asked"}}  # fmt: skip
    for number, (name, result) in enumerate(found.items()):
        run = tmp_path / "clips" / name
        run.mkdir(parents=True)
        write_rig(rig, {}, run / "rig.glb")
        motion.pose.angles[:, 1, 0] = 0.01 * number
        write_motion(run / "motion.npz", rig.skeleton, motion)
        (run / "result.json").write_text(json.dumps(result))
    for _ in range(2):
        said = real("posespace", "distil", tmp_path / "space", "--from", "clips", tmp_path / "clips")
        assert "6 poses of 2 followed clips" in " ".join(said.split())
        assert "1 more were left out" in " ".join(said.split())
    taken = read_pose_shards(tmp_path / "space" / "poses", ("followed",))
    assert [len(each.vectors) for each in taken] == [3, 3]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "follow some clips first" in real("posespace", "distil", tmp_path / "space", "--from", "clips", empty, fails=True)
