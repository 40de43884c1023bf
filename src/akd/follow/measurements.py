"""What a frame wants its skin points to do: for every point a 2 × 2 information matrix in the picture, and a pull.

Flow, silhouette and colours all end as Λ and e at points: the cost near the present places u is ½ duᵀ Λ du − eᵀ du. That is what
Gauss–Newton needs, and it adds up, so a frame costs one product with the skin's Jacobian however many kinds of evidence it has.
Every measurement is weighed down as it misses (Cauchy).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Int16
from scipy.spatial import cKDTree

from akd.follow.evidence import Evidence, sample
from akd.follow.settings import FollowSettings
from akd.follow.viewing import Seen

COVER_PIXELS = 120
"""Uncovered pixels of a frame that are looked at."""
LIMB_PIXELS = 80
"""Pixels of a limb that are looked at."""
MIN_LIMB_PIXELS = 8
"""A limb with fewer pixels is hidden, or a speck of its colour is not it."""
LIMB_SPREAD = 2.5
"""How exactly the pixels of one colour show a limb [hundredths of size]: such films have 64 pixels, out of focus."""
COVER_GAIN = 3.0
"""How much more an uncovered pixel counts than its share of the subject: a leg is a small share and all that matters."""


@dataclass(frozen=True, eq=False)
class Wishes:
    """Points of one frame, and what the picture wants of them."""

    point: Int[np.ndarray, " wish"]
    information: Float[np.ndarray, "wish 2 2"]
    pull: Float[np.ndarray, "wish 2"]


@dataclass(frozen=True, eq=False)
class Paint:
    """Colours that skin points have in the clip, by how far they are blurred."""

    colors: dict[float, Float[np.ndarray, "point 3"]]
    known: Bool[np.ndarray, " point"]

    @classmethod
    def none(cls, count: int, blurs: tuple[float, ...]) -> "Paint":
        return cls({blur: np.zeros((count, 3)) for blur in blurs}, np.zeros(count, bool))

    def learn(self, evidence: Evidence, frame: int, seen: Seen) -> "Paint":
        """Take the colours of points that are seen for the first time, well inside the subject."""
        count = len(self.known)
        inside = sample(evidence.masks[frame][..., None].astype(float), seen.places[:count])[:, 0] > 0.99
        new = seen.shown[:count] & ~self.known & inside
        colors = {blur: known.copy() for blur, known in self.colors.items()}
        for blur in colors:
            colors[blur][new] = sample(evidence.colors(frame, blur)[..., :3], seen.places[:count][new])
        return Paint(colors, self.known | new)

    def filled(self, own: Float[np.ndarray, "all 3"]) -> "Paint":
        """With colours that are known beforehand for the points that were not seen yet."""
        colors = {blur: np.where(self.known[:, None], known, own[: len(known)]) for blur, known in self.colors.items()}
        return Paint(colors, np.ones_like(self.known))


def silhouette_wishes(evidence: Evidence, frame: int, seen: Seen, unit: float, gate: float, settings: FollowSettings) -> Wishes:
    """Skin inside the subject, and the body's outline at the subject's. ``unit`` is a hundredth of the subject's size [px]."""
    some = np.arange(min(2 * settings.points, len(seen.places)))
    away = sample(evidence.outside[frame], seen.places[some])
    spread = settings.outline_spread * unit
    out = away[:, 0] > 0.3
    slope = away[out, 1:] / np.maximum(np.linalg.norm(away[out, 1:], axis=1, keepdims=True), 1e-6)
    distance = away[out, 0]
    # A limb that is far outside must still be pulled in: this spread grows with the gate.
    weight = settings.silhouette * settings.evidence_count / len(some) / spread**2 / (1 + (distance / (gate + 3 * spread)) ** 2)
    wishes = [_along(some[out], slope, weight, distance)]
    if len(evidence.outlines[frame]) and seen.mask.any():
        wishes.append(_outline_wishes(evidence.outlines[frame], seen, spread, gate, settings))
    return joined(wishes)


