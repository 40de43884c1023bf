"""The clip to retarget, whatever file it is in: its skeleton as a rig, its motion, and what was noted while reading."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from akd.assets import load_rig
from akd.character.build import build_rig
from akd.character.clips import read_clip
from akd.errors import AkdError
from akd.files.cmu_npz import is_compact_capture, read_cmu_npz
from akd.files.motion_npz import read_motion
from akd.motion import Motion
from akd.rig import Rig

MAX_RESIDUAL = 0.02
"""A clip whose skin comes out further than this from the file's own, on average, loses something by being read [ℓ]."""


@dataclass(frozen=True, eq=False)
class SourceClip:
    """A motion and the rig it was made for."""

    rig: Rig
    motion: Motion
    name: str
    notes: tuple[str, ...] = ()
    """What was repaired or lost while reading, one sentence each."""


def load_clip(text: str, *, fps: float = 30.0, forward: str | None = None) -> SourceClip:
    """The clip behind FILE, FILE#CLIP, CAPTURES.npz#NUMBER, or a motion.npz (or its folder) with its rig.glb beside it."""
    file, _, clip = text.partition("#")
    path = Path(file)
    if path.suffix.lower() == ".npz" and is_compact_capture(path):
        return _captured(path, clip, fps)
    if path.is_dir() or path.suffix.lower() == ".npz":
        return _stored(path)
    rig = load_rig(path, forward=forward)
    return _read(rig, _clip_name(rig, path.name, clip), fps)


def _captured(path: Path, clip: str, fps: float) -> SourceClip:
    if not clip.isdigit():
        raise AkdError(f"{path.name} holds many clips: name one by its number, as in {path.name}#0.")
    file = read_cmu_npz(path, int(clip))
    return _read(build_rig(file, forward=np.array([0.0, 0.0, 1.0])), file.clips[0].name, fps)


def _stored(path: Path) -> SourceClip:
    folder = path if path.is_dir() else path.parent
    if not (folder / "rig.glb").is_file():
        raise AkdError(f"{folder} has no rig.glb, so the skeleton of its motion is not known: put it beside the motion.")
    rig = load_rig(folder / "rig.glb")
    return SourceClip(rig, read_motion(path / "motion.npz" if path.is_dir() else path, rig.skeleton), folder.resolve().name)


def _clip_name(rig: Rig, file: str, clip: str) -> str:
    """The full name of a clip; exporters put the armature's name in front, so "Armature|Walk" is found as "Walk" too."""
    assert rig.origin is not None
    known = [c.name for c in rig.origin.file.clips]
    if not known:
        raise AkdError(f"{file} holds no motion to retarget: give a file with at least one clip.")
    if not clip and len(known) > 1:
        raise AkdError(f"{file} has {len(known)} clips: name one, as in {file}#{known[0].split('|')[-1]}.")
    found = [n for n in known if n == clip] or [n for n in known if n.split("|")[-1].lower() == clip.lower()]
    if clip and not found:
        raise AkdError(f"There is no clip {clip!r} in {file}; its clips are: {', '.join(n.split('|')[-1] for n in known)}.")
    return found[0] if clip else known[0]


def _read(rig: Rig, clip: str, fps: float) -> SourceClip:
    read = read_clip(rig, clip, fps)
    short = clip.split("|")[-1]
    lost = f"{rig.name}#{short} stretches or moves bones: {read.residual:.3f} ℓ of it are lost on average."
    return SourceClip(rig, read.motion, short, (lost,) if read.residual > MAX_RESIDUAL else ())
