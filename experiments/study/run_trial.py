"""Run one trial of a study. A trial that was killed resumes where it was."""

import re
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.creatures.build import creature
from akd.distill.finishing import finish
from akd.distill.loop import Distillation
from akd.distill.task import CLIP_FPS, Task
from akd.errors import AkdError
from akd.measure.asked import Asked
from akd.measure.evaluation import Evaluation, evaluate, evaluate_trace
from akd.measure.realism import eye_success
from akd.measure.success import Success, TaskName, gait_jerk, success
from akd.motion import Motion
from akd.pipeline.animate import memory_in_one_sentence
from akd.pipeline.checkpoint import load_checkpoint, save_checkpoint
from akd.pipeline.job import Job, Progress, make_task
from akd.pipeline.results import strip_picture
from akd.pipeline.run_folder import RunFolder
from akd.prior.load import load_prior
from akd.rig import Rig
from experiments.study.field import FieldDistillation
from experiments.study.priors import CountedPrior, ZeroScorePrior, with_random_weights
from experiments.study.rows import Row
from experiments.study.trial import PriorKind, Trial

CLIP_SECONDS = 3.0
"""Length of the clips that are measured."""
MEASURE_EVERY = 10
"""Least number of iterations between two measurements …"""
MAX_MEASUREMENTS = 50
"""… and largest number of measurements in a long run."""
HELD_MEASUREMENTS = 3
"""Consecutive measurements that must find success for it to count as reached."""


@dataclass(frozen=True)
class StudyContext:
    """Folder, priors and assets of a study."""

    folder: Path
    prior: str = "embedded"
    weaker: str | None = None
    """An earlier checkpoint of the prior, for the arm that needs one."""
    assets: Path | None = None
    """Folder with other people's rigs."""
    motions: Path | None = None
    """Folder with real motion, of whose test part the table of actions takes rigs."""

    def prior_of(self, kind: PriorKind, ground: bool) -> CountedPrior:
        """The prior of a trial, with its counters at zero."""
        name = self.prior if kind != "weaker" else self.weaker
        if name is None:
            raise AkdError("This arm needs an earlier state of the prior: name its folder with --weaker.")
        given = with_random_weights(load_prior(name)) if kind == "random" else _loaded(name)
        counted = ZeroScorePrior(given) if kind == "silent" else CountedPrior(given)
        if not ground:
            counted.film = replace(counted.film, ground=None, shadow=None)
        return counted

    def rig_of(self, character: str) -> Rig:
        """A creature of our own, or a file's."""
        return _creature(character) if ":" in character else _read(str(self._file(character)))

    def _file(self, name: str) -> Path:
        if self.assets is None or not (self.assets / name).is_file():
            raise AkdError(f"There is no {name} in the folder of assets ({self.assets}): name the folder with --assets.")
        return self.assets / name


def run_trial(trial: Trial, context: StudyContext, progress: Progress) -> Row:
    """The row of a trial."""
    rig = context.rig_of(trial.character)
    own_jerk = gait_jerk(rig, trial.task, CLIP_FPS)
    folder = RunFolder(context.folder / "cells" / trial.key)
    folder.path.mkdir(parents=True, exist_ok=True)
    if trial.mover == "artist":
        motion = artists_clip(rig, trial.task)
        strip_picture(rig, motion).save(folder["strip.png"])
        return row_of(trial, evaluate(rig, motion, from_file=True), own_jerk, []) | eye_row(rig, motion, trial.task, True)
    job = Job(trial.prompt, seconds=CLIP_SECONDS, seed=trial.seed, recipe=trial.recipe)
    task = make_task(job, context.prior_of(trial.prior, trial.ground), rig)
    progress.prepared(job, task, 0)
    if trial.mover == "field":
        measured = _field(trial, task, folder, progress)
    else:
        run = Distillation(task)
        if folder["checkpoint.safetensors"].is_file():
            load_checkpoint(run, folder["checkpoint.safetensors"])
        folder.forget_log_from(run.iteration)
        while run.iteration < trial.iterations:
            _iterate(trial, run, own_jerk, folder, progress)
        motion = finish(task, run.trajectory).motion
        strip_picture(rig, motion).save(folder["strip.png"])
        measured = evaluate(rig, motion, from_file=False)
        return row_of(trial, measured, own_jerk, folder.log()) | eye_row(rig, motion, trial.task, False)
    return row_of(trial, measured, own_jerk, folder.log())


def eye_row(rig: Rig, motion: Motion, task: TaskName, from_file: bool) -> Row:
    """Success by the test that an eye agrees with, beside the older one."""
    tested = eye_success(rig, motion, Asked(task), from_file=from_file)
    return {"eye": tested.passed, "eye_failures": list(tested.failures)}


