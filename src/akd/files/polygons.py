"""From polygons, whose corners carry texture coordinates, to triangles, whose vertices do."""

import numpy as np
from jaxtyping import Float, Int

from akd.mesh import Mesh


def fan(counts: Int[np.ndarray, " polygon"]) -> tuple[Int[np.ndarray, "triangle 3"], Int[np.ndarray, " triangle"]]:
    """Polygons of these corner counts cut into triangles: the corners of each triangle, and its polygon.

    Corners are numbered through all polygons; polygons with fewer than three give none.
    """
    triangles = np.maximum(counts - 2, 0)
    polygon = np.repeat(np.arange(len(counts)), triangles)
    first = (np.cumsum(counts) - counts)[polygon]
    step = np.arange(len(polygon)) - (np.cumsum(triangles) - triangles)[polygon]
    return np.stack((first, first + step + 1, first + step + 2), 1), polygon


def split_at_seams(
    corners: Int[np.ndarray, "corner 2"], point_count: int
) -> tuple[Int[np.ndarray, "vertex 2"], Int[np.ndarray, " corner"]]:
    """The point and the texture coordinate (−1: none) of each vertex, and the vertex of each corner.

    ``corners`` holds such a pair for every corner. Of the pairs that share a point the one seen first keeps the point's
    own row; the others follow after all points, so that whatever counts points still counts vertices.
    """
    pairs, first, pair_of_corner = np.unique(corners, axis=0, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    _, keeps = np.unique(pairs[by_appearance, 0], return_index=True)
    keepers = by_appearance[keeps]
    others = by_appearance[np.setdiff1d(np.arange(len(pairs)), keeps)]
    rows = np.stack((np.arange(point_count), np.full(point_count, -1)), 1)
    rows[pairs[keepers, 0], 1] = pairs[keepers, 1]
    vertex_of_pair = np.empty(len(pairs), int)
    vertex_of_pair[keepers] = pairs[keepers, 0]
    vertex_of_pair[others] = point_count + np.arange(len(others))
    return np.concatenate((rows, pairs[others])), vertex_of_pair[pair_of_corner.reshape(-1)]


def picked_uv(
    coordinates: Float[np.ndarray, "coordinate 2"], index: Int[np.ndarray, " vertex"]
) -> Float[np.ndarray, "vertex 2"] | None:
    """Coordinates of each vertex. The formats here count v from the bottom of the picture, ``Mesh.uv`` from its top."""
    if not np.any(index >= 0):
        return None
    return np.where(index[:, None] >= 0, coordinates[index] * (1.0, -1.0) + (0.0, 1.0), 0.0)


def joined(parts: list[Mesh]) -> Mesh:
    """Several meshes as one, in their order. Every part must have materials."""
    starts = np.cumsum([0, *(part.vertex_count for part in parts)])
    materials = list({id(material): material for part in parts for material in part.materials}.values())
    place = {id(material): index for index, material in enumerate(materials)}
    return Mesh(
        vertices=np.concatenate([part.vertices for part in parts]),
        faces=np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=False)]),
        colors=np.concatenate([part.colors for part in parts]),
        uv=np.concatenate([np.zeros((part.vertex_count, 2)) if part.uv is None else part.uv for part in parts]),
        materials=tuple(materials),
        face_material=np.concatenate(
            [np.array([place[id(material)] for material in part.materials], int)[part.face_material] for part in parts]
        ),
    )
