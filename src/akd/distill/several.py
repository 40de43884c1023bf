"""One run, or several with different seeds side by side in one folder."""

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from PIL import Image

from akd.distill.animate import animate, one_sentence
from akd.distill.job import Job, check_prior, read_character
from akd.distill.run import RunFolder, read_config, refuse_used, versions, write_json
from akd.distill.watch import Watch
from akd.errors import AkdError
from akd.files.motion_npz import read_motion
from akd.measure.diversity import diversity
from akd.prior.prior import VideoPrior
from akd.rig import Rig

MOST = 100
"""So many motions at once are a mistake."""
GAP = 4
"""White between strips [px]."""


def begin_runs(
    folder: Path, job: Job, count: int, watch: Watch, *, force: bool = False, prior: VideoPrior | None = None
) -> list[RunFolder]:
    """Make ``count`` motions of one character, with seeds from the job's on. Mistakes show before a folder is made."""
    if not 1 <= count <= MOST:
        raise AkdError(f"Between 1 and {MOST} motions can be made at once, not {count}.")
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


def resume_runs(folder: Path, watch: Watch, *, prior: VideoPrior | None = None) -> list[RunFolder]:
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
    sheet = Image.new("RGB", (max(strip.width for strip in strips), sum(strip.height + GAP for strip in strips) - GAP), "white")
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height + GAP
    return sheet


def _finish(folder: Path, prior: VideoPrior, rig: Rig, watch: Watch) -> list[RunFolder]:
    runs = runs_in(folder)
    for run in runs:
        if not run.finished:
            animate(run, prior, rig, watch)
    if len(runs) > 1:
        strips_sheet([run["strip.png"] for run in runs]).save(folder / "strips.png")
        motions = [read_motion(run["motion.npz"], rig.skeleton) for run in runs]
        write_json(folder / "diversity.json", {"mean_joint_distance": diversity(rig, motions)})
    return runs


def _means(job: Job, prior: VideoPrior | None, watch: Watch) -> tuple[VideoPrior, Rig]:
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
