"""Thick parts as they are: for trunk and thighs a small grid of signed distances in the bone's own frame.

A capsule is a poor belly. Points of other limbs are looked up in the grid of a part; what is inside at rest may be as
deep inside later.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial import cKDTree
from torch import Tensor

from akd.mesh import vertex_normals
from akd.posespace.capsules import FAR
from akd.posespace.sketch import Sketch
from akd.rig import Rig

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


def flesh_grids(rig: Rig, sketch: Sketch) -> FleshGrids | None:
    """Grids for a rig with skin; none for a bare skeleton."""
    vertices, faces = rig.mesh.vertices, rig.mesh.faces
    if not len(faces):
        return None
    normals, owner = vertex_normals(vertices, faces), rig.weights.argmax(1)
    thick = [joint for joint in np.argsort(-sketch.radius)[:PARTS] if (owner == joint).sum() >= 30]
    if not thick:
        return None
    boxes, grids = zip(*(_grid(vertices[owner == j], normals[owner == j], sketch.positions[j]) for j in thick), strict=True)
    probes = np.concatenate([_spread_out(vertices, np.flatnonzero(owner == joint)) for joint in np.unique(owner)])
    part = torch.as_tensor(np.array(thick))
    low, size = (torch.as_tensor(np.stack(x), dtype=torch.float32) for x in zip(*boxes, strict=True))
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
    """Depth of every point in every part; what is outside a grid counts as its rim."""
    at = position[:, grids.owner] + (rotation[:, grids.owner] @ grids.probe.to(rotation.dtype)[:, :, None]).squeeze(-1)
    away = at[:, None] - position[:, grids.part, None]
    local = away @ rotation[:, grids.part]  # the inverse turn, applied from the right
    share = (local - grids.low.to(local.dtype)[:, None]) / grids.size.to(local.dtype)[:, None]
    return -_sampled(grids.distance.to(local.dtype), (2 * share - 1).transpose(0, 1))


def _sampled(distance: Float[Tensor, "part 1 cell cell cell"], lookup: Tensor) -> Tensor:
    """Trilinear look-up, poses and points of one part at once."""
    parts, poses, probes = lookup.shape[:3]
    flat = lookup.reshape(parts, poses * probes, 1, 1, 3)
    found = torch.nn.functional.grid_sample(distance, flat, align_corners=True, padding_mode="border")
    return found.reshape(parts, poses, probes).transpose(0, 1)


def _grid(
    flesh: Float[np.ndarray, "point 3"], normals: Float[np.ndarray, "point 3"], joint: Float[np.ndarray, " 3"]
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Corner and size of the grid, and distances: to the nearest skin point, inside where that faces away."""
    low, high = flesh.min(0), flesh.max(0)
    pad = MARGIN * (high - low) + 1e-3
    low, high = low - pad, high + pad
    axes = [np.linspace(a, b, CELLS) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    apart, nearest = cKDTree(flesh).query(points)
    inside = ((points - flesh[nearest]) * normals[nearest]).sum(-1) < 0
    return (low - joint, high - low), np.where(inside, -apart, apart).transpose(2, 1, 0)


def _spread_out(vertices: Float[np.ndarray, "vertex 3"], own: Int[np.ndarray, " own"]) -> Int[np.ndarray, " probe"]:
    """A few vertices far from one another."""
    chosen = [own[np.argmax(np.linalg.norm(vertices[own] - vertices[own].mean(0), axis=1))]]
    apart = np.full(len(own), np.inf)
    for _ in range(min(PROBES, len(own)) - 1):
        apart = np.minimum(apart, np.linalg.norm(vertices[own] - vertices[chosen[-1]], axis=1))
        chosen.append(own[apart.argmax()])
    return np.array(chosen)
