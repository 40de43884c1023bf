"""Ray casting: first hits on a mesh, what its surface looks like there, and pictures made of both.

The pictures are what splats are fitted to and compared with, and the previews.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.errors import AkdError
from akd.mesh import Mesh, vertex_normals
from akd.render.camera import Camera
from akd.render.raycast_embree import EmbreeCaster, embree_is_installed

SKY_DIRECTION = np.array([0.3, 0.9, 0.3]) / np.linalg.norm([0.3, 0.9, 0.3])
"""Where the soft light comes from: above, a little from the front and the right."""
RayBackend = Literal["auto", "embree", "warp"]
BORDER_PIXELS = 2
"""Pixels around the mesh's bounding rectangle that are still searched."""


class SurfacePoints(NamedTuple):
    """Points on a mesh: which triangle, and where in it."""

    face: Int[np.ndarray, " point"]
    barycentric: Float[np.ndarray, "point 3"]
    """Shares of the triangle's three corners; rows sum to one."""


def points_at_vertices(mesh: Mesh) -> SurfacePoints:
    """Every vertex as a corner of a face that has it; vertices without a face as the first corner of the first face."""
    face, corner = np.zeros(mesh.vertex_count, int), np.zeros(mesh.vertex_count, int)
    for k in range(3):
        face[mesh.faces[:, k]], corner[mesh.faces[:, k]] = np.arange(len(mesh.faces)), k
    return SurfacePoints(face, np.eye(3)[corner])


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
    return 1 - strength * (0.5 - 0.5 * (normals @ SKY_DIRECTION))[:, None]


def lit_colors(
    mesh: Mesh, points: SurfacePoints, shade: float, normals: Float[np.ndarray, "vertex 3"] | None = None
) -> Float[np.ndarray, "point 3"]:
    """Base colour under a soft sky. It depends on the surface only, not on the camera, so splats can carry it as their colour.

    ``normals`` are those of the vertices, where they are known already.
    """
    light = soft_light(vertex_normals(mesh.vertices, mesh.faces) if normals is None else normals, shade)
    return base_colors(mesh, points) * interpolate(mesh, points, light)


class Hits(NamedTuple):
    """Where rays first meet a mesh."""

    ray: Int[np.ndarray, " hit"]
    """Which of the rays hit at all."""
    points: SurfacePoints
    distance: Float[np.ndarray, " hit"]
    """Along the ray, in lengths of its direction."""

    def where(self, chosen: Bool[np.ndarray, " hit"]) -> "Hits":
        """Some of the hits."""
        if chosen.all():
            return self
        points = SurfacePoints(self.points.face[chosen], self.points.barycentric[chosen])
        return Hits(self.ray[chosen], points, self.distance[chosen])


class RayScene:
    """Triangles ready to be searched by rays: by embree where it is installed, else by Warp. Both are single precision."""

    def __init__(
        self, vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"], *, backend: RayBackend = "auto"
    ) -> None:
        if len(faces) == 0:
            raise AkdError("The mesh has no faces, so there is nothing to see.")
        self._caster = _caster(backend)(_contiguous(vertices), np.ascontiguousarray(faces, np.int32))

    def first_hits(self, origins: Float[np.ndarray, "ray 3"], directions: Float[np.ndarray, "ray 3"]) -> Hits:
        """The nearest triangle along each ray."""
        face, u, v, distance = self._caster.first_hits(_contiguous(origins), _contiguous(directions))
        ray = np.flatnonzero(face >= 0)
        u, v = u[ray].astype(float), v[ray].astype(float)
        points = SurfacePoints(face[ray].astype(int), np.stack((1 - u - v, u, v), 1))
        return Hits(ray, points, distance[ray].astype(float))

    def blocked(self, origins: Float[np.ndarray, "ray 3"], directions: Float[np.ndarray, "ray 3"]) -> Bool[np.ndarray, " ray"]:
        """Does anything lie along each ray?"""
        return self._caster.blocked(_contiguous(origins), _contiguous(directions))


def _contiguous(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32)


def _caster(backend: RayBackend) -> type:
    """The class behind a backend's name; each is imported only when used."""
    if backend == "embree" or (backend == "auto" and embree_is_installed()):
        return EmbreeCaster
    from akd.render.raycast_warp import WarpCaster

    return WarpCaster


Shader = Callable[[Hits, np.ndarray], np.ndarray]
"""Hits and the directions of all rays → the hits' sRGB colours, hit × 3."""


def mesh_picture(
    scene: RayScene, vertices: Float[np.ndarray, "vertex 3"], camera: Camera, frame: int, shader: Shader, *, supersample: int = 3,
    floor: float = -np.inf,
) -> tuple[Float[Tensor, "height width 3"], Float[Tensor, "height width"]]:
    """Colour over black and coverage of one frame; every pixel is the mean of ``supersample``² rays.

    What lies lower than ``floor`` is hidden, for cameras above it.
    """
    top, bottom, left, right = _rectangle(vertices, camera, frame)
    image = np.zeros((camera.height, camera.width, 4), np.float32)
    if bottom > top and right > left:
        rows, columns = bottom - top, right - left
        directions = _directions(camera, frame, (top, bottom, left, right), supersample)
        origin = camera.centers[frame].double().numpy()
        hits = scene.first_hits(np.broadcast_to(origin, directions.shape), directions)
        hits = hits.where(origin[1] + hits.distance * directions[hits.ray, 1] >= floor)
        layer = np.zeros((len(directions), 4), np.float32)
        layer[hits.ray, :3] = shader(hits, directions)
        layer[hits.ray, 3] = 1
        image[top:bottom, left:right] = layer.reshape(rows, supersample, columns, supersample, 4).mean((1, 3))
    picture = torch.from_numpy(image)
    return picture[..., :3], picture[..., 3]


def _rectangle(vertices: np.ndarray, camera: Camera, frame: int) -> tuple[int, int, int, int]:
    """Rows and columns in which the mesh can appear; the whole picture if it reaches behind the camera."""
    pose, k = camera.world_to_camera[frame].double().numpy(), camera.intrinsics[frame].double().numpy()
    seen = vertices @ pose[:3, :3].T + pose[:3, 3]
    if (seen[:, 2] < 1e-3).any():
        return 0, camera.height, 0, camera.width
    pixels = (seen @ k.T)[:, :2] / seen[:, 2:]
    low = np.floor(pixels.min(0)).astype(int) - BORDER_PIXELS
    high = np.ceil(pixels.max(0)).astype(int) + BORDER_PIXELS
    (left, top), (right, bottom) = low.clip(0), np.minimum(high, (camera.width, camera.height))
    return int(top), int(bottom), int(left), int(right)


def _directions(camera: Camera, frame: int, rectangle: tuple[int, int, int, int], supersample: int) -> Float[np.ndarray, "ray 3"]:
    """Through a regular grid of points in each pixel, row by row."""
    top, bottom, left, right = rectangle
    pose, k = camera.world_to_camera[frame].double().numpy(), camera.intrinsics[frame].double().numpy()
    y = top + (np.arange((bottom - top) * supersample) + 0.5) / supersample
    x = left + (np.arange((right - left) * supersample) + 0.5) / supersample
    grid = np.stack(np.meshgrid((x - k[0, 2]) / k[0, 0], (y - k[1, 2]) / k[1, 1]), -1).reshape(-1, 2)
    return grid @ pose[:2, :3] + pose[2, :3]
