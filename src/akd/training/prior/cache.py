"""Filmed clips on disk: one file for every individual, written once and never changed.

Pixels (`.npy`) are written before labels (`.json`), and all files under another name first, so a killed writer leaves nothing
half done and the next one continues.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
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
from akd.training.prior.files import label_files, write_films
from akd.training.prior.real_films import RealLabel

Label = ClipLabel | RealLabel
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
        write_films(labels_file, *individual_clips(plan, seed, settings))


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


@dataclass
class ClipCache:
    """The films of some folders, in an order that does not depend on when they were written."""

    labels: list[Label]
    rows: list[tuple[Path, int]]
    """File and row of every clip."""

    def __len__(self) -> int:
        return len(self.rows)

    def video(self, index: int) -> UInt8[Tensor, "frame height width 3"]:
        """One clip, read from disk."""
        path, row = self.rows[index]
        return torch.from_numpy(np.load(path, mmap_mode="r")[row].copy())


def read_cache(*folders: Path) -> ClipCache:
    """The films written so far, in the order of seeds, then plans."""
    files = sorted(
        (path for folder in folders for path in label_files(folder)),
        key=lambda path: (path.stem.rpartition("-")[2], path.stem),
    )
    if not files:
        raise AkdError(f"There are no clips in {', '.join(map(str, folders))}: film some with `akd prior clips` first.")
    labels, rows = [], []
    for path in files:
        own = read_labels(path)
        labels += own
        rows += [(path.with_suffix(".npy"), row) for row in range(len(own))]
    return ClipCache(labels, rows)


def read_labels(path: Path) -> list[Label]:
    """The labels of a file of films: of real motion, or of our formulas."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return [RealLabel(**entry) if "source" in entry else ClipLabel(**entry) for entry in entries]


def to_network(videos: UInt8[Tensor, "clip frame height width 3"]) -> Pixels:
    """Videos in bytes as network inputs."""
    return videos.permute(0, 4, 1, 2, 3).float() / 127.5 - 1
