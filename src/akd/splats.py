"""Gaussian splats, and splats bound to a skeleton.

Linear blend skinning of points and of splats.

Colour that changes with the direction it is seen from: real spherical harmonics up to degree 3, as 3DGS stores them.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.rotations import quaternion_to_matrix
from akd.skeleton import Posed, Skeleton


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
    size: float | None = None
    """Radius of the sphere that a camera fits into its picture [ℓ]; that around all splats at rest if none is given."""

    def to(self, device: torch.device) -> "SkinnedSplats":
        """The same on another device; films are made where the splats are."""
        moved = {name: part.to(device) for name, part in vars(self.splats).items()}
        return SkinnedSplats(Splats(**moved), self.weights.to(device), self.size)


Y0 = 0.28209479177387814  # the constant spherical harmonic


def sh_from_color(color: Float[Tensor, "splat 3"]) -> Float[Tensor, "splat 1 3"]:
    """Spherical harmonics of a colour that looks the same from everywhere."""
    return ((color - 0.5) / Y0)[:, None, :]


def color_from_sh(sh: Float[Tensor, "splat coefficient 3"]) -> Float[Tensor, "splat 3"]:
    """The colour without its dependence on direction."""
    return torch.clamp(0.5 + Y0 * sh[:, 0], 0, 1)


def blended_transforms(
    skeleton: Skeleton, posed: Posed, weights: Float[Tensor, "point joint"]
) -> tuple[Float[Tensor, "*batch point 3 3"], Float[Tensor, "*batch point 3"]]:
    """Each point's own affine map ``x ↦ A x + b``, the weighted mean of its joints' maps; A is ∇φ."""
    rest = torch.as_tensor(skeleton.positions, dtype=posed.position.dtype, device=posed.position.device)
    shift = posed.position - (posed.rotation @ rest[:, :, None]).squeeze(-1)
    # Joints are few and stay in main memory, splats are many and may be on a card.
    maps = torch.cat((posed.rotation.flatten(-2), shift), -1).to(weights.device)
    blended = weights @ maps
    return blended[..., :9].unflatten(-1, (3, 3)), blended[..., 9:]


def skin_points(
    skeleton: Skeleton, posed: Posed, weights: Float[Tensor, "point joint"], points: Float[Tensor, "point 3"]
) -> Float[Tensor, "*batch point 3"]:
    """φ(x) = Σ_b w_b (R_b x + t_b)."""
    linear, shift = blended_transforms(skeleton, posed, weights)
    return (linear @ points[:, :, None]).squeeze(-1) + shift


def skin_splats(
    skeleton: Skeleton,
    posed: Posed,
    weights: Float[Tensor, "splat joint"],
    means: Float[Tensor, "splat 3"],
    covariances: Float[Tensor, "splat 3 3"],
) -> tuple[Float[Tensor, "*batch splat 3"], Float[Tensor, "*batch splat 3 3"]]:
    """Splats moved by the local linearisation of φ: centre φ(x), covariance ∇φ Σ ∇φᵀ."""
    linear, shift = blended_transforms(skeleton, posed, weights)
    centre = (linear @ means[:, :, None]).squeeze(-1) + shift
    return centre, linear @ covariances @ linear.transpose(-1, -2)


DEGREE_OF_COUNT = {1: 0, 4: 1, 9: 2, 16: 3}


def color_from_direction(
    sh: Float[Tensor, "splat coefficient 3"], directions: Float[Tensor, "*batch splat 3"]
) -> Float[Tensor, "*batch splat 3"]:
    """max(0, 0.5 + Σ Y_k sh_k); directions point from the camera to the splat and need not be unit vectors."""
    if sh.shape[-2] not in DEGREE_OF_COUNT:
        raise AkdError(f"a splat has {sh.shape[-2]} spherical harmonics; give 1, 4, 9 or 16 (degree 0 to 3)")
    basis = harmonics(directions, DEGREE_OF_COUNT[sh.shape[-2]])
    return torch.clamp(0.5 + torch.einsum("...sk,skc->...sc", basis, sh), min=0.0)


def harmonics(directions: Float[Tensor, "*batch 3"], degree: int) -> Float[Tensor, "*batch coefficient"]:
    """The (degree + 1)² real harmonics Y_lm at each direction, l by l, m from −l to l, with the signs of 3DGS."""
    x, y, z = torch.nn.functional.normalize(directions, dim=-1).unbind(-1)
    rows = [torch.full_like(x, 0.28209479177387814)]
    if degree >= 1:
        rows += [-0.4886025119029199 * y, 0.4886025119029199 * z, -0.4886025119029199 * x]
    if degree >= 2:
        rows += [
            1.0925484305920792 * x * y,
            -1.0925484305920792 * y * z,
            0.31539156525252005 * (3 * z * z - 1),
            -1.0925484305920792 * x * z,
            0.5462742152960396 * (x * x - y * y),
        ]
    if degree >= 3:
        rows += [
            -0.5900435899266435 * y * (3 * x * x - y * y),
            2.890611442640554 * x * y * z,
            -0.4570457994644658 * y * (5 * z * z - 1),
            0.3731763325901154 * z * (5 * z * z - 3),
            -0.4570457994644658 * x * (5 * z * z - 1),
            1.445305721320277 * z * (x * x - y * y),
            -0.5900435899266435 * x * (x * x - 3 * y * y),
        ]
    return torch.stack(rows, -1)
