"""Commands on the pose space: training it here; using it on a character in ``pose``."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from akd.cli.console import console

Sub = tyro.conf.subcommand


@dataclass(frozen=True)
class Draw:
    """Poses to learn from: individuals of all plans but the held-out ones, in all they do. Goes on where it stopped.

    Example: akd posespace draw runs/posespace
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""
    seeds: int = 165
    """Individuals of each plan."""
    current_plans: bool = False
    """Begin a run with all plans of this version instead of those of the shipped weights. A run keeps the plans it began with."""

    def run(self) -> None:
        from rich.progress import Progress

        from akd.training.data_card import run_card
        from akd.training.posespace.dataset import CREATURES, write_pose_shards

        plans = run_card(self.folder, current=self.current_plans).plans
        with Progress(transient=True) as progress:
            task = progress.add_task("drawing poses", total=self.seeds)
            folder = self.folder / "poses" / CREATURES
            write_pose_shards(folder, range(self.seeds), plans, report=lambda done, count: progress.update(task, completed=done))
        console().print(f"Poses are in {folder}")


@dataclass(frozen=True)
class Collect:
    """Take the motions of other runs as poses to learn from: those that `akd animate` distilled from a video prior.

    Example: akd posespace collect runs/posespace --runs runs/fox-walking runs/dog-running
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""
    runs: tuple[Path, ...]
    """Folders that `akd animate` wrote."""
    source: str = "distilled"
    """How the poses are tagged; `akd posespace train --sources` chooses by it."""
    every: int = 2
    """Take each so-manieth frame."""

    def run(self) -> None:
        from akd.training.posespace.distilled_poses import collect_runs

        count = collect_runs(list(self.runs), self.folder, source=self.source, every=self.every)
        console().print(f"Took {count} poses from {len(self.runs)} runs, tagged {self.source!r}")


@dataclass(frozen=True)
class Distil:
    """Poses that the video prior believes in: short distillations, a minute for each creature. Goes on where it stopped.

    Example: akd posespace distil runs/posespace --count 19
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""
    count: int = 19
    """Individuals; plans in turn; each does two things and gives up to 150 poses."""
    prior: str = "embedded"
    """The video model: embedded, a folder, or a name on the hub."""

    def run(self) -> None:
        from rich.progress import Progress

        from akd.prior.load import load_prior
        from akd.training.posespace.distilled_poses import DISTILLED, distil_poses

        with Progress(transient=True) as progress:
            task = progress.add_task("distilling poses", total=self.count)
            folder = self.folder / "poses" / DISTILLED
            kept = distil_poses(
                folder, load_prior(self.prior), self.count, report=lambda done, count: progress.update(task, completed=done)
            )
        console().print(f"{kept} poses are in {folder}")


@dataclass(frozen=True)
class Train:
    """Train the pose network on a run's poses; a training that was stopped or killed goes on.

    Example: akd posespace train runs/posespace
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""
    steps: int | None = None
    """How many steps in all; by default those of the committed configuration."""
    sources: tuple[str, ...] = ()
    """Learn from poses of these sources only: creatures, distilled. All by default."""
    name: str = "training"
    """Folder of this training below the run's."""

    def run(self) -> None:
        from akd.training.posespace.train import PoseTraining, train_posespace

        config = PoseTraining(self.folder, sources=self.sources or None, name=self.name)
        if self.steps is not None:
            config = replace(config, training=replace(config.training, steps=self.steps))
        train_posespace(config)


@dataclass(frozen=True)
class Export:
    """Write a run's network, as far as it is trained, as the weights that `akd pose` loads.

    Example: akd posespace export runs/posespace --out weights.safetensors
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""
    out: Path
    name: str = "training"

    def run(self) -> None:
        from akd.posespace.network import save_weights
        from akd.training.posespace.train import PoseTraining, trained_so_far

        network, steps = trained_so_far(PoseTraining(self.folder, name=self.name))
        save_weights(network, self.out, {"steps": str(steps)})
        console().print(f"Wrote {self.out}, trained for {steps} steps")


Job = (
    Annotated[Draw, Sub("draw")] | Annotated[Collect, Sub("collect")] | Annotated[Distil, Sub("distil")]
    | Annotated[Train, Sub("train")] | Annotated[Export, Sub("export")]
)  # fmt: skip


def posespace(job: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[Job]]) -> None:
    """Train the model of plausible poses: draw, collect or distil poses, train, export."""
    job.run()
