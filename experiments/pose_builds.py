"""Whole builds left out of training: is a bird, an insect or a fish posed well by a network that has never seen one?

    python -m experiments.pose_builds runs/posespace --base-steps 400 --steps 150

One training on everything but these builds, from random weights; from there a short training on everything, and one without each
build, alike in all else. So no arm starts with weights that have seen the build it is measured on.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import tyro

from akd.assets import load_rig
from akd.creatures.build import creature
from akd.posespace.denoiser import Poses
from akd.posespace.network import save_weights
from akd.posespace.space import PoseSpace
from akd.rig import Rig
from akd.training.data_card import FIRST_HELD_OUT_SEED
from akd.training.posespace.train import PoseTraining, train_posespace
from experiments.posespace import Options as TableOptions
from experiments.posespace import clip_poses, creature_poses, noticing, quality

WARMUP = 25
"""Steps over which the learning rate grows: a quarter of the usual, for trainings are short."""


@dataclass(frozen=True)
class Build:
    """What belongs to a build."""

    left_out: tuple[str, ...]
    """Plans and families that are left out."""
    plans: tuple[str, ...]
    """Plans of which a new individual is measured."""
    characters: tuple[str, ...]
    """Characters of the motions that are measured: of the test part, or kept for validation."""


BUILDS = {
    "birds": Build(("chick", "m2m_bird", "q_cube_bird"), ("chick",), ("q_bird2016",)),
    "insects": Build(("ant", "beetle", "spider"), ("spider",), ("m2m_spider",)),
    "fish": Build(
        ("q_pirate_shark", "q_fish_shark", "q_fishes", "q_whale2016", "q_fish2016", "q_piranha2017"),
        (), ("m2m_shark", "q_fish_whale", "q_cutefish_tuna"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What is trained and measured."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder with drawn poses."""
    builds: tuple[str, ...] = tuple(BUILDS)
    base_steps: int = 400
    """Steps without any of the builds."""
    steps: int = 150
    """Steps of every arm from there."""
    rigs: int = 4
    """Rigs in a batch."""
    poses: int = 64
    motions: Path = TableOptions.motions


def weights_of(name: str, without: tuple[str, ...], steps: int, start: Path | None, options: Options) -> Path:
    """Train without some plans and families, or go on, and export."""
    config = PoseTraining(options.run, name=name, start=start, without=without, rigs=options.rigs)
    config = replace(config, training=replace(config.training, steps=steps, warmup=WARMUP, ema=0.99))
    path = config.folder / "weights.safetensors"
    if not path.exists():
        save_weights(train_posespace(config), path, {"steps": str(steps), "arm": name})
    return path


def measured_rigs(build: Build, options: Options) -> list[tuple[Rig, Poses]]:
    """Rigs of a build that no arm was trained on, with poses they take."""
    own = [creature(plan, FIRST_HELD_OUT_SEED + 1) for plan in build.plans]
    out = [(rig, creature_poses(rig, options.poses)) for rig in own]
    artists = [load_rig(options.motions / "glb" / f"{name}.glb") for name in build.characters]
    return out + [(rig, real) for rig in artists if (real := clip_poses(rig, options.poses)[0]) is not None]


def main(options: Options) -> None:
    torch.set_num_threads(1)
    every = tuple(name for build in BUILDS.values() for name in build.left_out)
    base = weights_of("builds-base", every, options.base_steps, None, options)
    arms = {"with": weights_of("builds-with", (), options.steps, base, options)}
    for number, name in enumerate(options.builds):
        rigs = measured_rigs(BUILDS[name], options)
        arms["without"] = weights_of(f"builds-without-{name}", BUILDS[name].left_out, options.steps, base, options)
        for arm, weights in arms.items():
            rows = []
            for rig, real in rigs:
                space = PoseSpace.build(rig, weights=weights)
                rows.append(quality(space, real, space.sample(options.poses, seed=1, repair=False)) | noticing(space, real))
            means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
            if not number and arm == "with":
                print("| | " + " | ".join(means) + " |\n" + "|---" * (len(means) + 1) + "|")
            print(f"| {name}, {arm} | " + " | ".join(f"{value:.2f}" for value in means.values()) + " |", flush=True)


if __name__ == "__main__":
    main(tyro.cli(Options))
