"""Meshes and materials of a USD file, from the plain arrays that ``usd_child.py`` writes."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8

from akd.errors import AkdError
from akd.files.child import Story
from akd.files.gltf.images import linear_to_srgb
from akd.files.paint import GREY, decoded, painted, picture_beside
from akd.files.polygons import fan, picked_uv, split_at_seams
from akd.mesh import Material, Mesh

NO_MATERIAL = Material("none", GREY)


@dataclass(frozen=True, eq=False)
class UsdMeshes:
    """All meshes of a file, each in its own coordinates."""

    path: Path
    story: Story
    arrays: dict[str, np.ndarray]
    notes: list[str] = field(default_factory=list)

    def of(self, index: int, name: str) -> np.ndarray:
        """One of the arrays of a mesh."""
        return self.arrays[f"mesh{index}_{name}"]

    def read(self, index: int) -> tuple[Mesh, Int[np.ndarray, " vertex"]] | None:
        """A mesh, and the point each vertex came from; nothing where it has no surface."""
        entry, points = self.story["meshes"][index], self.of(index, "points")
        counts, indices = self._topology(index)
        triangles, polygon = fan(counts)
        if not len(triangles):
            return None
        if entry["left_handed"]:
            triangles = triangles[:, ::-1]
        coordinates, which = self.of(index, "uv"), self.of(index, "uv_index")
        rows, vertex_of_corner = split_at_seams(np.stack((indices, which), 1), len(points))
        uv, faces = picked_uv(coordinates, rows[:, 1]), vertex_of_corner[triangles]
        materials = tuple(NO_MATERIAL if worn < 0 else self.materials[worn] for worn in entry["materials"])
        face_material = self.of(index, "face_material")[polygon]
        own = self._display_colors(index) if entry["materials"] == [-1] else None
        own = None if own is None else own[rows[:, 0]] / GREY
        colors = np.clip(painted(len(rows), faces, materials, face_material, uv, own), 0, 1)
        return Mesh(points[rows[:, 0]], faces, colors, uv, materials, face_material), rows[:, 0]

    def _topology(self, index: int) -> tuple[Int[np.ndarray, " face"], Int[np.ndarray, " corner"]]:
        counts, indices, point_count = self.of(index, "counts"), self.of(index, "indices"), len(self.of(index, "points"))
        if counts.sum() != len(indices) or np.any(counts < 0) or np.any((indices < 0) | (indices >= point_count)):
            where = self.story["meshes"][index]["path"]
            raise AkdError(f"The mesh {where} of {self.path.name} has faces that do not fit its {point_count} points.")
        return counts, indices

    def _display_colors(self, index: int) -> Float[np.ndarray, "point 3"] | None:
        """Colours of a mesh without material, sRGB."""
        colors = self.arrays.get(f"mesh{index}_colors")
        return None if colors is None else np.broadcast_to(linear_to_srgb(colors), (len(self.of(index, "points")), 3))

    @cached_property
    def materials(self) -> list[Material]:
        return [self._material(entry) for entry in self.story["materials"]]

    def _material(self, entry: dict[str, Any]) -> Material:
        for color in entry["colors"]:
            if "linear" in color:
                return Material(entry["name"], linear_to_srgb(np.array(color["linear"], float)))
            picture = self._picture(color)
            if picture is not None:
                return Material(entry["name"], np.ones(3), picture)
            self.notes.append(f"The picture {color['name']!r} of material {entry['name']!r} cannot be read.")
        return Material(entry["name"], GREY)

    def _picture(self, color: dict[str, Any]) -> UInt8[np.ndarray, "height width 3"] | None:
        """From inside the package, or from beside the file."""
        if "content" in color:
            return decoded(self.arrays[color["content"]].tobytes())
        return picture_beside(self.path, color["beside"])
