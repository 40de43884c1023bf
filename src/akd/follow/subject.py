"""Where the subject is in every frame: against a plain background by colour, or as an alpha channel or a folder of masks says.

A plain background is a smooth surface of colour, fitted to the picture's rim. Where the rim is busy but stands still, the
background is what most frames show at each pixel; else a graph cut between colours of the rim and colours of the middle is tried.
The confidence says how clearly subject and background differ; nothing here needs a network.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int16
from PIL import Image

from akd.errors import AkdError
from akd.follow.clip import Clip, open_picture, picture_files

RIM = 0.04
"""Share of the shorter side that counts as the picture's rim."""
RIM_PIXELS = 900
"""Pixels of the rim that are looked at."""
PLAIN_SPREAD = 0.035
"""A rim whose colours differ less than this from a smooth surface is a plain background (RGB in [0, 1])."""
MIN_DIFFERENCE, SPREADS = 0.06, 4.0
"""A pixel is the subject's if it differs from the background by this, and by so many spreads of the background."""
MIN_AREA, MAX_AREA = 0.004, 0.85
"""Share of the picture that a subject covers."""
SMALL_PART = 0.03
"""Parts of the mask smaller than this share of its largest are specks."""
RIM_SHARE = 0.45
"""An edge pixel that differs from the background by less than this share of its neighbours is more background than subject."""
PINHOLE = 6
"""Holes of fewer pixels are closed."""
MIN_STAY = 0.15
"""Share of all pixels a subject ever covers that it covers at a time; a mask below is only the rim of something that sways."""
CLUTTER_CONFIDENCE = 0.5
"""What a graph cut before clutter is worth at most."""


@dataclass(frozen=True, eq=False)
class Subject:
    """The subject of a clip."""

    masks: Bool[np.ndarray, "frame height width"]
    confidence: float
    """How clearly it stands out, 0 to 1."""
    source: str
    """How it was found: alpha, masks, plain background, still background, clutter, limb colours, or a segmenter's name."""
    limbs: Int16[np.ndarray, "frame height width"] | None = None
    """Which of the skeleton's limbs each pixel shows, −1 for none that is known; None where nothing says so."""

    def __getitem__(self, frames: slice) -> "Subject":
        """Some of its frames."""
        return replace(self, masks=self.masks[frames], limbs=None if self.limbs is None else self.limbs[frames])


Segmenter = Callable[[np.ndarray], np.ndarray]
"""Anything that finds a subject better: from frames (RGB bytes, frame × height × width × 3) to masks."""


def find_subject(clip: Clip, *, masks: Path | None = None, segmenter: Segmenter | None = None) -> Subject:
    """Where the subject is; a sentence if there is none."""
    if masks is not None:
        return _checked(Subject(_read_masks(masks, clip), 1.0, "masks"), clip)
    if segmenter is not None:
        found = np.asarray(segmenter(clip.frames)).astype(bool)
        if found.shape != clip.frames.shape[:3]:
            raise AkdError(f"The segmenter gave masks of shape {found.shape} for frames of shape {clip.frames.shape[:3]}.")
        return _checked(Subject(found, 0.9, getattr(segmenter, "__name__", "segmenter")), clip)
    if clip.alpha is not None:
        return _checked(Subject(clip.alpha > 127, 1.0, "alpha"), clip)
    frames = clip.frames.astype(np.float32) / 255
    for find in (_before_plain, _before_still, _before_clutter):
        candidate = find(frames)
        if candidate is not None and _fits(candidate.masks):
            return candidate
    return _checked(Subject(np.zeros(frames.shape[:3], bool), 0.0, "nothing"), clip)


def _fits(masks: Bool[np.ndarray, "frame height width"]) -> bool:
    share = masks.mean((1, 2))
    return bool(MIN_AREA < np.median(share) < MAX_AREA and (share > 0.3 * np.median(share)).mean() > 0.8)


def _checked(subject: Subject, clip: Clip) -> Subject:
    share = float(np.median(subject.masks.mean((1, 2))))
    if share < MIN_AREA:
        raise AkdError(
            f"No subject stands out in {clip.name} ({100 * share:.1f} % of its pixels differ from the background): give a clip of"
            " the character before a plain background, or --masks."
        )
    if share > MAX_AREA:
        raise AkdError(f"{100 * share:.0f} % of {clip.name} is subject: give a clip that shows the whole character, or --masks.")
    return subject


def rim_mask(height: int, width: int) -> Bool[np.ndarray, "height width"]:
    """Pixels at the picture's edges."""
    reach = max(round(RIM * min(height, width)), 2)
    out = np.ones((height, width), bool)
    out[reach:-reach, reach:-reach] = False
    return out


