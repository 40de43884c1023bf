"""Isotropic remeshing: edge collapses and splits towards target edge lengths, which keep the topology."""

from typing import no_type_check

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

MIN_ROUNDNESS = 0.15
"""No new face is less round than this (twice its area over its longest edge squared)."""


def largest_component(
    vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"]
) -> tuple[Float[np.ndarray, "kept 3"], Int[np.ndarray, "kept_face 3"]]:
    """The largest connected component of a mesh."""
    links = sp.coo_matrix((np.ones(2 * len(faces)), (faces[:, :2].ravel("F"), faces[:, 1:].ravel("F"))), (len(vertices),) * 2)
    _, label = sp.csgraph.connected_components(links, directed=False)
    faces = faces[label[faces[:, 0]] == np.bincount(label).argmax()]
    return _compact(vertices, faces)


def neighbour_average(faces: Int[np.ndarray, "face 3"], count: int) -> sp.csr_matrix:
    """The matrix that replaces every vertex by the mean of its neighbours."""
    rows, columns = faces[:, [0, 1, 1, 2, 2, 0]].ravel(), faces[:, [1, 0, 2, 1, 0, 2]].ravel()
    links = sp.coo_matrix((np.ones(len(rows)), (rows, columns)), (count, count)).tocsr()
    links.data[:] = 1.0
    return sp.diags(1.0 / np.maximum(np.asarray(links.sum(1)).ravel(), 1.0)) @ links


def collapse_short_edges(
    vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"],
    edge_length: Float[np.ndarray, " vertex"],
) -> tuple[Float[np.ndarray, "kept 3"], Int[np.ndarray, "kept_face 3"]]:
    """Collapse edges until they are about as long as ``edge_length``."""
    for _ in range(12):
        before = len(faces)
        edges, faces_beside = _edges(faces, len(vertices))
        border = np.zeros(len(vertices), bool)
        border[edges[faces_beside == 1]] = True
        length = np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1) / edge_length[edges].mean(1)
        short = np.flatnonzero(length < 0.85)
        short = short[np.argsort(length[short], kind="stable")]
        ring_start, ring = _faces_around(faces, len(vertices))
        vertices, faces, edge_length = vertices.copy(), faces.copy(), edge_length.copy()
        _collapse(vertices, faces, edge_length, edges[short], border, ring_start, ring)
        faces = faces[faces[:, 0] >= 0]
        packed, faces = _compact(np.column_stack((vertices, edge_length)), faces)
        vertices, edge_length = packed[:, :3], packed[:, 3]
        if len(faces) > 0.995 * before:
            break
    return vertices, faces


def split_long_edges(
    vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"], edge_length: Float[np.ndarray, " vertex"]
) -> tuple[Float[np.ndarray, "more 3"], Int[np.ndarray, "more_face 3"]]:
    """Split every edge that is much too long at its middle; faces on both sides share the new vertex."""
    edges, _ = _edges(faces, len(vertices))
    length = np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1)
    long = edges[length > 1.5 * edge_length[edges].min(1)]
    middle = sp.csr_matrix((len(vertices) + np.arange(len(long)), (long[:, 0], long[:, 1])), (len(vertices),) * 2)
    middle = middle + middle.T
    midpoint = np.stack([np.asarray(middle[faces[:, k], faces[:, (k + 1) % 3]]).ravel() for k in range(3)], -1)
    pieces = [faces[(midpoint == 0).all(1)]]
    for turn in range(3):
        # Seen from the right corner, a face has one, two or three split edges in one of four patterns.
        (a, b, c), (ab, bc, ca) = np.roll(faces, -turn, 1).T, np.roll(midpoint, -turn, 1).T
        one = (ab > 0) & (bc == 0) & (ca == 0)
        two = (ab > 0) & (bc > 0) & (ca == 0)
        pieces += [_rows(one, (a, ab, c), (ab, b, c)), _rows(two, (ab, b, bc), (a, ab, bc), (a, bc, c))]
    three = np.asarray((midpoint > 0).all(1))
    pieces.append(_rows(three, (a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)))
    return np.concatenate((vertices, vertices[long].mean(1))), np.concatenate(pieces)


def _rows(chosen: np.ndarray, *triangles: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.concatenate([np.column_stack(corners)[chosen] for corners in triangles])


def graded(
    vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"], edge_length: Float[np.ndarray, " vertex"]
) -> Float[np.ndarray, " vertex"]:
    """Lengths that grow slowly away from fine detail, so that triangles next to it are not slivers."""
    edges, _ = _edges(faces, len(vertices))
    length = 0.5 * np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1)
    edge_length = edge_length.copy()
    for _ in range(4):
        for a, b in (edges.T, edges.T[::-1]):
            np.minimum.at(edge_length, a, edge_length[b] + length)
    return edge_length


def expected_vertices(
    vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"], edge_length: Float[np.ndarray, " vertex"]
) -> float:
    """How many vertices equilateral triangles of these edge lengths would need."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return float((area / edge_length[faces].mean(1) ** 2).sum() * 2 / np.sqrt(3))


def _compact(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave out vertices that no face uses."""
    used = np.zeros(len(vertices), bool)
    used[faces] = True
    return vertices[used], (np.cumsum(used) - 1)[faces]


