"""The folder in which the embedded prior is made, from clips to the finished prior; every stage resumes where it stopped.

    clips/  held/      filmed individuals, for training and for validation
    vae/               the finished encoder (frozen/), training of the decoder
    latents/           the clips, encoded
    video/             training of the video model
    prior/             the result, as diffusers loads it
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from akd.training.data_card import DataCard, run_card
from akd.training.loop import TrainingConfig
from akd.training.prior.cache import write_clips, write_latents
from akd.training.prior.export import export_prior, finish_encoder
from akd.training.prior.vae import VaeTraining, train_decoder
from akd.training.prior.video_model import VideoTraining, train_video

INDIVIDUALS = 380
"""Training individuals of the shipped prior: twenty of each plan, with about eleven clips each."""
VIDEO = TrainingConfig(
    steps=20_500, learning_rate=2e-3, warmup=100, cooldown=0.07, ema=0.998, weight_decay=0.01, save_every=25
)
DECODER = TrainingConfig(steps=1_600, learning_rate=2e-3, save_every=25)


@dataclass(frozen=True)
class PriorRun:
    """The folders of a run."""

    folder: Path

    @property
    def card(self) -> DataCard:
        """Plans and words of the run."""
        return run_card(self.folder)

    @property
    def clips(self) -> Path:
        return self.folder / "clips"

    @property
    def held_out(self) -> Path:
        return self.folder / "held"

    @property
    def vae(self) -> Path:
        return self.folder / "vae"

    @property
    def latents(self) -> Path:
        return self.folder / "latents"

    @property
    def video(self) -> Path:
        return self.folder / "video"


def film_run(
    run: PriorRun, count: int = INDIVIDUALS, report: Callable[[int, int], None] = lambda done, count: None,
    *, current_plans: bool = False, workers: int = 1,
) -> None:  # fmt: skip
    """Film what is missing: one held-out individual of every plan, and so many training individuals.

    A new run has the plans and words of the shipped prior, or with ``current_plans`` those of today.
    """
    card = run_card(run.folder, current=current_plans)
    every = card.plans + card.held_out_plans
    write_clips(run.held_out, len(every), first_seed=card.first_held_out_seed, plans=every, report=report, workers=workers)
    write_clips(run.clips, count, plans=card.plans, report=report, workers=workers)


def train_vae_run(run: PriorRun, training: TrainingConfig = DECODER) -> None:
    """Finish the encoder if that was not done, and train the decoder."""
    config = VaeTraining(run.clips, run.held_out, run.vae, decoder=training)
    train_decoder(config, finish_encoder(run.vae, run.clips))


def train_video_run(run: PriorRun, training: TrainingConfig = VIDEO) -> None:
    """Encode the clips that are new, and train the video model."""
    write_latents(finish_encoder(run.vae, run.clips), run.clips, run.latents)
    train_video(VideoTraining(run.clips, run.latents, run.video, training, card=run.card))


def export_run(run: PriorRun, folder: Path | None = None, facts: str = "") -> Path:
    """Write the prior as far as it is trained."""
    folder = folder or run.folder / "prior"
    export_prior(run.vae, run.video, run.clips, folder, run.card, facts)
    return folder
