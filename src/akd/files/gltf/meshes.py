"""Triangles of a glTF mesh with their attributes, as the file has them: in mesh coordinates, before any node or skin.

The meshes of a glTF file where its nodes and skins put them, joined into one mesh with weights.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from jaxtyping import Float, Int

from akd.errors import AkdError
from akd.files.geometry import nearest, repaired_influences
from akd.files.gltf.document import GltfDocument, accessor
from akd.files.gltf.json_entry import Entry
from akd.files.gltf.materials import Surface
from akd.files.gltf.nodes import MAX_COORDINATE, Bones, NodeTree
from akd.files.gltf.skins import Skin
from akd.mesh import Mesh

MAX_VERTICES = 2**23
TRIANGLES, STRIP, FAN = 4, 5, 6


@dataclass(frozen=True, eq=False)
class Primitive:
    """Triangles that share a material."""

    vertices: Float[np.ndarray, "vertex 3"]
    faces: Int[np.ndarray, "face 3"]
    colors: Float[np.ndarray, "vertex 3"]
    """sRGB."""
    uv: Float[np.ndarray, "vertex 2"]
    """Places on the picture of the material; zero where there is none."""
    material: int
    joints: Int[np.ndarray, "vertex influence"]
    """Indices into the joints of the skin; no columns where the file has none."""
    weights: Float[np.ndarray, "vertex influence"]
    """As in the file, not repaired."""


def read_primitives(
    document: GltfDocument, mesh: Entry, morph: list[float], surfaces: list[Surface], notes: list[str]
) -> list[Primitive]:
    """All triangles of a mesh, its morph targets added in the given amounts."""
    found = []
    for entry in mesh.items("primitives"):
        mode = entry.whole("mode", TRIANGLES)
        if mode in (TRIANGLES, STRIP, FAN):
            found.append(_primitive(document, entry, mode, morph, surfaces))
        else:
            notes.append(f"{entry.label} has points or lines (mode {mode}), which were left out.")
    return found


def element_count(document: GltfDocument, mesh: Entry) -> int:
    """How many elements reading a mesh takes, as the file declares it: small files can point to the same bytes often."""
    total = 0
    for entry in mesh.items("primitives"):
        tables = [entry.child("attributes"), *entry.items("targets")]
        read = [table.whole(name) for table in tables for name in table.fields if name in table]
        read += [entry.whole("indices")] if "indices" in entry else []
        total += sum(document.root.item("accessors", index).whole("count") for index in read)
    return total


def _primitive(document: GltfDocument, entry: Entry, mode: int, morph: list[float], surfaces: list[Surface]) -> Primitive:
    """Triangles with all that hangs on their vertices."""
    attributes = entry.child("attributes")
    vertices = _attribute(document, attributes, "POSITION", (3,)) + _morphed(document, entry, morph)
    faces = _faces(document, entry, mode, len(vertices))
    used, inverse = np.unique(faces, return_inverse=True)  # primitives often share one long list of vertices
    if not np.all(np.abs(vertices[used]) < MAX_COORDINATE):
        raise AkdError(f"{entry.label} has vertices that are not finite numbers; please export the file again.")
    material = entry.whole("material", len(surfaces) - 1, below=len(surfaces))
    surface = surfaces[material]
    uv = surface.picture_uv(_optional(document, attributes, f"TEXCOORD_{surface.uv_set}", (2,), len(vertices), 0.0)[used])
    tint = np.clip(np.nan_to_num(_tint(document, attributes, len(vertices))[used], nan=1.0), 0, 1)
    joints, weights = _influences(document, attributes, len(vertices))
    colors = surface.vertex_colors(tint, uv)
    return Primitive(vertices[used], inverse.reshape(faces.shape), colors, uv, material, joints[used], weights[used])


def _attribute(document: GltfDocument, attributes: Entry, name: str, shape: tuple[int, ...]) -> Float[np.ndarray, "vertex ..."]:
    """An attribute as floats."""
    values = accessor(document, attributes.whole(name))
    if values.shape[1:] != shape or len(values) > MAX_VERTICES:
        expected = f"{shape[0]} numbers for each of at most {MAX_VERTICES} vertices"
        raise AkdError(f"{name} of {attributes.label} has shape {values.shape}, not {expected}; please export the file again.")
    return values.astype(float)


def _optional(
    document: GltfDocument, attributes: Entry, name: str, shape: tuple[int, ...], count: int, default: float
) -> Float[np.ndarray, "vertex ..."]:
    """An attribute that may be absent."""
    if name not in attributes:
        return np.full((count, *shape), default)
    values = _attribute(document, attributes, name, shape)
    if len(values) != count:
        raise AkdError(f"{name} of {attributes.label} has {len(values)} entries for {count} vertices; please export it again.")
    return values


def _tint(document: GltfDocument, attributes: Entry, count: int) -> Float[np.ndarray, "vertex 3"]:
    """Vertex colours, linear, without their transparency."""
    if "COLOR_0" not in attributes:
        return np.ones((count, 3))
    kind = document.root.item("accessors", attributes.whole("COLOR_0")).text("type")
    return _optional(document, attributes, "COLOR_0", (4,) if kind == "VEC4" else (3,), count, 1.0)[:, :3]


def _morphed(document: GltfDocument, entry: Entry, morph: list[float]) -> Float[np.ndarray, "*vertex 3"]:
    """The shift of all vertices by morph targets."""
    shift = np.zeros(3)
    for amount, target in zip(morph, entry.items("targets"), strict=False):
        if amount and "POSITION" in target:
            delta = amount * _attribute(document, target, "POSITION", (3,))
            if shift.ndim == 2 and len(shift) != len(delta):
                raise AkdError(f"The morph targets of {entry.label} differ in length; please export the file again.")
            shift = shift + delta
    return shift


def _faces(document: GltfDocument, entry: Entry, mode: int, count: int) -> Int[np.ndarray, "face 3"]:
    """Triangles as three vertex indices each."""
    indices = accessor(document, entry.whole("indices")) if "indices" in entry else np.arange(count)
    if indices.dtype.kind != "i" or indices.ndim != 1 or (indices.size and not 0 <= indices.min() <= indices.max() < count):
        raise AkdError(f"{entry.label} has faces that refer to more than its {count} vertices; please export the file again.")
    if mode == TRIANGLES:
        return indices[: len(indices) // 3 * 3].reshape(-1, 3)
    start = np.arange(max(len(indices) - 2, 0))
    if mode == FAN:
        return indices[np.stack((start + 1, start + 2, np.zeros_like(start)), -1)] if len(start) else np.zeros((0, 3), int)
    odd = start % 2  # every second triangle of a strip is turned over
    corners = np.stack((start, start + 1 + odd, start + 2 - odd), -1)
    return indices[corners] if len(start) else np.zeros((0, 3), int)


def _influences(
    document: GltfDocument, attributes: Entry, count: int
) -> tuple[Int[np.ndarray, "vertex influence"], Float[np.ndarray, "vertex influence"]]:
    """Joints and weights of all sets, four columns each."""
    sets = 0
    while f"JOINTS_{sets}" in attributes and f"WEIGHTS_{sets}" in attributes:
        sets += 1
    joints = [_optional(document, attributes, f"JOINTS_{i}", (4,), count, 0.0) for i in range(sets)]
    weights = [_optional(document, attributes, f"WEIGHTS_{i}", (4,), count, 0.0) for i in range(sets)]
    if not sets:
        return np.zeros((count, 0), int), np.zeros((count, 0))
    whole = np.clip(np.nan_to_num(np.concatenate(joints, 1), nan=-1), -1, 2**31).astype(int)
    return whole, np.concatenate(weights, 1)


MAX_FACES = 2**24
MAX_ELEMENTS = 2**27  # read from the file: attributes of vertices, corners of faces
MAX_WEIGHTS = 2**27  # of the dense table vertex × bone: one gigabyte


@dataclass(frozen=True, eq=False)
class Instance:
    """A mesh at a node."""

    node: int
    skin: int | None
    primitives: list[Primitive]
    """Shared by all instances of the same mesh."""


def mesh_instances(document: GltfDocument, tree: NodeTree, surfaces: list[Surface], notes: list[str]) -> list[Instance]:
    """The meshes of the file at their nodes, each mesh read once."""
    entries = list(document.root.items("nodes"))
    known: dict[tuple[int, tuple[float, ...]], list[Primitive]] = {}
    instances, elements, sizes = [], 0, np.zeros(2, int)
    for index in _visible_meshes(document, tree, entries, notes):
        mesh = document.root.item("meshes", entries[index].whole("mesh"))
        morph = _morph_weights(entries[index], mesh)
        key = (entries[index].whole("mesh"), morph)
        if key not in known:
            elements += element_count(document, mesh)
            if elements > MAX_ELEMENTS:
                raise AkdError(f"The meshes of {document.path.name} have over {MAX_ELEMENTS} elements; please simplify them.")
            known[key] = read_primitives(document, mesh, list(morph), surfaces, notes)
            if any(morph):
                notes.append(f"{mesh.label} is shaped by {np.count_nonzero(morph)} morph targets; they were added as they stand.")
        skin = entries[index].whole("skin", below=document.root.count("skins")) if "skin" in entries[index] else None
        sizes += np.sum([(len(primitive.vertices), len(primitive.faces)) for primitive in known[key]], axis=0, dtype=int)
        if np.any(sizes > (MAX_VERTICES, MAX_FACES)):
            raise AkdError(f"{document.path.name} has over {sizes[0]} vertices and {sizes[1]} faces; please simplify the mesh.")
        instances.append(Instance(index, skin, known[key]))
    return instances


def bound_mesh(
    tree: NodeTree,
    bones: Bones,
    rest: Float[np.ndarray, "bone 4 4"],
    skins: list[Skin],
    surfaces: list[Surface],
    instances: list[Instance],
    counts: Counter[str],
) -> tuple[Mesh, Float[np.ndarray, "vertex bone"]]:
    """All meshes at rest in world coordinates, and their weights on the bones."""
    total = sum(len(primitive.vertices) for instance in instances for primitive in instance.primitives)
    if total * len(bones.nodes) > MAX_WEIGHTS:
        raise AkdError(f"{total} vertices on {len(bones.nodes)} bones are more than akd can hold; please simplify the mesh.")
    weights = np.zeros((total, len(bones.nodes)))
    vertices, faces, start = [np.zeros((0, 3))], [np.zeros((0, 3), int)], 0
    for instance in instances:
        for primitive in instance.primitives:
            table = weights[start : start + len(primitive.vertices)]
            if instance.skin is None:
                placed, mirrored = _place_rigid(tree, bones, rest, instance.node, primitive, table)
            else:
                placed, mirrored = _place_skinned(bones, rest, skins[instance.skin], primitive, table, counts)
            vertices.append(placed)
            faces.append(start + (primitive.faces[:, ::-1] if mirrored else primitive.faces))
            start += len(placed)
    parts = [primitive for instance in instances for primitive in instance.primitives]
    mesh = Mesh(
        vertices=np.concatenate(vertices),
        faces=np.concatenate(faces),
        colors=np.concatenate([np.zeros((0, 3)), *(part.colors for part in parts)]),
        uv=np.concatenate([np.zeros((0, 2)), *(part.uv for part in parts)]),
        materials=tuple(surface.material for surface in surfaces),
        face_material=np.concatenate([np.zeros(0, int), *(np.full(len(part.faces), part.material) for part in parts)]),
    )
    return mesh, weights


def _place_rigid(
    tree: NodeTree, bones: Bones, rest: np.ndarray, node: int, primitive: Primitive, table: np.ndarray
) -> tuple[Float[np.ndarray, "vertex 3"], bool]:
    """A mesh that moves with one bone, or with none; fills its rows of the weights."""
    world = tree.world[node]
    if node in bones.carriers:
        bone = bones.carriers[node]
        table[:, bone] = 1
        below = np.eye(4)
        for step in takewhile(lambda above: above != bones.nodes[bone], tree.ancestors(node)):
            below = tree.local[step] @ below
        world = rest[bone] @ below
    return primitive.vertices @ world[:3, :3].T + world[:3, 3], bool(np.linalg.det(world[:3, :3]) < 0)


def _place_skinned(
    bones: Bones, rest: np.ndarray, skin: Skin, primitive: Primitive, table: np.ndarray, counts: Counter[str]
) -> tuple[Float[np.ndarray, "vertex 3"], bool]:
    """A mesh that moves with a skin; fills its rows of the weights."""
    bone_of_joint = np.array([bones.of_node[int(joint)] for joint in skin.joints])
    maps = rest[bone_of_joint] @ skin.inverse_bind
    joints, weights, empty = repaired_influences(primitive.joints, primitive.weights, len(skin.joints), counts)
    if empty.any():
        guess = primitive.vertices[empty] @ maps[0, :3, :3].T + maps[0, :3, 3]
        joints, weights = _adopted(joints, weights, empty, nearest(guess, rest[bone_of_joint, :3, 3]))
    homogeneous = np.column_stack((primitive.vertices, np.ones(len(primitive.vertices))))
    placed = np.zeros((len(homogeneous), 3))
    rows = np.arange(len(homogeneous))
    for joint, weight in zip(joints.T, weights.T, strict=True):
        table[rows, bone_of_joint[joint]] += weight
        placed += weight[:, None] * np.einsum("vij,vj->vi", maps[joint, :3], homogeneous)
    return placed, bool(np.linalg.det(maps[0, :3, :3]) < 0)


def _adopted(joints: np.ndarray, weights: np.ndarray, empty: np.ndarray, joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give each vertex without weight wholly to a joint."""
    if not joints.shape[1]:
        joints, weights = np.zeros((len(joints), 1), int), np.zeros((len(joints), 1))
    joints, weights = joints.copy(), weights.copy()
    joints[empty, 0], weights[empty, 0] = joint, 1
    return joints, weights


