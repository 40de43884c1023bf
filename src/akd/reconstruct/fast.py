"""Splats straight from triangles, in a fraction of a second.

The surface is sampled densely and the samples are grouped into as many cells as there shall be splats: near in space,
alike in direction and alike in colour, so that a cell keeps to one side of a thin wall and of a colour's edge. A splat
is its cell's Gaussian: mean, covariance, mean colour. Cells of thin legs come out long and thin by themselves, a dense
mesh is merged and a sparse one subdivided by the same rule.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from akd.errors import AkdError
from akd.mesh import Mesh
from akd.reconstruct.sampling import face_areas, sample_surface
from akd.render.follow_camera import bounding_sphere
from akd.render.surface import SurfacePoints, interpolate, lit_colors, vertex_normals
from akd.rotations import matrix_to_quaternion
from akd.splats import Splats, sh_from_color

SAMPLES_PER_SPLAT = 12
ROUNDS = 3
"""Of assigning samples to cells and moving cells to their middle."""
NORMAL_PULL = 0.3
"""How many cell widths apart two samples count that face opposite ways, halved."""
COLOR_PULL = 3.0
"""How many cell widths apart black and white count along each channel."""
SPREAD = 1.9
"""Standard deviation of a splat over that of its cell: enough to close the gaps between neighbours."""
FLATTEST = 0.02
"""Smallest standard deviation, in cell widths."""
OPACITY = 0.99
INSET = 1.0
"""How far below the surface splats lie [px]."""


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
    samples = sample_surface(mesh, count * SAMPLES_PER_SPLAT, np.random.default_rng(seed))
    places = interpolate(mesh, samples, mesh.vertices)
    normals = interpolate(mesh, samples, vertex_normals(mesh.vertices, mesh.faces))
    colors = lit_colors(mesh, samples, shade)
    width = np.sqrt(face_areas(mesh).sum() / count)
    pixel = 2 * bounding_sphere(torch.from_numpy(mesh.vertices))[1] / resolution
    mean = cells(np.concatenate((places / width, NORMAL_PULL * normals, COLOR_PULL * colors), 1), count)
    return SurfaceSplats(_gaussians(mean, places - INSET * pixel * normals, colors, width), samples, mean)


def cells(features: Float[np.ndarray, "sample feature"], count: int) -> csr_array:
    """Group samples by Lloyd's iteration; rows of the result average over one cell each."""
    seeds = features[:: max(len(features) // count, 1)][:count]
    for _ in range(ROUNDS):
        mean = _averaging(cKDTree(seeds, balanced_tree=False, compact_nodes=False).query(features)[1], len(seeds))
        seeds = mean @ features
    return mean


def _averaging(label: np.ndarray, count: int) -> csr_array:
    """The matrix that averages samples by label; labels nobody has are dropped."""
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
    scales = np.maximum(SPREAD * np.sqrt(np.maximum(variances, 0)), FLATTEST * width)
    return Splats(
        means=torch.from_numpy(middle).float(),
        rotations=matrix_to_quaternion(torch.from_numpy(axes)).float(),
        scales=torch.from_numpy(scales).float(),
        opacities=torch.full((len(middle),), OPACITY),
        sh=sh_from_color(torch.from_numpy(np.clip(mean @ colors, 0, 1)).float()),
    )
