"""Fit the joints of a skeleton to where points of its skin should be, frame by frame, by damped Gauss–Newton steps."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.rotations import quaternion_to_matrix, rotation_vector_to_quaternion
from akd.skeleton import Posed, Skeleton, compose
from akd.skinning import skin_points

SOFT = 0.005  # distances below this [ℓ] count squared, above it linearly: a part that stretches must not pull the rest
DAMPING = 1e-4  # keeps joints that the skin does not determine where they are


@dataclass(frozen=True, eq=False)
class SkinTarget:
    """Points on the body, and where they should be in every frame."""

    skeleton: Skeleton
    weights: Float[Tensor, "point joint"]
    rest: Float[Tensor, "point 3"]
    target: Float[Tensor, "frame point 3"]

    def distances(self, posed: Posed) -> Float[Tensor, "frame point"]:
        return (skin_points(self.skeleton, posed, self.weights, self.rest) - self.target).norm(dim=-1)


def fit_rotations(points: SkinTarget, start: Posed, steps: int = 8) -> Posed:
    """Turn the joints and move the root so that the skin comes near its target; frames are independent."""
    skeleton = points.skeleton
    parents = torch.as_tensor(skeleton.parents[1:])
    inside = torch.as_tensor(skeleton.is_ancestor).to(points.weights)
    below = inside @ points.weights.T  # how much of each point hangs below each joint
    posed = start
    for _ in range(steps):
        step = torch.cat([_solve(points, posed, inside, below, part) for part in torch.arange(len(points.target)).split(16)])
        turn = quaternion_to_matrix(rotation_vector_to_quaternion(step[:, 3:].unflatten(-1, (-1, 3))))
        above = posed.rotation[:, parents].transpose(-1, -2)
        local = torch.cat((posed.rotation[:, :1], above @ posed.rotation[:, 1:]), 1)
        carry = torch.cat((torch.eye(3).to(turn).expand(len(turn), 1, 3, 3), posed.rotation[:, parents]), 1)
        local = carry.transpose(-1, -2) @ turn @ carry @ local  # a turn on the stage, seen from the parent
        posed = compose(skeleton, posed.position[:, 0] + step[:, :3], local)
    return posed


def _solve(
    points: SkinTarget, posed: Posed, inside: Tensor, below: Tensor, part: Int[Tensor, " part"]
) -> Float[Tensor, "part unknown"]:
    """The step of root position and of every joint's turn about the stage axes that best reduces the error, for some
    of the frames (all at once would fill the cache many times over)."""
    rest = torch.as_tensor(points.skeleton.positions).to(points.rest)
    posed = Posed(posed.rotation[part], posed.position[part])
    # Where each joint alone would carry each point, weighted; summed over everything below a joint.
    shift = posed.position - (posed.rotation @ rest[..., None])[..., 0]
    carried = torch.einsum("fjab,pb->fjpa", posed.rotation, points.rest) + shift[:, :, None]
    carried = carried * points.weights.T[..., None]
    error = carried.sum(1) - points.target[part]
    lever = torch.einsum("ij,fjpa->fipa", inside, carried) - below[..., None] * posed.position[:, :, None]
    x, y, z = lever.unbind(-1)
    zero = torch.zeros_like(x)
    # Column k of a block is axis k × lever.
    columns = torch.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).unflatten(-1, (3, 3))
    frames, joints, count = x.shape
    jacobian = columns.permute(0, 2, 4, 1, 3).reshape(frames, count, 3, 3 * joints)
    moves = torch.eye(3).to(jacobian).expand(frames, count, 3, 3)
    jacobian = torch.cat((moves, jacobian), -1)
    trust = 1 / (error.square().sum(-1) + SOFT**2).sqrt()
    weighted = (jacobian * trust[..., None, None]).flatten(1, 2)
    flat = jacobian.flatten(1, 2)
    normal = weighted.transpose(-1, -2) @ flat
    size = normal.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None]
    normal = normal + DAMPING * size * torch.eye(normal.shape[-1]).to(normal)
    return -torch.linalg.solve(normal, weighted.transpose(-1, -2) @ error.flatten(1)[..., None])[..., 0]
