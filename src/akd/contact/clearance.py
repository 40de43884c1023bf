"""Keeping everything but the feet out of the ground: the body is raised, necks, trunks and tails are bent up.

A few vertices of every joint are looked at. Skin between them may still sink in, so at the end all of it is asked once."""

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from akd.character.kinematics import FrameVectors, JointRotations, local_to_stage, skinned
from akd.character.limb_model import LimbModel

MIN_CLEARANCE = 0.015
"""Height at which what we look at is kept above the ground [ℓ]: a vertex between may be a little lower."""
VISIBLE_DEPTH = 0.003
"""Skin deeper in the ground than this shows [ℓ]."""
LIFT_ITERATIONS = 6
"""Rounds of bending an appendage up: a chain that hangs straight down rises slowly at first."""


def clear_ground(puppet: LimbModel, root: FrameVectors, turns: JointRotations) -> FrameVectors:
    """The root, raised where the trunk would be in the ground; ``turns`` of appendages are changed in place.

    What lies on the ground at rest may stay there.
    """
    points = puppet.trunk_points
    if not points.size:
        return root
    allowed = np.minimum(puppet.rig.mesh.vertices[points, 1], MIN_CLEARANCE)
    depth = allowed - _heights(puppet, points, root, turns)
    if depth.max() <= 0:
        return root
    owner = puppet.point_owner[points]
    hangs = np.any([puppet.skeleton.is_ancestor[chain[0]] for chain in puppet.appendages], axis=0) if puppet.appendages else None
    trunk = np.ones(len(owner), bool) if hangs is None else ~hangs[owner]
    if trunk.any():
        root = root + np.array([0.0, 1.0, 0.0]) * np.maximum(depth[:, trunk].max(1), 0.0)[:, None]
    for chain in puppet.appendages:
        own = puppet.skeleton.is_ancestor[chain[0], owner]
        if own.any():
            _lift(puppet, chain, points[own], allowed[own], root, turns)
    return root


def penetrating_vertices(puppet: LimbModel, root: FrameVectors, turns: JointRotations) -> Int[np.ndarray, " point"]:
    """The vertices, of all the skin, that are in the ground at some time and were not at rest."""
    rotation, position = local_to_stage(puppet.skeleton, root, turns)
    shift = position[..., 1] - (rotation[:, :, 1] * puppet.skeleton.positions).sum(-1)
    pose = np.concatenate((rotation[:, :, 1], shift[..., None]), -1).reshape(len(root), -1)
    height = puppet.height_arms @ pose.astype(np.float32).T
    return np.flatnonzero(height.min(1) < np.minimum(puppet.rig.mesh.vertices[:, 1], 0.0) - VISIBLE_DEPTH)


def _lift(
    puppet: LimbModel,
    chain: tuple[int, ...],
    points: Int[np.ndarray, " point"],
    allowed: Float[np.ndarray, " point"],
    root: FrameVectors,
    turns: JointRotations,
) -> None:
    """Bend a chain of joints up until its points are above the ground."""
    rest = puppet.rig.mesh.vertices[points] - puppet.skeleton.positions[chain[0]]
    size = float(np.linalg.norm(rest, axis=1).max())
    ahead = 1.0 if rest[np.argmax(np.linalg.norm(rest, axis=1)), 0] > -0.2 * size else -1.0
    for _ in range(LIFT_ITERATIONS):
        rotation, position = local_to_stage(puppet.skeleton, root, turns)
        moved = skinned(puppet.rig, points, rotation, position)
        depth = allowed - moved[..., 1]
        worst = depth.argmax(1)
        need = np.maximum(depth.max(1), 0.0)
        if need.max() <= 0:
            return
        at = np.take_along_axis(moved, worst[:, None, None], 1)[:, 0] - position[:, chain[0]]
        lever = np.maximum(np.hypot(at[:, 0], at[:, 2]), 0.3 * size)
        bend = ahead * np.minimum(1.1 * need / lever, 0.6) / len(chain)
        turn = Rotation.from_rotvec(bend[:, None] * np.array([0.0, 0, 1.0])).as_matrix()
        for joint in chain:
            turns[:, joint] = turn @ turns[:, joint]


def _heights(
    puppet: LimbModel, points: Int[np.ndarray, " point"], root: FrameVectors, turns: JointRotations
) -> Float[np.ndarray, "frame point"]:
    return skinned(puppet.rig, points, *local_to_stage(puppet.skeleton, root, turns))[..., 1]
