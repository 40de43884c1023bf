"""How different motions of one character are."""

from itertools import combinations

import numpy as np

from akd.measure.smoothness import Joints, in_root_frame
from akd.measure.trace import trace
from akd.motion import Motion
from akd.rig import Rig


def diversity(rig: Rig, motions: list[Motion]) -> float | None:
    """Mean distance of joints as seen from the root, over all pairs of motions [ℓ]; None for fewer than two.

    The same stride begun at another moment is the same motion: of two, one is turned in time until they fit best.
    """
    seen = [in_root_frame(found.joints, found.root_rotation) for found in (trace(rig, motion) for motion in motions)]
    frames = min((len(joints) for joints in seen), default=0)
    apart = [_nearest(one[:frames], other[:frames]) for one, other in combinations(seen, 2)]
    return float(np.mean(apart)) if apart else None


def _nearest(one: Joints, other: Joints) -> float:
    """Mean distance at the best shift in time, clips taken as rounds."""
    return min(float(np.linalg.norm(one - np.roll(other, shift, axis=0), axis=-1).mean()) for shift in range(len(one)))
