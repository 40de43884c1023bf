"""The main job: a character and a sentence in, a run's folder with an animation out. Can be killed at any moment."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from akd.distill.checkpoint import load_checkpoint, save_checkpoint
from akd.distill.job import Job, finished, make_task
from akd.distill.loop import Distillation
from akd.distill.results import strip_picture, write_results
from akd.distill.run import RunFolder
from akd.distill.watch import Watch
from akd.errors import AkdError
from akd.measure.evaluate import evaluate
from akd.measure.evaluation import Evaluation
from akd.prior.prior import VideoPrior
from akd.rig import Rig

LOOK_EVERY = 10
"""Iterations after which the motion is measured on its way …"""
STRIP_EVERY = 30
"""… and after which a strip of pictures is made of it."""
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "alloc_cpu", "bad_alloc")


def animate(folder: RunFolder, prior: VideoPrior, rig: Rig, watch: Watch) -> Evaluation:
    """Do, or finish, what a run's folder asks for; returns what was measured of the motion."""
    job = folder.job()
    task = make_task(job, prior, rig)
    run = Distillation(task)
    if folder["checkpoint.safetensors"].is_file():
        load_checkpoint(run, folder["checkpoint.safetensors"])
    folder.forget_log_from(run.iteration)
    watch.prepared(job, task, run.iteration)
    iterate(folder, job, run, watch)
    return write_results(folder, job, task, run.dance, watch)


def iterate(folder: RunFolder, job: Job, run: Distillation, watch: Watch) -> None:
    """The iterations that are left, each on disk as soon as it is over."""
    total = job.recipe.iterations
    while run.iteration < total:
        begun = time.perf_counter()
        with one_sentence(f"at iteration {run.iteration + 1} of {total}"):
            numbers = run.step()
        numbers = {"iteration": run.iteration - 1, **numbers, "seconds": time.perf_counter() - begun}
        measured = None
        if run.iteration % LOOK_EVERY == 0:
            motion = finished(job, run.task, run.dance)
            measured = evaluate(run.task.rig, motion, from_file=False)
            if run.iteration % STRIP_EVERY == 0:
                strip_picture(run.task.rig, motion).save(folder["strip.png"])
        folder.append_log(numbers | ({} if measured is None else {"measured": measured.as_dict()}))
        save_checkpoint(run, folder["checkpoint.safetensors"])
        watch.iteration(numbers, measured)


@contextmanager
def one_sentence(when: str) -> Iterator[None]:
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
