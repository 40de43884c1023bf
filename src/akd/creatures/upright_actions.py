"""Actions of upright bodies with two arms: punch, kick, wave a hand, dance, twist, disco."""

from dataclasses import replace

import numpy as np

from akd.character.limb_model import LimbModel
from akd.contact.stance import keyed_curve, lift_arc, septic_step
from akd.creatures.gait_targets import arm_directions, spread
from akd.creatures.targets import (
    Action,
    ActionParameters,
    BodyTargets,
    Curve,
    FootTargets,
    columns,
    scaled_duration,
    sine,
    standing_targets,
)

Arms = dict[int, tuple[np.ndarray, np.ndarray]]
"""By arm number, directions of upper arm and forearm."""
GUARD = (0.55, 1.9)
"""Fists up: upper arm forward, elbow bent [rad]."""


def relaxed_arms(model: LimbModel, parameters: ActionParameters, forward: Curve | float = 0.0) -> Arms:
    """Arms of an upright body hang; those of others stay as they are."""
    if not model.is_humanoid:
        return {}
    swing = 0.03 * sine(parameters.progress, 2) + forward
    return {number: arm_directions(arm.side, swing, 0.18 + 0.6 * np.abs(forward), 0.14) for number, arm in enumerate(model.arms)}


def wave_hand(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """One arm up, the hand to and fro, and down."""
    u, side = parameters.progress, parameters.side
    raised = keyed_curve([(0, 0), (0.2, 1), (0.82, 1), (1, 0)], u)
    sway = 0.35 * parameters.amount * raised * sine(u, 5)
    arms = relaxed_arms(model, parameters)
    number = next(n for n, arm in enumerate(model.arms) if arm.side == side)
    aside, lift = 0.14 + 0.75 * raised, 0.75 * raised
    upper = np.stack((0.25 * raised, -np.cos(aside + lift), side * np.sin(aside + lift)), -1)
    spin = aside + lift + 1.35 * raised + sway
    fore = np.stack((0.2 + 0.1 * raised, -np.cos(spin), side * np.sin(spin)), -1)
    arms[number] = (_unit(upper), _unit(fore))
    vectors = spread(model.spine, columns(u, x=-0.05 * side * raised)) | spread(
        model.neck, columns(u, x=-0.08 * side * raised)
    )
    return replace(standing_targets(model, parameters), shift=columns(u, y=-0.01), vectors=vectors, arms=arms)


def dance(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """Step to the side, close, and back, with a bounce and swinging arms: four beats."""
    u, k, side = parameters.progress, parameters.amount, parameters.side
    half = float(np.mean([abs(foot.centre[2]) for foot in model.feet]))
    step = (1.2 * half + 0.12) * k
    standing = standing_targets(model, parameters).feet
    place = standing.place.copy()
    for number, foot in enumerate(model.feet):
        # The leading foot goes on beats 1 and 4, the other follows on 2 and leads back on 3.
        out, back = (0.02, 0.77) if foot.side == side else (0.27, 0.52)
        away, home = (u - out) / 0.21, (u - back) / 0.21
        place[:, number, 2] += side * step * (septic_step(away) - septic_step(home))
        place[:, number, 1] = 0.12 * k * (lift_arc(away) + lift_arc(home))
    middle = place[:, :, 2].mean(1)
    sway = side * sine(u, 1, -0.25)
    shift = columns(u, y=-0.06 - 0.03 * k * sine(u, 4, 0.25), z=middle - np.mean(standing.place[0, :, 2]))
    vectors = spread(model.spine, columns(u, x=0.12 * k * sway, y=0.25 * k * sine(u, 2))) | spread(
        model.neck, columns(u, z=0.1 * k * sine(u, 4))
    )
    arms = {n: arm_directions(a.side, 0.5 + 0.5 * k * a.side * sine(u, 2, 0.1), 1.3, 0.35) for n, a in enumerate(model.arms)}
    feet = FootTargets(place, standing.yaw, standing.pitch)
    return replace(
        standing_targets(model, parameters),
        shift=shift,
        lean=columns(u, x=-0.06 * k * sway),
        vectors=vectors,
        arms=arms,
        feet=feet,
    )


def twist(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """Hips and feet one way, shoulders and arms the other, knees bent."""
    u, k = parameters.progress, parameters.amount
    turn = parameters.side * k * sine(u, 2)
    standing = standing_targets(model, parameters).feet
    yaw = standing.yaw + 0.45 * turn[:, None]
    shift = columns(u, y=-0.1 - 0.05 * sine(u, 1, -0.25), z=0.03 * k * sine(u, 1))
    vectors = spread(model.spine, columns(u, y=-0.9 * turn, z=-0.1))
    arms = {n: arm_directions(a.side, 0.35 + 0.5 * a.side * turn, 1.5, 0.35) for n, a in enumerate(model.arms)}
    feet = FootTargets(standing.place, yaw, standing.pitch)
    return replace(
        standing_targets(model, parameters), shift=shift, lean=columns(u, y=0.4 * turn), vectors=vectors, arms=arms, feet=feet
    )


def disco(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """One hand points to the ceiling, then across the hip, while the hips go from side to side."""
    u, k, side = parameters.progress, parameters.amount, parameters.side
    point = keyed_curve([(0, 0), (0.12, 1), (0.25, 0), (0.37, 1), (0.5, 0), (0.62, 1), (0.75, 0), (0.87, 1), (1, 0)], u)
    hips = side * sine(u, 2, 0.25)
    arms: Arms = {}
    for number, arm in enumerate(model.arms):
        if arm.side == side:
            angle = 0.35 + 2.1 * point
            line = np.stack((0.35 + 0 * u, -np.cos(angle), arm.side * np.sin(angle) * (1.6 * point - 0.6)), -1)
            arms[number] = (_unit(line), _unit(line + np.array([0.15, 0, 0])))
        else:
            arms[number] = arm_directions(arm.side, 0 * u - 0.5, 1.5, 0.7)  # hand on the hip
    shift = columns(u, y=-0.05 - 0.02 * k * sine(u, 4), z=0.05 * k * hips)
    vectors = spread(model.spine, columns(u, x=0.16 * k * hips, y=0.2 * side * k * (point - 0.5)))
    return replace(
        standing_targets(model, parameters), shift=shift, lean=columns(u, x=-0.1 * k * hips), vectors=vectors, arms=arms
    )


def punch(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """One fist, then the other, from a guard with bent knees."""
    u, side = parameters.progress, parameters.side
    first = _strike(u, 0.3)
    second = _strike(u, 0.72)
    lead = {side: first, -side: second}
    turn = 0.45 * parameters.amount * side * (first - second)
    arms = {
        number: arm_directions(
            arm.side, GUARD[0] + 0.95 * lead[arm.side], GUARD[1] * (1 - 0.95 * lead[arm.side]), 0.25 - 0.2 * lead[arm.side]
        )
        for number, arm in enumerate(model.arms)
    }
    shift = columns(u, x=0.04 * (first + second), y=-0.06 - 0.01 * sine(u, 4))
    vectors = spread(model.spine, columns(u, y=0.7 * turn, z=-0.12))
    return replace(
        standing_targets(model, parameters), shift=shift, lean=columns(u, y=0.3 * turn), vectors=vectors, arms=arms, gaze=1.0
    )


def kick(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """Weight on one leg, the other knee up, foot out, back, and down."""
    u, side = parameters.progress, parameters.side
    kicks = next(i for i, foot in enumerate(model.feet) if foot.side == side)
    foot, standing = model.feet[kicks], standing_targets(model, parameters).feet
    up = 0.62 * min(parameters.amount, 1.15) * foot.leg.longest
    ahead = keyed_curve([(0, 0), (0.2, 0), (0.38, 0.1), (0.5, 0.72), (0.62, 0.1), (0.85, 0), (1, 0)], u) * foot.leg.longest
    height = keyed_curve([(0, 0), (0.2, 0), (0.38, 0.75), (0.5, 1), (0.62, 0.7), (0.82, 0), (1, 0)], u) * up
    place, pitch = standing.place.copy(), standing.pitch.copy()
    place[:, kicks] += np.stack((ahead, height, 0 * u), -1)
    pitch[:, kicks] = keyed_curve([(0, 0), (0.2, 0), (0.38, -0.3), (0.5, 1.0), (0.62, -0.3), (0.82, 0), (1, 0)], u)
    weight = keyed_curve([(0, 0), (0.2, 1), (0.82, 1), (1, 0)], u)
    strike = keyed_curve([(0.3, 0), (0.5, 1), (0.7, 0)], u)
    other = next(f for f in model.feet if f.side != side)
    lean = columns(u, x=-0.05 * side * weight, z=0.3 * strike)
    shift = columns(u, x=-0.05 * strike, y=-0.03 - 0.02 * weight, z=0.8 * other.centre[2] * weight)
    arms = {
        n: arm_directions(a.side, GUARD[0] - 0.5 * strike, GUARD[1] - 0.4 * strike, 0.3 + 0.2 * strike)
        for n, a in enumerate(model.arms)
    }
    vectors = spread(model.spine, columns(u, z=-0.15 * strike))
    feet = FootTargets(place, standing.yaw, pitch)
    return replace(standing_targets(model, parameters), shift=shift, lean=lean, vectors=vectors, arms=arms, feet=feet, gaze=1.0)


def _strike(u: Curve, at: float) -> Curve:
    """Out fast, back slower."""
    return keyed_curve([(at - 0.12, 0.0), (at, 1.0), (at + 0.04, 1.0), (at + 0.22, 0.0)], u)


def _unit(line: np.ndarray) -> np.ndarray:
    return line / np.linalg.norm(line, axis=-1, keepdims=True)


def _is_humanoid(model: LimbModel) -> bool:
    return model.is_humanoid


UPRIGHT_ACTIONS = tuple(
    Action(name, scaled_duration(seconds), _is_humanoid, "an upright body with two legs and two arms", targets)
    for name, seconds, targets in (
        ("punch", 1.3, punch), ("kick", 1.4, kick), ("wave_hand", 2.4, wave_hand), ("dance", 2.0, dance), ("twist", 1.6, twist),
        ("disco", 2.4, disco),
    )
)  # fmt: skip
