"""How good is a set of poses? Precision, recall, diversity, and corruptions that a judge should notice."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.posespace.bends import Bends
from akd.posespace.denoiser import Poses
from akd.posespace.sketch import Sketch
from akd.skeleton import Skeleton

NEIGHBOURS = 5


def precision_recall(
    real: Float[Tensor, "real number"], made: Float[Tensor, "made number"], k: int = NEIGHBOURS
) -> tuple[float, float]:
    """Share of made poses near real ones, and of real ones near made ones; near is nearer than the kth neighbour of its kind."""

    def covered(points: Tensor, balls: Tensor) -> float:
        inside = torch.cdist(balls, balls)
        radius = inside.kthvalue(min(k + 1, len(balls)), dim=1).values
        return float((torch.cdist(points, balls) <= radius).any(1).float().mean())

    return covered(made, real), covered(real, made)


def coverage(real: Float[Tensor, "real number"], made: Float[Tensor, "made number"], k: int = NEIGHBOURS) -> float:
    """Share of real poses that have a made one nearer than their own kth neighbour: recall that a scattered set cannot buy."""
    radius = torch.cdist(real, real).kthvalue(min(k + 1, len(real)), dim=1).values
    return float((torch.cdist(real, made).amin(1) <= radius).float().mean())


def pairwise_distance(places: Float[Tensor, "pose joint 3"]) -> float:
    """Average pairwise distance (APD): mean over pairs of poses of the joints' mean distance [ℓ]."""
    apart = (places[:, None] - places[None]).norm(dim=-1).mean(-1)
    count = len(places)
    return float(apart.sum() / max(count * (count - 1), 1))


def auc(good: Float[Tensor, " good"], bad: Float[Tensor, " bad"]) -> float:
    """Chance that a bad pose is found stranger than a good one."""
    above = (bad[:, None] > good[None]).float() + 0.5 * (bad[:, None] == good[None]).float()
    return float(above.mean())


def twisted(sketch: Sketch, bends: Poses, rng: np.random.Generator) -> Poses:
    """One joint of a limb turned about its own bone by 80° to 150°."""
    return _one_joint(sketch, bends, rng, lambda x: (x[0] + rng.choice((-1, 1)) * rng.uniform(1.4, 2.6), x[1], x[2]))


def hyperextended(sketch: Sketch, bends: Poses, rng: np.random.Generator) -> Poses:
    """One joint bent the wrong way: what it does, to the other side and further."""

    def other_way(x: tuple[float, float, float]) -> tuple[float, float, float]:
        axis = 1 if abs(x[1]) >= abs(x[2]) else 2
        out = list(x)
        out[axis] = -(np.sign(x[axis]) or 1.0) * (abs(x[axis]) + rng.uniform(0.9, 1.6))
        return out[0], out[1], out[2]

    return _one_joint(sketch, bends, rng, other_way)


def shuffled(sketch: Sketch, bends: Poses, rng: np.random.Generator) -> Poses:
    """All joints' bends dealt out anew among the joints."""
    order = torch.stack([torch.as_tensor(1 + rng.permutation(sketch.joint_count - 1)) for _ in bends])
    moved = torch.gather(bends, 1, order[:, :, None].expand(-1, -1, 3))
    return torch.cat((bends[:, :1], moved), 1)


def swapped(sketch: Sketch, bends: Poses, rng: np.random.Generator) -> Poses:
    """Limbs of different poses on one body: each left or right half from another pose."""
    side = torch.as_tensor(np.sign(sketch.positions[:, 2]) * (sketch.mirror != np.arange(sketch.joint_count)))
    other = bends[torch.as_tensor((np.arange(len(bends)) + rng.integers(1, max(len(bends), 2))) % len(bends))]
    front = torch.as_tensor(sketch.positions[:, 0] > np.median(sketch.positions[:, 0]))
    return torch.where(((side > 0) ^ front)[:, None], other, bends)


CORRUPTIONS: dict[str, Callable[[Sketch, Poses, np.random.Generator], Poses]] = {
    "twist": twisted, "hyperextension": hyperextended, "shuffled": shuffled, "swapped limbs": swapped,
}  # fmt: skip


def gaussian_poses(mean: Float[Tensor, "joint 3"], spread: Float[Tensor, "joint 3"], count: int, seed: int) -> Poses:
    """Baseline: every angle for itself."""
    return mean + spread * torch.randn(count, *mean.shape, generator=torch.Generator().manual_seed(seed))


def uniform_poses(low: Float[Tensor, "joint 3"], high: Float[Tensor, "joint 3"], count: int, seed: int) -> Poses:
    """Baseline: anywhere within limits."""
    return low + (high - low) * torch.rand(count, *low.shape, generator=torch.Generator().manual_seed(seed))


def pca_poses(known: Poses, count: int, seed: int) -> Poses:
    """Baseline: principal components of a few poses of the very rig."""
    flat = known.flatten(1)
    mean = flat.mean(0)
    _, size, axes = torch.linalg.svd(flat - mean, full_matrices=False)
    scale = size / max(len(flat) - 1, 1) ** 0.5
    draws = torch.randn(count, len(scale), generator=torch.Generator().manual_seed(seed))
    return (mean + (draws * scale) @ axes).reshape(count, *known.shape[1:])


def body_length(skeleton: Skeleton) -> float:
    """Diagonal of the box around the joints at rest [ℓ]."""
    ends = np.concatenate((skeleton.positions, skeleton.tails))
    return float(np.linalg.norm(np.ptp(ends, axis=0)))


def _one_joint(
    sketch: Sketch, bends: Bends, rng: np.random.Generator,
    change: Callable[[tuple[float, float, float]], tuple[float, float, float]],
) -> Poses:  # fmt: skip
    """Each pose with one joint changed; joints that carry something matter most, so leaves are left alone where possible."""
    inner = np.setdiff1d(np.unique(sketch.parents[1:]), [0])
    candidates = inner if inner.size else np.arange(sketch.joint_count)
    out = bends.clone()
    for pose in range(len(bends)):
        joint = int(rng.choice(candidates))
        x, y, z = bends[pose, joint].tolist()
        out[pose, joint] = torch.tensor(change((x, y, z)), dtype=bends.dtype)
    return out
