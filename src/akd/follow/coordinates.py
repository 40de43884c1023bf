"""Poses as rows of coordinates and back."""

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from akd.follow.body import Coordinates
from akd.motion import Motion, from_joint_quaternions
from akd.rig import Rig
from akd.rotations import align_hemisphere, angles_to_matrix, matrix_to_quaternion
from akd.skeleton import Pose


def to_coordinates(pose: Pose) -> Coordinates:
    """Rows of coordinates of a batch of poses; rotation vectors follow each other without jumps."""
    root = pose.root_rotation.double().numpy()
    turns = angles_to_matrix(pose.angles.double()).numpy().copy()
    turns[:, 0] = Rotation.from_quat(root[:, [1, 2, 3, 0]]).as_matrix()
    vectors = Rotation.from_matrix(turns.reshape(-1, 3, 3)).as_rotvec().reshape(*turns.shape[:2], 3)
    return np.concatenate((pose.root_position.double().numpy(), continuous(vectors).reshape(len(root), -1)), 1)


def continuous(vectors: np.ndarray) -> np.ndarray:
    """Rotation vectors frame by frame, each in the turn nearest to the one before."""
    out = vectors.copy()
    for frame in range(1, len(out)):
        angle = np.linalg.norm(out[frame], axis=-1, keepdims=True)
        other = out[frame] * (1 - 2 * np.pi / np.maximum(angle, 1e-9))
        nearer = np.linalg.norm(other - out[frame - 1], axis=-1) < np.linalg.norm(out[frame] - out[frame - 1], axis=-1)
        out[frame] = np.where(nearer[:, None] & (angle > 1e-6), other, out[frame])
    return out


def to_motion(rig: Rig, y: Coordinates, fps: float) -> Motion:
    """The motion of rows of coordinates."""
    count = rig.skeleton.joint_count
    turns = Rotation.from_rotvec(y[:, 3:].reshape(-1, 3)).as_matrix().reshape(len(y), count, 3, 3)
    stage = rig.skeleton.frames @ turns @ np.swapaxes(rig.skeleton.frames, -1, -2)
    quaternions = align_hemisphere(matrix_to_quaternion(torch.from_numpy(stage)))
    return from_joint_quaternions(rig.skeleton, torch.from_numpy(y[:, :3].copy()), quaternions, fps)
