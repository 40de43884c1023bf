"""How far a simulated body is from its target: AKD's tracking loss on the bones' transforms, and the same for the soles."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.physics.body import Body
from akd.pose import Pose
from akd.rig import Rig
from akd.skeleton import Posed, Skeleton, forward_kinematics


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
    turn: float
    feet: float
    leg_count: int

    @classmethod
    def of(cls, rig: Rig, body: Body, pose: Pose, turn: float, feet: float) -> "Objective":
        posed = forward_kinematics(rig.skeleton, pose)
        links = torch.as_tensor(body.joints)
        on_sole = torch.as_tensor(body.point_leg >= 0)
        joint = links[torch.as_tensor(body.point_link)][on_sole]
        offset = torch.as_tensor(body.points, dtype=pose.angles.dtype)[on_sole]
        soles = _carried(posed, joint, offset)
        return cls(rig.skeleton, posed, links, joint, offset, soles, turn, feet, len(rig.legs))

    def __call__(self, pose: Pose, at: Int[Tensor, "moment window"]) -> tuple[Float[Tensor, ""], float]:
        """``Σ ‖q − q̂‖₁`` over the bones, mean over moments and windows, and the mean distance of joints [ℓ].

        q is a bone's position and its rotation matrix; soles count as if each foot were one more bone. The first moment of
        a window is given, not simulated.
        """
        posed = forward_kinematics(self.skeleton, pose)
        here = Posed(posed.rotation[1:], posed.position[1:])
        wanted = Posed(self.target.rotation[at[1:]], self.target.position[at[1:]])
        apart = _sum_of_means((here.position - wanted.position)[..., self.links, :], 1)
        apart = apart + self.turn * _sum_of_means((here.rotation - wanted.rotation)[..., self.links, :, :], 2)
        if self.feet:
            missed = _carried(here, self.sole_joint, self.sole_offset) - self.sole_target[at[1:]]
            apart = apart + self.feet * self.leg_count / len(self.sole_joint) * _sum_of_means(missed, 1)
        error = (here.position - wanted.position).detach().norm(dim=-1).mean()
        return apart, float(error)


def _carried(posed: Posed, joint: Int[Tensor, " point"], offset: Float[Tensor, "point 3"]) -> Float[Tensor, "*batch point 3"]:
    """Points that move with joints."""
    return (posed.rotation[..., joint, :, :] @ offset[:, :, None]).squeeze(-1) + posed.position[..., joint, :]


def _sum_of_means(difference: Tensor, axes: int) -> Tensor:
    """L1 over bones and their coordinates, mean over moments and windows."""
    return difference.abs().flatten(-1 - axes).sum(-1).mean()
