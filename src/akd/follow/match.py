"""How well a motion matches its clip, how much of each limb was seen, and the verdict in a sentence."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int16
from scipy.spatial import cKDTree

from akd.follow.body import Body
from akd.follow.viewing import Seen

Verdict = Literal["follows", "loose", "lost", "no better than motionless"]
GOOD_OVERLAP, LOST_OVERLAP = 0.75, 0.5
"""Mean overlap from which on a motion follows its clip, and below which it has lost it."""
MIN_GAIN = 0.2
"""A motion that takes away less than this share of a motionless character's mismatch does not follow."""
STILL_OVERLAP = 0.96
"""A motionless character that overlaps this well has a subject that hardly moves."""
SEEN_SHARE = 0.25
"""A limb of whose skin this share is visible in a frame is seen there in full."""
GUESSED = 0.35
"""A limb that is seen less than this share of the time is guessed."""


@dataclass(frozen=True)
class Match:
    """A motion against its clip."""

    overlap: float
    """Intersection over union of both silhouettes, mean over frames."""
    overlap_worst: float
    """In the worst frame."""
    overlap_motionless: float
    """Of the character in its first pose all the time."""
    limbs: dict[str, float]
    """How much of the time each limb is seen, 0 to 1, by its name."""
    subject: float
    """How clearly the subject stands out from its background."""
    joints: dict[str, float] = field(default_factory=dict)
    """The same for each joint by the skin that it moves most; joints that move none have their parent's."""
    limbs_agree: float | None = None
    """Of clips that show every limb in its own colour: share of those pixels at which the body shows that limb …"""
    limbs_agree_motionless: float | None = None
    """… and of the character in its first pose all the time."""

    @property
    def score(self) -> float:
        """What clips are ranked by: agreement of limbs where they are known, else overlap."""
        return self.overlap if self.limbs_agree is None else self.limbs_agree

    @property
    def score_motionless(self) -> float:
        """The same for a motionless character."""
        return self.overlap_motionless if self.limbs_agree_motionless is None else self.limbs_agree_motionless

    @property
    def verdict(self) -> Verdict:
        gain = 1 - (1 - self.score) / max(1 - self.score_motionless, 1e-6)
        if self.score < LOST_OVERLAP:
            return "lost"
        if gain < MIN_GAIN and self.score_motionless < STILL_OVERLAP:
            return "no better than motionless"
        return "follows" if self.score >= GOOD_OVERLAP else "loose"

    @property
    def guessed(self) -> tuple[str, ...]:
        """Limbs that the clip hardly shows."""
        return tuple(name for name, seen in self.limbs.items() if seen < GUESSED)

    @property
    def sentence(self) -> str:
        """The verdict in words, with its numbers."""
        what = "silhouettes overlap" if self.limbs_agree is None else "limbs agree"
        shares = f"{what} by {self.score:.2f} (a motionless character: {self.score_motionless:.2f})"
        words = {
            "follows": f"The motion follows the clip: {shares}.",
            "loose": f"The motion follows the clip loosely: {shares}; give a clearer or larger subject.",
            "lost": f"The clip was lost: {shares}; is it this character, from this camera?",
            "no better than motionless": f"The motion does not follow the clip better than a motionless character: {shares}.",
        }[self.verdict]
        return words + (f" Guessed, because hardly seen: {', '.join(self.guessed)}." if self.guessed else "")


def overlap(one: Bool[np.ndarray, "height width"], other: Bool[np.ndarray, "height width"]) -> float:
    """Intersection over union."""
    union = int((one | other).sum())
    return float((one & other).sum()) / union if union else 1.0


def overlaps(seen: list[Seen], masks: Bool[np.ndarray, "frame height width"]) -> Float[np.ndarray, " frame"]:
    """Of every frame."""
    return np.array([overlap(each.mask, mask) for each, mask in zip(seen, masks, strict=True)])


def limbs_seen(body: Body, seen: list[Seen]) -> dict[str, float]:
    """How much of the time each limb is seen."""
    shown = np.stack([each.shown for each in seen])
    out = {}
    for index, limb in enumerate(body.rig.skeleton.limbs):
        own = body.limb == index
        if own.any():
            out[limb.name] = float(np.clip(shown[:, own].mean(1) / SEEN_SHARE, 0, 1).mean())
    return out


def joints_seen(body: Body, seen: list[Seen]) -> dict[str, float]:
    """How much of the time the skin of each joint is seen."""
    shown, skeleton = np.stack([each.shown for each in seen]), body.rig.skeleton
    most, out = body.weights.argmax(1), list[float]()
    for joint, parent in enumerate(skeleton.parents):
        own = most == joint
        above = out[parent] if parent >= 0 else 1.0
        out.append(float(np.clip(shown[:, own].mean(1) / SEEN_SHARE, 0, 1).mean()) if own.any() else above)
    return dict(zip(skeleton.names, out, strict=True))


def limbs_agree(body: Body, seen: list[Seen], labels: Int16[np.ndarray, "frame height width"], reach: float) -> float:
    """Share of the pixels whose limb is known at which the nearest visible skin, at most ``reach`` pixels away, is of that limb;
    mean over frames."""
    shares = []
    for each, label in zip(seen, labels, strict=True):
        row, column = np.nonzero(label >= 0)
        shown = np.flatnonzero(each.shown)
        if not len(row) or not len(shown):
            continue
        pixels = np.stack((column, row), -1) + 0.5
        apart, nearest = cKDTree(each.places[shown]).query(pixels)
        shares.append(float(((body.limb[shown[nearest]] == label[row, column]) & (apart < reach)).mean()))
    return float(np.mean(shares)) if shares else 0.0
