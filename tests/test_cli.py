"""The command line as a user meets it."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import trimesh

from akd.assets import load_rig
from akd.cli import main
from akd.cli.commands import COMMANDS
from akd.creatures.build import creature

AKD = Path(sys.executable).parent / "akd"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command inside this process; returns what it printed, to stderr where it must fail."""

    def command(*arguments: object, fails: bool = False) -> str:
        monkeypatch.setattr(sys, "argv", ["akd", *map(str, arguments)])
        if fails:
            with pytest.raises(SystemExit) as stopped:
                main()
            assert stopped.value.code == 2
            return capsys.readouterr().err
        main()
        return capsys.readouterr().out

    return command


def test_help_is_quick_and_teaches():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run([AKD, "--help"], capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time: what a user waits for on a machine that is not busy with other tests.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0
    for command in COMMANDS:
        assert command in text
    assert "giraffe" in subprocess.run([AKD, "creature", "--help"], capture_output=True, text=True, check=True).stdout


def test_inspect_shows_the_rig(run, assets: Path):
    text = run("inspect", assets / "rigged_figure/RiggedFigure.glb")
    assert "leg_L0" in text
    facts = json.loads(run("inspect", assets / "rigged_figure/RiggedFigure.glb", "--json"))
    assert facts["limbs"]["arm_R0"] == ["arm_joint_R_1", "arm_joint_R_2", "arm_joint_R_3"]


def test_rig_makes_a_rigged_file_and_a_picture_of_a_bare_mesh(run, tmp_path: Path):
    mesh, out, sheet = tmp_path / "dog.obj", tmp_path / "dog.glb", tmp_path / "dog.png"
    body = creature("dog", 3).mesh
    trimesh.Trimesh(body.vertices, body.faces, process=False).export(mesh)
    said = run("rig", mesh, "--out", out, "--sheet", sheet)
    assert {"leg_L0", "leg_R0", "leg_L1", "leg_R1"} <= set(said.replace(",", " ").replace(".", " ").split())
    assert "exists already" in run("rig", mesh, "--out", out, fails=True)
    assert sheet.stat().st_size > 10_000
    ours = load_rig(out)
    assert len(ours.legs) == 4
    run("rig", mesh, "--out", out, "--heat", "paper", "--force")
    assert abs(load_rig(out).weights - ours.weights).max() > 0.1


def test_evaluate_prints_a_table_and_json(run, assets: Path):
    fox = assets / "fox_khronos/Fox.glb"
    assert "duty factor" in run("evaluate", f"{fox}#walk")
    numbers = json.loads(run("evaluate", f"{fox}#Walk", "--json"))["Walk"]
    assert min(numbers["alternation"]) > 0.8


def test_convert_gives_the_users_file_with_one_clip_more(run, assets: Path, tmp_path: Path):
    out = tmp_path / "out.glb"
    run("convert", f"{assets / 'fox_khronos/Fox.glb'}#Walk", "--out", out, "--name", "again")
    assert set(json.loads(run("inspect", out, "--json"))["clips"]) == {"Survey", "Walk", "Run", "again"}
    assert "exists already" in run("convert", f"{assets / 'fox_khronos/Fox.glb'}#Walk", "--out", out, fails=True)
    run("convert", f"{assets / 'fox_khronos/Fox.glb'}#Walk", "--out", tmp_path / "walk.bvh")
    assert "leg_L0" in run("inspect", tmp_path / "walk.bvh")


def test_a_sentence_becomes_a_file(run, tmp_path: Path):
    run("creature", "a small grey cat", "--gait", "trot", "--cycles", 1, "--out", tmp_path / "cat.glb")
    facts = json.loads(run("inspect", tmp_path / "cat.glb", "--json"))
    assert list(facts["clips"]) == ["trot"]
    assert sum(name.startswith("leg") for name in facts["limbs"]) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("inspect", "nowhere.glb"), "no file"),
        (("creature",), "Say who"),
        (("creature", "a dog", "--gait", "juggle"), "no motion"),
        (("creature", "a dog", "--gait", "fly"), "cannot fly"),
        (("creature", "a dog", "--gait", "punch"), "cannot punch"),
    ],
)
def test_mistakes_end_in_one_sentence(run, arguments, words):
    message = run(*arguments, fails=True)
    assert message.startswith("akd: ")
    assert words in message
    assert message.count("\n") == 1


def test_splats_come_from_meshes_and_become_meshes(run, assets: Path, tmp_path: Path):
    out = tmp_path / "fox.ply"
    run("splat", assets / "fox_khronos/Fox.glb", "--out", out, "--count", 2000)
    facts = json.loads(run("inspect", out, "--json"))
    assert facts["vertices"] > 100
    assert "surface was drawn" in " ".join(facts["notes"])
    for name in ("combined_SPZv3.compressed.ply", "combined_SPZv3.spz"):
        assert "not read here" in run("inspect", assets / "gs_combined_formats" / name, fails=True)
