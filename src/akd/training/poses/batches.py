"""What one step of training sees: a few rigs, some poses of each, handles on some of them."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from akd.posespace.network import handle_inputs
from akd.posespace.representation import RigDescriptor
from akd.posespace.rig_batch import RigBatch, rig_batch
from akd.skeleton import mirror_maps
from akd.training.poses.augment import augmented
from akd.training.poses.joints import bends_of
from akd.training.poses.specimens import CREATURES, Specimen

PLAIN = 0.2
"""Share of the rigs that are left as they are."""
SECOND = 0.125
"""Share of the rigs that a second source gives, where there is one: it has far fewer individuals."""
HANDLED, MOST_HANDLES = 0.3, 5
"""Share of poses that come with handles, and how many at most."""


@dataclass(frozen=True, eq=False)
class PoseBatch:
    """Rigs with poses."""

    sketches: list[RigDescriptor]
    rigs: RigBatch
    bends: Float[Tensor, "rig pose joint 3"]
    mean: Float[Tensor, "rig joint 3"]
    """Over all known poses of the rig, not only those here."""
    deviation: Float[Tensor, "rig joint 3"]
    telling: Float[Tensor, " rig"]
    """1 if the poses tell how far the rig's joints go, 0 if they are of one or two motions only."""


def draw_batch(specimens: list[Specimen], rigs: int, poses: int, rng: np.random.Generator) -> PoseBatch:
    """Rigs at random; half of the poses are seen in a mirror."""
    ours = np.array([specimen.source == CREATURES for specimen in specimens])
    chosen = [specimens[i] for i in rng.choice(len(specimens), rigs, p=_chances(ours))]
    sketches, every = zip(*(_stranger(specimen, rng) for specimen in chosen), strict=True)
    some = [bends[rng.choice(len(bends), poses, replace=len(bends) < poses)] for bends in every]
    batch = rig_batch(list(sketches))

    def padded(arrays: list[np.ndarray]) -> Tensor:
        pads = [[(0, 0)] * (a.ndim - 2) + [(0, batch.joint_count - a.shape[-2]), (0, 0)] for a in arrays]
        return torch.from_numpy(np.stack([np.pad(a, pad) for a, pad in zip(arrays, pads, strict=True)])).float()

    means, deviations = [bends.mean(0) for bends in every], [bends.std(0) for bends in every]
    telling = torch.tensor([float(specimen.source == CREATURES or not ours.any()) for specimen in chosen])
    return PoseBatch(list(sketches), batch, padded(some), padded(means), padded(deviations), telling)


def _chances(ours: Bool[np.ndarray, " specimen"]) -> Float[np.ndarray, " specimen"]:
    """How likely each individual is chosen: all alike within a source."""
    if ours.all() or not ours.any():
        return np.full(len(ours), 1 / len(ours))
    return np.where(ours, (1 - SECOND) / ours.sum(), SECOND / (~ours).sum())


def draw_handles(
    rigs: RigBatch, places: Float[Tensor, "rig pose joint 3"], rng: np.random.Generator
) -> Float[Tensor, "rig pose joint 4"]:
    """For some poses, where a few joints are: flag and way from rest, seen from the root."""
    present = rigs.present.numpy()
    wanted = np.zeros(places.shape[:3], bool)
    for rig, pose in zip(*np.nonzero(rng.random(places.shape[:2]) < HANDLED), strict=True):
        known = np.flatnonzero(present[rig])
        count = min(int(rng.integers(1, MOST_HANDLES + 1)), len(known))
        wanted[rig, pose, rng.choice(known, count, replace=False)] = True
    return handle_inputs(rigs, torch.from_numpy(wanted), places)


def _stranger(specimen: Specimen, rng: np.random.Generator) -> tuple[RigDescriptor, Float[np.ndarray, "pose joint 3"]]:
    """The specimen as another rig; half of its poses mirrored."""
    sketch, bends = specimen.sketch, specimen.bends
    if rng.random() > PLAIN:
        posing = augmented(sketch, bends, rng)
        sketch, bends = posing.sketch, bends_of(posing)
    maps = mirror_maps(sketch.frames, sketch.mirror)
    seen = (maps @ bends[:, sketch.mirror, :, None])[..., 0]
    return sketch, np.where(rng.random((len(bends), 1, 1)) < 0.5, seen, bends)
