"""Penetration depths of a posed body with itself, by two differentiable models.

*Capsules*: one per bone, compared for all pairs of bones far apart in the tree. *Distance grids*: a capsule is a poor belly, so
each of the thickest parts (trunk, thighs) has a small grid of signed distances in its bone's frame, in which points on the skin
of other limbs are looked up. In both, what overlaps at rest may overlap as much in any pose.

A part has no skin where it meets its neighbours. So whether a grid point is inside is decided by the whole mesh, and the inside
belongs to the part whose skin is nearest.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from akd.mesh import Mesh
from akd.posespace.representation import RigDescriptor
from akd.rig import Rig

MIN_PAIR_HOPS = 3
"""Bones fewer hops apart than this touch in every pose and are not compared."""
REST_DISTANCE_SHARE = 0.75
"""Bones whose capsules overlap at rest may come nearer to each other, down to this share of their distance at rest."""
CAPSULE_RADIUS_SHARE = 0.85
"""Capsules are this much thinner than the limb: skin gives way, and limbs are not round."""
GRID_POINTS = 14
"""Grid points along each side."""
GRID_PARTS = 5
"""So many of the thickest parts get a grid."""
MIN_PART_VERTICES = 30
"""Parts with fewer vertices than this get no grid: their surface is not known well enough."""
PROBES_PER_BONE = 6
"""Points on the skin of every bone that are looked up in the grids."""
GRID_MARGIN = 0.15
"""How far a grid extends beyond its part, as a share of its size."""
GRID_SLACK = 0.01
"""Points may be this much deeper than at rest before they count [ℓ]: the grid's cells are coarse."""


@dataclass(frozen=True, eq=False)
class CapsulePairs:
    """Pairs of bones whose capsules are compared."""

    first: Int[Tensor, " pair"]
    second: Int[Tensor, " pair"]
    min_distance: Float[Tensor, " pair"]
    """Sum of radii, less what already overlaps at rest: axes nearer than this penetrate [ℓ]."""
    bones: Float[Tensor, "joint 3"]
    """From head to tail of every bone at rest [ℓ]."""


def capsule_pairs(descriptor: RigDescriptor) -> CapsulePairs:
    """The pairs of a rig's bones that could meet: far apart in the tree, and both with a skin around them."""
    first, second = np.nonzero(np.triu(descriptor.hops >= MIN_PAIR_HOPS, 1))
    thick = (descriptor.radius[first] > 0) & (descriptor.radius[second] > 0)
    first, second = first[thick], second[thick]
    radii = CAPSULE_RADIUS_SHARE * (descriptor.radius[first] + descriptor.radius[second])
    at, bone = torch.as_tensor(descriptor.positions), torch.as_tensor(descriptor.tails - descriptor.positions)
    distance = segment_segment_distance(at[first], bone[first], at[second], bone[second]).numpy()
    min_distance = torch.as_tensor(np.minimum(radii, REST_DISTANCE_SHARE * distance), dtype=torch.float32)
    return CapsulePairs(torch.as_tensor(first), torch.as_tensor(second), min_distance, bone.float())


def capsule_depths(
    capsules: CapsulePairs, rotation: Float[Tensor, "*batch joint 3 3"], position: Float[Tensor, "*batch joint 3"]
) -> Float[Tensor, "*batch pair"]:
    """Penetration depth of each pair of capsules beyond that at rest [ℓ], never negative. Differentiable."""
    bones = (rotation @ capsules.bones.to(rotation.dtype)[:, :, None]).squeeze(-1)
    one, other = capsules.first, capsules.second
    distance = segment_segment_distance(position[..., one, :], bones[..., one, :], position[..., other, :], bones[..., other, :])
    return (capsules.min_distance.to(distance.dtype) - distance).clamp(min=0)


def segment_segment_distance(
    p: Float[Tensor, "*batch 3"], u: Float[Tensor, "*batch 3"], q: Float[Tensor, "*batch 3"], v: Float[Tensor, "*batch 3"]
) -> Float[Tensor, "*batch"]:
    """Distance between the segments p … p + u and q … q + v, closest points clamped to both. Differentiable."""
    w = p - q
    a, b, c = (u * u).sum(-1).clamp(min=1e-9), (u * v).sum(-1), (v * v).sum(-1).clamp(min=1e-9)
    d, e = (u * w).sum(-1), (v * w).sum(-1)
    s = ((b * e - c * d) / (a * c - b * b).clamp(min=1e-9)).clamp(0, 1)
    t = ((b * s + e) / c).clamp(0, 1)
    s = ((b * t - d) / a).clamp(0, 1)
    gap = w + s[..., None] * u - t[..., None] * v
    return (gap.square().sum(-1) + 1e-12).sqrt()


@dataclass(frozen=True, eq=False)
class DistanceGrids:
    """Signed distances around the thickest parts of a body, and the skin points that are looked up in them."""

    part: Int[Tensor, " part"]
    """The joint each grid belongs to."""
    low: Float[Tensor, "part 3"]
    """Corner of each grid, from the joint at rest, in stage axes [ℓ]."""
    size: Float[Tensor, "part 3"]
    """Extents of each grid [ℓ]."""
    distance: Float[Tensor, "part 1 cell cell cell"]
    """Negative inside [ℓ]; axes z, y, x, as torch samples them."""
    owner: Int[Tensor, " probe"]
    """The joint each point moves with."""
    probe: Float[Tensor, "probe 3"]
    """From the owner's joint at rest, in stage axes [ℓ]."""
    allowed: Float[Tensor, "part probe"]
    """How deep each point may be [ℓ]: its depth at rest, and no limit for bones near in the tree."""


