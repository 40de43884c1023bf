"""`akd animate --via video`: a picture of the character, a clip that the prior makes of it, and the motion that follows the clip.

    at ease, drawn as the prior's films look → sampled from that first frame → followed → measured and judged as any other run

A clip is one sample of the prior, tens of evaluations where distillation takes thousands. A run's folder keeps the clip, so a run
that was killed goes on with the same one.
"""

import io
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from akd.creatures.captions import action_from_prompt
from akd.distill.task import CLIP_FPS, Task
from akd.errors import AkdError
from akd.files.video import to_bytes, write_picture, write_video
from akd.files.writing import write_file
from akd.follow.begin import begin
from akd.follow.clip import Clip
from akd.follow.first_frame import FirstFrame, draw_first_frame, make_first_frame, pose_at_ease
from akd.follow.following import Followed, Following
from akd.follow.marker_film import marker_subject
from akd.follow.settings import FollowSettings
from akd.follow.subject import find_subject
from akd.measure.evaluation import evaluate
from akd.motion import Motion, crop, resample
from akd.pipeline.checkpoint import read_tensors
from akd.pipeline.follow import FollowedClip, FollowJob, follow_steps, save_state, side_by_side
from akd.pipeline.job import Job, Progress, make_task
from akd.pipeline.results import Animation, tracked_motion, write_results
from akd.pipeline.run_folder import RunFolder, damaged
from akd.prior.folder import EMBEDDED
from akd.prior.prior import VideoPrior
from akd.render.film import camera_for, film, move_splats
from akd.rig import Rig

FOLLOWED_SIDE = 192
"""Smaller clips are enlarged to about this side before they are followed [px]: flow and distances need some pixels."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """A clip that a prior made of a character."""

    clip: Clip
    """At the size it is followed at."""
    first: FirstFrame
    """Camera and pose of its first frame."""


def check_via_video(job: Job, prior: VideoPrior) -> None:
    """Refuse what cannot be done by way of a clip."""
    if not prior.takes_first_frame:
        named = "The embedded prior" if job.prior == EMBEDDED else f"The prior {job.prior}"
        raise AkdError(
            f"{named} cannot be given a picture of the character, which --via video needs: name an image-to-video model with"
            " --prior (docs/prior.md lists them), or leave --via out."
        )
    if prior.reader is not None:
        raise AkdError("Films of this prior show figures, which are read and not followed: leave --via out.")
    if job.loop:
        raise AkdError("A clip that a prior makes does not end where it began: leave --loop out, or leave --via out.")


def run_via_video(folder: RunFolder, job: Job, rig: Rig, prior: VideoPrior, progress: Progress) -> Animation:
    """Do, or finish, what a run's folder asks for."""
    task = make_task(job, prior, rig)
    for note in (*rig.notes, *_shorter(task)):
        progress.notice(note)
    sampled = _kept(folder, task) or _sample_into(folder, task, progress)
    following = _following(task, sampled)
    if folder["checkpoint.safetensors"].is_file():
        state = read_tensors(folder["checkpoint.safetensors"])
        following.load({name: tensor.numpy() for name, tensor in state.items()})
    folder.forget_log_from(following.iteration)
    for numbers in follow_steps(following, progress):
        folder.append_log(numbers)
        save_state(following, folder["checkpoint.safetensors"])
    followed = following.finish(going_along=_goes_along(task))
    animation = _animation(job, task, followed, tuple(folder.log()), _evaluations(job), progress)
    shown = FollowedClip(FollowJob(rig.name, "clip"), followed, animation.evaluation, sampled.clip)
    write_video(folder.path / "followed.mp4", list(side_by_side(shown)), sampled.clip.fps)
    write_results(folder, animation, progress)
    return animation


def animate_via_video(job: Job, rig: Rig, prior: VideoPrior, progress: Progress) -> Animation:
    """The same in memory."""
    check_via_video(job, prior)
    task = make_task(job, prior, rig)
    following = _following(task, sample_clip(task, progress))
    log = tuple(follow_steps(following, progress))
    followed = following.finish(going_along=_goes_along(task))
    return _animation(job, task, followed, log, _evaluations(job), progress)


def first_picture(task: Task) -> tuple[FirstFrame, Float[Tensor, "height width 3"]]:
    """The character at ease, as the prior's films show characters: as splats in their look, or as `akd picture` draws it."""
    rig, settings = task.rig, task.prior.film
    if not task.prior.trained_on_captions:
        first = make_first_frame(rig, width=settings.width, height=settings.height)
        return first, draw_first_frame(rig, first)
    pose = pose_at_ease(rig)
    still = Motion(pose[None], task.fps)
    camera = camera_for(move_splats(rig.skeleton, still, task.skinned), task.skinned, task.fps, settings, settings.view)
    drawn = film(rig.skeleton, still, task.skinned, settings)[0]
    return FirstFrame(camera, pose, rig.skeleton.names), drawn


