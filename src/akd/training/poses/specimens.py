"""An individual as a rig whose skin is only rings of points: enough for a puppeteer, three hundred times cheaper to make.

Poses on disk: for every individual its sketch and its bends, tagged with where they come from.

A shard holds one individual of each plan. A run that was stopped goes on with the shards that are missing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float

from akd.creatures.body import CreatureBody, Tube, place_body, sample_individual
from akd.creatures.build import SIDES, SOLE_HEIGHT, skeleton_of
from akd.creatures.plans import PLANS
from akd.errors import AkdError
from akd.mesh import Mesh
from akd.posespace.collision import capsule_depths, capsules_of
from akd.posespace.representation import RigDescriptor, pose_to_vectors, rig_descriptor, vectors_to_pose
from akd.rig import Rig
from akd.skeleton import Skeleton, forward_kinematics
from akd.training.held_out import TRAINING_PLANS
from akd.training.poses.choreographies import draw_poses

RIM = np.arange(4) * np.pi / 2
"""Where on its outline a section of flesh has points: below, above and at both sides."""
EVERY = 2
"""Of the sections that ``body`` draws, each so-manieth is used."""


def lean_rig(plan_name: str, seed: int) -> Rig:
    """The same joints as ``creatures.build.creature``, with points around every section of flesh; each follows one joint."""
    plan = PLANS[plan_name]
    body = place_body(plan, sample_individual(plan, seed))
    skeleton = skeleton_of(body)
    points, owners = _flesh_points(body, skeleton)
    points[:, 1] = np.maximum(points[:, 1], 0.0)  # feet are cut flat at the ground
    weights = np.eye(skeleton.joint_count)[owners]
    mesh = Mesh(points, np.zeros((0, 3), int), np.full_like(points, 0.5))
    return Rig(mesh, skeleton, weights, _soles(points, owners, skeleton), body.leg_metres, plan_name)


def _flesh_points(body: CreatureBody, skeleton: Skeleton) -> tuple[np.ndarray, np.ndarray]:
    points, owners = [], []
    for tube in body.tubes:
        if not tube.chain.solid:
            continue
        rings, names = _rings(tube)[::EVERY], tube.owners[::EVERY]
        for side, _, sign in SIDES if tube.chain.paired else SIDES[1:]:
            points.append((rings * (1.0, 1.0, sign)).reshape(-1, 3))
            owners.append(np.repeat([skeleton.index(name.replace("*", side)) for name in names], len(RIM)))
    return np.concatenate(points), np.concatenate(owners)


def _rings(tube: Tube) -> np.ndarray:
    """Points on the outline of every section, section × point × 3."""
    along = np.gradient(tube.centres, axis=0) if len(tube.centres) > 1 else np.array([[1.0, 0, 0]])
    axis = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    side = np.where(np.abs(axis[:, 2:]) < 0.999, [[0.0, 0, 1]], [[1.0, 0, 0]])
    lateral = side - (side * axis).sum(1, keepdims=True) * axis
    lateral /= np.linalg.norm(lateral, axis=1, keepdims=True)
    upper = np.cross(lateral, axis)
    out = np.cos(RIM)[:, None] * (tube.widths[:, None] * lateral)[:, None]
    return tube.centres[:, None] + out + np.sin(RIM)[:, None] * (tube.heights[:, None] * upper)[:, None]


def _soles(points: np.ndarray, owners: np.ndarray, skeleton: Skeleton) -> tuple[np.ndarray, ...]:
    soles = []
    for leg in skeleton.limbs_of("leg"):
        own = np.flatnonzero(np.isin(owners, leg.joints[-2:]))
        height = points[own, 1]
        soles.append(own[height <= max(SOLE_HEIGHT, np.sort(height)[3])])
    return tuple(soles)


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
    sketch: RigDescriptor
    bends: Float[np.ndarray, "pose joint 3"]


def draw_specimen(plan: str, seed: int) -> Specimen:
    """An individual and what it does, the same for the same seed; poses that run into themselves are left out."""
    rig = lean_rig(plan, seed)
    pose = draw_poses(rig, np.random.default_rng((seed, 77, *plan.encode())))
    bends = pose_to_vectors(pose)
    return Specimen(plan, seed, CREATURES, rig_descriptor(rig), bends[sound(rig, bends)].numpy())


def sound(rig: Rig, bends: Float[torch.Tensor, "pose joint 3"]) -> torch.Tensor:
    """Which poses do not run into themselves."""
    root = torch.as_tensor(rig.skeleton.positions[0], dtype=bends.dtype)
    posed = forward_kinematics(rig.skeleton, vectors_to_pose(bends, root))
    depths = capsule_depths(capsules_of(rig_descriptor(rig)), posed.rotation, posed.position)
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
        for field in fields(RigDescriptor):
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
            parts = {field.name: stored[f"{number}.{field.name}"] for field in fields(RigDescriptor)}
            bends = stored[f"{number}.bends"].astype(np.float32)
            yield Specimen(str(plan), int(seed), str(source), RigDescriptor(**parts), bends)


def read_specimens(folder: Path, sources: tuple[str, ...] | None = None) -> list[Specimen]:
    """All specimens in a folder and its subfolders, of all sources or of these."""
    shards = sorted(path for path in folder.rglob("*.npz") if not path.name.endswith(".part.npz"))
    found = [specimen for path in shards for specimen in read_shard(path) if len(specimen.bends)]
    found = [specimen for specimen in found if sources is None or specimen.source in sources]
    if not found:
        raise AkdError(f"There are no poses in {folder}: draw some with `akd posespace draw {folder}`.")
    return found
