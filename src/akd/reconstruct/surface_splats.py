"""Splats straight from triangles in a fraction of a second; and points on a mesh, spread evenly or nearest to given ones.

The surface is sampled densely and the samples are grouped into as many cells as there shall be splats: near in space,
alike in direction and alike in colour, so that a cell keeps to one side of a thin wall and of a colour's edge. A splat
is its cell's Gaussian: mean, covariance, mean colour. Cells of thin legs come out long and thin, a dense mesh is merged and a
sparse one subdivided by the same rule.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from akd.errors import AkdError
from akd.mesh import Mesh, face_areas
from akd.render.camera import bounding_sphere
from akd.render.raycast import SurfacePoints, interpolate, lit_colors, vertex_normals
from akd.rotations import matrix_to_quaternion
from akd.splats import Splats, sh_from_color

NEAREST_CANDIDATES = 4
"""Triangles tried for each nearest point."""
SAMPLES_PER_FACE = 4
"""Mean number of samples a triangle is found by."""
SAMPLES_PER_SPLAT = 12
LLOYD_ITERATIONS = 3
"""Iterations of assigning samples to cells and moving cells to their mean."""
NORMAL_WEIGHT = 0.3
"""How many cell widths apart two samples count that face opposite ways, halved."""
COLOR_WEIGHT = 3.0
"""How many cell widths apart black and white count along each channel."""
SCALE_FACTOR = 1.9
"""Standard deviation of a splat over that of its cell: enough to close the gaps between neighbours."""
MIN_SCALE = 0.02
"""Smallest standard deviation, in cell widths."""
OPACITY = 0.99
INSET_PIXELS = 1.0
"""How far below the surface splats lie [px]."""


def sample_surface(
    mesh: Mesh, count: int, rng: np.random.Generator, areas: Float[np.ndarray, " face"] | None = None
) -> SurfacePoints:
    """Points spread over the surface by area: one in each of ``count`` equal shares of it, so no region is left out.

    ``areas`` are those of the faces, where they are known already.
    """
    areas = face_areas(mesh) if areas is None else areas
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
    _, near = cKDTree(places).query(points, k=NEAREST_CANDIDATES)
    triangles = mesh.vertices[mesh.faces[face[near]]]
    foot = closest_point(triangles.reshape(-1, 3, 3), np.repeat(points, NEAREST_CANDIDATES, 0)).reshape(-1, NEAREST_CANDIDATES, 3)
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


class SurfaceSplats(NamedTuple):
    """Splats, and the surface each stands for."""

    splats: Splats
    samples: SurfacePoints
    mean: csr_array
    """splat × sample: rows average samples over a splat's cell."""


def surface_splats(mesh: Mesh, count: int, *, resolution: int, shade: float, seed: int = 0) -> SurfaceSplats:
    """About ``count`` splats that cover the mesh, to be seen in pictures of about ``resolution`` pixels.

    The rasteriser smooths splats by half a pixel, and where the surface turns away their faint rims pile up: outlines
    come out fat. So the splats lie a share of a pixel below the surface.
    """
    if count < 1:
        raise AkdError(f"At least one splat is needed, not {count}.")
    areas = face_areas(mesh)
    samples = sample_surface(mesh, count * SAMPLES_PER_SPLAT, np.random.default_rng(seed), areas)
    places = interpolate(mesh, samples, mesh.vertices)
    at_vertices = vertex_normals(mesh.vertices, mesh.faces)
    normals, colors = interpolate(mesh, samples, at_vertices), lit_colors(mesh, samples, shade, at_vertices)
    width = np.sqrt(areas.sum() / count)
    pixel = 2 * bounding_sphere(torch.from_numpy(mesh.vertices))[1] / resolution
    mean = lloyd_cells(np.concatenate((places / width, NORMAL_WEIGHT * normals, COLOR_WEIGHT * colors), 1), count)
    return SurfaceSplats(_gaussians(mean, places - INSET_PIXELS * pixel * normals, colors, width), samples, mean)


def lloyd_cells(features: Float[np.ndarray, "sample feature"], count: int) -> csr_array:
    """Group samples by Lloyd's iteration; rows of the result average over one cell each."""
    seeds = features[:: max(len(features) // count, 1)][:count]
    for _ in range(LLOYD_ITERATIONS):
        mean = _averaging(cKDTree(seeds, balanced_tree=False, compact_nodes=False).query(features)[1], len(seeds))
        seeds = mean @ features
    return mean


def _averaging(label: np.ndarray, count: int) -> csr_array:
    """The matrix that averages samples by label; unused labels are dropped."""
    used, label, size = np.unique(label, return_inverse=True, return_counts=True)
    return csr_array((1 / size[label], (label, np.arange(len(label)))), shape=(len(used), len(label)))


def _gaussians(mean: csr_array, places: np.ndarray, colors: np.ndarray, width: float) -> Splats:
    """Each cell's own Gaussian, spread so that neighbours overlap."""
    middle = mean @ places
    products = mean @ (places[:, :, None] * places[:, None, :]).reshape(-1, 9)
    size = np.diff(mean.indptr)[:, None, None]
    covariance = (products.reshape(-1, 3, 3) - middle[:, :, None] * middle[:, None, :]) * (size / np.maximum(size - 1, 1))
    variances, axes = np.linalg.eigh(covariance)
    axes[:, :, 0] *= np.sign(np.linalg.det(axes))[:, None]
    scales = np.maximum(SCALE_FACTOR * np.sqrt(np.maximum(variances, 0)), MIN_SCALE * width)
    return Splats(
        means=torch.from_numpy(middle).float(),
        rotations=matrix_to_quaternion(torch.from_numpy(axes)).float(),
        scales=torch.from_numpy(scales).float(),
        opacities=torch.full((len(middle),), OPACITY),
        sh=sh_from_color(torch.from_numpy(np.clip(mean @ colors, 0, 1)).float()),
    )
