"""What a motion should be besides pleasing the prior: smooth, above the ground, and standing where it stands."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.cuboids import Cuboids, bone_cuboids, cuboid_corners
from akd.distill.trajectory import Trajectory
from akd.rig import Rig
from akd.skeleton import Pose, Posed, Skeleton
from akd.splats import skin_points

GROUNDED_SHARE = 0.4
"""Share of the time for which at least a foot is on the ground: less than in any gait but a gallop's or a jump's."""
STANCE_HEIGHT = 0.1
"""Feet this low stand rather than swing [ℓ], softly."""
SOLE_POINTS = 12
"""Most vertices of a sole that are followed."""


@dataclass(frozen=True, eq=False)
class GroundContacts:
    """What touches the ground."""

    skeleton: Skeleton
    cuboids: Cuboids
    points: Float[Tensor, "foot point 3"]
    """Vertices of each sole at rest."""
    weights: Float[Tensor, "foot point joint"]

    @classmethod
    def of(cls, rig: Rig) -> "GroundContacts":
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


def ground_depth(contacts: GroundContacts, posed: Posed) -> Float[Tensor, ""]:
    """Mean depth of the corners of the bones' cuboids below the ground."""
    return (-cuboid_corners(contacts.skeleton, contacts.cuboids, posed)[..., 1]).clamp(min=0).mean()


class FootMotion(NamedTuple):
    """What the feet do."""

    height: Float[Tensor, "frame foot"]
    """Of the lowest point of each sole [ℓ]."""
    velocity: Float[Tensor, "step foot 2"]
    """Along x and z [ℓ/s]."""
    stands: Float[Tensor, "step foot"]
    """How much a foot stands rather than swings, 0 to 1; without gradient: lifting a foot must not pay because it slips."""


def foot_motion(contacts: GroundContacts, posed: Posed, fps: float, speed: float) -> FootMotion:
    """Which feet stand, and how they move. Feet stand that are low and stay behind the body: others are on their way forward."""
    soles = contacts.soles(posed)
    height = soles[..., 1].amin(-1)
    velocity = fps * soles.mean(2)[..., (0, 2)].diff(dim=0)
    along = velocity[..., 0].detach() - speed
    behind = torch.sigmoid(-4 * along / along.square().mean().sqrt().clamp(min=1e-3))
    low = torch.exp(-(height.detach().clamp(min=0) / STANCE_HEIGHT).square())
    return FootMotion(height, velocity, behind * low[1:] * low[:-1])


def slip(feet: FootMotion) -> Float[Tensor, ""]:
    """Mean square speed of feet that stand [ℓ²/s²]."""
    return (feet.stands * feet.velocity.square().sum(-1)).mean()


def lift(feet: FootMotion) -> Float[Tensor, ""]:
    """Mean square height of feet that stand [ℓ²]."""
    return (feet.stands * feet.height[1:].square()).mean()


@torch.no_grad()
def update_height(trajectory: Trajectory, feet: FootMotion, share: float) -> None:
    """Bring the height, which no picture shows, nearer to what the feet say: a foot is down for most of the time."""
    trajectory.height -= share * feet.height.amin(-1).quantile(GROUNDED_SHARE)


@torch.no_grad()
def update_speed(trajectory: Trajectory, feet: FootMotion, share: float) -> None:
    """The same for the speed: standing feet rest."""
    along = feet.velocity[..., 0]
    trajectory.speed -= share * (feet.stands * along).sum() / feet.stands.sum().clamp(min=1.0)
