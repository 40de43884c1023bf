"""Decimation of huge meshes by vertex clustering (Rossignac and Borrel 1993): fast, and every vertex kept is an original one."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

MAX_FACES = 200_000
"""Meshes with more faces are decimated for previews and for rigging; what is lost is smaller than a pixel or a voxel there."""
ATTEMPTS = 8
"""Cell sizes tried until the number of faces fits."""


@dataclass(frozen=True, eq=False)
class Decimated:
    """A part of a mesh's vertices, and faces between them."""

    kept: Int[np.ndarray, " kept"]
    """Indices of the vertices that are left, in their order."""
    faces: Int[np.ndarray, "face 3"]
    """Indices into ``kept``."""


def decimate(
    vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"], max_faces: int = MAX_FACES, *,
    groups: Int[np.ndarray, " vertex"] | None = None,
) -> Decimated:  # fmt: skip
    """The mesh with at most ``max_faces`` faces: of the vertices in each cell of a grid the one nearest to their mean is left.

    Vertices of different ``groups`` are never merged.
    """
    corner = vertices[faces]
    area = float(np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1).sum()) / 2
    # A plane cuts about 1.5 cells of side h per h² of its area, and a closed mesh has two faces per vertex.
    side = max(np.sqrt(3 * area / max_faces), 1e-9 * max(float(np.ptp(vertices, axis=0).max()), 1e-300))
    for _ in range(ATTEMPTS):
        cluster, count = _clusters(vertices, side, groups)
        merged = _distinct_faces(cluster[faces], count)
        if len(merged) <= max_faces:
            break
        side *= 1.05 * np.sqrt(len(merged) / max_faces)
    nearest = _nearest_to_mean(vertices, cluster, count)
    order = np.argsort(nearest)
    return Decimated(nearest[order], np.argsort(order)[merged])


def _clusters(vertices: np.ndarray, side: float, groups: np.ndarray | None) -> tuple[Int[np.ndarray, " vertex"], int]:
    """The cluster of every vertex, and how many clusters there are."""
    cell = ((vertices - vertices.min(0)) / side).astype(np.int64)
    shape = cell.max(0) + 1
    key = (cell[:, 0] * shape[1] + cell[:, 1]) * shape[2] + cell[:, 2]
    if groups is not None:
        key = key * (int(groups.max(initial=0)) + 1) + groups
    used, cluster = np.unique(key, return_inverse=True)
    return cluster, len(used)


def _distinct_faces(faces: Int[np.ndarray, "face 3"], count: int) -> Int[np.ndarray, "kept 3"]:
    """Faces with three different corners, each once, in their order."""
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    low, middle, high = np.sort(faces, axis=1).T
    _, first = np.unique((low * count + middle) * count + high, return_index=True)
    return faces[np.sort(first)]


def _nearest_to_mean(vertices: np.ndarray, cluster: np.ndarray, count: int) -> Int[np.ndarray, " cluster"]:
    """Of every cluster the vertex nearest to the mean of its vertices."""
    size = np.bincount(cluster, minlength=count)
    mean = np.stack([np.bincount(cluster, axis, count) for axis in vertices.T], 1) / size[:, None]
    order = np.lexsort((np.square(vertices - mean[cluster]).sum(1), cluster))
    return order[np.cumsum(size) - size]
