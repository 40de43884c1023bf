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
    """Boxes at rest, one per joint, in the axes of its bone frame ``Skeleton.frames``."""

    center: Float[np.ndarray, "joint 3"]
    """On the stage [ℓ]."""
    half: Float[np.ndarray, "joint 3"]
    """Half extents along the three axes of the bone frame [ℓ]."""


def bone_cuboids(rig: Rig) -> Cuboids:
    """The smallest cuboid in bone axes around the vertices that follow a bone most; a thin one along a bone without any.

    A box in the axes of a slanted bone sticks out of the flesh at its corners. Where it would stick into the ground at
    rest it is shrunk about its centre until it reaches just as deep as its vertices, so that standing costs nothing.
    """
    skeleton = rig.skeleton
    owner = rig.weights.argmax(1)
    center, half = np.empty((skeleton.joint_count, 3)), np.empty((skeleton.joint_count, 3))
    for joint, frame in enumerate(skeleton.frames):
        flesh = rig.mesh.vertices[owner == joint]
        thin = 0.0 if len(flesh) else THIN * np.linalg.norm(skeleton.tails[joint] - skeleton.positions[joint])
        if not len(flesh):
            flesh = np.stack((skeleton.positions[joint], skeleton.tails[joint]))
        local = flesh @ frame
        low, high = local.min(0), local.max(0)
        center[joint], half[joint] = frame @ ((low + high) / 2), np.maximum((high - low) / 2, thin)
        half[joint] *= _shrink(center[joint, 1], np.abs(frame[1]) @ half[joint], min(flesh[:, 1].min(), 0.0))
    return Cuboids(center, half)


def cuboid_corners(skeleton: Skeleton, cuboids: Cuboids, posed: Posed) -> Float[Tensor, "*batch joint 8 3"]:
    """The corners of all cuboids in a pose; differentiable in the pose."""
    from_center = (SIGNS * cuboids.half[:, None]) @ skeleton.frames.transpose(0, 2, 1)
    offsets = from_center + (cuboids.center - skeleton.positions)[:, None]
    offset = torch.as_tensor(offsets, dtype=posed.position.dtype, device=posed.position.device)
    return offset @ posed.rotation.transpose(-1, -2) + posed.position[..., None, :]


def _shrink(center: float, reach: float, floor: float) -> float:
    """Factor that lifts the lowest corner of a box, ``reach`` below its centre, up to the floor; 1 if it is above already."""
    room = center - floor
    return float(np.clip(room / reach, 0.2, 1.0)) if reach > room else 1.0
