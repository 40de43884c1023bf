"""Rigs as network inputs: features of every joint, a code for every pair of joints, and batches of rigs of different size.

Features describe shape only, neither names nor the order of joints. ``batch_kinematics`` poses all rigs of a batch at once.
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
"""What one joint is to another; the nearest relation that holds counts."""
NEAR_RELATIONS = len(RELATIONS) - 1
"""Relations before this index are near: local attention sees these only."""
MAX_HOPS = 8
"""Distances in the tree are distinguished up to this many bones."""
FEATURES = 58
"""Numbers that ``node_features`` gives for each joint."""
PAIR_CODES = len(RELATIONS) * (MAX_HOPS + 1)
"""Number of different codes of pairs."""
MIDLINE_WIDTH = 0.05
"""Joints without a partner that are further from the midplane than this belong to one side only [ℓ]."""


def node_features(descriptor: RigDescriptor) -> Float[np.ndarray, "joint feature"]:
    """The features of every joint, roughly between −2 and 2."""
    groups = (_geometry, _tree, _labels, _thickness, _heat_kernel_signature, _body_size)
    return np.concatenate([group(descriptor) for group in groups], 1).astype(np.float32)


def pair_codes(descriptor: RigDescriptor) -> Int[np.ndarray, "joint joint"]:
    """``[i, j]``: the relation of j to i and their distance in the tree, as one number."""
    count, parents = descriptor.joint_count, descriptor.parents
    joint = np.arange(count)
    relation = np.full((count, count), RELATIONS.index("other"))
    relation[descriptor.is_ancestor.T] = RELATIONS.index("ancestor")
    relation[descriptor.is_ancestor] = RELATIONS.index("descendant")
    relation[(parents[:, None] == parents[None]) & (parents >= 0)[:, None]] = RELATIONS.index("sibling")
    relation[joint, descriptor.mirror] = RELATIONS.index("mirror")
    relation[joint[1:], parents[1:]] = RELATIONS.index("parent")
    relation[parents[1:], joint[1:]] = RELATIONS.index("child")
    relation[joint, joint] = RELATIONS.index("self")
    return relation * (MAX_HOPS + 1) + np.minimum(descriptor.hops, MAX_HOPS)


def is_near(codes: Int[np.ndarray, "joint joint"]) -> Bool[np.ndarray, "joint joint"]:
    """Pairs that local attention sees: ancestors, descendants, siblings and mirror partners."""
    return codes // (MAX_HOPS + 1) < NEAR_RELATIONS


def _geometry(descriptor: RigDescriptor) -> np.ndarray:
    offset = _offsets(descriptor)
    bone = descriptor.tails - descriptor.positions
    length = np.linalg.norm(bone, axis=1, keepdims=True)
    before, after = _unit(offset), _unit(bone)
    return np.concatenate(
        (
            (descriptor.positions - descriptor.positions[0]) / 2, descriptor.positions[:, 1:2], offset, bone,
            np.log(length + 0.02) / 2, descriptor.frames[:, :, 0], descriptor.frames[:, :, 1],
            # A joint that is bent at rest mostly bends further the same way.
            2 * np.cross(before, after), (before * after).sum(1, keepdims=True),
        ), 1,
    )  # fmt: skip


def _tree(descriptor: RigDescriptor) -> np.ndarray:
    from_root, to_leaf = _tree_lengths(descriptor)
    children = np.bincount(descriptor.parents[1:], minlength=descriptor.joint_count)
    below = descriptor.is_ancestor.sum(1)
    return np.stack(
        (
            descriptor.depth / 5, np.minimum(children, 6) / 3, np.log(below) / 2, from_root / 2, to_leaf / 2,
            from_root / np.maximum(from_root + to_leaf, 1e-6), children == 0, descriptor.parents < 0,
        ), 1,
    )  # fmt: skip


def _labels(descriptor: RigDescriptor) -> np.ndarray:
    paired = descriptor.mirror != np.arange(descriptor.joint_count)
    side = np.sign(descriptor.positions[:, 2]) * paired
    known = descriptor.kind >= 0
    kind = np.eye(len(KINDS))[np.maximum(descriptor.kind, 0)] * known[:, None]
    return np.concatenate((np.stack((side < 0, side == 0, side > 0, descriptor.order / 2 * known, ~known), 1), kind), 1)


def _thickness(descriptor: RigDescriptor) -> np.ndarray:
    has = descriptor.radius > 0
    lowest = np.minimum(descriptor.positions[:, 1], descriptor.tails[:, 1]) - descriptor.radius
    thickness = np.log(np.maximum(descriptor.radius, 0.01)) / 2 * has
    return np.concatenate((np.stack((has, thickness, lowest), 1), descriptor.half), 1)


def _heat_kernel_signature(descriptor: RigDescriptor) -> np.ndarray:
    """Heat-kernel signature of the skeleton, a graph whose short bones conduct well."""
    count, length = descriptor.joint_count, np.linalg.norm(_offsets(descriptor), axis=1)[1:]
    laplacian = np.zeros((count, count))
    joint, parent = np.arange(1, count), descriptor.parents[1:]
    conductance = 1 / np.maximum(length, 0.02)
    laplacian[joint, parent] = laplacian[parent, joint] = -conductance
    np.fill_diagonal(laplacian, -laplacian.sum(1))
    value, vector = np.linalg.eigh(laplacian)
    return np.square(vector) @ np.exp(-np.outer(value, HEAT_TIMES))


def _body_size(descriptor: RigDescriptor) -> np.ndarray:
    """Size and build of the body, the same for every joint."""
    ends = np.concatenate((descriptor.positions, descriptor.tails))
    leg = descriptor.kind == KINDS.index("leg")
    starts = leg & ~(leg[np.maximum(descriptor.parents, 0)] & (descriptor.parents >= 0))
    build = np.concatenate((np.ptp(ends, axis=0) / 3, [starts.sum() / 4, np.log(descriptor.joint_count) / 4]))
    return np.tile(build, (descriptor.joint_count, 1))


def _offsets(descriptor: RigDescriptor) -> np.ndarray:
    return descriptor.positions - descriptor.positions[np.maximum(descriptor.parents, 0)]


def _tree_lengths(descriptor: RigDescriptor) -> tuple[np.ndarray, np.ndarray]:
    """Lengths along the bones to the root, and to the farthest end below [ℓ]."""
    length = np.linalg.norm(_offsets(descriptor), axis=1)
    from_root = descriptor.is_ancestor.T @ length
    to_end = np.linalg.norm(descriptor.tails - descriptor.positions, axis=1) + from_root
    return from_root, np.where(descriptor.is_ancestor, to_end[None], 0.0).max(1) - from_root


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


@dataclass(frozen=True, eq=False)
class RigBatch:
    """Rigs side by side; smaller ones are filled up with missing joints."""

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
    """Positions at rest, seen from the root [ℓ]."""
    ancestry: Float[Tensor, "rig joint joint"]
    """``[r, j, a]``: 1 where a is on the way from j to the root, j itself included."""
    mirror: Int[Tensor, "rig joint"]
    """The joint on the other side; itself where there is none."""
    mirror_maps: Float[Tensor, "rig joint 3 3"]
    """From the partner's rotation vector to its mirror image here; the identity for joints off the midplane without a partner."""

    @property
    def joint_count(self) -> int:
        return self.present.shape[1]


