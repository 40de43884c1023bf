"""What a motion should be besides pleasing the prior: smooth, above the ground, and standing where it stands."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.cuboids import Cuboids, bone_cuboids, cuboid_corners
from akd.pose import Pose
from akd.rig import Rig
from akd.skeleton import Posed, Skeleton
from akd.skinning import skin_points

STANCE = 0.05
"""Feet this low stand rather than swing [ℓ], softly."""
SOLE_POINTS = 12
"""Most vertices of a sole that are followed."""


@dataclass(frozen=True, eq=False)
class Footing:
    """What touches the ground."""

    skeleton: Skeleton
    cuboids: Cuboids
    points: Float[Tensor, "foot point 3"]
    """Vertices of each sole at rest."""
    weights: Float[Tensor, "foot point joint"]

    @classmethod
    def of(cls, rig: Rig) -> "Footing":
        """A few vertices of every sole."""
        chosen = [sole[np.linspace(0, len(sole) - 1, SOLE_POINTS).round().astype(int)] for sole in rig.soles if len(sole)]
        index = np.array(chosen, int).reshape(-1, SOLE_POINTS)
        points, weights = (torch.as_tensor(array[index], dtype=torch.float32) for array in (rig.mesh.vertices, rig.weights))
        return cls(rig.skeleton, bone_cuboids(rig), points, weights)

    def soles(self, posed: Posed) -> Float[Tensor, "frame foot point 3"]:
        """Where the soles are."""
        feet, points = self.points.shape[:2]
        moved = skin_points(self.skeleton, posed, self.weights.flatten(0, 1), self.points.flatten(0, 1))
        return moved.unflatten(1, (feet, points))


def smoothness(pose: Pose) -> Float[Tensor, ""]:
    """Mean absolute second difference of Θ."""
    theta = torch.cat((pose.root_position, 2 * pose.root_rotation[:, 1:], pose.angles[:, 1:].flatten(1)), -1)
    return theta.diff(n=2, dim=0).abs().mean()


def ground_depth(footing: Footing, posed: Posed) -> Float[Tensor, ""]:
    """Mean depth of the corners of the bones' cuboids below the ground."""
    return (-cuboid_corners(footing.skeleton, footing.cuboids, posed)[..., 1]).clamp(min=0).mean()


def standing(footing: Footing, posed: Posed, fps: float) -> Float[Tensor, ""]:
    """How far feet that stand slip between frames, and how far the lowest foot is above the ground, squared [ℓ²].

    Which feet stand is not a matter of gradient: lifting a foot must not pay because it slips.
    """
    soles = footing.soles(posed)
    height = soles[..., 1].amin(-1)
    with torch.no_grad():
        low = torch.exp(-((height - height.amin(1, keepdim=True).clamp(max=0)).clamp(min=0) / STANCE).square())
        stands = low[1:] * low[:-1]
    slip = soles.mean(2)[..., (0, 2)].diff(dim=0).square().sum(-1)
    hover = height.amin(1)
    return (stands * slip).sum(1).mean() / max(soles.shape[1] / 2, 1) + hover.square().mean()
