"""The swing of a run: feet rise behind the body, so that folded legs come forward quickly.

Small films tell the prior little of knees, and stiff legs that swing fore and aft make a run that looks like a hasty walk.
"""

import numpy as np
import torch
from jaxtyping import Float

from akd.character.limb_model import limb_model, local_to_stage
from akd.contact.foot_lock import foot_positions, solve_legs, within_reach
from akd.gait.timing import RECOVERY_HEIGHT
from akd.motion import Motion, from_stage_rotations
from akd.rig import Rig
from akd.skeleton import joint_rotations

LOOSE_FOOT = 0.7
"""How far a lifted foot turns with its shin: toes point down behind the body."""


def with_recovery(rig: Rig, motion: Motion, lift: Float[np.ndarray, "frame leg"]) -> Motion:
    """The motion with every foot raised to ``RECOVERY_HEIGHT`` times its ``lift`` where it is lower, its leg folded."""
    model = limb_model(rig)
    root = motion.pose.root_position.double().numpy()
    rotations = joint_rotations(rig.skeleton, motion.pose.to(torch.float64)).numpy()
    feet = foot_positions(model, root, rotations)
    raised = feet.copy()
    raised[..., 1] += np.maximum(RECOVERY_HEIGHT * lift - np.maximum(feet[..., 1], 0.0), 0.0)
    bent = solve_legs(model, root, rotations, within_reach(model, root, rotations, raised), LOOSE_FOOT * lift)
    stage, _ = local_to_stage(rig.skeleton, root, bent)
    folded = from_stage_rotations(rig.skeleton, torch.as_tensor(root), torch.as_tensor(stage), motion.fps)
    return Motion(folded.pose.to(motion.pose.angles.dtype), motion.fps)