def sample_clip(task: Task, progress: Progress) -> Sampled:
    """A clip of the character that does what the sentence says, from its picture on."""
    progress.stage("sampling a clip")
    prior, (first, drawn) = task.prior, first_picture(task)
    latents = prior.sample_latents(
        task.prompt, steps=task.recipe.denoising_steps, guidance=task.recipe.guidance, seed=task.seed,
        negative="" if prior.trained_on_captions else prior.negative_prompt, condition=prior.condition(drawn[None]),
    )  # fmt: skip
    frames = np.stack([to_bytes(frame) for frame in prior.decode(latents)[0].cpu()])
    return Sampled(enlarged(frames, task.fps), first)


def enlarged(frames: UInt8[np.ndarray, "frame height width 3"], fps: float) -> Clip:
    """Frames as a clip that can be followed, small ones enlarged."""
    import cv2

    height, width = frames.shape[1:3]
    times = max(round(FOLLOWED_SIDE / max(height, width)), 1)
    size = (times * width, times * height)
    large = frames if times == 1 else np.stack([cv2.resize(frame, size, interpolation=cv2.INTER_CUBIC) for frame in frames])
    return Clip(large, fps, 0.0, size, name="the prior's clip")


def _sample_into(folder: RunFolder, task: Task, progress: Progress) -> Sampled:
    """Sample a clip and keep it: as it is for going on, and as a video to look at."""
    sampled = sample_clip(task, progress)
    clip = sampled.clip
    frames = torch.from_numpy(clip.frames).float() / 255
    write_picture(folder.path / "first.png", first_picture(task)[1])
    sampled.first.save(folder.path / "first.json")
    write_video(folder.path / "clip.mp4", frames, clip.fps)
    kept = io.BytesIO()
    np.savez_compressed(kept, frames=clip.frames)
    write_file(folder.path / "clip.npz", kept.getvalue())
    return sampled


def _kept(folder: RunFolder, task: Task) -> Sampled | None:
    """The clip that an earlier attempt sampled."""
    path = folder.path / "clip.npz"
    if not path.is_file():
        return None
    with damaged(path), np.load(path, allow_pickle=False) as stored:
        frames = stored["frames"]
    size = (frames.shape[2], frames.shape[1])
    return Sampled(Clip(frames, task.fps, 0.0, size, name="the prior's clip"), first_picture(task)[0])


def _following(task: Task, sampled: Sampled) -> Following:
    """The fit of a sampled clip, before its first step."""
    try:
        if task.prior.film.look == "marker":
            subject = marker_subject(sampled.clip, task.rig.skeleton)
            return begin(
                task.rig, sampled.clip, subject, first=sampled.first, settings=FollowSettings.for_marker_films(),
                look="marker", camera="following",
            )  # fmt: skip
        return begin(task.rig, sampled.clip, find_subject(sampled.clip), first=sampled.first)
    except AkdError as error:
        raise AkdError(f"The prior's clip cannot be followed ({str(error).rstrip('.')}): try another --seed.") from error


def _goes_along(task: Task) -> bool:
    """Our own films are made by a camera that goes along; other models are asked for a camera that stands."""
    return task.prior.trained_on_captions


def _evaluations(job: Job) -> int:
    """Evaluations of the prior that a clip takes: two a step where there is guidance."""
    return job.recipe.denoising_steps * (1 if job.recipe.guidance == 1 else 2)


def _animation(
    job: Job, task: Task, followed: Followed, log: tuple[dict[str, Any], ...], evaluations: int, progress: Progress
) -> Animation:
    """The followed motion, measured and tracked as any other."""
    motion = resample(followed.motion, CLIP_FPS)
    if motion.duration > job.seconds:
        motion = crop(motion, 0, job.seconds)
    progress.stage("measuring")
    measured = evaluate(task.rig, motion, asked=action_from_prompt(job.prompt))
    match = followed.match
    found = {
        "sentence": match.sentence, "verdict": match.verdict, "score": match.score, "score_motionless": match.score_motionless,
        "evaluations": evaluations, "notes": list(followed.notes), **asdict(match), "guessed": list(match.guessed),
    }  # fmt: skip
    tracked = tracked_motion(task.rig, motion, progress) if job.track else None
    return Animation(job, task, motion, measured, log, tracked, "followed", (), found)


def ranked(folders: list[RunFolder]) -> list[RunFolder]:
    """Runs by how well their clips were followed, the best first."""

    def score(run: RunFolder) -> float:
        found = run.result().get("followed")
        value = found.get("score") if isinstance(found, dict) else None
        return float(value) if isinstance(value, float | int) else -1.0

    return sorted(folders, key=score, reverse=True)


def _shorter(task: Task) -> list[str]:
    """A sentence where the prior's clip is shorter than what was asked for."""
    if task.film_seconds + 0.05 >= task.seconds:
        return []
    return [f"The prior's clips take {task.film_seconds:.1f} s on this body, and so does the motion."]