def _before_plain(frames: Float[np.ndarray, "frame height width 3"]) -> Subject | None:
    """Against a smooth surface of colour, fitted robustly to the rim of each frame."""
    _count, height, width, _ = frames.shape
    rim = np.nonzero(rim_mask(height, width))
    rim = tuple(side[:: max(len(side) // RIM_PIXELS, 1)] for side in rim)
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    terms = np.stack((np.ones_like(x), x, y, x * x, x * y, y * y), -1).astype(np.float32)
    flat = terms.reshape(-1, 6)
    masks, spreads, gaps = [], [], []
    for frame in frames:
        surface, spread = _smooth_surface(terms[rim], frame[rim])
        spreads.append(spread)
        if spread > PLAIN_SPREAD:
            return None
        away = np.abs(frame - (flat @ surface).reshape(frame.shape)).max(-1)
        threshold = max(MIN_DIFFERENCE, SPREADS * spread)
        masks.append(clean(without_soft_rim(away > threshold, away)))
        gaps.append(float(np.median(away[masks[-1]])) / threshold if masks[-1].any() else 0.0)
    confidence = float(np.clip((np.median(gaps) - 1) / 2, 0, 1))
    return Subject(np.stack(masks), confidence, "plain background")


def without_soft_rim(mask: Bool[np.ndarray, "height width"], away: Float[np.ndarray, "height width"]) -> np.ndarray:
    """The mask without pixels at its edge that the subject covers by less than half: they differ less than those beside them."""
    import cv2

    edge = mask & (cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8)) == 0)
    return mask & ~(edge & (away < RIM_SHARE * cv2.dilate(away, np.ones((3, 3), np.uint8))))


def _smooth_surface(terms: np.ndarray, colors: np.ndarray) -> tuple[np.ndarray, float]:
    """Coefficients of the surface and the spread of the rim around it; a subject that crosses the rim is left out."""
    kept = np.ones(len(colors), bool)
    for _ in range(4):
        some = terms[kept]
        surface = np.linalg.solve(some.T @ some + 1e-6 * np.eye(6, dtype=np.float32), some.T @ colors[kept])
        away = np.abs(colors - terms @ surface).max(-1)
        spread = float(np.median(away[kept])) / 0.8
        kept = away < max(3 * spread, 0.01)
        if kept.mean() < 0.4:
            return surface, 1.0
    return surface, spread


def _before_still(frames: Float[np.ndarray, "frame height width 3"]) -> Subject | None:
    """Against what most frames show at each pixel, if that stands still and the subject does not."""
    plate = np.median(frames, 0)
    away = np.abs(frames - plate).max(-1)
    rim = rim_mask(*frames.shape[1:3])
    spread = float(np.median(away[:, rim])) / 0.8
    if spread > PLAIN_SPREAD / 2:
        return None
    threshold = max(MIN_DIFFERENCE, SPREADS * spread)
    masks = np.stack([clean(each > threshold) for each in away])
    # A subject that hardly leaves its place is part of the plate: then this mask is only its moving rim.
    union = masks.any(0)
    if not union.any() or masks.mean() < MIN_STAY * union.mean():
        return None
    return Subject(masks, 0.6, "still background")


def _before_clutter(frames: Float[np.ndarray, "frame height width 3"]) -> Subject | None:
    """A graph cut between the colours of the rim and those of the middle, each frame starting from the one before."""
    import cv2

    height, width = frames.shape[1:3]
    rim = rim_mask(height, width)
    guess = np.full((height, width), cv2.GC_PR_BGD, np.uint8)
    guess[height // 5 : -height // 6, width // 5 : -width // 5] = cv2.GC_PR_FGD
    masks: list[np.ndarray] = []
    for frame in frames:
        label = guess.copy()
        label[rim] = cv2.GC_BGD
        try:
            picture, rounds = np.ascontiguousarray(np.uint8(255 * frame[..., ::-1])), 2 if masks else 5
            whole = (0, 0, width, height)  # not used: the labels say where to begin
            cv2.grabCut(picture, label, whole, np.zeros((1, 65)), np.zeros((1, 65)), rounds, cv2.GC_INIT_WITH_MASK)
        except cv2.error:
            return None
        found = clean((label == cv2.GC_FGD) | (label == cv2.GC_PR_FGD))
        masks.append(found)
        if not found.any():
            return None
        near = cv2.dilate(found.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0
        guess = np.where(found, cv2.GC_PR_FGD, np.where(near, cv2.GC_PR_BGD, cv2.GC_BGD)).astype(np.uint8)
    steady = [float((a & b).sum() / max((a | b).sum(), 1)) for a, b in itertools.pairwise(masks)]
    return Subject(np.stack(masks), CLUTTER_CONFIDENCE * float(np.median(steady)), "clutter")


def clean(mask: Bool[np.ndarray, "height width"]) -> Bool[np.ndarray, "height width"]:
    """Specks gone and pinholes closed; thin limbs stay."""
    import cv2

    closed = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    count, label, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
    if count < 2:
        return np.zeros_like(mask)
    areas = stats[:, cv2.CC_STAT_AREA]
    large = areas >= max(SMALL_PART * areas[1:].max(), 4)
    large[0] = False
    kept = large[label]
    _, label, stats, _ = cv2.connectedComponentsWithStats((~kept).astype(np.uint8), connectivity=4)
    tiny = stats[:, cv2.CC_STAT_AREA] < PINHOLE
    tiny[0] = False
    return kept | tiny[label]


def _read_masks(folder: Path, clip: Clip) -> Bool[np.ndarray, "frame height width"]:
    """Masks from a folder, one for each frame of the clip or of the file it comes from, at any size."""
    files = picture_files(folder) if folder.is_dir() else []
    if len(files) != clip.frame_count:
        raise AkdError(f"{folder} has {len(files)} masks, but {clip.frame_count} frames are followed: give one for each frame.")
    height, width = clip.frames.shape[1:3]
    out = []
    for file in files:
        image = open_picture(file)
        clear = image.getchannel("A") if "A" in image.getbands() else None
        image = clear if clear is not None and np.asarray(clear).min() < 255 else image.convert("L")
        out.append(np.asarray(image.resize((width, height), Image.Resampling.BOX)) > 127)
    return np.stack(out)
