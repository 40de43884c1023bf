"""Which nodes of a glTF file are bones, and which bone carries each unskinned mesh."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from akd.files.gltf.nodes import NodeTree


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
