"""How fast a wave along the body carries it: snakes on the ground, fish and eels in water."""

import numpy as np
from jaxtyping import Float

MIN_WINDING = 0.02
"""Least mean square sine of the angle between body and way for which the wave has something to push against."""


def carried_speed(axis: Float[np.ndarray, "frame point 3"], fps: float) -> float | None:
    """The forward speed at which no part of the body's axis moves sideways to itself, as nearly as possible [ℓ/s].

    A body that slides easily along itself and hardly across (scales on ground, a slender body in water: resistive force theory,
    Gray and Hancock 1955) gets on so that it follows its own track. ``axis``: points from the hind end to the head, of a body
    that does not travel. None where the body is too straight for that. Waves may run sideways or, as a dolphin's, up and down.
    """
    velocity = np.diff(axis, axis=0) * fps
    along = np.gradient((axis[1:] + axis[:-1]) / 2, axis=1)
    along /= np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-9)
    across = np.array([1.0, 0.0, 0.0]) - along[..., :1] * along  # of the way ahead, what is across the body
    winding = float(np.square(across).sum(-1).mean())
    if winding < MIN_WINDING:
        return None
    sideways = velocity - (velocity * along).sum(-1, keepdims=True) * along
    return float(-(across * sideways).sum(-1).mean()) / winding
