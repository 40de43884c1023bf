"""Between a file's clips and motions on the control skeleton.

A clip moves, turns and stretches every bone freely; a motion only turns joints and moves the root. What is lost on the
way in is the residual. On the way out, every bone of the file is placed by the joint it moves with, so a motion comes
back from an exported file as it was.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from akd.errors import AkdError
from akd.motion import Motion, from_stage_rotations
from akd.rig import Origin, Rig
from akd.skeleton import forward_kinematics
from akd.skinning import skin_points


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
    T_stage_file = np.linalg.inv(origin.T_file_stage)
    moved = T_stage_file @ world @ np.linalg.inv(origin.file.rest) @ origin.T_file_stage
    joints = torch.as_tensor(moved[:, origin.bone_of_joint])
    rest = torch.as_tensor(np.append(rig.skeleton.positions[0], 1.0))
    rate = (frames - 1) / clip.duration if clip.duration > 0 else fps
    motion = from_stage_rotations(rig.skeleton, (joints[:, 0] @ rest)[:, :3], nearest_rotation(joints[..., :3, :3]), rate)
    lost = _lost(rig, motion, moved)
    return ReadClip(Motion(motion.pose.to(torch.float32), motion.fps), float(lost.mean()), float(lost.max()))


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


def _lost(rig: Rig, motion: Motion, moved: Float[np.ndarray, "frame bone 4 4"]) -> Float[np.ndarray, "frame point"]:
    """Distances between the file's skinned vertices (or bones, where there is no mesh) and ours."""
    origin = _origin(rig)
    posed = forward_kinematics(rig.skeleton, motion.pose)
    if not rig.mesh.vertex_count:
        heads = np.append(rig.skeleton.positions, np.ones((rig.skeleton.joint_count, 1)), 1)
        theirs = (moved[:, origin.bone_of_joint] @ heads[..., None])[..., :3, 0]
        return np.linalg.norm(theirs - posed.position.numpy(), axis=-1)
    step = max(1, rig.mesh.vertex_count // 5000)  # a sample of the vertices says as much as all of them
    points = rig.mesh.vertices[::step]
    ours = skin_points(rig.skeleton, posed, torch.as_tensor(rig.weights[::step]).double(), torch.as_tensor(points))
    weights = origin.file.weights[::step]
    theirs = np.einsum("fpij,pj->fpi", (weights @ moved[..., :3, :].reshape(*moved.shape[:2], 12)).reshape(-1, len(points), 3, 4),
                       np.append(points, np.ones((len(points), 1)), 1))  # fmt: skip
    return np.linalg.norm(theirs - ours.numpy(), axis=-1)


def _origin(rig: Rig) -> Origin:
    if rig.origin is None:
        raise AkdError(f"{rig.name} was not read from a file, so it has no clips or bones of a file.")
    return rig.origin
