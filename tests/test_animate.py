"""A run on disk: the same job gives the same bytes, whatever happens to the process on its way."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from akd.cli import main
from akd.distill.loop import Distillation, window_start
from akd.distill.recipe import Recipe
from akd.errors import AkdError
from akd.files import writing
from akd.pipeline import animate, results, runs
from akd.pipeline.job import Job, Progress, make_task, sentences
from akd.pipeline.run_folder import FILES, RunFolder
from akd.pipeline.runs import begin_runs, difference, resume_runs
from akd.prior.families import FAMILIES
from akd.prior.folder import EMBEDDED_FOLDERS
from akd.prior.prior import VideoPrior
from akd.render.preview import PreviewSettings
from stick_rigs import person as stick_person
from test_distill import GaussianPrior
from tiny_priors import tiny

RECIPE = Recipe(iterations=3, draws=2)
JOB = Job("a person walking", seconds=0.2, recipe=RECIPE)


class ClosedPrior(GaussianPrior):
    """A prior in closed form that takes every sentence and every film."""

    trained_on_captions = True

    def check_sentence(self, text: str) -> None: ...

    def check_film(self, frames: int, height: int, width: int) -> None: ...


class Killed(BaseException):
    """Nothing in the program may catch it, like a signal."""


def closed_prior() -> ClosedPrior:
    return ClosedPrior(torch.rand(1, 3, 9, 16, 16, generator=torch.Generator().manual_seed(1)), 0.3)


@pytest.fixture(scope="module")
def person():
    return stick_person()


def small_pictures(patch: pytest.MonkeyPatch) -> None:
    """One character for all runs, and small pictures."""
    patch.setattr(runs, "read_character", lambda job: stick_person())
    for name in ("STRIP", "FILM"):
        patch.setattr(results, name, PreviewSettings(width=48, height=32, supersample=1))


@pytest.fixture(autouse=True)
def quickly(monkeypatch) -> None:
    """Without what takes long and is tested once."""
    small_pictures(monkeypatch)
    monkeypatch.setattr(results, "write_video", lambda path, frames, fps: path.touch())
    monkeypatch.setattr(results, "write_report", lambda path, *args, **options: path.touch())


def run_to_end(folder: Path, job: Job = JOB, count: int = 1) -> list[RunFolder]:
    return begin_runs(folder, job, count, Progress(), prior=closed_prior())


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        small_pictures(patch)
        patch.setattr(animate, "MEASURE_EVERY", 2)
        patch.setattr(animate, "STRIP_EVERY", 2)
        return run_to_end(tmp_path_factory.mktemp("runs") / "unbroken")[0].path


def test_a_run_leaves_everything(unbroken: Path) -> None:
    assert {path.name for path in unbroken.iterdir()} == set(FILES)
    run = RunFolder(unbroken)
    assert run.finished
    assert run.job() == JOB
    assert [entry["iteration"] for entry in run.log()] == [0, 1, 2]
    assert ["measured" in entry for entry in run.log()] == [False, True, False]
    assert run.result()["sentence"].split(":")[0] in ("Good", "Tiny", "Sliding", "Floating", "Broken", "Not as asked", "Unsure")
    report = (unbroken / "report.html").read_text(encoding="utf-8")
    assert "person walking, seen from the side" in report  # what the prior was told
    assert Image.open(unbroken / "strip.png").width > 8 * 40


def test_the_same_job_gives_the_same_bytes(unbroken: Path, tmp_path: Path) -> None:
    again, other = run_to_end(tmp_path / "again"), run_to_end(tmp_path / "other", replace(JOB, seed=1))
    motion = (unbroken / "motion.npz").read_bytes()
    assert again[0]["motion.npz"].read_bytes() == motion
    assert other[0]["motion.npz"].read_bytes() != motion


MOMENTS = {
    "before the first checkpoint": (animate, "save_checkpoint", 1),
    "between log and checkpoint": (animate, "save_checkpoint", 2),
    "while the checkpoint is written": (writing.os, "fsync", 6),
    "while results are written": (results, "save_animation", 1),
    "before the run is complete": (results, "write_json", 1),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_any_moment_it_ends_with_the_same_motion(moment: str, unbroken: Path, tmp_path: Path, monkeypatch) -> None:
    where, name, when = MOMENTS[moment]
    calls, function = iter(range(1, 1000)), getattr(where, name)

    def deadly(*args, **options):
        if next(calls) == when:
            raise Killed
        return function(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(where, name, deadly)
        with pytest.raises(Killed):
            run_to_end(tmp_path)
    assert not RunFolder(tmp_path).finished
    (run,) = resume_runs(tmp_path, Progress(), prior=closed_prior())
    assert run["motion.npz"].read_bytes() == (unbroken / "motion.npz").read_bytes()
    assert [entry["iteration"] for entry in run.log()] == [0, 1, 2]


def test_kill_nine(unbroken: Path, tmp_path: Path) -> None:
    """The real thing: another process, which is gone in the middle of its third iteration."""
    script = (
        "import os, signal, sys; sys.path.insert(0, 'tests'); import test_animate as t\n"
        "step = t.Distillation.step\n"
        "def dies(run):\n"
        "    if run.iteration == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return step(run)\n"
        "t.Distillation.step = dies\n"
        "t.runs.read_character = lambda job: t.stick_person()\n"
        "t.resume_runs(t.Path(sys.argv[1]), t.Progress(), prior=t.closed_prior())"
    )
    RunFolder(tmp_path / "run").begin(RunFolder(unbroken).job())
    root = Path(__file__).resolve().parents[1]
    alike = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}  # sums depend on how many threads share them
    ended = subprocess.run([sys.executable, "-c", script, tmp_path / "run"], cwd=root, env=alike)
    assert ended.returncode == -signal.SIGKILL
    (run,) = resume_runs(tmp_path / "run", Progress(), prior=closed_prior())
    assert run["motion.npz"].read_bytes() == (unbroken / "motion.npz").read_bytes()


def test_nothing_is_overwritten_unless_asked(unbroken: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in unbroken.iterdir()}
    with pytest.raises(AkdError, match="exists already"):
        run_to_end(unbroken)
    assert {path.name: path.read_bytes() for path in unbroken.iterdir()} == before
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(AkdError, match="exists already"):
        run_to_end(tmp_path)
    begin_runs(tmp_path, JOB, 1, Progress(), force=True, prior=closed_prior())
    assert (tmp_path / "mine.txt").read_text() == "keep"
    with pytest.raises(AkdError, match="not a run"):
        resume_runs(tmp_path / "nowhere", Progress())


def test_a_finished_run_is_not_done_again(unbroken: Path) -> None:
    before = (unbroken / "result.json").stat().st_mtime_ns
    resume_runs(unbroken, Progress(), prior=None)
    assert (unbroken / "result.json").stat().st_mtime_ns == before


def test_several_seeds_give_several_motions(unbroken: Path, tmp_path: Path) -> None:
    both = run_to_end(tmp_path / "two", count=2)
    assert [run.path.name for run in both] == ["seed-0", "seed-1"]
    first, second = (run["motion.npz"].read_bytes() for run in both)
    assert first != second
    assert first == (unbroken / "motion.npz").read_bytes()
    assert (tmp_path / "two" / "strips.png").is_file()
    assert difference(tmp_path / "two") > 0
    both[1]["result.json"].unlink()
    resume_runs(tmp_path / "two", Progress(), prior=closed_prior())
    assert both[1].finished


def test_a_loop_closes_and_a_clip_has_its_length(person) -> None:
    for job in (replace(JOB, loop=True, seconds=1.0), replace(JOB, seconds=1.0)):
        task = make_task(job, closed_prior(), person)
        motion = task.clip(Distillation(task).trajectory)
        gap = (motion.pose.angles[-1] - motion.pose.angles[0]).abs().max()
        assert (gap < 1e-5) == job.loop
        assert abs(motion.duration - 1.0) < (0.5 if job.loop else 1e-6)


@pytest.mark.parametrize("curves", ["spline", "frames"])
def test_long_clips_are_seen_in_windows_that_overlap_and_cover_them(curves: str, person) -> None:
    job = replace(JOB, seconds=3.0, recipe=replace(RECIPE, curves=curves, iterations=100))  # type: ignore[arg-type]
    task = make_task(job, closed_prior(), person)
    run, window = Distillation(task), 8 / task.fps
    starts = np.sort([window_start(task, run.trajectory, i) for i in range(100)])
    assert starts[0] >= 0
    assert starts[-1] + window <= 3.0 + 1e-6
    assert np.diff(starts).max() < window
    seen = torch.zeros(run.trajectory.curves.coefficients.shape[0])
    for start in starts:
        seen += run.trajectory.curves.basis(torch.tensor(start) + torch.arange(9) / task.fps).sum(0)
    assert (seen > 0).all()


def test_a_clip_shorter_than_the_film_is_found_as_long_as_that(person) -> None:
    job = replace(JOB, recipe=replace(RECIPE, curves="spline"))
    task = make_task(job, closed_prior(), person)
    assert task.span == pytest.approx(8 / task.fps)
    assert task.clip(Distillation(task).trajectory).duration == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(("prompt", "name"), [("A fox is walking!", "fox-walking"), ("狗", "run"), ("the dog / cat", "dog-cat")])
def test_a_job_has_a_name_for_its_folder(prompt: str, name: str) -> None:
    assert Job(prompt).name == name


def test_prompts_are_expanded_only_for_priors_trained_on_captions() -> None:
    prior = closed_prior()
    assert sentences(JOB, prior)[0].startswith("A person walking, seen from the side")
    assert sentences(replace(JOB, expand=False), prior)[0] == JOB.prompt
    prior.trained_on_captions = False
    assert sentences(JOB, prior)[0] == JOB.prompt


def test_a_job_goes_through_json_unchanged() -> None:
    job = replace(JOB, character="/x/fox.glb", recipe=Recipe(t_start=(0.1, 0.2), curves="spline"))
    values = json.loads(json.dumps(job.as_dict()))
    assert Job.from_dict(values) == job
    with pytest.raises(AkdError, match="another version"):
        Job.from_dict(values | {"colour": 3})


def test_memory_and_finiteness_are_told_in_one_sentence(tmp_path: Path, monkeypatch) -> None:
    def full(run):
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    with monkeypatch.context() as patch:
        patch.setattr(Distillation, "step", full)
        with pytest.raises(AkdError, match=r"Memory ran out at iteration 1 of 3.*--draws"):
            run_to_end(tmp_path / "full")
    prior = closed_prior()
    prior.mean = prior.mean * torch.nan
    with pytest.raises(AkdError, match="not finite at iteration 0"):
        begin_runs(tmp_path / "nan", JOB, 1, Progress(), prior=prior)


def test_sentences_that_a_prior_cannot_read_are_refused() -> None:
    pipe = tiny("cogvideox")
    pipe.transformer.register_to_config(max_text_seq_length=12)
    prior = VideoPrior(FAMILIES["CogVideoXPipeline"](pipe))
    prior.check_sentence("a dog walking")
    with pytest.raises(AkdError, match="cannot read"):
        prior.check_sentence("狗在走路")
    with pytest.raises(AkdError, match="reads 11 tokens"):
        prior.check_sentence("a dog walking and walking and walking and walking and walking and walking")


@pytest.fixture
def akd(monkeypatch, capsys):
    """The command line inside this process: exit code and what was said."""

    def command(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["akd", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        said = capsys.readouterr()
        return code, said.out + said.err

    return command


def test_stopped_by_hand_it_says_how_to_go_on(akd, tmp_path: Path, unbroken: Path, monkeypatch) -> None:
    monkeypatch.setattr(runs, "load_prior", lambda name, **options: closed_prior())
    step = Distillation.step

    def interrupted(run):
        if run.iteration == 2:
            raise KeyboardInterrupt
        return step(run)

    monkeypatch.setattr(Distillation, "step", interrupted)
    wish = ("a person walking", "--seconds", 0.2, "--iterations", 3, "--draws", 2, "--out", tmp_path / "run")
    code, said = akd("animate", *wish)
    assert code == 130
    assert f"--resume {tmp_path / 'run'}" in said.replace("\n", " ")
    assert "The prior reads: A person walking, seen from the side" in said.replace("\n", " ")
    monkeypatch.setattr(Distillation, "step", step)
    code, said = akd("animate", "--resume", tmp_path / "run")
    assert code == 0
    assert "Going on after iteration 2" in said
    assert (tmp_path / "run" / "motion.npz").read_bytes() == (unbroken / "motion.npz").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Give a sentence"),
        (("",), "Say what"),
        (("nowhere.glb", "walk"), "no file"),
        ((__file__,), "Say what"),
        (("a dog walking", "--seconds", -1), "seconds"),
        (("a dog walking", "--n", 0, "--out", "nowhere"), "motions"),
        (("a dog walking", "--prior", "/nowhere/at/all", "--out", "nowhere"), "/nowhere/at/all"),
        (("a dog walking", "--resume", "nowhere"), "leave"),
        (("--resume", "nowhere"), "not a run"),
    ],
)
def test_mistakes_end_in_one_sentence_and_leave_no_folder(akd, arguments, words, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = akd("animate", *arguments)
    assert code == 2
    assert words in said.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


def test_without_its_own_prior_it_says_so(akd, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(EMBEDDED_FOLDERS, "embedded", tmp_path / "weights")
    code, said = akd("animate", "a dog walking", "--out", tmp_path / "run")
    assert code == 2
    assert "without its own prior" in said


def test_a_character_that_changed_is_noticed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.undo()
    path = tmp_path / "fox.glb"
    path.write_bytes(b"one")
    from akd.assets import fingerprint
    from akd.pipeline.job import read_character

    job = replace(JOB, character=str(path), fingerprint=fingerprint(path))
    path.write_bytes(b"two")
    with pytest.raises(AkdError, match="has changed"):
        read_character(job)
