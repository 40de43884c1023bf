"""From polygons and influences as files have them to a mesh with weights: triangles, seams, bind poses, repaired weights."""

from collections import Counter

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from akd.mesh import Mesh

SAME_POSE = 1e-3  # bones within this part of the skeleton's size count as unmoved
FITTED = 16  # bones tried, each as the one that tells the frame
TOLERANCE = 0.01  # weights stored in bytes miss a sum of one by less
REPAIRS = {
    "not finite": "{} vertices had weights that are not finite numbers, taken as zero.",
    "negative": "{} vertices had negative weights, taken as zero.",
    "astray": "{} vertices had weight on joints that do not exist; it went to their other joints.",
    "sum": "The weights of {} vertices did not sum to one and were scaled.",
    "unweighted": "{} vertices had no weight and were given to the nearest joint.",
}


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


def bind_frame(
    bind: Float[np.ndarray, "bone 4 4"], pose: Float[np.ndarray, "bone 4 4"], readings: list[Float[np.ndarray, "4 4"]]
) -> Float[np.ndarray, "4 4"]:
    """The map from the frame in which bones were bound to the world, where the file has them in ``pose``.

    Skinning is the same whichever frame is taken, but the rest pose should be where the clips are. So take the frame in
    which most of the bound bones lie on those of the pose. Where the two poses differ there is none, and the nearest of
    the readings that the format allows must do.
    """
    size = np.ptp(pose[:, :3, 3], axis=0).max() + 1e-6

    def distance(frame: np.ndarray) -> float:
        return float(np.median(np.linalg.norm((frame @ bind - pose)[:, :3, 3], axis=-1)))

    tried = np.unique(np.linspace(0, len(bind) - 1, FITTED).astype(int))
    fitted = min(pose[tried] @ np.linalg.pinv(bind[tried]), key=distance)
    return fitted if distance(fitted) < SAME_POSE * size else min(readings, key=distance)


def repaired_influences(
    joints: Int[np.ndarray, "vertex influence"],
    weights: Float[np.ndarray, "vertex influence"],
    joint_count: int,
    counts: Counter[str],
) -> tuple[Int[np.ndarray, "vertex influence"], Float[np.ndarray, "vertex influence"], Bool[np.ndarray, " vertex"]]:
    """Joints that exist and weights that sum to one, and which vertices are left without any."""
    finite = np.isfinite(weights)
    counts["not finite"] += int(np.sum(~finite.all(1)))
    clean = np.where(finite, weights, 0.0)
    counts["negative"] += int(np.sum((clean < 0).any(1)))
    clean = np.clip(clean, 0, 1e6)
    astray = (joints < 0) | (joints >= joint_count)
    counts["astray"] += int(np.sum((astray & (clean > 0)).any(1)))
    clean = np.where(astray, 0, clean)
    total = clean.sum(1)
    empty = total <= 1e-9
    counts["sum"] += int(np.sum(~empty & (np.abs(total - 1) > TOLERANCE)))
    counts["unweighted"] += int(np.sum(empty))
    return np.where(astray, 0, joints), clean / np.where(empty, 1, total)[:, None], empty


def nearest(points: Float[np.ndarray, "vertex 3"], places: Float[np.ndarray, "joint 3"]) -> Int[np.ndarray, " vertex"]:
    """The nearest place to each point."""
    return cKDTree(places).query(points)[1].astype(int)


def repair_notes(counts: Counter[str]) -> list[str]:
    """What was repaired, one sentence each."""
    return [sentence.format(counts[kind]) for kind, sentence in REPAIRS.items() if counts[kind]]
