"""Joint limits of hinges: knees and elbows bend one way.

Pictures of 64 pixels do not show which way a leg is bent, and one that changes over snaps.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.character.leg import MIN_BEND, Leg
from akd.character.limb_model import Arm, limb_model
from akd.rig import Rig

FORWARD = np.array([1.0, 0.0, 0.0])
MIN_ELBOW_SINE = 0.3
"""An upper arm that is held this nearly straight forward (sine) does not tell which way its elbow bends."""
LIMIT_WIDTH = 0.1
"""Width over which the limit sets in, and how much further than a stretched leg a hinge may open [rad]."""
LIMIT_LEAK = 0.1
"""Slope beyond the limit, so that the gradient points back."""


class Hinges(NamedTuple):
    """Joints of legs that fold one way only."""

    joints: Int[Tensor, " hinge"]
    axes: Float[Tensor, "hinge 3"]
    """What turning each of the joint's angles contributes to folding."""
    least: Float[Tensor, " hinge"]
    """How far from rest a hinge may open [rad], not positive."""

    def limited(self, angles: Float[Tensor, "time joint 3"]) -> Float[Tensor, "time joint 3"]:
        """The same angles with every hinge softly limited."""
        fold = (angles[:, self.joints] * self.axes).sum(-1)
        excess = soft_limit(fold - self.least) - (fold - self.least)
        return angles.index_add(1, self.joints, excess[..., None] * self.axes)


def hinges_of(rig: Rig) -> Hinges:
    """Knees and hocks fold as they are bent at rest, or as anatomy says where they are straight; elbows bring hands forward."""
    model = limb_model(rig)
    hinges = [hinge for foot in model.feet for hinge in _knees(foot.leg)] + [
        hinge for arm in model.arms for hinge in _elbows(arm)
    ]
    axes = np.array([axis @ rig.skeleton.frames[joint] for joint, axis, _ in hinges]).reshape(-1, 3)
    least = [min(MIN_BEND - bend, 0.0) - LIMIT_WIDTH for _, _, bend in hinges]
    return Hinges(
        torch.tensor([joint for joint, _, _ in hinges], dtype=torch.long), torch.tensor(axes, dtype=torch.float32),
        torch.tensor(least, dtype=torch.float32),
    )  # fmt: skip


def _knees(leg: Leg) -> Iterator[tuple[int, Float[np.ndarray, " 3"], float]]:
    """Joint, axis of folding on the stage, and bend at rest of every hinge."""
    for joint, sign, bend in zip(leg.chain[1:], leg.signs, leg.rest_bends, strict=False):
        if sign:
            yield joint, sign * leg.normal, float(bend)


def _elbows(arm: Arm) -> Iterator[tuple[int, Float[np.ndarray, " 3"], float]]:
    upper, fore = arm.directions
    axis = np.cross(upper, FORWARD)
    length = np.linalg.norm(axis)
    if arm.fore is not None and length > MIN_ELBOW_SINE:
        yield arm.fore, axis / length, float(np.arcsin(np.clip(np.cross(upper, fore) @ axis / length, -1, 1)))


def soft_limit(excess: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """The number itself where it is clearly positive, little of it where it is negative, and no corner between."""
    near = (excess + LIMIT_WIDTH).clamp(0, 2 * LIMIT_WIDTH).square() / (4 * LIMIT_WIDTH) + (excess - LIMIT_WIDTH).clamp(min=0)
    return LIMIT_LEAK * excess + (1 - LIMIT_LEAK) * near
