"""Run one cell of the table of actions. One that was killed goes on at its checkpoint."""

import time
from dataclasses import replace
from pathlib import Path

from akd.creatures.wish import read_wish
from akd.distill.finishing import finish
from akd.distill.loop import Distillation
from akd.errors import AkdError
from akd.measure.asked import Asked, asked_of
from akd.measure.evaluation import Evaluation, evaluate
from akd.measure.judge import judge
from akd.measure.realism import contact_gates, eye_success
from akd.motion import Motion
from akd.pipeline.checkpoint import load_checkpoint, save_checkpoint
from akd.pipeline.job import Job, Progress, make_task
from akd.pipeline.results import strip_picture
from akd.pipeline.run_folder import RunFolder
from akd.rig import Rig
from experiments.study.actions import ActionTrial, judged_sentence
from experiments.study.priors import CountedPrior
from experiments.study.rows import Row
from experiments.study.run_trial import CLIP_SECONDS, StudyContext, spent


def run_action(trial: ActionTrial, context: StudyContext, progress: Progress) -> Row:
    """The row of a cell."""
    rig = _rig(trial.body, context)
    folder = RunFolder(context.folder / "cells" / trial.key)
    folder.path.mkdir(parents=True, exist_ok=True)
    job = Job(judged_sentence(trial), seconds=CLIP_SECONDS, seed=trial.seed, recipe=trial.recipe)
    task = replace(make_task(job, context.prior_of("given", True), rig), wish=read_wish(trial.prompt))
    run, prior = Distillation(task), task.prior
    assert isinstance(prior, CountedPrior)
    if folder["checkpoint.safetensors"].is_file():
        load_checkpoint(run, folder["checkpoint.safetensors"])
    folder.forget_log_from(run.iteration)
    progress.prepared(job, task, run.iteration)
    while run.iteration < trial.recipe.iterations:
        before, begun = (prior.evaluations, prior.renders), time.process_time()
        numbers = {"iteration": run.iteration, **run.step(), "seconds": time.process_time() - begun}
        counted = {"evaluations": prior.evaluations - before[0], "renders": prior.renders - before[1]}
        folder.append_log(numbers | counted | ({"compared": run.compared} if run.compared else {}))
        save_checkpoint(run, folder["checkpoint.safetensors"])
        progress.iteration(numbers, None)
    finished = finish(task, run.trajectory)
    strip_picture(rig, finished.motion).save(folder["strip.png"])
    row = trial.labels() | {"structure": run.candidates[0].name, "without_effect": list(finished.without_effect)}
    return row | judged(rig, finished.motion, asked_of(job.prompt)) | {"spent": spent(folder.log())}


def judged(rig: Rig, motion: Motion, asked: Asked | None) -> Row:
    """What both judges and the gates say; "unsure" is a failure, and where nothing can be judged, that is one, too."""
    measured = evaluate(rig, motion, from_file=False, asked=asked.action if asked else None)
    found = judge(rig, motion, asked, measured)
    as_asked, contact = found.verdict == "as_asked", _contact(measured, asked)
    eye = asked is not None and eye_success(rig, motion, asked).passed
    failures = [name for name, passed in (("as asked", as_asked), ("contact", contact)) if not passed]
    return {
        "success": as_asked, "failures": failures, "verdict": found.verdict, "contact": contact, "eye": eye,
        "looks_like": None if found.looks_like is None else found.looks_like.as_dict(),
        "check": None if found.check is None else found.check.passed,
        "skating": measured.skating_ratio, "deepest": measured.penetration_max, "quality": measured.verdict,
    }  # fmt: skip


def _contact(measured: Evaluation, asked: Asked | None) -> bool:
    gates = contact_gates(measured, asked.action if asked else "")
    return all(check.passed for check in gates if check.name in ("skating", "penetration"))


def _rig(body: str, context: StudyContext) -> Rig:
    place, _, name = body.partition(":")
    if place not in ("assets", "motions"):
        return context.rig_of(body)
    folder: Path | None = getattr(context, place)
    if folder is None or not (folder / name).is_file():
        raise AkdError(f"There is no {name} in the folder of {place} ({folder}): name the folder with --{place}.")
    return replace(context, assets=folder).rig_of(name)
