"""Bodies that fly as far as gravity says.

Between two stances of a run nothing holds the body, so its centre falls with g, and whatever speed it needs for that comes
from the stances. Artists draw this by eye. The least change of height is found with which the centre falls freely in the
air and presses on the ground, not too hard, while a foot stands, for the whole clip at once: a least-squares problem
with bounds, since how hard the ground may push is one, and how far legs reach another.
"""

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import lsq_linear

RISE_COST = 0.05
"""What a shift of 1 ℓ costs against an acceleration that is wrong by g."""
LOAD_CHANGE_COST = 1e-4
"""What a push of the ground that changes by one weight from frame to frame costs, against the same."""
MAX_LOAD = 3.0
"""Greatest load on the legs, in weights."""
FREE_FALL_TOLERANCE = 1e-3
"""In the air the body falls with g up to this share; the solver wants bounds with a little room between them."""
HeightCurve = Float[np.ndarray, " frame"]


def in_free_fall(stands: Bool[np.ndarray, "frame foot"]) -> Bool[np.ndarray, " frame"]:
    """Frames in which, and on both sides of which, no foot stands: the acceleration seen there is gravity's alone."""
    air = ~stands.any(1)
    return np.convolve(air, np.ones(3), mode="same") > 2.5


def ballistic_rise(
    height: HeightCurve, flies: Bool[np.ndarray, " frame"], most: HeightCurve, gravity: float, fps: float
) -> HeightCurve:
    """How far the centre must be raised in every frame [ℓ], and nowhere further than ``most``, where that is finite.

    Nowhere at all where the height is one that a body on its feet can have.
    """
    count = len(height)
    bend = np.diff(np.eye(count), 2, axis=0) * fps**2 / gravity
    pushed, flies = 1 + bend @ height, flies[1:-1]
    if not flies.any() and pushed.min() >= 0 and pushed.max() <= MAX_LOAD:
        return np.zeros(count)
    # Unknown are the shift c and how hard the ground pushes, p: (h + c)″/g + 1 = p.
    keep, even = RISE_COST**0.5 * np.eye(count), LOAD_CHANGE_COST**0.5 * np.diff(np.eye(count - 2), axis=0)
    rows = np.block([[bend, -np.eye(count - 2)], [keep, np.zeros((count, count - 2))], [np.zeros((count - 3, count)), even]])
    wanted = np.concatenate((-pushed, np.zeros(2 * count - 3)))
    lower = np.concatenate((np.full(count, -np.inf), np.zeros(count - 2)))
    upper = np.concatenate((most, np.where(flies, FREE_FALL_TOLERANCE, MAX_LOAD)))
    return lsq_linear(rows, wanted, (lower, upper)).x[:count]
