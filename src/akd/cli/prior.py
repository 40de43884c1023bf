"""Commands on video priors: sizes and costs, training the embedded one, samples and probes."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from akd.cli.console import PLAIN, console, watched
from akd.errors import AkdError
from akd.prior.hardware import Hardware

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
    all: bool = False
    """A table of all known models instead, as in the documentation."""

    def run(self) -> None:
        from akd.pipeline.cost import big_clips
        from akd.prior.info import KNOWN_MODELS, prior_info
        from akd.prior.tables import model_lines, one_model

        if self.all:
            found = (prior_info(name) for name in watched(tuple(KNOWN_MODELS), len(KNOWN_MODELS), "measuring"))
            for line in model_lines((info, *big_clips(info)) for info in found):
                console().print(line, **PLAIN)
        else:
            console().print(one_model(prior_info(self.name, frames=self.frames, size=self.size)), **PLAIN)


@dataclass(frozen=True)
class Clips:
    """Film training clips: our creatures in all gaits and, with --motions, real motion on many bodies. Resumes where it stopped.

    Real motion is captured people and artists' clips, on their own bodies and on others of the same build; what is held out
    from training is never filmed. Filming takes about a second of one core for each clip and body.

    Examples:
        akd prior clips runs/prior --motions ../shared/motions
        akd prior clips runs/formulas --count 380
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of the run; clips, latents, training states and the result live below it."""
    count: int = 120
    """How many individuals of our own, each in about eleven clips of our formulas."""
    motions: Path | None = None
    """Folder of real motion: cmu/ and glb/ with their index.json."""
    rounds: int = 3
    """How often every real clip is filmed, each time on another body."""
    start: Path | None = None
    """A prior folder, or parts of one, to train on from instead of the shipped one; the run has the words of its card."""
    fresh: bool = False
    """Train from random weights."""
    workers: int = 1
    """Processes at a time, one core each; more than one needs akd[ray]."""
    current_plans: bool = False
    """Begin a run with all plans and words of this version instead of the shipped prior's. A run keeps what it began with."""

    def run(self) -> None:
        from rich.progress import Progress

        from akd.training.prior.run import PriorRun, film_run

        with Progress(transient=True) as progress:
            task = progress.add_task("filming", total=None)
            counts = film_run(
                PriorRun(self.folder), self.count, lambda done, count: progress.update(task, completed=done, total=count),
                motions=self.motions, rounds=self.rounds, current_plans=self.current_plans, fresh=self.fresh,
                start=self.start, workers=self.workers,
            )  # fmt: skip
        console().print(f"Clips are in {self.folder}")
        for what, number in counts.items():
            console().print(f"{number} pairs of clip and body: {what}", markup=False)


@dataclass(frozen=True)
class Train:
    """Train a part of the embedded prior on a run's clips; a training that was stopped or killed resumes.

    Example: akd prior train video runs/prior
    """

    part: Annotated[Literal["vae", "video", "reader"], tyro.conf.Positional]
    """The decoder, the video model, or the reader of its films."""
    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""
    steps: int | None = None
    """How many steps in all; by default those of the committed configuration."""
    tensorboard: Path | None = None
    """Also write curves of every step for TensorBoard, into this folder."""

    def run(self) -> None:
        from dataclasses import replace

        from akd.training.prior.run import DECODER, READER, VIDEO, PriorRun, train_reader_run, train_vae_run, train_video_run

        parts = {"vae": (train_vae_run, DECODER), "video": (train_video_run, VIDEO), "reader": (train_reader_run, READER)}
        train, config = parts[self.part]
        config = replace(config, steps=config.steps if self.steps is None else self.steps, tensorboard=self.tensorboard)
        train(PriorRun(self.folder), config)


