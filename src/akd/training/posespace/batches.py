"""Training batches: a few rigs, some poses of each, handles on some of those, and example poses for some of the rigs."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.posespace.network import Examples, handle_inputs
from akd.posespace.representation import RigDescriptor
from akd.posespace.rig_batch import RigBatch, rig_batch
from akd.skeleton import mirror_maps
from akd.training.posespace.augment import augmented
from akd.training.posespace.dataset import CREATURES, RigPoses
from akd.training.posespace.joint_edits import to_vectors

UNCHANGED_SHARE = 0.2
"""Share of the rigs that are not augmented."""
SOURCE_SHARES = {CREATURES: 0.4, "artists": 0.4, "retargeted": 0.2}
"""How often a rig is of a source, where there are several; others have ``OTHER_SHARE``."""
OTHER_SHARE = 0.06
"""Share of a source of few individuals, such as distilled poses."""
NO_RANGE_SOURCES = frozenset(("distilled",))
"""Sources whose individuals have one or two motions: joints hardly move in them, so ranges are not learned from them."""
MIN_RANGE_CLIPS = 4
"""Ranges are learned from rigs with at least so many clips."""
SIZE_CLASSES = (12, 24, 36)
"""Rigs of a batch lie between two of these numbers of joints: half of the artists' rigs have seven bones, and filling them up to
the size of others would be most of the work."""
USUAL_JOINTS = 30
"""Joints of a rig for which a batch has as many rigs as asked; it has fewer of larger ones, and more of smaller ones."""
RIG_FACTORS = (0.375, 1.5)
"""Fewest and most rigs of a batch, relative to the number asked for."""
KNOWN_POSES = 200
"""Poses up to which a rig that has more of them is shown more often."""
SEEN_POSES = 80
"""Poses of a rig that are augmented for a batch; its range is taken from these."""
HANDLE_SHARE, MAX_HANDLES = 0.3, 5
"""Share of poses that come with handles, and how many at most."""
EXAMPLE_SHARE = 0.5
"""Share of the rigs that come with example poses."""
EXAMPLE_COUNTS = (1, 2, 4, 8, 12, 16, 20)
"""Numbers of example poses."""
OTHER_CLIPS_SHARE = 0.75
"""Share of the rigs with examples where they are of other clips than the poses to be learned."""


@dataclass(frozen=True, eq=False)
class PoseBatch:
    """Rigs with poses; missing joints are zero."""

    descriptors: list[RigDescriptor]
    rigs: RigBatch
    vectors: Float[Tensor, "rig pose joint 3"]
    mean: Float[Tensor, "rig joint 3"]
    """Over all known poses of the rig, not only those here."""
    deviation: Float[Tensor, "rig joint 3"]
    """Standard deviation over the same poses."""
    range_weight: Float[Tensor, " rig"]
    """1 if the range of the joints can be learned from the poses, 0 if they are of one or two motions only."""
    examples: Examples
    """Other poses of the rigs; half of the rigs have none."""


@dataclass(frozen=True, eq=False)
class _Drawn:
    """One rig of a batch."""

    descriptor: RigDescriptor
    every: Float[np.ndarray, "seen joint 3"]
    poses: Float[np.ndarray, "pose joint 3"]
    examples: Float[np.ndarray, "example joint 3"]


def draw_batch(individuals: list[RigPoses], rigs: int, poses: int, rng: np.random.Generator) -> PoseBatch:
    """A batch of augmented rigs, each with poses and, every other one, examples."""
    chosen = _draw_individuals(individuals, rigs, rng)
    drawn = [_draw_rig(individual, poses, rng) for individual in chosen]
    batch = rig_batch([one.descriptor for one in drawn])

    def padded(arrays: list[np.ndarray]) -> Tensor:
        pads = [[(0, 0)] * (a.ndim - 2) + [(0, batch.joint_count - a.shape[-2]), (0, 0)] for a in arrays]
        return torch.from_numpy(np.stack([np.pad(a, pad) for a, pad in zip(arrays, pads, strict=True)])).float()

    most = max(1, *(len(one.examples) for one in drawn))
    shown = [np.pad(one.examples, ((0, most - len(one.examples)), (0, 0), (0, 0))) for one in drawn]
    given = torch.tensor([[k < len(one.examples) for k in range(most)] for one in drawn])
    weights = torch.tensor([float(_knows_range(individual) or all(map(_is_short, individuals))) for individual in chosen])
    return PoseBatch(
        [one.descriptor for one in drawn], batch, padded([one.poses for one in drawn]),
        padded([one.every.mean(0) for one in drawn]), padded([one.every.std(0) for one in drawn]), weights,
        Examples(padded(shown), given),
    )  # fmt: skip


def _draw_individuals(individuals: list[RigPoses], rigs: int, rng: np.random.Generator) -> list[RigPoses]:
    """Individuals of about the same size, so that few joints of a batch are padding."""
    chance = _probabilities(individuals)
    joints = np.array([individual.descriptor.joint_count for individual in individuals])
    size = np.searchsorted(SIZE_CLASSES, joints)
    alike = np.flatnonzero(size == size[rng.choice(len(individuals), p=chance)])
    share = chance[alike] / chance[alike].sum()
    least, most = RIG_FACTORS
    count = round(rigs * float(np.clip(USUAL_JOINTS / (share @ joints[alike]), least, most)))
    return [individuals[i] for i in rng.choice(alike, max(count, 1), p=share)]


def _is_short(individual: RigPoses) -> bool:
    return individual.source in NO_RANGE_SOURCES


def _knows_range(individual: RigPoses) -> bool:
    """Whether an individual moves in enough ways for the range of its joints."""
    return not _is_short(individual) and (not len(individual.clips) or len(np.unique(individual.clips)) >= MIN_RANGE_CLIPS)


def _probabilities(individuals: list[RigPoses]) -> Float[np.ndarray, " individual"]:
    """Probability of each individual: by source, and within it less for each member of a large family.

    Rigs with many joints and many poses teach more, and come more often.
    """
    sources = np.array([individual.source for individual in individuals])
    families = np.array([f"{individual.source}/{individual.plan}" for individual in individuals])
    _, family, size = np.unique(families, return_inverse=True, return_counts=True)
    known = np.array([i.descriptor.joint_count * min(len(i.vectors), KNOWN_POSES) for i in individuals])
    weight = np.sqrt(known / size[family])
    out = np.zeros(len(individuals))
    for source in np.unique(sources):
        own = sources == source
        out[own] = SOURCE_SHARES.get(str(source), OTHER_SHARE) * weight[own] / weight[own].sum()
    return out / out.sum()


def draw_handles(
    rigs: RigBatch, positions: Float[Tensor, "rig pose joint 3"], rng: np.random.Generator
) -> Float[Tensor, "rig pose joint 4"]:
    """Network inputs for handles: on some poses, the positions of a few joints, seen from the root [ℓ]."""
    present = rigs.present.numpy()
    handled = np.zeros(positions.shape[:3], bool)
    for rig, pose in zip(*np.nonzero(rng.random(positions.shape[:2]) < HANDLE_SHARE), strict=True):
        known = np.flatnonzero(present[rig])
        count = min(int(rng.integers(1, MAX_HANDLES + 1)), len(known))
        handled[rig, pose, rng.choice(known, count, replace=False)] = True
    return handle_inputs(rigs, torch.from_numpy(handled), positions)


def _draw_rig(individual: RigPoses, poses: int, rng: np.random.Generator) -> _Drawn:
    """The individual, mostly augmented, with poses to learn and maybe examples.

    Without examples half of the poses are mirrored; with them all or none, for a rig that holds a sword holds it in one hand.
    """
    wanted = int(rng.choice(EXAMPLE_COUNTS)) if rng.random() < EXAMPLE_SHARE else 0
    targets, examples = _split(individual, wanted, rng)
    targets = rng.choice(targets, poses, replace=len(targets) < poses)
    others = rng.choice(len(individual.vectors), min(SEEN_POSES, len(individual.vectors)), replace=False)
    every = np.concatenate((targets, examples, others))
    descriptor, vectors = individual.descriptor, individual.vectors[every]
    if rng.random() > UNCHANGED_SHARE:
        stage = augmented(descriptor, vectors, rng)
        descriptor, vectors = stage.descriptor, to_vectors(stage)
    maps = mirror_maps(descriptor.frames, descriptor.mirror)
    mirrored = (maps @ vectors[:, descriptor.mirror, :, None])[..., 0]
    chance = rng.random((len(vectors), 1, 1))
    flipped: Bool[np.ndarray, "pose 1 1"] = (chance if not len(examples) else np.full_like(chance, chance[0])) < 0.5
    vectors = np.where(flipped, mirrored, vectors)
    first, second = poses, poses + len(examples)
    return _Drawn(descriptor, vectors[second:], vectors[:first], vectors[first:second])


def _split(individual: RigPoses, wanted: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of poses to learn from, and of examples; of different clips where there are some."""
    count = len(individual.vectors)
    if not wanted or count < 4:
        return np.arange(count), np.zeros(0, int)
    clips = np.unique(individual.clips)
    if len(clips) >= 2 and rng.random() < OTHER_CLIPS_SHARE:
        shown = rng.choice(clips, int(rng.integers(1, len(clips))), replace=False)
        is_shown = np.isin(individual.clips, shown)
        pool, targets = np.flatnonzero(is_shown), np.flatnonzero(~is_shown)
    else:
        order = rng.permutation(count)
        pool, targets = order[: count // 2], order[count // 2 :]
    return targets, rng.choice(pool, min(wanted, len(pool)), replace=False)
