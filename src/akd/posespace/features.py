"""What the network is told about each joint, and about each pair of joints. Only shape counts: no names, no order."""

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.posespace.sketch import KINDS, Sketch

HEAT_TIMES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Times of the heat-kernel signature, in squared leg lengths."""
RELATIONS = ("self", "parent", "child", "sibling", "mirror", "ancestor", "descendant", "other")
NEAR = len(RELATIONS) - 1
"""Relations before this one count as near: local attention sees these only."""
LONGEST = 8
"""Distances in the tree are told apart up to this many bones."""
FEATURES = 58
"""Numbers that ``node_features`` gives for each joint."""
PAIR_CODES = len(RELATIONS) * (LONGEST + 1)


def node_features(sketch: Sketch) -> Float[np.ndarray, "joint feature"]:
    """Everything about single joints, roughly between −2 and 2."""
    parts = (_geometry(sketch), _tree(sketch), _labels(sketch), _flesh(sketch), _heat(sketch), _whole(sketch))
    return np.concatenate(parts, 1).astype(np.float32)


def pair_codes(sketch: Sketch) -> Int[np.ndarray, "joint joint"]:
    """``[i, j]``: what j is to i, and how far away, as one number."""
    count, parents = sketch.joint_count, sketch.parents
    joint = np.arange(count)
    relation = np.full((count, count), RELATIONS.index("other"))
    relation[sketch.is_ancestor.T] = RELATIONS.index("ancestor")
    relation[sketch.is_ancestor] = RELATIONS.index("descendant")
    relation[(parents[:, None] == parents[None]) & (parents >= 0)[:, None]] = RELATIONS.index("sibling")
    relation[joint, sketch.mirror] = RELATIONS.index("mirror")
    relation[joint[1:], parents[1:]] = RELATIONS.index("parent")
    relation[parents[1:], joint[1:]] = RELATIONS.index("child")
    relation[joint, joint] = RELATIONS.index("self")
    return relation * (LONGEST + 1) + np.minimum(sketch.hops, LONGEST)


def is_near(codes: Int[np.ndarray, "joint joint"]) -> Bool[np.ndarray, "joint joint"]:
    """Pairs that local attention sees: ancestors, descendants, siblings and mirror partners."""
    return codes // (LONGEST + 1) < NEAR


def _geometry(sketch: Sketch) -> np.ndarray:
    offset = _offsets(sketch)
    bone = sketch.tails - sketch.positions
    length = np.linalg.norm(bone, axis=1, keepdims=True)
    before, after = _unit(offset), _unit(bone)
    return np.concatenate(
        (
            (sketch.positions - sketch.positions[0]) / 2, sketch.positions[:, 1:2], offset, bone,
            np.log(length + 0.02) / 2, sketch.frames[:, :, 0], sketch.frames[:, :, 1],
            # Which way a joint is bent at rest says which way it bends further.
            2 * np.cross(before, after), (before * after).sum(1, keepdims=True),
        ), 1,
    )  # fmt: skip


def _tree(sketch: Sketch) -> np.ndarray:
    from_root, to_leaf = _tree_lengths(sketch)
    children = np.bincount(sketch.parents[1:], minlength=sketch.joint_count)
    below = sketch.is_ancestor.sum(1)
    return np.stack(
        (
            sketch.depth / 5, np.minimum(children, 6) / 3, np.log(below) / 2, from_root / 2, to_leaf / 2,
            from_root / np.maximum(from_root + to_leaf, 1e-6), children == 0, sketch.parents < 0,
        ), 1,
    )  # fmt: skip


def _labels(sketch: Sketch) -> np.ndarray:
    paired = sketch.mirror != np.arange(sketch.joint_count)
    side = np.sign(sketch.positions[:, 2]) * paired
    known = sketch.kind >= 0
    kind = np.eye(len(KINDS))[np.maximum(sketch.kind, 0)] * known[:, None]
    return np.concatenate((np.stack((side < 0, side == 0, side > 0, sketch.order / 2 * known, ~known), 1), kind), 1)


def _flesh(sketch: Sketch) -> np.ndarray:
    has = sketch.radius > 0
    lowest = np.minimum(sketch.positions[:, 1], sketch.tails[:, 1]) - sketch.radius
    thickness = np.log(np.maximum(sketch.radius, 0.01)) / 2 * has
    return np.concatenate((np.stack((has, thickness, lowest), 1), sketch.half), 1)


def _heat(sketch: Sketch) -> np.ndarray:
    """Heat-kernel signature of the skeleton as a graph whose short bones conduct well."""
    count, length = sketch.joint_count, np.linalg.norm(_offsets(sketch), axis=1)[1:]
    laplacian = np.zeros((count, count))
    joint, parent = np.arange(1, count), sketch.parents[1:]
    conductance = 1 / np.maximum(length, 0.02)
    laplacian[joint, parent] = laplacian[parent, joint] = -conductance
    np.fill_diagonal(laplacian, -laplacian.sum(1))
    value, vector = np.linalg.eigh(laplacian)
    return np.square(vector) @ np.exp(-np.outer(value, HEAT_TIMES))


def _whole(sketch: Sketch) -> np.ndarray:
    """The same for every joint: size and build of the body."""
    ends = np.concatenate((sketch.positions, sketch.tails))
    leg = sketch.kind == KINDS.index("leg")
    starts = leg & ~(leg[np.maximum(sketch.parents, 0)] & (sketch.parents >= 0))
    build = np.concatenate((np.ptp(ends, axis=0) / 3, [starts.sum() / 4, np.log(sketch.joint_count) / 4]))
    return np.tile(build, (sketch.joint_count, 1))


def _offsets(sketch: Sketch) -> np.ndarray:
    return sketch.positions - sketch.positions[np.maximum(sketch.parents, 0)]


def _tree_lengths(sketch: Sketch) -> tuple[np.ndarray, np.ndarray]:
    """Along the bones: to the root, and to the furthest end below."""
    length = np.linalg.norm(_offsets(sketch), axis=1)
    from_root = sketch.is_ancestor.T @ length
    reach = np.linalg.norm(sketch.tails - sketch.positions, axis=1) + from_root
    return from_root, np.where(sketch.is_ancestor, reach[None], 0.0).max(1) - from_root


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