def rig_batch(descriptors: list[RigDescriptor]) -> RigBatch:
    """Rigs of any size as one batch."""
    count = max(descriptor.joint_count for descriptor in descriptors)
    codes = [pair_codes(descriptor) for descriptor in descriptors]
    offsets = [descriptor.positions - descriptor.positions[np.maximum(descriptor.parents, 0)] for descriptor in descriptors]
    return RigBatch(
        _stacked([np.ones(descriptor.joint_count, bool) for descriptor in descriptors], count),
        _stacked([node_features(descriptor) for descriptor in descriptors], count),
        _stacked(codes, count, axes=2),
        _stacked([is_near(code) for code in codes], count, axes=2),
        _stacked([descriptor.parents for descriptor in descriptors], count, fill=-1),
        _stacked([offset.astype(np.float32) for offset in offsets], count),
        _stacked([descriptor.frames.astype(np.float32) for descriptor in descriptors], count),
        _stacked([(descriptor.positions - descriptor.positions[0]).astype(np.float32) for descriptor in descriptors], count),
        _stacked([descriptor.is_ancestor.T.astype(np.float32) for descriptor in descriptors], count, axes=2),
        _stacked([descriptor.mirror for descriptor in descriptors], count),
        _stacked([_mirror_maps(descriptor) for descriptor in descriptors], count),
    )


def batch_kinematics(rigs: RigBatch, vectors: Float[Tensor, "rig pose joint 3"]) -> tuple[
    Float[Tensor, "rig pose joint 3 3"], Float[Tensor, "rig pose joint 3"]
]:  # fmt: skip
    """Rotations away from rest in stage axes, and positions seen from the root [ℓ]; by pointer jumping, in log₂(depth) steps."""
    frames = rigs.frames.to(vectors.dtype)[:, None]
    rotation = frames @ vector_matrices(vectors) @ frames.transpose(-1, -2)
    eye = torch.eye(3, dtype=vectors.dtype).expand(*vectors.shape[:2], 1, 3, 3)
    # Missing joints have frames of zeros; the identity keeps them harmless.
    rotation = torch.where(rigs.present[:, None, :, None, None], rotation, eye)
    none = rigs.joint_count  # index of the identity
    ancestor = torch.where(rigs.parents < 0, none, rigs.parents)
    while bool((ancestor < none).any()):
        rotation = _of_joint(torch.cat((rotation, eye), 2), ancestor) @ rotation
        ancestor = torch.cat((ancestor, torch.full_like(ancestor[:, :1], none)), 1).gather(1, ancestor)
    above = _of_joint(torch.cat((rotation, eye), 2), torch.where(rigs.parents < 0, none, rigs.parents))
    step = (above @ rigs.offsets.to(vectors.dtype)[:, None, :, :, None]).squeeze(-1)
    return rotation, rigs.ancestry.to(vectors.dtype)[:, None] @ step


def _mirror_maps(descriptor: RigDescriptor) -> Float[np.ndarray, "joint 3 3"]:
    alone = (descriptor.mirror == np.arange(descriptor.joint_count)) & (np.abs(descriptor.positions[:, 2]) > MIDLINE_WIDTH)
    return np.where(alone[:, None, None], np.eye(3), mirror_maps(descriptor.frames, descriptor.mirror)).astype(np.float32)


def _of_joint(rotation: Tensor, index: Int[Tensor, "rig joint"]) -> Tensor:
    """For each joint the rotation of another joint of its rig."""
    spread = index[:, None, :, None, None].expand(-1, rotation.shape[1], -1, 3, 3)
    return rotation.gather(2, spread)


def _stacked(arrays: list[np.ndarray], count: int, axes: int = 1, fill: int = 0) -> Tensor:
    """Stack arrays, filling the first axes up to a common size."""
    padded = [
        np.pad(array, [(0, count - array.shape[axis]) if axis < axes else (0, 0) for axis in range(array.ndim)],
               constant_values=fill)
        for array in arrays
    ]  # fmt: skip
    return torch.from_numpy(np.stack(padded))
