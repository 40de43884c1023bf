"""Repair of skin weights as files have them."""

from collections import Counter

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

TOLERANCE = 0.01  # weights stored in bytes miss a sum of one by less
REPAIRS = {
    "not finite": "{} vertices had weights that are not finite numbers, taken as zero.",
    "negative": "{} vertices had negative weights, taken as zero.",
    "astray": "{} vertices had weight on joints that do not exist; it went to their other joints.",
    "sum": "The weights of {} vertices did not sum to one and were scaled.",
    "unweighted": "{} vertices had no weight and were given to the nearest joint.",
}


def repaired_influences(
    joints: Int[np.ndarray, "vertex influence"],
    weights: Float[np.ndarray, "vertex influence"],
    joint_count: int,
    counts: Counter[str],
) -> tuple[Int[np.ndarray, "vertex influence"], Float[np.ndarray, "vertex influence"], Bool[np.ndarray, " vertex"]]:
    """Joints that exist and weights that sum to one, and which vertices are left without any."""
    finite = np.isfinite(weights)
    counts["not finite"] += int(np.sum(~finite.all(1)))
    clean = np.where(finite, weights, 0.0)
    counts["negative"] += int(np.sum((clean < 0).any(1)))
    clean = np.clip(clean, 0, 1e6)
    astray = (joints < 0) | (joints >= joint_count)
    counts["astray"] += int(np.sum((astray & (clean > 0)).any(1)))
    clean = np.where(astray, 0, clean)
    total = clean.sum(1)
    empty = total <= 1e-9
    counts["sum"] += int(np.sum(~empty & (np.abs(total - 1) > TOLERANCE)))
    counts["unweighted"] += int(np.sum(empty))
    return np.where(astray, 0, joints), clean / np.where(empty, 1, total)[:, None], empty


def nearest(points: Float[np.ndarray, "vertex 3"], places: Float[np.ndarray, "joint 3"]) -> Int[np.ndarray, " vertex"]:
    """The nearest place to each point."""
    return cKDTree(places).query(points)[1].astype(int)


def repair_notes(counts: Counter[str]) -> list[str]:
    """What was repaired, one sentence each."""
    return [sentence.format(counts[kind]) for kind, sentence in REPAIRS.items() if counts[kind]]
