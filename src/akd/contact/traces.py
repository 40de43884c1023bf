"""Run a motion once through kinematics and skinning, and keep what the metrics look at.

Clips from files that walk in place: how fast the ground would have to run, and how high their ground is.

Game artists animate strides under a standing root, and rarely put stance feet at exactly y = 0: they hover or sink by
a few hundredths of a leg. Both are properties of the file, not faults of the gait, so for clips from files both are
estimated, reported, and taken off before contact is judged. Our own motions are always measured against y = 0 and
their own travel.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.contact.measures import CONTACT_HEIGHT, Feet, in_contact
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
        fps=motion.fps, joints=posed.position.numpy(), root_rotation=posed.rotation[:, 0].numpy(),
        coordinates=generalised_coordinates(pose).numpy(), feet=feet, lowest=lowest,
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
    """Feet and lowest vertex of every frame."""
    joints = posed.position.numpy()
    feet, lowest = _tip_feet(rig, joints), joints[..., 1].min(-1)
    if rig.mesh.vertex_count == 0:
        return feet, lowest
    weights, points = (torch.as_tensor(array, dtype=torch.float64) for array in (rig.weights, rig.mesh.vertices))
    chunk = max(1, SKIN_CHUNK // rig.mesh.vertex_count)
    for start in range(0, len(joints), chunk):
        now = slice(start, start + chunk)
        vertices = skin_points(rig.skeleton, Posed(posed.rotation[now], posed.position[now]), weights, points).numpy()
        lowest[now], feet[now] = vertices[..., 1].min(-1), feet_from_vertices(rig, joints[now], vertices)
    return feet, lowest


def feet_from_vertices(
    rig: Rig, joints: Float[np.ndarray, "frame joint 3"], vertices: Float[np.ndarray, "frame vertex 3"]
) -> Float[np.ndarray, "frame foot 3"]:
    """Mean x and z of each leg's sole, and its lowest y."""
    feet = _tip_feet(rig, joints)
    for foot, sole in enumerate(rig.soles):
        if len(sole):
            x, y, z = np.moveaxis(vertices[:, sole], -1, 0)
            feet[:, foot] = np.stack((x.mean(-1), y.min(-1), z.mean(-1)), -1)
    return feet


def _tip_feet(rig: Rig, joints: np.ndarray) -> np.ndarray:
    """Feet of a leg without a sole patch: its last joint, with the height counted from where it is at rest."""
    tips = [leg.tip for leg in rig.legs]
    return joints[:, tips] - rig.skeleton.positions[tips] * np.array([0.0, 1.0, 0.0])


MAX_GROUND_OFFSET = 0.1
"""A stance level farther than this from y = 0 is not an artist's tolerance but a foot in the air (or a hole) [ℓ]."""
STANCE_QUANTILE = 1 / 3
"""The stance level is this quantile of the heights of a foot that is being pulled back: below the middle, since a
galloping foot is still in the air for part of that, but not at the bottom, since toes dig in as they push off."""
MAX_IN_PLACE_SPEED = 0.1
"""A root that gets ahead less than this stays in place [ℓ/s]."""
MIN_RETRACTION_SPEED = 0.2
"""Feet that are pulled back more slowly than this do not walk [ℓ/s]."""
MAX_DISAGREEMENT = 0.5
"""Feet in stance agree if half of their steps are within this share of the common velocity."""


def stance_heights(feet: Feet, ahead: Float[np.ndarray, "frame foot"]) -> Float[np.ndarray, " foot"]:
    """The height of each foot's own ground, at most 0.1 ℓ from y = 0.

    ``ahead`` is how far the foot is in front of the body along its way: stance is where that shrinks.
    """
    back = np.diff(ahead, axis=0) < 0
    levels = [
        np.quantile(height[:-1][going] if going.any() else height, STANCE_QUANTILE)
        for height, going in zip(feet[..., 1].T, back.T, strict=True)
    ]
    return np.clip(np.array(levels, float), -MAX_GROUND_OFFSET, MAX_GROUND_OFFSET)


def treadmill_velocity(feet: Feet, root: Float[np.ndarray, "frame 3"], fps: float) -> Float[np.ndarray, " 3"] | None:
    """The velocity over the ground that an in-place clip pretends to have [ℓ/s]; None if it does not.

    It is opposite to the median velocity of feet in stance, provided the root itself stays and the feet agree. Stance
    are the steps in contact at both ends that go with the mean of such steps, the lower the heavier: swinging feet may
    skim the ground too. Heights are measured from each foot's own ground.
    """
    if len(feet) < 3 or np.linalg.norm((root[-1] - root[0])[[0, 2]]) * fps > MAX_IN_PLACE_SPEED * (len(root) - 1):
        return None
    low = in_contact(feet)
    steps = low[1:] & low[:-1]
    velocity = np.diff(feet[..., [0, 2]], axis=0)[steps] * fps
    depth = CONTACT_HEIGHT - np.maximum(feet[:-1, :, 1][steps], 0)
    stance = velocity[velocity @ (depth @ velocity) > 0]
    if len(stance) < 3 or len(stance) < len(velocity) / 2:
        return None
    common = np.median(stance, axis=0)
    speed = float(np.linalg.norm(common))
    apart = float(np.median(np.linalg.norm(stance - common, axis=1)))
    if speed < MIN_RETRACTION_SPEED or apart > MAX_DISAGREEMENT * speed:
        return None
    return np.array([-common[0], 0.0, -common[1]])


def on_treadmill(
    points: Float[np.ndarray, "frame point 3"], velocity: Float[np.ndarray, " 3"], fps: float
) -> Float[np.ndarray, "frame point 3"]:
    """The points as they would move if the body travelled with this velocity."""
    return points + (np.arange(len(points)) / fps)[:, None, None] * velocity


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
