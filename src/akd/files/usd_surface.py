"""Meshes and materials as USD has them: points with texture coordinates, and one preview surface per material."""

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from akd.files.gltf.write_rig import to_linear, written_normals
from akd.files.reading import unique_names
from akd.files.writing import safe_name
from akd.mesh import Material, Mesh

if TYPE_CHECKING:
    from pxr import Usd, UsdGeom, UsdShade

ROUGHNESS = 0.8
"""As in the GLB files that akd writes."""


def picture_files(mesh: Mesh, folder: str) -> dict[int, tuple[str, bytes]]:
    """For each material that is worn and has a picture: the picture's path, and its content as PNG."""
    if mesh.uv is None:
        return {}
    worn = [(int(index), mesh.materials[index]) for index in np.unique(mesh.face_material)]
    pictured = [(index, material) for index, material in worn if material.texture is not None]
    names = unique_names([safe_name(material.name) for _, material in pictured])
    return {
        index: (f"{folder}/{name}.png", _png(material.texture))
        for name, (index, material) in zip(names, pictured, strict=True) if material.texture is not None
    }  # fmt: skip


def _png(picture: np.ndarray) -> bytes:
    out = BytesIO()
    Image.fromarray(picture).save(out, "PNG")
    return out.getvalue()


def author_mesh(stage: "Usd.Stage", above: Any, mesh: Mesh, pictures: Mapping[int, str]) -> "UsdGeom.Mesh":
    """The mesh with its materials; without any, its vertices' colours are shown."""
    from pxr import Sdf, UsdGeom, Vt

    out = UsdGeom.Mesh.Define(stage, above.AppendChild("Mesh"))
    points = mesh.vertices.astype(np.float32)
    out.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points))
    out.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(mesh.faces), 3, np.int32)))
    out.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(mesh.faces.reshape(-1).astype(np.int32)))
    out.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    out.CreateDoubleSidedAttr(True)
    out.CreateNormalsAttr(Vt.Vec3fArray.FromNumpy(written_normals(mesh).astype(np.float32)))
    out.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
    out.CreateExtentAttr(Vt.Vec3fArray.FromNumpy(np.stack((points.min(0), points.max(0)))))
    primvars = UsdGeom.PrimvarsAPI(out)
    if mesh.uv is not None:
        st = primvars.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.vertex)
        flipped = (mesh.uv * (1.0, -1.0) + (0.0, 1.0)).astype(np.float32)  # USD counts from the picture's bottom
        st.Set(Vt.Vec2fArray.FromNumpy(flipped))
    if len(mesh.face_material):
        _author_materials(stage, above, out, mesh, pictures)
    else:
        linear = to_linear(mesh.colors).astype(np.float32)
        out.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex).Set(Vt.Vec3fArray.FromNumpy(linear))
    return out


def _author_materials(stage: "Usd.Stage", above: Any, out: "UsdGeom.Mesh", mesh: Mesh, pictures: Mapping[int, str]) -> None:
    """Materials, bound to the whole mesh or each to its faces."""
    from pxr import Tf, UsdGeom, UsdShade, Vt

    used = np.unique(mesh.face_material).tolist()
    scope = UsdGeom.Scope.Define(stage, above.AppendChild("Materials")).GetPath()
    names = unique_names([Tf.MakeValidIdentifier(mesh.materials[index].name) for index in used])
    api = UsdShade.MaterialBindingAPI.Apply(out.GetPrim())
    for name, index in zip(names, used, strict=True):
        material = _author_material(stage, scope.AppendChild(name), mesh.materials[index], pictures.get(index))
        if len(used) == 1:
            api.Bind(material)
            return
        faces = np.flatnonzero(mesh.face_material == index).astype(np.int32)
        subset = api.CreateMaterialBindSubset(name, Vt.IntArray.FromNumpy(faces))
        UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(material)
    api.SetMaterialBindSubsetsFamilyType(UsdGeom.Tokens.partition)


def _author_material(stage: "Usd.Stage", path: Any, material: Material, picture: str | None) -> "UsdShade.Material":
    """A preview surface with a colour or a picture."""
    from pxr import Gf, Sdf, UsdShade

    kinds = Sdf.ValueTypeNames
    out = UsdShade.Material.Define(stage, path)
    surface = UsdShade.Shader.Define(stage, path.AppendChild("Surface"))
    surface.CreateIdAttr("UsdPreviewSurface")
    surface.CreateInput("roughness", kinds.Float).Set(ROUGHNESS)
    surface.CreateInput("metallic", kinds.Float).Set(0.0)
    color = surface.CreateInput("diffuseColor", kinds.Color3f)
    out.CreateSurfaceOutput().ConnectToSource(surface.CreateOutput("surface", kinds.Token))
    if picture is None:
        color.Set(Gf.Vec3f(*(float(x) for x in to_linear(np.asarray(material.color, float)))))
        return out
    place = UsdShade.Shader.Define(stage, path.AppendChild("Place"))
    place.CreateIdAttr("UsdPrimvarReader_float2")
    place.CreateInput("varname", kinds.String).Set("st")
    texture = UsdShade.Shader.Define(stage, path.AppendChild("Picture"))
    texture.CreateIdAttr("UsdUVTexture")
    texture.CreateInput("file", kinds.Asset).Set(picture)
    texture.CreateInput("sourceColorSpace", kinds.Token).Set("sRGB")
    for axis in ("wrapS", "wrapT"):
        texture.CreateInput(axis, kinds.Token).Set("repeat")
    linear = to_linear(np.asarray(material.color, float))
    texture.CreateInput("scale", kinds.Float4).Set(Gf.Vec4f(*(float(x) for x in linear), 1.0))
    texture.CreateInput("st", kinds.Float2).ConnectToSource(place.CreateOutput("result", kinds.Float2))
    color.ConnectToSource(texture.CreateOutput("rgb", kinds.Float3))
    return out
