"""Where the ground of a clip is, and how fast it would have to run under a clip that walks in place.

Game artists animate strides under a standing root, and rarely put stance feet at exactly y = 0: they hover or sink by a few
hundredths of a leg. Both are properties of the file, not faults of the gait. Measuring takes them off before contact is judged
(``stance_heights``, ``treadmill_velocity``); preparing and retargeting correct them (``ground_line``, ``foot_levels``,
``implied_velocity``). Motions made here are measured against y = 0 and their own travel.
"""

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d, percentile_filter

from akd.contact.measures import CONTACT_HEIGHT, Feet, in_contact

MAX_GROUND_OFFSET = 0.1
"""A stance level farther than this from y = 0 is not an artist's tolerance but a foot in the air (or a hole) [ℓ]."""
STANCE_QUANTILE = 1 / 3
"""The stance level is this quantile of the heights of a foot that is being pulled back: below the middle, since a
galloping foot is still in the air for part of that, but not at the bottom, since toes dig in as they push off."""
MAX_IN_PLACE_SPEED = 0.1
"""A root that gets ahead less than this stays in place [ℓ/s]."""
MIN_RETRACTION_SPEED = 0.2
"""Feet that are pulled back more slowly than this do not walk [ℓ/s]."""
MAX_DISAGREEMENT = 0.5
"""Feet in stance agree if half of their steps are within this share of the common velocity."""
GROUND_WINDOW = 0.4
"""Within this long before and after any moment a body that is not flying has touched the ground [s]."""
GROUND_PERCENTILE = 30
"""Per cent of that time it is on the ground or, where toes dig in, below it."""
STANCE_HEIGHT = 0.04
"""A foot this near to its own ground may be standing [ℓ]."""
MIN_RETRACTION = 0.3
"""A standing foot moves back under the body with at least this share of the body's speed: drawn stance feet move by a sine."""
FootVelocities = Float[np.ndarray, "frame foot 2"]
"""Forward and rightward velocity of feet relative to the body [ℓ/s]."""


def ground_line(lowest: Float[np.ndarray, " frame"], fps: float) -> Float[np.ndarray, " frame"]:
    """The height of the ground under a motion that floats, sinks or drifts: what its lowest point keeps coming back to."""
    reach = max(round(GROUND_WINDOW * fps), 1)
    level = percentile_filter(lowest, GROUND_PERCENTILE, size=2 * reach + 1, mode="nearest")
    return gaussian_filter1d(level, reach / 2, mode="nearest")


def foot_levels(height: Float[np.ndarray, "frame foot"], ahead: Float[np.ndarray, "frame foot"]) -> Float[np.ndarray, " foot"]:
    """The height at which each foot stands: low, and while it is pulled back under the body where it walks at all."""
    back = np.diff(ahead, axis=0, append=ahead[-1:]) < 0
    pulled = [np.quantile(h[b] if b.any() else h, STANCE_QUANTILE) for h, b in zip(height.T, back.T, strict=True)]
    return np.minimum(np.array(pulled, float), np.quantile(height, STANCE_QUANTILE, axis=0))


def stance_heights(feet: Feet, ahead: Float[np.ndarray, "frame foot"]) -> Float[np.ndarray, " foot"]:
    """The height of each foot's own ground, at most 0.1 ℓ from y = 0.

    ``ahead`` is how far the foot is in front of the body along its way: stance is where that shrinks.
    """
    back = np.diff(ahead, axis=0) < 0
    levels = [
        np.quantile(height[:-1][going] if going.any() else height, STANCE_QUANTILE)
        for height, going in zip(feet[..., 1].T, back.T, strict=True)
    ]
    return np.clip(np.array(levels, float), -MAX_GROUND_OFFSET, MAX_GROUND_OFFSET)


def implied_velocity(height: Float[np.ndarray, "frame foot"], velocities: FootVelocities) -> Float[np.ndarray, " 2"] | None:
    """How fast the body goes (forward, to the right) if standing feet stand; None if they do not agree or do not walk.

    Standing are low feet that move the way most low feet move, the lower the heavier. Their mean is taken, not their
    median: it brings feet that speed up and slow down over their stance back to where they stood.
    """
    depth = np.clip(STANCE_HEIGHT - np.maximum(height, 0.0), 0.0, None)
    flow = (depth[..., None] * velocities).sum((0, 1))
    stance = (depth > 0) & (velocities @ flow > 0)
    if stance.sum() < 3 or stance.sum() < (depth > 0).sum() / 2:
        return None
    common = np.median(velocities[stance], axis=0)
    stance &= velocities @ common > MIN_RETRACTION * (common @ common)
    mean = np.average(velocities[stance], axis=0, weights=depth[stance]) if stance.any() else common
    speed, apart = np.linalg.norm(mean), np.median(np.linalg.norm(velocities[stance] - mean, axis=-1))
    return None if speed < MIN_RETRACTION_SPEED or apart > MAX_DISAGREEMENT * speed else -mean


def treadmill_velocity(feet: Feet, root: Float[np.ndarray, "frame 3"], fps: float) -> Float[np.ndarray, " 3"] | None:
    """The velocity over the ground that an in-place clip pretends to have [ℓ/s]; None if it does not.

    It is opposite to the median velocity of feet in stance, provided the root itself stays and the feet agree. Stance
    are the steps in contact at both ends that go with the mean of such steps, the lower the heavier: swinging feet may
    skim the ground too. Heights are measured from each foot's own ground.
    """
    if len(feet) < 3 or np.linalg.norm((root[-1] - root[0])[[0, 2]]) * fps > MAX_IN_PLACE_SPEED * (len(root) - 1):
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
    if speed < MIN_RETRACTION_SPEED or apart > MAX_DISAGREEMENT * speed:
        return None
    return np.array([-common[0], 0.0, -common[1]])


def on_treadmill(
    points: Float[np.ndarray, "frame point 3"], velocity: Float[np.ndarray, " 3"], fps: float
) -> Float[np.ndarray, "frame point 3"]:
    """The points as they would move if the body travelled with this velocity."""
    return points + (np.arange(len(points)) / fps)[:, None, None] * velocity
