"""Meshes as FBX has them: points, polygons, what is painted on their corners, and materials with embedded pictures."""

from dataclasses import dataclass
from io import BytesIO

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image

from akd.files.fbx_binary import Element, Raw, add_properties
from akd.files.fbx_document import FbxDocument
from akd.files.gltf.write_rig import to_linear, written_normals
from akd.files.scene import Scene
from akd.files.writing import safe_name
from akd.mesh import Material, Mesh

PLAIN_COLOR = 0.02
"""Vertices whose colours differ by less than this from their material's need no colours of their own."""


@dataclass(frozen=True, eq=False)
class MergedPoints:
    """The places that vertices share. A mesh may be split where its picture has seams; FBX keeps that on corners."""

    vertex_of_point: Int[np.ndarray, " point"]
    """One of the vertices at each point."""
    point_of_vertex: Int[np.ndarray, " vertex"]


def merged_points(vertices: Float[np.ndarray, "vertex 3"], weights: Float[np.ndarray, "vertex bone"]) -> MergedPoints:
    """Vertices at the very same place with the very same weights are one point; points come in the order of their vertices."""
    rows = np.concatenate((vertices, weights), 1)
    keys = np.ascontiguousarray(rows + 0.0).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), int)
    place[order] = np.arange(len(order))
    return MergedPoints(first[order], place[group.reshape(-1)])


def append_mesh(document: FbxDocument, scene: Scene, points: MergedPoints) -> tuple[int, int]:
    """The mesh at the origin of the scene; the identifiers of its node and of its geometry."""
    mesh = scene.mesh
    geometry, geometry_id = document.add("Geometry", scene.name, "Geometry", "Mesh")
    corners = points.point_of_vertex[mesh.faces].astype("<i4")
    corners[:, 2] = ~corners[:, 2]  # the last corner of a polygon is stored as −1 − corner
    geometry("GeometryVersion", 124)
    geometry("Vertices", mesh.vertices[points.vertex_of_point].astype("<f8"))
    geometry("PolygonVertexIndex", corners)
    materials = mesh.materials if len(mesh.face_material) else (Material("skin", mesh.colors.mean(0)),)
    worn = mesh.face_material if len(mesh.face_material) else np.zeros(len(mesh.faces), int)
    used = np.unique(worn)
    layers = _append_layers(geometry, mesh, np.searchsorted(used, worn), _own_colors(mesh, materials, worn))
    _append_layer_list(geometry, layers)
    model, model_id = document.add("Model", scene.name, "Model", "Mesh")
    model("Version", 232)
    add_properties(model, ("DefaultAttributeIndex", "int", 0), ("InheritType", "enum", 1))
    model("Shading", True)
    model("Culling", "CullingOff")
    document.connect(model_id, 0)
    document.connect(geometry_id, model_id)
    for index in used:
        _append_material(document, materials[index], mesh.uv is not None, model_id)
    return model_id, geometry_id


def _append_layers(
    geometry: Element, mesh: Mesh, worn: Int[np.ndarray, " face"], colors: Float[np.ndarray, "vertex 3"] | None
) -> list[str]:
    """Normals, texture coordinates, colours and materials; the names of what there is."""
    corners = mesh.faces.reshape(-1)
    normals = _layer(geometry, "LayerElementNormal", "ByPolygonVertex", "Direct")
    normals("Normals", written_normals(mesh)[corners].astype("<f8"))
    if mesh.uv is not None:
        uv = _layer(geometry, "LayerElementUV", "ByPolygonVertex", "IndexToDirect", "UVMap")
        uv("UV", (mesh.uv * (1.0, -1.0) + (0.0, 1.0)).astype("<f8"))  # FBX counts from the picture's bottom
        uv("UVIndex", corners.astype("<i4"))
    if colors is not None:
        painted = _layer(geometry, "LayerElementColor", "ByPolygonVertex", "IndexToDirect", "Color")
        painted("Colors", np.pad(colors, ((0, 0), (0, 1)), constant_values=1.0).astype("<f8"))
        painted("ColorIndex", corners.astype("<i4"))
    material = _layer(geometry, "LayerElementMaterial", "ByPolygon", "IndexToDirect")
    material("Materials", worn.astype("<i4"))
    return [child.name for child in geometry.children if child.name.startswith("LayerElement")]


def _layer(geometry: Element, kind: str, mapping: str, reference: str, name: str = "") -> Element:
    layer = geometry(kind, 0)
    layer("Version", 101)
    layer("Name", name)
    layer("MappingInformationType", mapping)
    layer("ReferenceInformationType", reference)
    return layer


def _append_layer_list(geometry: Element, kinds: list[str]) -> None:
    layer = geometry("Layer", 0)
    layer("Version", 100)
    for kind in kinds:
        entry = layer("LayerElement")
        entry("Type", kind)
        entry("TypedIndex", 0)


def _own_colors(
    mesh: Mesh, materials: tuple[Material, ...], worn: Int[np.ndarray, " face"]
) -> Float[np.ndarray, "vertex 3"] | None:
    """What the vertices' colours have beyond those of materials without a picture; nothing where that is nothing."""
    out = np.ones((mesh.vertex_count, 3))
    for index, material in enumerate(materials):
        if material.texture is None or mesh.uv is None:
            touched = np.unique(mesh.faces[worn == index])
            out[touched] = mesh.colors[touched] / np.maximum(material.color, 1e-3)
    return np.clip(out, 0, 1) if np.abs(out - 1).max(initial=0) > PLAIN_COLOR else None


def _append_material(document: FbxDocument, material: Material, has_uv: bool, model: int) -> None:
    entry, identifier = document.add("Material", material.name, "Material")
    entry("Version", 102)
    entry("ShadingModel", "phong")
    entry("MultiLayer", 0)
    linear = tuple(float(x) for x in to_linear(np.asarray(material.color, float)))
    add_properties(
        entry, ("DiffuseColor", "Color", *linear), ("DiffuseFactor", "Number", 1.0), ("SpecularFactor", "Number", 0.0),
        ("Shininess", "Number", 20.0), ("ShininessExponent", "Number", 20.0), ("ReflectionFactor", "Number", 0.0),
    )  # fmt: skip
    document.connect(identifier, model)
    if material.texture is not None and has_uv:
        _append_texture(document, material.name, material.texture, identifier)


def _append_texture(document: FbxDocument, name: str, picture: UInt8[np.ndarray, "height width 3"], material: int) -> None:
    """A picture inside the file, as PNG."""
    png = BytesIO()
    Image.fromarray(picture).save(png, "PNG")
    file = f"{safe_name(name)}.png"
    video, video_id = document.add("Video", name, "Video", "Clip")
    video("Type", "Clip")
    add_properties(video, ("Path", "KString", file))
    video("UseMipMap", 0)
    texture, texture_id = document.add("Texture", name, "Texture")
    texture("Type", "TextureVideoClip")
    texture("Version", 202)
    texture("TextureName", f"{name}\x00\x01Texture")
    texture("Media", f"{name}\x00\x01Video")
    for entry in (video, texture):
        entry("Filename" if entry is video else "FileName", file)
        entry("RelativeFilename", file)
    video("Content", Raw(png.getvalue()))
    add_properties(texture, ("UVSet", "KString", "UVMap"), ("UseMaterial", "bool", 1))
    document.connect(texture_id, material, "DiffuseColor")
    document.connect(video_id, texture_id)
