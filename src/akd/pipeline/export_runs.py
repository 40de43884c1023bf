"""Finished runs as one file for another program: the character as its own file has it, a clip per sentence."""

from pathlib import Path

from akd.assets import save_clips
from akd.character.export import Export
from akd.errors import AkdError
from akd.files.motion_npz import read_motion
from akd.files.reading import unique_names
from akd.pipeline.job import Job, Progress, read_character
from akd.pipeline.run_folder import RunFolder
from akd.pipeline.runs import begin_runs, resume_runs, runs_in


def export_runs(runs: list[RunFolder], path: Path, export: Export | None = None, *, force: bool = False) -> Path:
    """Write the motions of some runs of one character; every clip is named after its sentence."""
    jobs = [run.job() for run in runs]
    for run, job in zip(runs, jobs, strict=True):
        if (job.character, job.fingerprint) != (jobs[0].character, jobs[0].fingerprint) or (
            job.character is None and (job.prompt, job.individual) != (jobs[0].prompt, jobs[0].individual)
        ):
            raise AkdError(f"{run.path} is a run of another character than {runs[0].path}: export each to a file of its own.")
        if not run["motion.npz"].is_file():
            raise AkdError(f"{run.path} is not finished: go on with akd animate --resume {run.path}.")
    rig = read_character(jobs[0])
    names = unique_names([job.name for job in jobs])
    motions = {name: read_motion(run["motion.npz"], rig.skeleton) for name, run in zip(names, runs, strict=True)}
    wish = export or Export(root="in-place" if jobs[0].in_place else "hips")
    save_clips(rig, motions, path, wish, fps=max(motion.fps for motion in motions.values()), force=force)
    return path


def runs_for(folder: Path, jobs: list[Job], progress: Progress, *, force: bool = False) -> list[RunFolder]:
    """A run for every sentence, each in a folder of its own; those that were begun earlier are gone on with."""
    if jobs[0].character is None:
        raise AkdError("Several sentences need one character for all of them: name its file first.")
    made = list[RunFolder]()
    for name, job in zip(unique_names([job.name for job in jobs]), jobs, strict=True):
        place = folder / name
        begun = (place / "config.json").is_file() and not force and runs_in(place)[0].job().prompt == job.prompt
        made += resume_runs(place, progress) if begun else begin_runs(place, job, 1, progress, force=force)
    return made
