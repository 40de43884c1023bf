"""Contact sheets: samples of a prior, and reconstructions by its autoencoder."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from akd.prior.family import Condition
from akd.prior.prior import VideoPrior

PROMPTS = (
    "a dog walking", "a horse galloping", "a human walking", "a human running",
    "a spider walking", "a cat standing still", "a giraffe walking", "a chick hopping",
)  # fmt: skip
"""Eight prompts that show a prior's quality at a glance."""


def sample_sheet(
    prior: VideoPrior, prompts: Iterable[str] = PROMPTS, *, columns: int = 9, steps: int = 25, guidance: float = 4.0,
    seed: int = 0, condition: Condition | None = None,
) -> Float[Tensor, "down across 3"]:  # fmt: skip
    """One row of frames for each sentence."""
    options: dict[str, Any] = {"steps": steps, "guidance": guidance, "seed": seed, "condition": condition}
    return sheet([prior.sample(prompt, **options)[0] for prompt in prompts], columns)


def reconstruction_sheet(
    prior: VideoPrior, videos: Sequence[Float[Tensor, "frame height width 3"]], columns: int = 9
) -> Float[Tensor, "down across 3"]:
    """Each clip, and below it what is left of it after encoding and decoding."""
    with torch.no_grad():
        rows = [row for video in videos for row in (video, prior.decode(prior.encode(video[None]))[0])]
    return sheet(rows, columns)


def sheet(videos: Sequence[Float[Tensor, "frame height width 3"]], columns: int) -> Float[Tensor, "down across 3"]:
    """Frames, evenly taken, side by side; videos below one another."""
    rows = []
    for video in videos:
        chosen = torch.linspace(0, len(video) - 1, min(columns, len(video))).round().long()
        rows.append(torch.cat(list(video[chosen]), 1))
    return torch.cat(rows).clamp(0, 1)
