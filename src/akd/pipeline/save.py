"""Motions and poses as files, by their suffix."""

from pathlib import Path

import torch

from akd.assets import ANIMATION_SUFFIXES, check_output, save_animation
from akd.character.clips import read_clip
from akd.errors import AkdError
from akd.files.motion_npz import read_motion, write_motion
from akd.files.video import write_video
from akd.files.writing import write_file
from akd.motion import Motion
from akd.render.preview import preview_frames
from akd.render.sheets import pose_sheet
from akd.rig import Rig
from akd.skeleton import Pose

POSE_SUFFIXES = (*ANIMATION_SUFFIXES, ".npz")
"""Formats that poses are written in."""
SHEET_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
"""Formats that contact sheets are written in."""
SHEET_POSES = 16
"""Most poses on a contact sheet."""
MIN_CLIP_FPS = 30.0
"""Clips are written with at least so many frames per second, so that players show them smoothly."""


def save(
    rig: Rig, motion: Motion, path: str | Path, *, name: str = "akd", fps: float = 30.0, travel: bool = True, force: bool = False
) -> Path:
    """Write a motion of a character. The suffix says how:

    .glb (the user's own file plus one clip called ``name``, or a new file), .fbx and .usdz (.usd, .usda, .usdc): the character
    as its file has it, with this clip alone; .bvh, .npz (read by ``akd track``, ``akd pose``),
    .mp4 or .gif (a preview), .xml (the character as a MuJoCo model with the motion as keyframes). ``travel=False`` writes all
    but .npz, pictures and .xml without the movement over the ground. A file that exists is only replaced with ``force``.
    """
    path = Path(path)
    writer = {".npz": _npz, ".mp4": _video, ".gif": _video, ".xml": _mjcf}.get(path.suffix.lower())
    if writer is None and path.suffix.lower() not in ANIMATION_SUFFIXES:
        known = ", ".join((*ANIMATION_SUFFIXES, ".npz", ".mp4", ".gif"))
        raise AkdError(f"A motion is written as {known} or .xml, not {path.suffix or 'without an ending'}.")
    check_output(path, force=force, source=rig.origin.file.path if rig.origin is not None else None)
    if writer is None:
        save_animation(rig, motion, path, name=name, fps=fps, travel=travel, force=force)
    else:
        writer(rig, motion, path)
    return path


def _npz(rig: Rig, motion: Motion, path: Path) -> None:
    write_motion(path, rig.skeleton, motion)


def _video(rig: Rig, motion: Motion, path: Path) -> None:
    write_video(path, preview_frames(rig, motion), motion.fps)


def _mjcf(rig: Rig, motion: Motion, path: Path) -> None:
    from akd.character.articulation import articulation_of
    from akd.physics.mjcf import to_mjcf
    from akd.physics.settings import PhysicsSettings

    write_file(path, to_mjcf(rig, articulation_of(rig), PhysicsSettings(), motion.fps, motion))


def read_poses(rig: Rig, poses: Path | None, clip: str | None) -> Motion:
    """The motion in an .npz file, or a clip of the character's own file: one of the two."""
    if (poses is None) == (clip is None):
        raise AkdError("Say which poses: either --poses with an .npz, or --clip with the name of a clip in the file.")
    return read_motion(poses, rig.skeleton) if poses is not None else read_clip(rig, str(clip)).motion


def check_pose_outputs(out: Path, sheet: Path, *, force: bool, source: Path | None = None) -> None:
    """Refuse, before the work, names whose format is unknown, and files that exist unless ``force``; never write ``source``."""
    if out.suffix not in POSE_SUFFIXES:
        known = f"{', '.join(POSE_SUFFIXES[:-1])} or {POSE_SUFFIXES[-1]}"
        raise AkdError(f"Poses are written as {known}, not {out.suffix or 'without an ending'!r}.")
    check_output(out, force=force, source=source)
    check_sheet(sheet, force=force)


def check_sheet(sheet: Path, *, force: bool) -> None:
    """The same for a contact sheet."""
    if sheet.suffix.lower() not in SHEET_SUFFIXES:
        raise AkdError(f"A contact sheet is written as .png, .jpg or .webp, not {sheet.suffix or 'without an ending'!r}.")
    check_output(sheet, force=force)


def write_poses(rig: Rig, motion: Motion, out: Path, sheet: Path, *, name: str) -> list[Path]:
    """Write poses as a clip (.glb, .fbx, …) or as numbers (.npz), and a contact sheet of some; returns what was written."""
    motion = Motion(motion.pose.detach(), motion.fps)
    if out.suffix == ".npz":
        write_motion(out, rig.skeleton, motion)
    else:
        save_animation(rig, motion, out, name=name, fps=max(motion.fps, MIN_CLIP_FPS), force=True)
    return [out, *write_pose_sheet(rig, motion.pose, sheet)]


def write_pose_sheet(rig: Rig, pose: Pose, path: Path) -> list[Path]:
    """A picture of some of the poses, evenly chosen; none of a bare skeleton. Returns what was written."""
    if not len(rig.mesh.faces):
        return []
    count = len(pose.angles)
    pose_sheet(rig, pose[torch.linspace(0, count - 1, min(SHEET_POSES, count)).round().long()], path)
    return [path]
