"""Rigging, tracking, retargeting and sampled poses as runs in folders: requests check themselves, runs leave ``result.json``."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from akd.assets import check_fps, check_height, check_seed, load_motion, load_rig, motion_files, save_animation
from akd.creatures.words import character as made_from_words
from akd.errors import AkdError
from akd.files.gltf.write_rig import write_rig
from akd.files.lock import locked_folder
from akd.files.motion_npz import write_motion
from akd.files.video import write_image, write_video
from akd.files.writing import remove_leftovers
from akd.measure.evaluation import evaluate
from akd.measure.report import write_report
from akd.measure.wording import verdict_sentence
from akd.motion import Motion
from akd.pipeline.job import Progress, check_types
from akd.pipeline.results import FILM, strip_picture
from akd.pipeline.run_folder import versions, write_json
from akd.pipeline.save import write_poses
from akd.render.preview import preview_frames
from akd.render.sheets import rig_sheet
from akd.rig import Rig
from akd.rigging.rig_file import load_or_rig, rig_file

RESULT = "result.json"


@dataclass(frozen=True)
class Rigging:
    """A skeleton and skin weights for a mesh, as `akd rig`."""

    character: str
    template: str | None = None
    skeleton: str | None = None
    reweight: bool = False
    forward: str | None = None
    height: float | None = None

    def __post_init__(self) -> None:
        check_types(type(self), vars(self))
        check_height(self.height)

    def inputs(self) -> list[Path]:
        return [Path(name) for name in (self.character, self.skeleton) if name is not None]

    def run(self, folder: Path, progress: Progress) -> None:
        with _begun(folder):
            progress.stage("rigging")
            made = rig_file(
                Path(self.character), skeleton=None if self.skeleton is None else Path(self.skeleton), template=self.template,
                reweight=self.reweight, forward=self.forward, height=self.height,
            )  # fmt: skip
            write_rig(made, {}, folder / "rig.glb")
            write_image(folder / "strip.png", rig_sheet(made))
            limbs = ", ".join(limb.name for limb in made.skeleton.limbs)
            measured = {"joint_count": made.skeleton.joint_count, "limb_count": len(made.skeleton.limbs), "notes": [*made.notes]}
            _end(folder, f"{made.skeleton.joint_count} joints, {limbs}.", measured)


@dataclass(frozen=True)
class Tracking:
    """A clip tracked in a physics simulation, as `akd track`."""

    clip: str
    recipe: Literal["default", "paper"] = "default"
    fps: float = 30.0
    film: bool = True
    forward: str | None = None
    height: float | None = None

    def __post_init__(self) -> None:
        check_types(type(self), vars(self))
        check_fps(self.fps)
        check_height(self.height)

    def inputs(self) -> list[Path]:
        return motion_files(self.clip)

    def run(self, folder: Path, progress: Progress) -> None:
        from akd.physics.track import track
        from akd.physics.track_settings import RECIPES
        from akd.pipeline.track import numbers, write_result

        with _begun(folder):
            rig, motion, _, from_file = load_motion(self.clip, fps=self.fps, forward=self.forward, height=self.height)
            steps = partial(progress.items, what="tracking")
            result = track(rig, motion, RECIPES[self.recipe], from_file=from_file, progress=steps)
            write_result(
                rig, result, folder, name="tracked", film=self.film, force=True, progress=partial(progress.items, what="filming")
            )
            write_rig(rig, {}, folder / "rig.glb")
            write_image(folder / "strip.png", strip_picture(rig, result.motion))
            measured = result.metrics.as_dict() | {"tracking_error": result.tracking_error}
            sentence = f"{verdict_sentence(result.metrics)} Tracked to within {result.tracking_error:.3f} ℓ."
            _end(folder, sentence, measured, tracked=numbers(result))


@dataclass(frozen=True)
class Retarget:
    """Somebody's clip on a character, as `akd retarget`."""

    clip: str
    character: str
    travel: Literal["auto", "keep", "none"] = "auto"
    fps: float = 30.0
    clip_forward: str | None = None
    forward: str | None = None
    height: float | None = None

    def __post_init__(self) -> None:
        check_types(type(self), vars(self))
        check_fps(self.fps)
        check_height(self.height)

    def inputs(self) -> list[Path]:
        return [*motion_files(self.clip), Path(self.character)]

    def run(self, folder: Path, progress: Progress) -> None:
        from akd.retarget.measures import measure_retarget
        from akd.retarget.retarget import retarget
        from akd.retarget.source import load_clip

        with _begun(folder):
            source = load_clip(self.clip, fps=self.fps, forward=self.clip_forward)
            rig = load_rig(self.character, forward=self.forward, height=self.height)
            progress.stage("retargeting")
            result = retarget(source.motion, source.rig, rig, travel=self.travel)
            carried = asdict(measure_retarget(result, source.rig, rig))
            notes = [*source.notes, *result.notes]
            _write_motion_run(folder, rig, result.motion, source.name, progress, more={"retargeting": carried, "notes": notes})


