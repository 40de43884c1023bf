"""Bodies of other proportions: longer trunks, shorter arms, larger heads, on the same legs.

Lengths are in leg lengths, so legs stay as they are, and with them every foot on the ground; what is above the hips is drawn
longer or shorter. So one captured person becomes many, without retargeting.
"""

from dataclasses import replace

import numpy as np

from akd.skeleton import Kind, Skeleton

SPREAD: dict[Kind, float] = {"spine": 0.16, "arm": 0.16, "neck": 0.25, "head": 0.3, "tail": 0.25, "wing": 0.15, "fin": 0.2}
"""Standard deviation of the logarithm of how much longer limbs of a kind are; both sides alike."""


def stretched(skeleton: Skeleton, rng: np.random.Generator) -> Skeleton:
    """The same skeleton with random proportions."""
    factor = {kind: float(np.exp(spread * rng.normal())) for kind, spread in SPREAD.items()}
    kind_of: dict[int, Kind] = {joint: limb.kind for limb in skeleton.limbs for joint in limb.joints}
    legs = [joint for limb in skeleton.limbs_of("leg") for joint in limb.joints]
    carries = np.asarray(skeleton.is_ancestor[:, legs]).sum(1) > 0
    positions, tails = skeleton.positions.copy(), skeleton.tails.copy()
    for joint in range(skeleton.joint_count):
        parent, kind = int(skeleton.parents[joint]), kind_of.get(joint, "spine")
        first = parent < 0 or kind_of.get(parent, "spine") != kind  # a limb is joined to the body by a piece of the body
        along = 1.0 if kind == "leg" and not first else factor["spine" if first else kind]
        # What carries legs only gets longer, not higher: its feet stay on the ground.
        scale = np.array((along, 1.0, 1.0)) if carries[joint] else np.full(3, along)
        if parent >= 0:
            positions[joint] = positions[parent] + scale * (skeleton.positions[joint] - skeleton.positions[parent])
        own = 1.0 if kind == "leg" else factor[kind]
        tails[joint] = positions[joint] + own * (skeleton.tails[joint] - skeleton.positions[joint])
    return replace(skeleton, positions=positions, tails=tails)
