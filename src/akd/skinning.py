"""Linear blend skinning of points and of splats."""

import torch
from jaxtyping import Float
from torch import Tensor

from akd.skeleton import Posed, Skeleton


def blended_transforms(
    skeleton: Skeleton, posed: Posed, weights: Float[Tensor, "point joint"]
) -> tuple[Float[Tensor, "*batch point 3 3"], Float[Tensor, "*batch point 3"]]:
    """Each point's own affine map ``x ↦ A x + b``, the weighted mean of its joints' maps; A is ∇φ."""
    rest = torch.as_tensor(skeleton.positions, dtype=posed.position.dtype, device=posed.position.device)
    shift = posed.position - (posed.rotation @ rest[:, :, None]).squeeze(-1)
    maps = torch.cat((posed.rotation.flatten(-2), shift), -1)
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
