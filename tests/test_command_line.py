"""Odd command lines, terminals, pipes and interrupts: a value or one sentence, exit codes 0, 1, 2 and 130, no traceback."""

import json
import os
import random
import shlex
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trimesh

from akd.files.gltf.write_rig import encode_rig, write_rig
from in_process import command_line
from stick_rigs import person
from test_kills import person_motion

ROOT = Path(__file__).resolve().parents[1]
MAIN = "import sys\nsys.stderr.write('begun ')\nsys.stderr.flush()\nfrom akd.cli import main\nmain()"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


@pytest.fixture
def akd(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """The command line inside this process, in a folder with a few files: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    write_rig(person(), {"walk": person_motion()}, "in.glb")
    trimesh.creation.box().export("in.obj")
    Path("folder").mkdir()
    Path("file").write_text("x")

    return command_line(monkeypatch, capsys)


LONG = "a dog walking " * 30
MISTAKES = [
    (("creature", "a dog", "--seed", "-1"), "Seeds are"), (("creature", "a dog", "--seed", 10**30), "Seeds are"),
    (("creature", "a dog", "--cycles", "0"), "--cycles"), (("creature", "a dog", "--cycles", "-1"), "--cycles"),
    (("creature", "a dog", "--cycles", 10**9), "--cycles"), (("creature", "a dog", "--out", "folder"), "ends in"),
    (("creature", "a dog", "--out", "x.txt"), "ends in"), (("creature", "a dog", "--preview", "x.avi"), "ends in"),
    (("creature", "a dog", "--sheet", "x.glb"), "ends in"), (("creature", "a dog", "--out", "file/x.glb"), "not a folder"),
    (("creature", "a dog", "--out", "n" * 300 + ".glb"), "too long"),
    (("inspect", "in.glb", "--height", "nan"), "--height"), (("inspect", "in.glb", "--height", "0"), "--height"),
    (("inspect", "in.obj", "--height", "-1"), "--height"), (("evaluate", "in.glb", "--height", "inf"), "--height"),
    (("rig", "in.obj", "--height", "nan"), "--height"), (("inspect", "in.glb", "--forward", "up"), "faces along"),
    (("evaluate", "in.glb", "--fps", "nan"), "--fps"), (("evaluate", "in.glb", "--fps", "inf"), "--fps"),
    (("evaluate", "in.glb", "--fps", "0"), "--fps"), (("convert", "in.glb", "--out", "x.bvh", "--fps", "-5"), "--fps"),
    (("convert", "in.glb", "--out", "x.glb", "--fps", "1e9"), "--fps"), (("track", "in.glb", "--fps", "1e9"), "--fps"),
    (("track", "in.glb", "--substeps", "0"), "--substeps"), (("track", "in.glb", "--substeps", 10**9), "--substeps"),
    (("track", "in.glb", "--out", "file"), "is a file"), (("track", "in.glb", "--out", "file/x"), "not a folder"),
    (("track", "folder"), "not a run"), (("inspect", "folder"), "no file"), (("inspect", "n" * 300), "too long"),
    (("splat", "in.obj", "--count", "0"), "--count"), (("splat", "in.obj", "--count", "-1"), "--count"),
    (("splat", "in.obj", "--count", 10**12), "--count"), (("splat", "in.obj", "--seed", "-1"), "Seeds are"),
    (("rig", "in.obj", "--out", "x.obj"), "ends in"), (("rig", "in.obj", "--out", "folder/../file/x.glb"), "not a folder"),
    (("convert", "in.glb", "--out", "folder"), "ends in"), (("retarget", "in.glb", "in.glb", "--fps", "nan"), "--fps"),
    (("picture", "in.glb", "--size", "9"), "WIDTHxHEIGHT"), (("picture", "in.glb", "--view", "nan,0"), "AZIMUTH,ELEVATION"),
    (("picture", "in.glb", "--out", "."), "ends in"), (("picture", "in.glb", "--out", "x.gif"), "ends in"),
    (("picture", "none.glb"), "no file"),
    (("follow", "in.glb"), "a character and a clip"), (("follow", "in.glb", "none.mp4"), "no clip"),
    (("follow", "in.glb", "file"), "not a video"), (("follow", "in.glb", "folder"), "no pictures"),
    (("follow", "in.glb", "file", "--from", "nan"), "begins at 0 s"), (("follow", "in.glb", "file", "--to", "nan"), "ends after"),
    (("follow", "in.glb", "folder", "--fps", "0"), "--fps"), (("follow", "--resume", "folder"), "not a run"),
    (("animate", LONG * 20), "letters"), (("animate", "a dog", "--seconds", "nan"), "--seconds"),
    (("animate", "a dog", "--seconds", "inf"), "--seconds"), (("animate", "a dog", "--height", "nan"), "--height"),
    (("animate", "a dog", "--n", "0"), "motions"), (("animate", "a dog", "--n", "-3"), "motions"),
    (("animate", "a dog", "--n", 10**9), "motions"), (("animate", "a dog", "--seed", "-1"), "Seeds are"),
    (("animate", "a dog", "--seed", 2**70), "Seeds are"), (("animate", "a dog", "--iterations", "0"), "iterations"),
    (("animate", "a dog", "--draws", 10**9), "draws"), (("animate", "a dog", "--guidance", "nan"), "guidance"),
    (("animate", "a dog", "--learning-rate", "inf"), "learning rate"),
    (("animate", "a dog", "--out", "file"), "is a file"), (("animate", "a dog", "--out", "file/x"), "not a folder"),
    (("animate", "a dog", "--out", "n" * 300), "too long"), (("animate", "--resume", "n" * 300), "too long"),
    (("animate", "--resume", "file"), "not a run"), (("animate", "--resume", "folder"), "not a run"),
    (("animate", "\udcff dog"), "no text"), (("animate", LONG, "--estimator", "x"), "estimator"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), MISTAKES)
def test_mistakes_end_in_one_sentence_and_write_nothing(arguments, words: str, akd, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    code, said, error = akd(*arguments)
    assert (code, said) == (2, "")
    assert words in error
    assert error.startswith("akd: ")
    assert error.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_without_permission(akd, tmp_path: Path) -> None:
    Path("in.glb").chmod(0)
    if os.access("in.glb", os.R_OK):
        pytest.skip("this user may read everything")
    code, _, error = akd("inspect", "in.glb")
    assert (code, error.count("\n"), "permission" in error) == (2, 1, True)


ODD = ["[/b]", "[red]x[/red]", "\x1b[31mred\x1b]0;title\x07", "‮x", "\ud800", "%s {0} {x}", "a\nb", "", "x/../../evil"]


@pytest.mark.parametrize("columns", ["20", "200"])
@pytest.mark.parametrize("name", ODD)
def test_names_are_only_names(name: str, columns: str, akd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    write_rig(person(), {name: person_motion()}, "odd.glb")
    for arguments in (("inspect", "odd.glb"), ("evaluate", "odd.glb"), ("convert", "odd.glb", "--out", "x.glb", "--force")):
        code, said, error = akd(*arguments)
        assert (code, error) == (0, "")
        assert "\x1b" not in said
        assert "\x07" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "in.glb", "in.obj", "odd.glb", "x.glb"]


def test_a_buffer_that_claims_gigabytes_is_not_allocated(akd, tmp_path: Path) -> None:
    """Nothing of it is there; it used to be filled with zeros when a clip was added."""
    data = encode_rig(person(), {"walk": person_motion()})
    length = struct.unpack_from("<I", data, 12)[0]
    content, binary = json.loads(data[20 : 20 + length]), data[28 + length :]
    import base64

    content["buffers"] = [{"byteLength": 6 * 2**30}, {"byteLength": len(binary), "uri": "data:application/octet-stream;base64,"
                          + base64.b64encode(binary).decode()}]  # fmt: skip
    for view in content["bufferViews"]:
        view["buffer"] = 1
    Path("huge.gltf").write_text(json.dumps(content))
    code, said, error = akd("convert", "huge.gltf", "--out", "out.glb")
    assert (code, said) == (2, "")
    assert "6442450944 bytes, but there are 0" in error
    assert not Path("out.glb").exists()


# Real processes.


def run(*arguments: object, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", MAIN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=300, check=False, **{"env": ENVIRONMENT, **options})


def test_a_reader_that_goes_away_a_full_output_and_a_terminal_without_letters(tmp_path: Path) -> None:
    write_rig(person(), {"walk": person_motion()}, tmp_path / "in.glb")
    words = [sys.executable, "-c", MAIN, "inspect", str(tmp_path / "in.glb"), "--json"]
    command = f"{shlex.join(words)} | head -c 1"
    piped = subprocess.run(command, shell=True, capture_output=True, env=ENVIRONMENT, timeout=300, check=False)
    assert (piped.returncode, piped.stdout, piped.stderr) == (0, b"{", b"begun ")
    if Path("/dev/full").exists():
        command = [sys.executable, "-c", MAIN, "inspect", str(tmp_path / "in.glb")]
        with Path("/dev/full").open("w") as nowhere:
            done = subprocess.run(command, stdout=nowhere, stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=300, check=False)
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr
        assert b"No space left" in done.stderr
    plain = run("inspect", tmp_path / "in.glb", env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii", "COLUMNS": "20", "TERM": "dumb"})
    assert (plain.returncode, plain.stderr) == (0, b"begun ")
    assert plain.stdout.isascii()


def interrupted(arguments: tuple[str, ...], seconds: float, folder: Path) -> tuple[int, str]:
    """Exit code and errors of a command that is stopped so long after our first line."""
    command = [sys.executable, "-c", MAIN, *arguments]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stderr is not None
        begun = process.stderr.read(6)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        error = begun + process.stderr.read()
        return process.wait(timeout=120), error.decode()


def check_interrupts(count: int, longest: float, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(count):
        seconds = chance.uniform(0.02, longest)
        arguments = chance.choice([("creature", "a dog", "--force"), ("animate", "a dog walking", "--force")])
        code, error = interrupted(arguments, seconds, folder)
        assert code == 130, (seconds, arguments, error)
        assert error == "begun ", (seconds, arguments, error)


def test_ctrl_c_at_the_very_beginning(tmp_path: Path) -> None:
    check_interrupts(4, 0.3, tmp_path, 0)


@pytest.mark.slow
def test_ctrl_c_at_any_instant(tmp_path: Path) -> None:
    check_interrupts(40, 1.5, tmp_path, 1)


def test_hundreds_of_odd_commands_and_damaged_runs() -> None:
    command = [sys.executable, str(ROOT / "tests" / "fuzz_commands.py"), "--cases", "300", "--seed", "0"]
    environment = {**ENVIRONMENT, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["runs"]["cases"] == counts["commands"]["cases"] == 300
    for kind in ("runs", "commands"):
        assert counts[kind].get("0", 0) > 15, "the damage is so coarse that only the first check is ever tried"
