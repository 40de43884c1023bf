"""Poses in and out of files: a clip or a motion of a character as poses, poses as a clip with a contact sheet."""

from pathlib import Path

import torch

from akd.assets import check_output, save_animation
from akd.character.clips import read_clip
from akd.errors import AkdError
from akd.files.motion_npz import read_motion, write_motion
from akd.motion import Motion
from akd.render.sheets import pose_sheet
from akd.rig import Rig
from akd.skeleton import Pose

POSE_SUFFIXES = (".glb", ".bvh", ".npz")
"""Formats that poses are written in."""
SHEET_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
"""Formats that contact sheets are written in."""
SHEET_POSES = 16
"""Most poses on a contact sheet."""
MIN_CLIP_FPS = 30.0
"""Clips are written with at least so many frames per second, so that players show them smoothly."""


def read_poses(rig: Rig, poses: Path | None, clip: str | None) -> Motion:
    """The motion in an .npz file, or a clip of the character's own file: one of the two."""
    if (poses is None) == (clip is None):
        raise AkdError("Say which poses: either --poses with an .npz, or --clip with the name of a clip in the file.")
    return read_motion(poses, rig.skeleton) if poses is not None else read_clip(rig, str(clip)).motion


def check_pose_outputs(out: Path, sheet: Path, *, force: bool, source: Path | None = None) -> None:
    """Refuse, before the work, names whose format is unknown, and files that exist unless ``force``; never write ``source``."""
    if out.suffix not in POSE_SUFFIXES:
        raise AkdError(f"Poses are written as .glb, .bvh or .npz, not {out.suffix or 'without an ending'!r}.")
    check_output(out, force=force, source=source)
    check_sheet(sheet, force=force)


def check_sheet(sheet: Path, *, force: bool) -> None:
    """The same for a contact sheet."""
    if sheet.suffix.lower() not in SHEET_SUFFIXES:
        raise AkdError(f"A contact sheet is written as .png, .jpg or .webp, not {sheet.suffix or 'without an ending'!r}.")
    check_output(sheet, force=force)


def write_poses(rig: Rig, motion: Motion, out: Path, sheet: Path, *, name: str) -> list[Path]:
    """Write poses as a clip (.glb, .bvh) or as numbers (.npz), and a contact sheet of some of them; returns what was written."""
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
