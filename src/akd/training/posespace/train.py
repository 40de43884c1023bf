"""Training the pose network: its range head on the spread of joints, its denoiser on noisy poses."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from akd.errors import AkdError
from akd.posespace.collision import capsule_depths, capsule_pairs
from akd.posespace.network import NetworkConfig, PoseNetwork, Range, noise_level, normalise, restore
from akd.posespace.rig_batch import batch_kinematics
from akd.training.loop import TrainingConfig, TrainingState, train
from akd.training.posespace.batches import PoseBatch, draw_batch, draw_handles
from akd.training.posespace.dataset import read_pose_shards

RESCAN_STEPS = 25
"""Steps between readings of the poses' folder, so that training can begin while poses are still being drawn."""
MAX_SNR_WEIGHT = 5.0
"""Largest signal-to-noise ratio by which errors at little noise are weighted."""
MAX_DEVIATION = 5.0
"""Normalised rotation vectors are clamped to this [spreads]."""
COLLISION_BELOW_TIME = 0.35
"""Collisions count only at noise times below this, where the predicted poses are clear."""


@dataclass(frozen=True)
class PoseTraining:
    """What the network is trained on, and how. These values made the shipped weights."""

    run: Path
    """Folder of the run: ``poses/`` below it holds the individuals, ``training/`` state and log."""
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            steps=12_000, learning_rate=1.5e-3, warmup=100, ema=0.998, weight_decay=0.01, save_every=20, cooldown=0.35
        )
    )
    rigs: int = 8
    """Rigs in a batch."""
    poses_each: int = 8
    """Poses of each rig."""
    vector_weight: float = 1.0
    """Weight of the error of normalised rotation vectors; 0 learns positions only, a control."""
    position_weight: float = 10.0
    """Weight of the squared error of joint positions, relative to the body's size."""
    collision_weight: float = 5.0
    """Weight of the squared penetration depth of bones."""
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
    """The trained network with averaged weights; a run that was stopped is resumed."""
    individuals = read_pose_shards(config.poses, config.sources)
    torch.manual_seed(config.training.seed)
    network = PoseNetwork(NetworkConfig(graph=config.graph))

    def loss(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[Tensor, dict[str, float]]:
        nonlocal individuals
        if step % RESCAN_STEPS == RESCAN_STEPS - 1:
            individuals = read_pose_shards(config.poses, config.sources)
        assert isinstance(network, PoseNetwork)
        rng = np.random.default_rng(int(torch.randint(1 << 30, (1,), generator=randomness)))
        return pose_loss(network, draw_batch(individuals, config.rigs, config.poses_each, rng), config, rng, randomness)

    train(network, loss, config.training, config.folder).use_average()
    return network


def trained_so_far(config: PoseTraining) -> tuple[PoseNetwork, int]:
    """The network of a run as far as it is trained, with averaged weights, and the number of steps."""
    checkpoint = config.folder / "state.safetensors"
    if not checkpoint.exists():
        raise AkdError(f"There is no training in {config.folder}: begin with `akd posespace train`.")
    network = PoseNetwork(NetworkConfig(graph=config.graph))
    state = TrainingState(network, config.training)
    state.load(checkpoint)
    state.use_average()
    return network, state.step


def pose_loss(
    network: PoseNetwork, batch: PoseBatch, config: PoseTraining, rng: np.random.Generator, randomness: torch.Generator
) -> tuple[Float[Tensor, ""], dict[str, float]]:
    """The loss of a training step, and its parts for the log."""
    rig = network.encode(batch.rigs)
    ranges = range_loss(rig.range, batch)
    fixed = Range(*(part.detach() for part in rig.range))
    clean = normalise(fixed, batch.vectors).clamp(-MAX_DEVIATION, MAX_DEVIATION)
    clean = torch.where(batch.rigs.present[:, None, :, None], clean, torch.zeros_like(clean))
    t = torch.rand(batch.vectors.shape[:2], generator=randomness)
    noise = torch.randn(clean.shape, generator=randomness)
    alpha, sigma = noise_level(t)
    noisy = alpha[..., None, None] * clean + sigma[..., None, None] * noise
    with torch.no_grad():
        truth = batch_kinematics(batch.rigs, batch.vectors)[1]
    predicted = network.denoise(rig, noisy, t, draw_handles(batch.rigs, truth, rng))
    weight = 1 + (alpha / sigma).square().clamp(max=MAX_SNR_WEIGHT)
    present = batch.rigs.present[:, None].float()
    count = present.sum(-1)
    vector_error = ((predicted - clean).square().mean(-1) * present).sum(-1) / count
    predicted_vectors = restore(fixed, predicted)
    rotation, position = batch_kinematics(batch.rigs, predicted_vectors)
    # A crocodile is six leg lengths long: errors are relative to the body's size.
    size = batch.rigs.rest.square().sum((-1, -2), keepdim=True)[..., 0] / batch.rigs.present.sum(-1, keepdim=True)
    position_error = ((position - truth).square().sum(-1) * present).sum(-1) / count / size.clamp(min=0.01)
    collisions = collision_loss(batch, rotation, position, t) if config.collision_weight else position.new_zeros(())
    error = config.vector_weight * vector_error + config.position_weight * position_error
    total = ranges + (weight * error).mean() + config.collision_weight * collisions
    # The names in the log are those of the first trainings, so that logs can be compared.
    parts = {"range": ranges, "bends": vector_error.mean(), "places": position_error.mean(), "collisions": collisions}
    return total, {name: float(part.detach()) for name, part in parts.items()}


def range_loss(predicted: Range, batch: PoseBatch) -> Float[Tensor, ""]:
    """Kullback–Leibler divergence from the predicted range of joints to that of a rig's poses, up to a constant.

    Rigs with poses of one or two motions do not count: the head would learn that joints hardly move.
    """
    spread = batch.deviation.square() + (batch.mean - predicted.mean).square() + 0.02**2
    each = predicted.spread.log() + spread / (2 * predicted.spread.square())
    counted = batch.rigs.present * batch.range_weight[:, None]
    return (each.mean(-1) * counted).sum() / counted.sum().clamp(min=1)


def collision_loss(
    batch: PoseBatch, rotation: Float[Tensor, "rig pose joint 3 3"], position: Float[Tensor, "rig pose joint 3"],
    t: Float[Tensor, "rig pose"],
) -> Float[Tensor, ""]:  # fmt: skip
    """Squared penetration depth, summed over pairs of bones and averaged over poses predicted at little noise [ℓ²]."""
    total, count = position.new_zeros(()), 0
    for rig, descriptor in enumerate(batch.descriptors):
        pairs, few = capsule_pairs(descriptor), t[rig] < COLLISION_BELOW_TIME
        joints = descriptor.joint_count
        if len(pairs.first) and bool(few.any()):
            depths = capsule_depths(pairs, rotation[rig, few, :joints], position[rig, few, :joints])
            total = total + depths.square().sum()
            count += int(few.sum())
    return total / max(count, 1)
