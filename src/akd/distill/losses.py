"""Losses on a motion besides the prior's gradient, all pure functions: smooth, above the ground, standing feet that stand."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.cuboids import Cuboids, bone_cuboids, cuboid_corners
from akd.rig import Rig
from akd.skeleton import Pose, Posed, Skeleton
from akd.splats import skin_points

STANCE_HEIGHT = 0.1
"""Height scale below which a foot counts as standing [ℓ], softly."""
SOLE_POINTS = 12
"""Vertices of a sole that are followed."""
BEHIND_SHARPNESS = 4.0
"""Slope of the sigmoid on a foot's forward speed relative to the body, in units of its root mean square."""


@dataclass(frozen=True, eq=False)
class GroundContacts:
    """The parts of a rig that may touch the ground."""

    skeleton: Skeleton
    cuboids: Cuboids
    points: Float[Tensor, "foot point 3"]
    """Vertices of each sole at rest."""
    weights: Float[Tensor, "foot point joint"]

    @classmethod
    def of(cls, rig: Rig) -> "GroundContacts":
        """A few vertices of every sole, and the cuboids of all bones."""
        chosen = [sole[np.linspace(0, len(sole) - 1, SOLE_POINTS).round().astype(int)] for sole in rig.soles if len(sole)]
        index = np.array(chosen, int).reshape(-1, SOLE_POINTS)
        points, weights = (torch.as_tensor(array[index], dtype=torch.float32) for array in (rig.mesh.vertices, rig.weights))
        return cls(rig.skeleton, bone_cuboids(rig), points, weights)

    def soles(self, posed: Posed) -> Float[Tensor, "frame foot point 3"]:
        """Positions of the sole vertices."""
        feet, points = self.points.shape[:2]
        moved = skin_points(self.skeleton, posed, self.weights.flatten(0, 1), self.points.flatten(0, 1))
        return moved.unflatten(1, (feet, points))


class FootMotion(NamedTuple):
    """Heights and velocities of the feet, and how much each stands."""

    height: Float[Tensor, "frame foot"]
    """Of the lowest point of each sole [ℓ]."""
    velocity: Float[Tensor, "step foot 2"]
    """Along x and z [ℓ/s]."""
    stance: Float[Tensor, "step foot"]
    """0 (swings) to 1 (stands). Without gradient: lifting a foot must not pay off because it slips."""


def foot_motion(contacts: GroundContacts, posed: Posed, fps: float, speed: float, *, slow: float | None = None) -> FootMotion:
    """Feet stand that are low and move backwards relative to the body; others swing forward.

    Of a body that does not travel those stand that are low and, over the ground, about as ``slow`` as this [ℓ/s].
    """
    soles = contacts.soles(posed)
    height = soles[..., 1].amin(-1)
    velocity = fps * soles.mean(2)[..., (0, 2)].diff(dim=0)
    along = velocity[..., 0].detach() - speed
    behind = torch.sigmoid(-BEHIND_SHARPNESS * along / along.square().mean().sqrt().clamp(min=1e-3))
    low = torch.exp(-(height.detach().clamp(min=0) / STANCE_HEIGHT).square())
    standing = behind if slow is None else torch.exp(-(velocity.detach().square().sum(-1) / slow**2))
    return FootMotion(height, velocity, standing * low[1:] * low[:-1])


def smoothness(pose: Pose) -> Float[Tensor, ""]:
    """Mean absolute second difference of the generalised coordinates Θ."""
    theta = torch.cat((pose.root_position, 2 * pose.root_rotation[:, 1:], pose.angles[:, 1:].flatten(1)), -1)
    return theta.diff(n=2, dim=0).abs().mean()


def ground_depth(contacts: GroundContacts, posed: Posed) -> Float[Tensor, ""]:
    """Mean depth of the corners of the bones' cuboids below the ground [ℓ]."""
    return (-cuboid_corners(contacts.skeleton, contacts.cuboids, posed)[..., 1]).clamp(min=0).mean()


def slip(feet: FootMotion) -> Float[Tensor, ""]:
    """Mean squared speed of standing feet [ℓ²/s²]."""
    return (feet.stance * feet.velocity.square().sum(-1)).mean()


def lift(feet: FootMotion) -> Float[Tensor, ""]:
    """Mean squared height of standing feet [ℓ²]."""
    return (feet.stance * feet.height[1:].square()).mean()
