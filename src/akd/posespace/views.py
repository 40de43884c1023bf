"""The same poses on other rigs that could have been made for the same animal, where they are judged again.

The verdict depends on how a rig happens to be built: its rest pose, collar bones, how many joints. Over several rigs these whims
cancel out: on families left out, hyperextension is found with AUC .89 instead of .86, twists .96 instead of .92.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.posespace.augment import augmented
from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.joint_edits import selected, to_vectors
from akd.posespace.representation import RigDescriptor

VIEW_SEEDS = (2, 3, 4)
"""Each gives another rig; three are as good as six."""


@dataclass(frozen=True, eq=False)
class View:
    """Another rig of the same animal."""

    seed: int
    descriptor: RigDescriptor
    """The rig itself, its joints in an order that depends on geometry alone: so does the other rig."""
    order: Int[np.ndarray, " joint"]
    """The rig's joints in that order."""
    denoiser: Denoiser
    """The network for the other rig."""

    def verdict(self, vectors: Poses) -> Float[Tensor, " pose"]:
        """How sure the network is that poses are broken, as a logit."""
        moved = _moved(self.descriptor, vectors[:, self.order], self.seed)[1]
        return self.denoiser.broken(self.denoiser.to_normalised(moved))


def other_views(denoiser: Denoiser, descriptor: RigDescriptor) -> tuple[View, ...]:
    """Other rigs of an animal, with its examples; none for weights that do not judge."""
    if not denoiser.network.config.judges:
        return ()
    order = np.argsort(descriptor.canonical_rank)
    sorted_rig = selected(descriptor, order)
    like = torch.zeros(0, descriptor.joint_count, 3) if denoiser.known is None else denoiser.to_vectors(denoiser.known)
    views = []
    for seed in VIEW_SEEDS:
        other, examples = _moved(sorted_rig, like[:, order], seed)
        views.append(View(seed, sorted_rig, order, Denoiser.of(denoiser.network, other, examples if len(examples) else None)))
    return tuple(views)


def _moved(descriptor: RigDescriptor, vectors: Poses, seed: int) -> tuple[RigDescriptor, Float[Tensor, "pose other 3"]]:
    """The other rig of a seed, and the same poses on it."""
    # With no pose at all there is nothing to rotate: the rest pose stands in.
    some = vectors if len(vectors) else torch.zeros(1, descriptor.joint_count, 3)
    stage = augmented(descriptor, some.double().numpy(), np.random.default_rng(seed))
    return stage.descriptor, torch.as_tensor(to_vectors(stage))[: len(vectors)].to(vectors.dtype)
