"""All metrics of one motion, and a verdict: the first thing that is wrong with it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Int

from akd.contact import measures as contact
from akd.contact import treadmill
from akd.contact.traces import Trace, in_heading_frame, trace, yaw
from akd.gait import measures as gait
from akd.gait.measures import gait_name
from akd.gait.table import GAITS
from akd.measure import smoothness
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Limb

Verdict = Literal["good", "tiny", "hardly moves", "sliding", "floating", "broken"]
BROKEN_DEPTH = 0.15
"""A body that is this deep in the ground on average is broken [ℓ]."""
BROKEN_SHAKING = 0.3
"""So is one with this share of its joint-angle power above 8 Hz."""
TINY_AMOUNT = 0.1
"""Less motion than this cannot be seen [ℓ/s]."""
MIN_MOVEMENT = 0.2
"""Least movement of a walk, run or jump [ℓ/s]; docs/measure.md has the artists' clips and captures it is calibrated on."""
MOVING_ACTIONS = frozenset((*GAITS, "jump"))
"""Actions whose motions must move: the verdict of a motion that was asked to stand may be good."""
AIRBORNE_ACTIONS = frozenset(("jump", "hop", "bound", "flip", "fly", "swim"))
"""Actions that leave the ground: being above it is no fault of theirs."""
FLOATING_HEIGHT = 0.1
"""A body whose lowest point is this high on average floats [ℓ]; a gallop's airborne phase stays below."""
FLOATING_AIR = 0.7
"""So does one with no foot near the ground for this share of the time."""
SLIDING_RATIO = 0.3
"""Feet slide if this share of their contact frames skates."""

FEET_FIELDS = (
    "gait", "skating_ratio", "slide", "contact_share", "air_time", "alternation", "phases", "amplitudes", "duty_factor",
    "stride_frequency", "crossed_limbs", "treadmill_speed", "ground_heights",
)
"""Fields that stay None on a rig without legs."""


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
    """The level each foot was taken to grounded on [ℓ]; zero for motions of our own."""
    notes: tuple[str, ...] = ()
    """What was estimated and what could not be measured, one sentence each."""

    def as_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def rows(self) -> list[tuple[str, str]]:
        """Name and value of every number as text, in the order of the fields."""
        names = (field.name for field in fields(self) if field.name != "notes")
        return [(name.replace("_", " "), as_text(getattr(self, name))) for name in names]


def verdict(numbers: Mapping[str, Any], asked: str | None = None) -> Verdict:
    """The first thing wrong with a motion, the worst first; thresholds are this module's constants.

    ``asked``: the action it should show, if one is known: a walk that hardly moves is not a good one.
    """

    def above(name: str, threshold: float) -> bool:
        return numbers[name] is not None and numbers[name] > threshold

    must_move = asked in MOVING_ACTIONS
    moves = movement(numbers) if must_move else numbers["motion_amount"]
    if above("penetration_mean", BROKEN_DEPTH) or above("high_band", BROKEN_SHAKING):
        return "broken"
    if moves < TINY_AMOUNT:
        return "tiny"
    if must_move and moves < MIN_MOVEMENT:
        return "hardly moves"
    if asked not in AIRBORNE_ACTIONS and (above("float_height", FLOATING_HEIGHT) or above("air_time", FLOATING_AIR)):
        return "floating"
    return "sliding" if above("skating_ratio", SLIDING_RATIO) else "good"


def movement(numbers: Mapping[str, Any]) -> float:
    """The amount of motion, or the path of a median foot per second if that is longer [ℓ/s].

    Legs of a single bone swing although no joint of theirs moves.
    """
    if numbers["amplitudes"] is None or numbers["stride_frequency"] is None:
        return numbers["motion_amount"]
    return max(numbers["motion_amount"], 4 * float(np.median(numbers["amplitudes"])) * numbers["stride_frequency"])


def as_text(value: object) -> str:
    """Three digits of a number, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return " ".join(as_text(item) for item in value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def evaluate(rig: Rig, motion: Motion, *, from_file: bool = False, asked: str | None = None) -> Evaluation:
    """Measure a motion: contact, smoothness, amount of motion, gait.

    ``from_file`` clips may walk in place and hover: treadmill and stance heights are estimated. ``asked`` is the action that the
    motion should show, if one is known, for the verdict.
    """
    return evaluate_trace(rig, trace(rig, motion), from_file=from_file, asked=asked)


def evaluate_trace(rig: Rig, traced: Trace, *, from_file: bool, asked: str | None = None) -> Evaluation:
    """``evaluate`` for a motion that is already traced, or was not made by joints."""
    numbers = _body_numbers(rig, traced) | dict.fromkeys(FEET_FIELDS)
    notes = []
    if numbers["high_band"] is None:
        notes.append(f"The share of power above 8 Hz cannot be seen in {len(traced.joints)} frames at {traced.fps:g} fps.")
    if rig.legs:
        grounded = _grounded_feet(traced, from_file)
        notes += grounded.notes
        numbers |= _contact_numbers(grounded, traced) | _gait_numbers(rig.legs, grounded, traced, notes)
    else:
        notes.append("The rig has no legs, so nothing about feet and gait is measured.")
    numbers["froude"] = gait.froude(numbers["treadmill_speed"] or numbers["travel"], rig.leg_metres)
    return Evaluation(
        verdict=verdict(numbers, asked), frame_count=len(traced.joints), fps=traced.fps, notes=tuple(notes), **numbers
    )


class _GroundedFeet(NamedTuple):
    """Feet and root after the corrections for clips from files: stance heights and treadmill."""

    feet: contact.Feet
    """With heights above each foot's own ground, moved by the treadmill."""
    root: np.ndarray
    """Moved by the treadmill."""
    ground_heights: np.ndarray
    treadmill_speed: float | None
    notes: list[str]


