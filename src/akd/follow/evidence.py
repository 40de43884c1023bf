"""What a clip says, prepared once: distance to the subject, its outline, its colours at several scales, and its optical flow.

Positions in pictures are in pixels with pixel centres at half integers, x before y.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int16, UInt8

from akd.follow.clip import Clip
from akd.follow.subject import Subject

OUTLINE_POINTS = 160
"""Points on a frame's outline at most."""
MAX_DISTANCE = 40.0
"""Distances to the subject beyond this are all alike [px]."""
FLOW_TOLERANCE = 1.5
"""Flow forward and back again that misses by this is worth half [px]."""
KEPT_COLORS = 4
"""Blurred pictures that are kept at a time."""
Places = Float[np.ndarray, "point 2"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What every frame shows."""

    masks: Bool[np.ndarray, "frame height width"]
    outside: Float[np.ndarray, "frame height width 3"]
    """Distance to the subject and its slope along x and y; zero inside [px]."""
    outlines: tuple[Float[np.ndarray, "_ 4"], ...]
    """Of each frame: places on the outline, and the outward direction there."""
    forward: Float[np.ndarray, "pair height width 3"]
    """Flow to the next frame [px], and how much it is to be trusted, 0 to 1."""
    frames: UInt8[np.ndarray, "frame height width 3"]
    limbs: Int16[np.ndarray, "frame height width"] | None = None
    """Which limb each pixel shows, where that is known (see ``Subject``)."""

    @property
    def frame_count(self) -> int:
        return len(self.masks)

    def colors(self, frame: int, blur: float) -> Float[np.ndarray, "height width 9"]:
        """Colours of the subject blurred over so many pixels without its background, and their slopes along x and y; the last few
        are kept, because a frame is looked at many times in a row."""
        if (frame, blur) not in self._kept:
            while len(self._kept) >= KEPT_COLORS:
                del self._kept[next(iter(self._kept))]
            self._kept[frame, blur] = self._colors(frame, blur)
        return self._kept[frame, blur]

    @cached_property
    def _kept(self) -> dict[tuple[int, float], np.ndarray]:
        return {}

    def _colors(self, frame: int, blur: float) -> Float[np.ndarray, "height width 9"]:
        import cv2

        mask = self.masks[frame].astype(np.float32)
        image = self.frames[frame].astype(np.float32) / 255
        size = (0, 0)
        share = cv2.GaussianBlur(mask, size, blur)
        image = cv2.GaussianBlur(image * mask[..., None], size, blur) / np.maximum(share, 0.02)[..., None]
        slope_y, slope_x = np.gradient(image, axis=(0, 1))
        return np.concatenate((image, slope_x, slope_y), -1)


def gather_evidence(clip: Clip, subject: Subject) -> Evidence:
    """Distances, outlines and flow of all frames."""
    frames = [_outside(mask) for mask in subject.masks]
    outlines = tuple(outline(mask) for mask in subject.masks)
    return Evidence(subject.masks, np.stack(frames), outlines, _flow(clip.frames, subject.masks), clip.frames, subject.limbs)


def _outside(mask: Bool[np.ndarray, "height width"]) -> Float[np.ndarray, "height width 3"]:
    import cv2

    if not mask.any():
        return np.zeros((*mask.shape, 3), np.float32)
    away = np.minimum(cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 5), MAX_DISTANCE)
    smooth = cv2.GaussianBlur(away, (0, 0), 1.0)
    slope_y, slope_x = np.gradient(smooth)
    return np.stack((away, slope_x, slope_y), -1)


def outline(mask: Bool[np.ndarray, "height width"]) -> Float[np.ndarray, "point 4"]:
    """Points along the edge of a mask, evenly chosen, with outward unit normals; none where the picture's rim cuts it off."""
    import cv2

    found, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    if not found:
        return np.zeros((0, 4))
    pixels = np.concatenate([part[:, 0] for part in found if len(part) >= 8] or [found[0][:, 0]])
    pixels = pixels[:: max(-(-len(pixels) // OUTLINE_POINTS), 1)]
    height, width = mask.shape
    inner = (pixels > 1).all(1) & (pixels[:, 0] < width - 2) & (pixels[:, 1] < height - 2)
    pixels = pixels[inner]
    soft = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 1.5)
    slope_y, slope_x = np.gradient(soft)
    normal = -np.stack((slope_x[pixels[:, 1], pixels[:, 0]], slope_y[pixels[:, 1], pixels[:, 0]]), -1)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-6)
    return np.concatenate((pixels + 0.5 + 0.5 * normal, normal), 1)


def _flow(frames: UInt8[np.ndarray, "frame height width 3"], masks: Bool[np.ndarray, "frame height width"]) -> np.ndarray:
    """Dense inverse search between neighbours, there and back; trusted where the two agree."""
    import cv2

    grey = [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in frames]
    search: Any = cv2.DISOpticalFlow_create(  # type: ignore[attr-defined, unused-ignore]
        cv2.DISOPTICAL_FLOW_PRESET_MEDIUM
    )
    search.setFinestScale(0)
    height, width = masks.shape[1:]
    y, x = np.mgrid[:height, :width].astype(np.float32)
    out = np.zeros((len(frames) - 1, height, width, 3), np.float32)
    for index in range(len(frames) - 1):
        there = search.calc(grey[index], grey[index + 1], None)
        back = search.calc(grey[index + 1], grey[index], None)
        again = cv2.remap(back, x + there[..., 0], y + there[..., 1], cv2.INTER_LINEAR)
        missed = np.square(there + again).sum(-1)
        out[index, ..., :2] = there
        out[index, ..., 2] = masks[index] / (1 + missed / FLOW_TOLERANCE**2)
    return out


def sample(image: Float[np.ndarray, "height width channel"], places: Places) -> Float[np.ndarray, "point channel"]:
    """Bilinear values at places; beyond the rim, those of the rim."""
    height, width = image.shape[:2]
    x = np.clip(places[:, 0] - 0.5, 0, width - 1.001)
    y = np.clip(places[:, 1] - 0.5, 0, height - 1.001)
    left, top = x.astype(int), y.astype(int)
    fx, fy = (x - left)[:, None], (y - top)[:, None]
    upper = image[top, left] * (1 - fx) + image[top, left + 1] * fx
    lower = image[top + 1, left] * (1 - fx) + image[top + 1, left + 1] * fx
    return upper * (1 - fy) + lower * fy
