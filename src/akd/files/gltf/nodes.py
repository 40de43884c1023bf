"""The node hierarchy of a glTF file, and its bones.

Translation, rotation and scale: what a glTF animation can change, and the matrices they make.

Which nodes of a glTF file are bones, and which bone carries each unskinned mesh.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from akd.errors import AkdError
from akd.files.gltf.document import GltfDocument
from akd.files.gltf.json_entry import Entry

MAX_DEPTH = 1000
MAX_COORDINATE = 1e12  # beyond this a position is a defect of the file, and products of matrices lose all digits


@dataclass(frozen=True, eq=False)
class NodeTree:
    """All nodes in their default pose."""

    names: tuple[str, ...]
    """Unique."""
    parents: Int[np.ndarray, " node"]
    """−1 for roots."""
    levels: tuple[Int[np.ndarray, " _"], ...]
    """The nodes by their depth, roots first."""
    translation: Float[np.ndarray, "node 3"]
    rotation: Float[np.ndarray, "node 4"]
    """Unit quaternions xyzw, the file's order."""
    scale: Float[np.ndarray, "node 3"]
    local: Float[np.ndarray, "node 4 4"]
    world: Float[np.ndarray, "node 4 4"]

    @cached_property
    def depth(self) -> Int[np.ndarray, " node"]:
        """How many nodes are above each."""
        depth = np.zeros(len(self.parents), int)
        for steps, level in enumerate(self.levels):
            depth[level] = steps
        return depth

    def ancestors(self, node: int) -> Iterator[int]:
        """The node, its parent, and so on up to the root."""
        while node >= 0:
            yield node
            node = int(self.parents[node])


def read_nodes(document: GltfDocument) -> NodeTree:
    """The nodes of a file; each must have at most one parent and none may be its own ancestor."""
    entries = list(document.root.items("nodes"))
    parents = _parents(entries, document.path.name)
    levels = tree_levels(parents)
    if sum(map(len, levels)) < len(entries):
        raise AkdError(f"Some nodes of {document.path.name} are their own ancestors; please export the file again.")
    if len(levels) > MAX_DEPTH:
        raise AkdError(f"The nodes of {document.path.name} are nested {len(levels)} deep, but akd reads {MAX_DEPTH}.")
    parts = [_local(entry) for entry in entries]
    translation, rotation, scale, local = (
        np.array([part[i] for part in parts]).reshape(-1, *shape) for i, shape in enumerate([(3,), (4,), (3,), (4, 4)])
    )
    world = chained(local, parents, levels)
    if not np.all(np.abs(world) < MAX_COORDINATE):
        raise AkdError(f"The nodes of {document.path.name} lie beyond {MAX_COORDINATE:g} units; please rescale it.")
    names = unique_names(entry.text("name", "") or f"node{index}" for index, entry in enumerate(entries))
    return NodeTree(names, parents, levels, translation, rotation, scale, local, world)


def tree_levels(parents: Int[np.ndarray, " node"]) -> tuple[Int[np.ndarray, " _"], ...]:
    """The nodes by depth; nodes of a cycle are in no level."""
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(node)
    levels, level = [], [node for node, parent in enumerate(parents) if parent < 0]
    while level:
        levels.append(np.array(level))
        level = [child for node in level for child in children[node]]
    return tuple(levels)


def chained(
    local: Float[np.ndarray, "*frame node 4 4"], parents: Int[np.ndarray, " node"], levels: tuple[Int[np.ndarray, " _"], ...]
) -> Float[np.ndarray, "*frame node 4 4"]:
    """World matrices from local ones, a level of the tree at a time."""
    world = local.copy()
    for level in levels[1:]:
        world[..., level, :, :] = world[..., parents[level], :, :] @ local[..., level, :, :]
    return world


