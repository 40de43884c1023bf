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
    """Of the parts of the loss, against the bones' positions."""

    turn: float
    """Rotations."""
    feet: float
    """The soles' touching points; 0 leaves AKD's loss."""
    pace: float
    """Changes from frame to frame, of bones and soles; 0 leaves AKD's loss."""
    stand: float
    """Changes from frame to frame over the ground of soles that should stand, besides ``pace``."""
    clear: float
    """How far soles that should swing are below where they should be, besides ``feet``."""


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
    sole_stands: Bool[Tensor, "frame sole_point"]
    """Is the foot of this point one that stands?"""
    leg_count: int
    weights: Weights

    @classmethod
    def of(cls, rig: Rig, body: Articulation, pose: Pose, stance: Stance, weights: Weights) -> "Objective":
        posed = forward_kinematics(rig.skeleton, pose)
        links = torch.as_tensor(body.joints)
        on_sole = torch.as_tensor(body.point_leg >= 0)
        joint = links[torch.as_tensor(body.point_link)][on_sole]
        offset = torch.as_tensor(body.points, dtype=pose.angles.dtype)[on_sole]
        soles, stands = _carried(posed, joint, offset), torch.as_tensor(stance)[:, body.point_leg[body.point_leg >= 0]]
        return cls(rig.skeleton, posed, links, joint, offset, soles, stands, len(rig.legs), weights)

    def __call__(self, pose: Pose, at: Int[Tensor, "moment window"]) -> tuple[Float[Tensor, ""], float]:
        """``Σ ‖q − q̂‖₁`` over the bones, mean over moments and windows, and the mean distance of joints [ℓ].

        q is a bone's position and its rotation matrix; soles count as if each foot were one more bone. The first moment of
        a window is given, not simulated.
        """
        posed = forward_kinematics(self.skeleton, pose)
        off = posed.position - self.target.position[at]
        turned = posed.rotation[1:] - self.target.rotation[at[1:]]
        apart = self._apart(off[..., self.links, :]) + self.weights.turn * _sum_of_means(turned[..., self.links, :, :], 2)
        if self.weights.feet:
            missed = _carried(posed, self.sole_joint, self.sole_offset) - self.sole_target[at]
            faults = sum(_sum_of_means(part, axes) for part, axes in zip(self._faults(missed, at), (1, 0), strict=True))
            apart = apart + self._per_sole * (self._apart(missed) + faults)
        return apart, float(off[1:].detach().norm(dim=-1).mean())

    def residuals(self, pose: Pose, at: Int[Tensor, "moment window"]) -> Float[Tensor, "window residual"]:
        """The same differences for each window in one row, to be squared."""
        posed, w = forward_kinematics(self.skeleton, pose), self.weights
        off = (posed.position - self.target.position[at])[..., self.links, :]
        missed = (_carried(posed, self.sole_joint, self.sole_offset) - self.sole_target[at]) * self._per_sole**0.5
        points = torch.cat((off, missed), -2)
        turned = (posed.rotation[1:] - self.target.rotation[at[1:]])[..., self.links, :, :]
        parts = (points[1:], w.pace * points.diff(dim=0), w.turn * turned, *self._faults(missed, at))
        return torch.cat([part.transpose(0, 1).flatten(1) for part in parts], 1)

    def _faults(
        self, missed: Float[Tensor, "moment window point 3"], at: Int[Tensor, "moment window"]
    ) -> tuple[Float[Tensor, "step window point 2"], Float[Tensor, "step window point"]]:
        """Where standing soles slip, and where swinging ones are too low, both with their weights."""
        stands = self.sole_stands[at]
        slips = missed.diff(dim=0)[..., (0, 2)] * (stands[1:] & stands[:-1])[..., None]
        low = -missed[1:, ..., 1].clamp(max=0) * ~stands[1:]
        return self.weights.stand * slips, self.weights.clear * low

    @property
    def _per_sole(self) -> float:
        """Weight of a sole's point, so that each foot counts as one more bone."""
        return self.weights.feet * self.leg_count / len(self.sole_joint)

    def _apart(self, off: Float[Tensor, "moment window point 3"]) -> Float[Tensor, ""]:
        """How far points are from where they should be, and how much that changes from moment to moment."""
        apart = _sum_of_means(off[1:], 1)
        return apart + self.weights.pace * _sum_of_means(off.diff(dim=0), 1) if self.weights.pace else apart


def _carried(posed: Posed, joint: Int[Tensor, " point"], offset: Float[Tensor, "point 3"]) -> Float[Tensor, "*batch point 3"]:
    """Points that move with joints."""
    return (posed.rotation[..., joint, :, :] @ offset[:, :, None]).squeeze(-1) + posed.position[..., joint, :]


def _sum_of_means(difference: Tensor, axes: int) -> Tensor:
    """L1 over bones and their coordinates, mean over moments and windows."""
    return difference.abs().flatten(-1 - axes).sum(-1).mean()
