"""Following a video: a character and a clip in, a motion in a run's folder out. Can be killed at any moment and gone on with.

    read clip and character → subject and camera → track and refine → lock feet → measure → write
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from safetensors.torch import save
from torch import Tensor

from akd.assets import check_fps, check_height, fingerprint, save_animation
from akd.errors import AkdError
from akd.files.gltf.write_rig import write_rig
from akd.files.motion_npz import write_motion
from akd.files.video import contact_sheet, every, to_bytes, write_image, write_video
from akd.files.writing import safe_name, write_file
from akd.follow.begin import CameraKind, begin, read_subject
from akd.follow.clip import Clip
from akd.follow.first_frame import BACKGROUND, FirstFrame
from akd.follow.following import Followed, Following
from akd.follow.match import Match
from akd.follow.settings import FollowSettings
from akd.follow.subject import Segmenter, Subject
from akd.measure.evaluation import Evaluation, evaluate
from akd.measure.report import write_report
from akd.motion import Motion
from akd.pipeline.animate import memory_in_one_sentence
from akd.pipeline.checkpoint import checksum, read_tensors
from akd.pipeline.job import Progress, check_types
from akd.pipeline.results import curves
from akd.pipeline.run_folder import (  # fmt: skip
    RunFolder,
    damaged,
    read_config,
    refuse_input,
    refuse_used,
    versions,
    write_json,
)
from akd.render.preview import still
from akd.rig import Rig
from akd.rigging.rig_file import load_or_rig

PREVIEW_HEIGHT = 360
"""Height of clip and render in the preview [px]."""
STRIP_FRAMES = 8


@dataclass(frozen=True)
class FollowJob:
    """Everything that decides the motion."""

    character: str
    clip: str
    fingerprint: str = ""
    """Of the character's file."""
    first: str | None = None
    """A first.json, as `akd picture` writes it."""
    masks: str | None = None
    """A folder of masks."""
    start: float = 0.0
    end: float | None = None
    """Part of the clip [s]."""
    fps: float | None = None
    """Of a folder of frames."""
    camera: str = "auto"
    """following: it goes along with the character, whose way is read from its feet. static: it stands. auto: the background tells
    whether it turns, else it stands."""
    forward: str | None = None
    height: float | None = None

    def __post_init__(self) -> None:
        check_height(self.height)
        if self.fps is not None:
            check_fps(self.fps)
        if self.camera not in ("auto", "static", "following"):
            raise AkdError(f"A camera is auto, static or following, not {self.camera!r}.")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "FollowJob":
        """What ``asdict`` gave."""
        unknown = sorted(set(values) - {entry.name for entry in fields(cls)})
        if unknown or not {"character", "clip"} <= set(values):
            raise AkdError("It is not a run of akd follow of this version.")
        check_types(cls, values)
        return cls(**values)

    @property
    def name(self) -> str:
        return safe_name(f"{Path(self.character).stem}-{Path(self.clip).stem}")

    @property
    def camera_kind(self) -> CameraKind:
        return cast(CameraKind, self.camera)  # checked above

    @property
    def going_along(self) -> bool:
        return self.camera == "following"


@dataclass(frozen=True, eq=False)
class FollowedClip:
    """A finished motion with the clip it was followed from."""

    job: FollowJob
    followed: Followed
    evaluation: Evaluation
    pictures: Clip
    log: tuple[Mapping[str, Any], ...] = ()

    @property
    def rig(self) -> Rig:
        return self.followed.rig

    @property
    def motion(self) -> Motion:
        return self.followed.motion

    @property
    def match(self) -> Match:
        return self.followed.match

    @property
    def verdict(self) -> str:
        """One of: follows, loose, lost, no better than motionless."""
        return self.match.verdict

    @property
    def sentence(self) -> str:
        return self.match.sentence

    def save(self, folder: str | Path, *, force: bool = False, progress: Progress | None = None) -> Path:
        """Write a run's folder: animated.glb, preview.mp4 (clip and render), report.html, motion.npz, result.json."""
        run = RunFolder(Path(folder))
        refuse_used(run.path, force=force)
        refuse_input(run.path, self.job.character)
        with run.locked():
            _begin_folder(run, self.job)
            for entry in self.log:
                run.append_log(entry)
            write_follow_results(run, self, progress or Progress())
        return run.path


