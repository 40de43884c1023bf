"""Triangle meshes with colour."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int, UInt8

from akd.errors import AkdError


@dataclass(frozen=True, eq=False)
class Material:
    """What a face looks like: a colour, times a picture where there is one."""

    name: str
    color: Float[np.ndarray, " 3"]
    """sRGB in [0, 1]."""
    texture: UInt8[np.ndarray, "height width 3"] | None = None
    """sRGB picture, looked up at ``Mesh.uv`` with v = 0 at its first row."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles. Vertices may be split at seams; nothing is assumed closed or manifold."""

    vertices: Float[np.ndarray, "vertex 3"]
    faces: Int[np.ndarray, "face 3"]
    colors: Float[np.ndarray, "vertex 3"]
    """sRGB in [0, 1] at each vertex: vertex colour × material colour × texture sampled at the vertex."""
    uv: Float[np.ndarray, "vertex 2"] | None = None
    """Texture coordinates, for pictures finer than the vertices."""
    materials: tuple[Material, ...] = ()
    face_material: Int[np.ndarray, " face_or_none"] = field(default_factory=lambda: np.zeros(0, int))
    """Index into ``materials`` for each face; empty when there are none."""

    def __post_init__(self) -> None:
        if self.faces.size and (self.faces.min() < 0 or self.faces.max() >= len(self.vertices)):
            wrong = self.faces.min() if self.faces.min() < 0 else self.faces.max()
            raise AkdError(f"A face refers to vertex {wrong}, but the mesh has {len(self.vertices)} vertices.")
        if not np.all(np.isfinite(self.vertices)):
            raise AkdError("The mesh has vertices that are not finite numbers.")

    @property
    def vertex_count(self) -> int:
        return len(self.vertices)

    def transformed(self, matrix: Float[np.ndarray, "4 4"]) -> "Mesh":
        """The mesh moved by an affine map."""
        return replace(self, vertices=self.vertices @ matrix[:3, :3].T + matrix[:3, 3])


def face_vectors(vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"]) -> Float[np.ndarray, "face 3"]:
    """Normals of the faces, each as long as twice its area."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def face_areas(mesh: Mesh) -> Float[np.ndarray, " face"]:
    return np.linalg.norm(face_vectors(mesh.vertices, mesh.faces), axis=1) / 2


def vertex_areas(mesh: Mesh) -> Float[np.ndarray, " vertex"]:
    """A third of the area of the triangles around each vertex."""
    return np.bincount(mesh.faces.ravel(), np.repeat(face_areas(mesh) / 3, 3), minlength=mesh.vertex_count)


def vertex_normals(vertices: Float[np.ndarray, "vertex 3"], faces: Int[np.ndarray, "face 3"]) -> Float[np.ndarray, "vertex 3"]:
    """Unit normals, the mean of the faces around each vertex weighted by their areas; zero where there is no area.

    Artists who want hard edges split vertices there; so it stays.
    """
    normal = face_vectors(vertices, faces)
    total = np.stack([np.bincount(faces.ravel(), np.repeat(normal[:, k], 3), len(vertices)) for k in range(3)], 1)
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30)


def isosurface(
    values: Float[np.ndarray, "x y z"], level: float = 0.0
) -> tuple[Float[np.ndarray, "vertex 3"], Int[np.ndarray, "face 3"]]:
    """The surface between grid nodes below and above a level, by marching cubes. Normals point to higher values.

    Vertices are in units of the grid: the node ``values[i, j, k]`` lies at (i, j, k).
    """
    import igl

    # Marching cubes of libigl wants x to vary fastest. Where a cell can be read in two ways, it joins what is below the level;
    # given the negative field, it keeps limbs apart that nearly touch, and the faces are turned over.
    nodes = np.stack(np.unravel_index(np.arange(values.size), values.shape, order="F"), 1).astype(float)
    vertices, faces, _ = igl.marching_cubes(-values.ravel(order="F").astype(float), nodes, *values.shape, -level)
    return vertices, faces[:, ::-1].astype(int)
