"""Kinematics in numpy for the few joints and vertices a puppeteer looks at; turns are relative to parents, in stage axes."""

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from akd.rig import Rig
from akd.skeleton import Skeleton

FrameVectors = Float[np.ndarray, "frame 3"]
JointRotations = Float[np.ndarray, "frame joint 3 3"]


def local_to_stage(
    skeleton: Skeleton, root: FrameVectors, turns: JointRotations
) -> tuple[Float[np.ndarray, "frame joint 3 3"], Float[np.ndarray, "frame joint 3"]]:
    """Forward kinematics from turns relative to parents: turns on the stage and positions."""
    rotation, position = np.empty_like(turns), np.empty((*turns.shape[:2], 3))
    rotation[:, 0], position[:, 0] = turns[:, 0], root
    for joint in range(1, skeleton.joint_count):
        parent = skeleton.parents[joint]
        offset = skeleton.positions[joint] - skeleton.positions[parent]
        position[:, joint] = position[:, parent] + rotation[:, parent] @ offset
        rotation[:, joint] = rotation[:, parent] @ turns[:, joint]
    return rotation, position


def axis_rotations(axis: int, angle: Float[np.ndarray, " frame"]) -> Float[np.ndarray, "frame 3 3"]:
    """Rotation matrices about one axis of the stage."""
    return Rotation.from_rotvec(angle[:, None] * np.eye(3)[axis]).as_matrix()


def skinned(
    rig: Rig, index: Int[np.ndarray, " point"], rotation: JointRotations, position: Float[np.ndarray, "frame joint 3"]
) -> Float[np.ndarray, "frame point 3"]:
    """Linear blend skinning of a few vertices."""
    weights, vertices = rig.weights[index], rig.mesh.vertices[index]
    used = np.flatnonzero(weights.max(0) > 1e-4)
    shift = position[:, used] - (rotation[:, used] @ rig.skeleton.positions[used, :, None])[..., 0]
    moved = vertices @ np.swapaxes(rotation[:, used], -1, -2) + shift[:, :, None]
    return np.einsum("pj,fjpc->fpc", weights[:, used], moved)
