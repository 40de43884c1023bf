"""Meshes as glTF stores them: float32 attributes per vertex, four joints each, light intensities for colours."""

from io import BytesIO
from typing import Any

import numpy as np
from jaxtyping import Float, UInt, UInt8
from PIL import Image

from akd.files.gltf.pack import GltfPack
from akd.mesh import Material, Mesh, vertex_normals

VERTEX_DATA, INDEX_DATA = 34962, 34963  # what a buffer view is for
INFLUENCES = 4  # joints that move a vertex: what every game engine takes


def append_mesh(pack: GltfPack, name: str, mesh: Mesh, weights: Float[np.ndarray, "vertex joint"]) -> int:
    """A mesh in glTF axes with skin weights, one primitive per material; all share the vertices. Its index in ``meshes``."""
    attributes = _append_vertices(pack, mesh, weights)
    materials = mesh.materials if len(mesh.face_material) else (Material("skin", np.ones(3)),)
    face_material = mesh.face_material if len(mesh.face_material) else np.zeros(len(mesh.faces), int)
    used = [(mesh.faces[face_material == index], material) for index, material in enumerate(materials)]
    primitives = [_primitive(pack, mesh, faces, material, attributes) for faces, material in used if len(faces)]
    return pack.append("meshes", {"name": name, "primitives": primitives})


def to_linear(srgb: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
    """Colours as screens take them → light intensities, which is what glTF stores outside pictures."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def written_normals(mesh: Mesh) -> Float[np.ndarray, "vertex 3"]:
    """Unit normals of the vertices, up where they have none: the format wants every one of length one."""
    normals = vertex_normals(mesh.vertices, mesh.faces)
    return np.where(np.linalg.norm(normals, axis=1, keepdims=True) > 0.5, normals, (0.0, 1.0, 0.0))


def strongest_influences(
    weights: Float[np.ndarray, "vertex joint"],
) -> tuple[UInt[np.ndarray, "vertex 4"], Float[np.ndarray, "vertex 4"]]:
    """For each vertex its four strongest joints and their weights, which again sum to one."""
    count = min(INFLUENCES, weights.shape[1])
    joints = np.argsort(-weights, axis=1, kind="stable")[:, :count]
    strongest = np.take_along_axis(weights, joints, 1)
    strongest[strongest < 1e-6] = 0
    strongest /= strongest.sum(1, keepdims=True)
    joints[strongest == 0] = 0  # a joint without influence should not be named
    padding = ((0, 0), (0, INFLUENCES - count))
    return np.pad(joints, padding).astype(np.uint8 if weights.shape[1] <= 256 else np.uint16), np.pad(strongest, padding)


def _append_vertices(pack: GltfPack, mesh: Mesh, weights: Float[np.ndarray, "vertex joint"]) -> dict[str, int]:
    """Accessors of everything that is known per vertex, by attribute name."""
    joints, influence = strongest_influences(weights)
    arrays = {"POSITION": mesh.vertices, "NORMAL": written_normals(mesh), "COLOR_0": to_linear(mesh.colors)}
    if mesh.uv is not None:
        arrays["TEXCOORD_0"] = mesh.uv
    arrays["WEIGHTS_0"] = influence
    stored = {name: array.astype(np.float32) for name, array in arrays.items()} | {"JOINTS_0": joints}
    return {
        name: pack.append_arrays([array], bounds=name == "POSITION", target=VERTEX_DATA)[0] for name, array in stored.items()
    }


def _primitive(pack: GltfPack, mesh: Mesh, faces: np.ndarray, material: Material, attributes: dict[str, int]) -> dict[str, Any]:
    """The faces of one material. Vertex colours contain the picture, so a primitive has the one or the other."""
    texture = material.texture if mesh.uv is not None else None
    surface: dict[str, Any] = {"metallicFactor": 0, "roughnessFactor": 0.8}
    if texture is not None:
        surface["baseColorFactor"] = [*to_linear(material.color).tolist(), 1]
        surface["baseColorTexture"] = {"index": _append_texture(pack, material.name, texture)}
    small = mesh.vertex_count <= np.iinfo(np.uint16).max  # the largest value is reserved
    (indices,) = pack.append_arrays([faces.reshape(-1).astype(np.uint16 if small else np.uint32)], target=INDEX_DATA)
    hidden = "TEXCOORD_0" if texture is None else "COLOR_0"
    return {
        "attributes": {name: index for name, index in attributes.items() if name != hidden},
        "indices": indices,
        "material": pack.append("materials", {"name": material.name, "pbrMetallicRoughness": surface}),
    }


def _append_texture(pack: GltfPack, name: str, picture: UInt8[np.ndarray, "height width 3"]) -> int:
    """A picture as an embedded PNG."""
    png = BytesIO()
    Image.fromarray(picture).save(png, "PNG")
    view = pack.append_view(png.getvalue())
    return pack.append("textures", {"source": pack.append("images", {"name": name, "bufferView": view, "mimeType": "image/png"})})
