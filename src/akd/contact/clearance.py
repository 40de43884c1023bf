"""Ground clearance of everything but the feet: the body is raised; neck, arms and tail are bent up.

Only the few vertices of ``LimbModel.trunk_points`` are kept clear; ``penetrating_vertices`` finds what is missed between them."""

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from akd.character.limb_model import FrameVectors, JointRotations, LimbModel, local_to_stage, skinned

MIN_CLEARANCE = 0.015
"""Height at which the sampled vertices are kept above the ground [ℓ]: a vertex between them may be a little lower."""
VISIBLE_DEPTH = 0.003
"""Skin deeper in the ground than this shows [ℓ]."""
LIFT_ITERATIONS = 6
"""Steps of bending an appendage up: a chain that hangs straight down rises slowly at first."""


def clear_ground(model: LimbModel, root: FrameVectors, rotations: JointRotations) -> FrameVectors:
    """The root, raised where the trunk would be in the ground; ``rotations`` of appendages are changed in place.

    What lies on the ground at rest may stay there.
    """
    points = model.trunk_points
    if not points.size:
        return root
    allowed = np.minimum(model.rig.mesh.vertices[points, 1], MIN_CLEARANCE)
    depth = allowed - _heights(model, points, root, rotations)
    if depth.max() <= 0:
        return root
    owner = model.point_owner[points]
    hangs = np.any([model.skeleton.is_ancestor[chain[0]] for chain in model.appendages], axis=0) if model.appendages else None
    trunk = np.ones(len(owner), bool) if hangs is None else ~hangs[owner]
    if trunk.any():
        root = root + np.array([0.0, 1.0, 0.0]) * np.maximum(depth[:, trunk].max(1), 0.0)[:, None]
    for chain in model.appendages:
        own = model.skeleton.is_ancestor[chain[0], owner]
        if own.any():
            _lift(model, chain, points[own], allowed[own], root, rotations)
    return root


def penetrating_vertices(model: LimbModel, root: FrameVectors, rotations: JointRotations) -> Int[np.ndarray, " point"]:
    """The vertices, of all the skin, that are in the ground at some time and were not at rest."""
    stage, position = local_to_stage(model.skeleton, root, rotations)
    shift = position[..., 1] - (stage[:, :, 1] * model.skeleton.positions).sum(-1)
    pose = np.concatenate((stage[:, :, 1], shift[..., None]), -1).reshape(len(root), -1)
    height = model.height_matrix @ pose.astype(np.float32).T
    return np.flatnonzero(height.min(1) < np.minimum(model.rig.mesh.vertices[:, 1], 0.0) - VISIBLE_DEPTH)


def _lift(
    model: LimbModel,
    chain: tuple[int, ...],
    points: Int[np.ndarray, " point"],
    allowed: Float[np.ndarray, " point"],
    root: FrameVectors,
    rotations: JointRotations,
) -> None:
    """Bend a chain of joints up until its points are above the ground."""
    rest = model.rig.mesh.vertices[points] - model.skeleton.positions[chain[0]]
    size = float(np.linalg.norm(rest, axis=1).max())
    ahead = 1.0 if rest[np.argmax(np.linalg.norm(rest, axis=1)), 0] > -0.2 * size else -1.0
    for _ in range(LIFT_ITERATIONS):
        stage, position = local_to_stage(model.skeleton, root, rotations)
        moved = skinned(model.rig, points, stage, position)
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
            rotations[:, joint] = turn @ rotations[:, joint]


def _heights(
    model: LimbModel, points: Int[np.ndarray, " point"], root: FrameVectors, rotations: JointRotations
) -> Float[np.ndarray, "frame point"]:
    return skinned(model.rig, points, *local_to_stage(model.skeleton, root, rotations))[..., 1]
