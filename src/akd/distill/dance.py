"""The unknown motion: curves for the root and for every joint's angles, and a speed."""

import torch
from torch import nn

from akd.distill.curves import Curves, Times
from akd.motion import Motion
from akd.pose import Pose
from akd.rotations import rotation_vector_to_quaternion
from akd.skeleton import Skeleton

ROOT_REACH = 0.25
"""How far one unit of a coefficient moves the root [ℓ] or turns it [rad]; joints turn by one radian."""


class Dance(nn.Module):
    """A motion that can be optimised: a pose at any time, differentiable in curves and speed."""

    def __init__(self, skeleton: Skeleton, curves: Curves, speed: float) -> None:
        super().__init__()
        self.skeleton = skeleton
        self.curves = curves
        self.speed = nn.Parameter(torch.tensor(float(speed)))
        """Forward [ℓ/s]."""
        self.rest = torch.as_tensor(skeleton.positions[0], dtype=torch.float32)

    @staticmethod
    def channels(skeleton: Skeleton) -> int:
        """How many curves a skeleton needs: place and turn of the root, three angles for every other joint."""
        return 6 + 3 * (len(skeleton.names) - 1)

    def pose(self, times: Times) -> Pose:
        """Where everything is at these times [s]."""
        values = self.curves(times)
        forward = torch.stack((self.speed * times, torch.zeros_like(times), torch.zeros_like(times)), -1)
        angles = values[:, 6:].unflatten(1, (-1, 3))
        angles = torch.cat((torch.zeros_like(angles[:, :1]), angles), 1)
        turn = rotation_vector_to_quaternion(ROOT_REACH * values[:, 3:6])
        return Pose(self.rest + forward + ROOT_REACH * values[:, :3], turn, angles)

    def motion(self, frames: int, fps: float, start: float = 0.0) -> Motion:
        """So many frames from a time on [s]."""
        return Motion(self.pose(start + torch.arange(frames) / fps), fps)

