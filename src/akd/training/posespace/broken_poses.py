"""Poses broken on purpose, to learn to tell them from real ones.

All are made of a rig's own poses: parts exchanged between poses, angles dealt out among joints, single joints turned too far or
the wrong way, tremor all over the body.
"""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.posespace.rig_batch import RigBatch

MIN_CHANGE = 0.15
"""A joint is broken if its rotation vector changed by more than this [rad]."""
TURN = (0.7, 2.6)
"""By how much a single joint is turned too far [rad]."""
TREMOR = (0.1, 0.5)
"""Deviation of tremor [rad]."""


def break_poses(
    rigs: RigBatch, vectors: Float[Tensor, "rig pose joint 3"], rng: np.random.Generator
) -> tuple[Float[Tensor, "rig pose joint 3"], Bool[Tensor, "rig pose joint"]]:
    """Every pose broken in one way or another, and which of its joints were changed."""
    out = vectors.numpy().copy()
    for rig in range(out.shape[0]):
        joints = int(rigs.present[rig].sum())
        below = rigs.ancestry[rig, :joints, :joints].numpy().astype(bool)
        own = vectors[rig, :, :joints].numpy()
        for pose in range(out.shape[1]):
            way = WAYS[int(rng.integers(len(WAYS)))]
            out[rig, pose, :joints] = way(own, pose, below, rigs.rest[rig, :joints].numpy(), rng)
    broken = torch.from_numpy(out)
    return broken, (broken - vectors).norm(dim=-1) > MIN_CHANGE


def _other(own: np.ndarray, pose: int, rng: np.random.Generator) -> np.ndarray:
    return own[(pose + int(rng.integers(1, max(len(own), 2)))) % len(own)]


def _exchanged_branch(own: np.ndarray, pose: int, below: np.ndarray, rest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A branch of the tree, or two, from another pose."""
    taken = np.zeros(own.shape[1], bool)
    for joint in rng.integers(0, own.shape[1], int(rng.integers(1, 3))):
        taken |= below[:, joint]
    if taken[0]:  # the whole body would be another pose, and a good one
        taken[:] = rng.random(own.shape[1]) < 0.5
    return np.where(taken[:, None], _other(own, pose, rng), own[pose])


def _exchanged_sides(own: np.ndarray, pose: int, below: np.ndarray, rest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Limbs of one side, or crosswise, from another pose."""
    right, front = rest[:, 2] > 0, rest[:, 0] > np.median(rest[:, 0])
    taken = right ^ front if rng.random() < 0.7 else right
    return np.where(taken[:, None], _other(own, pose, rng), own[pose])


def _exchanged_joints(own: np.ndarray, pose: int, below: np.ndarray, rest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Every joint from a pose of its own."""
    return own[rng.integers(0, len(own), own.shape[1]), np.arange(own.shape[1])]


def _dealt_out(own: np.ndarray, pose: int, below: np.ndarray, rest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rotation vectors permuted among the joints."""
    return np.concatenate((own[pose, :1], own[pose, 1 + rng.permutation(own.shape[1] - 1)]))


def _turned(own: np.ndarray, pose: int, below: np.ndarray, rest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One joint turned too far: about its bone, about one of the other axes the wrong way, or about any axis."""
    out, joint = own[pose].copy(), int(rng.integers(0, own.shape[1]))
    size = rng.uniform(*TURN)
    kind = int(rng.integers(3))
    if kind == 0:
        out[joint, 0] += rng.choice((-1, 1)) * size
    elif kind == 1:
        axis = 1 + int(abs(out[joint, 2]) > abs(out[joint, 1]))
        out[joint, axis] = -(np.sign(out[joint, axis]) or 1.0) * (abs(out[joint, axis]) + size)
    else:
        way = rng.normal(size=3)
        out[joint] += size * way / np.linalg.norm(way)
    return out


def _trembling(own: np.ndarray, pose: int, below: np.ndarray, rest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Every joint turned a little at random."""
    return own[pose] + rng.normal(0, rng.uniform(*TREMOR), own[pose].shape)


WAYS = (_exchanged_branch, _exchanged_sides, _exchanged_sides, _exchanged_joints, _dealt_out, _turned, _turned, _trembling)
"""Ways to break a pose; those that are hard to see come twice."""
