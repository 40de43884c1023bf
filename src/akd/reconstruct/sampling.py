"""Points on a mesh: spread evenly over it, and nearest to given ones."""

import numpy as np
from jaxtyping import Float
from scipy.spatial import cKDTree

from akd.errors import AkdError
from akd.mesh import Mesh, face_areas
from akd.render.surface import SurfacePoints, interpolate

CANDIDATES = 4
"""Triangles tried for each nearest point."""
SAMPLES_PER_FACE = 4
"""Mean number of samples a triangle is found by."""


def sample_surface(mesh: Mesh, count: int, rng: np.random.Generator) -> SurfacePoints:
    """Points spread over the surface by area: one in each of ``count`` equal shares of it, so no region is left out."""
    areas = face_areas(mesh)
    if not areas.sum() > 0:
        raise AkdError(f"The mesh has {len(mesh.faces)} faces and no surface area, so no splats can lie on it.")
    face = np.searchsorted(np.cumsum(areas), (np.arange(count) + rng.random(count)) / count * areas.sum(), side="right")
    root, second = np.sqrt(rng.random(count)), rng.random(count)
    barycentric = np.stack((1 - root, root * (1 - second), root * second), 1)
    return SurfacePoints(np.minimum(face, len(areas) - 1), barycentric)


def nearest_surface(mesh: Mesh, points: Float[np.ndarray, "point 3"], seed: int = 0) -> SurfacePoints:
    """The nearest point of the surface to each given one.

    Samples of the surface, and every triangle's middle, name a few triangles near each point; the nearest point of
    those is exact.
    """
    from trimesh.triangles import closest_point

    count = len(mesh.faces)
    middles = SurfacePoints(np.arange(count), np.full((count, 3), 1 / 3))
    samples = sample_surface(mesh, SAMPLES_PER_FACE * max(count, 2000), np.random.default_rng(seed))
    face = np.concatenate((middles.face, samples.face))
    places = np.concatenate((interpolate(mesh, middles, mesh.vertices), interpolate(mesh, samples, mesh.vertices)))
    _, near = cKDTree(places).query(points, k=CANDIDATES)
    triangles = mesh.vertices[mesh.faces[face[near]]]
    foot = closest_point(triangles.reshape(-1, 3, 3), np.repeat(points, CANDIDATES, 0)).reshape(-1, CANDIDATES, 3)
    best = np.linalg.norm(foot - points[:, None], axis=2).argmin(1)
    rows = np.arange(len(points))
    return SurfacePoints(face[near][rows, best], _barycentric(triangles[rows, best], foot[rows, best]))


def _barycentric(triangles: Float[np.ndarray, "point 3 3"], points: Float[np.ndarray, "point 3"]) -> Float[np.ndarray, "point 3"]:
    """Shares of the corners for points in their triangles; a triangle without area is treated as its first corner."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    e, f, p = b - a, c - a, points - a
    ee, ef, ff, pe, pf = ((x * y).sum(1) for x, y in ((e, e), (e, f), (f, f), (p, e), (p, f)))
    determinant = ee * ff - ef * ef
    flat = determinant <= 1e-12 * np.maximum(ee * ff, 1e-300)
    safe = np.where(flat, 1, determinant)
    second = np.where(flat, 0, (ff * pe - ef * pf) / safe)
    third = np.where(flat, 0, (ee * pf - ef * pe) / safe)
    shares = np.clip(np.stack((1 - second - third, second, third), 1), 0, None)
    return shares / shares.sum(1, keepdims=True)
