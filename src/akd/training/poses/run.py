"""Training the pose network: learn the ranges of joints, and to see poses behind noise."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from akd.errors import AkdError
from akd.posespace.collision import capsule_depths, capsules_of
from akd.posespace.network import NetworkConfig, PoseNetwork, Range, level, normalise, restore
from akd.posespace.rig_batch import posed
from akd.training.loop import Trainee, TrainingConfig, train
from akd.training.poses.batches import PoseBatch, draw_batch, draw_handles
from akd.training.poses.specimens import read_specimens

RESCAN = 25
"""Every so many steps the poses are read anew, so that training can begin while they are still being drawn."""
MOST_SNR = 5.0
"""Errors at little noise count so much at most."""
FARTHEST = 5.0
"""Normalised bends beyond this are cut [spreads]."""
CLEAN = 0.35
"""Guesses at less noise than this are asked not to run into themselves."""


@dataclass(frozen=True)
class PoseTraining:
    """What the network is trained on, and how. These values made the shipped weights."""

    run: Path
    """Folder of the run: ``poses/`` below it holds the specimens, ``training/`` state and log."""
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            steps=12_000, learning_rate=1.5e-3, warmup=100, ema=0.998, weight_decay=0.01, save_every=20, cooldown=0.35
        )
    )
    rigs: int = 8
    poses_each: int = 8
    bends: float = 1.0
    """Weight of normalised bends; 0 learns places only, a control."""
    places: float = 10.0
    """Weight of the joints' places, as shares of the body's size."""
    collisions: float = 5.0
    """Weight of bones inside each other."""
    sources: tuple[str, ...] | None = None
    """Which poses: ``creatures``, ``distilled``; all by default."""
    graph: bool = True
    """Whether attention knows the tree; without, a control."""
    name: str = "training"
    """Folder of state and log below the run's; controls have their own."""

    @property
    def poses(self) -> Path:
        return self.run / "poses"

    @property
    def folder(self) -> Path:
        return self.run / self.name


def train_posespace(config: PoseTraining) -> PoseNetwork:
    """Train, or go on; with averaged weights."""
    specimens = read_specimens(config.poses, config.sources)
    torch.manual_seed(config.training.seed)
    network = PoseNetwork(NetworkConfig(graph=config.graph))

    def loss(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[Tensor, dict[str, float]]:
        nonlocal specimens
        if step % RESCAN == RESCAN - 1:
            specimens = read_specimens(config.poses, config.sources)
        assert isinstance(network, PoseNetwork)
        rng = np.random.default_rng(int(torch.randint(1 << 30, (1,), generator=randomness)))
        return pose_loss(network, draw_batch(specimens, config.rigs, config.poses_each, rng), config, rng, randomness)

    trainee = train(network, loss, config.training, config.folder)
    trainee.use_average()
    return network


def trained_so_far(config: PoseTraining) -> tuple[PoseNetwork, int]:
    """The network of a run as far as it is, with averaged weights, and the number of steps."""
    state = config.folder / "state.safetensors"
    if not state.exists():
        raise AkdError(f"There is no training in {config.folder}: begin with `akd posespace train`.")
    network = PoseNetwork(NetworkConfig(graph=config.graph))
    trainee = Trainee(network, config.training)
    trainee.load(state)
    trainee.use_average()
    return network, trainee.step


def pose_loss(
    network: PoseNetwork, batch: PoseBatch, config: PoseTraining, rng: np.random.Generator, randomness: torch.Generator
) -> tuple[Float[Tensor, ""], dict[str, float]]:
    """All that a step wants to make small."""
    rig = network.encode(batch.rigs)
    ranges = range_loss(rig.range, batch)
    range = Range(*(part.detach() for part in rig.range))
    clean = normalise(range, batch.bends).clamp(-FARTHEST, FARTHEST)
    clean = torch.where(batch.rigs.present[:, None, :, None], clean, torch.zeros_like(clean))
    t = torch.rand(batch.bends.shape[:2], generator=randomness)
    noise = torch.randn(clean.shape, generator=randomness)
    alpha, sigma = level(t)
    noisy = alpha[..., None, None] * clean + sigma[..., None, None] * noise
    with torch.no_grad():
        truth = posed(batch.rigs, batch.bends)[1]
    guess = network.denoise(rig, noisy, t, draw_handles(batch.rigs, truth, rng))
    weight = 1 + (alpha / sigma).square().clamp(max=MOST_SNR)
    present = batch.rigs.present[:, None].float()
    count = present.sum(-1)
    bends_error = ((guess - clean).square().mean(-1) * present).sum(-1) / count
    believed = restore(range, guess)
    rotation, place = posed(batch.rigs, believed)
    # A crocodile is six leg lengths long: misses count as shares of the body's size.
    size = batch.rigs.rest.square().sum((-1, -2), keepdim=True)[..., 0] / batch.rigs.present.sum(-1, keepdim=True)
    place_error = ((place - truth).square().sum(-1) * present).sum(-1) / count / size.clamp(min=0.01)
    runs_in = collision_loss(batch, rotation, place, t) if config.collisions else place.new_zeros(())
    error = config.bends * bends_error + config.places * place_error
    total = ranges + (weight * error).mean() + config.collisions * runs_in
    parts = {"range": ranges, "bends": bends_error.mean(), "places": place_error.mean(), "collisions": runs_in}
    return total, {name: float(part.detach()) for name, part in parts.items()}


def range_loss(range: Range, batch: PoseBatch) -> Float[Tensor, ""]:
    """Kullback–Leibler distance from what a rig's joints do to what the head says they do, up to a constant.

    Poses of one or two motions do not count here: the head would learn that joints hardly bend.
    """
    spread = batch.deviation.square() + (batch.mean - range.mean).square() + 0.02**2
    each = range.spread.log() + spread / (2 * range.spread.square())
    counted = batch.rigs.present * batch.telling[:, None]
    return (each.mean(-1) * counted).sum() / counted.sum().clamp(min=1)


def collision_loss(
    batch: PoseBatch, rotation: Float[Tensor, "rig pose joint 3 3"], place: Float[Tensor, "rig pose joint 3"],
    t: Float[Tensor, "rig pose"],
) -> Float[Tensor, ""]:  # fmt: skip
    """Squared depth of bones inside each other, summed over pairs, in guesses made at little noise."""
    total, count = place.new_zeros(()), 0
    for rig, sketch in enumerate(batch.sketches):
        pairs, few = capsules_of(sketch), t[rig] < CLEAN
        joints = sketch.joint_count
        if len(pairs.first) and bool(few.any()):
            depths = capsule_depths(pairs, rotation[rig, few, :joints], place[rig, few, :joints])
            total = total + depths.square().sum()
            count += int(few.sum())
    return total / max(count, 1)
