"""Waving and dancing of upright bodies with two arms.

Punches and kicks of upright bodies with two arms.
"""

from dataclasses import replace

import numpy as np

from akd.character.limb_model import LimbModel
from akd.contact.easing import keyed_curve, lift_arc, septic_step
from akd.creatures.action import Action, ActionParameters, Curve, lasting, still, vectors, wave
from akd.creatures.carriage import hanging, spread
from akd.creatures.perform import Choreography, FootTargets

Arms = dict[int, tuple[np.ndarray, np.ndarray]]


def relaxed_arms(body: LimbModel, cue: ActionParameters, forward: Curve | float = 0.0) -> Arms:
    """Arms of an upright body hang; those of others stay as they are."""
    if not body.is_humanoid:
        return {}
    swing = 0.03 * wave(cue.u, 2) + forward
    return {number: hanging(arm.side, swing, 0.18 + 0.6 * np.abs(forward), 0.14) for number, arm in enumerate(body.arms)}


def greet(body: LimbModel, cue: ActionParameters) -> Choreography:
    """One arm up, the hand to and fro, and down."""
    raised = keyed_curve([(0, 0), (0.2, 1), (0.82, 1), (1, 0)], cue.u)
    sway = 0.35 * cue.amount * raised * wave(cue.u, 5)
    arms = relaxed_arms(body, cue)
    number = next(n for n, arm in enumerate(body.arms) if arm.side == cue.side)
    aside, lift = 0.14 + 0.75 * raised, 0.75 * raised
    upper = np.stack((0.25 * raised, -np.cos(aside + lift), cue.side * np.sin(aside + lift)), -1)
    spin = aside + lift + 1.35 * raised + sway
    fore = np.stack((0.2 + 0.1 * raised, -np.cos(spin), cue.side * np.sin(spin)), -1)
    arms[number] = (_unit(upper), _unit(fore))
    bends = spread(body.spine, vectors(cue.u, x=-0.05 * cue.side * raised)) | spread(
        body.neck, vectors(cue.u, x=-0.08 * cue.side * raised)
    )
    return replace(still(body, cue), shift=vectors(cue.u, y=-0.01), bends=bends, arms=arms)


def groove(body: LimbModel, cue: ActionParameters) -> Choreography:
    """Step to the side, close, and back, with a bounce and swinging arms: four beats."""
    u, k = cue.u, cue.amount
    half = float(np.mean([abs(foot.centre[2]) for foot in body.feet]))
    step = (1.2 * half + 0.12) * k
    standing = still(body, cue).footing
    place = standing.place.copy()
    for number, foot in enumerate(body.feet):
        # The leading foot goes on beats 1 and 4, the other follows on 2 and leads back on 3.
        out, back = (0.02, 0.77) if foot.side == cue.side else (0.27, 0.52)
        away, home = (u - out) / 0.21, (u - back) / 0.21
        place[:, number, 2] += cue.side * step * (septic_step(away) - septic_step(home))
        place[:, number, 1] = 0.12 * k * (lift_arc(away) + lift_arc(home))
    middle = place[:, :, 2].mean(1)
    sway = cue.side * wave(u, 1, -0.25)
    shift = vectors(u, y=-0.06 - 0.03 * k * wave(u, 4, 0.25), z=middle - np.mean(standing.place[0, :, 2]))
    bends = spread(body.spine, vectors(u, x=0.12 * k * sway, y=0.25 * k * wave(u, 2))) | spread(
        body.neck, vectors(u, z=0.1 * k * wave(u, 4))
    )
    arms = {n: hanging(a.side, 0.5 + 0.5 * k * a.side * wave(u, 2, 0.1), 1.3, 0.35) for n, a in enumerate(body.arms)}
    footing = FootTargets(place, standing.yaw, standing.pitch)
    return replace(still(body, cue), shift=shift, lean=vectors(u, x=-0.06 * k * sway), bends=bends, arms=arms, footing=footing)


def twist(body: LimbModel, cue: ActionParameters) -> Choreography:
    """Hips and feet one way, shoulders and arms the other, knees bent."""
    u, k = cue.u, cue.amount
    turn = cue.side * k * wave(u, 2)
    standing = still(body, cue).footing
    yaw = standing.yaw + 0.45 * turn[:, None]
    shift = vectors(u, y=-0.1 - 0.05 * wave(u, 1, -0.25), z=0.03 * k * wave(u, 1))
    bends = spread(body.spine, vectors(u, y=-0.9 * turn, z=-0.1))
    arms = {n: hanging(a.side, 0.35 + 0.5 * a.side * turn, 1.5, 0.35) for n, a in enumerate(body.arms)}
    footing = FootTargets(standing.place, yaw, standing.pitch)
    return replace(still(body, cue), shift=shift, lean=vectors(u, y=0.4 * turn), bends=bends, arms=arms, footing=footing)


