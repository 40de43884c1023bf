"""Is a pose possible? Learned joint limits, and differentiable validators: capsules, distance grids, ranges."""

import csv
import io
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.errors import AkdError
from akd.files.writing import write_file
from akd.posespace.collision import CapsulePairs, DistanceGrids, capsule_depths, capsule_pairs, distance_grids, grid_depths
from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.representation import RigDescriptor, RotationVectors
from akd.posespace.rig_batch import RigBatch, batch_kinematics
from akd.rig import Rig
from akd.skeleton import Skeleton

AXES = ("twist", "swing_lateral", "swing_other")
LIMIT_SPREADS = 2.5
"""Limits lie so many spreads from the mean."""
ALLOWED_DEPTH = 0.03
"""Penetration that does not show [ℓ]."""
RANGE_SPREADS, RANGE_SLACK = 3.0, 0.4
"""Angles are valid up to so many spreads from the mean, and somewhat more [rad]: nothing is quite stiff."""
REPAIR_STEPS = 30
"""Most gradient steps of a repair."""
REPAIR_STEP_SIZE = 0.06
"""Largest change of a normalised angle in one of them."""
GUIDANCE_STEP_SIZE = 0.3
"""The same for guidance while sampling: the denoiser makes the rest of the body follow."""


@dataclass(frozen=True)
class JointLimits:
    """Limits of one joint about one axis of its bone frame [degrees]. The names of the fields are those in files."""

    joint: str
    axis: str
    least: float
    most: float
    usual: float
    """The mean."""


def joint_limits(skeleton: Skeleton, denoiser: Denoiser, samples: Poses) -> list[JointLimits]:
    """Limits from the network's range head, widened where samples of the rig go further."""
    low = torch.minimum(denoiser.mean - LIMIT_SPREADS * denoiser.spread, samples.amin(0)).clamp(-math.pi, math.pi)
    high = torch.maximum(denoiser.mean + LIMIT_SPREADS * denoiser.spread, samples.amax(0)).clamp(-math.pi, math.pi)
    return [
        JointLimits(name, axis, *(round(math.degrees(float(value[joint, k])), 1) for value in (low, high, denoiser.mean)))
        for joint, name in enumerate(skeleton.names)
        for k, axis in enumerate(AXES)
    ]


def write_limits(path: Path, limits: list[JointLimits]) -> None:
    """Write limits as .json or .csv."""
    check_limits_name(path)
    rows = [asdict(limit) for limit in limits]
    if path.suffix == ".json":
        write_file(path, json.dumps(rows, indent=1))
        return
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, text.getvalue())


def check_limits_name(path: Path) -> None:
    """Refuse names that do not say a format."""
    if path.suffix not in (".json", ".csv"):
        raise AkdError(f"Joint limits are written as .json or .csv, not {path.suffix or 'without an ending'!r}.")


class Faults(NamedTuple):
    """What is wrong with poses; all zero is valid."""

    depth: Float[Tensor, " pose"]
    """Largest penetration depth beyond that at rest [ℓ]."""
    out_of_range: Float[Tensor, " pose"]
    """How far the worst joint is out of its range [spreads]."""

    @property
    def valid(self) -> Bool[Tensor, " pose"]:
        """Neither a visible penetration nor a joint out of its range."""
        return (self.depth <= ALLOWED_DEPTH) & (self.out_of_range <= 0)


@dataclass(frozen=True, eq=False)
class Validators:
    """The validators of a rig."""

    rigs: RigBatch
    denoiser: Denoiser
    capsules: CapsulePairs
    grids: DistanceGrids | None

    @classmethod
    def of(cls, rig: Rig, descriptor: RigDescriptor, denoiser: Denoiser) -> "Validators":
        return cls(denoiser.rig.rigs, denoiser, capsule_pairs(descriptor), distance_grids(rig, descriptor))

    def depths(self, vectors: Poses) -> Float[Tensor, "pose pair"]:
        """All penetration depths, of capsules and in grids [ℓ]."""
        rotation, position = (part[0] for part in batch_kinematics(self.rigs, vectors[None]))
        found = [capsule_depths(self.capsules, rotation, position)]
        if self.grids is not None:
            found.append(grid_depths(self.grids, rotation, position).flatten(1))
        return torch.cat(found, 1)

    @property
    def max_deviation(self) -> Float[Tensor, "joint 3"]:
        """How far from the mean each angle may be [spreads]."""
        return RANGE_SPREADS + RANGE_SLACK / self.denoiser.spread

    def out_of_range(self, vectors: RotationVectors) -> RotationVectors:
        """How far each angle is out of its range [spreads]."""
        return (self.denoiser.to_normalised(vectors).abs() - self.max_deviation).clamp(min=0)

    def penalty(self, vectors: Poses) -> Float[Tensor, " pose"]:
        """Zero for valid poses; what repair and guidance minimise."""
        return self._cost(self.depths(vectors), vectors)

    def _cost(self, depths: Float[Tensor, "pose pair"], vectors: Poses) -> Float[Tensor, " pose"]:
        return 100 * depths.square().sum(-1) + self.out_of_range(vectors).square().sum((-1, -2))

    @torch.no_grad()
    def faults(self, vectors: Poses) -> Faults:
        """What is wrong with poses."""
        return Faults(_deepest(self.depths(vectors)), self.out_of_range(vectors).flatten(1).amax(-1))

    def repair(self, vectors: Poses, steps: int = REPAIR_STEPS) -> Poses:
        """The poses, moved down the gradient of the penalty until nothing penetrates; valid ones stay as they are."""
        normalised = self._clamp(self.denoiser.to_normalised(vectors)).detach()
        open_poses = torch.arange(len(normalised))
        for _ in range(steps):
            separated, colliding = self._separated(normalised[open_poses], REPAIR_STEP_SIZE)
            open_poses = open_poses[colliding]
            if not len(open_poses):
                break
            normalised[open_poses] = separated[colliding]
        return self.denoiser.to_vectors(self._clamp(normalised))

    def guide(self, normalised: Poses) -> Poses:
        """Denoised normalised poses moved one step out of their collisions, for guidance while sampling."""
        separated, colliding = self._separated(normalised, GUIDANCE_STEP_SIZE)
        return torch.where(colliding[:, None, None], separated, normalised)

    def _separated(self, normalised: Poses, step: float) -> tuple[Poses, Bool[Tensor, " pose"]]:
        """Poses one gradient step further, no angle changed by more than ``step``; and which of them collide."""
        normalised = normalised.detach().requires_grad_(True)
        vectors = self.denoiser.to_vectors(normalised)
        depths = self.depths(vectors)
        (slope,) = torch.autograd.grad(self._cost(depths, vectors).sum(), normalised)
        largest = slope.abs().amax((-1, -2), keepdim=True).clamp(min=1e-9)
        return (normalised - step * slope / largest).detach(), _deepest(depths.detach()) > ALLOWED_DEPTH

    def _clamp(self, normalised: RotationVectors) -> RotationVectors:
        """Clamp to the range; slightly inside, so that rounding does not put it out again."""
        return torch.minimum(torch.maximum(normalised, 1e-3 - self.max_deviation), self.max_deviation - 1e-3)


def _deepest(depths: Float[Tensor, "pose pair"]) -> Float[Tensor, " pose"]:
    """The largest depth of each pose; 0 for a rig with no pairs to compare."""
    return depths.amax(-1) if depths.shape[-1] else depths.new_zeros(len(depths))
