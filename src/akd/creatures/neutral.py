"""How a body holds itself before it is told anything."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.limb_model import limb_model
from akd.creatures.body_ik import solve_motion
from akd.creatures.targets import ActionParameters, standing_targets
from akd.creatures.upright_actions import relaxed_arms
from akd.rig import Rig
from akd.skeleton import forward_kinematics

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
