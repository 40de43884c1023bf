"""The main job: a character and a sentence in, an animation out.

    load (character, prior) → task → optimise → finish (lock feet) → measure → track → write

``animate`` and ``animate_steps`` work in memory; ``run_job`` does the same in a folder and can be killed at any moment.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from akd.creatures.captions import action_from_prompt
from akd.distill.finishing import finish
from akd.distill.loop import Distillation
from akd.distill.modifiers import Modified
from akd.distill.recipe import Recipe
from akd.distill.task import Task
from akd.errors import AkdError
from akd.files.video import write_image
from akd.measure.evaluation import evaluate
from akd.motion import Motion
from akd.pipeline.checkpoint import load_checkpoint, save_checkpoint
from akd.pipeline.choice import embedded_for, named_recipe
from akd.pipeline.cost import LONG_RUN_SECONDS, WARM_UP, cost_line, seconds_left
from akd.pipeline.job import SAMPLING, Job, Progress, Via, check_prior, make_task
from akd.pipeline.results import Animation, strip_picture, tracked_motion, write_results
from akd.pipeline.run_folder import RunFolder
from akd.prior.folder import EMBEDDED_ACTIONS
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior
from akd.rig import Rig

MEASURE_EVERY = 10
"""Iterations after which the motion is measured on its way …"""
STRIP_EVERY = 30
"""… and after which a strip of pictures is drawn."""
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "alloc_cpu", "bad_alloc")


@dataclass(frozen=True, eq=False)
class Step:
    """One iteration of ``animate_steps``."""

    run: Distillation
    numbers: dict[str, float]
    """Size of the prior's gradient (``score``) and the losses of this iteration."""

    @property
    def progress(self) -> float:
        """Share of the iterations that are done, up to 1."""
        return self.run.iteration / self.run.task.recipe.iterations

    @property
    def motion(self) -> Motion:
        """The clip as it would be finished now."""
        return finish(self.run.task, self.run.trajectory).motion


def animate(rig: Rig, prompt: str, *, track: bool = False, progress: Progress | None = None, **options: Any) -> "Animation":
    """Animate a character by a sentence, in memory, and return the finished animation.

        result = akd.animate(akd.load_rig("fox.glb"), "a fox walking", seconds=3, loop=True)
        result.motion, result.verdict, result.save("runs/fox")

    ``track`` tracks the motion in a physics simulation afterwards; ``via="video"`` follows a clip that the prior makes of the
    character instead of distilling; further options are those of ``animate_steps``.
    """
    job = _job(rig, prompt, track=track, **options)
    if job.via == "video":
        from akd.pipeline.via_video import animate_via_video

        return animate_via_video(job, rig, options.get("prior") or load_prior(), progress or Progress())
    task = _task(rig, prompt, **options)
    log = []
    run = Distillation(task)
    while run.iteration < task.recipe.iterations:
        log.append({"iteration": run.iteration, **run.step()})
        if progress is not None:
            progress.iteration(log[-1], None)
    return _animation(job, run, finish(task, run.trajectory), log, progress or Progress())


def animate_steps(rig: Rig, prompt: str, **options: Any) -> Iterator[Step]:
    """The iterations of ``animate`` one by one: show ``step.motion`` and ``step.progress``, and stop when you like.

    Options: ``seconds`` (3), ``loop`` (False), ``seed`` (0), ``prior`` (a ``VideoPrior``; by default an embedded one),
    ``expand`` (True: say the prompt in the words of the prior's training captions), ``recipe`` ("default", "paper" or a
    ``Recipe``).
    """
    run = Distillation(_task(rig, prompt, **options))
    while run.iteration < run.task.recipe.iterations:
        yield Step(run, run.step())


