"""Killed at any place, a run goes on and ends with the same bytes, and no name ever holds half a file."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh
from PIL import Image

from akd.distill.loop import Distillation
from akd.errors import AkdError
from akd.files import writing
from akd.files.gltf.read import read_gltf
from akd.files.gltf.write_rig import write_rig
from akd.pipeline import animate, results, runs
from akd.pipeline.run_folder import FILES, RunFolder
from quick_runs import JOB, Killed, at_call, begin, content, kill, leftovers, quickly, resume
from stick_rigs import person

WRITES = 30
"""Times that a run makes something reach the disk: each of its writes, and the folder after it."""
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quickly(monkeypatch)
    monkeypatch.setattr(animate, "MEASURE_EVERY", 2)
    monkeypatch.setattr(animate, "STRIP_EVERY", 2)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    with pytest.MonkeyPatch.context() as patch:
        quickly(patch)
        patch.setattr(animate, "MEASURE_EVERY", 2)
        patch.setattr(animate, "STRIP_EVERY", 2)
        counted = at_call(patch, writing, "_reach_disk", 0, print)
        folder = begin(tmp_path_factory.mktemp("runs") / "unbroken")[0].path
        assert counted() == WRITES
        return content(folder)


def check_whole(folder: Path) -> None:
    """Every file under a final name is one that its reader takes whole."""
    for path in folder.rglob("*"):
        if writing.LEFTOVER.fullmatch(path.name) or path.is_dir():
            continue
        if path.suffix == ".png":
            Image.open(path).load()
        elif path.suffix == ".glb":
            read_gltf(path)
        elif path.suffix == ".npz":
            with np.load(path) as arrays:
                assert all(arrays[name] is not None for name in arrays)
        elif path.name == "report.html":
            assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")


def run_killed(folder: Path, owner: object, name: str, when: int) -> None:
    """Begin a run and kill it at a call; then the folder is either a run or says how to begin again."""
    with pytest.MonkeyPatch.context() as patch:
        at_call(patch, owner, name, when, kill(patch))
        with pytest.raises(Killed):
            begin(folder)
    check_whole(folder)


def check_goes_on(folder: Path, unbroken: dict[str, bytes]) -> None:
    if (folder / "config.json").is_file():
        resume(folder)
    else:
        with pytest.raises(AkdError, match=r"not a run.*begin it anew with --force"):
            resume(folder)
        begin(folder, force=True)
    assert content(folder) == unbroken
    assert not leftovers(folder)


@pytest.mark.parametrize("when", range(1, WRITES + 1))
def test_killed_while_any_file_is_written(when: int, unbroken: dict[str, bytes], tmp_path: Path) -> None:
    run_killed(tmp_path / "run", writing, "_reach_disk", when)
    assert not RunFolder(tmp_path / "run").finished or when == WRITES
    check_goes_on(tmp_path / "run", unbroken)


PLACES = {
    "before the first iteration": (Distillation, "step", 1),
    "in the last iteration": (Distillation, "step", 3),
    "before the log": (RunFolder, "append_log", 2),
    "between log and checkpoint": (animate, "save_checkpoint", 3),
    "while a strip is drawn": (animate, "strip_picture", 1),
    "while feet are locked": (animate, "finish", 2),
    "while it is measured": (animate, "evaluate", 2),
    "before the rig": (results, "write_rig", 1),
    "before the splats": (results, "write_splats", 1),
    "before the character": (results, "save_animation", 1),
    "before the film": (results, "write_video", 1),
    "before the report": (results, "write_report", 1),
    "before the result": (results, "write_json", 1),
    "while an older run is cleared": (Path, "unlink", 4),
}


@pytest.mark.parametrize("place", PLACES)
def test_killed_at_any_place(place: str, unbroken: dict[str, bytes], tmp_path: Path) -> None:
    run_killed(tmp_path / "run", *PLACES[place])
    check_goes_on(tmp_path / "run", unbroken)


def test_killed_in_the_middle_of_a_line(unbroken: dict[str, bytes], tmp_path: Path) -> None:
    run_killed(tmp_path / "run", animate, "save_checkpoint", 2)
    with (tmp_path / "run" / "log.jsonl").open("a") as log:
        log.write('{"iteration": 1, "sco')
    check_goes_on(tmp_path / "run", unbroken)


@pytest.mark.parametrize("name", FILES[3:])
def test_a_result_that_was_removed_is_made_again(name: str, unbroken: dict[str, bytes], tmp_path: Path) -> None:
    for file, data in unbroken.items():
        (tmp_path / file).write_bytes(data)
    (tmp_path / "log.jsonl").write_text("")
    (tmp_path / name).unlink()
    resume(tmp_path)
    made = content(tmp_path)
    assert {file for file in unbroken if made[file] != unbroken[file]} <= {"log.jsonl", "report.html"}


@pytest.mark.parametrize("when", range(1, 7))
def test_several_runs_killed_at_their_beginning_or_end(when: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each seed's settings, then the list of seeds; at the end what they share."""
    monkeypatch.setattr(runs, "run_job", _instant)
    with pytest.MonkeyPatch.context() as patch:
        at_call(patch, writing, "_reach_disk", when, kill(patch))
        with pytest.raises(Killed):
            begin(tmp_path / "run", count=2)
    if (tmp_path / "run" / "config.json").is_file():
        assert len(resume(tmp_path / "run")) == 2
    else:
        with pytest.raises(AkdError, match=r"begin it anew with --force"):
            resume(tmp_path / "run")
        begin(tmp_path / "run", count=2, force=True)
    assert runs.difference(tmp_path / "run") == 0
    assert not leftovers(tmp_path)


