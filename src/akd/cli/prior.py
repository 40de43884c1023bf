"""Commands on video priors: what they cost, how the small one of our own is trained, what a prior knows."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

import tyro

from akd.cli.console import console, watched

Sub = tyro.conf.subcommand


@dataclass(frozen=True)
class Info:
    """Sizes and costs of a video model, computed without its weights.

    Example: akd prior info THUDM/CogVideoX-5b --frames 49
    """

    name: Annotated[str, tyro.conf.Positional] = "embedded"
    """A folder, a model on the hub, or "embedded"."""
    frames: int | None = None
    """Frames of the film; by default what the model was trained for."""
    size: tuple[int, int] | None = None
    """Width and height of the film [px]."""

    def run(self) -> None:
        from rich.table import Table

        from akd.prior.info import prior_info

        found = prior_info(self.name, frames=self.frames, size=self.size)
        table = Table("what", "value", title=found.name)
        for field in fields(found):
            value = getattr(found, field.name)
            shown = f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)
            table.add_row(field.name.replace("_", " "), shown)
        console().print(table, "Memory and work are estimates.", sep="\n")


@dataclass(frozen=True)
class Clips:
    """Film clips to train on: creatures of all plans but the held-out ones, in all gaits. Goes on where it stopped.

    Example: akd prior clips runs/prior/clips --count 1900
    """

    folder: Annotated[Path, tyro.conf.Positional]
    count: int = 1900
    """How many individuals."""
    held_out: bool = False
    """Film held-out individuals and plans instead, to judge by."""

    def run(self) -> None:
        from rich.progress import Progress

        from akd.prior.cache import write_clips
        from akd.prior.clips import FIRST_HELD_OUT_SEED, HELD_OUT_PLANS, TRAINING_PLANS

        plans = TRAINING_PLANS + HELD_OUT_PLANS if self.held_out else TRAINING_PLANS
        with Progress() as progress:
            task = progress.add_task("filming individuals", total=self.count)
            write_clips(
                self.folder, self.count, first_seed=FIRST_HELD_OUT_SEED if self.held_out else 0, plans=plans,
                report=lambda done, count: progress.update(task, completed=done),
            )  # fmt: skip


@dataclass(frozen=True)
class Train:
    """Train a part of our own prior; a run that was stopped or killed goes on.

    Example: akd prior train vae --clips runs/prior/clips --held-out runs/prior/held --folder runs/prior/vae
    """

    part: Annotated[Literal["vae", "video"], tyro.conf.Positional]
    clips: Path
    """Folder of filmed clips (akd prior clips)."""
    folder: Path
    """Where state and log go."""
    held_out: Path | None = None
    """Folder of held-out clips that judge the autoencoder."""
    vae: Path | None = None
    """Folder of the trained autoencoder, for the video model; its latents are kept beside the clips."""
    steps: int | None = None
    """How many steps; by default those of the committed configuration."""

    def run(self) -> None:
        from dataclasses import replace

        from akd.errors import AkdError

        if self.part == "vae":
            from akd.prior.vae_training import VaeTraining, train_decoder, train_encoder

            if self.held_out is None:
                raise AkdError("Training the autoencoder needs clips to judge it by: give --held-out FOLDER.")
            config = VaeTraining(self.clips, self.held_out, self.folder)
            if self.steps is not None:
                config = replace(
                    config, encoder=replace(config.encoder, steps=self.steps), decoder=replace(config.decoder, steps=self.steps)
                )
            train_decoder(config, train_encoder(config))
            return
        from akd.prior.export import finish_encoder
        from akd.prior.latents import write_latents
        from akd.prior.video_training import VideoTraining, train_video

        if self.vae is None:
            raise AkdError("Training the video model needs the autoencoder's run: give --vae FOLDER.")
        latents = self.clips.with_name(self.clips.name + "-latents")
        write_latents(finish_encoder(self.vae, self.clips), self.clips, latents)
        video = VideoTraining(self.clips, latents, self.folder)
        train_video(video if self.steps is None else replace(video, training=replace(video.training, steps=self.steps)))


@dataclass(frozen=True)
class Export:
    """Put a trained autoencoder and video model together as a prior folder that diffusers loads.

    Example: akd prior export --clips runs/prior/clips --vae runs/prior/vae --video runs/prior/video --out runs/prior/prior
    """

    clips: Path
    vae: Path
    video: Path
    out: Path
    force: bool = False
    """Overwrite the folder if it exists."""

    def run(self) -> None:
        from akd.assets import write_new
        from akd.prior.export import export_prior

        write_new(self.out, force=self.force)
        export_prior(self.vae, self.video, self.clips, self.out)
        console().print(f"Wrote {self.out}")


@dataclass(frozen=True)
class Probe:
    """Does the true clip look more likely to the prior than wrong ones (frozen, reversed, shuffled …)? Shares of wins.

    Example: akd prior probe embedded --plans dog human
    """

    name: Annotated[str, tyro.conf.Positional] = "embedded"
    plans: tuple[str, ...] = ("dog", "human", "horse", "spider", "bear", "ostrich")
    individuals: int = 1
    """Held-out individuals of each plan."""
    draws: int = 4
    """Draws of noise for each clip and time."""

    def run(self) -> None:
        from rich.table import Table

        from akd.prior.clips import FIRST_HELD_OUT_SEED
        from akd.prior.load import load_prior
        from akd.prior.probe import TIMES, creature_cases, probe

        prior = load_prior(self.name)
        seeds = range(FIRST_HELD_OUT_SEED, FIRST_HELD_OUT_SEED + self.individuals)
        plans = watched(self.plans, len(self.plans), "probing")
        found = probe(prior, (case for plan in plans for case in creature_cases(plan, seeds, prior.film)), draws=self.draws)
        table = Table("", *found.kinds, title=f"{self.name}: share of wins of the true clip, t ≥ .4")
        late = [t for t in TIMES if t >= 0.4]
        for name in found.names:
            table.add_row(name, *(f"{found.mean(kind, name=name, times=late):.2f}" for kind in found.kinds))
        for t in TIMES:
            table.add_row(f"t = {t}", *(f"{found.mean(kind, times=[t]):.2f}" for kind in found.kinds))
        console().print(table)


Job = (
    Annotated[Info, Sub("info")] | Annotated[Clips, Sub("clips")] | Annotated[Train, Sub("train")]
    | Annotated[Export, Sub("export")] | Annotated[Probe, Sub("probe")]
)  # fmt: skip


def prior(job: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[Job]], /) -> None:
    """Video models: what they cost, train our own small one, probe what one knows."""
    job.run()
