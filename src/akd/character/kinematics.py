"""Forward kinematics and skinning of a few vertices in numpy, for solvers that need neither gradients nor the whole mesh."""

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from akd.rig import Rig
from akd.skeleton import Skeleton

FrameVectors = Float[np.ndarray, "frame 3"]
"""One vector per frame: a path, a shift."""
JointRotations = Float[np.ndarray, "frame joint 3 3"]
"""Relative to the parent, or to rest on the stage, in stage axes; the parameter says which."""
JointPositions = Float[np.ndarray, "frame joint 3"]


def local_to_stage(skeleton: Skeleton, root: FrameVectors, rotations: JointRotations) -> tuple[JointRotations, JointPositions]:
    """Forward kinematics: rotations relative to parents → rotations on the stage and joint positions [ℓ]."""
    stage, position = np.empty_like(rotations), np.empty((*rotations.shape[:2], 3))
    stage[:, 0], position[:, 0] = rotations[:, 0], root
    for joint in range(1, skeleton.joint_count):
        parent = skeleton.parents[joint]
        offset = skeleton.positions[joint] - skeleton.positions[parent]
        position[:, joint] = position[:, parent] + stage[:, parent] @ offset
        stage[:, joint] = stage[:, parent] @ rotations[:, joint]
    return stage, position


def axis_rotations(axis: int, angle: Float[np.ndarray, " frame"]) -> Float[np.ndarray, "frame 3 3"]:
    """Rotation matrices about one axis of the stage."""
    return Rotation.from_rotvec(angle[:, None] * np.eye(3)[axis]).as_matrix()


def skinned(
    rig: Rig, index: Int[np.ndarray, " point"], stage: JointRotations, position: JointPositions
) -> Float[np.ndarray, "frame point 3"]:
    """Linear blend skinning of the vertices ``index`` under stage rotations and positions of the joints [ℓ]."""
    weights, vertices = rig.weights[index], rig.mesh.vertices[index]
    used = np.flatnonzero(weights.max(0) > 1e-4)
    shift = position[:, used] - (stage[:, used] @ rig.skeleton.positions[used, :, None])[..., 0]
    moved = vertices @ np.swapaxes(stage[:, used], -1, -2) + shift[:, :, None]
    return np.einsum("pj,fjpc->fpc", weights[:, used], moved)
