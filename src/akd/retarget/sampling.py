"""Finer time. Feet land between the frames of a clip: a stride of a game has 16 to 36, so that one is .03 to .06 of it.

Feet are locked, and contacts compared, at ``CONTACT_RATE``; what comes out has the frames of the clip again.
"""

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.character.limb_model import FrameVectors, JointRotations

CONTACT_RATE = 120.0
"""At least about this many frames a second are looked at where feet meet the ground: captures have as many."""


def steps_per_frame(fps: float) -> int:
    """How many steps a frame is divided into."""
    return max(round(CONTACT_RATE / fps), 1)


def divided(
    root: FrameVectors, rotations: JointRotations, steps: int
) -> tuple[Float[np.ndarray, "step 3"], Float[np.ndarray, "step joint 3 3"]]:
    """A motion with every frame divided into so many steps, on cubic curves through the frames, which stay as they are."""
    if steps == 1:
        return root, rotations
    turns = Rotation.from_matrix(rotations.reshape(-1, 3, 3)).as_quat().reshape(*rotations.shape[:2], 4)
    flips = np.where((turns[1:] * turns[:-1]).sum(-1, keepdims=True) < 0, -1.0, 1.0)
    turns[1:] *= np.cumprod(flips, axis=0)
    between = _cubic(turns, steps)
    matrices = Rotation.from_quat(between.reshape(-1, 4)).as_matrix().reshape(*between.shape[:2], 3, 3)
    matrices[::steps] = rotations
    return _cubic(root, steps), matrices


def _cubic(values: Float[np.ndarray, " frame *shape"], steps: int) -> Float[np.ndarray, " step *shape"]:
    """Catmull–Rom curves through frames; straight on beyond the ends."""
    ahead = 2 * values[-1:] - values[-2:-1]
    padded = np.concatenate((2 * values[:1] - values[1:2], values, ahead))
    a, b, c, d = (padded[by : by + len(values) - 1, None] for by in range(4))
    u = (np.arange(steps) / steps).reshape(1, -1, *[1] * (values.ndim - 1))
    curve = b + u * ((c - a) / 2 + u * ((2 * a - 5 * b + 4 * c - d) / 2 + u * (3 * (b - c) + d - a) / 2))
    return np.concatenate((curve.reshape(-1, *values.shape[1:]), values[-1:]))