def follow(
    rig: Rig, clip: str | Path | Clip, *, first: FirstFrame | str | Path | None = None, start: float = 0.0,
    end: float | None = None, masks: str | Path | None = None, segmenter: Segmenter | None = None, subject: Subject | None = None,
    camera: CameraKind = "auto", settings: FollowSettings | None = None, progress: Progress | None = None,
) -> FollowedClip:  # fmt: skip
    """Follow a video of a character, in memory.

        result = akd.follow(akd.load_rig("fox.glb"), "clip.mp4", first="first.json")
        result.motion, result.sentence, result.save("runs/fox-clip")

    ``clip`` is a file, a folder of frames, or frames in memory (a ``Clip``, with its ``subject`` if that is known). ``first`` is
    what ``akd picture`` wrote beside the clip's first frame; without it the camera is searched for. ``segmenter`` is a function
    from frames to masks, for clips before clutter.
    """
    known = FirstFrame.load(first, rig) if isinstance(first, str | Path) else first
    if not isinstance(clip, Clip):
        job = FollowJob(_source(rig), str(clip), start=start, end=end, camera=camera)
        where = None if masks is None else Path(masks)
        pictures, subject = read_subject(Path(clip), start=start, end=end, masks=where, segmenter=segmenter)
    else:
        from akd.follow.subject import find_subject

        job, pictures = FollowJob(_source(rig), clip.name, camera=camera), clip
        subject = subject or find_subject(clip, segmenter=segmenter)
    run = begin(rig, pictures, subject, first=known, settings=settings, camera=camera)
    log = list(follow_steps(run, progress or Progress()))
    followed = run.finish(going_along=job.going_along)
    return FollowedClip(job, followed, evaluate(rig, followed.motion), pictures, tuple(log))


def _source(rig: Rig) -> str:
    path = rig.origin.file.path if rig.origin is not None else None
    return rig.name if path is None else str(path)


def follow_steps(run: Following, progress: Progress) -> Iterator[dict[str, Any]]:
    """The steps that are left, each with its numbers."""
    left = range(run.iteration, run.iterations)
    for iteration in progress.items(left, len(left), "following"):
        with memory_in_one_sentence(f"at step {iteration + 1} of {run.iterations}"):
            numbers = run.step()
        yield {"iteration": iteration, **numbers}


def begin_follow(folder: Path, job: FollowJob, progress: Progress, *, force: bool = False) -> RunFolder:
    """Follow a clip in a folder. Mistakes show before anything is written."""
    refuse_used(folder, force=force)
    refuse_input(folder, job.character)
    refuse_input(folder, job.clip)
    job = replace(job, fingerprint=fingerprint(Path(job.character)))
    run = _prepared(job, progress)
    with RunFolder(folder).locked():
        refuse_used(folder, force=force)
        _begin_folder(RunFolder(folder), job)
        return _finish(RunFolder(folder), job, run, progress)


def resume_follow(folder: Path, progress: Progress) -> RunFolder:
    """Do what is left to do in a folder."""
    config, run = read_config(folder), RunFolder(folder)
    with damaged(run["config.json"]):
        job = FollowJob.from_dict(config.get("follow") or {})
    if isinstance(run.result().get("sentence"), str):
        return run
    if job.fingerprint and fingerprint(Path(job.character)) != job.fingerprint:
        raise AkdError(f"{job.character} has changed since the run began: begin a new one, or bring the old file back.")
    with run.locked():
        following = _prepared(job, progress)
        if run["checkpoint.safetensors"].is_file():
            tensors = read_tensors(run["checkpoint.safetensors"])
            following.load({name: tensor.numpy() for name, tensor in tensors.items()})
        run.forget_log_from(following.iteration)
        return _finish(run, job, following, progress)


def _begin_folder(run: RunFolder, job: FollowJob) -> None:
    with run.replaced_config({"follow": asdict(job), "versions": versions()}):
        pass


def _prepared(job: FollowJob, progress: Progress) -> Following:
    progress.stage("reading the clip")
    masks = None if job.masks is None else Path(job.masks)
    clip, subject = read_subject(Path(job.clip), start=job.start, end=job.end, masks=masks, fps=job.fps)
    progress.stage("reading the character")
    rig = load_or_rig(Path(job.character), forward=job.forward, height=job.height)
    first = None if job.first is None else FirstFrame.load(job.first, rig)
    progress.stage("finding the camera" if first is None else "preparing")
    run = begin(rig, clip, subject, first=first, camera=job.camera_kind)
    for note in (*rig.notes, *run.notes):
        progress.notice(note)
    return run


