"""What a percentile of the score means: quantiles of real poses, on artists' rigs that training did not see."""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.assets import load_rig
from akd.errors import AkdError
from akd.posespace.denoiser import Denoiser, Poses
from akd.posespace.examples import chosen_examples
from akd.posespace.network import QUANTILES, PoseNetwork
from akd.posespace.scoring import PoseScorer
from akd.posespace.space import SCORED_COUNT
from akd.training.posespace.dataset import RigPoses
from akd.training.posespace.real_poses import clip_rig_poses, training_characters

POSES_EACH = 64
"""Poses of a rig that are scored; all rigs count alike."""


def calibrate(network: PoseNetwork, motions: Path) -> None:
    """Put the quantiles of real poses into a network that judges poses; the characters are those kept for validation."""
    entries = training_characters(motions, validation=True)
    if not entries:
        raise AkdError(f"There are no characters for validation in {motions}: give the folder that holds cmu/ and glb/.")
    rigs = [clip_rig_poses(load_rig(motions / entry["file"]), entry["family"]) for entry in entries]
    with torch.no_grad():
        network.calibration.copy_(quantiles(network, rigs))


def quantiles(network: PoseNetwork, rigs: list[RigPoses]) -> Float[Tensor, "2 quantile"]:
    """Quantiles of the anomaly of the rigs' poses, without examples and with examples of other clips; families count alike."""
    shares = torch.linspace(0, 1, QUANTILES)
    rows = []
    for with_examples in (False, True):
        found, weight = [], []
        for rig in rigs:
            examples, judged = split_clips(rig) if with_examples else (None, torch.as_tensor(rig.vectors))
            if with_examples and examples is None:
                continue
            some = judged[torch.linspace(0, len(judged) - 1, min(POSES_EACH, len(judged))).long()]
            found.append(_anomalies(network, rig, examples, some))
            kin = sum(other.plan == rig.plan for other in rigs)
            weight.append(torch.full((len(some),), 1 / len(some) / kin))
        rows.append(_weighted_quantiles(torch.cat(found), torch.cat(weight), shares))
    return torch.stack(rows)


def split_clips(rig: RigPoses) -> tuple[Float[Tensor, "example joint 3"] | None, Poses]:
    """Examples from every other clip, and the poses of the other clips; no examples where there is one clip only."""
    vectors, clips = torch.as_tensor(rig.vectors), np.unique(rig.clips)
    shown = torch.as_tensor(np.isin(rig.clips, clips[1::2]))
    return (chosen_examples(vectors[shown]), vectors[~shown]) if shown.any() else (None, vectors)


def _anomalies(
    network: PoseNetwork, rig: RigPoses, examples: Float[Tensor, "example joint 3"] | None, judged: Poses
) -> Float[Tensor, " pose"]:
    denoiser = Denoiser.of(network, rig.descriptor, examples)
    samples = denoiser.to_vectors(denoiser.draw(SCORED_COUNT, 0, noise=1.0))
    return PoseScorer.of(denoiser, samples).score(judged).anomaly


def _weighted_quantiles(
    values: Float[Tensor, " value"], weight: Float[Tensor, " value"], shares: Float[Tensor, " quantile"]
) -> Float[Tensor, " quantile"]:
    order = values.argsort()
    below = weight[order].cumsum(0) - weight[order] / 2
    found = np.interp(shares.numpy(), (below / weight.sum()).numpy(), values[order].numpy())
    return torch.as_tensor(found, dtype=torch.float32)
