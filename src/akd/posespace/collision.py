"""Does the body run into itself? Bones as capsules, far pairs compared; what overlaps at rest may overlap as much later.

Thick parts as they are: for trunk and thighs a small grid of signed distances in the bone's own frame.

A capsule is a poor belly. Points of other limbs are looked up in the grid of a part; what is inside at rest may be as
deep inside later. A part has no skin where it meets its neighbours, so what is inside is asked of the whole body, and
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

FAR = 3
"""Bones fewer hops apart than this always touch."""
FREE = 0.75
"""Bones whose flesh overlaps at rest may come nearer to each other, down to this share of their distance at rest."""
SLIM = 0.85
"""Capsules are this much thinner than the flesh: skin gives way, and flesh is not round."""


@dataclass(frozen=True, eq=False)
class Capsules:
    """Pairs of bones to watch."""

    first: Int[Tensor, " pair"]
    second: Int[Tensor, " pair"]
    reach: Float[Tensor, " pair"]
    """Sum of radii, less what already overlaps at rest: axes nearer than this run into each other [ℓ]."""
    bones: Float[Tensor, "joint 3"]
    """From head to tail at rest."""


def capsules_of(sketch: RigDescriptor) -> Capsules:
    """The pairs of a rig's bones that could meet: far apart in the tree, with flesh."""
    first, second = np.nonzero(np.triu(sketch.hops >= FAR, 1))
    fleshy = (sketch.radius[first] > 0) & (sketch.radius[second] > 0)
    first, second = first[fleshy], second[fleshy]
    radii = SLIM * (sketch.radius[first] + sketch.radius[second])
    at, bone = torch.as_tensor(sketch.positions), torch.as_tensor(sketch.tails - sketch.positions)
    apart = segments_apart(at[first], bone[first], at[second], bone[second]).numpy()
    reach = torch.as_tensor(np.minimum(radii, FREE * apart), dtype=torch.float32)
    return Capsules(torch.as_tensor(first), torch.as_tensor(second), reach, bone.float())


def capsule_depths(
    capsules: Capsules, rotation: Float[Tensor, "*batch joint 3 3"], position: Float[Tensor, "*batch joint 3"]
) -> Float[Tensor, "*batch pair"]:
    """How far each pair of bones is inside each other beyond rest [ℓ], never negative. Differentiable."""
    bones = (rotation @ capsules.bones.to(rotation.dtype)[:, :, None]).squeeze(-1)
    one, other = capsules.first, capsules.second
    apart = segments_apart(position[..., one, :], bones[..., one, :], position[..., other, :], bones[..., other, :])
    return (capsules.reach.to(apart.dtype) - apart).clamp(min=0)


def segments_apart(
    p: Float[Tensor, "*batch 3"], u: Float[Tensor, "*batch 3"], q: Float[Tensor, "*batch 3"], v: Float[Tensor, "*batch 3"]
) -> Float[Tensor, "*batch"]:
    """Distance between the segments p … p + u and q … q + v."""
    w = p - q
    a, b, c = (u * u).sum(-1).clamp(min=1e-9), (u * v).sum(-1), (v * v).sum(-1).clamp(min=1e-9)
    d, e = (u * w).sum(-1), (v * w).sum(-1)
    s = ((b * e - c * d) / (a * c - b * b).clamp(min=1e-9)).clamp(0, 1)
    t = ((b * s + e) / c).clamp(0, 1)
    s = ((b * t - d) / a).clamp(0, 1)
    gap = w + s[..., None] * u - t[..., None] * v
    return (gap.square().sum(-1) + 1e-12).sqrt()


CELLS = 14
"""Grid points along each side."""
PARTS = 5
"""The thickest parts get a grid."""
PROBES = 6
"""Points of the skin of each other bone."""
MARGIN = 0.15
"""How far a grid reaches beyond its flesh, as a share of its size."""


@dataclass(frozen=True, eq=False)
class FleshGrids:
    """Signed distances around parts, and the points that are looked up in them."""

    part: Int[Tensor, " part"]
    """The joint each grid belongs to."""
    low: Float[Tensor, "part 3"]
    """Corner of each grid, from the joint at rest, in stage axes [ℓ]."""
    size: Float[Tensor, "part 3"]
    distance: Float[Tensor, "part 1 cell cell cell"]
    """Negative inside [ℓ]; axes z, y, x, as torch samples them."""
    owner: Int[Tensor, " probe"]
    probe: Float[Tensor, "probe 3"]
    """From the owner's joint at rest, in stage axes [ℓ]."""
    allowed: Float[Tensor, "part probe"]
    """How deep each point may be: its depth at rest, and no limit for near relatives."""


