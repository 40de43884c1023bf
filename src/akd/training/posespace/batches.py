"""Training batches: a few rigs, some poses of each, handles on some of those."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.posespace.network import handle_inputs
from akd.posespace.representation import RigDescriptor
from akd.posespace.rig_batch import RigBatch, rig_batch
from akd.skeleton import mirror_maps
from akd.training.posespace.augment import augmented
from akd.training.posespace.dataset import CREATURES, RigPoses
from akd.training.posespace.joint_edits import to_vectors

UNCHANGED_SHARE = 0.2
"""Share of the rigs that are not augmented."""
OTHER_SOURCE_SHARE = 0.125
"""Share of the rigs that come from other sources than creatures, if there are any: they have far fewer individuals."""
HANDLE_SHARE, MAX_HANDLES = 0.3, 5
"""Share of poses that come with handles, and how many at most."""


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


def draw_batch(individuals: list[RigPoses], rigs: int, poses: int, rng: np.random.Generator) -> PoseBatch:
    """A batch of augmented rigs; half of the poses are mirrored."""
    from_creatures = np.array([individual.source == CREATURES for individual in individuals])
    chosen = [individuals[i] for i in rng.choice(len(individuals), rigs, p=_probabilities(from_creatures))]
    descriptors, every = zip(*(_augmented_rig(individual, rng) for individual in chosen), strict=True)
    some = [vectors[rng.choice(len(vectors), poses, replace=len(vectors) < poses)] for vectors in every]
    batch = rig_batch(list(descriptors))

    def padded(arrays: list[np.ndarray]) -> Tensor:
        pads = [[(0, 0)] * (a.ndim - 2) + [(0, batch.joint_count - a.shape[-2]), (0, 0)] for a in arrays]
        return torch.from_numpy(np.stack([np.pad(a, pad) for a, pad in zip(arrays, pads, strict=True)])).float()

    means, deviations = [vectors.mean(0) for vectors in every], [vectors.std(0) for vectors in every]
    range_weight = torch.tensor([float(individual.source == CREATURES or not from_creatures.any()) for individual in chosen])
    return PoseBatch(list(descriptors), batch, padded(some), padded(means), padded(deviations), range_weight)


def _probabilities(from_creatures: Bool[np.ndarray, " individual"]) -> Float[np.ndarray, " individual"]:
    """Probability of each individual: the same within creatures, and within all other sources."""
    if from_creatures.all() or not from_creatures.any():
        return np.full(len(from_creatures), 1 / len(from_creatures))
    return np.where(
        from_creatures, (1 - OTHER_SOURCE_SHARE) / from_creatures.sum(), OTHER_SOURCE_SHARE / (~from_creatures).sum()
    )


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


def _augmented_rig(individual: RigPoses, rng: np.random.Generator) -> tuple[RigDescriptor, Float[np.ndarray, "pose joint 3"]]:
    """The individual, mostly augmented, and half of its poses mirrored."""
    descriptor, vectors = individual.descriptor, individual.vectors
    if rng.random() > UNCHANGED_SHARE:
        stage = augmented(descriptor, vectors, rng)
        descriptor, vectors = stage.descriptor, to_vectors(stage)
    maps = mirror_maps(descriptor.frames, descriptor.mirror)
    mirrored = (maps @ vectors[:, descriptor.mirror, :, None])[..., 0]
    return descriptor, np.where(rng.random((len(vectors), 1, 1)) < 0.5, mirrored, vectors)
