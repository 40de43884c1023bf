"""Poses on disk: for every individual its sketch and its bends, tagged with where they come from.

A shard holds one individual of each plan. A run that was stopped goes on with the shards that are missing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float

from akd.creatures.plans import PLANS
from akd.errors import AkdError
from akd.posespace.bends import bends_pose, pose_bends
from akd.posespace.capsules import capsule_depths, capsules_of
from akd.posespace.data.lean_rig import lean_rig
from akd.posespace.data.poses import draw_poses
from akd.posespace.sketch import Sketch, sketch_of
from akd.rig import Rig
from akd.skeleton import forward_kinematics

HELD_OUT_PLANS = ("bear", "ostrich")
FIRST_HELD_OUT_SEED = 10_000
TRAINING_PLANS = tuple(name for name in PLANS if name not in HELD_OUT_PLANS)
DEEPEST = 0.04
"""Poses in which two bones are deeper inside each other than this are not kept [ℓ]."""
CREATURES = "creatures"
"""The source of poses that our own choreographies make."""


@dataclass(frozen=True, eq=False)
class Specimen:
    """One individual and the poses we know of it."""

    plan: str
    seed: int
    source: str
    """``creatures``, or what else made the poses: ``distilled``."""
    sketch: Sketch
    bends: Float[np.ndarray, "pose joint 3"]


def draw_specimen(plan: str, seed: int) -> Specimen:
    """An individual and what it does, the same for the same seed; poses that run into themselves are left out."""
    rig = lean_rig(plan, seed)
    pose = draw_poses(rig, np.random.default_rng((seed, 77, *plan.encode())))
    bends = pose_bends(pose)
    return Specimen(plan, seed, CREATURES, sketch_of(rig), bends[sound(rig, bends)].numpy())


def sound(rig: Rig, bends: Float[torch.Tensor, "pose joint 3"]) -> torch.Tensor:
    """Which poses do not run into themselves."""
    root = torch.as_tensor(rig.skeleton.positions[0], dtype=bends.dtype)
    posed = forward_kinematics(rig.skeleton, bends_pose(bends, root))
    depths = capsule_depths(capsules_of(sketch_of(rig)), posed.rotation, posed.position)
    return depths.amax(-1) <= DEEPEST if depths.shape[-1] else torch.ones(len(bends), dtype=torch.bool)


def write_specimens(
    folder: Path,
    seeds: range,
    plans: tuple[str, ...] = TRAINING_PLANS,
    report: Callable[[int, int], None] = lambda done, count: None,
) -> None:
    """Draw what is missing: one shard for each seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for done, seed in enumerate(seeds):
        path = folder / f"{seed:06d}.npz"
        if not path.exists():
            write_shard(path, [draw_specimen(plan, seed) for plan in plans])
        report(done + 1, len(seeds))


def write_shard(path: Path, specimens: list[Specimen]) -> None:
    """All or nothing."""
    arrays: dict[str, np.ndarray] = {"tags": np.array([(s.plan, str(s.seed), s.source) for s in specimens])}
    for number, specimen in enumerate(specimens):
        arrays[f"{number}.bends"] = specimen.bends.astype(np.float16)
        for field in fields(Sketch):
            arrays[f"{number}.{field.name}"] = getattr(specimen.sketch, field.name)
    part = path.with_suffix(".part.npz")
    np.savez(part, allow_pickle=False, **arrays)
    part.replace(path)


@cache
def read_shard(path: Path) -> tuple[Specimen, ...]:
    """Each file is read once: training looks for new ones now and then."""
    return tuple(_specimens_in(path))


def _specimens_in(path: Path) -> Iterator[Specimen]:
    with np.load(path) as stored:
        for number, (plan, seed, source) in enumerate(stored["tags"]):
            parts = {field.name: stored[f"{number}.{field.name}"] for field in fields(Sketch)}
            bends = stored[f"{number}.bends"].astype(np.float32)
            yield Specimen(str(plan), int(seed), str(source), Sketch(**parts), bends)


def read_specimens(folder: Path, sources: tuple[str, ...] | None = None) -> list[Specimen]:
    """All specimens in a folder and its subfolders, of all sources or of these."""
    shards = sorted(path for path in folder.rglob("*.npz") if not path.name.endswith(".part.npz"))
    found = [specimen for path in shards for specimen in read_shard(path) if len(specimen.bends)]
    found = [specimen for specimen in found if sources is None or specimen.source in sources]
    if not found:
        raise AkdError(f"There are no poses in {folder}: draw some with `akd posespace draw {folder}`.")
    return found
