"""Meshes as glTF stores them: float32 attributes per vertex, four joints each, light intensities for colours.

Write a rig of ours, and motions of it, as a new GLB.

glTF is in metres, Y up, and characters face +Z; the stage has them face +X with their right at +Z.
"""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt, UInt8
from PIL import Image

import akd
from akd.errors import AkdError
from akd.files.gltf.nodes import Trs, decompose
from akd.files.gltf.write import BoneNodes, GltfPack, append_clip
from akd.files.writing import write_file
from akd.mesh import Material, Mesh, vertex_normals
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Skeleton, forward_kinematics

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


GLTF_FROM_STAGE = np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]])
FORWARD = GLTF_FROM_STAGE[:, 0]
"""Where characters face in the files written here."""


def write_rig(rig: Rig, motions: Mapping[str, Motion], path: str | Path) -> None:
    """A new GLB of a rig with one animation per motion. Bones point along their local +Y, as Blender draws them."""
    write_file(path, encode_rig(rig, motions))


def encode_rig(rig: Rig, motions: Mapping[str, Motion]) -> bytes:
    """The bytes of ``write_rig``."""
    pack = GltfPack({"asset": {"version": "2.0", "generator": f"akd {akd.__version__}"}, "scene": 0})
    skeleton = rig.skeleton
    rest = node_worlds(rig, skeleton.positions[None], np.eye(3)[None, None])[0]
    tree = _append_joints(pack, skeleton, rest)
    skin = _append_skin(pack, rig, rest)
    roots = [0]
    if len(rig.mesh.faces):
        to_gltf = np.eye(4)
        to_gltf[:3, :3] = rig.leg_metres * GLTF_FROM_STAGE
        mesh = append_mesh(pack, rig.name, rig.mesh.transformed(to_gltf), rig.weights)
        roots.append(pack.append("nodes", {"name": rig.name, "mesh": mesh, "skin": skin}))
    pack.append("scenes", {"nodes": roots})
    for name, motion in motions.items():
        _append_motion(pack, name, rig, motion, tree)
    return pack.to_bytes()


def node_worlds(
    rig: Rig, positions: Float[np.ndarray, "frame joint 3"], turns: Float[np.ndarray, " frame #joint 3 3"]
) -> Float[np.ndarray, "frame joint 4 4"]:
    """World matrices of the joint nodes in glTF axes, from joints on the stage and their turns away from rest."""
    along, lateral, third = np.moveaxis(rig.skeleton.frames, -1, 0)
    axes = GLTF_FROM_STAGE @ np.stack((lateral, along, -third), -1)
    axes[0] = np.eye(3)  # engines like a root whose axes are the world's
    out = np.zeros((*positions.shape[:-1], 4, 4))
    out[..., :3, :3] = GLTF_FROM_STAGE @ turns @ GLTF_FROM_STAGE.T @ axes
    out[..., :3, 3] = rig.leg_metres * positions @ GLTF_FROM_STAGE.T
    out[..., 3, 3] = 1
    return out


def _append_joints(pack: GltfPack, skeleton: Skeleton, rest: Float[np.ndarray, "joint 4 4"]) -> BoneNodes:
    """One node per joint, in the skeleton's order, at rest."""
    above = np.where(skeleton.parents[:, None, None] < 0, np.eye(4), rest[skeleton.parents])
    local = np.linalg.solve(above, rest)
    parts = [Trs(*(part[0] for part in decompose(matrix[None]))) for matrix in local]
    defaults = [Trs(part.translation, part.rotation, np.ones(3)) for part in parts]
    for joint, (name, part) in enumerate(zip(skeleton.names, defaults, strict=True)):
        node = {"name": name, "translation": part.translation.tolist(), "rotation": part.rotation.tolist()}
        children = skeleton.children(joint)
        pack.append("nodes", node | ({"children": children} if children else {}))
    return BoneNodes(range(skeleton.joint_count), skeleton.parents.tolist(), local, defaults)


def _append_skin(pack: GltfPack, rig: Rig, rest: Float[np.ndarray, "joint 4 4"]) -> int:
    """The joints as bones of a skin, with what we know about them."""
    inverse_binds = np.linalg.inv(rest).astype(np.float32)
    inverse_binds[:, 3] = (0, 0, 0, 1)  # exactly, as the standard demands
    (binds,) = pack.append_arrays([inverse_binds])
    joints = list(range(rig.skeleton.joint_count))
    skin = {"name": rig.name, "inverseBindMatrices": binds, "skeleton": 0, "joints": joints}
    return pack.append("skins", skin | {"extras": {"akd": _labels(rig)}})


def _append_motion(pack: GltfPack, name: str, rig: Rig, motion: Motion, tree: BoneNodes) -> None:
    if motion.pose.angles.ndim != 3:
        raise AkdError(f"{name!r} holds {tuple(motion.pose.angles.shape[:-3])} motions at once; please write them one by one.")
    posed = forward_kinematics(rig.skeleton, motion.pose.detach().to(torch.float64))
    world = node_worlds(rig, posed.position.cpu().numpy(), posed.rotation.cpu().numpy())
    append_clip(pack, name, np.arange(motion.frame_count) / motion.fps, world, tree)


def _labels(rig: Rig) -> dict[str, Any]:
    """What glTF has no words for: joints by their names, lengths in leg lengths, soles as places in the list of vertices."""
    skeleton, names = rig.skeleton, rig.skeleton.names
    return {
        "leg_metres": rig.leg_metres,
        "limbs": [vars(limb) | {"joints": [names[j] for j in limb.joints], "tip": names[limb.tip]} for limb in skeleton.limbs],
        "mirror": {name: names[partner] for name, partner in zip(names, skeleton.mirror, strict=True)},
        "tails": dict(zip(names, np.round(skeleton.tails, 6).tolist(), strict=True)),
        "soles": [sole.tolist() for sole in rig.soles],
    }
