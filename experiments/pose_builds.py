"""Whole builds left out of training: is a bird, an insect or a fish posed well by a network that has never seen one?

    python -m experiments.pose_builds runs/posespace --builds fish --start first-edition.safetensors --steps 400

Two short trainings for each build, with it and without it, alike in everything else. Weights to start from must not have seen
the build either (the first edition's have seen no fish, but chicks, ants, beetles and spiders); without any, training begins
with nothing.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import tyro

from akd.assets import load_rig
from akd.posespace.network import save_weights
from akd.posespace.space import PoseSpace
from akd.training.posespace.train import PoseTraining, train_posespace
from experiments.posespace import Options as TableOptions
from experiments.posespace import clip_poses, noticing, quality


@dataclass(frozen=True)
class Build:
    """What belongs to a build."""

    plans: tuple[str, ...]
    """Plans and families that are left out."""
    measured: tuple[str, ...]
    """Characters of the motions on which both trainings are measured: of the test part, or kept for validation."""


BUILDS = {
    "birds": Build(("chick", "m2m_bird", "q_cube_bird"), ("q_bird2016",)),
    "insects": Build(("ant", "beetle", "spider"), ("m2m_spider",)),
    "fish": Build(
        ("q_pirate_shark", "q_fish_shark", "q_fishes", "q_whale2016", "q_fish2016", "q_piranha2017"),
        ("m2m_shark", "q_cutefish_tuna", "q_cutefish_puffer"),
    ),
}


@dataclass(frozen=True)
class Options:
    """What is trained and measured."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder with drawn poses."""
    builds: tuple[str, ...] = tuple(BUILDS)
    start: Path | None = None
    """Weights that both trainings begin with."""
    steps: int = 400
    poses: int = 64
    motions: Path = TableOptions.motions


def weights_of(build: str, without: bool, options: Options) -> Path:
    """Train with or without a build, or go on, and export."""
    name = f"{'without' if without else 'with'}-{build}"
    config = PoseTraining(options.run, name=name, start=options.start, without=BUILDS[build].plans if without else ())
    config = replace(config, training=replace(config.training, steps=options.steps, ema=0.99))
    path = config.folder / "weights.safetensors"
    save_weights(train_posespace(config), path, {"steps": str(options.steps), "arm": name})
    return path


def main(options: Options) -> None:
    torch.set_num_threads(1)
    shown = False
    for build in options.builds:
        rigs = [load_rig(options.motions / "glb" / f"{name}.glb") for name in BUILDS[build].measured]
        known = [(rig, real) for rig in rigs if (real := clip_poses(rig, options.poses)[0]) is not None]
        for without in (False, True):
            weights, rows = weights_of(build, without, options), []
            for rig, real in known:
                space = PoseSpace.build(rig, weights=weights)
                made = space.sample(options.poses, seed=1, repair=False)
                rows.append(quality(space, real, made) | noticing(space, real))
            means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
            if not shown:
                print("| | " + " | ".join(means) + " |\n" + "|---" * (len(means) + 1) + "|")
                shown = True
            arm = f"{'without' if without else 'with'} {build}"
            print(f"| {arm} | " + " | ".join(f"{value:.2f}" for value in means.values()) + " |", flush=True)


if __name__ == "__main__":
    main(tyro.cli(Options))
