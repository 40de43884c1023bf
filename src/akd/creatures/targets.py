"""Targets of a motion, frame by frame: root, joint rotations and feet; and the feet of standing and of walking.

Walking feet are fixed to the ground during stance and carried in an arc from one footprint to the next.

What an action on the spot is: its parameters, its duration, and the targets it sets for the body frame by frame.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from akd.character.limb_model import Foot, FrameVectors, LimbModel, axis_rotations
from akd.contact.stance import keyed_curve, lift_arc, septic_step
from akd.gait.table import GaitParameters

Instants = Float[np.ndarray, " frame"]
Curve = Float[np.ndarray, " frame"]


@dataclass(frozen=True, eq=False)
class FootTargets:
    """Where the feet are, frame by frame."""

    place: Float[np.ndarray, "frame foot 3"]
    """x and z of the middle of the flat sole; y is the height of the foot's lowest point above the ground [ℓ]."""
    yaw: Float[np.ndarray, "frame foot"]
    """Direction of the foot; 0 faces +X, positive to the left [rad]."""
    pitch: Float[np.ndarray, "frame foot"]
    """Toes up is positive, heel up negative [rad]."""


@dataclass(frozen=True, eq=False)
class BodyTargets:
    """What the body does, frame by frame. ``body_ik`` turns it into a motion; the legs follow from root and feet."""

    shift: FrameVectors
    """Displacement of the root from where it is at rest [ℓ]."""
    yaw: Float[np.ndarray, " frame"]
    """Heading of the body [rad]."""
    lean: FrameVectors
    """Further rotation of the root as a rotation vector in the heading's axes: roll, yaw, pitch; nose up is positive [rad]."""
    feet: FootTargets
    vectors: dict[int, FrameVectors] = field(default_factory=dict)
    """Rotation vectors of joints of trunk, neck and tail relative to their parents, in stage axes [rad]."""
    arms: dict[int, tuple[FrameVectors, FrameVectors]] = field(default_factory=dict)
    """For arms by number: directions of upper arm and forearm in the axes of the chest."""
    gaze: float = 0.7
    """Share of the chest's rotation that neck and head undo, so that the eyes stay on the path."""


def body_path(stride: GaitParameters, time: Instants) -> tuple[Float[np.ndarray, "frame 3"], Instants]:
    """Position and heading of the body on its path: a circular arc that starts at the origin along +X."""
    angle = stride.turn * time
    forward = stride.speed * time * np.sinc(angle / np.pi)
    aside = -stride.speed * time * 0.5 * angle * np.sinc(angle / (2 * np.pi)) ** 2
    return np.stack((forward, np.zeros_like(time), aside), -1), angle


def feet_centre(model: LimbModel) -> Float[np.ndarray, " 3"]:
    """The point on the ground about which the body turns: the mean of its feet."""
    return np.mean([foot.centre for foot in model.feet], axis=0) * np.array([1.0, 0, 1.0])


def walking_feet(model: LimbModel, stride: GaitParameters, time: Instants) -> FootTargets:
    """Foot targets of a gait at the given times [s]."""
    feet = [_foot_track(model, number, stride, time) for number in range(len(model.feet))]
    place, yaw, pitch = (np.stack(part, 1) for part in zip(*feet, strict=True))
    return FootTargets(place, yaw, pitch)


def standing_feet(model: LimbModel, count: int) -> FootTargets:
    """Foot targets of the rest pose, flat on the ground."""
    place = np.stack([foot.centre * np.array([1.0, 0, 1.0]) for foot in model.feet]) if model.feet else np.zeros((0, 3))
    still = np.zeros((count, len(model.feet)))
    return FootTargets(np.tile(place, (count, 1, 1)), still, still)


def _foot_track(model: LimbModel, number: int, stride: GaitParameters, time: Instants) -> tuple[np.ndarray, Instants, Instants]:
    foot, gait = model.feet[number], stride.gait
    beat = time / stride.period - stride.phases[number]
    step, since = np.floor(beat), beat % 1.0
    swing = (since - stride.duty) / (1 - stride.duty)
    here, yaw_here = _footprint(model, foot, stride, step, number)
    there, yaw_there = _footprint(model, foot, stride, step + 1, number)
    onward = septic_step(swing)
    place = here + onward[:, None] * (there - here)
    place[:, 1] = gait.clearance * stride.style.lift * lift_arc(swing)
    return place, yaw_here + onward * (yaw_there - yaw_here), _pitch(foot, stride, since)


