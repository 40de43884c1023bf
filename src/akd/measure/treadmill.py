"""Clips from files that walk in place: how fast the ground would have to run, and how high their ground is.

Game artists animate strides under a standing root, and rarely put stance feet at exactly y = 0: they hover or sink by
a few hundredths of a leg. Both are properties of the file, not faults of the gait, so for clips from files both are
estimated, reported, and taken off before contact is judged. Our own motions are always measured against y = 0 and
their own travel.
"""

import numpy as np
from jaxtyping import Float

from akd.measure.contact import CONTACT_HEIGHT, Feet, in_contact

GROUND_REACH = 0.1
"""A stance level farther than this from y = 0 is not an artist's tolerance but a foot in the air (or a hole) [ℓ]."""
STANCE_QUANTILE = 1 / 3
"""The stance level is this quantile of the heights of a foot that is being pulled back: below the middle, since a
galloping foot is still in the air for part of that, but not at the bottom, since toes dig in as they push off."""
STANDING = 0.1
"""A root that gets ahead less than this stays in place [ℓ/s]."""
SLOWEST = 0.2
"""Feet that are pulled back more slowly than this do not walk [ℓ/s]."""
AGREEMENT = 0.5
"""Feet in stance agree if half of their steps are within this share of the common velocity."""


def stance_heights(feet: Feet, ahead: Float[np.ndarray, "frame foot"]) -> Float[np.ndarray, " foot"]:
    """The height of each foot's own ground, at most 0.1 ℓ from y = 0.

    ``ahead`` is how far the foot is in front of the body along its way: stance is where that shrinks.
    """
    back = np.diff(ahead, axis=0) < 0
    levels = [
        np.quantile(height[:-1][going] if going.any() else height, STANCE_QUANTILE)
        for height, going in zip(feet[..., 1].T, back.T, strict=True)
    ]
    return np.clip(np.array(levels, float), -GROUND_REACH, GROUND_REACH)


def treadmill_velocity(feet: Feet, root: Float[np.ndarray, "frame 3"], fps: float) -> Float[np.ndarray, " 3"] | None:
    """The velocity over the ground that an in-place clip pretends to have [ℓ/s]; None if it does not.

    It is opposite to the median velocity of feet in stance, provided the root itself stays and the feet agree. Stance
    are the steps in contact at both ends that go with the mean of such steps, the lower the heavier: swinging feet may
    skim the ground too. Heights are measured from each foot's own ground.
    """
    if len(feet) < 3 or np.linalg.norm((root[-1] - root[0])[[0, 2]]) * fps > STANDING * (len(root) - 1):
        return None
    low = in_contact(feet)
    steps = low[1:] & low[:-1]
    velocity = np.diff(feet[..., [0, 2]], axis=0)[steps] * fps
    depth = CONTACT_HEIGHT - np.maximum(feet[:-1, :, 1][steps], 0)
    stance = velocity[velocity @ (depth @ velocity) > 0]
    if len(stance) < 3 or len(stance) < len(velocity) / 2:
        return None
    common = np.median(stance, axis=0)
    speed = float(np.linalg.norm(common))
    apart = float(np.median(np.linalg.norm(stance - common, axis=1)))
    if speed < SLOWEST or apart > AGREEMENT * speed:
        return None
    return np.array([-common[0], 0.0, -common[1]])


def on_treadmill(
    points: Float[np.ndarray, "frame point 3"], velocity: Float[np.ndarray, " 3"], fps: float
) -> Float[np.ndarray, "frame point 3"]:
    """The points as they would move if the body travelled with this velocity."""
    return points + (np.arange(len(points)) / fps)[:, None, None] * velocity
