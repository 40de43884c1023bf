"""What an animation leaves behind: motion, animated character, film, strip, report, and a line that says how good it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image

from akd.assets import save_animation
from akd.character.build import labels_facing
from akd.distill.task import Task
from akd.errors import AkdError
from akd.files.gltf.write_rig import FORWARD, write_rig
from akd.files.labels_json import write_labels
from akd.files.motion_npz import write_motion
from akd.files.splat_ply import write_splats
from akd.files.video import contact_sheet, to_bytes, write_image, write_video
from akd.measure.evaluation import Evaluation, Verdict
from akd.measure.report import write_report
from akd.measure.wording import verdict_sentence
from akd.motion import Motion, thinned
from akd.pipeline.job import Job, Progress
from akd.pipeline.run_folder import RunFolder, refuse_input, refuse_used, versions, write_json
from akd.render.camera import View
from akd.render.preview import PreviewSettings, preview_frames
from akd.rig import Rig

if TYPE_CHECKING:
    from akd.measure.judge import Judgement
    from akd.physics.track import TrackResult

STRIP_FRAMES = 8
STRIP = PreviewSettings(width=200, height=160, view=View(55.0, 14.0, 0.95))
FILM = PreviewSettings(width=640, height=480)


@dataclass(frozen=True, eq=False)
class Animation:
    """A finished animation and what was measured of it."""

    job: Job
    task: Task
    motion: Motion
    """On the character's control skeleton, 30 frames per second."""
    evaluation: Evaluation
    log: tuple[Mapping[str, Any], ...] = ()
    """Numbers of every iteration."""
    tracked: "TrackResult | AkdError | None" = None
    """The simulated motion, or why there is none; None if it was not asked for."""
    structure: str = ""
    """The candidate that was kept (see ``distill.assumptions``)."""
    without_effect: tuple[str, ...] = ()
    """What the sentence says beside its action and could not be done, each with its reason."""
    followed: Mapping[str, Any] | None = None
    """How well the prior's clip was followed, for motions made by way of one."""

    @cached_property
    def judgement(self) -> "Judgement":
        """What it looks like, and whether that is what the sentence asks for."""
        from akd.measure.asked import asked_of
        from akd.measure.judge import judge

        return judge(self.rig, self.motion, asked_of(self.job.prompt), self.evaluation)

    @property
    def rig(self) -> Rig:
        return self.task.rig

    @property
    def verdict(self) -> Verdict:
        """One word: good, tiny, sliding, floating or broken."""
        return self.evaluation.verdict

    @property
    def sentence(self) -> str:
        """Whether it is what was asked for, the verdict with the number that decides it, and how tracking went."""
        clip = "" if self.followed is None else f" {self.followed['sentence']}"
        lost = f" Without effect: {', '.join(self.without_effect)}." if self.without_effect else ""
        return f"{self.judgement.sentence(verdict_sentence(self.evaluation))}{lost}{clip}{self._tracking()}"

    def _tracking(self) -> str:
        if self.tracked is None:
            return ""
        if isinstance(self.tracked, AkdError):
            return f" Tracking failed: {self.tracked}"
        return f" Tracked in physics to within {self.tracked.tracking_error:.3f} ℓ of that motion: see tracked/."

    def save(self, folder: str | Path, *, force: bool = False, progress: Progress | None = None) -> Path:
        """Write a run's folder: animated.glb, preview.mp4, report.html, motion.npz, settings and log."""
        run = RunFolder(Path(folder))
        refuse_used(run.path, force=force)
        refuse_input(run.path, self.job.character)
        with run.locked():
            run.begin(self.job)
            for entry in self.log:
                run.append_log(entry)
            write_results(run, self, progress or Progress())
        return run.path


