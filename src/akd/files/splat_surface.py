"""A mesh for characters that exist only as splats, so that they can be rigged.

The splats' density on a grid is a shell, not a solid: inside a scanned character there is nothing. What the outside cannot reach
is therefore filled before the isosurface is extracted, which gives one closed wall instead of two.
"""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy import ndimage
from scipy.spatial import cKDTree

from akd.errors import AkdError
from akd.files.meshes import read_mesh
from akd.files.splat_ply import read_splats
from akd.mesh import Mesh, isosurface
from akd.rig import FileRig
from akd.rotations import quaternion_to_matrix
from akd.splats import Splats, color_from_sh

MIN_OPACITY = 0.1
"""Splats with less opacity are haze and left out."""
SEARCH_RADIUS = 2.0
"""How many standard deviations of a splat are searched for, so that neighbours close the shell."""
SOLID_RADIUS = 1.0
"""How many standard deviations of a splat look solid: the surface is drawn there."""
POINTS_PER_SPLAT = 24
"""Points that stand for a splat's body on the grid."""


def read_ply(path: Path) -> FileRig:
    """A PLY file, which may hold a mesh or splats."""
    with path.open("rb") as file:
        header = file.read(4096)
    holds_splats = b"f_dc_0" in header or b"packed_position" in header
    return read_splat_rig(path) if holds_splats else read_mesh(path)


def read_splat_rig(path: Path) -> FileRig:
    """A character that exists only as splats: a mesh is drawn around them, so that it can be rigged and weighted."""
    splats, notes = read_splats(path)
    mesh = mesh_from_splats(splats)
    drawn = f"{path.name} holds {splats.splat_count} splats and no mesh: a surface was drawn around them."
    return FileRig.static(mesh, path, (*notes, drawn))


def mesh_from_splats(splats: Splats, *, resolution: int = 96, smooth: float = 1.0) -> Mesh:
    """The closed surface around splats; ``resolution`` is the number of grid cells along the longest side."""
    solid = splats.opacities > MIN_OPACITY
    if splats.splat_count == 0 or not bool(solid.any()):
        raise AkdError(f"None of the {splats.splat_count} splats is solid enough (opacity > {MIN_OPACITY}) to make a surface of.")
    points = _body_points(splats, solid)
    low, high = np.quantile(points, (0.001, 0.999), axis=0)
    cell = float((high - low).max()) / resolution
    if not cell > 0:
        raise AkdError("All splats lie in one place, so there is no surface around them.")
    margin = 3
    shape = np.ceil((high - low) / cell).astype(int) + 2 * margin + 1
    filled = _filled(points, low - margin * cell, cell, shape)
    depth = ndimage.distance_transform_edt(filled) - ndimage.distance_transform_edt(~filled)
    # Splats are as thick as their shortest axis; that much the search has overshot.
    excess = (SEARCH_RADIUS - SOLID_RADIUS) * float(splats.scales[solid].amin(1).median()) / cell
    nodes, faces = isosurface(-ndimage.gaussian_filter(depth.astype(np.float32), smooth), -excess)
    vertices = nodes * cell + low - margin * cell
    return Mesh(vertices, faces, _colors(splats, solid, vertices))


def _body_points(splats: Splats, solid: Bool[torch.Tensor, " splat"]) -> Float[np.ndarray, "point 3"]:
    """Points spread through each splat's body: its centre, and a fixed set within ``SEARCH_RADIUS`` standard deviations."""
    generator = np.random.default_rng(0)
    ball = generator.normal(size=(POINTS_PER_SPLAT, 3))
    ball *= SEARCH_RADIUS * generator.random((POINTS_PER_SPLAT, 1)) / np.linalg.norm(ball, axis=1, keepdims=True)
    ball[0] = 0
    axes = (quaternion_to_matrix(splats.rotations[solid]) * splats.scales[solid][:, None]).double().numpy()
    return (splats.means[solid].double().numpy()[:, None] + np.einsum("nij,kj->nki", axes, ball)).reshape(-1, 3)


def _filled(
    points: Float[np.ndarray, "point 3"], origin: Float[np.ndarray, " 3"], cell: float, shape: np.ndarray
) -> Bool[np.ndarray, "x y z"]:
    """Grid nodes that splats touch or enclose."""
    index = np.rint((points - origin) / cell).astype(int)
    index = index[((index >= 0) & (index < shape)).all(1)]
    touched = np.zeros(shape, bool)
    touched[tuple(index.T)] = True
    # Close gaps of a cell or two before asking what the outside can reach, then take the same off again.
    closed = ndimage.binary_closing(np.pad(touched, 3), iterations=2)[3:-3, 3:-3, 3:-3]
    body = ndimage.binary_fill_holes(closed)
    parts, _ = ndimage.label(body)
    sizes = np.bincount(parts.ravel())
    sizes[0] = 0
    # Specks are stray splats; whatever is a hundredth of the largest part stays.
    return np.isin(parts, np.flatnonzero(sizes >= max(sizes.max() / 100, 1)))


def _colors(splats: Splats, solid: Bool[torch.Tensor, " splat"], vertices: np.ndarray) -> Float[np.ndarray, "vertex 3"]:
    """Each vertex in the colour of the nearest splat."""
    _, nearest = cKDTree(splats.means[solid].numpy()).query(vertices)
    return color_from_sh(splats.sh[solid]).double().numpy()[nearest]
