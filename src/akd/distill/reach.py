"""How far each of a body's joints goes: what one unit of a curve means for motions that are no gaits."""

import numpy as np
from jaxtyping import Float

from akd.distill.assumptions import has_feet
from akd.posespace.denoiser import Denoiser
from akd.posespace.network import SHIPPED, load_network
from akd.posespace.representation import rig_descriptor
from akd.rig import Rig

ROOT_REACH = (0.1, 0.2, 0.1, 0.3, 0.3, 0.3)
"""Of the root: place [ℓ], turn [rad]. More than in a gait: bodies sit down, turn round and fall."""
LEAST_REACH = 0.1
"""Of a joint that the pose space takes for stiff [rad]: it was taught by gaits, and people bow."""
UNKNOWN_REACH = 0.3
"""Of every joint of a body that the pose space does not know, one without legs [rad]."""
MOST_JOINTS = 500
"""Of a body that the pose space is asked about: its attention takes time and memory with their square (300 joints 33 MB, 1,000
936 MB, 3,000 more than 14 GB), and it was taught by bodies of tens of joints."""


def joint_reach(rig: Rig) -> Float[np.ndarray, " channel"]:
    """What one unit of each curve means: the spread of every angle in the pose space, whatever the sentence."""
    others = rig.skeleton.joint_count - 1
    if not has_feet(rig) or others >= MOST_JOINTS:
        return np.concatenate((ROOT_REACH, np.full(3 * others, UNKNOWN_REACH)))
    spread = Denoiser.of(load_network(SHIPPED), rig_descriptor(rig)).spread.double().numpy()
    return np.concatenate((ROOT_REACH, np.maximum(spread[1:], LEAST_REACH).ravel()))
