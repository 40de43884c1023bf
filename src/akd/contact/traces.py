"""Run a motion once through kinematics and skinning, and keep what the metrics look at."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import coo_array, csr_array
from torch import Tensor

from akd.cuboids import bone_cuboids, cuboid_corners
from akd.errors import AkdError
from akd.motion import Motion
from akd.rig import Rig
from akd.rotations import quaternion_conjugate, quaternion_multiply, quaternion_to_rotation_vector
from akd.skeleton import Pose, Posed, forward_kinematics
from akd.splats import skin_points

SKIN_CHUNK = 1_000_000
"""Vertices skinned at a time: about 200 MB while it lasts."""


@dataclass(frozen=True, eq=False)
class Trace:
    """What a motion does in space; numpy, float64, stage frame, ℓ."""

    fps: float
    joints: Float[np.ndarray, "frame joint 3"]
    root_rotation: Float[np.ndarray, "frame 3 3"]
    """The root's turn away from rest."""
    coordinates: Float[np.ndarray, "frame dof"]
    """Root position, root turn (see ``generalised_coordinates``), then the angles of all other joints."""
    feet: Float[np.ndarray, "frame foot 3"]
    """Mean x and z of each leg's sole, and its lowest y."""
    lowest: Float[np.ndarray, " frame"]
    """Height of the lowest vertex; of the lowest joint where there is no mesh."""
    corners: Float[np.ndarray, "frame cuboid 8 3"]
    """Corners of the bones' cuboids."""


def trace(rig: Rig, motion: Motion) -> Trace:
    """Everything the metrics need, with vertices skinned in chunks of frames so that memory stays bounded."""
    pose = motion.pose.detach().to(torch.float64)
    posed = forward_kinematics(rig.skeleton, pose)
    finite = posed.position.isfinite().flatten(1).all(1)
    if not finite.all():
        raise AkdError(f"Frame {int(finite.long().argmin())} of the motion is not finite; crop it or repair it before measuring.")
    feet, lowest = _skin(rig, posed)
    return Trace(
        fps=motion.fps,
        joints=posed.position.numpy(),
        root_rotation=posed.rotation[:, 0].numpy(),
        coordinates=generalised_coordinates(pose).numpy(),
        feet=feet,
        lowest=lowest,
        corners=cuboid_corners(rig.skeleton, bone_cuboids(rig), posed).numpy(),
    )


def generalised_coordinates(pose: Pose) -> Float[Tensor, "frame dof"]:
    """Root position, the root's turns from frame to frame added up (rotation vectors in the body), and joint angles.

    Adding up small turns never jumps, however often the body spins; its differences are those of Θ in L_smooth.
    """
    q = pose.root_rotation / pose.root_rotation.norm(dim=-1, keepdim=True)
    first = quaternion_to_rotation_vector(q[:1])
    steps = quaternion_to_rotation_vector(quaternion_multiply(quaternion_conjugate(q[:-1]), q[1:]))
    turn = torch.cumsum(torch.cat((first, steps)), 0)
    return torch.cat((pose.root_position, turn, pose.angles[:, 1:].flatten(1)), -1)


def _skin(rig: Rig, posed: Posed) -> tuple[np.ndarray, np.ndarray]:
    """Feet and lowest vertex of every frame. Of most of the skin only the height matters, so only that is computed."""
    joints = posed.position.numpy()
    feet, lowest = tip_feet(rig, joints), joints[..., 1].min(-1)
    if rig.mesh.vertex_count == 0:
        return feet, lowest
    heights = _height_map(rig)
    chunk = max(1, SKIN_CHUNK // rig.mesh.vertex_count)
    for start in range(0, len(joints), chunk):
        now = slice(start, start + chunk)
        lowest[now] = (heights @ _height_rows(rig, posed.rotation[now, :, 1].numpy(), joints[now, :, 1])).min(0)
    _put_on_soles(rig, posed, feet)
    return feet, lowest


def _height_map(rig: Rig) -> csr_array:
    """Heights of all vertices as linear functions of the joints' maps: vertex × (four for every joint)."""
    weights = coo_array(rig.weights)
    points = np.column_stack((rig.mesh.vertices, np.ones(rig.mesh.vertex_count)))[weights.row]
    columns = 4 * weights.col[:, None] + np.arange(4)
    rows = np.broadcast_to(weights.row[:, None], columns.shape)
    values = weights.data[:, None] * points
    return csr_array(
        (values.ravel(), (rows.ravel(), columns.ravel())), shape=(rig.mesh.vertex_count, 4 * rig.skeleton.joint_count)
    )


def _height_rows(
    rig: Rig, up: Float[np.ndarray, "frame joint 3"], height: Float[np.ndarray, "frame joint"]
) -> Float[np.ndarray, "entry frame"]:
    """What ``_height_map`` is applied to: the vertical rows of the joints' maps ``x ↦ R x + t``."""
    shift = height - (up * rig.skeleton.positions).sum(-1)
    return np.ascontiguousarray(np.concatenate((up, shift[..., None]), -1).reshape(len(up), -1).T)


def _put_on_soles(rig: Rig, posed: Posed, feet: Float[np.ndarray, "frame foot 3"]) -> None:
    """Foot positions from the skin of the soles [ℓ]."""
    for foot, sole in enumerate(rig.soles):
        if not len(sole):
            continue
        weights, points = (torch.as_tensor(array[sole], dtype=torch.float64) for array in (rig.weights, rig.mesh.vertices))
        chunk = max(1, SKIN_CHUNK // len(sole))
        for start in range(0, len(feet), chunk):
            now = slice(start, start + chunk)
            moved = skin_points(rig.skeleton, Posed(posed.rotation[now], posed.position[now]), weights, points)
            feet[now, foot] = foot_on(moved.numpy())


def foot_on(sole: Float[np.ndarray, "frame vertex 3"]) -> Float[np.ndarray, "frame 3"]:
    """The foot of a sole: mean x and z, and lowest y."""
    x, y, z = np.moveaxis(sole, -1, 0)
    return np.stack((x.mean(-1), y.min(-1), z.mean(-1)), -1)


def tip_feet(rig: Rig, joints: np.ndarray) -> np.ndarray:
    """Feet of a leg without a sole patch: its last joint, with the height counted from where it is at rest."""
    tips = [leg.tip for leg in rig.legs]
    return joints[:, tips] - rig.skeleton.positions[tips] * np.array([0.0, 1.0, 0.0])


def yaw(rotation: Float[np.ndarray, "frame 3 3"]) -> Float[np.ndarray, " frame"]:
    """The turn about the vertical within a rotation (its twist), continuous over frames [rad].

    Unlike the direction of the projected nose it stays defined when the body pitches upright.
    """
    turn = np.arctan2(rotation[:, 0, 2] - rotation[:, 2, 0], rotation[:, 0, 0] + rotation[:, 2, 2])
    return np.unwrap(turn)


def in_heading_frame(
    points: Float[np.ndarray, "frame point 3"], root: Float[np.ndarray, "frame 3"], turn: Float[np.ndarray, " frame"]
) -> Float[np.ndarray, "frame point 3"]:
    """The points with the root's x, z and yaw removed in every frame; heights stay."""
    x, z = (points[..., axis] - root[:, None, axis] for axis in (0, 2))
    cos, sin = np.cos(turn)[:, None], np.sin(turn)[:, None]
    return np.stack((cos * x - sin * z, points[..., 1], sin * x + cos * z), -1)