def _job(
    rig: Rig, prompt: str, *, seconds: float = 3.0, loop: bool = False, seed: int = 0, prior: VideoPrior | None = None,
    expand: bool = True, recipe: Recipe | str = "default", track: bool = False, via: Via = "distillation",
) -> Job:  # fmt: skip
    file = rig.origin.file.path if rig.origin is not None else None
    reads = prior.reader is not None if prior else embedded_for(prompt) == EMBEDDED_ACTIONS
    chosen = recipe if isinstance(recipe, Recipe) else SAMPLING if via == "video" else named_recipe(recipe, reads=reads)
    if loop and chosen.curves == "frames":
        chosen = replace(chosen, curves="fourier")  # ends of free frames do not meet
    source = None if file is None else str(file)
    return Job(prompt, source, seconds=seconds, loop=loop, seed=seed, expand=expand, recipe=chosen, track=track, via=via)


def _task(rig: Rig, prompt: str, *, prior: VideoPrior | None = None, **options: Any) -> Task:
    job, prior = _job(rig, prompt, prior=prior, **options), prior or load_prior(embedded_for(prompt))
    check_prior(job, prior)
    return make_task(job, prior, rig)


def run_job(folder: RunFolder, job: Job, rig: Rig, prior: VideoPrior, progress: Progress) -> Animation:
    """Do, or finish, what a run's folder asks for."""
    if job.via == "video":
        from akd.pipeline.via_video import run_via_video

        return run_via_video(folder, job, rig, prior, progress)
    task = make_task(job, prior, rig)
    run = Distillation(task)
    if folder["checkpoint.safetensors"].is_file():
        load_checkpoint(run, folder["checkpoint.safetensors"])
    folder.forget_log_from(run.iteration)
    progress.prepared(job, task, run.iteration)
    finished = optimise(run, folder, progress)
    animation = _animation(job, run, finished, folder.log(), progress)
    write_results(folder, animation, progress)
    return animation


def optimise(run: Distillation, folder: RunFolder, progress: Progress) -> Modified:
    """The iterations that are left, each on disk as soon as it is over; returns the finished motion."""
    task, total = run.task, run.task.recipe.iterations
    finished, done = None, 0
    while run.iteration < total:
        begun, evaluated, candidates = time.perf_counter(), task.prior.evaluated, len(run.candidates)
        with memory_in_one_sentence(f"at iteration {run.iteration + 1} of {total}"):
            numbers = run.step()
        numbers = {"iteration": run.iteration - 1, **numbers, "seconds": time.perf_counter() - begun}
        found: dict[str, Any] = {"compared": run.compared} if run.compared else {}
        done += 1
        if done == WARM_UP:
            left = seconds_left(run, numbers["seconds"], candidates)
            if left > LONG_RUN_SECONDS:
                numbers["expected_seconds"] = left
                progress.notice(cost_line(run, left, task.prior.evaluated - evaluated))
        finished = measured = None
        if run.iteration % MEASURE_EVERY == 0:
            finished = finish(task, run.trajectory)
            measured = evaluate(task.rig, finished.motion)
            found["measured"] = measured.as_dict()
            if run.iteration % STRIP_EVERY == 0:
                write_image(folder["strip.png"], strip_picture(task.rig, finished.motion))
        folder.append_log(numbers | found)
        save_checkpoint(run, folder["checkpoint.safetensors"])
        progress.iteration(numbers, measured)
    return finish(task, run.trajectory) if finished is None else finished


def _animation(
    job: Job, run: Distillation, finished: Modified, log: list[dict[str, Any]], progress: Progress
) -> Animation:  # fmt: skip
    """Measure a finished motion and track it if that is asked for."""
    task, motion = run.task, finished.motion
    progress.stage("measuring")
    measured = evaluate(task.rig, motion, asked=action_from_prompt(job.prompt))
    tracked = tracked_motion(task.rig, motion, progress) if job.track else None
    return Animation(job, task, motion, measured, tuple(log), tracked, run.candidates[0].name, finished.without_effect)


@contextmanager
def memory_in_one_sentence(when: str) -> Iterator[None]:
    """Trouble with memory as one sentence."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or any(sign in str(error) for sign in OUT_OF_MEMORY):
            raise AkdError(
                f"Memory ran out {when}: close other programs and go on with --resume, or begin anew with fewer --draws or a"
                " smaller --prior."
            ) from error
        raise
