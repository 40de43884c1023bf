"""A mesh prepared for differential operators: welded, without degenerate faces, split into connected components.

Files split vertices wherever texture coordinates jump, repeat faces, and hold triangles without area. None of that means
anything for how a body deforms, so weights are found on this surface and carried back to the file's own vertices.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from akd.mesh import Mesh
from akd.render.decimate import MAX_FACES, decimate

WELD_DISTANCE = 1e-6
"""Vertices nearer to each other than about this share of the mesh's size are one."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Points that faces use, each once."""

    points: Float[np.ndarray, "point 3"]
    faces: Int[np.ndarray, "face 3"]
    component: Int[np.ndarray, " point"]
    """The connected component each point belongs to."""
    point_of_vertex: Int[np.ndarray, " vertex"]
    """For every vertex of the mesh the point that stands for it; −1 for vertices that no sound face uses."""

    @property
    def component_count(self) -> int:
        return int(self.component.max(initial=-1)) + 1

    @cached_property
    def size(self) -> float:
        """Longest side of the bounding box, never zero."""
        return max(float(np.ptp(self.points, axis=0).max()), 1e-12) if len(self.points) else 1e-12

    @cached_property
    def component_of_face(self) -> Int[np.ndarray, " face"]:
        return self.component[self.faces[:, 0]]

    @cached_property
    def edges(self) -> Int[np.ndarray, "edge 2"]:
        """Every edge once."""
        sides = np.sort(np.concatenate((self.faces[:, :2], self.faces[:, 1:], self.faces[:, ::2])), axis=1)
        return np.unique(sides, axis=0)

    @cached_property
    def outwards(self) -> Float[np.ndarray, "face 3"]:
        """Normals of the faces (not of unit length), turned round in components that are inside out."""
        corner = self.points[self.faces]
        normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
        total = np.stack([np.bincount(self.component, axis, self.component_count) for axis in self.points.T], 1)
        centre = total / np.bincount(self.component, minlength=self.component_count)[:, None]
        volume = ((corner.mean(1) - centre[self.component_of_face]) * normal).sum(1)
        inside_out = np.bincount(self.component_of_face, volume, self.component_count) < 0
        return np.where(inside_out[self.component_of_face, None], -normal, normal)

    @cached_property
    def normals(self) -> Float[np.ndarray, "point 3"]:
        """Unit normals of the points; zero where faces cancel out. All faces count alike: large ones are no better guides."""
        out = np.zeros_like(self.points)
        each = self.outwards / np.maximum(np.linalg.norm(self.outwards, axis=1, keepdims=True), 1e-300)
        for corner in range(3):
            np.add.at(out, self.faces[:, corner], each)
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-300)

    def only(self, components: Bool[np.ndarray, " component"]) -> "Surface":
        """The surface of some of the components; points keep their order."""
        kept = components[self.component] if len(self.points) else np.zeros(0, bool)
        place = np.where(kept, np.cumsum(kept) - 1, -1)
        name = np.cumsum(components) - 1
        faces = place[self.faces[kept[self.faces[:, 0]]]] if len(self.faces) else self.faces
        vertices = np.where(self.point_of_vertex >= 0, place[self.point_of_vertex], -1) if len(place) else self.point_of_vertex
        return Surface(self.points[kept], faces, name[self.component[kept]], vertices)

    def extents(self) -> Float[np.ndarray, " component"]:
        """Diagonal of each component's bounding box."""
        low, high = np.full((self.component_count, 3), np.inf), np.full((self.component_count, 3), -np.inf)
        np.minimum.at(low, self.component, self.points)
        np.maximum.at(high, self.component, self.points)
        return np.linalg.norm(high - low, axis=1)


def weld(mesh: Mesh) -> Surface:
    """Merge vertices at the same place and drop faces that are repeated or have no area."""
    if not len(mesh.faces):
        return Surface(np.zeros((0, 3)), np.zeros((0, 3), int), np.zeros(0, int), np.full(mesh.vertex_count, -1))
    vertices = np.asarray(mesh.vertices, float)
    size = max(float(np.ptp(vertices, axis=0).max()), 1e-12)
    cell = np.round((vertices - vertices.min(0)) / (WELD_DISTANCE * size)).astype(np.int64)
    _, first, place = np.unique(cell, axis=0, return_index=True, return_inverse=True)
    points, place = vertices[first], place.ravel()
    faces = _sound_faces(points, place[mesh.faces], size)
    used, faces = np.unique(faces, return_inverse=True)
    faces = faces.reshape(-1, 3)
    kept = np.full(len(points), -1)
    kept[used] = np.arange(len(used))
    return Surface(points[used], faces, _components(faces, len(used)), kept[place])


def decimated(mesh: Mesh) -> Mesh:
    """The mesh itself, or a huge one with at most ``MAX_FACES`` faces: welded, components kept apart, colours left out."""
    if len(mesh.faces) <= MAX_FACES:
        return mesh
    surface = weld(mesh)
    small = decimate(surface.points, surface.faces, MAX_FACES, groups=surface.component)
    return Mesh(surface.points[small.kept], small.faces, np.full((len(small.kept), 3), 0.5))


def _sound_faces(points: np.ndarray, faces: np.ndarray, size: float) -> Int[np.ndarray, "face 3"]:
    """Faces with area, each once whatever its orientation."""
    corner = points[faces]
    area = np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
    faces = faces[area > (1e-7 * size) ** 2]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return faces[np.sort(first)]


def _components(faces: np.ndarray, count: int) -> Int[np.ndarray, " point"]:
    sides = np.concatenate((faces[:, :2], faces[:, 1:]))
    graph = coo_matrix((np.ones(len(sides)), (sides[:, 0], sides[:, 1])), shape=(count, count))
    return connected_components(graph, directed=False)[1].astype(int)
