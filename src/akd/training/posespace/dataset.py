"""Poses on disk: for every individual its rig and its joint rotation vectors, tagged with the source they come from.

A shard is one .npz file with one individual of each plan. Drawing that was stopped continues with the shards that are missing.
"""

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float

from akd.errors import AkdError
from akd.files.writing import written_beside
from akd.posespace.collision import capsule_depths, capsule_pairs
from akd.posespace.representation import RigDescriptor, pose_to_vectors, rig_descriptor, vectors_to_pose
from akd.rig import Rig
from akd.skeleton import forward_kinematics
from akd.training.data_card import TRAINING_PLANS
from akd.training.posespace.creature_poses import draw_poses
from akd.training.posespace.point_rig import point_rig

MAX_KEPT_DEPTH = 0.04
"""Poses in which two bones penetrate deeper than this are not kept [ℓ]."""
CREATURES = "creatures"
"""The source of poses that the actions and gaits of our creatures give."""
VECTORS_KEY = "bends"
"""Name of the joint rotation vectors in a shard, as the first shards have it."""


@dataclass(frozen=True, eq=False)
class RigPoses:
    """One individual with poses."""

    plan: str
    seed: int
    source: str
    """``creatures``, or what else the poses come from: ``distilled``."""
    descriptor: RigDescriptor
    vectors: Float[np.ndarray, "pose joint 3"]
    """Joint rotation vectors [rad]."""


def draw_rig_poses(plan: str, seed: int) -> RigPoses:
    """An individual and about forty poses of it, the same for the same seed, without those that collide with themselves."""
    rig = point_rig(plan, seed)
    pose = draw_poses(rig, np.random.default_rng((seed, 77, *plan.encode())))
    vectors = pose_to_vectors(pose)
    return RigPoses(plan, seed, CREATURES, rig_descriptor(rig), vectors[collision_free(rig, vectors)].numpy())


def collision_free(rig: Rig, vectors: Float[torch.Tensor, "pose joint 3"]) -> torch.Tensor:
    """Which poses do not collide with themselves."""
    root = torch.as_tensor(rig.skeleton.positions[0], dtype=vectors.dtype)
    posed = forward_kinematics(rig.skeleton, vectors_to_pose(vectors, root))
    depths = capsule_depths(capsule_pairs(rig_descriptor(rig)), posed.rotation, posed.position)
    return depths.amax(-1) <= MAX_KEPT_DEPTH if depths.shape[-1] else torch.ones(len(vectors), dtype=torch.bool)


def write_pose_shards(
    folder: Path,
    seeds: range,
    plans: tuple[str, ...] = TRAINING_PLANS,
    report: Callable[[int, int], None] = lambda done, count: None,
) -> None:
    """Draw the shards that are missing, one for each seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for done, seed in enumerate(seeds):
        path = folder / f"{seed:06d}.npz"
        if not path.exists():
            write_shard(path, [draw_rig_poses(plan, seed) for plan in plans])
        report(done + 1, len(seeds))


def write_shard(path: Path, individuals: list[RigPoses]) -> None:
    """Write a shard, whole or not at all."""
    arrays: dict[str, np.ndarray] = {"tags": np.array([(s.plan, str(s.seed), s.source) for s in individuals])}
    for number, individual in enumerate(individuals):
        arrays[f"{number}.{VECTORS_KEY}"] = individual.vectors.astype(np.float16)
        for field in fields(RigDescriptor):
            arrays[f"{number}.{field.name}"] = getattr(individual.descriptor, field.name)
    with written_beside(path) as part:
        np.savez(part, allow_pickle=False, **arrays)


@cache
def read_shard(path: Path) -> tuple[RigPoses, ...]:
    """The individuals of a shard; each file is read once, since training looks for new shards now and then."""
    try:
        return tuple(_shard_entries(path))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise AkdError(f"{path} is not a shard of poses, or cut off: delete it, and draw it again.") from error


def _shard_entries(path: Path) -> Iterator[RigPoses]:
    """The individuals of a shard, one at a time."""
    with np.load(path) as stored:
        for number, (plan, seed, source) in enumerate(stored["tags"]):
            parts = {field.name: stored[f"{number}.{field.name}"] for field in fields(RigDescriptor)}
            vectors = stored[f"{number}.{VECTORS_KEY}"].astype(np.float32)
            yield RigPoses(str(plan), int(seed), str(source), RigDescriptor(**parts), vectors)


def read_pose_shards(folder: Path, sources: tuple[str, ...] | None = None) -> list[RigPoses]:
    """All individuals in a folder and its subfolders that have poses, of all sources or of these."""
    shards = sorted(path for path in folder.rglob("*.npz") if not path.name.endswith(".part.npz"))
    found = [individual for path in shards for individual in read_shard(path) if len(individual.vectors)]
    found = [individual for individual in found if sources is None or individual.source in sources]
    if not found:
        raise AkdError(f"There are no poses in {folder}: draw some with `akd posespace draw`.")
    return found
