"""Where walking feet are: fixed to the ground while they stand, carried in an arc from one print to the next."""

import numpy as np
from jaxtyping import Float

from akd.character.kinematics import axis_rotations
from akd.character.limb_model import Foot, LimbModel
from akd.contact.easing import keyed_curve, lift_arc, septic_step
from akd.creatures.perform import FootTargets
from akd.gait.stride import GaitParameters

Instants = Float[np.ndarray, " frame"]


def path(stride: GaitParameters, time: Instants) -> tuple[Float[np.ndarray, "frame 3"], Instants]:
    """Place and heading of the body on its path, which starts at the origin along +X and bends evenly."""
    angle = stride.turn * time
    forward = stride.speed * time * np.sinc(angle / np.pi)
    aside = -stride.speed * time * 0.5 * angle * np.sinc(angle / (2 * np.pi)) ** 2
    return np.stack((forward, np.zeros_like(time), aside), -1), angle


def feet_centre(puppet: LimbModel) -> Float[np.ndarray, " 3"]:
    """The point on the ground about which a body turns."""
    return np.mean([foot.centre for foot in puppet.feet], axis=0) * np.array([1.0, 0, 1.0])


def walking_feet(puppet: LimbModel, stride: GaitParameters, time: Instants) -> FootTargets:
    """The feet of a gait at the given instants [s]."""
    feet = [_one_foot(puppet, number, stride, time) for number in range(len(puppet.feet))]
    place, yaw, pitch = (np.stack(part, 1) for part in zip(*feet, strict=True))
    return FootTargets(place, yaw, pitch)


def standing_feet(puppet: LimbModel, count: int) -> FootTargets:
    """All feet where they are at rest, flat on the ground."""
    place = np.stack([foot.centre * np.array([1.0, 0, 1.0]) for foot in puppet.feet]) if puppet.feet else np.zeros((0, 3))
    still = np.zeros((count, len(puppet.feet)))
    return FootTargets(np.tile(place, (count, 1, 1)), still, still)


def _one_foot(puppet: LimbModel, number: int, stride: GaitParameters, time: Instants) -> tuple[np.ndarray, Instants, Instants]:
    foot, gait = puppet.feet[number], stride.gait
    beat = time / stride.period - stride.phases[number]
    step, since = np.floor(beat), beat % 1.0
    swing = (since - stride.duty) / (1 - stride.duty)
    here, yaw_here = _print(puppet, foot, stride, step, number)
    there, yaw_there = _print(puppet, foot, stride, step + 1, number)
    onward = septic_step(swing)
    place = here + onward[:, None] * (there - here)
    place[:, 1] = gait.clearance * stride.style.lift * lift_arc(swing)
    return place, yaw_here + onward * (yaw_there - yaw_here), _pitch(foot, stride, since)


def _print(puppet: LimbModel, foot: Foot, stride: GaitParameters, step: Instants, number: int) -> tuple[np.ndarray, Instants]:
    """Where the foot stands on its nth step: at mid-stance it is where it would be at rest, seen from the body."""
    centre = feet_centre(puppet)
    place, heading = path(stride, (step + stride.middle[number]) * stride.period)
    at = foot.centre * np.array([1.0, 0, 1.0])
    at[2] = foot.side * _distance_from_middle(puppet, foot, stride.gait.width) if foot.side and not foot.leg.sprawls else at[2]
    return centre + place + axis_rotations(1, heading) @ (at - centre), heading


def _distance_from_middle(puppet: LimbModel, foot: Foot, width: float) -> float:
    """Feet close in as the gait says, but not so far that they would brush against each other."""
    at_rest = abs(float(foot.centre[2]))
    half = float(np.ptp(puppet.rig.mesh.vertices[foot.outline, 2])) / 2 if foot.outline.size else 0.0
    return min(at_rest, max(width * at_rest, half + 0.03))


def _pitch(foot: Foot, stride: GaitParameters, since: Instants) -> Instants:
    """Toes up at landing if the gait strikes so, flat, heel up at the end of stance and into the swing, level again."""
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
