"""Latents of films on disk: every film encoded once, and its first frame alone, as an image-to-video model is given it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from akd.errors import AkdError
from akd.files.writing import written_beside
from akd.training.prior.cache import Label, read_labels
from akd.training.prior.files import label_files


@dataclass(frozen=True, eq=False)
class FilmLatents:
    """All films that are encoded."""

    latents: Float[Tensor, "film channel cell row column"]
    """Half precision."""
    first: Float[Tensor, "film channel row column"]
    """Latents of the first frame alone."""
    labels: list[Label]


class LatentFiles:
    """The films of some folders and their latents; films that are new are encoded when they are read."""

    def __init__(self, films: Sequence[Path], folder: Path, encoder: Any) -> None:
        self.films, self.folder, self.encoder = tuple(films), folder, encoder
        self._read: dict[str, tuple[Tensor, Tensor, list[Label]]] = {}

    @property
    def keys(self) -> list[str]:
        """What has been read, in its order: folder and file of the films."""
        return sorted(self._read)

    def read(self) -> FilmLatents:
        """Everything that is filmed so far."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for folder in self.films:
            for path in label_files(folder):
                key = f"{folder.name}-{path.stem}"
                if key not in self._read:
                    self._read[key] = (*self._latents(path, self.folder / f"{key}.npz"), read_labels(path))
        if not self._read:
            raise AkdError(f"There are no films in {', '.join(map(str, self.films))}: make some with `akd prior clips` first.")
        parts = [self._read[key] for key in self.keys]
        return FilmLatents(
            torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts]),
            [label for part in parts for label in part[2]],
        )  # fmt: skip

    def _latents(self, films: Path, target: Path) -> tuple[Tensor, Tensor]:
        if not target.exists():
            videos = torch.from_numpy(np.load(films.with_suffix(".npy")))
            encoded = [encode(self.encoder, video) for video in videos]
            latents, first = (torch.cat(part).numpy() for part in zip(*encoded, strict=True))
            with written_beside(target) as part, part.open("wb") as file:
                np.savez(file, latents=latents, first=first)
        with np.load(target) as stored:
            return torch.from_numpy(stored["latents"]), torch.from_numpy(stored["first"])


@torch.no_grad()
def encode(encoder: Any, video: UInt8[Tensor, "frame height width 3"]) -> tuple[Tensor, Tensor]:
    """Latents of a film and of its first frame, in half precision."""
    pixels = video.permute(3, 0, 1, 2)[None].float() / 127.5 - 1
    means = [encoder.encode(part).chunk(2, dim=1)[0].half() for part in (pixels, pixels[:, :, :1])]
    return means[0], means[1][:, :, 0]
