"""From a clip's file to a fit that can begin: read it at the size that is needed, find subject and camera."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from akd.follow.camera_motion import moving_view
from akd.follow.camera_search import search_camera
from akd.follow.clip import SIDE, Clip, read_clip
from akd.follow.first_frame import FirstFrame
from akd.follow.following import Following, check_moves, check_shape
from akd.follow.settings import FollowSettings
from akd.follow.subject import Segmenter, Subject, find_subject
from akd.render.looks import Look
from akd.rig import Rig

SUBJECT_SIDE = 200
"""Longer side that a subject should have in what is read [px]: a thin leg is then three pixels wide."""
MAX_SIDE = 1024
"""Longer side of a picture at most [px]."""
LOW_CONFIDENCE = 0.35
CameraKind = Literal["auto", "static", "following"]
"""Whether the camera stands, goes along with the body, or the background tells."""


def read_subject(
    path: Path, *, start: float = 0.0, end: float | None = None, masks: Path | None = None, segmenter: Segmenter | None = None,
    fps: float | None = None,
) -> tuple[Clip, Subject]:  # fmt: skip
    """A clip in which the subject is large enough, and where it is."""
    clip = read_clip(path, start=start, end=end, fps=fps)
    subject = find_subject(clip, masks=masks, segmenter=segmenter)
    row, column = np.nonzero(subject.masks.any(0))
    box = np.array([[np.ptp(np.nonzero(mask)[k]) + 1 for k in (0, 1)] for mask in subject.masks if mask.any()])
    size = float(np.median(box.max(1))) if len(row) and len(column) else float(SIDE)
    side = min(round(SIDE * SUBJECT_SIDE / size), MAX_SIDE, max(clip.size))
    if side > 1.2 * max(clip.frames.shape[1:3]):
        clip = read_clip(path, start=start, end=end, fps=fps, side=side)
        subject = find_subject(clip, masks=masks, segmenter=segmenter)
    return clip, subject


def begin(
    rig: Rig, clip: Clip, subject: Subject, *, first: FirstFrame | None = None, settings: FollowSettings | None = None,
    look: Look = "natural", camera: CameraKind = "auto",
) -> Following:  # fmt: skip
    """The fit of a clip, before its first step. Without ``first`` its camera is searched for; ``look`` is how the clip shows the
    character. Before a camera that is following the body moves in place; its way is read from its feet at the end."""
    notes = [f"The subject was found by its {subject.source} (confidence {subject.confidence:.2f})."]
    if subject.confidence < LOW_CONFIDENCE:
        notes.append("It hardly stands out: give --masks, or a clip before a plain background.")
    check_moves(clip)
    known = first is not None
    if first is None:
        first, found = search_camera(rig, clip, subject, look=look)
        notes.append(found)
    else:
        check_shape(clip, first)
    view, moved = moving_view(clip, subject, first) if camera == "auto" else (None, f"The camera is {camera}, as was said.")
    return Following(
        rig, clip, subject, first, known=known, settings=settings, view=view, notes=(*notes, moved), look=look,
        ground=camera != "following",
    )  # fmt: skip


def shorter(clip: Clip, subject: Subject, count: int) -> tuple[Clip, Subject]:
    """The first frames of a clip."""
    alpha = None if clip.alpha is None else clip.alpha[:count]
    return replace(clip, frames=clip.frames[:count], alpha=alpha), subject[:count]
