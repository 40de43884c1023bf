"""The command line as a user meets it."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

AKD = Path(sys.executable).parent / "akd"


def run(*arguments: object, fails: bool = False) -> str:
    done = subprocess.run([AKD, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def test_help_is_quick_and_teaches():
    times = []
    for _ in range(3):
        start = time.perf_counter()
        text = run("--help")
        times.append(time.perf_counter() - start)
    assert min(times) < 1.0
    for command in ("creature", "inspect", "evaluate", "convert", "splat", "demo"):
        assert command in text
        assert "Example" in run(command, "--help") or command == "demo"


def test_inspect_shows_the_rig(assets: Path):
    text = run("inspect", assets / "rigged_figure/RiggedFigure.glb")
    assert "leg_L0" in text
    facts = json.loads(run("inspect", assets / "rigged_figure/RiggedFigure.glb", "--json"))
    assert facts["limbs"]["arm_R0"] == ["arm_joint_R_1", "arm_joint_R_2", "arm_joint_R_3"]


def test_evaluate_prints_a_table_and_json(assets: Path):
    fox = assets / "fox_khronos/Fox.glb"
    assert "duty factor" in run("evaluate", f"{fox}#walk")
    numbers = json.loads(run("evaluate", f"{fox}#Walk", "--json"))["Walk"]
    assert min(numbers["alternation"]) > 0.8


def test_convert_gives_the_users_file_with_one_clip_more(assets: Path, tmp_path: Path):
    out = tmp_path / "out.glb"
    run("convert", f"{assets / 'fox_khronos/Fox.glb'}#Walk", "--out", out, "--name", "again")
    assert set(json.loads(run("inspect", out, "--json"))["clips"]) == {"Survey", "Walk", "Run", "again"}
    assert "exists already" in run("convert", f"{assets / 'fox_khronos/Fox.glb'}#Walk", "--out", out, fails=True)
    run("convert", f"{assets / 'fox_khronos/Fox.glb'}#Walk", "--out", tmp_path / "walk.bvh")
    assert "leg_L0" in run("inspect", tmp_path / "walk.bvh")


def test_a_sentence_becomes_a_file(tmp_path: Path):
    run("creature", "a small grey cat", "--gait", "trot", "--cycles", 1, "--out", tmp_path / "cat.glb")
    facts = json.loads(run("inspect", tmp_path / "cat.glb", "--json"))
    assert list(facts["clips"]) == ["trot"]
    assert sum(name.startswith("leg") for name in facts["limbs"]) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("inspect", "nowhere.glb"), "no file"),
        (("creature",), "Say who"),
        (("creature", "a dog", "--gait", "fly"), "no motion"),
        (("creature", "a dog", "--gait", "punch"), "cannot punch"),
    ],
)
def test_mistakes_end_in_one_sentence(arguments, words):
    message = run(*arguments, fails=True)
    assert message.startswith("akd: ")
    assert words in message
    assert message.count("\n") == 1
