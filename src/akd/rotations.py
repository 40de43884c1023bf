"""Rotations as matrices, quaternions (wxyz), rotation vectors and compound-joint angles.

Every function takes any leading batch axes and has finite gradients everywhere, at the identity and at half turns
too. A compound joint turns by ``Rx(a) Ry(b) Rz(c)``. Angles come back in the chart |b| ≤ π/2; at gimbal lock
(|b| = π/2) only a ± c is determined, and we put all of it into a and leave c = 0 (see ``matrix_to_angles``).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

LOCKED = 1e-6  # cos b below this counts as gimbal lock


def angles_to_matrix(angles: Float[Tensor, "*batch 3"]) -> Float[Tensor, "*batch 3 3"]:
    """``Rx(a) Ry(b) Rz(c)`` of the angles (a, b, c) [rad]."""
    (sa, sb, sc), (ca, cb, cc) = torch.sin(angles).unbind(-1), torch.cos(angles).unbind(-1)
    rows = (
        (cb * cc, -cb * sc, sb),
        (ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb),
        (sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb),
    )
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


def matrix_to_angles(matrix: Float[Tensor, "*batch 3 3"]) -> Float[Tensor, "*batch 3"]:
    """The angles (a, b, c) with |b| ≤ π/2 whose ``angles_to_matrix`` is this rotation; c = 0 at gimbal lock."""
    cos_b = _safe_norm(matrix[..., 0, :2])
    locked = cos_b < LOCKED
    one, zero = torch.ones_like(cos_b), torch.zeros_like(cos_b)
    b = torch.atan2(matrix[..., 0, 2], cos_b)
    # Both arguments of atan2 vanish at lock, where its gradient is undefined: choose other entries there.
    a = torch.atan2(
        torch.where(locked, matrix[..., 2, 1], -matrix[..., 1, 2]), torch.where(locked, matrix[..., 1, 1], matrix[..., 2, 2])
    )
    c = torch.atan2(torch.where(locked, zero, -matrix[..., 0, 1]), torch.where(locked, one, matrix[..., 0, 0]))
    return torch.stack((a, b, c), -1)


def continuous_angles(matrices: Float[Tensor, "frame *batch 3 3"]) -> Float[Tensor, "frame *batch 3"]:
    """Angles frame by frame, each the choice nearest to the frame before, so that curves have no jumps.

    Every rotation has the two solutions (a, b, c) and (a + π, π − b, c + π), each up to whole turns; at gimbal lock
    c keeps the value of the frame before. The first frame is in the chart |b| ≤ π/2.
    """
    principal = matrix_to_angles(matrices)
    locked = (_safe_norm(matrices[..., 0, :2]) < LOCKED)[..., None]
    if locked[1:].any():
        return _continued_one_by_one(principal, locked)
    chosen = _continued(torch.stack((principal, _other_solution(principal))))
    turns = torch.round((chosen.detach()[:-1] - chosen.detach()[1:]) / (2 * torch.pi)).cumsum(0)
    return torch.cat((chosen[:1], chosen[1:] + 2 * torch.pi * turns))


def _other_solution(angles: Float[Tensor, "*batch 3"]) -> Float[Tensor, "*batch 3"]:
    """The second triple of angles of the same rotation."""
    a, b, c = angles.unbind(-1)
    return torch.stack((a + torch.pi, torch.pi - b, c + torch.pi), -1)


def _continued(solutions: Float[Tensor, "two frame *batch 3"]) -> Float[Tensor, "frame *batch 3"]:
    """One of two solutions in every frame, up to whole turns: the one nearer to that of the frame before."""
    known = solutions.detach()
    step = known[None, :, 1:] - known[:, None, :-1]  # from either solution of a frame (first axis) to either of the next
    far = (step - 2 * torch.pi * torch.round(step / (2 * torch.pi))).square().sum(-1)
    after = far[:, 1] < far[:, 0]  # is the second nearer, after the first and after the second?
    second = [torch.zeros(known.shape[2:-1], dtype=torch.bool, device=known.device)]
    for after_first, after_second in zip(*after, strict=True):
        second.append(torch.where(second[-1], after_second, after_first))
    return torch.where(torch.stack(second)[..., None], solutions[1], solutions[0])


def _continued_one_by_one(
    principal: Float[Tensor, "frame *batch 3"], locked: Bool[Tensor, "frame *batch 1"]
) -> Float[Tensor, "frame *batch 3"]:
    """``continuous_angles`` where some frames are at gimbal lock: slow, because each needs the values of the one before."""
    out = [principal[0]]
    for angles, lock in zip(principal[1:], locked[1:], strict=True):
        before = out[-1]
        held = angles - torch.stack((before[..., 2] * torch.sign(angles[..., 1]), 0 * before[..., 1], -before[..., 2]), -1)
        first = _nearest_turn(torch.where(lock, held, angles), before)
        second = _nearest_turn(_other_solution(first), before)
        closer = ((second - before).square().sum(-1) < (first - before).square().sum(-1))[..., None]
        out.append(torch.where(closer, second, first))
    return torch.stack(out)


def quaternion_multiply(p: Float[Tensor, "*#batch 4"], q: Float[Tensor, "*#batch 4"]) -> Float[Tensor, "*batch 4"]:
    """The rotation q followed by p."""
    pw, px, py, pz = p.unbind(-1)
    qw, qx, qy, qz = q.unbind(-1)
    return torch.stack(
        (
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ),
        -1,
    )


def quaternion_conjugate(q: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 4"]:
    """The inverse of a unit quaternion."""
    return q * q.new_tensor((1.0, -1.0, -1.0, -1.0))


def quaternion_to_matrix(q: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 3 3"]:
    """Rotation matrix of a quaternion of any length but zero."""
    w, x, y, z = (q / _safe_norm(q)[..., None]).unbind(-1)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


def matrix_to_quaternion(matrix: Float[Tensor, "*batch 3 3"]) -> Float[Tensor, "*batch 4"]:
    """Unit quaternion with w ≥ 0. Each entry squared is known; dividing by the largest keeps gradients finite."""
    (m00, m01, m02), (m10, m11, m12), (m20, m21, m22) = (row.unbind(-1) for row in matrix.unbind(-2))
    # Row k is 4 q_k · q, for the four choices of k.
    products = torch.stack(
        (
            torch.stack((1 + m00 + m11 + m22, m21 - m12, m02 - m20, m10 - m01), -1),
            torch.stack((m21 - m12, 1 + m00 - m11 - m22, m01 + m10, m02 + m20), -1),
            torch.stack((m02 - m20, m01 + m10, 1 - m00 + m11 - m22, m12 + m21), -1),
            torch.stack((m10 - m01, m02 + m20, m12 + m21, 1 - m00 - m11 + m22), -1),
        ),
        -2,
    )
    largest = torch.diagonal(products, dim1=-2, dim2=-1).argmax(-1)
    row = torch.gather(products, -2, largest[..., None, None].expand(*largest.shape, 1, 4)).squeeze(-2)
    q = row / _safe_norm(row)[..., None]
    return torch.where(q[..., :1] < 0, -q, q)


def rotation_vector_to_quaternion(vector: Float[Tensor, "*batch 3"]) -> Float[Tensor, "*batch 4"]:
    """Exponential map: axis times angle [rad] → unit quaternion."""
    half = _safe_norm(vector)[..., None] / 2
    return torch.cat((torch.cos(half), vector * (torch.sin(half) / (2 * half))), -1)


def quaternion_to_rotation_vector(q: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 3"]:
    """Logarithm of a unit quaternion: axis times angle, the angle in [0, π]."""
    q = torch.where(q[..., :1] < 0, -q, q)
    sine = _safe_norm(q[..., 1:])[..., None]
    return q[..., 1:] * (2 * torch.atan2(sine, q[..., :1]) / sine)


def slerp(
    p: Float[Tensor, "*#batch 4"], q: Float[Tensor, "*#batch 4"], u: Float[Tensor, "*#batch 1"]
) -> Float[Tensor, "*batch 4"]:
    """Shortest way from p (u = 0) to q (u = 1) at constant speed."""
    between = quaternion_to_rotation_vector(quaternion_multiply(quaternion_conjugate(p), q))
    return quaternion_multiply(p, rotation_vector_to_quaternion(u * between))


def align_hemisphere(q: Float[Tensor, "frame *batch 4"]) -> Float[Tensor, "frame *batch 4"]:
    """The same rotations with signs chosen so that neighbouring frames are close: needed before interpolating."""
    agree = (q[1:] * q[:-1]).sum(-1, keepdim=True)
    signs = torch.cumprod(torch.where(agree < 0, -torch.ones_like(agree), torch.ones_like(agree)), 0)
    return torch.cat((q[:1], q[1:] * signs))


def _nearest_turn(angles: Tensor, reference: Tensor) -> Tensor:
    return angles - 2 * torch.pi * torch.round((angles - reference) / (2 * torch.pi))


def _safe_norm(vector: Tensor) -> Tensor:
    """Length whose gradient at zero is zero, not NaN."""
    squared = vector.square().sum(-1)
    tiny = torch.finfo(vector.dtype).tiny
    return torch.where(squared > tiny, squared.clamp(min=tiny).sqrt(), squared.new_tensor(tiny**0.5))