def _instant(folder: RunFolder, *_: object) -> None:
    """A run whose results are there at once."""
    from akd.files.motion_npz import write_motion
    from akd.motion import Motion
    from akd.skeleton import Pose

    rig = person()
    pose = Pose(torch.zeros(2, 3), torch.tensor([[1.0, 0, 0, 0]] * 2), torch.zeros(2, rig.skeleton.joint_count, 3))
    for name in FILES[3:]:
        folder[name].write_bytes(b"")
    Image.new("RGB", (4, 4)).save(folder["strip.png"])
    folder["motion.npz"].unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "_reach_disk", lambda path: None)
        write_motion(folder["motion.npz"], rig.skeleton, Motion(pose, 30.0))
    folder["result.json"].write_text('{"sentence": "Good."}')


@pytest.mark.parametrize("when", [1, 2])
@pytest.mark.parametrize("command", ["rig", "convert", "splat"])
def test_commands_that_write_one_file(command: str, when: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from akd.cli import main

    mesh, clip = tmp_path / "in.obj", tmp_path / "in.glb"
    trimesh.creation.box().export(mesh)
    write_rig(person(), {"walk": person_motion()}, clip)
    out = tmp_path / {"rig": "out.glb", "convert": "out.bvh", "splat": "out.ply"}[command]
    given = {"rig": mesh, "convert": clip, "splat": mesh}[command]
    options = ["--count", "50"] if command == "splat" else []
    monkeypatch.setattr(sys, "argv", ["akd", command, str(given), "--out", str(out), "--force", *options])
    monkeypatch.setattr("akd.rigging.rig_file.rig_file", lambda *_, **__: person())
    main()
    whole = out.read_bytes()
    out.write_bytes(b"old")
    with pytest.MonkeyPatch.context() as patch:
        at_call(patch, writing, "_reach_disk", when, kill(patch))
        with pytest.raises(Killed):
            main()
    assert out.read_bytes() == (b"old" if when == 1 else whole)
    main()
    assert out.read_bytes() == whole


def person_motion():
    from akd.motion import Motion
    from akd.skeleton import Pose

    joints = person().skeleton.joint_count
    return Motion(Pose(torch.zeros(4, 3), torch.tensor([[1.0, 0, 0, 0]] * 4), torch.zeros(4, joints, 3)), 30.0)


SCRIPT = """
import os, signal, sys
sys.path.insert(0, "tests")
if sys.argv[2] == "import":
    import importlib.abc
    class Deadly(importlib.abc.MetaPathFinder):
        def find_spec(self, name, *_):
            if name == sys.argv[3]: os.kill(os.getpid(), signal.SIGKILL)
    sys.meta_path.insert(0, Deadly())
import pytest
from pathlib import Path
import akd.files.writing as writing
import quick_runs as quick
from akd.pipeline import animate
patch = pytest.MonkeyPatch()
quick.quickly(patch)
animate.MEASURE_EVERY = animate.STRIP_EVERY = 2
if sys.argv[2] == "write":
    quick.at_call(patch, writing, "_reach_disk", int(sys.argv[3]), lambda *_: os.kill(os.getpid(), signal.SIGKILL))
quick.begin(Path(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "where"), [
    ("import", "safetensors"), ("import", "akd.pipeline.checkpoint"), ("write", "1"), ("write", "5"), ("write", "13"),
    ("write", "17"), ("write", "21"), ("write", "25"),
])  # fmt: skip
def test_kill_nine_in_another_process(kind: str, where: str, unbroken: dict[str, bytes], tmp_path: Path) -> None:
    alike = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads()), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "run"), kind, where]
    ended = subprocess.run(command, cwd=ROOT, env=alike, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-2000:]
    check_whole(tmp_path)
    if (tmp_path / "run").is_dir():
        check_goes_on(tmp_path / "run", unbroken)
    else:
        begin(tmp_path / "run")
        assert content(tmp_path / "run") == unbroken


@pytest.mark.slow
def test_killed_while_it_is_tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Physics included: killed in the simulation and at its files, the tracked motion is the same."""
    from dataclasses import replace

    import akd.physics.track as physics
    from akd.pipeline import track

    monkeypatch.setattr(track, "FILMED", results.STRIP)
    job = replace(JOB, seconds=0.3, track=True)
    begin(tmp_path / "unbroken", job)
    whole = content(tmp_path / "unbroken")
    assert "tracked/motion.npz" in whole
    result = json.loads(whole["result.json"])
    assert "Tracked in physics to within" in result["sentence"]
    assert result["tracked"]["tracking_error"] >= 0
    for owner, name, when in ((physics, "track", 1), (track, "write_controls", 1)):
        folder = tmp_path / f"{name}-{when}"
        with pytest.MonkeyPatch.context() as patch:
            at_call(patch, owner, name, when, kill(patch))
            with pytest.raises(Killed):
                begin(folder, job)
        resume(folder)
        for file in ("motion.npz", "tracked/motion.npz", "tracked/animated.glb"):
            assert (folder / file).read_bytes() == whole[file]
