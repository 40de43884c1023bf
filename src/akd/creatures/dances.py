"""Waving and dancing of upright bodies with two arms."""

from dataclasses import replace

import numpy as np

from akd.creatures.carriage import hanging, spread
from akd.creatures.cue import Action, Cue, Curve, lasting, still, vectors, wave
from akd.creatures.footing import arc, glide, through
from akd.creatures.perform import Choreography, Footing
from akd.creatures.puppet import Puppet

Arms = dict[int, tuple[np.ndarray, np.ndarray]]


def relaxed_arms(body: Puppet, cue: Cue, forward: Curve | float = 0.0) -> Arms:
    """Arms of an upright body hang; those of others stay as they are."""
    if not body.is_humanoid:
        return {}
    swing = 0.03 * wave(cue.u, 2) + forward
    return {number: hanging(arm.side, swing, 0.18 + 0.6 * np.abs(forward), 0.14) for number, arm in enumerate(body.arms)}


def greet(body: Puppet, cue: Cue) -> Choreography:
    """One arm up, the hand to and fro, and down."""
    raised = through([(0, 0), (0.2, 1), (0.82, 1), (1, 0)], cue.u)
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


def groove(body: Puppet, cue: Cue) -> Choreography:
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
        place[:, number, 2] += cue.side * step * (glide(away) - glide(home))
        place[:, number, 1] = 0.12 * k * (arc(away) + arc(home))
    middle = place[:, :, 2].mean(1)
    sway = cue.side * wave(u, 1, -0.25)
    shift = vectors(u, y=-0.06 - 0.03 * k * wave(u, 4, 0.25), z=middle - np.mean(standing.place[0, :, 2]))
    bends = spread(body.spine, vectors(u, x=0.12 * k * sway, y=0.25 * k * wave(u, 2))) | spread(
        body.neck, vectors(u, z=0.1 * k * wave(u, 4))
    )
    arms = {n: hanging(a.side, 0.5 + 0.5 * k * a.side * wave(u, 2, 0.1), 1.3, 0.35) for n, a in enumerate(body.arms)}
    footing = Footing(place, standing.yaw, standing.pitch)
    return replace(still(body, cue), shift=shift, lean=vectors(u, x=-0.06 * k * sway), bends=bends, arms=arms, footing=footing)


def twist(body: Puppet, cue: Cue) -> Choreography:
    """Hips and feet one way, shoulders and arms the other, knees bent."""
    u, k = cue.u, cue.amount
    turn = cue.side * k * wave(u, 2)
    standing = still(body, cue).footing
    yaw = standing.yaw + 0.45 * turn[:, None]
    shift = vectors(u, y=-0.1 - 0.05 * wave(u, 1, -0.25), z=0.03 * k * wave(u, 1))
    bends = spread(body.spine, vectors(u, y=-0.9 * turn, z=-0.1))
    arms = {n: hanging(a.side, 0.35 + 0.5 * a.side * turn, 1.5, 0.35) for n, a in enumerate(body.arms)}
    footing = Footing(standing.place, yaw, standing.pitch)
    return replace(still(body, cue), shift=shift, lean=vectors(u, y=0.4 * turn), bends=bends, arms=arms, footing=footing)


def disco(body: Puppet, cue: Cue) -> Choreography:
    """One hand points to the ceiling, then across the hip, while the hips go from side to side."""
    u, k = cue.u, cue.amount
    point = through([(0, 0), (0.12, 1), (0.25, 0), (0.37, 1), (0.5, 0), (0.62, 1), (0.75, 0), (0.87, 1), (1, 0)], u)
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


def _has_arms(body: Puppet) -> bool:
    return body.is_humanoid


DANCES = tuple(
    Action(name, lasting(seconds), _has_arms, "an upright body with two legs and two arms", play)
    for name, seconds, play in (("wave_hand", 2.4, greet), ("dance", 2.0, groove), ("twist", 1.6, twist), ("disco", 2.4, disco))
)
