"""What differs between families of video models, and nothing else.

Latents have one layout everywhere: batch, channel, frame, row, column. A family turns them into what its network takes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from akd.prior.schedule import Latents, NoiseSchedule
from akd.render.film import FilmSettings

Pixels = Float[Tensor, "batch 3 frame height width"]
"""Pictures as autoencoders take them, −1 to 1."""
Text = dict[str, Tensor]
"""A sentence as keyword arguments of the network, batch first."""


@dataclass(frozen=True)
class Grid:
    """Which films fit: sides are multiples of ``side``; the frames are ``first`` and then so many times ``step`` more."""

    side: int
    first: int
    step: int

    def nearest(self, frames: int, height: int, width: int) -> tuple[int, int, int]:
        """The allowed frames, height and width nearest to the given ones."""
        count = self.first + self.step * max(round((frames - self.first) / self.step), 0)
        rows, columns = (max(round(length / self.side), 1) * self.side for length in (height, width))
        return count, rows, columns


class Family(ABC):
    """One family: a thin reading of its diffusers pipeline."""

    pipeline_class: str
    """Name of its class in diffusers, as ``model_index.json`` says it."""
    frames_at_once: int = 10_000
    """How many frames are encoded together; the rest waits."""

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe

    @property
    def network(self) -> Any:
        """What predicts."""
        return self.pipe.transformer

    @property
    def longest_sentence(self) -> int:
        """Tokens that are read, the end included."""
        return int(self.pipe.tokenizer.model_max_length)

    @property
    @abstractmethod
    def grid(self) -> Grid:
        """Which films fit."""

    @property
    @abstractmethod
    def film(self) -> FilmSettings:
        """How films looked that the model learned from, where its folder does not say."""

    @property
    @abstractmethod
    def squeeze(self) -> tuple[int, int, int]:
        """Channels of the latents, and how many frames and pixels of a side share one cell."""

    def latent_shape(self, frames: int, height: int, width: int) -> tuple[int, int, int, int]:
        """Channels, frames, rows and columns of a film's latents."""
        channels, several, side = self.squeeze
        return channels, (frames - 1) // several + 1, height // side, width // side

    @abstractmethod
    def schedule(self) -> NoiseSchedule:
        """Its noise."""

    @abstractmethod
    def embed(self, text: str) -> Text:
        """A sentence, understood."""

    @abstractmethod
    def encode(self, video: Pixels) -> Latents:
        """Mean latents, scaled as the network takes them; a chunk of frames at a time, remembering little for the way back."""

    @abstractmethod
    def decode(self, latents: Latents) -> Pixels:
        """Pictures of latents."""

    @abstractmethod
    def predict(self, z_t: Latents, time: Tensor, text: Text) -> Latents:
        """The network's own prediction."""


SMALL_PICTURES = 300_000
"""Numbers in a piece of film that need no saving of memory; the embedded prior's whole film has 208,896."""


def forgetfully(function: Any, *args: Any) -> Any:
    """Call a function that keeps nothing for the way back and computes it again there; if its input is small, just call it."""
    if args[0].numel() <= SMALL_PICTURES:
        return function(*args)
    return checkpoint(function, *args, use_reentrant=False, preserve_rng_state=False)


def awake(part: Any) -> Any:
    """A part of a pipeline whose insides are about to be called: with offloading it may have to come back to the device."""
    hook = getattr(part, "_hf_hook", None)
    if hook is not None:
        hook.pre_forward(part)
    return part


def mean_of(moments: Float[Tensor, "batch twice cell row column"]) -> Latents:
    """The mean half of an autoencoder's output."""
    return moments.chunk(2, dim=1)[0]


def per_channel(values: Any, like: Latents) -> Float[Tensor, "1 channel 1 1 1"]:
    """Numbers of a configuration, shaped to multiply latents."""
    return torch.as_tensor(values).to(like).view(1, -1, 1, 1, 1)
