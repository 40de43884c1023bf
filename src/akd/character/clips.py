"""A file's clips as motions on the control skeleton, and motions as matrices of the file's bones.

A clip moves, turns and stretches every bone freely; a motion only turns joints and moves the root. Joints take over the
bones' rotations and are then fitted to the skinned vertices by damped Gauss–Newton steps; what is still lost is the
residual. On export every bone of the file is placed by the joint it moves with, so a motion comes back unchanged.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.errors import AkdError
from akd.motion import Motion, from_stage_rotations
from akd.rig import Origin, Rig
from akd.rotations import quaternion_to_matrix, rotation_vector_to_quaternion
from akd.skeleton import Posed, Skeleton, compose, forward_kinematics
from akd.splats import skin_points

SOFT_DISTANCE = 0.005  # errors below this [ℓ] count squared, above it linearly: a part that stretches must not pull the rest
DAMPING = 1e-4  # keeps joints that the skin does not determine where they are
MAX_UNFITTED_ERROR = 0.001  # a mean error below this [ℓ] needs no fitting
CHUNK_FRAMES = 500  # frames whose distances are measured at once: about 100 MB
COMPARED_FRAMES = 10_000  # of a clip, at most: minutes of it
SAMPLED_POINTS = 200  # vertices to fit to; the residual is measured on five times as many


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
    trust = 1 / (error.square().sum(-1) + SOFT_DISTANCE**2).sqrt()
    weighted = (jacobian * trust[..., None, None]).flatten(1, 2)
    flat = jacobian.flatten(1, 2)
    normal = weighted.transpose(-1, -2) @ flat
    size = normal.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None]
    normal = normal + DAMPING * size * torch.eye(normal.shape[-1]).to(normal)
    return -torch.linalg.solve(normal, weighted.transpose(-1, -2) @ error.flatten(1)[..., None])[..., 0]


@dataclass(frozen=True, eq=False)
class ReadClip:
    """A clip as a motion, and how much of it a motion cannot hold."""

    motion: Motion
    residual: float
    """Mean distance between the file's own skinned vertices and ours, over vertices and frames [ℓ]."""
    worst: float
    """The largest such distance [ℓ]."""


def read_clip(rig: Rig, name: str, fps: float = 30.0) -> ReadClip:
    """One of the file's clips as a motion on the rig's skeleton."""
    origin = _origin(rig)
    clip = next((c for c in origin.file.clips if c.name == name), None)
    if clip is None or origin.file.sample is None:
        known = ", ".join(c.name for c in origin.file.clips) or "none"
        raise AkdError(f"There is no clip {name!r} in {rig.name}; its clips are: {known}.")
    frames = max(round(clip.duration * fps), 1) + 1
    world = origin.file.sample(name, np.linspace(0, clip.duration, frames))
    if not np.all(np.isfinite(world)):
        raise AkdError(f"Clip {name!r} of {rig.name} contains values that are not finite, so it cannot be played.")
    from_rest = np.linalg.inv(origin.file.rest) @ origin.T_file_stage
    moved = np.linalg.inv(origin.T_file_stage) @ world @ from_rest
    del world  # hours of frames need gigabytes
    joints = torch.as_tensor(moved[:, origin.bone_of_joint])
    rest = torch.as_tensor(np.append(rig.skeleton.positions[0], 1.0))
    rotation, root = nearest_rotation(joints[..., :3, :3]), (joints[:, 0] @ rest)[:, :3]
    posed = _posed(rig.skeleton, root, rotation)
    residual, worst = _distance(rig, moved, posed)
    if residual > MAX_UNFITTED_ERROR:
        posed = fit_rotations(_skin_of_file(rig, moved, SAMPLED_POINTS), posed)
        residual, worst = _distance(rig, moved, posed)
    rate = (frames - 1) / clip.duration if clip.duration > 0 else fps
    motion = from_stage_rotations(rig.skeleton, posed.position[:, 0], posed.rotation, rate)
    return ReadClip(Motion(motion.pose.to(torch.float32), rate), residual, worst)