def _grounded_feet(traced: Trace, from_file: bool) -> _GroundedFeet:
    feet, root, turn = traced.feet, traced.joints[:, 0], yaw(traced.root_rotation)
    if not from_file:
        return _GroundedFeet(feet, root, np.zeros(feet.shape[1]), None, [])
    heights = treadmill.stance_heights(feet, in_heading_frame(feet, root, turn)[..., 0])
    feet = feet - heights[:, None] * np.array([0.0, 1.0, 0.0])
    notes = []
    if np.abs(heights).max() > contact.PENETRATION_DEPTH:
        notes.append(f"Feet stand at {as_text(tuple(heights.tolist()))} ℓ in this file, and contact is judged from there.")
    velocity = treadmill.treadmill_velocity(feet, root, traced.fps)
    if velocity is None:
        return _GroundedFeet(feet, root, heights, None, notes)
    speed = float(np.linalg.norm(velocity))
    notes.append(f"The clip walks in place; sliding is measured on a treadmill of {speed:.2f} ℓ/s, estimated from stance feet.")
    feet, moved = (treadmill.on_treadmill(points, velocity, traced.fps) for points in (feet, root[:, None]))
    return _GroundedFeet(feet, moved[:, 0], heights, speed, notes)


def _body_numbers(rig: Rig, traced: Trace) -> dict[str, Any]:
    """Metrics that need no feet."""
    depth = contact.penetration(traced.lowest)
    return {
        "penetration_mean": depth.mean,
        "penetration_max": depth.max,
        "penetration_share": depth.share,
        "float_height": contact.floating(traced.lowest),
        "corner_depth": contact.corner_depth(traced.corners),
        "jerk": smoothness.jerk(traced.joints, traced.fps),
        "laplacian": smoothness.laplacian(traced.coordinates),
        "high_band": smoothness.high_band(traced.coordinates[:, 6:], traced.fps),
        "motion_amount": smoothness.motion_amount(traced.joints, traced.root_rotation, traced.fps),
        "travel": smoothness.travel(traced.joints[:, 0], traced.fps),
        "heading": gait.heading(traced.joints[:, 0], yaw(traced.root_rotation), traced.fps),
        "loop_error": smoothness.loop_error(traced.joints, traced.root_rotation),
        "bone_stretch": smoothness.bone_stretch(traced.joints, rig.skeleton.parents),
    }


def _contact_numbers(grounded: _GroundedFeet, traced: Trace) -> dict[str, Any]:
    return {
        "skating_ratio": contact.skating_ratio(grounded.feet, traced.fps),
        "slide": contact.slide(grounded.feet),
        "contact_share": contact.contact_share(grounded.feet),
        "air_time": contact.air_time(grounded.feet),
        "heading": gait.heading(grounded.root, yaw(traced.root_rotation), traced.fps),
        "treadmill_speed": grounded.treadmill_speed,
        "ground_heights": tuple(grounded.ground_heights.tolist()),
    }


def _gait_numbers(legs: tuple[Limb, ...], grounded: _GroundedFeet, traced: Trace, notes: list[str]) -> dict[str, Any]:
    turn = yaw(traced.root_rotation)
    feet = in_heading_frame(grounded.feet, grounded.root, turn)
    walks_backwards = (gait.heading(grounded.root, turn, traced.fps) or 0) < 0
    pairs = leg_pairs(legs)
    numbers: dict[str, Any] = {}
    if len(pairs):
        numbers["crossed_limbs"] = gait.crossed_share(feet[:, pairs[:, 0]], feet[:, pairs[:, 1]])
    stride = gait.measure_stride(-feet[..., 0] if walks_backwards else feet[..., 0], grounded.feet, traced.fps)
    if stride is None:
        notes.append("The feet do not move, or the clip is too short, so it has no strides.")
        return numbers
    if not stride.landed:
        notes.append("Some foot does not land within the clip, so phases are those of the foremost points of the feet.")
    return numbers | {
        "gait": gait_name(stride, "".join(leg.side for leg in legs)),
        "alternation": tuple(gait.alternation(stride.phase[pair], stride.amplitude[pair]) for pair in pairs),
        "phases": tuple(((stride.phase - stride.phase[0]) % 1.0).tolist()),
        "amplitudes": tuple(stride.amplitude.tolist()),
        "duty_factor": float(stride.duty.mean()),
        "stride_frequency": stride.frequency,
    }


def leg_pairs(legs: tuple[Limb, ...]) -> Int[np.ndarray, "pair 2"]:
    """Indices of the left and the right leg of the same order, front to hind."""
    place = {(leg.side, leg.order): index for index, leg in enumerate(legs)}
    both = [(place["L", order], place["R", order]) for side, order in place if side == "L" and ("R", order) in place]
    return np.array(both, int).reshape(-1, 2)
