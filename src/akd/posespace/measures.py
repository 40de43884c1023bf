"""Measures of sets of poses: precision, recall, coverage, diversity, self-intersection; corruptions that a score should detect;
baselines.

Self-intersection is tested exactly, edges of the skinned mesh against its triangles: for evaluation only, and independent of the
validators that samples are repaired with.
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.posespace.collision import MIN_PAIR_HOPS
from akd.posespace.denoiser import Poses
from akd.posespace.representation import RigDescriptor, RotationVectors, rig_descriptor, vectors_to_pose
from akd.render.raycast import RayScene
from akd.rig import Rig
from akd.skeleton import Skeleton, forward_kinematics
from akd.splats import skin_points

NEIGHBOURS = 5
"""Nearest neighbours that set the radius within which poses count as near."""
MAX_EDGE_HITS = 4
"""An edge may pass so many triangles of its own neighbourhood before one that counts."""
HIT_OFFSET = 1e-4
"""How far behind a triangle the search continues [edge lengths]."""


def precision_recall(
    real: Float[Tensor, "real number"], made: Float[Tensor, "made number"], k: int = NEIGHBOURS
) -> tuple[float, float]:
    """Share of made poses near a real one, and of real poses near a made one; near means within its kth neighbour's distance."""

    def covered(points: Tensor, balls: Tensor) -> float:
        inside = torch.cdist(balls, balls)
        radius = inside.kthvalue(min(k + 1, len(balls)), dim=1).values
        return float((torch.cdist(points, balls) <= radius).any(1).float().mean())

    return covered(made, real), covered(real, made)


def coverage(real: Float[Tensor, "real number"], made: Float[Tensor, "made number"], k: int = NEIGHBOURS) -> float:
    """Share of real poses with a made one nearer than their own kth neighbour: recall that a scattered set cannot get."""
    radius = torch.cdist(real, real).kthvalue(min(k + 1, len(real)), dim=1).values
    return float((torch.cdist(real, made).amin(1) <= radius).float().mean())


def pairwise_distance(positions: Float[Tensor, "pose joint 3"]) -> float:
    """Average pairwise distance (APD): mean over pairs of poses of the joints' mean distance [ℓ]."""
    apart = (positions[:, None] - positions[None]).norm(dim=-1).mean(-1)
    count = len(positions)
    return float(apart.sum() / max(count * (count - 1), 1))


def auc(good: Float[Tensor, " good"], bad: Float[Tensor, " bad"]) -> float:
    """Area under the ROC curve: probability that a bad pose has a larger anomaly than a good one."""
    above = (bad[:, None] > good[None]).float() + 0.5 * (bad[:, None] == good[None]).float()
    return float(above.mean())


def twisted(descriptor: RigDescriptor, vectors: Poses, rng: np.random.Generator) -> Poses:
    """One joint rotated about its own bone by 80° to 150°."""
    return _one_joint(descriptor, vectors, rng, lambda x: (x[0] + rng.choice((-1, 1)) * rng.uniform(1.4, 2.6), x[1], x[2]))


def hyperextended(descriptor: RigDescriptor, vectors: Poses, rng: np.random.Generator) -> Poses:
    """One joint bent the wrong way: as much as it was to the other side, and further."""

    def other_way(x: tuple[float, float, float]) -> tuple[float, float, float]:
        axis = 1 if abs(x[1]) >= abs(x[2]) else 2
        out = list(x)
        out[axis] = -(np.sign(x[axis]) or 1.0) * (abs(x[axis]) + rng.uniform(0.9, 1.6))
        return out[0], out[1], out[2]

    return _one_joint(descriptor, vectors, rng, other_way)


def shuffled(descriptor: RigDescriptor, vectors: Poses, rng: np.random.Generator) -> Poses:
    """The rotation vectors permuted among the joints."""
    order = torch.stack([torch.as_tensor(1 + rng.permutation(descriptor.joint_count - 1)) for _ in vectors])
    moved = torch.gather(vectors, 1, order[:, :, None].expand(-1, -1, 3))
    return torch.cat((vectors[:, :1], moved), 1)


def swapped(descriptor: RigDescriptor, vectors: Poses, rng: np.random.Generator) -> Poses:
    """Limbs of different poses on one body: front left and rear right from another pose."""
    side = torch.as_tensor(np.sign(descriptor.positions[:, 2]) * (descriptor.mirror != np.arange(descriptor.joint_count)))
    other = vectors[torch.as_tensor((np.arange(len(vectors)) + rng.integers(1, max(len(vectors), 2))) % len(vectors))]
    front = torch.as_tensor(descriptor.positions[:, 0] > np.median(descriptor.positions[:, 0]))
    return torch.where(((side > 0) ^ front)[:, None], other, vectors)


