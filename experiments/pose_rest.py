"""Does the pose space know a person however its arms are bound? The same poses, on rest poses from hanging arms to above a T.

    python -m experiments.pose_rest
    python -m experiments.pose_rest --weights other.safetensors

Bone frames jump where an arm at rest rises more than 26° above the horizontal (the seam, 116° from hanging): rows on both sides
of it say whether that matters.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from scipy.spatial.transform import Rotation

from akd.posespace.denoiser import Denoiser
from akd.posespace.measures import auc, hyperextended
from akd.posespace.network import SHIPPED, load_network
from akd.posespace.scoring import PoseScorer
from akd.training.data_card import FIRST_HELD_OUT_SEED
from akd.training.posespace.augment import arm_raising, change_rest_pose
from akd.training.posespace.dataset import draw_rig_poses
from akd.training.posespace.joint_edits import to_stage_poses, to_vectors

SAMPLES = 48


@dataclass(frozen=True)
class Options:
    """What is measured."""

    weights: Path = SHIPPED
    plan: str = "human"
    seed: int = FIRST_HELD_OUT_SEED + 1
    angles: tuple[float, ...] = (5.0, 20.0, 35.0, 50.0, 70.0, 90.0, 110.0, 122.0, 135.0)
    """Of the upper arms from hanging [degrees]."""
    poses: int = 32


def main(options: Options) -> None:
    torch.set_num_threads(1)
    network, person = load_network(options.weights), draw_rig_poses(options.plan, options.seed)
    stage = to_stage_poses(person.descriptor, person.vectors[: options.poses])
    print("| arms at rest | percentile: median | mean | anomaly: median | AUC hyperextension |\n|---|---|---|---|---|")
    for angle in options.angles:
        turns = Rotation.from_rotvec(arm_raising(person.descriptor, np.radians(angle))).as_matrix()
        bound = change_rest_pose(stage, turns)
        denoiser = Denoiser.of(network, bound.descriptor)
        scorer = PoseScorer.of(denoiser, denoiser.to_vectors(denoiser.decode(denoiser.noise(SAMPLES, 0))))
        poses = torch.as_tensor(to_vectors(bound)).float()
        score = scorer.score(poses)
        broken = scorer.score(hyperextended(bound.descriptor, poses, np.random.default_rng(0)))
        median, mean, strange = score.percentile.median(), score.percentile.mean(), score.anomaly.median()
        seen = auc(score.anomaly, broken.anomaly)
        print(f"| {angle:g}° | {float(median):.0f} | {float(mean):.0f} | {float(strange):.2f} | {seen:.2f} |", flush=True)


if __name__ == "__main__":
    main(tyro.cli(Options))
