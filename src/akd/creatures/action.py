"""What an action on the spot is: its parameters, its duration, and the targets it sets for the body frame by frame."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from akd.character.limb_model import LimbModel
from akd.creatures.targets import BodyTargets, standing_feet

Curve = Float[np.ndarray, " frame"]


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
