"""Filmed clips on disk, and their latents: one file of each for every individual, written once and never changed.

Pixels (`.npy`) are written before labels (`.json`), and all files under another name first, so a killed writer leaves nothing
half done and the next one continues. Latents are cached because encoding costs more than a training step of the transformer.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from akd.batch.engine import Loaded, do_all
from akd.errors import AkdError
from akd.render.film import FilmSettings
from akd.training.data_card import TRAINING_PLANS
from akd.training.prior.clips import CLIP_FILM, ClipLabel, individual_clips, individuals
from akd.training.prior.networks import Vae

Pixels = Float[Tensor, "clip 3 frame height width"]
"""Pixels as network inputs: −1 to 1, colours first."""


def write_clips(
    folder: Path, count: int, settings: FilmSettings | None = None, *, first_seed: int = 0,
    plans: tuple[str, ...] = TRAINING_PLANS, report: Callable[[int, int], None] = lambda done, count: None, workers: int = 1,
) -> None:  # fmt: skip
    """Film so many individuals into a folder; those already filmed are skipped."""
    settings = settings or CLIP_FILM
    folder.mkdir(parents=True, exist_ok=True)
    _agree_on_film(folder, settings)
    chosen = individuals(count, first_seed=first_seed, plans=plans)
    wanted = [{"folder": folder, "plan": plan, "seed": seed, "settings": settings} for plan, seed in chosen]
    do_all(_film_individual, wanted, workers=workers, report=report)


def _film_individual(loaded: Loaded, folder: Path, plan: str, seed: int, settings: FilmSettings) -> None:
    labels_file = folder / f"{plan}-{seed:05d}.json"
    if not labels_file.exists():
        videos, labels = individual_clips(plan, seed, settings)
        _write(labels_file.with_suffix(".npy"), lambda path: np.save(path.open("wb"), videos.numpy()))
        _write(labels_file, lambda path: path.write_text(json.dumps([asdict(label) for label in labels])))


def clip_film(folder: Path) -> FilmSettings:
    """The film settings of a cache. Caches without a reference leg were written when every film had that of ``CLIP_FILM``."""
    path = folder / "film.json"
    settings = FilmSettings.load(path)
    if "reference_leg" in json.loads(path.read_text()):
        return settings
    return replace(settings, reference_leg=CLIP_FILM.reference_leg)


def _agree_on_film(folder: Path, settings: FilmSettings) -> None:
    """All clips of a folder are filmed with the same settings."""
    if not (folder / "film.json").exists():
        settings.save(folder / "film.json")
    elif clip_film(folder) != settings:
        raise AkdError(f"{folder} holds clips filmed with other settings: use another cache folder.")


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file, whole or not at all."""
    part = path.with_name(path.name + ".part")
    write(part)
    part.replace(path)


@dataclass
class ClipCache:
    """The clips of a folder, in an order that does not depend on when they were written."""

    folder: Path
    labels: list[ClipLabel]
    rows: list[tuple[Path, int]]
    """File and row of every clip."""

    def __len__(self) -> int:
        return len(self.rows)

    def video(self, index: int) -> UInt8[Tensor, "frame height width 3"]:
        """One clip, read from disk."""
        path, row = self.rows[index]
        return torch.from_numpy(np.load(path, mmap_mode="r")[row].copy())


def read_cache(folder: Path, limit: int | None = None) -> ClipCache:
    """The clips written so far: of at most ``limit`` individuals, in the order of seeds, then plans."""
    files = sorted(
        (path for path in folder.glob("*-*.json")), key=lambda path: (path.stem.rpartition("-")[2], path.stem)
    )[:limit]
    if not files:
        raise AkdError(f"There are no clips in {folder}: film some with `akd prior clips` first.")
    labels, rows = [], []
    for path in files:
        own = [ClipLabel(**label) for label in json.loads(path.read_text())]
        labels += own
        rows += [(path.with_suffix(".npy"), row) for row in range(len(own))]
    return ClipCache(folder, labels, rows)


def to_network(videos: UInt8[Tensor, "clip frame height width 3"]) -> Pixels:
    """Videos in bytes as network inputs."""
    return videos.permute(0, 4, 1, 2, 3).float() / 127.5 - 1


@torch.no_grad()
def normalise_encoder(vae: Vae, clips: ClipCache, count: int = 64) -> None:
    """Scale the encoder's last layer so that every channel of its latents has mean 0 and variance 1 over clips."""
    indices = torch.linspace(0, len(clips) - 1, count).long().tolist()
    latents = torch.cat([vae.encode(to_network(clips.video(index)[None])).latent_dist.mean for index in indices])
    mean, std = latents.mean((0, 2, 3, 4)), latents.std((0, 2, 3, 4))
    last = vae.encoder.conv_out.conv
    channels = len(mean)
    last.weight[:channels] /= std.view(-1, 1, 1, 1, 1)
    last.bias[:channels] = (last.bias[:channels] - mean) / std
    last.bias[channels:] -= 2 * std.log()  # the log-variances of the posterior change alike


@torch.no_grad()
def write_latents(vae: Vae, cache: Path, folder: Path) -> int:
    """Encode every individual of a cache that has no latents in the folder yet; returns how many were new."""
    folder.mkdir(parents=True, exist_ok=True)
    new = 0
    for path in dict.fromkeys(path for path, _ in read_cache(cache).rows):
        target = folder / path.name
        if not target.exists():
            videos = torch.from_numpy(np.load(path))
            latents = torch.cat([vae.encode(to_network(video[None])).latent_dist.mean for video in videos])
            part = target.with_name(target.name + ".part")
            with part.open("wb") as file:
                np.save(file, latents.half().numpy())
            part.replace(target)
            new += 1
    return new


def read_latents(cache: Path, folder: Path) -> tuple[Tensor, list[ClipLabel]]:
    """Latents and labels of all clips that are encoded."""
    clips = read_cache(cache)
    have = {path.name: torch.from_numpy(np.load(path)) for path in sorted(folder.glob("*.npy"))}
    labelled = zip(clips.rows, clips.labels, strict=True)
    rows = [(have[path.name][row], label) for (path, row), label in labelled if path.name in have]
    return torch.stack([latents for latents, _ in rows]), [label for _, label in rows]
