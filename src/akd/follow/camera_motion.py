"""Whether the camera stands still: the background tells, if it has anything on it.

A camera that turns shifts the whole background; that shift is added up and taken out. A plain background says nothing, and the
camera is then taken to stand, unless somebody knows that it goes along (see ``standing``).
"""

from dataclasses import replace

import numpy as np

from akd.follow.clip import Clip
from akd.follow.first_frame import FirstFrame
from akd.follow.subject import Subject
from akd.follow.viewing import Viewpoint

TEXTURE = 0.02
"""Mean slope of brightness from which on a background has something on it [1/px]."""
MOVING = 0.25
"""Mean shift of the background per frame that is a moving camera [px]."""
BACKGROUND_MARGIN = 7
"""Pixels around the subject that are not counted as background."""


def moving_view(clip: Clip, subject: Subject, first: FirstFrame) -> tuple[Viewpoint, str]:
    """The camera of every frame, and a sentence on how it moves."""
    height, width = clip.frames.shape[1:3]
    view = Viewpoint.of(first.camera, width, height, clip.frame_count)
    shifts = background_shifts(clip, subject)
    if shifts is None:
        return view, "The background is plain, so the camera is taken to stand still."
    if float(np.abs(shifts).mean()) < MOVING:
        return view, "The camera stands still."
    path = np.concatenate((np.zeros((1, 2)), np.cumsum(shifts, 0)))
    return replace(view, middle=view.middle + path), f"The camera turns: the background moves by {np.ptp(path, 0).max():.0f} px."


def background_shifts(clip: Clip, subject: Subject) -> np.ndarray | None:
    """How far the background moves from each frame to the next [px], frame × 2; None if there is nothing on it to see."""
    import cv2

    grey = [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in clip.frames]
    near = np.ones((2 * BACKGROUND_MARGIN + 1,) * 2, np.uint8)
    behind = [cv2.dilate(mask.astype(np.uint8), near) == 0 for mask in subject.masks]
    slope = np.hypot(*np.gradient(cv2.GaussianBlur(grey[0], (0, 0), 1.0).astype(np.float32) / 255))
    textured = behind[0] & (slope > TEXTURE)
    if textured.sum() < 0.01 * textured.size:
        return None
    shifts = []
    for index in range(len(grey) - 1):
        places = cv2.goodFeaturesToTrack(grey[index], 80, 0.02, 5, mask=behind[index].astype(np.uint8))
        if places is None or len(places) < 6:
            shifts.append(np.zeros(2))
            continue
        after, found, _ = cv2.calcOpticalFlowPyrLK(grey[index], grey[index + 1], places, None)  # type: ignore[call-overload]
        moved = (after - places)[found.ravel() == 1].reshape(-1, 2)
        shifts.append(np.median(moved, axis=0) if len(moved) else np.zeros(2))
    return np.stack(shifts)