def composed(
    translation: Float[np.ndarray, "*batch 3"], rotation: Float[np.ndarray, "*batch 4"], scale: Float[np.ndarray, "*batch 3"]
) -> Float[np.ndarray, "*batch 4 4"]:
    """The matrix that scales, then turns by a unit quaternion xyzw, then shifts."""
    x, y, z, w = np.moveaxis(rotation, -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    matrix = np.zeros((*rotation.shape[:-1], 4, 4))
    matrix[..., :3, :3] = np.stack([np.stack(row, -1) for row in rows], -2) * scale[..., None, :]
    matrix[..., :3, 3] = translation
    matrix[..., 3, 3] = 1
    return matrix


def unit_quaternions(rotation: Float[np.ndarray, "*batch 4"]) -> Float[np.ndarray, "*batch 4"]:
    """Normalised; what has no direction becomes the identity."""
    length = np.linalg.norm(rotation, axis=-1, keepdims=True)
    return np.where(length <= 1e-9, (0.0, 0.0, 0.0, 1.0), rotation / np.maximum(length, 1e-9))


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names, with a number added to those already taken."""
    taken: dict[str, int] = {}
    unique = []
    for name in names:
        candidate = name
        while candidate in taken:
            taken[name] += 1
            candidate = f"{name}_{taken[name]}"
        taken[candidate] = 1
        unique.append(candidate)
    return tuple(unique)


def _parents(entries: list[Entry], name: str) -> Int[np.ndarray, " node"]:
    """The parent of each node."""
    parents = np.full(len(entries), -1)
    for index, entry in enumerate(entries):
        for child in entry.indices("children", len(entries)):
            if parents[child] >= 0:
                raise AkdError(f"Node {child} of {name} has two parents, {parents[child]} and {index}; please export it again.")
            parents[child] = index
    return parents


def _local(entry: Entry) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Translation, rotation, scale and matrix of a node."""
    if "matrix" not in entry:
        translation = entry.numbers("translation", 3, (0, 0, 0))
        rotation = unit_quaternions(np.clip(entry.numbers("rotation", 4, (0, 0, 0, 1)), -1e9, 1e9))
        scale = entry.numbers("scale", 3, (1, 1, 1))
        return translation, rotation, scale, composed(translation, rotation, scale)
    matrix = entry.numbers("matrix", 16).reshape(4, 4).T
    matrix[3] = (0, 0, 0, 1)
    return matrix[:3, 3], *_turn_and_scale(matrix[:3, :3]), matrix


def _turn_and_scale(linear: Float[np.ndarray, "3 3"]) -> tuple[Float[np.ndarray, " 4"], Float[np.ndarray, " 3"]]:
    """The quaternion and the scales of a matrix without shear."""
    scale = np.linalg.norm(linear, axis=0)
    scale[0] *= -1 if np.linalg.det(linear) < 0 else 1
    turn = linear / np.where(scale == 0, 1, scale)
    if not np.linalg.det(turn) > 1e-6:
        return np.array([0.0, 0, 0, 1]), scale
    return Rotation.from_matrix(turn).as_quat(), scale


class Trs(NamedTuple):
    """The map x ↦ rotation (scale ⊙ x) + translation, with any leading batch axes."""

    translation: Float[np.ndarray, "*batch 3"]
    rotation: Float[np.ndarray, "*batch 4"]
    """Quaternion xyzw, the order of files."""
    scale: Float[np.ndarray, "*batch 3"]

    def matrix(self) -> Float[np.ndarray, "*batch 4 4"]:
        return composed(self.translation, unit_quaternions(self.rotation), self.scale)


IDENTITY = Trs(np.zeros(3), np.array([0.0, 0, 0, 1]), np.ones(3))


def decompose(matrices: Float[np.ndarray, "frame 4 4"], default: Trs = IDENTITY) -> Trs:
    """The nearest translations, rotations and scales, frame after frame without jumps. Shear is lost.

    The signs of the scale are not determined by a matrix: they follow ``default``, and one axis flips where the
    matrix mirrors and the default does not. Where a part is scaled to nothing, which is how artists hide it, its
    rotation is not determined either and stays as it was.
    """
    linear = matrices[:, :3, :3]
    signs = np.tile(np.where(default.scale < 0, -1.0, 1.0), (len(linear), 1))
    signs[np.linalg.det(linear) * signs.prod(1) < 0, 0] *= -1
    left, sizes, right = np.linalg.svd(linear * signs[:, None, :])
    left[:, :, 2] *= np.sign(np.linalg.det(left @ right))[:, None]  # two sizes may vanish, then svd may mirror
    turns = left @ right
    determined = sizes[:, 1] > 1e-9 * max(sizes.max(), 1e-9)
    latest = np.maximum.accumulate(np.where(determined, np.arange(len(linear)), -1))
    rotations = np.where(latest[:, None] >= 0, Rotation.from_matrix(turns).as_quat()[latest], default.rotation)
    turns = Rotation.from_quat(rotations).as_matrix()
    return Trs(matrices[:, :3, 3].copy(), _continuous(rotations, default.rotation), np.einsum("fij,fij->fj", turns, linear))


def _continuous(rotations: Float[np.ndarray, "frame 4"], first: Float[np.ndarray, " 4"]) -> Float[np.ndarray, "frame 4"]:
    """The same rotations, each with the sign that is nearest to the one before, so that interpolation goes the short way."""
    before = np.concatenate((first[None], rotations[:-1]))
    flips = np.where((rotations * before).sum(1) < 0, -1.0, 1.0)
    return rotations * np.cumprod(flips)[:, None]


@dataclass(frozen=True, eq=False)
class Bones:
    """The bones of a file."""

    nodes: tuple[int, ...]
    """Node index of each bone, parents before children."""
    parents: Int[np.ndarray, " bone"]
    """Nearest ancestor that is a bone, −1 for roots."""
    of_node: dict[int, int]
    """Bone index of the nodes that are bones."""
    carriers: dict[int, int]
    """For each node with an unskinned mesh, the bone it moves with; empty in a file without bones."""


def choose_bones(tree: NodeTree, joints: Iterable[int], animated: Iterable[int], rigid: list[int]) -> Bones:
    """Joints of skins, nodes that carry unskinned meshes, and the nodes on the way between bones.

    An unskinned mesh moves with the nearest joint or animated node above it, so that a sword in a hand needs no bone of
    its own. A mesh that nothing moves becomes a bone only where others move.
    """
    joints, animated = set(joints), set(animated)
    moving = joints | animated
    carriers = {node: next((a for a in tree.ancestors(node) if a in moving), node) for node in rigid} if moving else {}
    chosen = joints | set(carriers.values())
    for carrier in set(carriers.values()) - joints:  # a hierarchy without skin is moved by all animated nodes above
        chosen.update(node for node in tree.ancestors(carrier) if node in animated)
    chosen = _with_paths_between(tree, chosen or animated)
    nodes = tuple(int(node) for level in tree.levels for node in level if int(node) in chosen)
    of_node = {node: bone for bone, node in enumerate(nodes)}
    parents = np.array([of_node.get(int(tree.parents[node]), -1) for node in nodes], int)
    return Bones(nodes, parents, of_node, {node: of_node[carrier] for node, carrier in carriers.items()})


def _with_paths_between(tree: NodeTree, chosen: set[int]) -> set[int]:
    """The chosen nodes and every node that has a chosen one both above and below it."""
    has_bone_above: set[int] = set()
    for level in tree.levels:
        for node in map(int, level):
            parent = int(tree.parents[node])
            if parent in chosen or parent in has_bone_above:
                has_bone_above.add(node)
    complete = set(chosen)
    for node in chosen & has_bone_above:
        above = int(tree.parents[node])
        while above not in complete:
            complete.add(above)
            above = int(tree.parents[above])
    return complete
