"""Knees and elbows: they fold one way, rest is left alone, and the way back is felt."""

import numpy as np
import pytest
import torch

from akd.character.hinges import LIMIT_LEAK, LIMIT_WIDTH, hinges_of, soft_limit
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.skeleton import Pose, forward_kinematics

PLANS = ["human", "dog", "horse", "ostrich", "spider"]


def test_the_limit_is_smooth_and_never_flat() -> None:
    x = torch.linspace(-1, 1, 4001, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(soft_limit(x).sum(), x)
    assert slope.min() >= LIMIT_LEAK - 1e-9
    assert slope.max() <= 1 + 1e-9
    assert slope.diff().abs().max() < 1e-2
    torch.testing.assert_close(soft_limit(x)[x > LIMIT_WIDTH], x[x > LIMIT_WIDTH])


@pytest.mark.parametrize("plan", PLANS)
def test_rest_and_our_own_walks_are_left_alone(plan: str) -> None:
    rig = creature(plan, 1)
    hinges = hinges_of(rig)
    assert len(hinges.joints) >= len(rig.legs)
    rest = torch.zeros(1, len(rig.skeleton.names), 3)
    torch.testing.assert_close(hinges.limited(rest), rest, atol=1e-6, rtol=0)
    walk = gait_motion(rig, "walk").pose.angles.float()
    assert (hinges.limited(walk) - walk).abs().max() < 0.12


def test_knees_that_bend_backwards_are_stopped_and_others_are_not() -> None:
    rig = creature("human", 1)
    hinges, names = hinges_of(rig), rig.skeleton.names
    knee = names.index("left_shin")
    assert knee in hinges.joints.tolist()
    index = hinges.joints.tolist().index(knee)
    feet = []
    for amount in (-0.8, 0.8):
        angles = torch.zeros(1, len(names), 3)
        angles[:, knee] = amount * hinges.axes[index]
        root = torch.tensor(rig.skeleton.positions[:1], dtype=torch.float32)
        pose = Pose(root, torch.tensor([[1.0, 0, 0, 0]]), hinges.limited(angles))
        feet.append(forward_kinematics(rig.skeleton, pose).position[0, rig.legs[0].tip].numpy())
    back = feet[1] - rig.skeleton.positions[rig.legs[0].tip]
    assert back[0] < -0.2, "a folded knee takes the foot backwards"
    opened = np.linalg.norm(feet[0] - rig.skeleton.positions[rig.legs[0].tip])
    assert opened < 0.5 * np.linalg.norm(back)
