"""The folder in which the embedded prior is made, from films to the finished prior; every stage resumes where it stopped.

    training.json      plans, words and actions
    start/             the prior folder that training starts from: the shipped one for actions, or a new one
    clips/  held/      films of our formulas, for training and for validation
    real/              films of captured people and artists' clips
    latents/           the films, encoded
    video/             training of the video model
    vae/               training of the decoder
    reader/            training of the reader of films
    prior/             the result, as diffusers loads it
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akd.errors import AkdError
from akd.prior.folder import EMBEDDED_ACTIONS, EMBEDDED_FOLDERS
from akd.prior.load import load_prior
from akd.training.data_card import CARD_NAME, DataCard, run_card, with_real_motion
from akd.training.loop import TrainingConfig
from akd.training.prior.cache import write_clips
from akd.training.prior.clips import CLIP_FILM, caption_tokenizer
from akd.training.prior.export import averaged_weights, export_prior, fresh_prior
from akd.training.prior.read_films import READER, ReaderTraining, save_reader, train_reader
from akd.training.prior.real_films import write_real_films
from akd.training.prior.real_motion import Body, real_clips
from akd.training.prior.vae import VaeTraining, train_decoder
from akd.training.prior.video_model import VideoTraining, train_video

INDIVIDUALS = 120
"""Individuals of ours that are filmed, each in about eleven clips of our formulas."""
ROUNDS = 3
"""How often every real clip is filmed, each time on another body."""
VIDEO = TrainingConfig(
    steps=4_400, learning_rate=1e-3, warmup=200, cooldown=0.3, ema=0.9985, weight_decay=0.01, muon=("attn1.", "ff."),
    save_every=50,
)  # fmt: skip
"""Muon for the matrices of attention and feed-forward layers: on the same batches the error falls faster (docs/log.md)."""
DECODER = TrainingConfig(steps=1_600, learning_rate=2e-3, save_every=25)


@dataclass(frozen=True)
class PriorRun:
    """The folders of a run."""

    folder: Path

    @property
    def card(self) -> DataCard:
        """Plans and words of the run."""
        return run_card(self.folder)

    def __getitem__(self, name: str) -> Path:
        """A folder of the run."""
        return self.folder / name

    @property
    def films(self) -> tuple[Path, ...]:
        """Folders of films to train on."""
        return tuple(folder for folder in (self["clips"], self["real"]) if folder.is_dir())


def begin_run(
    run: PriorRun, motions: Path | None, *, current_plans: bool = False, fresh: bool = False, start: Path | None = None
) -> DataCard:
    """Fix words and start of a new run; an old one keeps its own.

    It starts from the shipped prior, with the parts in ``start`` in their places and the words of its card. With
    ``current_plans`` it has the plans and words of this version instead of the shipped prior's, with ``motions`` the actions and
    nouns of that folder too; ``fresh`` starts from random weights.
    """
    if start is not None and not (run.folder / CARD_NAME).exists():
        DataCard.load(start / CARD_NAME).save(run.folder / CARD_NAME)
    known = (run.folder / CARD_NAME).exists()
    card = run_card(run.folder, current=current_plans)
    if motions is not None and not known:
        clips = real_clips(motions)
        nouns = {Body(file=clip.file).noun for clip in clips if not clip.captured}
        card = with_real_motion(card, (clip.action for clip in clips), nouns)
        card.save(run.folder / CARD_NAME)
    if not fresh and not run["start"].exists():
        shutil.copytree(EMBEDDED_FOLDERS[EMBEDDED_ACTIONS], run["start"])
        if start is not None:
            shutil.copytree(start, run["start"], dirs_exist_ok=True)
    return card


def film_run(
    run: PriorRun, count: int = INDIVIDUALS, report: Callable[[int, int], None] = lambda done, count: None,
    *, motions: Path | None = None, rounds: int = ROUNDS, current_plans: bool = False, fresh: bool = False,
    start: Path | None = None, workers: int = 1,
) -> dict[str, int]:  # fmt: skip
    """Film what is missing: one held-out individual of every plan, training individuals, and real motion.

    Returns how many pairs of clip and body are filmed, and how many were left out for which reason.
    """
    card = begin_run(run, motions, current_plans=current_plans, fresh=fresh, start=start)
    every = card.plans + card.held_out_plans
    write_clips(run["held"], len(every), first_seed=card.first_held_out_seed, plans=every, report=report, workers=workers)
    write_clips(run["clips"], count, plans=card.plans, report=report, workers=workers)
    return {} if motions is None else write_real_films(run["real"], motions, CLIP_FILM, rounds, report=report, workers=workers)


def start_folder(run: PriorRun) -> Path:
    """The prior that training starts from; a fresh one is made from the films."""
    if not run["start"].is_dir():
        fresh_prior(run["start"], run.films, run.card, words=EMBEDDED_FOLDERS[EMBEDDED_ACTIONS])
    return run["start"]


def train_vae_run(run: PriorRun, training: TrainingConfig = DECODER) -> None:
    """Train the decoder on from where the start left it."""
    train_decoder(VaeTraining(run.films, run["held"], run["vae"], decoder=training), start_folder(run) / "vae")


def train_video_run(run: PriorRun, training: TrainingConfig = VIDEO) -> None:
    """Encode the films that are new, and train the video model."""
    if not run.films:
        raise AkdError(f"There are no films in {run.folder}: make some with `akd prior clips` first.")
    start = start_folder(run)
    config = VideoTraining(run.films, run["latents"], run["video"], start, CLIP_FILM.frames, training, card=run.card)
    train_video(config, tokenizer_config(run.card), load_prior(str(start)).family.vae)


def train_reader_run(run: PriorRun, training: TrainingConfig = READER) -> None:
    """Encode the films that are new, and train the reader of films."""
    encoder = load_prior(str(start_folder(run))).family.vae
    train_reader(ReaderTraining(run.films, run["latents"], run["reader"], training), encoder)


def tokenizer_config(card: DataCard) -> dict[str, Any]:
    """``tokenizer.json`` of the card's words."""
    return json.loads(caption_tokenizer(card.words).backend_tokenizer.to_str())


def export_run(run: PriorRun, folder: Path | None = None, facts: str = "") -> Path:
    """Write the prior as far as it is trained."""
    folder = folder or run["prior"]
    export_prior(run["start"], run["video"], run["vae"], folder, run.card, tokenizer_config(run.card), CLIP_FILM, facts)
    reader = run["reader"] / "state.safetensors"
    if reader.is_file():
        save_reader(averaged_weights(reader), folder)
    return folder