@dataclass(frozen=True)
class Export:
    """Write a run's prior, as far as it is trained, as a folder that diffusers loads.

    Example: akd prior export runs/prior
    """

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of the run; the prior is written to prior/ in it."""

    def run(self) -> None:
        from akd.training.prior.run import PriorRun, export_run

        console().print(f"Wrote {export_run(PriorRun(self.folder))}")


@dataclass(frozen=True)
class Sample:
    """Sample a prior: a contact sheet with one row of frames for each prompt, or a video of one prompt.

    Examples:
        akd prior sample embedded "a dog walking" "a horse galloping" --out samples.png
        akd prior sample Wan-AI/Wan2.2-TI2V-5B-Diffusers "a red fox walks over bare ground" --image fox.png --out fox.mp4
        akd prior sample Wan-AI/Wan2.1-VACE-1.3B-diffusers "a red fox walks over snow" --control control.mp4 --out fox.mp4
    """

    name: Annotated[str, tyro.conf.Positional] = "embedded"
    """A folder, a model on the hub, or "embedded"."""
    prompts: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Prompts; without any, eight that show a small prior's quality."""
    out: Path = Path("samples.png")
    """A picture (.png, .jpg) of frames, or a video (.mp4, .gif)."""
    image: Path | None = None
    """The first frame, for image-to-video models; it is cut to the film's shape."""
    control: Path | None = None
    """A control film by `akd pose film` or others, for Wan VACE models; the sample has its size and motion."""
    reference: Path | None = None
    """A picture of how the character looks, for Wan VACE models: from any side, best on white; alone or with --control."""
    seed: int = 0
    steps: int = 25
    """Sampling steps."""
    guidance: float = 4.0
    """Scale of classifier-free guidance."""
    hardware: Hardware = field(default_factory=Hardware)
    force: bool = False
    """Overwrite an existing picture."""

    def run(self) -> None:
        from akd.assets import check_output
        from akd.files.video import VIDEO_ENDINGS, write_picture, write_video
        from akd.prior.given import given_to
        from akd.prior.load import load_prior
        from akd.prior.sheet import PROMPTS, sample_sheet

        check_output(self.out, force=self.force)
        prompts, video = self.prompts or PROMPTS, self.out.suffix.lower() in VIDEO_ENDINGS
        if video and len(prompts) > 1:
            raise AkdError(f"A video shows one prompt, and {len(prompts)} were given: write a picture, or say one.")
        for path, what in ((self.image, "picture"), (self.control, "control film"), (self.reference, "picture")):
            if path is not None and not path.is_file():
                raise AkdError(f"There is no {what} at {path}: check its name.")
        prior = load_prior(self.name, **vars(self.hardware), way_back=False, tell=console().print)
        prior, condition = given_to(prior, image=self.image, control=self.control, reference=self.reference)
        if video:
            made = prior.sample(
                prompts[0], steps=self.steps, guidance=self.guidance, seed=self.seed, condition=condition
            )[0]
            write_video(self.out, made, prior.film.fps)
        else:
            sentences = watched(prompts, len(prompts), "sampling")
            options = {"steps": self.steps, "seed": self.seed}
            drawn = sample_sheet(prior, sentences, guidance=self.guidance, condition=condition, **options)
            write_picture(self.out, drawn)
        console().print(f"Wrote {self.out}: " + "; ".join(prompts), **PLAIN)


@dataclass(frozen=True)
class Probe:
    """Compare denoising errors on true clips and on wrong ones (frozen, reversed, shuffled …): share of wins of the true ones.

    Example: akd prior probe embedded --plans dog human
    """

    name: Annotated[str, tyro.conf.Positional] = "embedded"
    plans: tuple[str, ...] = ("dog", "human", "horse", "spider", "bear", "ostrich")
    individuals: int = 1
    """Held-out individuals of each plan."""
    draws: int = 4
    """Draws of noise for each clip and time."""
    error: Literal["plain", "guided"] = "plain"
    """By the plain denoising error, or by the guided one, by which distillation compares motions."""
    hardware: Hardware = field(default_factory=Hardware)

    def run(self) -> None:
        from rich.table import Table

        from akd.prior.load import load_prior
        from akd.training.data_card import FIRST_HELD_OUT_SEED
        from akd.training.prior.probe import TIMES, creature_cases, probe

        prior = load_prior(self.name, **vars(self.hardware), way_back=False, tell=console().print)
        seeds = range(FIRST_HELD_OUT_SEED, FIRST_HELD_OUT_SEED + self.individuals)
        plans = watched(self.plans, len(self.plans), "probing")
        cases = (case for plan in plans for case in creature_cases(plan, seeds, prior.film))
        found = probe(prior, cases, draws=self.draws, error=self.error)
        table = Table("", *found.kinds, title=f"{self.name}: share of wins of the true clip, t ≥ .4")
        late = [t for t in TIMES if t >= 0.4]
        for name in found.names:
            table.add_row(name, *(f"{found.mean(kind, name=name, times=late):.2f}" for kind in found.kinds))
        for t in TIMES:
            table.add_row(f"t = {t}", *(f"{found.mean(kind, times=[t]):.2f}" for kind in found.kinds))
        console().print(table)


Job = (
    Annotated[Info, Sub("info")] | Annotated[Clips, Sub("clips")] | Annotated[Train, Sub("train")]
    | Annotated[Export, Sub("export")] | Annotated[Sample, Sub("sample")] | Annotated[Probe, Sub("probe")]
)  # fmt: skip


def prior(job: tyro.conf.OmitSubcommandPrefixes[tyro.conf.OmitArgPrefixes[Job]]) -> None:
    """Video models: sizes and costs, training the embedded one, samples and probes."""
    job.run()
