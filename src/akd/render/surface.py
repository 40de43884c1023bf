"""What a mesh looks like at a point of its surface: position, normal, colour."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from akd.mesh import Mesh, vertex_normals

SKY = np.array([0.3, 0.9, 0.3]) / np.linalg.norm([0.3, 0.9, 0.3])
"""Where the soft light comes from: above, a little from the front and the right."""


class SurfacePoints(NamedTuple):
    """Points on a mesh: which triangle, and where in it."""

    face: Int[np.ndarray, " point"]
    barycentric: Float[np.ndarray, "point 3"]
    """Shares of the triangle's three corners; rows sum to one."""


def interpolate(
    mesh: Mesh, points: SurfacePoints, values: Float[np.ndarray, "vertex channel"]
) -> Float[np.ndarray, "point channel"]:
    """Per-vertex values at points of the surface."""
    return np.einsum("pk,pkc->pc", points.barycentric, values[mesh.faces[points.face]])


def base_colors(mesh: Mesh, points: SurfacePoints) -> Float[np.ndarray, "point 3"]:
    """Unlit sRGB colour: the texture where there is one, else the vertices' colours."""
    colors = interpolate(mesh, points, mesh.colors)
    if mesh.uv is None or all(material.texture is None for material in mesh.materials):
        return colors
    uv = interpolate(mesh, points, mesh.uv)
    material_of_point = mesh.face_material[points.face] if mesh.face_material.size else np.full(len(colors), -1)
    for index, material in enumerate(mesh.materials):
        here = material_of_point == index
        if material.texture is not None and here.any():
            colors[here] = material.color * texture_lookup(material.texture, uv[here])
    return colors


def texture_lookup(texture: np.ndarray, uv: Float[np.ndarray, "point 2"]) -> Float[np.ndarray, "point 3"]:
    """Bilinear, repeating beyond the borders."""
    height, width = texture.shape[:2]
    x, y = uv[:, 0] * width - 0.5, uv[:, 1] * height - 0.5
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = (x - left)[:, None], (y - top)[:, None]

    def texel(column: np.ndarray, row: np.ndarray) -> np.ndarray:
        return texture[row % height, column % width] / 255.0

    upper = texel(left, top) * (1 - fx) + texel(left + 1, top) * fx
    lower = texel(left, top + 1) * (1 - fx) + texel(left + 1, top + 1) * fx
    return upper * (1 - fy) + lower * fy


def soft_light(normals: Float[np.ndarray, "point 3"], strength: float) -> Float[np.ndarray, "point 1"]:
    """How bright a matt surface is under an overcast sky: 1 towards ``SKY``, ``1 − strength`` away from it."""
    return 1 - strength * (0.5 - 0.5 * (normals @ SKY))[:, None]


def lit_colors(mesh: Mesh, points: SurfacePoints, shade: float) -> Float[np.ndarray, "point 3"]:
    """Base colour under a soft sky. It depends on the surface only, not on the camera, so splats can carry it as their colour."""
    light = soft_light(vertex_normals(mesh.vertices, mesh.faces), shade)
    return base_colors(mesh, points) * interpolate(mesh, points, light)
