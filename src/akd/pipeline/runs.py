"""Runs in folders: one, or several with different seeds side by side; begun, or gone on with after a kill."""

from dataclasses import replace
from pathlib import Path

from PIL import Image

from akd.assets import fingerprint
from akd.distill.understanding import understanding
from akd.errors import AkdError
from akd.files.motion_npz import read_motion
from akd.files.video import write_image
from akd.measure.smoothness import diversity
from akd.pipeline.animate import memory_in_one_sentence, run_job
from akd.pipeline.job import Job, Progress, check_prior, read_character, sentences
from akd.pipeline.run_folder import (  # fmt: skip
    SEED_FOLDER,
    RunFolder,
    damaged,
    read_config,
    read_json,
    refuse_input,
    refuse_used,
    versions,
    write_json,
)
from akd.prior.load import check_reachable, load_prior
from akd.prior.plan import is_small, plan_prior
from akd.prior.prior import VideoPrior
from akd.rig import Rig

MAX_RUNS = 100
"""More motions at once are a mistake."""
STRIP_GAP = 4
"""White between strips [px]."""

Runs = list[tuple[RunFolder, Job]]


def begin_runs(
    folder: Path, job: Job, count: int, progress: Progress, *, force: bool = False, prior: VideoPrior | None = None
) -> list[RunFolder]:
    """Make ``count`` motions of one character, with seeds from the job's on. Mistakes show before anything is written."""
    if not 1 <= count <= MAX_RUNS:
        raise AkdError(f"Between 1 and {MAX_RUNS} motions can be made at once, not {count}.")
    refuse_used(folder, force=force)
    refuse_input(folder, job.character)
    if folder.is_dir():
        with RunFolder(folder).locked():  # else another process would be noticed only when the prior is loaded
            pass
    if job.character is not None and not job.fingerprint:
        job = replace(job, fingerprint=fingerprint(Path(job.character)))
    if prior is None:
        job = _planned(job)
    prior, rig = _load(job, prior, progress)
    with RunFolder(folder).locked():
        refuse_used(folder, force=force)  # again: another process may have come first
        return _finish(folder, _begin(folder, job, count), prior, rig, progress)


def _begin(folder: Path, job: Job, count: int) -> Runs:
    """Write down what is asked for; the folder is a run, which can be gone on with, from the moment when all of that is there."""
    if count == 1:
        RunFolder(folder).begin(job)
        return [(RunFolder(folder), job)]
    seeds = range(job.seed, job.seed + count)
    runs = [(RunFolder(folder / f"seed-{seed}"), replace(job, seed=seed)) for seed in seeds]
    names = [run.path.name for run, _ in runs]
    with RunFolder(folder).replaced_config({"runs": names, "versions": versions()}):
        for run, each in runs:
            run.begin(each)
    return runs


def resume_runs(folder: Path, progress: Progress, *, prior: VideoPrior | None = None) -> list[RunFolder]:
    """Do what is left to do in a folder."""
    runs = [(run, run.job()) for run in runs_in(folder)]
    if _is_complete(folder, runs):
        return _in_order(runs)
    with RunFolder(folder).locked():
        _notice_other_versions(runs[0][0].path, progress)
        return _finish(folder, runs, *_load(runs[0][1], prior, progress), progress)


def run(job: Job, folder: Path, *, prior: VideoPrior | None = None, progress: Progress | None = None) -> RunFolder:
    """Do a job in a folder, or finish what an earlier attempt at the same job left there; a finished one is left alone."""
    try:
        begun = RunFolder(folder).job() == job
    except AkdError:  # no run yet, or one whose settings are damaged
        begun = False
    progress = progress or Progress()
    if begun:
        return resume_runs(folder, progress, prior=prior)[0]
    return begin_runs(folder, job, 1, progress, force=True, prior=prior)[0]


def runs_in(folder: Path) -> list[RunFolder]:
    """The runs of a folder, or the one run that it is."""
    names = read_config(folder).get("runs")
    if names is None:
        return [RunFolder(folder)]
    fits = isinstance(names, list) and all(isinstance(name, str) and SEED_FOLDER.fullmatch(name) for name in names)
    if not fits or not names:
        raise AkdError(f"{folder / 'config.json'} cannot be used (its list of runs is damaged): begin the run anew with --force.")
    return [RunFolder(folder / name) for name in names]


