"""Skin weights and skeletons against an artist's."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from akd.skeleton import Posed, Skeleton
from akd.splats import skin_points

SMALL_WEIGHT = 1e-3
"""Weights below this count as none."""
BLEED_RATIO = 3.0
"""A bone this many times farther away along the body than through the air belongs to another limb."""
BONE_STEP = 0.005
"""Distance of the samples along bones, on a mesh scaled to the unit box."""
Weights = Float[np.ndarray, "vertex joint"]


class WeightErrors(NamedTuple):
    """Predicted weights against an artist's."""

    precision: float
    """Share of predicted influences that the artist has too."""
    recall: float
    """Share of the artist's influences that were predicted."""
    l1: float
    """Sum of absolute differences per vertex, 0 to 2."""


def weight_errors(predicted: Weights, artist: Weights) -> WeightErrors:
    """Precision, recall and L1, after dropping weights below 10⁻³ from both and renormalising."""
    ours, theirs = _cleaned(predicted), _cleaned(artist)
    shared = ((ours > 0) & (theirs > 0)).sum()
    l1 = np.abs(ours - theirs).sum() / len(ours)
    return WeightErrors(float(shared / max((ours > 0).sum(), 1)), float(shared / max((theirs > 0).sum(), 1)), float(l1))


def deformation_error(
    skeleton: Skeleton, posed: Posed, vertices: Float[np.ndarray, "vertex 3"], predicted: Weights, artist: Weights
) -> tuple[float, float]:
    """Mean and greatest distance between vertices moved by either set of weights, as a share of the body's height."""
    rest = torch.as_tensor(vertices, dtype=posed.position.dtype)
    ours, theirs = (
        skin_points(skeleton, posed, torch.as_tensor(weights, dtype=rest.dtype), rest) for weights in (predicted, artist)
    )
    apart = (ours - theirs).norm(dim=-1) / np.ptp(vertices[:, 1])
    return float(apart.mean()), float(apart.max())


def bleed(weights: Weights, geodesic: Float[np.ndarray, "vertex joint"], euclidean: Float[np.ndarray, "vertex joint"]) -> float:
    """Mean weight of a vertex on bones that are more than three times farther along the body than through the air."""
    return float(np.where(geodesic > BLEED_RATIO * euclidean, weights, 0).sum(1).mean())


def weight_smoothness(weights: Weights, edges: Int[np.ndarray, "edge 2"]) -> float:
    """Mean over the mesh's edges of ‖w_i − w_j‖₁."""
    return float(np.abs(weights[edges[:, 0]] - weights[edges[:, 1]]).sum(1).mean())


class SkeletonErrors(NamedTuple):
    """Symmetric chamfer distances, in sides of the unit box around the mesh."""

    joint_joint: float
    joint_bone: float
    bone_bone: float


def skeleton_errors(ours: Skeleton, theirs: Skeleton, vertices: Float[np.ndarray, "vertex 3"]) -> SkeletonErrors:
    """Two skeletons in one mesh. A chamfer distance is the mean of both directions' mean nearest distances."""
    joints = [_in_unit_box(skeleton.positions, vertices) for skeleton in (ours, theirs)]
    bones = [_bone_samples(joint, skeleton.parents) for joint, skeleton in zip(joints, (ours, theirs), strict=True)]
    return SkeletonErrors(
        joint_joint=(_nearest(joints[0], joints[1]) + _nearest(joints[1], joints[0])) / 2,
        joint_bone=(_nearest(joints[0], bones[1]) + _nearest(joints[1], bones[0])) / 2,
        bone_bone=(_nearest(bones[0], bones[1]) + _nearest(bones[1], bones[0])) / 2,
    )


def containment(
    skeleton: Skeleton, vertices: Float[np.ndarray, "vertex 3"],
    inside: Callable[[Float[np.ndarray, "point 3"]], Bool[np.ndarray, " point"]],
) -> float:
    """Share of samples along the bones that lie inside the mesh; ``inside`` says so for points in the mesh's own units."""
    step = BONE_STEP * np.ptp(vertices, axis=0).max()
    return float(np.mean(inside(_bone_samples(skeleton.positions, skeleton.parents, step))))


def _cleaned(weights: Weights) -> Weights:
    kept = np.where(weights < SMALL_WEIGHT, 0, weights)
    return kept / np.maximum(kept.sum(1, keepdims=True), 1e-12)


def _in_unit_box(points: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    low, high = vertices.min(0), vertices.max(0)
    return (points - low) / (high - low).max()


def _bone_samples(joints: np.ndarray, parents: np.ndarray, step: float = BONE_STEP) -> np.ndarray:
    """Points on the lines from parents to children, both ends included; the joint itself where there is only one."""
    children = np.flatnonzero(parents >= 0)
    starts, ends = joints[parents[children]], joints[children]
    counts = np.ceil(np.linalg.norm(ends - starts, axis=1) / step).astype(int) + 1
    lines = [np.linspace(start, end, max(count, 2)) for start, end, count in zip(starts, ends, counts, strict=True)]
    return np.concatenate(lines) if lines else joints


def _nearest(points: np.ndarray, others: np.ndarray) -> float:
    return float(np.mean(cKDTree(others).query(points)[0]))
