"""Commands that train the pose space; ``pose`` uses it on a character."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from akd.cli.console import PLAIN, console
from akd.errors import AkdError
from akd.prior.hardware import Hardware

Sub = tyro.conf.subcommand
RunFolder = Annotated[Path, tyro.conf.Positional]
MAX_LEARNING_RATE = 0.1
"""Above it nothing is learned."""
MAX_BODIES = 100_000
"""Most bodies that borrow clips."""


@dataclass(frozen=True)
class Draw:
    """Draw poses to train on: creatures of all plans but the held-out ones, in their gaits and actions. Resumes where it stopped.

    With --motions also real poses: artists' clips on their rigs, and clips of people and animals on other bodies.

    Example: akd posespace draw runs/posespace --motions ../shared/motions
    """

    folder: RunFolder
    """Folder of the run; it is made if there is none."""
    seeds: int = 165
    """Individuals of each plan, below the first held-out seed."""
    motions: Path | None = None
    """A folder of real motions: cmu/ and glb/, each with its index.json; only their training part is used."""
    bodies: int = 240
    """Bodies that borrow clips made for others."""
    workers: int = 1
    """Processes at a time, one core each; more than one needs akd[ray]."""
    current_plans: bool = False
    """Begin a run with all plans of this version instead of those of the shipped weights. A run keeps the plans it began with."""

    def run(self) -> None:
        from rich.progress import Progress

        from akd.training.data_card import run_card
        from akd.training.posespace.dataset import CREATURES, write_pose_shards
        from akd.training.posespace.distilled_poses import FIRST_DISTILLED_SEED
        from akd.training.posespace.real_poses import write_real_poses

        if not 0 <= self.bodies <= MAX_BODIES:
            raise AkdError(f"--bodies is from 0 to {MAX_BODIES:,}, not {self.bodies}.")
        if not 1 <= self.seeds <= FIRST_DISTILLED_SEED:
            raise AkdError(f"--seeds is from 1 to {FIRST_DISTILLED_SEED}, where distilled ones begin, not {self.seeds}.")
        plans = run_card(self.folder, current=self.current_plans).plans
        folder = self.folder / "poses" / CREATURES
        with Progress(transient=True) as progress:
            task = progress.add_task("drawing poses", total=self.seeds)
            write_pose_shards(
                folder, range(self.seeds), plans, workers=self.workers,
                report=lambda done, count: progress.update(task, completed=done),
            )  # fmt: skip
            if self.motions is not None:
                real = progress.add_task("real poses", total=None)
                write_real_poses(
                    folder.parent, self.motions, self.bodies, workers=self.workers,
                    report=lambda done, count: progress.update(real, completed=done, total=count),
                )  # fmt: skip
        console().print(f"Poses are in {folder.parent}", **PLAIN)


@dataclass(frozen=True)
class Collect:
    """Add the motions of finished `akd animate` runs to the poses to train on.

    Example: akd posespace collect runs/posespace --runs runs/fox-walking runs/dog-running
    """

    folder: RunFolder
    """Folder of the run."""
    runs: tuple[Path, ...]
    """Folders that `akd animate` wrote."""
    source: str = "distilled"
    """A name for where the poses come from; `akd posespace train --sources` chooses by it."""
    every: int = 2
    """Take one of so many frames."""

    def run(self) -> None:
        from akd.training.posespace.distilled_poses import collect_runs

        if not self.source.isidentifier():
            raise AkdError(f"--source is a name of letters and digits, not {self.source!r}.")
        if self.every < 1:
            raise AkdError(f"--every is at least 1, not {self.every}.")
        count = collect_runs(list(self.runs), self.folder, source=self.source, every=self.every)
        console().print(f"Took {count} poses from {len(self.runs)} runs, from the source {self.source!r}", **PLAIN)


@dataclass(frozen=True)
class Distil:
    """Add poses that a video model finds likely: short distillations, a minute for each creature. Resumes where it stopped.

    With --from clips they come from clips that were followed instead (`akd follow`, `akd animate --via video`), from the source
    'followed'; runs that lost their clip are left out.

    Examples:
        akd posespace distil runs/posespace --count 19
        akd posespace distil runs/posespace --from clips runs/followed
    """

    folder: RunFolder
    """Folder of the run."""
    count: int = 19
    """Individuals, of all plans in turn; each has two motions and gives up to 150 poses."""
    prior: str = "embedded"
    """The video model: embedded, a folder, or a name on the hub."""
    workers: int = 1
    """Processes at a time, one core each; more than one needs akd[ray]."""
    hardware: Hardware = field(default_factory=Hardware)
    source: Annotated[tuple[Literal["clips"], Path] | None, tyro.conf.arg(name="from")] = None
    """"clips" and a folder with runs that followed clips, at any depth."""
    every: int = 2
    """Take one of so many frames of a clip."""

    def run(self) -> None:
        if self.source is not None:
            self._from_clips(self.source[1])
        else:
            self._from_prior()

    def _from_clips(self, clips: Path) -> None:
        from akd.training.posespace.distilled_poses import collect_clips

        if not clips.is_dir():
            raise AkdError(f"There is no folder {clips}.")
        if self.every < 1:
            raise AkdError(f"--every is at least 1, not {self.every}.")
        count, taken, lost = collect_clips(clips, self.folder, every=self.every)
        left = f"; {lost} more were left out, because they lost their clip or hold no pose" if lost else ""
        console().print(f"{count} poses of {taken} followed clips are in {self.folder / 'poses' / 'followed'}{left}", **PLAIN)

    def _from_prior(self) -> None:
        from rich.progress import Progress

        from akd.prior.load import load_prior
        from akd.training.data_card import run_card
        from akd.training.posespace.distilled_poses import DISTILLED, FIRST_DISTILLED_SEED, distil_poses

        card = run_card(self.folder)
        most = card.first_held_out_seed - FIRST_DISTILLED_SEED
        if not 1 <= self.count <= most:
            raise AkdError(f"--count is from 1 to {most}, where held-out individuals begin, not {self.count}.")
        folder = self.folder / "poses" / DISTILLED
        with Progress(transient=True) as progress:
            task = progress.add_task("distilling poses", total=self.count)
            own = load_prior(self.prior, **vars(self.hardware), tell=progress.console.print) if self.workers == 1 else self.prior
            kept = distil_poses(
                folder, own, self.count, plans=card.plans, workers=self.workers,
                report=lambda done, count: progress.update(task, completed=done),
            )  # fmt: skip
        console().print(f"{kept} poses are in {folder}", **PLAIN)


@dataclass(frozen=True)
class Train:
    """Train the pose network on a run's poses; a training that was stopped or killed resumes.

    Example: akd posespace train runs/posespace
    """

    folder: RunFolder
    """Folder of the run."""
    steps: int | None = None
    """How many steps in all; by default as many as the shipped weights were trained for."""
    sources: tuple[str, ...] = ()
    """Train on poses of these sources only: creatures, artists, retargeted, distilled, followed. All by default."""
    start: Path | None = None
    """Weights to begin with, such as those of an earlier edition; a training that was stopped goes on from its own."""
    learning_rate: float | None = None
    """Largest learning rate; by default that of the shipped weights. Less for weights that are nearly done."""
    name: str = "training"
    """Folder of this training, in that of the run."""
    tensorboard: Path | None = None
    """Also write curves of every step for TensorBoard, into this folder."""

    def run(self) -> None:
        from akd.posespace.network import load_network
        from akd.training.posespace.train import PoseTraining, train_posespace

        if self.steps is not None and self.steps < 1:
            raise AkdError(f"--steps is at least 1, not {self.steps}.")
        if self.learning_rate is not None and not 0 < self.learning_rate <= MAX_LEARNING_RATE:
            raise AkdError(f"--learning-rate is above 0 and at most {MAX_LEARNING_RATE:g}, not {self.learning_rate}.")
        if self.start is not None:
            load_network(self.start)  # says what is wrong with it
        config = PoseTraining(self.folder, sources=self.sources or None, name=self.name, start=self.start)
        usual = config.training
        chosen = replace(
            usual, steps=usual.steps if self.steps is None else self.steps,
            learning_rate=self.learning_rate or usual.learning_rate, tensorboard=self.tensorboard,
        )  # fmt: skip
        train_posespace(replace(config, training=chosen))


@dataclass(frozen=True)
class Export:
    """Write a run's network, as far as it is trained, as the weights that `akd pose --weights` takes.

    Example: akd posespace export runs/posespace --out weights.safetensors
    """

    folder: RunFolder
    """Folder of the run."""
    out: Path
    """The .safetensors to write."""
    name: str = "training"
    """Folder of the training, in that of the run."""
    motions: Path | None = None
    """The folder of real motions, to calibrate scores by poses on characters that training left out; without, by samples."""
    force: bool = False
    """Overwrite a file that exists."""

    def run(self) -> None:
        from akd.assets import check_output
        from akd.posespace.network import save_weights
        from akd.training.posespace.train import PoseTraining, trained_so_far

        check_output(self.out, force=self.force)
        network, steps = trained_so_far(PoseTraining(self.folder, name=self.name))
        if self.motions is not None:
            from akd.training.posespace.calibrate import calibrate

            calibrate(network, self.motions)
        save_weights(network, self.out, {"steps": str(steps)})
        console().print(f"Wrote {self.out}, trained for {steps} steps", **PLAIN)


@dataclass(frozen=True)
class Mean:
    """Write the weighted mean of two weight files: between an earlier edition and a later one trained on from it.

    What only the first one has (new parts of the network) is taken as it is; scores are calibrated again with --motions.

    Example: akd posespace mean new.safetensors old.safetensors --share 0.7 --out between.safetensors
    """

    weights: Annotated[Path, tyro.conf.Positional]
    """Weights whose sizes the result has."""
    other: Annotated[Path, tyro.conf.Positional]
    """The others."""
    out: Path
    """The .safetensors to write."""
    share: float = 0.7
    """Share of the first ones."""
    motions: Path | None = None
    """The folder of real motions, to calibrate scores by poses on characters that training left out; without, by samples."""
    force: bool = False
    """Overwrite a file that exists."""

    def run(self) -> None:
        from akd.assets import check_output
        from akd.posespace.network import load_network, mean_network, save_weights

        if not 0 <= self.share <= 1:
            raise AkdError(f"--share lies between 0 and 1, not at {self.share}.")
        check_output(self.out, force=self.force)
        mixed = mean_network(load_network(self.weights), load_network(self.other), self.share)
        if self.motions is not None:
            from akd.training.posespace.calibrate import calibrate

            calibrate(mixed, self.motions)
        save_weights(mixed, self.out, {"share": f"{self.share:g}"})
        console().print(f"Wrote {self.out}", **PLAIN)


Job = (
    Annotated[Draw, Sub("draw")] | Annotated[Collect, Sub("collect")] | Annotated[Distil, Sub("distil")]
    | Annotated[Train, Sub("train")] | Annotated[Mean, Sub("mean")] | Annotated[Export, Sub("export")]
)  # fmt: skip


def posespace(job: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[Job]]) -> None:
    """Train the model of plausible poses: draw, collect or distil poses, train, export."""
    job.run()