@dataclass(frozen=True)
class PoseSample:
    """Random plausible poses of a character, as `akd pose sample`."""

    character: str
    count: int = 16
    seed: int = 0
    temperature: float = 1.0
    repair: bool = True

    def __post_init__(self) -> None:
        check_types(type(self), vars(self))
        check_seed(self.seed)
        if self.count < 1 or self.temperature <= 0:
            raise AkdError(f"Sampling needs a count and a temperature above 0, not {self.count} and {self.temperature}.")

    def inputs(self) -> list[Path]:
        path = Path(self.character)
        return [path] if path.suffix else []  # else a character in words

    def run(self, folder: Path, progress: Progress) -> None:
        from akd.posespace.space import PoseSpace

        with _begun(folder):
            rig = load_or_rig(Path(self.character)) if self.inputs() else made_from_words(self.character, 0)[0]
            progress.stage("sampling poses")
            space = PoseSpace.build(rig)
            vectors = space.sample(self.count, seed=self.seed, temperature=self.temperature, repair=self.repair)
            motion = Motion(space.pose(vectors), 1.0)
            write_rig(rig, {}, folder / "rig.glb")
            write_poses(rig, motion, folder / "motion.npz", folder / "strip.png", name="poses")
            verdicts = space.verdicts(vectors)
            valid = float(np.mean([verdict.valid for verdict in verdicts]))
            _end(folder, f"{self.count} poses, {valid:.0%} of them valid.", {"pose_count": self.count, "valid_share": valid})


@contextmanager
def _begun(folder: Path) -> Iterator[None]:
    """A folder in which nobody else is at work; the mark of an older result goes before anything is written."""
    with locked_folder(folder):
        remove_leftovers(folder)
        (folder / RESULT).unlink(missing_ok=True)
        yield


def _end(folder: Path, sentence: str, measured: dict[str, Any], **more: Any) -> None:
    write_json(folder / RESULT, {"sentence": sentence, "measured": measured, **more})


def _write_motion_run(folder: Path, rig: Rig, motion: Motion, title: str, progress: Progress, *, more: dict[str, Any]) -> None:
    """A motion on a character with everything that a gallery, a report or `akd track` needs."""
    measured = evaluate(rig, motion)
    write_motion(folder / "motion.npz", rig.skeleton, motion)
    write_rig(rig, {}, folder / "rig.glb")
    save_animation(rig, motion, folder / "animated.glb", name=title, fps=motion.fps, force=True)
    strip = strip_picture(rig, motion)
    write_image(folder / "strip.png", strip)
    frames = progress.items(preview_frames(rig, motion, FILM), motion.frame_count, "filming")
    write_video(folder / "preview.mp4", frames, motion.fps)
    write_report(
        folder / "report.html", rig, motion, folder / "animated.glb", title=title, evaluation=measured, settings=versions(),
        strip=np.asarray(strip),
    )  # fmt: skip
    _end(folder, verdict_sentence(measured), measured.as_dict(), **more)