def _footprint(model: LimbModel, foot: Foot, stride: GaitParameters, step: Instants, number: int) -> tuple[np.ndarray, Instants]:
    """Where the foot stands on its nth step: at mid-stance it is where it would be at rest, seen from the body."""
    centre = feet_centre(model)
    place, heading = body_path(stride, (step + stride.middle[number]) * stride.period)
    at = foot.centre * np.array([1.0, 0, 1.0])
    at[2] = foot.side * _distance_from_middle(model, foot, stride.gait.width) if foot.side and not foot.leg.sprawls else at[2]
    return centre + place + axis_rotations(1, heading) @ (at - centre), heading


def _distance_from_middle(model: LimbModel, foot: Foot, width: float) -> float:
    """Lateral distance of a footprint from the midline [ℓ]: narrowed as the gait says, but so that feet do not touch."""
    at_rest = abs(float(foot.centre[2]))
    half = float(np.ptp(model.rig.mesh.vertices[foot.outline, 2])) / 2 if foot.outline.size else 0.0
    return min(at_rest, max(width * at_rest, half + 0.03))


def _pitch(foot: Foot, stride: GaitParameters, since: Instants) -> Instants:
    """Pitch of a foot over its cycle: toes up at heel strike, flat, heel up from late stance into the swing, level again."""
    gait, duty = stride.gait, stride.duty
    long = min(foot.length / 0.2, 1.0)
    # The middle of a very long foot would slide as it tilts.
    tilts = 0.0 if foot.leg.sprawls else min(0.2 / max(foot.length, 1e-6), 1.0)
    strike, rise = gait.strike * long * tilts, gait.heel_rise * tilts
    keys = [
        (0.0, strike), (0.15 * duty, 0.0), (0.7 * duty, 0.0), (duty, -min(rise, 0.5 * tilts) * long),
        (duty + 0.3 * (1 - duty), -1.5 * rise), (duty + 0.8 * (1 - duty), 0.8 * strike), (1.0, strike),
    ]  # fmt: skip
    return keyed_curve(keys, since)


@dataclass(frozen=True, eq=False)
class ActionParameters:
    """Which frames of an action are computed, and how it is varied."""

    progress: Curve
    """Share of the action that is over, 0 to 1."""
    amount: float = 1.0
    """How pronounced the action is; 1 is typical."""
    side: float = 1.0
    """The leading side: +1 right, −1 left."""


@dataclass(frozen=True)
class Action:
    """A motion on the spot that ends in the pose it began with, so that it can be repeated."""

    name: str
    seconds: Callable[[LimbModel, ActionParameters], float]
    """Duration for this body [s]."""
    suits: Callable[[LimbModel], bool]
    needs: str
    """What a body must have to do it, as a phrase for the error message."""
    targets: Callable[[LimbModel, ActionParameters], BodyTargets]


def scaled_duration(seconds: float) -> Callable[[LimbModel, ActionParameters], float]:
    """A duration that grows with leg length; ``seconds`` is that of legs of 0.6 m."""
    return lambda model, parameters: seconds * float(np.clip((model.rig.leg_metres / 0.6) ** 0.35, 0.6, 1.6))


def standing_targets(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """The rest pose in every frame."""
    count = len(parameters.progress)
    return BodyTargets(np.zeros((count, 3)), np.zeros(count), np.zeros((count, 3)), standing_feet(model, count))


def columns(u: Curve, x: Curve | float = 0.0, y: Curve | float = 0.0, z: Curve | float = 0.0) -> Float[np.ndarray, "frame 3"]:
    """Three curves or constants as the x, y and z columns of one array."""
    return np.stack([np.broadcast_to(np.asarray(part, float), u.shape) for part in (x, y, z)], -1)


def sine(u: Curve, count: float = 1.0, at: float = 0.0) -> Curve:
    """``count`` periods of a sine over the action, starting at phase ``at`` [periods]."""
    return np.sin(2 * np.pi * (count * u + at))