def _finish(folder: RunFolder, job: FollowJob, run: Following, progress: Progress) -> RunFolder:
    for numbers in follow_steps(run, progress):
        folder.append_log(numbers)
        save_state(run, folder["checkpoint.safetensors"])
    progress.stage("measuring")
    followed = run.finish(going_along=job.going_along)
    for note in followed.notes[len(run.notes) :]:
        progress.notice(note)
    done = FollowedClip(job, followed, evaluate(run.scene.body.rig, followed.motion), run.clip, tuple(folder.log()))
    write_follow_results(folder, done, progress)
    return folder


def save_state(run: Following, path: Path) -> None:
    """Write the state with a checksum, beside the old file and then over it."""
    tensors = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in run.arrays().items()}
    write_file(path, save(tensors, metadata={"sha256": checksum(tensors)}))


def write_follow_results(folder: RunFolder, done: FollowedClip, progress: Progress) -> None:
    """Write everything; ``result.json`` comes last and says that the run is complete."""
    rig, motion, match = done.rig, done.motion, done.match
    write_motion(folder["motion.npz"], rig.skeleton, motion)
    write_rig(rig, {}, folder["rig.glb"])
    save_animation(rig, motion, folder["animated.glb"], name=done.job.name, fps=30.0, force=True)
    frames = list(progress.items(side_by_side(done), motion.frame_count, "filming"))
    write_video(folder["preview.mp4"], frames, motion.fps)
    shown = every(torch.stack(frames), STRIP_FRAMES)
    strip = Image.fromarray(to_bytes(contact_sheet(shown[:, ::2, ::2], columns=4)))
    write_image(folder["strip.png"], strip)
    write_report(
        folder["report.html"], rig, motion, folder["animated.glb"], title=f"{rig.name} follows {Path(done.job.clip).name}",
        evaluation=done.evaluation, settings=_in_words(done), strip=np.asarray(strip), curves=curves(done.log), clip=None,
    )  # fmt: skip
    camera = done.followed.camera
    result = {
        "sentence": done.sentence, "verdict": match.verdict, "overlap": match.overlap, "overlap_worst": match.overlap_worst,
        "overlap_motionless": match.overlap_motionless, "limbs_seen": match.limbs, "joint_confidence": match.joints,
        "guessed": list(match.guessed),
        "subject_confidence": match.subject, "notes": list(done.followed.notes),
        "stance": done.followed.stance.astype(int).tolist(),
        "camera": {
            "width": camera.width, "height": camera.height, "intrinsics": camera.intrinsics[0].tolist(),
            "world_to_camera": camera.world_to_camera.tolist(),
        },
        "measured": done.evaluation.as_dict(),
    }  # fmt: skip
    write_json(folder["result.json"], result)


def side_by_side(done: FollowedClip) -> Iterator[Float[Tensor, "height width 3"]]:
    """The clip on the left, the character seen by the clip's camera on the right."""
    camera, clip = done.followed.camera, done.pictures
    width = max(round(PREVIEW_HEIGHT * camera.width / camera.height), 2)
    scale = torch.tensor((width / camera.width, PREVIEW_HEIGHT / camera.height, 1.0))
    small = replace(camera, intrinsics=camera.intrinsics * scale[:, None], width=width, height=PREVIEW_HEIGHT)
    for frame in range(done.motion.frame_count):
        pose = done.motion.pose[frame].to(torch.float32)
        drawn, _ = still(done.rig, pose, small[frame : frame + 1], background=BACKGROUND, supersample=2)
        shown = Image.fromarray(clip.frames[frame]).resize((width, PREVIEW_HEIGHT), Image.Resampling.BICUBIC)
        yield torch.cat((torch.from_numpy(np.asarray(shown).copy()).float() / 255, drawn), 1)


def _in_words(done: FollowedClip) -> dict[str, str]:
    match = done.match
    guessed = {name: " (guessed)" for name in match.guessed}
    seen = {f"seen: {name}": f"{share:.2f}{guessed.get(name, '')}" for name, share in match.limbs.items()}
    return {
        "verdict": match.sentence, "clip": done.job.clip, "character": done.job.character, "first frame": done.job.first or "–",
        "silhouette overlap": f"{match.overlap:.3f}, worst frame {match.overlap_worst:.3f}",
        "overlap of a motionless character": f"{match.overlap_motionless:.3f}",
        "subject stands out": f"{match.subject:.2f}", **{f"note {n + 1}": note for n, note in enumerate(done.followed.notes)},
        **seen, **versions(),
    }  # fmt: skip
