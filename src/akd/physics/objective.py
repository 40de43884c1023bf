"""How far a simulated body is from its target: AKD's tracking loss on the bones' transforms, and the same for the soles."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.physics.body import Body
from akd.pose import Pose
from akd.rig import Rig
from akd.skeleton import Posed, Skeleton, forward_kinematics


class Weights(NamedTuple):
    """Of the parts of the loss, against the bones' positions."""

    turn: float
    """Rotations."""
    feet: float
    """The soles' touching points; 0 leaves AKD's loss."""


@dataclass(frozen=True, eq=False)
class Objective:
    """A target motion, and weights. Called with poses and the frames they belong to."""

    skeleton: Skeleton
    target: Posed
    links: Int[Tensor, " link"]
    """The simulated joints."""
    sole_joint: Int[Tensor, " sole_point"]
    sole_offset: Float[Tensor, "sole_point 3"]
    sole_target: Float[Tensor, "frame sole_point 3"]
    leg_count: int
    weights: Weights

    @classmethod
    def of(cls, rig: Rig, body: Body, pose: Pose, weights: Weights) -> "Objective":
        posed = forward_kinematics(rig.skeleton, pose)
        links = torch.as_tensor(body.joints)
        on_sole = torch.as_tensor(body.point_leg >= 0)
        joint = links[torch.as_tensor(body.point_link)][on_sole]
        offset = torch.as_tensor(body.points, dtype=pose.angles.dtype)[on_sole]
        soles = _carried(posed, joint, offset)
        return cls(rig.skeleton, posed, links, joint, offset, soles, len(rig.legs), weights)

    def __call__(self, pose: Pose, at: Int[Tensor, "moment window"]) -> tuple[Float[Tensor, ""], float]:
        """``Σ ‖q − q̂‖₁`` over the bones, mean over moments and windows, and the mean distance of joints [ℓ].

        q is a bone's position and its rotation matrix; soles count as if each foot were one more bone. The first moment of
        a window is given, not simulated.
        """
        posed = forward_kinematics(self.skeleton, pose)
        here = Posed(posed.rotation[1:], posed.position[1:])
        off = here.position - self.target.position[at[1:]]
        apart = _sum_of_means(off[..., self.links, :], 1)
        turned = here.rotation - self.target.rotation[at[1:]]
        apart = apart + self.weights.turn * _sum_of_means(turned[..., self.links, :, :], 2)
        if self.weights.feet:
            missed = _carried(here, self.sole_joint, self.sole_offset) - self.sole_target[at[1:]]
            apart = apart + self.weights.feet * self.leg_count / len(self.sole_joint) * _sum_of_means(missed, 1)
        return apart, float(off.detach().norm(dim=-1).mean())


def _carried(posed: Posed, joint: Int[Tensor, " point"], offset: Float[Tensor, "point 3"]) -> Float[Tensor, "*batch point 3"]:
    """Points that move with joints."""
    return (posed.rotation[..., joint, :, :] @ offset[:, :, None]).squeeze(-1) + posed.position[..., joint, :]


def _sum_of_means(difference: Tensor, axes: int) -> Tensor:
    """L1 over bones and their coordinates, mean over moments and windows."""
    return difference.abs().flatten(-1 - axes).sum(-1).mean()
