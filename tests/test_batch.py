"""Tables of jobs, their checks, the plain loop, faults, and where results live; the same on Ray."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest

import akd
from akd.batch import engine, results
from akd.batch.cells import cell_value
from akd.batch.engine import Failed, Needs, Task
from akd.batch.gallery import write_gallery
from akd.batch.needs import gpu_share
from akd.batch.place import Place
from akd.batch.plan import Plan, TableError, check_table
from akd.batch.results import read_results
from akd.batch.run import BatchSettings, read_status, run_batch
from akd.batch.table import expand_grid, read_table
from akd.errors import AkdError
from akd.files import writing
from akd.pipeline import kinds
from akd.prior.hardware import Hardware
from akd.prior.plan import card_peak
from quick_batch import PATIENCE, batch_command, environment, write_jobs
from quick_runs import Killed, at_call, content, quickly
from test_animate import closed_prior


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quickly(monkeypatch)
    monkeypatch.setattr(kinds, "load_prior", lambda name="embedded", **options: closed_prior())


def checked(path: Path) -> Plan:
    return check_table(path, tempfile.TemporaryFile())


def mistakes(path: Path) -> dict[int, str]:
    with pytest.raises(TableError) as caught:
        checked(path)
    return dict(caught.value.mistakes)


def rows_of(out: Path) -> list[dict[str, Any]]:
    return sorted(read_results(Place(str(out))), key=lambda row: row["row"])


# Tables


def test_the_same_jobs_in_every_format_are_the_same_work(tmp_path: Path) -> None:
    rows = [{"prompt": "a dog walking", "seed": seed, "loop": True, "seconds": 2.0, "guidance": 4.0} for seed in range(3)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    cells = "\n".join(f"a dog walking,{seed},yes,2,4" for seed in range(3))
    (tmp_path / "a.csv").write_text(f"prompt,seed,loop,seconds,guidance,recipe\n{cells.replace(chr(10), ',' + chr(10))},\n")
    (tmp_path / "a.toml").write_text('[grid]\nprompts = ["a dog walking"]\nseeds = 3\nloop = true\nseconds = 2\nguidance = 4\n')
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pytest.importorskip("pyarrow").Table.from_pylist(rows), tmp_path / "a.parquet")
    found = {name: [work.id for work in checked(tmp_path / f"a.{name}").works()] for name in ("jsonl", "csv", "toml", "parquet")}
    assert len(set(found["csv"])) == 3
    assert found["jsonl"] == found["csv"] == found["toml"] == found["parquet"]


def test_a_grid_is_every_combination_with_the_name_of_the_file(tmp_path: Path) -> None:
    for name in ("red-fox", "dog"):
        (tmp_path / f"{name}.glb").touch()
    prompts = ["a {character} walking", "it runs"]
    grid = {"characters": "*.glb", "prompts": prompts, "seeds": 2, "guidance": [3.0, 5.0], "loop": True}
    rows = list(expand_grid(grid, tmp_path))
    assert len(rows) == 2 * 2 * 2 * 2
    assert {row["prompt"] for row in rows} == {"a red fox walking", "a dog walking", "it runs"}
    assert {(row["seed"], row["guidance"], row["loop"]) for row in rows} == {(s, g, True) for s in (0, 1) for g in (3.0, 5.0)}
    with pytest.raises(akd.AkdError, match="No file fits"):
        list(expand_grid({"characters": "*.fbx"}, tmp_path))


def test_all_mistakes_are_named_with_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    lines = [f"a dog walking,{'seven' if number % 2 else number}" for number in range(100)]
    path.write_text("prompt,seed\n" + "\n".join(lines))
    found = mistakes(path)
    assert list(found) == list(range(2, 101, 2))
    assert set(found.values()) == {"seed is a whole number, not 'seven'."}


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"seed": 1}, "prompt is missing"),
        ({"prompt": "a dog", "seed": -1}, "Seeds are whole numbers"),
        ({"prompt": "a dog", "colour": "red"}, "no column 'colour'; it has prompt, character"),
        ({"prompt": "a dog", "kind": "paint"}, "no kind of job 'paint'; choose from animate, rig"),
        ({"prompt": "a dog", "seconds": 1000}, "up to 60 seconds"),
        ({"prompt": "a dog", "iterations": 0}, "iterations lies between"),
        ({"prompt": "a dog", "estimator": "none"}, "no estimator 'none'"),
        ({"prompt": "a dog", "recipe": "best"}, "no recipe 'best'"),
        ({"prompt": "a dog", "loop": "perhaps"}, "loop is yes or no, not 'perhaps'"),
        ({"prompt": "a dog", "character": "none.glb"}, "/none.glb."),
        ({"prompt": "狗在走路，狗在走路"}, "cannot read"),
        ({"kind": "retarget", "character": "none.glb"}, "clip is missing"),
        ({"kind": "track", "clip": "none.glb#Walk"}, "/none.glb."),
        ({"kind": "track", "clip": "x.glb", "recipe": "best"}, "recipe is one of default, paper, not 'best'"),
        ({"kind": "pose sample", "character": "a tall giraffe", "count": 0}, "a count and a temperature above 0"),
        ({"kind": "rig", "character": 3}, "character is a text"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_row_is_one_sentence(row: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    path.write_text(json.dumps({"prompt": "a dog walking"}) + "\n" + json.dumps(row) + "\n")
    found = mistakes(path)
    assert list(found) == [2]
    assert sentence in found[2]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.txt", "", "no table of jobs"), ("a.csv", "prompt\n", "no rows"), ("a.csv", "prompt\na,b\n", "more cells in row 1"),
        ("a.jsonl", "{", "no JSON in line 1"), ("a.jsonl", "[]", "no object in line 1"), ("a.toml", "x = 1", "takes"),
        ("a.toml", "[grid", "cannot be read"), ("a.parquet", "PAR1", "cannot be read"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_read_is_one_sentence(name: str, text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(akd.AkdError, match=sentence):
        checked(tmp_path / name)


def test_paths_are_meant_from_the_table_and_content_decides(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.glb").write_bytes(b"same")
        (tmp_path / folder / "jobs.csv").write_text("character,prompt\na.glb,it walks\n")
    one, other = (next(checked(tmp_path / folder / "jobs.csv").works()) for folder in ("here", "there"))
    assert one.id == other.id
    assert one.values["character"] == str(tmp_path / "here" / "a.glb")
    (tmp_path / "there" / "a.akd.json").write_text("{}")
    assert next(checked(tmp_path / "there" / "jobs.csv").works()).id != one.id


@pytest.mark.parametrize(
    ("device", "prior", "share"),
    [("cpu", "a/b", 0.0), ("auto", "embedded", 0.0), ("cuda:1", "embedded", 1.0), ("auto", "a/b", 1.0)],
)
def test_big_models_need_a_card(device: str, prior: str, share: float) -> None:
    assert gpu_share(SimpleNamespace(device=device, prior=prior)) == share


def test_as_many_jobs_share_a_card_as_their_plan_leaves_room_for() -> None:
    pytest.importorskip("diffusers")
    request = SimpleNamespace(device="cuda", prior="THUDM/CogVideoX-2b", hardware=Hardware(device="cuda", film="9x64x64"))
    peak = card_peak(request.prior, request.hardware, 80.0)
    assert peak is not None
    assert gpu_share(request, 80.0) == 1 / int(80 / peak)
    assert gpu_share(request, 80.0) <= 1 / 4
    assert gpu_share(SimpleNamespace(device="cuda", prior="nobody/nothing", hardware=Hardware(device="cuda")), 80.0) == 1.0
    with pytest.raises(AkdError, match="needs about"):
        gpu_share(request, 0.81)
    assert gpu_share(SimpleNamespace(character="a.glb")) == 0.0


def test_work_with_the_same_prior_is_together_and_the_shortest_may_be_first(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    rows = [{"prompt": "x walks", "iterations": n, "prior": prior} for n in (9, 3, 6) for prior in ("embedded", "a/b")]
    path.write_text("\n".join(map(json.dumps, rows)))
    plan = checked(path)
    listed = [(work.values["prior"], work.values["iterations"]) for work in plan.works()]
    assert listed == [(prior, n) for prior in ("embedded", "a/b") for n in (9, 3, 6)]
    shortest = [(work.values["prior"], work.values["iterations"]) for work in plan.works("shortest")]
    assert shortest == [(prior, n) for prior in ("embedded", "a/b") for n in (3, 6, 9)]


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (bool, "yes", True), (bool, "0", False), (int, "3", 3), (float, "2", 2.0), (str, "x", "x"), (float | None, "1.5", 1.5),
        (str | None, "+x", "+x"), (tuple[float, ...], "0 0.5", (0.0, 0.5)), (Literal["a", "b"], "b", "b"),
    ],
)  # fmt: skip
def test_text_is_understood_by_the_type_of_its_column(hint: Any, text: str, value: object) -> None:
    assert cell_value("x", text, hint) == value
    if hint not in (str, str | None):
        with pytest.raises(akd.AkdError, match="x is"):
            cell_value("x", "neither", hint)


def test_rows_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    path.write_text('{"prompt": "a"}\n' * 3 + "broken")
    rows = read_table(path)
    assert [next(rows).number for _ in range(3)] == [1, 2, 3]


# The plain loop


@pytest.mark.usefixtures("quick")
def test_a_batch_is_done_once_and_can_be_read(tmp_path: Path) -> None:
    jobs, out = write_jobs(tmp_path / "jobs.csv", 3), tmp_path / "out"
    assert run_batch(jobs, Place(str(out)), BatchSettings()) == {"done": 3}
    before = content(out)
    assert run_batch(jobs, Place(str(out)), BatchSettings()) == {"done": 3}
    assert content(out) == before
    rows = rows_of(out)
    assert [(row["row"], row["seed"], row["status"]) for row in rows] == [(1, 0, "done"), (2, 1, "done"), (3, 2, "done")]
    assert all(row["verdict"] and row["motion_amount"] > 0 and (out / row["folder"] / "report.html").is_file() for row in rows)
    assert read_status(Place(str(out))).left == 0
    write_gallery(Place(str(out)))
    page = (out / "index.html").read_text()
    assert all(row["folder"] in page for row in rows)


@pytest.mark.usefixtures("quick")
def test_a_lost_table_of_results_is_found_again_without_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, out = write_jobs(tmp_path / "jobs.csv", 2), tmp_path / "out"
    run_batch(jobs, Place(str(out)), BatchSettings())
    ids = [row["id"] for row in rows_of(out)]
    for part in (out / "results").iterdir():
        part.unlink()
    monkeypatch.setattr(kinds, "run", lambda *args, **options: pytest.fail("done again"))
    assert run_batch(jobs, Place(str(out)), BatchSettings()) == {"done": 2}
    assert [row["id"] for row in rows_of(out)] == ids


@pytest.mark.usefixtures("quick")
def test_without_pyarrow_results_are_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "has_parquet", lambda: False)
    jobs, out = write_jobs(tmp_path / "jobs.csv", 1), tmp_path / "out"
    run_batch(jobs, Place(str(out)), BatchSettings())
    (part,) = (out / "results").iterdir()
    assert json.loads(part.read_text())["status"] == "done"
    assert rows_of(out)[0]["seed"] == 0


@pytest.mark.usefixtures("quick")
def test_a_killed_job_goes_on_and_ends_with_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, whole, broken = write_jobs(tmp_path / "jobs.csv", 2), tmp_path / "whole", tmp_path / "broken"
    run_batch(jobs, Place(str(whole)), BatchSettings())
    from akd.distill.loop import Distillation

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        at_call(patch, Distillation, "step", 5, killed)  # the second iteration of the second job
        with pytest.raises(Killed):
            run_batch(jobs, Place(str(broken)), BatchSettings())
    assert [row["status"] for row in rows_of(broken)] == ["done"]  # what was finished is in the table
    steps = at_call(monkeypatch, Distillation, "step", 0, killed)
    assert run_batch(jobs, Place(str(broken)), BatchSettings()) == {"done": 2}
    assert steps() == 2
    assert content(broken / "runs") == content(whole / "runs")


@pytest.mark.usefixtures("quick")
def test_a_job_that_fails_does_not_stop_the_others_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, out = write_jobs(tmp_path / "jobs.csv", 3), tmp_path / "out"
    with monkeypatch.context() as patch:
        real = kinds.run

        def failing(job: Any, folder: Path, **options: Any) -> Any:
            if job.seed == 1:
                raise ZeroDivisionError("one of ours")
            return real(job, folder, **options)

        patch.setattr(kinds, "run", failing)
        assert run_batch(jobs, Place(str(out)), BatchSettings()) == {"done": 2, "failed": 1}
    rows = rows_of(out)
    assert [row["status"] for row in rows] == ["done", "failed", "done"]
    assert "ZeroDivisionError: one of ours at test_batch.py" in rows[1]["reason"]
    assert read_status(Place(str(out))).failures[0]["row"] == 2
    assert run_batch(jobs, Place(str(out)), BatchSettings()) == {"done": 3}
    assert [row["status"] for row in rows_of(out)] == ["done"] * 3


@pytest.mark.usefixtures("quick")
def test_a_full_disk_in_the_middle_is_a_reason_and_no_half_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    jobs, out = write_jobs(tmp_path / "jobs.csv", 3), tmp_path / "out"
    from akd.pipeline import results as run_results

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def unwritten(path: Path, *_: object) -> None:
        with writing.written_beside(path):
            full()

    with monkeypatch.context() as patch:
        at_call(patch, run_results, "write_image", 2, unwritten)
        assert run_batch(jobs, Place(str(out)), BatchSettings()) == {"done": 2, "failed": 1}
    reason = rows_of(out)[1]["reason"]
    assert "the disk is full" in reason
    folder = out / rows_of(out)[1]["folder"]
    assert not (folder / "result.json").exists()
    assert run_batch(jobs, Place(str(out)), BatchSettings()) == {"done": 3}


def test_a_character_that_goes_after_the_check_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "a.glb").write_bytes(b"x")
    (tmp_path / "jobs.csv").write_text("character,prompt\na.glb,it walks\n")
    work = next(checked(tmp_path / "jobs.csv").works())
    from akd.batch.work import do_work

    task = Task(do_work, {"work": work, "place": Place(str(tmp_path / "out"))}, Needs())
    (tmp_path / "a.glb").write_bytes(b"other")
    ((_, changed),) = engine.in_this_process([task])
    assert "have changed since the table was checked" in changed.reason
    (tmp_path / "a.glb").unlink()
    ((_, gone),) = engine.in_this_process([task])
    assert isinstance(gone, Failed)
    assert "a.glb" in gone.reason


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_any_target_of_fsspec_holds_the_same_results(scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from akd.batch import place as places
    from akd.distill.loop import Distillation

    monkeypatch.setattr(places, "COPY_EVERY", 0.0)
    jobs, local = write_jobs(tmp_path / "jobs.csv", 1), tmp_path / "local"
    run_batch(jobs, Place(str(local)), BatchSettings())
    far = Place(f"{scheme}://{tmp_path}/far")
    with monkeypatch.context() as patch:
        at_call(patch, Distillation, "step", 3, lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            run_batch(jobs, far, BatchSettings())
    steps = at_call(monkeypatch, Distillation, "step", 0, print)
    assert run_batch(jobs, far, BatchSettings()) == {"done": 1}
    assert steps() == 1  # the checkpoint was there
    (row,) = read_results(far)
    for name, data in content(local / row["folder"]).items():
        assert name == "log.jsonl" or far.read(f"{row['folder']}/{name}") == data, name
    write_gallery(far)
    assert far.read("index.html") is not None


# Other kinds


@pytest.mark.long
def test_rig_retarget_track_and_poses_are_rows_too(tmp_path: Path, assets: Path) -> None:
    fox = assets / "fox_khronos" / "Fox.glb"
    rows = [
        {"kind": "retarget", "clip": f"{fox}#Walk", "character": str(fox)},
        {"kind": "pose sample", "character": str(fox), "count": 2}, {"kind": "rig", "character": str(fox)},
    ]  # fmt: skip
    (tmp_path / "jobs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    out = tmp_path / "out"
    assert run_batch(tmp_path / "jobs.jsonl", Place(str(out)), BatchSettings()) == {"done": 3}
    found = rows_of(out)
    assert all((out / row["folder"] / "strip.png").is_file() and (out / row["folder"] / "rig.glb").is_file() for row in found)
    assert found[0]["verdict"] is not None


@pytest.mark.slow
def test_the_folder_of_one_row_is_the_clip_of_another(tmp_path: Path, assets: Path) -> None:
    fox = assets / "fox_khronos" / "Fox.glb"
    place = Place(str(tmp_path / "out"))
    (tmp_path / "jobs.jsonl").write_text(json.dumps({"kind": "retarget", "clip": f"{fox}#Walk", "character": str(fox)}))
    assert run_batch(tmp_path / "jobs.jsonl", place, BatchSettings()) == {"done": 1}
    track = {"kind": "track", "clip": str(tmp_path / "out" / rows_of(tmp_path / "out")[0]["folder"]), "film": False}
    (tmp_path / "more.jsonl").write_text(json.dumps(track))
    assert run_batch(tmp_path / "more.jsonl", place, BatchSettings()) == {"done": 1}
    tracked = next(row for row in rows_of(tmp_path / "out") if row["kind"] == "track")
    assert tracked["verdict"] is not None
    assert (tmp_path / "out" / tracked["folder"] / "animated.glb").is_file()


# The command, and Ray


def test_the_command_names_all_wrong_rows_and_starts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("prompt,seed\n" + "a dog walking,x\n" * 3)
    command = batch_command(path, "--out", tmp_path / "out")
    ended = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True)
    assert ended.returncode == 2
    said = ended.stderr.splitlines()
    assert [line[:12] for line in said[:3]] == ["akd: row 1: ", "akd: row 2: ", "akd: row 3: "]
    assert said[3:] == [f"akd: {path} has 3 wrong rows; nothing was started."]
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_stopped_with_ctrl_c_it_goes_on(tmp_path: Path) -> None:
    jobs, out = write_jobs(tmp_path / "jobs.csv", 3), tmp_path / "out"
    env = environment(tmp_path, pause=0.3)
    command = batch_command(jobs, "--out", out)
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(out.glob("runs/*/result.json")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate()
    assert process.returncode == 130
    assert "Go on with the same command" in said
    assert 1 <= len(rows_of(out)) < 3
    assert run_with(environment(tmp_path), command) == 0
    assert [row["status"] for row in rows_of(out)] == ["done"] * 3


def run_with(env: dict[str, str], command: list[str]) -> int:
    return subprocess.run(command, env=env, capture_output=True).returncode


@pytest.mark.long
def test_ray_gives_the_bytes_of_the_plain_loop(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    jobs = write_jobs(tmp_path / "jobs.csv", 4)
    with jobs.open("a") as rows:
        rows.write("a person walking,9,3,1,0.1\n")
    env = environment(tmp_path)
    for out, workers in (("plain", 1), ("ray", 2)):
        assert run_with(env, batch_command(jobs, "--out", tmp_path / out, "--workers", workers)) == 0
    assert content(tmp_path / "plain" / "runs") == content(tmp_path / "ray" / "runs")
    assert len({row["process"] for row in rows_of(tmp_path / "ray")}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("words", [("posespace", "draw", "--seeds", "2"), ("prior", "clips", "--count", "2")], ids=" ".join)
def test_data_are_the_same_with_two_workers(words: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    room, what, *options = words
    for workers in (1, 2):
        command = [sys.executable, "-m", "akd", room, what, str(tmp_path / str(workers)), *options, "--workers", str(workers)]
        assert run_with(os.environ | {"OMP_NUM_THREADS": "1"} | PATIENCE, command) == 0
    assert content(tmp_path / "1") == content(tmp_path / "2")
