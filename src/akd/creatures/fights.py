"""Punches and kicks of upright bodies with two arms."""

from dataclasses import replace

import numpy as np

from akd.creatures.carriage import hanging, spread
from akd.creatures.cue import Action, Cue, Curve, lasting, still, vectors, wave
from akd.creatures.footing import through
from akd.creatures.perform import Choreography, Footing
from akd.creatures.puppet import Puppet

GUARD = (0.55, 1.9)
"""Fists up: upper arm forward, elbow bent [rad]."""


def punch(body: Puppet, cue: Cue) -> Choreography:
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


def kick(body: Puppet, cue: Cue) -> Choreography:
    """Weight on one leg, the other knee up, foot out, back, and down."""
    u, kicks = cue.u, next(i for i, foot in enumerate(body.feet) if foot.side == cue.side)
    foot, standing = body.feet[kicks], still(body, cue).footing
    up = 0.62 * min(cue.amount, 1.15) * foot.leg.longest
    ahead = through([(0, 0), (0.2, 0), (0.38, 0.1), (0.5, 0.72), (0.62, 0.1), (0.85, 0), (1, 0)], u) * foot.leg.longest
    height = through([(0, 0), (0.2, 0), (0.38, 0.75), (0.5, 1), (0.62, 0.7), (0.82, 0), (1, 0)], u) * up
    place, pitch = standing.place.copy(), standing.pitch.copy()
    place[:, kicks] += np.stack((ahead, height, 0 * u), -1)
    pitch[:, kicks] = through([(0, 0), (0.2, 0), (0.38, -0.3), (0.5, 1.0), (0.62, -0.3), (0.82, 0), (1, 0)], u)
    weight = through([(0, 0), (0.2, 1), (0.82, 1), (1, 0)], u)
    strike = through([(0.3, 0), (0.5, 1), (0.7, 0)], u)
    other = next(f for f in body.feet if f.side != cue.side)
    lean = vectors(u, x=-0.05 * cue.side * weight, z=0.3 * strike)
    shift = vectors(u, x=-0.05 * strike, y=-0.03 - 0.02 * weight, z=0.8 * other.centre[2] * weight)
    arms = {
        n: hanging(a.side, GUARD[0] - 0.5 * strike, GUARD[1] - 0.4 * strike, 0.3 + 0.2 * strike) for n, a in enumerate(body.arms)
    }
    bends = spread(body.spine, vectors(u, z=-0.15 * strike))
    footing = Footing(place, standing.yaw, pitch)
    return replace(still(body, cue), shift=shift, lean=lean, bends=bends, arms=arms, footing=footing, gaze=1.0)


def _strike(u: Curve, at: float) -> Curve:
    """Out fast, back slower."""
    return through([(at - 0.12, 0.0), (at, 1.0), (at + 0.04, 1.0), (at + 0.22, 0.0)], u)


def _fights(body: Puppet) -> bool:
    return body.is_humanoid


FIGHTS = tuple(
    Action(name, lasting(seconds), _fights, "an upright body with two legs and two arms", play)
    for name, seconds, play in (("punch", 1.3, punch), ("kick", 1.4, kick))
)
