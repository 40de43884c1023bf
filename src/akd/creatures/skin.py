"""Skin weights: each vertex starts with the bone of the flesh it lies on, and weights diffuse along the surface.

Edges are short where flesh is thin, so a fixed number of averaging steps spreads a joint over about its own radius.
"""

import numpy as np
from jaxtyping import Float, Int

from akd.creatures.flesh import Surface
from akd.creatures.remesh import neighbour_average
from akd.skeleton import Skeleton

STEPS = 14
INFLUENCES = 4


def skin_weights(surface: Surface, owner: Int[np.ndarray, " half"], skeleton: Skeleton) -> Float[np.ndarray, "vertex joint"]:
    """Rows sum to one, at most four joints each, mirrored exactly, nothing across the midline."""
    count = len(surface.source)
    left = np.arange(count) >= len(surface.half)
    bone = owner[surface.source]
    bone = np.where(left, skeleton.mirror[bone], bone)
    weights = np.zeros((count, skeleton.joint_count))
    weights[np.arange(count), bone] = 1.0
    average = neighbour_average(surface.faces, count)
    for _ in range(STEPS):
        weights = 0.5 * weights + 0.5 * (average @ weights)
    weights = 0.5 * (weights + weights[surface.partner][:, skeleton.mirror])
    weights[_across_midline(surface, skeleton)] = 0.0
    weights = _strongest(weights)
    return weights / weights.sum(1, keepdims=True)


def _across_midline(surface: Surface, skeleton: Skeleton) -> np.ndarray:
    """Where would a vertex follow a limb of the other side?"""
    side = np.sign(skeleton.positions[:, 2]) * (skeleton.mirror != np.arange(skeleton.joint_count))
    return surface.vertices[:, 2][:, None] * side[None] < 0


def _strongest(weights: Float[np.ndarray, "vertex joint"]) -> Float[np.ndarray, "vertex joint"]:
    """Only the strongest few of each row; the next in rank is subtracted from all, so nothing jumps where ranks change."""
    ranked = np.sort(weights, axis=1)
    next_in_rank = ranked[:, -INFLUENCES - 1 : -INFLUENCES] if weights.shape[1] > INFLUENCES else 0.0
    return np.maximum(weights - np.maximum(next_in_rank, 1e-3), 0.0)
