"""The meshes of a glTF file where its nodes and skins put them, joined into one mesh with weights."""

from collections import Counter
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from jaxtyping import Float

from akd.errors import AkdError
from akd.files.gltf.bones import Bones
from akd.files.gltf.document import GltfDocument
from akd.files.gltf.json_entry import Entry
from akd.files.gltf.materials import Surface
from akd.files.gltf.nodes import NodeTree
from akd.files.gltf.primitives import MAX_VERTICES, Primitive, element_count, read_primitives
from akd.files.gltf.skins import Skin
from akd.files.gltf.weights import nearest, repaired_influences
from akd.mesh import Mesh

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
