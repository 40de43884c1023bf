"""Training of the reader: from latents of films to the places of the figures' limbs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from safetensors.torch import save_file
from torch import Tensor, nn

from akd.prior.reader import FILE, PATCH, FigureReader
from akd.training.loop import TrainingConfig, train
from akd.training.prior.files import label_files, points_file
from akd.training.prior.latents import LatentFiles

NOISE = 0.5
"""Largest standard deviation of noise on latents: a prior's films are not as clean as true ones."""
PATH_WEIGHT = 2.0
"""Weight of the camera's steps over the ground beside the places of limbs."""


READER = TrainingConfig(
    steps=5000, learning_rate=7e-4, warmup=100, ema=0.998, cooldown=0.7, muon=("blocks.", "leave")
)  # fmt: skip


@dataclass(frozen=True)
class ReaderTraining:
    """What the reader is trained on, and how."""

    films: tuple[Path, ...]
    latents: Path
    folder: Path
    training: TrainingConfig = READER
    batch: int = 32


def train_reader(config: ReaderTraining, encoder: Any) -> FigureReader:
    """The trained reader with averaged weights; a run that was stopped is resumed."""
    files = LatentFiles(config.films, config.latents, encoder)
    films = files.read()
    points = read_points(config.films, files.keys)
    _, channels, _, height, width = films.latents.shape
    reader = FigureReader(channels, height * width // PATCH**2)

    def loss(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[Tensor, dict[str, float]]:
        chosen = torch.randint(len(points), (config.batch,), generator=randomness)
        clean = films.latents[chosen].float()
        noise = torch.randn(clean.shape, generator=randomness)
        spread = NOISE * torch.rand((len(clean), 1, 1, 1, 1), generator=randomness) ** 2
        return reading_loss(network(clean + spread * noise), points[chosen].float())

    train(reader, loss, config.training, config.folder).use_average()
    return reader


def read_points(folders: Sequence[Path], keys: Sequence[str]) -> Float[Tensor, "film frame row 3"]:
    """The points of the films whose latents were read, in their order."""
    files = {f"{folder.name}-{path.stem}": points_file(path) for folder in folders for path in label_files(folder)}
    return torch.cat([torch.from_numpy(np.load(files[key])) for key in keys])


def reading_loss(reading: Any, true: Float[Tensor, "film frame row 3"]) -> tuple[Float[Tensor, ""], dict[str, float]]:
    """Distance of points, and error of the camera's steps and height, all in sizes of the figure."""
    known = true[..., :-1, 0].isfinite()
    apart = (reading.points - true[..., :-1, :].nan_to_num()).square().sum(-1)
    places = (apart[known] + 1e-6).sqrt().mean()
    path = true[..., -1, :]
    steps = (reading.path.diff(dim=1) - path.diff(dim=1))[..., (0, 2)].abs().mean()
    height = (reading.path[..., 1] - path[..., 1]).abs().mean()
    numbers = {"places": float(places.detach()), "steps": float(steps.detach()), "height": float(height.detach())}
    return places + PATH_WEIGHT * (steps + height), numbers


def save_reader(weights: Mapping[str, Tensor], folder: Path) -> None:
    """Write a reader's weights into a prior's folder, in half precision."""
    (folder / FILE).parent.mkdir(parents=True, exist_ok=True)
    halves = {name: value.detach().half().contiguous() for name, value in weights.items()}
    save_file(halves, folder / FILE, metadata={"format": "pt"})