def distance_grids(rig: Rig, descriptor: RigDescriptor) -> DistanceGrids | None:
    """The grids of a rig with a mesh; none for a bare skeleton."""
    vertices, faces = rig.mesh.vertices, rig.mesh.faces
    if not len(faces):
        return None
    owner, face_owner = rig.weights.argmax(1), rig.weights[faces].sum(1).argmax(1)
    thick = [joint for joint in np.argsort(-descriptor.radius)[:GRID_PARTS] if (owner == joint).sum() >= MIN_PART_VERTICES]
    if not thick:
        return None
    boxes = [_box(vertices[owner == joint]) for joint in thick]
    grids = [_grid(rig.mesh, face_owner == joint, *box) for joint, box in zip(thick, boxes, strict=True)]
    probes = np.concatenate([_spread_out(vertices, np.flatnonzero(owner == joint)) for joint in np.unique(owner)])
    part = torch.as_tensor(np.array(thick))
    corners = np.array(boxes)
    low = torch.as_tensor(corners[:, 0] - descriptor.positions[thick], dtype=torch.float32)
    size = torch.as_tensor(corners[:, 1] - corners[:, 0], dtype=torch.float32)
    away = torch.as_tensor(vertices[probes] - descriptor.positions[owner[probes]], dtype=torch.float32)
    distance = torch.as_tensor(np.stack(grids), dtype=torch.float32)[:, None]
    grid = DistanceGrids(part, low, size, distance, torch.as_tensor(owner[probes]), away, torch.zeros(len(thick), len(probes)))
    positions = torch.as_tensor(descriptor.positions, dtype=torch.float32)
    rest = _depths(grid, torch.eye(3).expand(1, len(positions), 3, 3), positions[None])[0]
    near = torch.as_tensor(descriptor.hops[np.ix_(thick, owner[probes])] < MIN_PAIR_HOPS)
    allowed = torch.where(near, torch.inf, rest.clamp(min=0) + GRID_SLACK)
    return DistanceGrids(part, low, size, distance, grid.owner, away, allowed)


def grid_depths(
    grids: DistanceGrids, rotation: Float[Tensor, "pose joint 3 3"], position: Float[Tensor, "pose joint 3"]
) -> Float[Tensor, "pose part probe"]:
    """How much deeper points are inside parts than allowed [ℓ], never negative. Differentiable."""
    return (_depths(grids, rotation, position) - grids.allowed.to(rotation.dtype)).clamp(min=0)


def _depths(grids: DistanceGrids, rotation: Tensor, position: Tensor) -> Float[Tensor, "pose part probe"]:
    """Depth of every point in every part, 0 outside its grid."""
    at = position[:, grids.owner] + (rotation[:, grids.owner] @ grids.probe.to(rotation.dtype)[:, :, None]).squeeze(-1)
    away = at[:, None] - position[:, grids.part, None]
    local = away @ rotation[:, grids.part]  # the inverse rotation, applied from the right
    share = (local - grids.low.to(local.dtype)[:, None]) / grids.size.to(local.dtype)[:, None]
    return -_sampled(grids.distance.to(local.dtype), (2 * share - 1).transpose(0, 1))


def _sampled(distance: Float[Tensor, "part 1 cell cell cell"], lookup: Tensor) -> Tensor:
    """Trilinear look-up, all poses and points of a part at once."""
    parts, poses, probes = lookup.shape[:3]
    flat = lookup.reshape(parts, poses * probes, 1, 1, 3)
    found = torch.nn.functional.grid_sample(distance, flat, align_corners=True, padding_mode="zeros")
    return found.reshape(parts, poses, probes).transpose(0, 1)


def _box(points: Float[np.ndarray, "point 3"]) -> tuple[np.ndarray, np.ndarray]:
    """Two corners of a box with some room around points."""
    low, high = points.min(0), points.max(0)
    pad = GRID_MARGIN * (high - low) + 1e-3
    return low - pad, high + pad


def _grid(mesh: Mesh, own: Bool[np.ndarray, " face"], low: np.ndarray, high: np.ndarray) -> Float[np.ndarray, "z y x"]:
    """Distances to the skin on a grid [ℓ]: negative inside the part, 0 where the inside belongs to another part."""
    import igl

    axes = [np.linspace(a, b, GRID_POINTS) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    square, face, _ = igl.point_mesh_squared_distance(points, mesh.vertices, mesh.faces)
    distance = np.sqrt(square)
    inside = np.abs(igl.fast_winding_number(mesh.vertices, mesh.faces, points)) > 0.5
    signed = np.where(inside, np.where(own[face], -distance, 0.0), distance)
    return signed.reshape(GRID_POINTS, GRID_POINTS, GRID_POINTS).transpose(2, 1, 0)


def _spread_out(vertices: Float[np.ndarray, "vertex 3"], own: Int[np.ndarray, " own"]) -> Int[np.ndarray, " probe"]:
    """A few vertices far from one another (farthest-point sampling)."""
    chosen = [own[np.argmax(np.linalg.norm(vertices[own] - vertices[own].mean(0), axis=1))]]
    distance = np.full(len(own), np.inf)
    for _ in range(min(PROBES_PER_BONE, len(own)) - 1):
        distance = np.minimum(distance, np.linalg.norm(vertices[own] - vertices[chosen[-1]], axis=1))
        chosen.append(own[distance.argmax()])
    return np.array(chosen)
