"""Short trainings of the pose space that each leave something out: the ablation tables of docs/posespace.md.

    python -m experiments.pose_controls runs/posespace --steps 600
    python -m experiments.pose_controls runs/posespace --steps 500 --after training --arms everything "no distilled poses" \\
        --judged runs/other/poses/distilled
    python -m experiments.pose_controls runs/posespace --steps 400 --rigs 4 --characters q_donkey q_woman2017 \\
        --arms "video poses only"
"""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from safetensors.torch import load_file

from akd.assets import load_rig
from akd.creatures.build import creature
from akd.posespace.denoiser import Poses
from akd.posespace.network import save_weights
from akd.posespace.space import PoseSpace
from akd.rig import Rig
from akd.training.data_card import FIRST_HELD_OUT_SEED
from akd.training.posespace.dataset import read_pose_shards
from akd.training.posespace.train import PoseTraining, train_posespace
from experiments.posespace import Options as TableOptions
from experiments.posespace import clip_poses, creature_poses, noticing, quality

VIDEO = ("distilled", "followed")
"""Sources of poses that come from films."""
ARMS: dict[str, dict[str, Any]] = {
    "everything": {}, "no distilled poses": {"sources": ("creatures",)}, "distilled poses only": {"sources": ("distilled",)},
    "no video poses": {"sources": ("creatures", "artists", "retargeted")}, "video poses only": {"sources": VIDEO},
    "places only": {"vector_weight": 0.0}, "no graph": {"graph": False}, "no validators": {"collision_weight": 0.0},
}  # fmt: skip
PLANS = ("dog", "human", "bear")
"""New individuals of two known plans, and one of a plan that was held out."""


@dataclass(frozen=True)
class Options:
    """What is trained and measured."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder with drawn poses."""
    steps: int = 600
    rigs: int = 8
    """Rigs in a batch."""
    poses: int = 60
    characters: tuple[str, ...] = ()
    """Characters of the motions that are measured instead of our own creatures."""
    motions: Path = TableOptions.motions
    after: str | None = None
    """A training of the run that every arm goes on from, as `akd posespace train` would; by default all begin with nothing."""
    start: Path | None = None
    """Weights that every arm begins with instead."""
    arms: tuple[str, ...] = tuple(ARMS)
    judged: Path | None = None
    """Folder of further individuals, distilled and not trained on: how plausible are they found?"""


def weights_of(arm: str, options: Options) -> Path:
    """Train an arm, or go on, and export it."""
    name = f"control-{arm.replace(' ', '-')}"
    config = PoseTraining(options.run, name=name, start=options.start, rigs=options.rigs, **ARMS[arm])
    if options.after is None:
        warmup = min(config.training.warmup, options.steps // 10)
        config = replace(config, training=replace(config.training, steps=options.steps, warmup=warmup, ema=0.99))
    else:
        config = _after(config, options.run / options.after / "state.safetensors", options.steps)
    path = config.folder / "weights.safetensors"
    save_weights(train_posespace(config), path, {"steps": str(options.steps), "arm": arm})
    return path


def _after(config: PoseTraining, state: Path, steps: int) -> PoseTraining:
    """The same training, begun where another one is, for so many steps more."""
    begun = int(load_file(state)["step"])
    config.folder.mkdir(parents=True, exist_ok=True)
    if not (config.folder / "state.safetensors").exists():
        shutil.copy(state, config.folder / "state.safetensors")
    return replace(config, training=replace(config.training, steps=begun + steps))


def _judging(options: Options, weights: Path) -> dict[str, float]:
    """What an arm thinks of poses that the prior made: their percentile, and the share that it does not call broken."""
    if options.judged is None:
        return {}
    scores = []
    for individual in read_pose_shards(options.judged):
        space = PoseSpace.build(creature(individual.plan, individual.seed), weights=weights)
        scores.append(space.score(torch.as_tensor(individual.vectors)))
    percentile, plausible = (torch.cat([getattr(score, name) for score in scores]) for name in ("percentile", "plausible"))
    return {"distilled percentile": float(percentile.mean()), "distilled plausible": float(plausible.float().mean())}


def measured_rigs(options: Options) -> list[tuple[Rig, Poses | None]]:
    """Artists' characters in their clips if any are named, our own creatures in their gaits and actions otherwise."""
    if options.characters:
        rigs = [load_rig(options.motions / "glb" / f"{name}.glb") for name in options.characters]
        return [(rig, clip_poses(rig, options.poses)[0]) for rig in rigs]
    own = [creature(plan, FIRST_HELD_OUT_SEED + 1) for plan in PLANS]
    return [(rig, creature_poses(rig, options.poses)) for rig in own]


def main(options: Options) -> None:
    torch.set_num_threads(1)
    known = [(rig, real) for rig, real in measured_rigs(options) if real is not None]
    for number, arm in enumerate(options.arms):
        weights = weights_of(arm, options)
        rows = []
        for rig, real in known:
            space = PoseSpace.build(rig, weights=weights)
            made = space.sample(options.poses, seed=1, repair=False)
            rows.append(quality(space, real, made) | noticing(space, real))
        means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]} | _judging(options, weights)
        if number == 0:
            print("| | " + " | ".join(means) + " |\n" + "|---" * (len(means) + 1) + "|")
        print(f"| {arm} | " + " | ".join(f"{value:.2f}" for value in means.values()) + " |", flush=True)


if __name__ == "__main__":
    main(tyro.cli(Options))
