"""Does the body run into itself? Bones as capsules, far pairs compared; what overlaps at rest may overlap as much later."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.posespace.sketch import Sketch

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


def capsules_of(sketch: Sketch) -> Capsules:
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
