"""The main job: a character and a sentence in, a run's folder with an animation out. Can be killed at any moment.

One run, or several with different seeds side by side in one folder.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from PIL import Image

from akd.distill.foot_locking import finished
from akd.distill.loop import Distillation
from akd.errors import AkdError
from akd.files.motion_npz import read_motion
from akd.measure.evaluation import Evaluation, evaluate
from akd.measure.smoothness import diversity
from akd.pipeline.job import Job, check_prior, make_task, read_character
from akd.pipeline.progress import Progress
from akd.pipeline.results import strip_picture, write_results
from akd.pipeline.run_folder import RunFolder, load_checkpoint, read_config, refuse_used, save_checkpoint, versions, write_json
from akd.prior.prior import VideoPrior
from akd.rig import Rig

LOOK_EVERY = 10
"""Iterations after which the motion is measured on its way …"""
STRIP_EVERY = 30
"""… and after which a strip of pictures is made of it."""
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "alloc_cpu", "bad_alloc")


def animate(folder: RunFolder, prior: VideoPrior, rig: Rig, watch: Progress) -> Evaluation:
    """Do, or finish, what a run's folder asks for; returns what was measured of the motion."""
    job = folder.job()
    task = make_task(job, prior, rig)
    run = Distillation(task)
    if folder["checkpoint.safetensors"].is_file():
        load_checkpoint(run, folder["checkpoint.safetensors"])
    folder.forget_log_from(run.iteration)
    watch.prepared(job, task, run.iteration)
    iterate(folder, job, run, watch)
    return write_results(folder, job, task, run.trajectory, watch)


def iterate(folder: RunFolder, job: Job, run: Distillation, watch: Progress) -> None:
    """The iterations that are left, each on disk as soon as it is over."""
    total = job.recipe.iterations
    while run.iteration < total:
        begun = time.perf_counter()
        with one_sentence(f"at iteration {run.iteration + 1} of {total}"):
            numbers = run.step()
        numbers = {"iteration": run.iteration - 1, **numbers, "seconds": time.perf_counter() - begun}
        measured = None
        if run.iteration % LOOK_EVERY == 0:
            motion = finished(job, run.task, run.trajectory)
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


MOST_RUNS = 100
"""So many motions at once are a mistake."""
STRIP_GAP = 4
"""White between strips [px]."""


def begin_runs(
    folder: Path, job: Job, count: int, watch: Progress, *, force: bool = False, prior: VideoPrior | None = None
) -> list[RunFolder]:
    """Make ``count`` motions of one character, with seeds from the job's on. Mistakes show before a folder is made."""
    if not 1 <= count <= MOST_RUNS:
        raise AkdError(f"Between 1 and {MOST_RUNS} motions can be made at once, not {count}.")
    refuse_used(folder, force=force)
    prior, rig = _means(job, prior, watch)
    RunFolder(folder).clear()
    if count == 1:
        RunFolder(folder).begin(job)
    else:
        names = [f"seed-{job.seed + index}" for index in range(count)]
        for index, name in enumerate(names):
            RunFolder(folder / name).begin(replace(job, seed=job.seed + index))
        write_json(folder / "config.json", {"runs": names, "versions": versions()})
    return _finish(folder, prior, rig, watch)


def resume_runs(folder: Path, watch: Progress, *, prior: VideoPrior | None = None) -> list[RunFolder]:
    """Do what is left to do in a folder."""
    left = [run for run in runs_in(folder) if not run.finished]
    if not left:
        return runs_in(folder)
    return _finish(folder, *_means(left[0].job(), prior, watch), watch)


def runs_in(folder: Path) -> list[RunFolder]:
    """The runs of a folder, or the one run that it is."""
    names = read_config(folder).get("runs")
    return [RunFolder(folder)] if names is None else [RunFolder(folder / name) for name in names]


def difference(folder: Path) -> float | None:
    """How far joints of a folder's motions are apart on average [ℓ]; None if it is one run."""
    path = folder / "diversity.json"
    return json.loads(path.read_text())["mean_joint_distance"] if path.is_file() else None


def strips_sheet(paths: list[Path]) -> Image.Image:
    """Strips of several runs, one below the other."""
    strips = [Image.open(path) for path in paths]
    sheet = Image.new("RGB", (max(strip.width for strip in strips), sum(strip.height + STRIP_GAP for strip in strips) - STRIP_GAP), "white")
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height + STRIP_GAP
    return sheet


def _finish(folder: Path, prior: VideoPrior, rig: Rig, watch: Progress) -> list[RunFolder]:
    runs = runs_in(folder)
    for run in runs:
        if not run.finished:
            animate(run, prior, rig, watch)
    if len(runs) > 1:
        strips_sheet([run["strip.png"] for run in runs]).save(folder / "strips.png")
        motions = [read_motion(run["motion.npz"], rig.skeleton) for run in runs]
        write_json(folder / "diversity.json", {"mean_joint_distance": diversity(rig, motions)})
    return runs


def _means(job: Job, prior: VideoPrior | None, watch: Progress) -> tuple[VideoPrior, Rig]:
    """What a job needs, or a sentence on what is missing."""
    if job.track and find_spec("warp") is None:
        raise AkdError("Tracking needs physics: pip install 'akd[physics]', or leave --track out.")
    if prior is None:
        from akd.prior.load import load_prior

        watch.stage("loading the prior")
        with one_sentence("while the prior was loaded"):
            prior = load_prior(job.prior)
    check_prior(job, prior)
    watch.stage("reading the character" if job.character else "making the character")
    return prior, read_character(job)