def _outline_wishes(
    edge: Float[np.ndarray, "point 4"], seen: Seen, spread: float, gate: float, settings: FollowSettings
) -> Wishes:
    """The body's outline moves to the subject's where both look the same way; skin near it moves with it."""
    field = signed_distance(seen.mask)
    found = sample(field, edge[:, :2])
    away, slope = found[:, 0], found[:, 1:]
    length = np.linalg.norm(slope, axis=1, keepdims=True)
    slope = slope / np.maximum(length, 1e-6)
    agree = (slope * edge[:, 2:]).sum(1) * np.minimum(length[:, 0], 1)
    own = edge[:, :2] - away[:, None] * slope  # where the body's outline is
    shown = np.flatnonzero(seen.shown)
    _, match = cKDTree(seen.places[shown], compact_nodes=False, balanced_tree=False).query(own)
    weight = settings.silhouette * settings.evidence_count / len(edge) / spread**2
    weight = weight * np.clip(agree, 0, 1) / (1 + (away / (gate / 2 + spread)) ** 2) * (np.abs(away) < 2 * gate)
    return _along(shown[match], slope, weight, -away)


def cover_wishes(
    mask: Bool[np.ndarray, "height width"], seen: Seen, reach: Float[np.ndarray, " point"], unit: float, settings: FollowSettings,
    only: Bool[np.ndarray, " point"] | None = None,
) -> Wishes:  # fmt: skip
    """Skin for every part of the subject that the body does not cover.

    An uncovered pixel is given to the point that can come there most easily: distance counts in units of how far a point may move
    in the picture (``reach`` [px], of the first points). So a lost leg is found by feet, and not by the belly, which is nearer.
    With ``only``, ``mask`` is a part of the subject that just these points are asked to cover, however far away they are.
    """
    import cv2

    covered = cv2.dilate(seen.mask.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    row, column = np.nonzero(mask & ~covered)
    if len(row) < 3:
        return Wishes(np.zeros(0, int), np.zeros((0, 2, 2)), np.zeros((0, 2)))
    share = len(row) / max(mask.sum(), 1)
    chosen = np.linspace(0, len(row) - 1, min(COVER_PIXELS, len(row))).round().astype(int)
    pixels = np.stack((column[chosen], row[chosen]), -1) + 0.5
    missed = seen.places[: len(reach), None] - pixels[None]
    effort = np.square(missed).sum(-1) / (np.square(reach) + unit**2)[:, None]
    if only is not None:
        share, effort[~only] = 1.0, np.inf
    match = effort.argmin(0)
    missed = missed[match, np.arange(len(pixels))]
    spread = settings.outline_spread * unit
    robust = np.ones(len(pixels)) if only is not None else 1 / (1 + effort[match, np.arange(len(pixels))] / 9)
    weight = settings.silhouette * settings.evidence_count * min(share * COVER_GAIN, 1.0) / len(pixels) / spread**2 * robust
    return Wishes(match, weight[:, None, None] * np.eye(2), -weight[:, None] * missed)


def limb_wishes(
    labels: Int16[np.ndarray, "height width"], limb: Int[np.ndarray, " point"], seen: Seen, unit: float, gate: float,
    settings: FollowSettings,
) -> Wishes:  # fmt: skip
    """Every limb where the picture shows that limb: its visible skin goes to the nearest of its pixels, and each of its pixels
    has skin of it near. All limbs count alike: legs are small, and all that matters."""
    some = np.arange(min(2 * settings.points, len(seen.places)))
    spread, wishes = LIMB_SPREAD * unit, []
    present = [index for index in np.unique(labels[labels >= 0]) if (limb[some] == index).any()]
    for index in present:
        row, column = np.nonzero(labels == index)
        if len(row) < MIN_LIMB_PIXELS:
            continue
        chosen = np.linspace(0, len(row) - 1, min(LIMB_PIXELS, len(row))).round().astype(int)
        pixels, own = np.stack((column[chosen], row[chosen]), -1) + 0.5, some[limb[some] == index]
        shown = own[seen.shown[own]]
        apart, nearest = cKDTree(seen.places[own]).query(pixels)
        wishes.append(_towards(own[nearest], pixels - seen.places[own[nearest]], apart, spread, gate, settings, len(present)))
        if len(shown):
            apart, nearest = cKDTree(pixels).query(seen.places[shown])
            missed = pixels[nearest] - seen.places[shown]
            wishes.append(_towards(shown, missed, apart, spread, gate, settings, len(present)))
    return joined(wishes) if wishes else Wishes(np.zeros(0, int), np.zeros((0, 2, 2)), np.zeros((0, 2)))


def _towards(
    point: np.ndarray, missed: np.ndarray, apart: np.ndarray, spread: float, gate: float, settings: FollowSettings, limbs: int
) -> Wishes:
    """Points drawn to places; what is within a spread is there already."""
    weight = settings.limbs * settings.evidence_count / limbs / len(point) / spread**2 / (1 + (apart / (gate + 3 * spread)) ** 2)
    weight = weight * (apart > 0.5 * spread)
    return Wishes(point, weight[:, None, None] * np.eye(2), weight[:, None] * missed)


def signed_distance(mask: Bool[np.ndarray, "height width"]) -> Float[np.ndarray, "height width 3"]:
    """Distance to the edge of a mask, positive outside, and its slope along x and y [px]."""
    import cv2

    inside = mask.astype(np.uint8)
    out, within = (cv2.distanceTransform(each, cv2.DIST_L2, 5) for each in (1 - inside, inside))
    field = cv2.GaussianBlur(np.where(mask, 0.5 - within, out - 0.5), (0, 0), 0.7)
    slope_y, slope_x = np.gradient(field)
    return np.stack((field, slope_x, slope_y), -1)


def colour_wishes(
    blurred: Float[np.ndarray, "height width 9"], seen: Seen, paint: Paint, blur: float, settings: FollowSettings
) -> Wishes:
    """Points where the picture has their colours."""
    count = min(settings.points, len(paint.known))
    point = np.flatnonzero(seen.shown[:count] & paint.known[:count])
    values = sample(blurred, seen.places[point])
    missed = values[:, :3] - paint.colors[blur][point]
    slopes = np.stack((values[:, 3:6], values[:, 6:9]), 1)
    robust = 1 / (1 + np.square(missed).sum(1) / (3 * settings.colour_spread**2))
    weight = settings.colour * settings.evidence_count / count / settings.colour_spread**2 * robust
    information = weight[:, None, None] * (slopes @ np.swapaxes(slopes, 1, 2))
    pull = -weight[:, None] * (slopes @ missed[:, :, None])[..., 0]
    return Wishes(point, information, pull)


def flow_between(
    evidence: Evidence, frame: int, seen: Seen, after: Seen, unit: float, settings: FollowSettings, tolerance: float = 3.0
) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, "point 2"]]:
    """Weight of each of the first points, and by how much it moves more than the flow from this frame to the next says [px].

    A point that misses by ``tolerance`` spreads counts half.
    """
    count = settings.points
    flow = sample(evidence.forward[frame], seen.places[:count])
    missed = after.places[:count] - seen.places[:count] - flow[:, :2]
    spread = settings.flow_spread * unit + 0.1 * np.linalg.norm(flow[:, :2], axis=1)
    weight = settings.flow * settings.evidence_count / count / spread**2
    weight = weight * flow[:, 2] * seen.shown[:count] / (1 + np.square(missed).sum(1) / (tolerance * spread) ** 2)
    return weight, missed


def _along(point: np.ndarray, direction: np.ndarray, weight: np.ndarray, missed: np.ndarray) -> Wishes:
    """Measurements along one direction in the picture."""
    information = weight[:, None, None] * (direction[:, :, None] * direction[:, None, :])
    return Wishes(point, information, -(weight * missed)[:, None] * direction)


def joined(wishes: list[Wishes]) -> Wishes:
    """All of them; a point may have several."""
    return Wishes(
        np.concatenate([each.point for each in wishes]), np.concatenate([each.information for each in wishes]),
        np.concatenate([each.pull for each in wishes]),
    )  # fmt: skip
