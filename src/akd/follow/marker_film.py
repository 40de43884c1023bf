"""The subject of a clip in the marker look, limb by limb: every limb has a colour of its own, so a picture says which is where.

Small priors make such clips. The backdrop is ground and sky, one mean colour per row of the picture, brighter on one tile and
darker in the character's shadow; what is nearer to a limb's colour than to that is the limb.
"""

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from akd.errors import AkdError
from akd.follow.clip import Clip
from akd.follow.subject import Subject, clean
from akd.render.looks import BODY, limb_color
from akd.skeleton import Skeleton

LIGHTS = (1.0, 0.62, 1.1)
"""How bright the backdrop is beside the mean of its row: as usual, in the shadow, on a bright tile."""
EDGE_SHARE = 0.25
"""Share of the width at each edge in which the backdrop's colours are looked for."""
MIN_COVER = 0.6
"""A pixel belongs to the subject if the subject covers this much of it."""
MAX_MISSED = 0.22
"""A pixel that no mixture of a colour of the character and the backdrop explains better shows neither (RGB in [0, 1])."""
THIN_COST = 0.1
"""What a mixture costs for the backdrop in it: sand is more likely sand than yellow before grey."""
SEAM = 0.025
"""Width of a seam between two limbs at most, as a share of the picture's height."""
UNKNOWN = -1
"""Label of a pixel that shows no limb for certain."""


def marker_subject(clip: Clip, skeleton: Skeleton) -> Subject:
    """Where the subject and each of its limbs are in a clip in the marker look."""
    if not skeleton.limbs:
        raise AkdError("A clip in the marker look is followed limb by limb, and this character has no limbs that are known.")
    behind, masks, labels, covers = backdrop_rows(clip.frames), [], [], []
    for frame in clip.frames:
        cover, label = unmixed(frame, behind, skeleton)
        mask = clean(closed(cover > MIN_COVER))
        masks.append(mask)
        labels.append(np.where(mask, label, UNKNOWN).astype(np.int16))
        covers.append(float(np.median(cover[mask])) if mask.any() else 0.0)
    if not np.stack(masks).any():
        raise AkdError(f"No subject stands out in {clip.name}: no part of it has a colour of the marker look.")
    return Subject(np.stack(masks), float(np.median(covers)), "limb colours", np.stack(labels))


def closed(mask: Bool[np.ndarray, "height width"]) -> Bool[np.ndarray, "height width"]:
    """Without the seams between limbs, whose mixtures look like neither."""
    import cv2

    side = 2 * round(SEAM * mask.shape[0] / 2) + 1
    return cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((side, side), np.uint8)) > 0


def backdrop_rows(frames: UInt8[np.ndarray, "frame height width 3"]) -> Float[np.ndarray, "height 3"]:
    """The usual colour of each row near the picture's edges, where the subject seldom is."""
    width = frames.shape[2]
    edge = max(round(EDGE_SHARE * width), 1)
    sides = np.concatenate((frames[:, :, :edge], frames[:, :, width - edge :]), 2)
    return np.median(sides, (0, 2)) / 255


def unmixed(
    frame: UInt8[np.ndarray, "height width 3"], behind: Float[np.ndarray, "height 3"], skeleton: Skeleton
) -> tuple[Float[np.ndarray, "height width"], Int[np.ndarray, "height width"]]:
    """How much of each pixel the character covers, and which limb, by the mixture of one colour and the backdrop that explains
    its colour best: the edge of a yellow leg before grey ground is sand, which is the colour of necks."""
    limbs, colors = skeleton.limbs, frame / 255.0
    palette = np.unique(np.array([*(limb_color(limb) for limb in limbs), BODY]), axis=0)
    cost, cover, chosen = np.full(frame.shape[:2], np.inf), np.zeros(frame.shape[:2]), np.full(frame.shape[:2], UNKNOWN)
    for light in LIGHTS:
        row = light * behind[:, None]
        for index, color in enumerate(palette):
            way = color - row
            share = np.clip(((colors - row) * way).sum(-1) / np.maximum(np.square(way).sum(-1), 1e-6), 0, 1)
            missed = np.linalg.norm(colors - row - share[..., None] * way, axis=-1)
            price = missed + THIN_COST * (1 - share) * share
            better = price < cost
            cost = np.where(better, price, cost)
            cover = np.where(better, np.where(missed < MAX_MISSED, share, 0.0), cover)
            chosen = np.where(better, index, chosen)
    return cover, _limb_of_color(palette, skeleton)[chosen]


def _limb_of_color(palette: Float[np.ndarray, "color 3"], skeleton: Skeleton) -> Int[np.ndarray, " color"]:
    """The limb of each colour; unknown where several share it."""
    out = np.full(len(palette), UNKNOWN)
    for index, color in enumerate(palette):
        own = [number for number, limb in enumerate(skeleton.limbs) if np.allclose(limb_color(limb), color)]
        if len(own) == 1:
            out[index] = own[0]
    return out
