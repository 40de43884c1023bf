"""Thick parts as they are: for trunk and thighs a small grid of signed distances in the bone's own frame.

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
