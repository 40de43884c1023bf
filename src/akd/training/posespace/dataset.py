"""Poses on disk: for every individual its rig descriptor and joint rotation vectors, tagged with their source."""

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int

from akd.batch.engine import Loaded, do_all
from akd.creatures.body import CreatureBody, Tube, place_body, sample_individual
from akd.creatures.build import SIDES, SOLE_HEIGHT, skeleton_of
from akd.creatures.plans import PLANS
from akd.errors import AkdError
from akd.files.writing import written_beside
from akd.mesh import Mesh
from akd.posespace.collision import capsule_depths, capsule_pairs
from akd.posespace.representation import RigDescriptor, pose_to_vectors, rig_descriptor, vectors_to_pose
from akd.rig import Rig
from akd.skeleton import Skeleton, forward_kinematics
from akd.training.data_card import TRAINING_PLANS
from akd.training.posespace.creature_poses import draw_poses

RING_ANGLES = np.arange(4) * np.pi / 2
"""Angles of the points around a cross-section [rad]: at both sides, above and below."""
SECTION_STRIDE = 2
"""Every so many of the cross-sections that ``creatures.body`` draws, one is used."""
MAX_KEPT_DEPTH = 0.04
"""Poses in which two bones penetrate deeper than this are not kept [ℓ]."""
CREATURES = "creatures"
"""The source of poses that the actions and gaits of our creatures give."""
VECTORS_KEY = "bends"
"""Name of the joint rotation vectors in a shard, as the first shards have it."""
CLIPS_KEY = "clips"
"""Name of the numbers of clips."""


def point_rig(plan_name: str, seed: int) -> Rig:
    """A rig with the joints of ``creatures.build.creature`` and rings of points for a skin, each point bound to one joint."""
    plan = PLANS[plan_name]
    body = place_body(plan, sample_individual(plan, seed))
    skeleton = skeleton_of(body)
    points, owners = _skin_points(body, skeleton)
    points[:, 1] = np.maximum(points[:, 1], 0.0)  # soles are flat on the ground
    weights = np.eye(skeleton.joint_count)[owners]
    mesh = Mesh(points, np.zeros((0, 3), int), np.full_like(points, 0.5))
    return Rig(mesh, skeleton, weights, _soles(points, owners, skeleton), body.leg_metres, plan_name)


def _skin_points(body: CreatureBody, skeleton: Skeleton) -> tuple[np.ndarray, np.ndarray]:
    """The points, and the joint of each."""
    points, owners = [], []
    for tube in body.tubes:
        if not tube.chain.solid:
            continue
        rings, names = _rings(tube)[::SECTION_STRIDE], tube.owners[::SECTION_STRIDE]
        for side, _, sign in SIDES if tube.chain.paired else SIDES[1:]:
            points.append((rings * (1.0, 1.0, sign)).reshape(-1, 3))
            owners.append(np.repeat([skeleton.index(name.replace("*", side)) for name in names], len(RING_ANGLES)))
    return np.concatenate(points), np.concatenate(owners)


def _rings(tube: Tube) -> np.ndarray:
    """Points around every cross-section, section × point × 3."""
    along = np.gradient(tube.centres, axis=0) if len(tube.centres) > 1 else np.array([[1.0, 0, 0]])
    axis = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    side = np.where(np.abs(axis[:, 2:]) < 0.999, [[0.0, 0, 1]], [[1.0, 0, 0]])
    lateral = side - (side * axis).sum(1, keepdims=True) * axis
    lateral /= np.linalg.norm(lateral, axis=1, keepdims=True)
    upper = np.cross(lateral, axis)
    out = np.cos(RING_ANGLES)[:, None] * (tube.widths[:, None] * lateral)[:, None]
    return tube.centres[:, None] + out + np.sin(RING_ANGLES)[:, None] * (tube.heights[:, None] * upper)[:, None]


def _soles(points: np.ndarray, owners: np.ndarray, skeleton: Skeleton) -> tuple[np.ndarray, ...]:
    """For every leg the lowest points of its last two joints, at least four."""
    soles = []
    for leg in skeleton.limbs_of("leg"):
        own = np.flatnonzero(np.isin(owners, leg.joints[-2:]))
        height = points[own, 1]
        soles.append(own[height <= max(SOLE_HEIGHT, np.sort(height)[3])])
    return tuple(soles)


@dataclass(frozen=True, eq=False)
class RigPoses:
    """One individual with poses."""

    plan: str
    """Its plan; of an artist's character its family."""
    seed: int
    source: str
    """``creatures``, or what else the poses come from: ``artists``, ``retargeted``, ``distilled``."""
    descriptor: RigDescriptor
    vectors: Float[np.ndarray, "pose joint 3"]
    """Joint rotation vectors [rad]."""
    clips: Int[np.ndarray, " pose_or_none"] = field(default_factory=lambda: np.zeros(0, int))
    """Number of the clip that each pose is from; empty where poses are not of clips."""


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
    workers: int = 1,
) -> None:
    """Draw the shards that are missing, one for each seed."""
    folder.mkdir(parents=True, exist_ok=True)
    do_all(_draw_shard, [{"folder": folder, "seed": seed, "plans": plans} for seed in seeds], workers=workers, report=report)


def _draw_shard(loaded: Loaded, folder: Path, seed: int, plans: tuple[str, ...]) -> None:
    path = folder / f"{seed:06d}.npz"
    if not path.exists():
        write_shard(path, [draw_rig_poses(plan, seed) for plan in plans])


def write_shard(path: Path, individuals: list[RigPoses]) -> None:
    """Write a shard, whole or not at all."""
    arrays: dict[str, np.ndarray] = {"tags": np.array([(s.plan, str(s.seed), s.source) for s in individuals])}
    for number, individual in enumerate(individuals):
        arrays[f"{number}.{VECTORS_KEY}"] = individual.vectors.astype(np.float16)
        arrays[f"{number}.{CLIPS_KEY}"] = individual.clips
        for part in fields(RigDescriptor):
            arrays[f"{number}.{part.name}"] = getattr(individual.descriptor, part.name)
    with written_beside(path) as beside:
        np.savez(beside, allow_pickle=False, **arrays)


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
            parts = {part.name: stored[f"{number}.{part.name}"] for part in fields(RigDescriptor)}
            vectors = stored[f"{number}.{VECTORS_KEY}"].astype(np.float32)
            key = f"{number}.{CLIPS_KEY}"  # the first shards have none
            clips = stored[key] if key in stored else np.zeros(0, int)
            yield RigPoses(str(plan), int(seed), str(source), RigDescriptor(**parts), vectors, clips)


def read_pose_shards(folder: Path, sources: tuple[str, ...] | None = None, without: tuple[str, ...] = ()) -> list[RigPoses]:
    """All individuals in a folder and its subfolders that have poses, of all sources or of these, ``without`` some plans."""
    shards = sorted(path for path in folder.rglob("*.npz") if not path.name.endswith(".part.npz"))
    found = [individual for path in shards for individual in read_shard(path) if len(individual.vectors)]
    found = [individual for individual in found if sources is None or individual.source in sources]
    found = [individual for individual in found if individual.plan not in without]
    if not found:
        raise AkdError(f"There are no poses in {folder}: draw some with `akd posespace draw`.")
    return found