def _is_complete(folder: Path, runs: Runs) -> bool:
    shared = len(runs) == 1 or ((folder / "strips.png").is_file() and difference(folder) is not None)
    return shared and all(run.finished for run, _ in runs)


def difference(folder: Path) -> float | None:
    """Mean distance between joints of a folder's motions [ℓ]; None if it is one run, or not known yet."""
    try:
        distance = read_json(folder / "diversity.json").get("mean_joint_distance")
    except AkdError:
        return None
    return float(distance) if isinstance(distance, float | int) else None


def strips_sheet(paths: list[Path]) -> Image.Image:
    """Strips of several runs, one below the other."""
    strips = []
    for path in paths:
        with damaged(path):
            strips.append(Image.open(path).convert("RGB"))
    height = sum(strip.height + STRIP_GAP for strip in strips) - STRIP_GAP
    sheet = Image.new("RGB", (max(strip.width for strip in strips), height), "white")
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height + STRIP_GAP
    return sheet


def _finish(folder: Path, runs: Runs, prior: VideoPrior, rig: Rig, progress: Progress) -> list[RunFolder]:
    for run, job in runs:
        if not run.finished:
            try:
                run_job(run, job, rig, prior, progress)
            except AkdError as error:
                if job.via == "distillation" or len(runs) == 1:
                    raise
                progress.notice(f"Seed {job.seed}: {error}")  # of several clips some may show nothing that can be followed
    folders = [run for run in _in_order(runs) if run.finished]
    if not folders:
        raise AkdError(f"None of the {len(runs)} clips that the prior made can be followed: try other seeds with --seed.")
    if len(folders) > 1:
        write_image(folder / "strips.png", strips_sheet([run["strip.png"] for run in folders]))
        motions = [read_motion(run["motion.npz"], rig.skeleton) for run in folders]
        write_json(folder / "diversity.json", {"mean_joint_distance": diversity(rig, motions)})
    return folders


def _in_order(runs: Runs) -> list[RunFolder]:
    """By seed; motions that follow a clip by how well they follow it."""
    folders = [run for run, _ in runs]
    if runs[0][1].via == "distillation":
        return folders
    from akd.pipeline.via_video import ranked

    return ranked(folders)


def _planned(job: Job) -> Job:
    """The job with the device, numbers and film that were chosen for it, which are said when the prior is loaded."""
    check_reachable(job.prior)  # what is missing is said before anything is computed
    plan = plan_prior(job.prior, job.hardware, way_back=job.recipe.fit == "latents")
    return replace(job, **vars(plan.hardware))


def _load(job: Job, prior: VideoPrior | None, progress: Progress) -> tuple[VideoPrior, Rig]:
    """What a job needs, or a sentence on what is missing."""
    if prior is None:
        progress.stage("loading the prior")
        with memory_in_one_sentence("while the prior was loaded"):
            way_back = job.recipe.fit == "latents"
            prior = load_prior(job.prior, **vars(job.hardware), way_back=way_back, tell=progress.notice)
            check_prior(job, prior)
            if not is_small(job.prior):
                prior.read((*sentences(job, prior)[1], sentences(job, prior)[0], ""))
    check_prior(job, prior)
    if job.via == "video":
        from akd.pipeline.via_video import check_via_video

        check_via_video(job, prior)
    for line in understanding(job.prompt, prior.known_actions, prior.known_modifiers):
        progress.notice(line)
    progress.stage("reading the character" if job.character else "making the character")
    return prior, read_character(job)


def _notice_other_versions(folder: Path, progress: Progress) -> None:
    """Say if a run goes on with other versions or threads than it began with: its last digits may differ."""
    begun, now = read_config(folder).get("versions"), versions()
    if not isinstance(begun, dict):
        progress.notice("The run does not say with which versions it began: its last digits may differ.")
        return
    others = [f"{name} {begun.get(name)} → {value}" for name, value in now.items() if begun.get(name) != value]
    if others:
        progress.notice(f"The run began with other versions ({', '.join(others)}): its last digits may differ.")
