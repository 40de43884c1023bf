"""What the network is told about each joint, and about each pair of joints. Only shape counts: no names, no order.

Several rigs as one set of tensors, short ones filled up, and forward kinematics on all of them at once.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.posespace.representation import KINDS, RigDescriptor, vector_matrices
from akd.skeleton import mirror_maps

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


def node_features(sketch: RigDescriptor) -> Float[np.ndarray, "joint feature"]:
    """Everything about single joints, roughly between −2 and 2."""
    parts = (_geometry(sketch), _tree(sketch), _labels(sketch), _flesh(sketch), _heat(sketch), _whole(sketch))
    return np.concatenate(parts, 1).astype(np.float32)


def pair_codes(sketch: RigDescriptor) -> Int[np.ndarray, "joint joint"]:
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


def _geometry(sketch: RigDescriptor) -> np.ndarray:
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


def _tree(sketch: RigDescriptor) -> np.ndarray:
    from_root, to_leaf = _tree_lengths(sketch)
    children = np.bincount(sketch.parents[1:], minlength=sketch.joint_count)
    below = sketch.is_ancestor.sum(1)
    return np.stack(
        (
            sketch.depth / 5, np.minimum(children, 6) / 3, np.log(below) / 2, from_root / 2, to_leaf / 2,
            from_root / np.maximum(from_root + to_leaf, 1e-6), children == 0, sketch.parents < 0,
        ), 1,
    )  # fmt: skip


def _labels(sketch: RigDescriptor) -> np.ndarray:
    paired = sketch.mirror != np.arange(sketch.joint_count)
    side = np.sign(sketch.positions[:, 2]) * paired
    known = sketch.kind >= 0
    kind = np.eye(len(KINDS))[np.maximum(sketch.kind, 0)] * known[:, None]
    return np.concatenate((np.stack((side < 0, side == 0, side > 0, sketch.order / 2 * known, ~known), 1), kind), 1)


def _flesh(sketch: RigDescriptor) -> np.ndarray:
    has = sketch.radius > 0
    lowest = np.minimum(sketch.positions[:, 1], sketch.tails[:, 1]) - sketch.radius
    thickness = np.log(np.maximum(sketch.radius, 0.01)) / 2 * has
    return np.concatenate((np.stack((has, thickness, lowest), 1), sketch.half), 1)


def _heat(sketch: RigDescriptor) -> np.ndarray:
    """Heat-kernel signature of the skeleton as a graph whose short bones conduct well."""
    count, length = sketch.joint_count, np.linalg.norm(_offsets(sketch), axis=1)[1:]
    laplacian = np.zeros((count, count))
    joint, parent = np.arange(1, count), sketch.parents[1:]
    conductance = 1 / np.maximum(length, 0.02)
    laplacian[joint, parent] = laplacian[parent, joint] = -conductance
    np.fill_diagonal(laplacian, -laplacian.sum(1))
    value, vector = np.linalg.eigh(laplacian)
    return np.square(vector) @ np.exp(-np.outer(value, HEAT_TIMES))


def _whole(sketch: RigDescriptor) -> np.ndarray:
    """The same for every joint: size and build of the body."""
    ends = np.concatenate((sketch.positions, sketch.tails))
    leg = sketch.kind == KINDS.index("leg")
    starts = leg & ~(leg[np.maximum(sketch.parents, 0)] & (sketch.parents >= 0))
    build = np.concatenate((np.ptp(ends, axis=0) / 3, [starts.sum() / 4, np.log(sketch.joint_count) / 4]))
    return np.tile(build, (sketch.joint_count, 1))


def _offsets(sketch: RigDescriptor) -> np.ndarray:
    return sketch.positions - sketch.positions[np.maximum(sketch.parents, 0)]


def _tree_lengths(sketch: RigDescriptor) -> tuple[np.ndarray, np.ndarray]:
    """Along the bones: to the root, and to the furthest end below."""
    length = np.linalg.norm(_offsets(sketch), axis=1)
    from_root = sketch.is_ancestor.T @ length
    reach = np.linalg.norm(sketch.tails - sketch.positions, axis=1) + from_root
    return from_root, np.where(sketch.is_ancestor, reach[None], 0.0).max(1) - from_root


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


CENTRAL = 0.05
"""Joints without a partner that are further from the middle than this belong to one side only [ℓ]."""


@dataclass(frozen=True, eq=False)
class RigBatch:
    """Rigs side by side."""

    present: Bool[Tensor, "rig joint"]
    features: Float[Tensor, "rig joint feature"]
    codes: Int[Tensor, "rig joint joint"]
    near: Bool[Tensor, "rig joint joint"]
    parents: Int[Tensor, "rig joint"]
    """The root's, and those of missing joints, are −1."""
    offsets: Float[Tensor, "rig joint 3"]
    """From the parent, at rest [ℓ]; zero for the root."""
    frames: Float[Tensor, "rig joint 3 3"]
    rest: Float[Tensor, "rig joint 3"]
    """Places at rest, seen from the root [ℓ]."""
    ancestry: Float[Tensor, "rig joint joint"]
    """``[r, j, a]``: 1 where a is on the way from j to the root, j itself included."""
    mirror: Int[Tensor, "rig joint"]
    """The joint on the other side; itself where there is none."""
    mirror_maps: Float[Tensor, "rig joint 3 3"]
    """From the partner's bends to those of its mirror image here; nothing is changed off the middle without a partner."""

    @property
    def joint_count(self) -> int:
        return self.present.shape[1]


