"""Triangle surgery: fewer and better triangles, without changing what is connected to what."""

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int


def largest_component(
    vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"]
) -> tuple[Float[np.ndarray, "kept 3"], Int[np.ndarray, "kept_face 3"]]:
    """Drop everything that does not hang together with the bulk of the surface."""
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
    wanted: Float[np.ndarray, " vertex"],
) -> tuple[Float[np.ndarray, "kept 3"], Int[np.ndarray, "kept_face 3"]]:
    """Merge vertices until edges are about as long as wanted."""
    for _ in range(12):
        before = len(faces)
        edges, faces_beside = _edges(faces, len(vertices))
        border = np.zeros(len(vertices), bool)
        border[edges[faces_beside == 1]] = True
        length = np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1) / wanted[edges].mean(1)
        short = np.flatnonzero(length < 0.85)
        short = short[np.argsort(length[short], kind="stable")]
        ring_start, ring = _faces_around(faces, len(vertices))
        vertices, faces, wanted = vertices.copy(), faces.copy(), wanted.copy()
        _collapse(vertices, faces, wanted, edges[short], border, ring_start, ring)
        faces = faces[faces[:, 0] >= 0]
        packed, faces = _compact(np.column_stack((vertices, wanted)), faces)
        vertices, wanted = packed[:, :3], packed[:, 3]
        if len(faces) > 0.995 * before:
            break
    return vertices, faces


def split_long_edges(
    vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"], wanted: Float[np.ndarray, " vertex"]
) -> tuple[Float[np.ndarray, "more 3"], Int[np.ndarray, "more_face 3"]]:
    """Put a vertex in the middle of every edge that is much too long; neighbours agree on it, so nothing tears."""
    edges, _ = _edges(faces, len(vertices))
    length = np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1)
    long = edges[length > 1.5 * wanted[edges].min(1)]
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
    vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"], wanted: Float[np.ndarray, " vertex"]
) -> Float[np.ndarray, " vertex"]:
    """Lengths that grow slowly away from fine detail, so that triangles next to it are not slivers."""
    edges, _ = _edges(faces, len(vertices))
    length = 0.5 * np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1)
    wanted = wanted.copy()
    for _ in range(4):
        for a, b in (edges.T, edges.T[::-1]):
            np.minimum.at(wanted, a, wanted[b] + length)
    return wanted


def expected_vertices(
    vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"], wanted: Float[np.ndarray, " vertex"]
) -> float:
    """How many vertices equilateral triangles of the wanted edge lengths would need."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return float((area / wanted[faces].mean(1) ** 2).sum() * 2 / np.sqrt(3))


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
def _collapse(vertices, faces, wanted, edges, border, ring_start, ring):  # type: ignore[no-untyped-def]
    """One sweep: merge the ends of each edge, shortest first, unless a neighbour has changed or the surface would fold."""
    changed = np.zeros(len(vertices), np.bool_)
    seen = np.zeros(len(vertices), np.int64)
    for e in range(len(edges)):
        u, v = edges[e]
        if changed[u] or changed[v]:
            continue
        if border[v] and not border[u]:
            u, v = v, u
        if not _may_merge(vertices, faces, u, v, border, ring_start, ring, seen, e + 1):
            continue
        place = vertices[u].copy() if border[u] and not border[v] else 0.5 * (vertices[u] + vertices[v])
        if _folds(vertices, faces, u, v, place, ring_start, ring) or _folds(vertices, faces, v, u, place, ring_start, ring):
            continue
        for end in (u, v):
            for f in ring[ring_start[end] : ring_start[end + 1]]:
                for corner in range(3):
                    changed[faces[f, corner]] = True
        vertices[u] = place
        wanted[u] = min(wanted[u], wanted[v])
        for f in ring[ring_start[v] : ring_start[v + 1]]:
            for corner in range(3):
                if faces[f, corner] == u:
                    faces[f, 0] = -1
            if faces[f, 0] >= 0:
                for corner in range(3):
                    if faces[f, corner] == v:
                        faces[f, corner] = u


@numba.njit(cache=True)
def _may_merge(vertices, faces, u, v, border, ring_start, ring, seen, stamp):  # type: ignore[no-untyped-def]
    """The link condition: the ends share only the neighbours across their edge, so the surface stays a surface."""
    shared_faces = 0
    for f in ring[ring_start[u] : ring_start[u + 1]]:
        has_v = False
        for corner in range(3):
            if faces[f, corner] == v:
                has_v = True
            if faces[f, corner] != u:
                seen[faces[f, corner]] = stamp
        shared_faces += has_v
    if border[u] and border[v] and shared_faces != 1:
        return False
    shared = 0
    for f in ring[ring_start[v] : ring_start[v + 1]]:
        for corner in range(3):
            w = faces[f, corner]
            if w != v and w != u and seen[w] == stamp:
                shared += 1
                seen[w] = -1 - stamp
            elif w != v and w != u and border[w] and border[u] and not border[v] and seen[w] != -1 - stamp:
                # An inner edge between two border vertices would become one edge of four faces once mirrored.
                return False
    valence = (ring_start[u + 1] - ring_start[u]) + (ring_start[v + 1] - ring_start[v]) - 2 * shared_faces
    return shared == shared_faces and valence > 3 and valence < 11


@numba.njit(cache=True)
def _folds(vertices, faces, moving, other, place, ring_start, ring):  # type: ignore[no-untyped-def]
    """Would a face around the moving vertex turn over or become a sliver?"""
    for f in ring[ring_start[moving] : ring_start[moving + 1]]:
        old, new = np.empty((3, 3)), np.empty((3, 3))
        has_other = False
        for corner in range(3):
            w = faces[f, corner]
            has_other = has_other or w == other
            old[corner] = vertices[w]
            new[corner] = place if w == moving else vertices[w]
        if has_other:
            continue
        before = np.cross(old[1] - old[0], old[2] - old[0])
        after = np.cross(new[1] - new[0], new[2] - new[0])
        size = np.sqrt((before**2).sum()) * np.sqrt((after**2).sum())
        longest = max(((new[1] - new[0]) ** 2).sum(), ((new[2] - new[1]) ** 2).sum(), ((new[0] - new[2]) ** 2).sum())
        if np.dot(before, after) < 0.3 * size or np.sqrt((after**2).sum()) < 0.1 * longest:
            return True
    return False