def disco(body: LimbModel, cue: ActionParameters) -> Choreography:
    """One hand points to the ceiling, then across the hip, while the hips go from side to side."""
    u, k = cue.u, cue.amount
    point = keyed_curve([(0, 0), (0.12, 1), (0.25, 0), (0.37, 1), (0.5, 0), (0.62, 1), (0.75, 0), (0.87, 1), (1, 0)], u)
    hips = cue.side * wave(u, 2, 0.25)
    arms: Arms = {}
    for number, arm in enumerate(body.arms):
        if arm.side == cue.side:
            angle = 0.35 + 2.1 * point
            line = np.stack((0.35 + 0 * u, -np.cos(angle), arm.side * np.sin(angle) * (1.6 * point - 0.6)), -1)
            arms[number] = (_unit(line), _unit(line + np.array([0.15, 0, 0])))
        else:
            arms[number] = hanging(arm.side, 0 * u - 0.5, 1.5, 0.7)  # hand on the hip
    shift = vectors(u, y=-0.05 - 0.02 * k * wave(u, 4), z=0.05 * k * hips)
    bends = spread(body.spine, vectors(u, x=0.16 * k * hips, y=0.2 * cue.side * k * (point - 0.5)))
    return replace(still(body, cue), shift=shift, lean=vectors(u, x=-0.1 * k * hips), bends=bends, arms=arms)


def _unit(line: np.ndarray) -> np.ndarray:
    return line / np.linalg.norm(line, axis=-1, keepdims=True)


def _has_arms(body: LimbModel) -> bool:
    return body.is_humanoid


DANCES = tuple(
    Action(name, lasting(seconds), _has_arms, "an upright body with two legs and two arms", play)
    for name, seconds, play in (("wave_hand", 2.4, greet), ("dance", 2.0, groove), ("twist", 1.6, twist), ("disco", 2.4, disco))
)
GUARD = (0.55, 1.9)
"""Fists up: upper arm forward, elbow bent [rad]."""


def punch(body: LimbModel, cue: ActionParameters) -> Choreography:
    """One fist, then the other, from a guard with bent knees."""
    u = cue.u
    first = _strike(u, 0.3)
    second = _strike(u, 0.72)
    lead = {cue.side: first, -cue.side: second}
    turn = 0.45 * cue.amount * cue.side * (first - second)
    arms = {
        number: hanging(
            arm.side, GUARD[0] + 0.95 * lead[arm.side], GUARD[1] * (1 - 0.95 * lead[arm.side]), 0.25 - 0.2 * lead[arm.side]
        )
        for number, arm in enumerate(body.arms)
    }
    shift = vectors(u, x=0.04 * (first + second), y=-0.06 - 0.01 * wave(u, 4))
    bends = spread(body.spine, vectors(u, y=0.7 * turn, z=-0.12))
    return replace(still(body, cue), shift=shift, lean=vectors(u, y=0.3 * turn), bends=bends, arms=arms, gaze=1.0)


def kick(body: LimbModel, cue: ActionParameters) -> Choreography:
    """Weight on one leg, the other knee up, foot out, back, and down."""
    u, kicks = cue.u, next(i for i, foot in enumerate(body.feet) if foot.side == cue.side)
    foot, standing = body.feet[kicks], still(body, cue).footing
    up = 0.62 * min(cue.amount, 1.15) * foot.leg.longest
    ahead = keyed_curve([(0, 0), (0.2, 0), (0.38, 0.1), (0.5, 0.72), (0.62, 0.1), (0.85, 0), (1, 0)], u) * foot.leg.longest
    height = keyed_curve([(0, 0), (0.2, 0), (0.38, 0.75), (0.5, 1), (0.62, 0.7), (0.82, 0), (1, 0)], u) * up
    place, pitch = standing.place.copy(), standing.pitch.copy()
    place[:, kicks] += np.stack((ahead, height, 0 * u), -1)
    pitch[:, kicks] = keyed_curve([(0, 0), (0.2, 0), (0.38, -0.3), (0.5, 1.0), (0.62, -0.3), (0.82, 0), (1, 0)], u)
    weight = keyed_curve([(0, 0), (0.2, 1), (0.82, 1), (1, 0)], u)
    strike = keyed_curve([(0.3, 0), (0.5, 1), (0.7, 0)], u)
    other = next(f for f in body.feet if f.side != cue.side)
    lean = vectors(u, x=-0.05 * cue.side * weight, z=0.3 * strike)
    shift = vectors(u, x=-0.05 * strike, y=-0.03 - 0.02 * weight, z=0.8 * other.centre[2] * weight)
    arms = {
        n: hanging(a.side, GUARD[0] - 0.5 * strike, GUARD[1] - 0.4 * strike, 0.3 + 0.2 * strike) for n, a in enumerate(body.arms)
    }
    bends = spread(body.spine, vectors(u, z=-0.15 * strike))
    footing = FootTargets(place, standing.yaw, pitch)
    return replace(still(body, cue), shift=shift, lean=lean, bends=bends, arms=arms, footing=footing, gaze=1.0)


def _strike(u: Curve, at: float) -> Curve:
    """Out fast, back slower."""
    return keyed_curve([(at - 0.12, 0.0), (at, 1.0), (at + 0.04, 1.0), (at + 0.22, 0.0)], u)


def _fights(body: LimbModel) -> bool:
    return body.is_humanoid


FIGHTS = tuple(
    Action(name, lasting(seconds), _fights, "an upright body with two legs and two arms", play)
    for name, seconds, play in (("punch", 1.3, punch), ("kick", 1.4, kick))
)