CORRUPTIONS: dict[str, Callable[[RigDescriptor, Poses, np.random.Generator], Poses]] = {
    "twist": twisted, "hyperextension": hyperextended, "shuffled": shuffled, "swapped limbs": swapped,
}  # fmt: skip


def gaussian_poses(mean: Float[Tensor, "joint 3"], spread: Float[Tensor, "joint 3"], count: int, seed: int) -> Poses:
    """Baseline: every angle independently Gaussian."""
    return mean + spread * torch.randn(count, *mean.shape, generator=torch.Generator().manual_seed(seed))


def uniform_poses(low: Float[Tensor, "joint 3"], high: Float[Tensor, "joint 3"], count: int, seed: int) -> Poses:
    """Baseline: uniform within limits."""
    return low + (high - low) * torch.rand(count, *low.shape, generator=torch.Generator().manual_seed(seed))


def pca_poses(known: Poses, count: int, seed: int) -> Poses:
    """Baseline: principal components of a few poses of the same rig."""
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
    descriptor: RigDescriptor, vectors: RotationVectors, rng: np.random.Generator,
    change: Callable[[tuple[float, float, float]], tuple[float, float, float]],
) -> Poses:  # fmt: skip
    """Each pose with one joint changed; not an end joint where possible, since joints that carry others matter most."""
    inner = np.setdiff1d(np.unique(descriptor.parents[1:]), [0])
    candidates = inner if inner.size else np.arange(descriptor.joint_count)
    out = vectors.clone()
    for pose in range(len(vectors)):
        joint = int(rng.choice(candidates))
        x, y, z = vectors[pose, joint].tolist()
        out[pose, joint] = torch.tensor(change((x, y, z)), dtype=vectors.dtype)
    return out


def crossing_edges(rig: Rig, vectors: Poses) -> Float[np.ndarray, " pose"]:
    """Share of mesh edges that cross skin three or more bones away, and do not at rest."""
    skin = _SkinEdges(rig)
    rest = skin.crossed(rig.mesh.vertices)
    root = torch.as_tensor(rig.skeleton.positions[0], dtype=vectors.dtype)
    posed = forward_kinematics(rig.skeleton, vectors_to_pose(vectors, root))
    weights, points = (torch.as_tensor(part, dtype=vectors.dtype) for part in (rig.weights, rig.mesh.vertices))
    shapes = skin_points(rig.skeleton, posed, weights, points).double().numpy()
    return np.array([(skin.crossed(shape) & ~rest).mean() for shape in shapes])


class _SkinEdges:
    """Edges and triangles of a mesh, and the bone each belongs to."""

    def __init__(self, rig: Rig) -> None:
        self.faces = rig.mesh.faces
        pairs = np.sort(np.concatenate((self.faces[:, :2], self.faces[:, 1:], self.faces[:, ::2])), 1)
        self.edges = np.unique(pairs, axis=0)
        face_bone, edge_bone = (rig.weights[parts].sum(1).argmax(-1) for parts in (self.faces, self.edges))
        self.face_bone, self.edge_bone, self.hops = face_bone, edge_bone, rig_descriptor(rig).hops

    def crossed(self, vertices: Float[np.ndarray, "vertex 3"]) -> Bool[np.ndarray, " edge"]:
        """Which edges cross a triangle far from them in the skeleton."""
        scene = RayScene(vertices, self.faces)
        start, direction = vertices[self.edges[:, 0]], vertices[self.edges[:, 1]] - vertices[self.edges[:, 0]]
        crossed, at = np.zeros(len(start), bool), np.full(len(start), HIT_OFFSET)
        going = np.arange(len(start))
        for _ in range(MAX_EDGE_HITS):
            hits = scene.first_hits(start[going] + at[going, None] * direction[going], direction[going])
            edge = going[hits.ray]
            at[edge] += hits.distance + HIT_OFFSET
            inside = at[edge] < 1
            far = self.hops[self.edge_bone[edge], self.face_bone[hits.points.face]] >= MIN_PAIR_HOPS
            crossed[edge[inside & far]] = True
            going = edge[inside & ~far]
            if not len(going):
                break
        return crossed
