"""Meshes of a USD stage with their materials. Imports USD, so only ``usd.py`` imports this, when it is needed."""

from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, UInt8
from pxr import Ar, Sdf, Usd, UsdGeom, UsdShade

from akd.errors import AkdError
from akd.files.gltf.images import linear_to_srgb
from akd.files.paint import GREY, decoded, painted, picture_beside
from akd.files.polygons import fan, picked_uv, split_at_seams
from akd.mesh import Material, Mesh

START = Usd.TimeCode.EarliestTime()
COLOR_INPUTS = (
    "diffuseColor", "base_color_texture", "diffuse_texture",
    "base_color", "baseColor", "base_color_factor", "diffuse_color_constant",
)
"""What shaders of different makers call the surface's colour or its picture."""


class UsdMeshes:
    """Reads meshes of one stage; a material that several of them share is read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self._materials: dict[str, Material] = {}

    def read(self, prim: Usd.Prim) -> tuple[Mesh, Int[np.ndarray, " vertex"]] | None:
        """A mesh in its own coordinates, and the point each vertex came from; nothing where it has no surface."""
        points = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(START) or [], float).reshape(-1, 3)
        counts, indices = _topology(UsdGeom.Mesh(prim), len(points))
        triangles, polygon = fan(counts)
        if not len(triangles):
            return None
        if UsdGeom.Mesh(prim).GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
            triangles = triangles[:, ::-1]
        coordinates, coordinate_of_corner = _texture_coordinates(prim, indices)
        rows, vertex_of_corner = split_at_seams(np.stack((indices, coordinate_of_corner), 1), len(points))
        uv, faces = picked_uv(coordinates, rows[:, 1]), vertex_of_corner[triangles]
        materials, face_material = self._bound_materials(prim, len(counts))
        own = _display_colors(prim, len(points)) if materials[0] is NO_MATERIAL and len(materials) == 1 else None
        own = None if own is None else own[rows[:, 0]] / GREY
        colors = np.clip(painted(len(rows), faces, materials, face_material[polygon], uv, own), 0, 1)
        return Mesh(points[rows[:, 0]], faces, colors, uv, materials, face_material[polygon]), rows[:, 0]

    def _bound_materials(self, prim: Usd.Prim, face_count: int) -> tuple[tuple[Material, ...], Int[np.ndarray, " face"]]:
        """The mesh's material, those of its subsets, and which face wears which."""
        materials, face_material = [self._material(prim)], np.zeros(face_count, int)
        for subset in UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets():
            faces = np.array(subset.GetIndicesAttr().Get(START) or [], int)
            face_material[faces[(faces >= 0) & (faces < face_count)]] = len(materials)
            materials.append(self._material(subset.GetPrim()))
        return tuple(materials), face_material

    def _material(self, prim: Usd.Prim) -> Material:
        bound, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        if not bound:
            return NO_MATERIAL
        key = str(bound.GetPath())
        if key not in self._materials:
            self._materials[key] = self._read_material(bound.GetPrim())
        return self._materials[key]

    def _read_material(self, prim: Usd.Prim) -> Material:
        for shader in (UsdShade.Shader(child) for child in Usd.PrimRange(prim) if child.IsA(UsdShade.Shader)):
            for value in (attribute.Get(START) for attribute in _color_sources(shader)):
                if isinstance(value, Sdf.AssetPath) and value.path:
                    picture = self._picture(value)
                    if picture is not None:
                        return Material(prim.GetName(), np.ones(3), picture)
                    self.notes.append(f"The picture {value.path!r} of material {prim.GetName()!r} cannot be read.")
                elif value is not None and not isinstance(value, Sdf.AssetPath) and np.shape(value) == (3,):
                    return Material(prim.GetName(), linear_to_srgb(np.nan_to_num(np.array(value, float))))
        return Material(prim.GetName(), GREY)

    def _picture(self, asset: Sdf.AssetPath) -> UInt8[np.ndarray, "height width 3"] | None:
        """From inside the package, or from beside the file."""
        if not Ar.IsPackageRelativePath(asset.resolvedPath):
            return picture_beside(self.path, asset.path)
        opened = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(asset.resolvedPath))
        return decoded(bytes(opened.GetBuffer())) if opened else None


NO_MATERIAL = Material("none", GREY)


def _topology(mesh: UsdGeom.Mesh, point_count: int) -> tuple[Int[np.ndarray, " face"], Int[np.ndarray, " corner"]]:
    counts = np.array(mesh.GetFaceVertexCountsAttr().Get(START) or [], int)
    indices = np.array(mesh.GetFaceVertexIndicesAttr().Get(START) or [], int)
    if counts.sum() != len(indices) or np.any(counts < 0) or np.any((indices < 0) | (indices >= point_count)):
        raise AkdError(f"The mesh {mesh.GetPath()} has faces that do not fit its {point_count} points.")
    return counts, indices


def _texture_coordinates(
    prim: Usd.Prim, indices: Int[np.ndarray, " corner"]
) -> tuple[Float[np.ndarray, "coordinate 2"], Int[np.ndarray, " corner"]]:
    """Coordinates, and which of them each corner has (−1: none)."""
    none = np.zeros((0, 2)), np.full(len(indices), -1)
    for primvar in UsdGeom.PrimvarsAPI(prim).GetPrimvarsWithValues():
        kind = primvar.GetTypeName()
        if kind.role != "TextureCoordinate" and primvar.GetPrimvarName() != "st":
            continue
        values = np.array(primvar.ComputeFlattened(START), float)
        if values.ndim != 2 or values.shape[1] < 2 or not np.all(np.isfinite(values)):
            continue
        distinct, which = np.unique(values[:, :2], axis=0, return_inverse=True)
        which = which.reshape(-1)
        if primvar.GetInterpolation() == UsdGeom.Tokens.faceVarying and len(values) == len(indices):
            return distinct, which
        if primvar.GetInterpolation() in (UsdGeom.Tokens.vertex, UsdGeom.Tokens.varying) and len(values) > indices.max():
            return distinct, which[indices]
    return none


def _display_colors(prim: Usd.Prim, point_count: int) -> Float[np.ndarray, "point 3"] | None:
    """Colours of a mesh without material, sRGB."""
    primvar = UsdGeom.Gprim(prim).GetDisplayColorPrimvar()
    values = np.array(primvar.ComputeFlattened(START) or [], float) if primvar else np.zeros(0)
    if values.shape not in ((1, 3), (point_count, 3)) or not np.all(np.isfinite(values)):
        return None
    return np.broadcast_to(linear_to_srgb(values), (point_count, 3))


def _color_sources(shader: UsdShade.Shader) -> list[Usd.Attribute]:
    """The attributes a shader's colour may come from: a value, or the file of a picture."""
    out = []
    for name in COLOR_INPUTS:
        for attribute in shader.GetInput(name).GetValueProducingAttributes() if shader.GetInput(name) else ():
            source = UsdShade.Shader(attribute.GetPrim())
            picture = source.GetInput("file") if source else None
            out.append(picture.GetAttr() if picture else attribute)
    return out
