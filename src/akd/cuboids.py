"""One cuboid per bone: what stands for its flesh in the ground term, in contact metrics and in physics."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.rig import Rig
from akd.skeleton import Posed, Skeleton

THIN = 0.1
"""Half width of a bone that owns no flesh, as a share of its length."""
SIGNS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


@dataclass(frozen=True, eq=False)
class Cuboids:
    """Boxes at rest, one per joint."""

    center: Float[np.ndarray, "joint 3"]
    """On the stage [ℓ]."""
    axes: Float[np.ndarray, "joint 3 3"]
    """Columns are the directions of a box's edges on the stage: those of the bone frame, or level for feet."""
    half: Float[np.ndarray, "joint 3"]
    """Half extents along these axes [ℓ]."""


def bone_cuboids(rig: Rig) -> Cuboids:
    """The smallest cuboid in bone axes around the vertices that follow a bone most; a thin one along a bone without any.

    The corners of a box in the axes of a slanted bone stick out of its flesh. Where they would stick into the ground at
    rest the box is level instead: feet stand flat, and standing costs nothing.
    """
    owner = rig.weights.argmax(1)
    boxes = []
    for joint, frame in enumerate(rig.skeleton.frames):
        ends = np.stack((rig.skeleton.positions[joint], rig.skeleton.tails[joint]))
        flesh = rig.mesh.vertices[owner == joint]
        thin = 0.0 if len(flesh) else THIN * float(np.linalg.norm(ends[1] - ends[0]))
        center, half = _box(flesh if len(flesh) else ends, frame, thin)
        if len(flesh) and center[1] - np.abs(frame[1]) @ half < min(flesh[:, 1].min(), 0.0):
            frame = _level_axes(ends[1] - ends[0])
            center, half = _box(flesh, frame, thin)
        boxes.append((center, frame, half))
    return Cuboids(*(np.array(part, float) for part in zip(*boxes, strict=True)))


def cuboid_corners(skeleton: Skeleton, cuboids: Cuboids, posed: Posed) -> Float[Tensor, "*batch joint 8 3"]:
    """The corners of all cuboids in a pose; differentiable in the pose."""
    from_center = (SIGNS * cuboids.half[:, None]) @ cuboids.axes.transpose(0, 2, 1)
    offsets = from_center + (cuboids.center - skeleton.positions)[:, None]
    offset = torch.as_tensor(offsets, dtype=posed.position.dtype, device=posed.position.device)
    return offset @ posed.rotation.transpose(-1, -2) + posed.position[..., None, :]


def _box(points: np.ndarray, axes: np.ndarray, thin: float) -> tuple[np.ndarray, np.ndarray]:
    """Centre and half extents of the box around points, no thinner than given."""
    local = points @ axes
    low, high = local.min(0), local.max(0)
    return axes @ ((low + high) / 2), np.maximum((high - low) / 2, thin)


def _level_axes(along: np.ndarray) -> np.ndarray:
    """Forward, up and right of a foot that points this way, or ahead if it points down."""
    level = along * (1.0, 0.0, 1.0)
    length = np.linalg.norm(level)
    forward = level / length if length > 0.3 * np.linalg.norm(along) else np.array([1.0, 0.0, 0.0])
    up = np.array([0.0, 1.0, 0.0])
    return np.stack((forward, up, np.cross(forward, up)), -1)