def flesh_grids(rig: Rig, sketch: RigDescriptor) -> FleshGrids | None:
    """Grids for a rig with skin; none for a bare skeleton."""
    vertices, faces = rig.mesh.vertices, rig.mesh.faces
    if not len(faces):
        return None
    owner, face_owner = rig.weights.argmax(1), rig.weights[faces].sum(1).argmax(1)
    thick = [joint for joint in np.argsort(-sketch.radius)[:PARTS] if (owner == joint).sum() >= 30]
    if not thick:
        return None
    boxes = [_box(vertices[owner == joint]) for joint in thick]
    grids = [_grid(rig.mesh, face_owner == joint, *box) for joint, box in zip(thick, boxes, strict=True)]
    probes = np.concatenate([_spread_out(vertices, np.flatnonzero(owner == joint)) for joint in np.unique(owner)])
    part = torch.as_tensor(np.array(thick))
    corners = np.array(boxes)
    low = torch.as_tensor(corners[:, 0] - sketch.positions[thick], dtype=torch.float32)
    size = torch.as_tensor(corners[:, 1] - corners[:, 0], dtype=torch.float32)
    away = torch.as_tensor(vertices[probes] - sketch.positions[owner[probes]], dtype=torch.float32)
    distance = torch.as_tensor(np.stack(grids), dtype=torch.float32)[:, None]
    grid = FleshGrids(part, low, size, distance, torch.as_tensor(owner[probes]), away, torch.zeros(len(thick), len(probes)))
    joints = sketch.joint_count
    rest = _depths(grid, torch.eye(3).expand(1, joints, 3, 3), torch.as_tensor(sketch.positions, dtype=torch.float32)[None])[0]
    near = torch.as_tensor(sketch.hops[np.ix_(thick, owner[probes])] < FAR)
    allowed = torch.where(near, torch.inf, rest.clamp(min=0) + 0.01)
    return FleshGrids(part, low, size, distance, grid.owner, away, allowed)


def grid_depths(
    grids: FleshGrids, rotation: Float[Tensor, "pose joint 3 3"], position: Float[Tensor, "pose joint 3"]
) -> Float[Tensor, "pose part probe"]:
    """How much deeper points are in parts than allowed [ℓ], never negative. Differentiable."""
    return (_depths(grids, rotation, position) - grids.allowed.to(rotation.dtype)).clamp(min=0)


def _depths(grids: FleshGrids, rotation: Tensor, position: Tensor) -> Float[Tensor, "pose part probe"]:
    """Depth of every point in every part, 0 outside its grid."""
    at = position[:, grids.owner] + (rotation[:, grids.owner] @ grids.probe.to(rotation.dtype)[:, :, None]).squeeze(-1)
    away = at[:, None] - position[:, grids.part, None]
    local = away @ rotation[:, grids.part]  # the inverse turn, applied from the right
    share = (local - grids.low.to(local.dtype)[:, None]) / grids.size.to(local.dtype)[:, None]
    return -_sampled(grids.distance.to(local.dtype), (2 * share - 1).transpose(0, 1))


def _sampled(distance: Float[Tensor, "part 1 cell cell cell"], lookup: Tensor) -> Tensor:
    """Trilinear look-up, poses and points of one part at once."""
    parts, poses, probes = lookup.shape[:3]
    flat = lookup.reshape(parts, poses * probes, 1, 1, 3)
    found = torch.nn.functional.grid_sample(distance, flat, align_corners=True, padding_mode="zeros")
    return found.reshape(parts, poses, probes).transpose(0, 1)


def _box(flesh: Float[np.ndarray, "point 3"]) -> tuple[np.ndarray, np.ndarray]:
    """Two corners of a box with some room around flesh."""
    low, high = flesh.min(0), flesh.max(0)
    pad = MARGIN * (high - low) + 1e-3
    return low - pad, high + pad


def _grid(mesh: Mesh, own: Bool[np.ndarray, " face"], low: np.ndarray, high: np.ndarray) -> Float[np.ndarray, "z y x"]:
    """Distances to the skin on a grid: negative inside, nothing where the inside belongs to another part."""
    import igl

    axes = [np.linspace(a, b, CELLS) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    square, face, _ = igl.point_mesh_squared_distance(points, mesh.vertices, mesh.faces)
    apart = np.sqrt(square)
    inside = np.abs(igl.fast_winding_number(mesh.vertices, mesh.faces, points)) > 0.5
    signed = np.where(inside, np.where(own[face], -apart, 0.0), apart)
    return signed.reshape(CELLS, CELLS, CELLS).transpose(2, 1, 0)


def _spread_out(vertices: Float[np.ndarray, "vertex 3"], own: Int[np.ndarray, " own"]) -> Int[np.ndarray, " probe"]:
    """A few vertices far from one another."""
    chosen = [own[np.argmax(np.linalg.norm(vertices[own] - vertices[own].mean(0), axis=1))]]
    apart = np.full(len(own), np.inf)
    for _ in range(min(PROBES, len(own)) - 1):
        apart = np.minimum(apart, np.linalg.norm(vertices[own] - vertices[chosen[-1]], axis=1))
        chosen.append(own[apart.argmax()])
    return np.array(chosen)
