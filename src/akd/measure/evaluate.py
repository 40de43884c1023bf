"""All metrics of one motion."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from akd.measure import contact, gait, smoothness, treadmill
from akd.measure.evaluation import Evaluation, as_text, verdict
from akd.measure.gait_names import gait_name
from akd.measure.trace import Trace, trace
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Limb

FEET_FIELDS = (
    "gait", "skating_ratio", "slide", "contact_share", "air_time", "alternation", "phases", "amplitudes", "duty_factor",
    "stride_frequency", "crossed_limbs", "treadmill_speed", "ground_heights",
)
"""What stays None on a rig without legs."""


def evaluate(rig: Rig, motion: Motion, *, from_file: bool) -> Evaluation:
    """Measure a motion. ``from_file`` clips may walk in place and hover: treadmill and stance heights are estimated."""
    return evaluate_trace(rig, trace(rig, motion), from_file=from_file)


def evaluate_trace(rig: Rig, seen: Trace, *, from_file: bool) -> Evaluation:
    """The same for a body that moved in some other way than by its joints."""
    numbers = _body_numbers(rig, seen) | dict.fromkeys(FEET_FIELDS)
    notes = []
    if numbers["high_band"] is None:
        notes.append(f"The share of power above 8 Hz cannot be seen in {len(seen.joints)} frames at {seen.fps:g} fps.")
    if rig.legs:
        stand = _stand(seen, from_file)
        notes += stand.notes
        numbers |= _contact_numbers(stand, seen) | _gait_numbers(rig.legs, stand, seen, notes)
    else:
        notes.append("The rig has no legs, so nothing about feet and gait is measured.")
    numbers["froude"] = gait.froude(numbers["treadmill_speed"] or numbers["travel"], rig.leg_metres)
    return Evaluation(verdict=verdict(numbers), frame_count=len(seen.joints), fps=seen.fps, notes=tuple(notes), **numbers)


class _Stand(NamedTuple):
    """What the feet are measured against."""

    feet: contact.Feet
    """With heights above each foot's own ground, moved by the treadmill."""
    root: np.ndarray
    """Moved by the treadmill."""
    ground_heights: np.ndarray
    treadmill_speed: float | None
    notes: list[str]


def _stand(seen: Trace, from_file: bool) -> _Stand:
    feet, root, turn = seen.feet, seen.joints[:, 0], smoothness.yaw(seen.root_rotation)
    if not from_file:
        return _Stand(feet, root, np.zeros(feet.shape[1]), None, [])
    heights = treadmill.stance_heights(feet, smoothness.in_heading_frame(feet, root, turn)[..., 0])
    feet = feet - heights[:, None] * np.array([0.0, 1.0, 0.0])
    notes = []
    if np.abs(heights).max() > contact.DEEP:
        notes.append(f"Feet stand at {as_text(tuple(heights.tolist()))} ℓ in this file, and contact is judged from there.")
    velocity = treadmill.treadmill_velocity(feet, root, seen.fps)
    if velocity is None:
        return _Stand(feet, root, heights, None, notes)
    speed = float(np.linalg.norm(velocity))
    notes.append(f"The clip walks in place; sliding is measured on a treadmill of {speed:.2f} ℓ/s, estimated from stance feet.")
    feet, moved = (treadmill.on_treadmill(points, velocity, seen.fps) for points in (feet, root[:, None]))
    return _Stand(feet, moved[:, 0], heights, speed, notes)


def _body_numbers(rig: Rig, seen: Trace) -> dict[str, Any]:
    """What needs no feet."""
    depth = contact.penetration(seen.lowest)
    return {
        "penetration_mean": depth.mean,
        "penetration_max": depth.max,
        "penetration_share": depth.share,
        "float_height": contact.floating(seen.lowest),
        "corner_depth": contact.corner_depth(seen.corners),
        "jerk": smoothness.jerk(seen.joints, seen.fps),
        "laplacian": smoothness.laplacian(seen.coordinates),
        "high_band": smoothness.high_band(seen.coordinates[:, 6:], seen.fps),
        "motion_amount": smoothness.motion_amount(seen.joints, seen.root_rotation, seen.fps),
        "travel": smoothness.travel(seen.joints[:, 0], seen.fps),
        "heading": gait.heading(seen.joints[:, 0], smoothness.yaw(seen.root_rotation), seen.fps),
        "loop_error": smoothness.loop_error(seen.joints, seen.root_rotation),
        "bone_stretch": smoothness.bone_stretch(seen.joints, rig.skeleton.parents),
    }


def _contact_numbers(stand: _Stand, seen: Trace) -> dict[str, Any]:
    return {
        "skating_ratio": contact.skating_ratio(stand.feet, seen.fps),
        "slide": contact.slide(stand.feet),
        "contact_share": contact.contact_share(stand.feet),
        "air_time": contact.air_time(stand.feet),
        "heading": gait.heading(stand.root, smoothness.yaw(seen.root_rotation), seen.fps),
        "treadmill_speed": stand.treadmill_speed,
        "ground_heights": tuple(stand.ground_heights.tolist()),
    }


def _gait_numbers(legs: tuple[Limb, ...], stand: _Stand, seen: Trace, notes: list[str]) -> dict[str, Any]:
    turn = smoothness.yaw(seen.root_rotation)
    feet = smoothness.in_heading_frame(stand.feet, stand.root, turn)
    backwards = (gait.heading(stand.root, turn, seen.fps) or 0) < 0
    pairs = leg_pairs(legs)
    numbers: dict[str, Any] = {}
    if len(pairs):
        numbers["crossed_limbs"] = gait.crossed_share(feet[:, pairs[:, 0]], feet[:, pairs[:, 1]])
    stride = gait.measure_stride(-feet[..., 0] if backwards else feet[..., 0], stand.feet, seen.fps)
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