def write_results(folder: RunFolder, animation: Animation, progress: Progress) -> None:
    """Write everything; ``result.json`` comes last and says that the run is complete."""
    job, rig, motion, measured = animation.job, animation.rig, animation.motion, animation.evaluation
    write_motion(folder["motion.npz"], rig.skeleton, motion)
    write_rig(rig, {}, folder["rig.glb"])
    write_labels(folder["rig.glb"], labels_facing(rig, FORWARD))  # who reads rig.glb finds the limbs that the motion was made for
    write_splats(folder["splats.ply"], animation.task.skinned.splats)
    save_animation(rig, motion, folder["animated.glb"], name=job.name, fps=motion.fps, travel=not job.in_place, force=True)
    strip = strip_picture(rig, motion)
    write_image(folder["strip.png"], strip)
    frames = progress.items(preview_frames(rig, motion, FILM), motion.frame_count, "filming")
    write_video(folder["preview.mp4"], frames, motion.fps)
    tracked = _write_tracked(folder.path / "tracked", rig, animation.tracked, progress)
    write_report(
        folder["report.html"], rig, motion, folder["animated.glb"], title=job.prompt, evaluation=measured,
        settings=settings_in_words(job, animation.task), strip=np.asarray(strip), curves=curves(animation.log), clip=None,
        tracking=_tracking_rows(animation),
    )  # fmt: skip
    result = {
        "sentence": animation.sentence, "measured": measured.as_dict(), "tracked": tracked, "structure": animation.structure,
        "without_effect": list(animation.without_effect),
    }  # fmt: skip
    if animation.followed is not None:
        result["followed"] = dict(animation.followed)
    write_json(folder["result.json"], result | animation.judgement.as_dict())


def tracked_motion(rig: Rig, motion: Motion, progress: Progress) -> "TrackResult | AkdError":
    """A motion tracked in a physics simulation, or why that failed."""
    from akd.physics.track import track

    try:
        return track(rig, motion, progress=partial(progress.items, what="tracking"))
    except AkdError as error:
        return error


def strip_picture(rig: Rig, motion: Motion) -> Image.Image:
    """A few moments of a motion, side by side."""
    frames = torch.stack(list(preview_frames(rig, thinned(motion, STRIP_FRAMES), STRIP)))
    return Image.fromarray(to_bytes(contact_sheet(frames, columns=len(frames))))


def curves(log: tuple[Mapping[str, Any], ...]) -> dict[str, list[float]]:
    """What changed over the iterations, by name."""
    names = dict.fromkeys(name for entry in log for name in entry if name not in ("iteration", "seconds", "measured", "compared"))
    return {name: [entry.get(name, float("nan")) for entry in log] for name in names}


def settings_in_words(job: Job, task: Task) -> dict[str, str]:
    """What is needed to make the run again."""
    given = {
        "prompt": job.prompt, "prompt as the prior reads it": task.prompt, "negative prompts": "; ".join(task.negative_prompts),
        "character": job.character or f"made from the prompt, individual {job.individual}", "prior": job.prior,
        "seconds": f"{job.seconds:g}", "seed": str(job.seed), "loop": _yes(job.loop), "in place": _yes(job.in_place),
    }  # fmt: skip
    recipe = {f"recipe: {name.replace('_', ' ')}": _text(value) for name, value in vars(job.recipe).items()}
    return given | recipe | versions()


def _write_tracked(
    folder: Path, rig: Rig, tracked: "TrackResult | AkdError | None", progress: Progress
) -> dict[str, object] | None:
    """The simulated motion in a folder of its own beside the distilled one; returns its numbers, or why there are none."""
    if tracked is None:
        return None
    if isinstance(tracked, AkdError):
        return {"failed": str(tracked)}
    from akd.pipeline.track import numbers, write_result

    filming = partial(progress.items, what="filming the simulation")
    write_result(rig, tracked, folder, name="tracked", force=True, progress=filming)
    return numbers(tracked)


def _tracking_rows(animation: Animation) -> list[tuple[str, str, str, str]] | str | None:
    """Rows for the report: metric, and its value before, in the target and in the simulation; or why there are none."""
    if isinstance(animation.tracked, AkdError):
        return f"Tracking failed: {animation.tracked}"
    if animation.tracked is None:
        return None
    from akd.pipeline.track import comparison

    return comparison(animation.tracked)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return " – ".join(_text(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
