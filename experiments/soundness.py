"""Mesh and weight quality of a rig as numbers, for ``creatures`` and the tests; makes no figure of its own."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float, Int
from scipy.spatial import cKDTree

from akd.motion import Pose
from akd.rig import Rig
from akd.skeleton import Skeleton, forward_kinematics
from akd.splats import skin_points


@dataclass(frozen=True)
class Soundness:
    """What a builder of characters promises, as numbers."""

    vertices: int
    bad_edges: int
    """Edges that do not have exactly one face on either side; 0 means closed and manifold."""
    components: int
    smallest_angle: float
    """Of all corners of all faces [degrees]."""
    asymmetry: float
    """Largest distance from a vertex's mirror image to the nearest vertex [ℓ]."""
    weight_error: float
    """Largest deviation of a row of weights from the sum one."""
    influences: int
    """Most joints on one vertex."""
    opposite_weight: float
    """Largest weight on a limb of the other side."""
    lowest: float
    """Height of the lowest vertex [ℓ]."""
    sole_height: float
    """Highest of the soles' lowest vertices [ℓ]."""
    smallest_sole: int
    """Vertices of the smallest sole."""
    leg_gap: float
    """Smallest distance between the free parts of two legs at rest [ℓ]."""


def soundness(rig: Rig) -> Soundness:
    """Measure a rig at rest."""
    vertices, faces = rig.mesh.vertices, rig.mesh.faces
    heights = [vertices[sole, 1] for sole in rig.soles]
    return Soundness(
        len(vertices), _bad_edges(faces), _components(faces, len(vertices)), smallest_angle(vertices, faces),
        float(cKDTree(vertices).query(vertices * (1, 1, -1))[0].max()), float(np.abs(rig.weights.sum(1) - 1).max()),
        int((rig.weights > 0).sum(1).max()), _opposite_weight(rig), float(vertices[:, 1].min()),
        max((float(h.min()) for h in heights), default=0.0), min(map(len, heights), default=0), leg_gap(rig),
    )


def stretch_under(rig: Rig, pose: Pose) -> Float[np.ndarray, " edge"]:
    """How much longer every edge of the surface is in a pose than at rest."""
    weights, rest = torch.as_tensor(rig.weights), torch.as_tensor(rig.mesh.vertices)
    moved = skin_points(rig.skeleton, forward_kinematics(rig.skeleton, pose), weights, rest).numpy()
    edges = rig.mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    edges = edges[edges[:, 0] < edges[:, 1]]
    length = [np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1) for points in (moved, rig.mesh.vertices)]
    return length[0] / length[1]


def random_pose(skeleton: Skeleton, rng: np.random.Generator, bend: float = 0.5) -> Pose:
    """Every joint bent by up to ``bend`` radians about each of its axes."""
    pose = skeleton.rest_pose(dtype=torch.float64)
    return Pose(pose.root_position, pose.root_rotation, torch.as_tensor(rng.uniform(-bend, bend, pose.angles.shape)))


def smallest_angle(vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"]) -> float:
    """Of all corners of all faces [degrees]; a degenerate face has a corner of zero."""
    corners = vertices[faces]
    worst = 180.0
    for k in range(3):
        a, b = corners[:, (k + 1) % 3] - corners[:, k], corners[:, (k + 2) % 3] - corners[:, k]
        angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), (a * b).sum(1))
        worst = min(worst, float(np.rad2deg(angle.min())))
    return worst


def leg_gap(rig: Rig) -> float:
    """Smallest distance between what moves with two different legs, their first bones left out."""
    strongest = rig.weights.argmax(1)
    trees = [rig.mesh.vertices[np.isin(strongest, leg.joints[1:])] for leg in rig.legs]
    gaps = [
        cKDTree(a).query(b)[0].min() for i, a in enumerate(trees) for b in trees[i + 1 :] if len(a) and len(b)
    ]
    return float(min(gaps, default=np.inf))


def _bad_edges(faces: Int[np.ndarray, "face 3"]) -> int:
    """Every directed edge must occur once, and once in the other direction."""
    ends = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    count = faces.max() + 1
    keys, times = np.unique(ends[:, 0] * count + ends[:, 1], return_counts=True)
    back = (keys % count) * count + keys // count
    return int((times > 1).sum() + (~np.isin(back, keys)).sum())


def _components(faces: Int[np.ndarray, "face 3"], count: int) -> int:
    links = sp.coo_matrix((np.ones(2 * len(faces)), (faces[:, :2].ravel("F"), faces[:, 1:].ravel("F"))), (count, count))
    return int(sp.csgraph.connected_components(links, directed=False)[0])


def _opposite_weight(rig: Rig) -> float:
    sides = np.zeros(rig.skeleton.joint_count)
    for limb in rig.skeleton.limbs:
        sides[list(limb.joints)] = {"L": -1, "R": 1, "C": 0}[limb.side]
    across = rig.mesh.vertices[:, 2][:, None] * sides < -1e-9
    return float(np.where(across, rig.weights, 0).max())