def _edges(faces: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Every edge once, smaller vertex first, and how many faces lie beside it."""
    ends = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    keys, faces_beside = np.unique(ends.min(1) * count + ends.max(1), return_counts=True)
    return np.column_stack((keys // count, keys % count)), faces_beside


def _faces_around(faces: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each vertex, the faces that touch it: a start for every vertex into one long list."""
    start = np.concatenate(([0], np.cumsum(np.bincount(faces.ravel(), minlength=count))))
    return start, np.argsort(faces.ravel(), kind="stable") // 3


@numba.njit(cache=True)
@no_type_check
def _collapse(vertices, faces, edge_length, edges, border, ring_start, ring):
    """One sweep: merge the ends of each edge, shortest first, unless one has been merged already or the surface would fold.

    The lists of faces around the other vertices stay true: their faces are renamed in place, or marked as gone by a first
    corner of −1.
    """
    merged = np.zeros(len(vertices), np.bool_)
    seen = np.zeros(len(vertices), np.int64)
    for e in range(len(edges)):
        u, v = edges[e]
        if merged[u] or merged[v]:
            continue
        if border[v] and not border[u]:
            u, v = v, u
        if not _may_merge(faces, u, v, border, ring_start, ring, seen, e + 1):
            continue
        # Halfway first, then either end; what lies on the border stays there.
        for share in (0.5, 0.0, 1.0):
            place = (1 - share) * vertices[u] + share * vertices[v]
            fits = share == 0.0 or border[u] == border[v]
            fits = fits and not _folds(vertices, faces, u, v, place, ring_start, ring)
            if fits and not _folds(vertices, faces, v, u, place, ring_start, ring):
                break
        else:
            continue
        merged[u] = merged[v] = True
        vertices[u] = place
        edge_length[u] = min(edge_length[u], edge_length[v])
        for f in ring[ring_start[v] : ring_start[v + 1]]:
            if faces[f, 0] >= 0 and (faces[f, 0] == u or faces[f, 1] == u or faces[f, 2] == u):
                faces[f, 0] = -1
            for corner in range(3):
                if faces[f, corner] == v:
                    faces[f, corner] = u


@numba.njit(cache=True)
@no_type_check
def _may_merge(faces, u, v, border, ring_start, ring, seen, stamp):
    """The link condition: the ends share only the neighbours across their edge, so the surface stays a surface."""
    shared_faces, around_u, around_v, shared = 0, 0, 0, 0
    for f in ring[ring_start[u] : ring_start[u + 1]]:
        if faces[f, 0] < 0:
            continue
        around_u += 1
        for corner in range(3):
            shared_faces += faces[f, corner] == v
            if faces[f, corner] != u:
                seen[faces[f, corner]] = stamp
    if shared_faces == 0 or (border[u] and border[v] and shared_faces != 1):
        return False
    for f in ring[ring_start[v] : ring_start[v + 1]]:
        if faces[f, 0] < 0:
            continue
        around_v += 1
        for corner in range(3):
            w = faces[f, corner]
            if w in (u, v):
                continue
            if seen[w] == stamp:
                shared += 1
                seen[w] = -stamp
            elif border[w] and border[u] and not border[v] and seen[w] != -stamp:
                # An inner edge between two border vertices would become one edge of four faces once mirrored.
                return False
    valence = around_u + around_v - 2 * shared_faces
    return shared == shared_faces and 3 < valence < 11


@numba.njit(cache=True)
@no_type_check
def _folds(vertices, faces, moving, other, place, ring_start, ring):
    """Would a face around the moving vertex turn over or become a sliver?"""
    old, new = np.empty((3, 3)), np.empty((3, 3))
    for f in ring[ring_start[moving] : ring_start[moving + 1]]:
        if faces[f, 0] < 0 or faces[f, 0] == other or faces[f, 1] == other or faces[f, 2] == other:
            continue
        for corner in range(3):
            w = faces[f, corner]
            old[corner] = vertices[w]
            new[corner] = place if w == moving else vertices[w]
        before, roundness_before = _normal(old)
        after, roundness_after = _normal(new)
        # The normal of a sliver means nothing, and slivers are what the sweep is to remove: only a sound face can turn over.
        if roundness_before > MIN_ROUNDNESS and np.dot(before, after) < 0.3:
            return True
        if roundness_after < MIN_ROUNDNESS and roundness_after < roundness_before:
            return True
    return False


@numba.njit(cache=True)
@no_type_check
def _normal(corners):
    """Unit normal of a triangle, and twice its area over its longest edge squared (0.87 for the equilateral one)."""
    a, b, c = corners[1] - corners[0], corners[2] - corners[1], corners[0] - corners[2]
    normal = np.cross(a, b)
    size = np.sqrt((normal**2).sum())
    longest = max((a**2).sum(), (b**2).sum(), (c**2).sum())
    return normal / max(size, 1e-30), size / max(longest, 1e-30)
