"""One rig's forward kinematics in bends, with the Jacobian written down: what inverse kinematics needs, quickly."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.posespace.bends import Bends, bend_matrices
from akd.posespace.denoiser import Poses
from akd.skeleton import Skeleton, compose


class Placed(NamedTuple):
    """Where joints are: turn away from rest and place on the stage."""

    rotation: Float[Tensor, "pose joint 3 3"]
    position: Float[Tensor, "pose joint 3"]


@dataclass(frozen=True, eq=False)
class Chains:
    """A skeleton's tree as tensors."""

    skeleton: Skeleton
    frames: Float[Tensor, "joint 3 3"]
    is_ancestor: Bool[Tensor, "joint joint"]
    """``[a, j]``, j itself included."""

    @classmethod
    def of(cls, skeleton: Skeleton) -> "Chains":
        return cls(skeleton, torch.as_tensor(skeleton.frames, dtype=torch.float32), torch.as_tensor(skeleton.is_ancestor))

    def place(self, bends: Poses, root: Float[Tensor, "pose 3"]) -> Placed:
        frames = self.frames.to(bends.dtype)
        return Placed(*compose(self.skeleton, root, frames @ bend_matrices(bends) @ frames.transpose(-1, -2)))

    def point_jacobian(
        self, bends: Poses, placed: Placed, joints: Int[Tensor, " handle"], points: Float[Tensor, "pose handle 3"]
    ) -> Float[Tensor, "pose handle 3 joint 3"]:
        """``∂ point / ∂ x`` of points that move with joints: ``axis × arm`` for every joint above."""
        arm = points[:, :, None] - placed.position[:, None]
        axes = self._axes(bends, placed)
        moved = torch.linalg.cross(axes[:, None].transpose(-1, -2), arm[..., None, :].expand(*arm.shape[:-1], 3, 3), dim=-1)
        return torch.where(self._above(joints)[None, :, None, :, None], moved.permute(0, 1, 4, 2, 3), moved.new_zeros(()))

    def turn_jacobian(
        self, bends: Poses, placed: Placed, joints: Int[Tensor, " handle"]
    ) -> Float[Tensor, "pose handle 3 joint 3"]:
        """``∂ turn / ∂ x`` of joints, as rotation vectors on the stage."""
        axes = self._axes(bends, placed)[:, None].expand(-1, len(joints), -1, -1, -1)
        return torch.where(self._above(joints)[None, :, None, :, None], axes.permute(0, 1, 3, 2, 4), axes.new_zeros(()))

    def _above(self, joints: Int[Tensor, " handle"]) -> Bool[Tensor, "handle joint"]:
        """Which joints move the handles."""
        return self.is_ancestor[:, joints].T

    def _axes(self, bends: Poses, placed: Placed) -> Float[Tensor, "pose joint 3 3"]:
        """Columns are the stage axes about which a joint turns when its three numbers grow: ``Q_j B_j J_r(x)``."""
        return placed.rotation @ self.frames.to(bends.dtype) @ right_jacobian(bends)


def right_jacobian(bends: Bends) -> Float[Tensor, "*batch joint 3 3"]:
    """``exp(x + dx) = exp(x) exp(J_r(x) dx)``."""
    angle = bends.norm(dim=-1).clamp(min=1e-4)[..., None, None]
    x, y, z = bends.unbind(-1)
    zero = torch.zeros_like(x)
    cross = torch.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).unflatten(-1, (3, 3))
    eye = torch.eye(3, dtype=bends.dtype)
    # Near zero the quotients lose their digits: use their series there.
    first = torch.where(angle > 0.02, (1 - angle.cos()) / angle**2, 0.5 - angle**2 / 24)
    second = torch.where(angle > 0.02, (angle - angle.sin()) / angle**3, 1 / 6 - angle**2 / 120)
    return eye - first * cross + second * cross @ cross