def bone_matrices(rig: Rig, motion: Motion) -> Float[np.ndarray, "frame bone 4 4"]:
    """World matrices of the file's bones in every frame of a motion, in the file's own axes."""
    origin = _origin(rig)
    posed = forward_kinematics(rig.skeleton, motion.pose.detach().to(torch.float64))
    turn = posed.rotation.numpy()
    moved = np.broadcast_to(np.eye(4), (*turn.shape[:2], 4, 4)).copy()
    moved[..., :3, :3] = turn
    moved[..., :3, 3] = posed.position.numpy() - (turn @ rig.skeleton.positions[..., None]).squeeze(-1)
    still = np.broadcast_to(np.eye(4), (len(moved), 1, 4, 4))
    moved = origin.T_file_stage @ moved @ np.linalg.inv(origin.T_file_stage)
    return np.concatenate((moved, still), 1)[:, origin.joint_of_bone] @ origin.file.rest  # −1 takes the last: still


def nearest_rotation(matrix: Float[torch.Tensor, "*batch 3 3"]) -> Float[torch.Tensor, "*batch 3 3"]:
    """The rotation in a matrix that may also stretch, shear or mirror."""
    u, _, vh = torch.linalg.svd(matrix)
    flip = torch.linalg.det(u @ vh)
    return torch.cat((u[..., :2], u[..., 2:] * flip[..., None, None]), -1) @ vh


def _posed(skeleton: Skeleton, root: Float[torch.Tensor, "frame 3"], rotation: Float[torch.Tensor, "frame joint 3 3"]) -> Posed:
    """Joint positions that belong to these turns on the stage."""
    above = rotation[:, torch.as_tensor(skeleton.parents[1:])].transpose(-1, -2)
    return compose(skeleton, root, torch.cat((rotation[:, :1], above @ rotation[:, 1:]), 1))


def _distance(rig: Rig, moved: Float[np.ndarray, "frame bone 4 4"], posed: Posed) -> tuple[float, float]:
    """Mean and largest distance of our skinned vertices from the file's own [ℓ], in at most ``COMPARED_FRAMES`` of the frames."""
    stride = -(-len(moved) // COMPARED_FRAMES)
    moved, posed = moved[::stride], Posed(posed.rotation[::stride], posed.position[::stride])
    total, worst = 0.0, 0.0
    for start in range(0, len(moved), CHUNK_FRAMES):
        part = slice(start, start + CHUNK_FRAMES)
        target = _skin_of_file(rig, moved[part], 5 * SAMPLED_POINTS)
        distances = target.distances(Posed(posed.rotation[part], posed.position[part]))
        total, worst = total + float(distances.mean(-1).sum()), max(worst, float(distances.max()))
    return total / len(moved), worst


def _skin_of_file(rig: Rig, moved: Float[np.ndarray, "frame bone 4 4"], count: int) -> SkinTarget:
    """Where the file's own skinning puts a sample of the vertices, or the joints where there is no mesh."""
    origin, skeleton = _origin(rig), rig.skeleton
    if rig.mesh.vertex_count:
        chosen = _spread(rig.weights, count)
        rest, ours, theirs = rig.mesh.vertices[chosen], rig.weights[chosen], origin.file.weights[chosen]
    else:
        rest, ours = skeleton.positions, np.eye(skeleton.joint_count)
        theirs = np.eye(len(origin.file.names))[origin.bone_of_joint]
    blended = (theirs @ moved[..., :3, :].reshape(*moved.shape[:2], 12)).reshape(-1, len(rest), 3, 4)
    target = (blended[..., :3] @ rest[:, :, None])[..., 0] + blended[..., 3]
    return SkinTarget(skeleton, torch.as_tensor(ours).double(), torch.as_tensor(rest), torch.as_tensor(target))


def _spread(weights: Float[np.ndarray, "vertex joint"], count: int) -> Int[np.ndarray, " chosen"]:
    """About this many vertices, in proportion to what each joint owns but at least a few of each."""
    order = np.argsort(weights.argmax(1), kind="stable")
    regular = order[:: max(1, len(order) // count)]
    return np.unique(np.concatenate((regular, weights.argmax(0))))


def _origin(rig: Rig) -> Origin:
    if rig.origin is None:
        raise AkdError(f"{rig.name} was not read from a file, so it has no clips or bones of a file.")
    return rig.origin
