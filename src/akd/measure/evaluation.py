"""Every number of one motion, and a word on whether it is any good."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Verdict = Literal["good", "tiny", "sliding", "floating", "broken"]

BROKEN_DEPTH = 0.15
"""A body that is this deep in the ground on average is broken [ℓ]."""
BROKEN_SHAKING = 0.3
"""So is one with this share of its joint-angle power above 8 Hz."""
TINY_AMOUNT = 0.1
"""Less motion than this cannot be seen [ℓ/s]."""
FLOATING_HEIGHT = 0.1
"""A body whose lowest point is this high on average floats [ℓ]; a gallop's airborne phase stays below."""
FLOATING_AIR = 0.7
"""So does one with no foot near the ground for this share of the time."""
SLIDING_RATIO = 0.3
"""Feet slide if this share of their contact frames skates."""


@dataclass(frozen=True)
class Evaluation:
    """Every number of one motion. None: not defined for this rig or clip, and ``notes`` says why."""

    verdict: Verdict
    gait: str | None
    """Nearest named gait."""
    frame_count: int
    fps: float
    skating_ratio: float | None
    """Share of contact foot-frames that skate."""
    slide: float | None
    """Mean weighted step of low feet [ℓ per frame]."""
    contact_share: float | None
    """Share of foot-frames in contact."""
    penetration_mean: float
    """Depth of the deepest vertex, mean over frames [ℓ]."""
    penetration_max: float
    penetration_share: float
    """Share of frames deeper than 0.005 ℓ."""
    float_height: float
    """Height of the lowest vertex above the ground, mean over frames [ℓ]."""
    air_time: float | None
    """Share of frames with every foot above 0.05 ℓ."""
    corner_depth: float
    """AKD's ground term: mean depth of the corners of the bones' cuboids [ℓ]."""
    jerk: float | None
    """[ℓ/s³]"""
    laplacian: float | None
    """Mean absolute second difference of root placement and joint angles."""
    high_band: float | None
    """Share of joint-angle power above 8 Hz."""
    motion_amount: float
    """Mean joint path in the root frame [ℓ/s]."""
    travel: float
    """Root path on the ground [ℓ/s]."""
    loop_error: float | None
    """Pose gap [ℓ] + velocity gap [ℓ per frame] between the ends."""
    bone_stretch: float
    """Coefficient of variation of bone lengths."""
    alternation: tuple[float, ...] | None
    """Of each left/right pair of legs from front to hind; 1 = opposite, 0 = together or hardly moving."""
    phases: tuple[float, ...] | None
    """Touch-down of each leg (front to hind, left before right) as a share of the stride after the first leg's."""
    amplitudes: tuple[float, ...] | None
    """Half of each foot's fore–aft swing [ℓ]."""
    duty_factor: float | None
    """Share of frames in contact, mean over feet."""
    stride_frequency: float | None
    """[Hz]"""
    froude: float
    """v² / (g ℓ) of the travel, or of the treadmill."""
    heading: float | None
    """Cosine between root velocity and body forward."""
    crossed_limbs: float | None
    """Share of frames in which a left foot is right of its partner."""
    treadmill_speed: float | None
    """Speed over the ground that a clip in place pretends to have [ℓ/s]; sliding is measured against it."""
    ground_heights: tuple[float, ...] | None
    """The level each foot was taken to stand on [ℓ]; zero for motions of our own."""
    notes: tuple[str, ...] = ()
    """What was estimated and what could not be measured, one sentence each."""

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def rows(self) -> list[tuple[str, str]]:
        """Name and value of every number as text, in the order of the fields."""
        names = (field.name for field in fields(self) if field.name != "notes")
        return [(name.replace("_", " "), as_text(getattr(self, name))) for name in names]


def verdict(numbers: Mapping[str, Any]) -> Verdict:
    """The first thing wrong with a motion, the worst first; thresholds are this module's constants."""

    def above(name: str, threshold: float) -> bool:
        return numbers[name] is not None and numbers[name] > threshold

    if above("penetration_mean", BROKEN_DEPTH) or above("high_band", BROKEN_SHAKING):
        return "broken"
    if numbers["motion_amount"] < TINY_AMOUNT:
        return "tiny"
    if above("float_height", FLOATING_HEIGHT) or above("air_time", FLOATING_AIR):
        return "floating"
    return "sliding" if above("skating_ratio", SLIDING_RATIO) else "good"


def as_text(value: object) -> str:
    """Three digits of a number, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return " ".join(as_text(item) for item in value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)
