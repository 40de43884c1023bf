"""Gaussian splats, and splats bound to a skeleton."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from akd.rotations import quaternion_to_matrix


@dataclass(frozen=True, eq=False)
class Splats:
    """Gaussians in space, as 3D Gaussian splatting stores them, with activations already applied."""

    means: Float[Tensor, "splat 3"]
    rotations: Float[Tensor, "splat 4"]
    """Quaternions wxyz; need not be normalised."""
    scales: Float[Tensor, "splat 3"]
    """Standard deviations along the three axes, positive."""
    opacities: Float[Tensor, " splat"]
    """In [0, 1]."""
    sh: Float[Tensor, "splat coefficient 3"]
    """Spherical harmonics of the colour, 1, 4, 9 or 16 coefficients: colour = 0.5 + Y₀ sh₀ + …"""

    @property
    def splat_count(self) -> int:
        return self.means.shape[0]

    @property
    def covariances(self) -> Float[Tensor, "splat 3 3"]:
        axes = quaternion_to_matrix(self.rotations) * self.scales[:, None, :]
        return axes @ axes.transpose(-1, -2)


@dataclass(frozen=True, eq=False)
class SkinnedSplats:
    """Splats at rest on the stage, with the weights that let a skeleton move them."""

    splats: Splats
    weights: Float[Tensor, "splat joint"]
    """Rows sum to one."""


Y0 = 0.28209479177387814  # the constant spherical harmonic


def sh_from_color(color: Float[Tensor, "splat 3"]) -> Float[Tensor, "splat 1 3"]:
    """Spherical harmonics of a colour that looks the same from everywhere."""
    return ((color - 0.5) / Y0)[:, None, :]


def color_from_sh(sh: Float[Tensor, "splat coefficient 3"]) -> Float[Tensor, "splat 3"]:
    """The colour without its dependence on direction."""
    return torch.clamp(0.5 + Y0 * sh[:, 0], 0, 1)
