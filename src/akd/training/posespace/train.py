"""Training the pose network: its range head on the spread of joints, its denoiser on noisy poses, its judge on broken ones."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from akd.errors import AkdError
from akd.posespace.collision import capsule_depths, capsule_pairs
from akd.posespace.network import EncodedRigs, NetworkConfig, PoseNetwork, Range, noise_level, normalise, restore, start_from
from akd.posespace.rig_batch import batch_kinematics
from akd.training.loop import TrainingConfig, TrainingState, train
from akd.training.posespace.batches import PoseBatch, draw_batch, draw_handles
from akd.training.posespace.broken_poses import break_poses
from akd.training.posespace.dataset import read_pose_shards

RESCAN_STEPS = 25
"""Steps between readings of the poses' folder, so that training can begin while poses are still being drawn."""
MAX_SNR_WEIGHT = 5.0
"""Largest signal-to-noise ratio by which errors at little noise are weighted."""
MAX_DEVIATION = 5.0
"""Normalised rotation vectors are clamped to this [spreads]."""
COLLISION_BELOW_TIME = 0.35
"""Collisions count only at noise times below this, where the predicted poses are clear."""
JUDGED_BELOW_TIME = 0.25
"""Poses are judged at noise times below this."""


@dataclass(frozen=True)
class PoseTraining:
    """What the network is trained on, and how. These values made the shipped weights."""

    run: Path
    """Folder of the run: ``poses/`` below it holds the individuals, ``training/`` state and log."""
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            steps=5_000, learning_rate=1e-3, warmup=100, ema=0.998, weight_decay=0.01, save_every=20, cooldown=0.4
        )
    )
    rigs: int = 8
    """Rigs in a batch."""
    poses_each: int = 8
    """Poses of each rig, the judged ones among them."""
    judged_each: int = 3
    """Poses of each rig that the judge sees whole, and as many that it sees broken."""
    judge_weight: float = 0.5
    """Weight of the judge's cross-entropy, for poses and joints."""
    start: Path | None = None
    """Weights to begin with, wherever names and shapes agree; random ones by default."""
    vector_weight: float = 1.0
    """Weight of the error of normalised rotation vectors; 0 learns positions only, a control."""
    position_weight: float = 10.0
    """Weight of the squared error of joint positions, relative to the body's size."""
    collision_weight: float = 5.0
    """Weight of the squared penetration depth of bones."""
    sources: tuple[str, ...] | None = None
    """Which poses: ``creatures``, ``artists``, ``retargeted``, ``distilled``; all by default."""
    without: tuple[str, ...] = ()
    """Plans and families that are left out."""
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
    individuals = read_pose_shards(config.poses, config.sources, config.without)
    torch.manual_seed(config.training.seed)
    network = PoseNetwork(NetworkConfig(graph=config.graph))
    if config.start is not None:
        start_from(network, config.start)

    def loss(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[Tensor, dict[str, float]]:
        nonlocal individuals
        if step % RESCAN_STEPS == RESCAN_STEPS - 1:
            individuals = read_pose_shards(config.poses, config.sources, config.without)
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
    with _half_precision():
        rig = network.encode(batch.rigs, batch.examples)
    rig = rig._replace(range=Range(*(part.float() for part in rig.range)))
    ranges = range_loss(rig.range, batch)
    fixed = Range(*(part.detach() for part in rig.range))
    rig = rig._replace(range=fixed)
    count = batch.vectors.shape[1]
    judged = min(config.judged_each, count)
    broken, changed = break_poses(batch.rigs, batch.vectors, rng)
    clean = _shown(rig, torch.cat((batch.vectors, broken[:, count - judged :]), 1))
    t = torch.rand(clean.shape[:2], generator=randomness)
    t = torch.cat((t[:, : count - judged], JUDGED_BELOW_TIME * t[:, count - judged :]), 1)
    alpha, sigma = noise_level(t)
    noise = torch.randn(clean.shape, generator=randomness)
    noisy = alpha[..., None, None] * clean + sigma[..., None, None] * noise
    with torch.no_grad():
        truth = batch_kinematics(batch.rigs, batch.vectors)
    handles = draw_handles(batch.rigs, truth[1], rng)
    handles[:, count - judged :] = 0  # the judge sees poses without handles
    handles = torch.cat((handles, handles.new_zeros(*handles.shape[:1], judged, *handles.shape[2:])), 1)
    with _half_precision():
        seen = network.look(rig, noisy, t, handles).float()
    predicted = network.clean(noisy[:, :count], t[:, :count], seen[:, :count])
    error, parts = denoising_loss(rig, batch, config, predicted, t[:, :count], truth)
    verdicts = judge_loss(network, rig, seen[:, count - judged :], changed[:, count - judged :])
    total = ranges + error + config.judge_weight * verdicts
    parts |= {"range": float(ranges.detach()), "verdicts": float(verdicts.detach())}
    return total, parts


def _half_precision() -> torch.autocast:
    """Matrix products in bfloat16, which takes two thirds of the time; kinematics and losses stay in single precision."""
    return torch.autocast("cpu", dtype=torch.bfloat16)


def _shown(rig: EncodedRigs, vectors: Float[Tensor, "rig pose joint 3"]) -> Float[Tensor, "rig pose joint 3"]:
    """Normalised poses, clamped; missing joints are zero."""
    shown = normalise(rig.range, vectors).clamp(-MAX_DEVIATION, MAX_DEVIATION)
    return torch.where(rig.rigs.present[:, None, :, None], shown, torch.zeros_like(shown))


def denoising_loss(
    rig: EncodedRigs, batch: PoseBatch, config: PoseTraining, predicted: Float[Tensor, "rig pose joint 3"],
    t: Float[Tensor, "rig pose"], truth: tuple[Tensor, Tensor],
) -> tuple[Float[Tensor, ""], dict[str, float]]:  # fmt: skip
    """Errors of predicted poses, as rotation vectors and as positions, and how deep they run into themselves."""
    clean = _shown(rig, batch.vectors)
    alpha, sigma = noise_level(t)
    weight = 1 + (alpha / sigma).square().clamp(max=MAX_SNR_WEIGHT)
    present = batch.rigs.present[:, None].float()
    count = present.sum(-1)
    vector_error = ((predicted - clean).square().mean(-1) * present).sum(-1) / count
    posed = batch_kinematics(batch.rigs, restore(rig.range, predicted))
    # A crocodile is six leg lengths long: errors are relative to the body's size.
    size = batch.rigs.rest.square().sum((-1, -2), keepdim=True)[..., 0] / batch.rigs.present.sum(-1, keepdim=True)
    position_error = ((posed[1] - truth[1]).square().sum(-1) * present).sum(-1) / count / size.clamp(min=0.01)
    collisions = collision_loss(batch, posed, truth, t) if config.collision_weight else predicted.new_zeros(())
    error = config.vector_weight * vector_error + config.position_weight * position_error
    # The names in the log are those of the first trainings, so that logs can be compared.
    parts = {"bends": vector_error.mean(), "places": position_error.mean(), "collisions": collisions}
    total = (weight * error).mean() + config.collision_weight * collisions
    return total, {name: float(part.detach()) for name, part in parts.items()}


def judge_loss(
    network: PoseNetwork, rig: EncodedRigs, seen: Float[Tensor, "rig judged joint width"], changed: Bool[Tensor, "rig half joint"]
) -> Float[Tensor, ""]:
    """Cross-entropy of verdicts on real poses and, behind them, as many broken ones, of which some joints were changed.

    A broken pose of which no joint changed visibly (both poses were alike) does not count.
    """
    verdict, half = network.judge(rig, seen), changed.shape[1]
    label = torch.cat((torch.zeros_like(changed), changed), 1)
    entropy = nn.functional.binary_cross_entropy_with_logits
    is_broken = label.any(-1)
    counted = torch.ones_like(is_broken)
    counted[:, half:] = is_broken[:, half:]
    of_pose = entropy(verdict.pose, is_broken.float(), counted.float(), reduction="sum") / counted.sum().clamp(min=1)
    present = (rig.rigs.present[:, None] & counted[..., None]).float()
    return of_pose + entropy(verdict.joint, label.float(), present, reduction="sum") / present.sum().clamp(min=1)


def range_loss(predicted: Range, batch: PoseBatch) -> Float[Tensor, ""]:
    """Kullback–Leibler divergence from the predicted range of joints to that of a rig's poses, up to a constant.

    Rigs with poses of one or two motions do not count: the head would learn that joints hardly move.
    """
    spread = batch.deviation.square() + (batch.mean - predicted.mean).square() + 0.02**2
    each = predicted.spread.log() + spread / (2 * predicted.spread.square())
    counted = batch.rigs.present * batch.range_weight[:, None]
    return (each.mean(-1) * counted).sum() / counted.sum().clamp(min=1)


def collision_loss(
    batch: PoseBatch, posed: tuple[Tensor, Tensor], truth: tuple[Tensor, Tensor], t: Float[Tensor, "rig pose"]
) -> Float[Tensor, ""]:
    """Squared penetration depth beyond that of the true poses, summed over pairs of bones, over poses at little noise [ℓ²].

    Artists let bodies run into themselves here and there, and a real pose is none to be punished.
    """
    total, count = posed[1].new_zeros(()), 0
    for rig, descriptor in enumerate(batch.descriptors):
        pairs, few = capsule_pairs(descriptor), t[rig] < COLLISION_BELOW_TIME
        joints = descriptor.joint_count
        if len(pairs.first) and bool(few.any()):
            depths, true = (capsule_depths(pairs, r[rig, few, :joints], p[rig, few, :joints]) for r, p in (posed, truth))
            total = total + (depths - true).clamp(min=0).square().sum()
            count += int(few.sum())
    return total / max(count, 1)