def _visible_meshes(document: GltfDocument, tree: NodeTree, entries: list[Entry], notes: list[str]) -> list[int]:
    """Nodes with a mesh in the scene that the file shows first; all that have one, should none be there."""
    wearing = [index for index, entry in enumerate(entries) if "mesh" in entry]
    shown = _shown_nodes(document, tree)
    visible = [index for index in wearing if index in shown] or wearing
    if len(visible) < len(wearing):
        notes.append(f"{len(wearing) - len(visible)} meshes are not in the scene that the file shows and were left out.")
    return visible


def _shown_nodes(document: GltfDocument, tree: NodeTree) -> set[int]:
    """The nodes of the scene that the file shows first; all nodes in a file without scenes."""
    scenes = document.root.count("scenes")
    if not scenes:
        return set(range(len(tree.names)))
    roots = set(document.root.item("scenes", document.root.whole("scene", 0, below=scenes)).indices("nodes", len(tree.names)))
    shown = np.zeros(len(tree.names), bool)
    for level in tree.levels:
        shown[level] = [node in roots or (tree.parents[node] >= 0 and shown[tree.parents[node]]) for node in level]
    return set(np.flatnonzero(shown).tolist())


def _morph_weights(node: Entry, mesh: Entry) -> tuple[float, ...]:
    """How far each morph target is on by default."""
    holder = node if "weights" in node else mesh
    values = holder.fields.get("weights") or []
    return tuple(holder.numbers("weights", len(values))) if isinstance(values, list) and values else ()
