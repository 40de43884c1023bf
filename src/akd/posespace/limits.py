"""Learned joint limits: about each bone (twist) and across it (two swings), in degrees."""

import csv
import io
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from akd.errors import AkdError
from akd.files.writing import write_file
from akd.posespace.denoiser import Denoiser, Poses
from akd.skeleton import Skeleton

AXES = ("twist", "swing_lateral", "swing_other")
LIMIT_SPREADS = 2.5
"""Limits lie so many spreads from the mean."""


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