def row_of(trial: Trial, measured: Evaluation, own_jerk: float | None, log: list[dict[str, Any]]) -> Row:
    """The row of a trial: labels, success, numbers and cost."""
    tested = success(measured, trial.task, own_jerk)
    numbers = {check.name: check.value for check in tested.checks}
    numbers |= {name: getattr(measured, name) for name in ("stride_frequency", "bone_stretch", "motion_amount", "air_time")}
    numbers["jerk"] = measured.jerk / own_jerk if measured.jerk and own_jerk else None
    numbers["alternation"] = min(measured.alternation) if measured.alternation else None
    numbers["float"] = measured.float_height
    return {
        **trial.labels(), "success": tested.passed, "failures": list(tested.failures), "verdict": measured.verdict,
        "gait": measured.gait, "numbers": numbers, "spent": spent(log), "reached": reached(log),
    }  # fmt: skip


def spent(log: list[dict[str, Any]]) -> dict[str, float]:
    """What a run cost."""
    return {"iterations": len(log)} | {name: sum(entry[name] for entry in log) for name in ("evaluations", "renders", "seconds")}


def reached(log: list[dict[str, Any]]) -> dict[str, float] | None:
    """What a run cost until success was found and the next measurements confirmed it; None if that never happened."""
    looks = [(entry["iteration"], entry["success"]) for entry in log if "success" in entry]
    for index in range(len(looks) - HELD_MEASUREMENTS + 1):
        if all(found for _, found in looks[index : index + HELD_MEASUREMENTS]):
            return spent(log[: looks[index][0] + 1])
    return None


def artists_clip(rig: Rig, task: TaskName) -> Motion:
    """The clip of a rig's own file that shows the task; the only clip of a file is a walk."""
    clips = () if rig.origin is None else rig.origin.file.clips
    if len(clips) == 1 and task == "walk":
        return read_clip(rig, clips[0].name, CLIP_FPS).motion
    for word in {"walk": ("walk",), "run": ("run", "gallop")}[task]:
        named = [clip.name for clip in clips if any(part.startswith(word) for part in re.split(r"[|_ ]", clip.name.lower()))]
        if named:
            return read_clip(rig, min(named, key=len), CLIP_FPS).motion
    raise AkdError(f"{rig.name} came without a clip of how it {task}s.")


def _iterate(trial: Trial, run: Distillation, own_jerk: float | None, folder: RunFolder, progress: Progress) -> None:
    prior = run.task.prior
    assert isinstance(prior, CountedPrior)
    before, begun = (prior.evaluations, prior.renders), time.perf_counter()
    with memory_in_one_sentence(f"at iteration {run.iteration + 1} of {trial.key}"):
        numbers = run.step()
    work = {"evaluations": prior.evaluations - before[0], "renders": prior.renders - before[1]}
    entry: dict[str, Any] = {"iteration": run.iteration - 1, **numbers, **work, "seconds": time.perf_counter() - begun}
    if run.compared:
        entry["compared"] = run.compared
    measured = None
    if run.iteration % max(MEASURE_EVERY, trial.iterations // MAX_MEASUREMENTS) == 0:
        measured = evaluate(run.task.rig, finish(run.task, run.trajectory).motion, from_file=False)
        tested: Success = success(measured, trial.task, own_jerk)
        entry |= {"success": tested.passed, "failures": list(tested.failures)}
    folder.append_log(entry)
    save_checkpoint(run, folder["checkpoint.safetensors"])
    progress.iteration(entry, measured)


def _field(trial: Trial, task: Task, folder: RunFolder, progress: Progress) -> Evaluation:
    """Run the deformation field's arm; it restarts from the beginning if it is killed."""
    run, prior = FieldDistillation(task), task.prior
    assert isinstance(prior, CountedPrior)
    folder.forget_log_from(0)
    while run.iteration < trial.iterations:
        before, begun = (prior.evaluations, prior.renders), time.perf_counter()
        entry: dict[str, Any] = {"iteration": run.iteration, **run.step(), "seconds": time.perf_counter() - begun}
        entry |= {"evaluations": prior.evaluations - before[0], "renders": prior.renders - before[1]}
        folder.append_log(entry)
        progress.iteration(entry, None)
    return evaluate_trace(task.rig, run.trace(round(CLIP_SECONDS * CLIP_FPS) + 1, CLIP_FPS), from_file=False)


@cache
def _loaded(name: str):
    return load_prior(name)


@cache
def _creature(character: str) -> Rig:
    plan, _, seed = character.partition(":")
    return creature(plan, int(seed))


@cache
def _read(path: str) -> Rig:
    return load_rig(Path(path))
