"""How far a simulated body is from its target: AKD's tracking loss on the bones' transforms, and the same for the soles."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.character.articulation import Articulation
from akd.contact.stance import Stance
from akd.rig import Rig
from akd.skeleton import Pose, Posed, Skeleton, forward_kinematics


class Weights(NamedTuple):
    """Weights of the terms of the loss, relative to the bones' positions."""

    rotation: float
    """Rotations of bones."""
    soles: float
    """Contact points of the soles; 0 leaves AKD's loss."""
    velocity: float
    """Changes from frame to frame, of bones and soles; 0 leaves AKD's loss."""
    slip: float
    """Changes from frame to frame over the ground of soles in stance, besides ``velocity``."""
    clearance: float
    """How far swinging soles are below their target, besides ``soles``."""


@dataclass(frozen=True, eq=False)
class Objective:
    """The tracking loss of poses at given frames against a target motion."""

    skeleton: Skeleton
    target: Posed
    links: Int[Tensor, " link"]
    """The simulated joints."""
    sole_joint: Int[Tensor, " sole_point"]
    sole_offset: Float[Tensor, "sole_point 3"]
    sole_target: Float[Tensor, "frame sole_point 3"]
    sole_in_stance: Bool[Tensor, "frame sole_point"]
    """Is the foot of this point in stance?"""
    leg_count: int
    weights: Weights

    @classmethod
    def of(cls, rig: Rig, body: Articulation, pose: Pose, stance: Stance, weights: Weights) -> "Objective":
        posed = forward_kinematics(rig.skeleton, pose)
        links = torch.as_tensor(body.joints)
        on_sole = torch.as_tensor(body.point_leg >= 0)
        joint = links[torch.as_tensor(body.point_link)][on_sole]
        offset = torch.as_tensor(body.points, dtype=pose.angles.dtype)[on_sole]
        soles, in_stance = _carried(posed, joint, offset), torch.as_tensor(stance)[:, body.point_leg[body.point_leg >= 0]]
        return cls(rig.skeleton, posed, links, joint, offset, soles, in_stance, len(rig.legs), weights)

    def __call__(self, pose: Pose, at: Int[Tensor, "moment window"]) -> tuple[Float[Tensor, ""], float]:
        """``Σ ‖q − q̂‖₁`` over the bones, mean over moments and windows, and the mean distance of joints [ℓ].

        q is a bone's position and its rotation matrix; soles count as if each foot were one more bone. The first moment of
        a window is given, not simulated.
        """
        posed = forward_kinematics(self.skeleton, pose)
        joint_error = posed.position - self.target.position[at]
        rotation_error = posed.rotation[1:] - self.target.rotation[at[1:]]
        loss = self._position_error(joint_error[..., self.links, :])
        loss = loss + self.weights.rotation * _sum_of_means(rotation_error[..., self.links, :, :], 2)
        if self.weights.soles:
            sole_error = _carried(posed, self.sole_joint, self.sole_offset) - self.sole_target[at]
            slip, sunk = self._foot_terms(sole_error, at)
            foot_terms = _sum_of_means(slip, 1) + _sum_of_means(sunk, 0)
            loss = loss + self._sole_weight * (self._position_error(sole_error) + foot_terms)
        return loss, float(joint_error[1:].detach().norm(dim=-1).mean())

    def residuals(self, pose: Pose, at: Int[Tensor, "moment window"]) -> Float[Tensor, "window residual"]:
        """The same differences for each window in one row, to be squared."""
        posed, w = forward_kinematics(self.skeleton, pose), self.weights
        joint_error = (posed.position - self.target.position[at])[..., self.links, :]
        sole_error = (_carried(posed, self.sole_joint, self.sole_offset) - self.sole_target[at]) * self._sole_weight**0.5
        points = torch.cat((joint_error, sole_error), -2)
        rotation_error = (posed.rotation[1:] - self.target.rotation[at[1:]])[..., self.links, :, :]
        parts = (points[1:], w.velocity * points.diff(dim=0), w.rotation * rotation_error, *self._foot_terms(sole_error, at))
        return torch.cat([part.transpose(0, 1).flatten(1) for part in parts], 1)

    def _foot_terms(
        self, sole_error: Float[Tensor, "moment window point 3"], at: Int[Tensor, "moment window"]
    ) -> tuple[Float[Tensor, "step window point 2"], Float[Tensor, "step window point"]]:
        """Where standing soles slip, and how far swinging ones are too low, both with their weights."""
        in_stance = self.sole_in_stance[at]
        slip = sole_error.diff(dim=0)[..., (0, 2)] * (in_stance[1:] & in_stance[:-1])[..., None]
        sunk = -sole_error[1:, ..., 1].clamp(max=0) * ~in_stance[1:]
        return self.weights.slip * slip, self.weights.clearance * sunk

    @property
    def _sole_weight(self) -> float:
        """Weight of a sole's point, so that each foot counts as one more bone."""
        return self.weights.soles * self.leg_count / len(self.sole_joint)

    def _position_error(self, error: Float[Tensor, "moment window point 3"]) -> Float[Tensor, ""]:
        """L1 distance of points from their targets, and how much it changes from moment to moment."""
        loss = _sum_of_means(error[1:], 1)
        return loss + self.weights.velocity * _sum_of_means(error.diff(dim=0), 1) if self.weights.velocity else loss


def _carried(posed: Posed, joint: Int[Tensor, " point"], offset: Float[Tensor, "point 3"]) -> Float[Tensor, "*batch point 3"]:
    """Points that move with joints."""
    return (posed.rotation[..., joint, :, :] @ offset[:, :, None]).squeeze(-1) + posed.position[..., joint, :]


def _sum_of_means(difference: Tensor, axes: int) -> Tensor:
    """L1 over bones and their coordinates, mean over moments and windows."""
    return difference.abs().flatten(-1 - axes).sum(-1).mean()