def rig_batch(sketches: list[RigDescriptor]) -> RigBatch:
    """Stack rigs of any size."""
    count = max(sketch.joint_count for sketch in sketches)
    codes = [pair_codes(sketch) for sketch in sketches]
    offsets = [sketch.positions - sketch.positions[np.maximum(sketch.parents, 0)] for sketch in sketches]
    return RigBatch(
        _stacked([np.ones(sketch.joint_count, bool) for sketch in sketches], count),
        _stacked([node_features(sketch) for sketch in sketches], count),
        _stacked(codes, count, axes=2),
        _stacked([is_near(code) for code in codes], count, axes=2),
        _stacked([sketch.parents for sketch in sketches], count, fill=-1),
        _stacked([offset.astype(np.float32) for offset in offsets], count),
        _stacked([sketch.frames.astype(np.float32) for sketch in sketches], count),
        _stacked([(sketch.positions - sketch.positions[0]).astype(np.float32) for sketch in sketches], count),
        _stacked([sketch.is_ancestor.T.astype(np.float32) for sketch in sketches], count, axes=2),
        _stacked([sketch.mirror for sketch in sketches], count),
        _stacked([_maps(sketch) for sketch in sketches], count),
    )


def posed(rigs: RigBatch, bends: Float[Tensor, "rig pose joint 3"]) -> tuple[
    Float[Tensor, "rig pose joint 3 3"], Float[Tensor, "rig pose joint 3"]
]:  # fmt: skip
    """Turns away from rest on the stage, and places seen from the root. By pointer jumping: few steps, whatever the trees."""
    frames = rigs.frames.to(bends.dtype)[:, None]
    turn = frames @ vector_matrices(bends) @ frames.transpose(-1, -2)
    eye = torch.eye(3, dtype=bends.dtype).expand(*bends.shape[:2], 1, 3, 3)
    # Missing joints have frames of zeros; the identity keeps them harmless.
    turn = torch.where(rigs.present[:, None, :, None, None], turn, eye)
    none = rigs.joint_count
    ancestor = torch.where(rigs.parents < 0, none, rigs.parents)
    while bool((ancestor < none).any()):
        turn = _above(torch.cat((turn, eye), 2), ancestor) @ turn
        ancestor = torch.cat((ancestor, torch.full_like(ancestor[:, :1], none)), 1).gather(1, ancestor)
    above = _above(torch.cat((turn, eye), 2), torch.where(rigs.parents < 0, none, rigs.parents))
    step = (above @ rigs.offsets.to(bends.dtype)[:, None, :, :, None]).squeeze(-1)
    return turn, rigs.ancestry.to(bends.dtype)[:, None] @ step


def _maps(sketch: RigDescriptor) -> Float[np.ndarray, "joint 3 3"]:
    alone = (sketch.mirror == np.arange(sketch.joint_count)) & (np.abs(sketch.positions[:, 2]) > CENTRAL)
    return np.where(alone[:, None, None], np.eye(3), mirror_maps(sketch.frames, sketch.mirror)).astype(np.float32)


def _above(turn: Tensor, index: Int[Tensor, "rig joint"]) -> Tensor:
    """For each joint the turn of another one of its rig."""
    spread = index[:, None, :, None, None].expand(-1, turn.shape[1], -1, 3, 3)
    return turn.gather(2, spread)


def _stacked(arrays: list[np.ndarray], count: int, axes: int = 1, fill: int = 0) -> Tensor:
    """Fill the first axes up to a common size."""
    padded = [
        np.pad(array, [(0, count - array.shape[axis]) if axis < axes else (0, 0) for axis in range(array.ndim)],
               constant_values=fill)
        for array in arrays
    ]  # fmt: skip
    return torch.from_numpy(np.stack(padded))
