"""Colour that changes with the direction it is seen from: real spherical harmonics up to degree 3, as 3DGS stores them."""

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError

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
