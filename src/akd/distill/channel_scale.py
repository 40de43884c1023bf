"""How a body holds itself before it is told anything, and how far each of its angles goes from there."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.limb_model import limb_model
from akd.creatures.action import ActionParameters, standing_targets
from akd.creatures.body_ik import solve_motion
from akd.creatures.upright_actions import relaxed_arms
from akd.rig import Rig
from akd.rotations import angles_to_matrix
from akd.skeleton import Pose, Skeleton, forward_kinematics

LIMB_SCALE = 0.5
"""How far one unit of a coefficient turns a joint about its most useful axis [rad]."""
TRUNK_SCALE = 0.1
"""The same for joints of no limb: a bending spine swings two legs alike, and so hides that they should take turns."""
ROOT_SCALE = (0.05, 0.1, 0.05, 0.1, 0.1, 0.1)
"""The same for the root: place [ℓ], turn [rad]."""
LATERAL_SHARE = 0.3
"""A turn that moves a limb sideways counts this much of one that moves it fore and aft or up and down …"""
TWIST_SHARE = 0.1
"""… and one that only twists it, this much."""
HANGING_COSINE = 0.9
"""An arm hangs if it points down at least so well (cosine): one that holds something long was turned away from the ground."""


def neutral_pose(rig: Rig) -> Float[Tensor, "joint 3"]:
    """Angles of a body that stands: arms of people hang, though rigs come with them spread. All else is as at rest.

    Arms that hold something too long for that, such as a sword, stay as they are.
    """
    body, parameters = limb_model(rig), ActionParameters(np.zeros(1))
    arms = relaxed_arms(body, parameters)
    neutral = torch.zeros(rig.skeleton.joint_count, 3)
    if not arms:
        return neutral
    standing = solve_motion(body, replace(standing_targets(body, parameters), arms=arms), fps=1.0).pose
    turned = forward_kinematics(rig.skeleton, standing).rotation[0].numpy()
    hang = [(turned[body.arms[n].upper] @ body.arms[n].directions[0]) @ upper[0] for n, (upper, _) in arms.items()]
    if min(hang) > HANGING_COSINE:
        moved = [joint for arm in body.arms for joint in (arm.upper, arm.fore) if joint is not None]
        neutral[moved] = standing.angles[0, moved].float()
    return neutral


def channel_count(skeleton: Skeleton) -> int:
    """How many curves move a body: six of the root, three for every other joint."""
    return len(ROOT_SCALE) + 3 * (skeleton.joint_count - 1)


def channel_scale(skeleton: Skeleton, neutral: Float[Tensor, "joint 3"] | None = None) -> Float[np.ndarray, " channel"]:
    """What one unit of each curve means: place and turn of the root, then three angles for every other joint.

    Animals move by swinging their limbs fore and aft and lifting them. Of a joint's three axes, those that do this to what
    hangs on the joint are given more reach than those that spread or twist it, whichever way the limb points at neutral.
    """
    angles = (torch.zeros(skeleton.joint_count, 3) if neutral is None else neutral).double()
    outward, axes = _posed_limbs(skeleton, angles)
    use = np.linalg.norm(np.cross(axes, outward[:, None]) * (1.0, 1.0, LATERAL_SHARE), axis=-1)
    limbs = [joint for limb in skeleton.limbs if limb.kind in ("leg", "arm", "wing", "fin") for joint in limb.joints]
    most = np.full(len(use), TRUNK_SCALE)
    most[limbs] = LIMB_SCALE
    return np.concatenate((ROOT_SCALE, (most[:, None] * np.maximum(use, TWIST_SHARE))[1:].ravel()))


def _posed_limbs(
    skeleton: Skeleton, angles: Float[Tensor, "joint 3"]
) -> tuple[Float[np.ndarray, "joint 3"], Float[np.ndarray, "joint 3 3"]]:
    """Unit vectors from each joint to the middle of the bone ends below it, and the three axes about which it turns."""
    rest = skeleton.rest_pose(dtype=torch.float64)
    posed = forward_kinematics(skeleton, Pose(rest.root_position, rest.root_rotation, angles))
    rotation, position = posed.rotation.numpy(), posed.position.numpy()
    total, number = position + np.einsum("jab,jb->ja", rotation, skeleton.tails - skeleton.positions), np.ones(len(position))
    for joint in range(len(number) - 1, 0, -1):
        parent = skeleton.parents[joint]
        total[parent] += total[joint]
        number[parent] += number[joint]
    away = total / number[:, None] - position
    # Rx(a) Ry(b) Rz(c): an angle's axis is turned by the angles before it, and by the parent.
    before = torch.stack([angles * angles.new_tensor(kept) for kept in ((0, 0, 0), (1, 0, 0), (1, 1, 0))])
    turned = np.stack([turn[..., axis] for axis, turn in enumerate(angles_to_matrix(before).numpy())], -1)
    axes = rotation[np.maximum(skeleton.parents, 0)] @ skeleton.frames @ turned
    return away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9), axes.swapaxes(1, 2)
