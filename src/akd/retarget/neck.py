"""Heads that reach the ground: where the source lowers its head as an animal does that eats, so does the target.

Necks differ in length and in how they are carried, so the same rotations end at another height. The neck is bent further, or
less, until the snout is as high as the source's, as a share of its height at rest.
"""

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from akd.character.limb_model import FrameVectors, JointRotations, limb_model, local_to_stage
from akd.contact.stance import quintic_step
from akd.contact.traces import yaw
from akd.retarget.transfer import Performance
from akd.rig import Rig
from akd.skeleton import Skeleton

LOW, LOWEST = 0.6, 0.3
"""Below the first share of its height at rest a head is being lowered; at the second its height counts fully."""
ITERATIONS, STEP = 10, 0.35
"""Newton steps for the bend of the neck, and the largest of them [rad]."""
SMOOTHING = 0.06
"""Standard deviation of the bend in time [s]."""


def lower_head(source: Rig, target: Rig, seen: Performance, root: FrameVectors, local: JointRotations) -> JointRotations:
    """The same rotations with the neck bent so that the snout is as low as the source's, where that is low."""
    ours, theirs = _neck(target), _neck(source)
    if not ours or not theirs or limb_model(target).is_upright:
        return local
    rest = source.skeleton.tails[theirs[-1], 1], target.skeleton.tails[ours[-1], 1]
    share = _snout(source.skeleton, theirs[-1], seen)[:, 1] / max(rest[0], 1e-9)
    weight = quintic_step((LOW - share) / (LOW - LOWEST))
    if min(rest) < 0.1 or weight.max() <= 0:
        return local
    bend = np.zeros(len(root))
    for _ in range(ITERATIONS):
        bent = _bent(local, ours, bend)
        posed = Performance(*local_to_stage(target.skeleton, root, bent), seen.fps)
        missing = weight * (np.maximum(share, 0.0) * rest[1] - _snout(target.skeleton, ours[-1], posed)[:, 1])
        lever = _snout(target.skeleton, ours[-1], posed) - posed.positions[:, ours[0]]
        heading = yaw(posed.rotations[:, 0])
        ahead = lever[:, 0] * np.cos(heading) - lever[:, 2] * np.sin(heading)
        # Bent evenly, a chain moves its end by about two thirds of what its first joint alone would.
        bend += np.clip(missing / np.maximum(0.66 * ahead, 0.25 * np.linalg.norm(lever, axis=1)), -STEP, STEP)
    return _bent(local, ours, gaussian_filter1d(bend, max(SMOOTHING * seen.fps, 0.5), mode="nearest"))


def _neck(rig: Rig) -> list[int]:
    """Joints of neck and head, from the body outwards, along the main chain."""
    head = rig.skeleton.limbs_of("head")
    tip = head[0].tip if head else None
    return [joint for joint in limb_model(rig).neck if tip is not None and rig.skeleton.is_ancestor[joint, tip]]


def _snout(skeleton: Skeleton, joint: int, performance: Performance) -> FrameVectors:
    return performance.positions[:, joint] + performance.rotations[:, joint] @ (skeleton.tails[joint] - skeleton.positions[joint])


def _bent(local: JointRotations, joints: list[int], bend: Float[np.ndarray, " frame"]) -> JointRotations:
    """Pitch the joints of a chain together by this angle, up where it is positive [rad]."""
    out = local.copy()
    turn = Rotation.from_rotvec((bend / len(joints))[:, None] * np.array([0.0, 0.0, 1.0])).as_matrix()
    for joint in joints:
        out[:, joint] = turn @ out[:, joint]
    return out
