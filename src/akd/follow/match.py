"""How well a motion matches its clip, how much of each limb was seen, and the verdict in a sentence."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

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

    @property
    def verdict(self) -> Verdict:
        gain = 1 - (1 - self.overlap) / max(1 - self.overlap_motionless, 1e-6)
        if self.overlap < LOST_OVERLAP:
            return "lost"
        if gain < MIN_GAIN and self.overlap_motionless < STILL_OVERLAP:
            return "no better than motionless"
        return "follows" if self.overlap >= GOOD_OVERLAP else "loose"

    @property
    def guessed(self) -> tuple[str, ...]:
        """Limbs that the clip hardly shows."""
        return tuple(name for name, seen in self.limbs.items() if seen < GUESSED)

    @property
    def sentence(self) -> str:
        """The verdict in words, with its numbers."""
        shares = f"silhouettes overlap by {self.overlap:.2f} (a motionless character: {self.overlap_motionless:.2f})"
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
