"""Several rigs as one set of tensors, short ones filled up, and forward kinematics on all of them at once."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.posespace.bends import bend_matrices
from akd.posespace.features import is_near, node_features, pair_codes
from akd.posespace.sketch import Sketch
from akd.skeleton import mirror_maps

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


def rig_batch(sketches: list[Sketch]) -> RigBatch:
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
    turn = frames @ bend_matrices(bends) @ frames.transpose(-1, -2)
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


def _maps(sketch: Sketch) -> Float[np.ndarray, "joint 3 3"]:
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
