"""Short trainings that each leave something out, beside one that leaves out nothing, on the same poses and steps.

python -m bench.pose_controls runs/posespace --steps 600
python -m bench.pose_controls runs/posespace --steps 300 --after training --arms everything "no distilled poses"
"""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from safetensors.torch import load_file

from akd.creatures.build import creature
from akd.posespace.data.specimens import FIRST_HELD_OUT_SEED
from akd.posespace.space import PoseSpace
from akd.posespace.training import PoseTraining, train_posespace
from akd.posespace.weights import save_weights
from bench.posespace import Case, creature_poses, noticing, quality

ARMS: dict[str, dict[str, Any]] = {
    "everything": {}, "no distilled poses": {"sources": ("creatures",)}, "distilled poses only": {"sources": ("distilled",)},
    "places only": {"bends": 0.0}, "no graph": {"graph": False}, "no validators": {"collisions": 0.0},
}  # fmt: skip
PLANS = ("dog", "human", "bear")
"""New individuals of two known plans, and one of a plan that was held out."""


@dataclass(frozen=True)
class Options:
    """What is trained and measured."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder with drawn poses."""
    steps: int = 600
    poses: int = 60
    after: str | None = None
    """A training of the run that every arm goes on from, at the full learning rate; by default all begin with nothing."""
    arms: tuple[str, ...] = tuple(ARMS)


def weights_of(arm: str, options: Options) -> Path:
    """Train an arm, or go on, and export it."""
    config = PoseTraining(options.run, name=f"control-{arm.replace(' ', '-')}", **ARMS[arm])
    config = replace(config, training=replace(config.training, steps=options.steps, ema=0.99))
    if options.after is not None:
        config = _after(config, options.run / options.after / "state.safetensors")
    path = config.folder / "weights.safetensors"
    save_weights(train_posespace(config), path, {"steps": str(options.steps), "arm": arm})
    return path


def _after(config: PoseTraining, state: Path) -> PoseTraining:
    """The same training, begun where another one is."""
    begun = int(load_file(state)["step"])
    config.folder.mkdir(parents=True, exist_ok=True)
    if not (config.folder / "state.safetensors").exists():
        shutil.copy(state, config.folder / "state.safetensors")
    return replace(config, training=replace(config.training, steps=begun + config.training.steps, cooldown=0.0))


def main(options: Options) -> None:
    torch.set_num_threads(1)
    rigs = {plan: creature(plan, FIRST_HELD_OUT_SEED + 1) for plan in PLANS}
    real = {plan: creature_poses(rig, options.poses) for plan, rig in rigs.items()}
    for number, arm in enumerate(options.arms):
        weights = weights_of(arm, options)
        rows = []
        for plan, rig in rigs.items():
            space = PoseSpace.build(rig, weights=weights)
            made = space.sample(options.poses, seed=1, repair=False)
            rows.append(quality(space, Case("control", plan, rig, real[plan]), made) | noticing(space, real[plan]))
        keys = list(rows[0])
        if number == 0:
            print("| | " + " | ".join(keys) + " |\n" + "|---" * (len(keys) + 1) + "|")
        print(f"| {arm} | " + " | ".join(f"{np.mean([row[key] for row in rows]):.2f}" for key in keys) + " |", flush=True)


if __name__ == "__main__":
    main(tyro.cli(Options))
