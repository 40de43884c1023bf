"""What an action is told, and the still body it starts from."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from akd.character.limb_model import LimbModel
from akd.creatures.footing import standing_feet
from akd.creatures.perform import Choreography

Curve = Float[np.ndarray, " frame"]


@dataclass(frozen=True, eq=False)
class ActionParameters:
    """Which part of an action is played, and how."""

    u: Curve
    """Share of the action that is over, 0 to 1."""
    amount: float = 1.0
    """How much of it; 1 is typical."""
    side: float = 1.0
    """The side that leads: +1 right, −1 left."""


@dataclass(frozen=True)
class Action:
    """Something to do that is not going somewhere. It ends in the pose it began with."""

    name: str
    seconds: Callable[[LimbModel, ActionParameters], float]
    """How long it takes this body."""
    suits: Callable[[LimbModel], bool]
    needs: str
    """What a body needs for it, in words."""
    play: Callable[[LimbModel, ActionParameters], Choreography]


def lasting(seconds: float) -> Callable[[LimbModel, ActionParameters], float]:
    """So long on legs of 0.6 m; larger bodies take longer."""
    return lambda body, cue: seconds * float(np.clip((body.rig.leg_metres / 0.6) ** 0.35, 0.6, 1.6))


def still(body: LimbModel, cue: ActionParameters) -> Choreography:
    """Standing as at rest."""
    count = len(cue.u)
    return Choreography(np.zeros((count, 3)), np.zeros(count), np.zeros((count, 3)), standing_feet(body, count))


def vectors(u: Curve, x: Curve | float = 0.0, y: Curve | float = 0.0, z: Curve | float = 0.0) -> Float[np.ndarray, "frame 3"]:
    """Three curves, or constants, as the columns of one array."""
    return np.stack([np.broadcast_to(np.asarray(part, float), u.shape) for part in (x, y, z)], -1)


def wave(u: Curve, count: float = 1.0, at: float = 0.0) -> Curve:
    """``count`` sine waves in the course of the action, starting at a share ``at`` of a wave."""
    return np.sin(2 * np.pi * (count * u + at))
