"""What a run leaves behind: motion, animated character, film, strip, report, and a line that says how good it is."""

from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from akd.assets import save_animation
from akd.distill.foot_locking import finished
from akd.distill.task import Task
from akd.distill.trajectory import Trajectory
from akd.errors import AkdError
from akd.files.gltf.write_rig import write_rig
from akd.files.motion_npz import write_motion
from akd.files.splat_ply import write_splats
from akd.files.video import contact_sheet, to_bytes, write_video
from akd.measure.evaluation import Evaluation, evaluate
from akd.measure.report import write_report
from akd.measure.wording import verdict_sentence
from akd.motion import Motion
from akd.pipeline.job import Job
from akd.pipeline.progress import Progress
from akd.pipeline.run_folder import RunFolder, versions, write_json
from akd.render.camera import View
from akd.render.preview import PreviewSettings, preview_frames
from akd.rig import Rig

STRIP_FRAMES = 8
STRIP = PreviewSettings(width=200, height=160, view=View(55.0, 14.0, 0.95))
FILM = PreviewSettings(width=640, height=480)


def write_results(folder: RunFolder, job: Job, task: Task, trajectory: Trajectory, watch: Progress) -> Evaluation:
    """Write everything; ``result.json`` comes last and says that the run is complete."""
    rig, motion = task.rig, finished(job, task, trajectory)
    watch.stage("measuring")
    measured = evaluate(rig, motion, from_file=False)
    write_motion(folder["motion.npz"], rig.skeleton, motion)
    write_rig(rig, {}, folder["rig.glb"])
    write_splats(folder["splats.ply"], task.skinned.splats)
    save_animation(rig, motion, folder["animated.glb"], name=job.name, fps=motion.fps, travel=not job.in_place, force=True)
    strip = strip_picture(rig, motion)
    strip.save(folder["strip.png"])
    frames = watch.pictures(preview_frames(rig, motion, FILM), motion.frame_count, "filming")
    write_video(folder["preview.mp4"], frames, motion.fps)
    write_report(
        folder["report.html"], rig, motion, folder["animated.glb"], title=job.prompt, evaluation=measured,
        settings=settings_in_words(job, task), strip=np.asarray(strip), curves=curves(folder), clip=None,
    )  # fmt: skip
    tracked = _track(folder.path / "tracked", rig, motion, watch) if job.track else None
    result = {"sentence": verdict_sentence(measured), "measured": measured.as_dict(), "tracked": tracked}
    write_json(folder["result.json"], result)
    return measured


def strip_picture(rig: Rig, motion: Motion) -> Image.Image:
    """A few moments of a motion, side by side."""
    chosen = torch.linspace(0, motion.frame_count - 1, min(STRIP_FRAMES, motion.frame_count)).round().long()
    moments = Motion(motion.pose[chosen], motion.fps * len(chosen) / motion.frame_count)
    frames = torch.stack(list(preview_frames(rig, moments, STRIP)))
    return Image.fromarray(to_bytes(contact_sheet(frames, columns=len(frames))))


def curves(folder: RunFolder) -> dict[str, list[float]]:
    """What changed over the iterations, by name."""
    log = folder.log()
    names = dict.fromkeys(name for entry in log for name in entry if name not in ("iteration", "seconds", "measured"))
    return {name: [entry.get(name, float("nan")) for entry in log] for name in names}


def settings_in_words(job: Job, task: Task) -> dict[str, str]:
    """What is needed to make the run again."""
    given = {
        "prompt": job.prompt, "what the prior was told": task.prompt, "what it was led away from": "; ".join(task.negative_prompts),
        "character": job.character or f"made from the prompt, individual {job.individual}", "prior": job.prior,
        "seconds": f"{job.seconds:g}", "seed": str(job.seed), "loop": _yes(job.loop), "in place": _yes(job.in_place),
    }  # fmt: skip
    recipe = {f"recipe: {name.replace('_', ' ')}": _text(value) for name, value in vars(job.recipe).items()}
    return given | recipe | versions()


def _track(folder: Path, rig: Rig, motion: Motion, watch: Progress) -> dict[str, object]:
    """The motion on the ground by physics, in a folder of its own beside the distilled one."""
    from akd.physics.track import track
    from akd.pipeline.track import numbers, write_result

    try:
        result = track(rig, motion, progress=partial(watch.pictures, what="tracking"))
    except AkdError as error:
        return {"failed": str(error)}
    write_result(rig, result, folder, name="tracked", force=True, watch=partial(watch.pictures, what="filming the simulation"))
    return numbers(result)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return " – ".join(_text(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
