"""The interface that every family of video models implements, and what several of them share.

Latents have one layout everywhere: batch, channel, frame, row, column. A family turns them into what its network takes.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.prior.placement import Resident
from akd.prior.schedule import Latents, NoiseSchedule
from akd.render.film import FilmSettings

Pixels = Float[Tensor, "batch 3 frame height width"]
"""Videos as autoencoders take them, colours in −1 to 1."""
Picture = Float[Tensor, "batch 3 1 height width"]
"""Videos of a single frame."""
TextEmbedding = dict[str, Tensor]
"""An embedded sentence as keyword arguments of the network, batch first."""


@dataclass(frozen=True, eq=False)
class Condition:
    """What is given of a film before the rest is predicted, encoded: in image-to-video models its first frame."""

    latents: Latents
    """Encoded frames as the family's network wants them: the given cells alone, or all cells with the rest empty."""
    cells: int
    """How many latent frames from the first on are given; they are no part of what is predicted."""
    extra: TextEmbedding = field(default_factory=dict)
    """Further arguments of the network, such as an embedded picture."""
    in_film: bool = False
    """Whether the given cells stand in the film itself, without noise, instead of on channels beside it."""
    ahead: int = 0
    """Latent frames of pictures for reference, which stand before the film while it is sampled and are no part of it."""

    def expand(self, batch: int) -> "Condition":
        """The same for a whole batch, if it was made for one film."""
        parts = {name: spread(part, batch) for name, part in self.extra.items()}
        return replace(self, latents=spread(self.latents, batch), extra=parts)

    def __getitem__(self, part: slice) -> "Condition":
        """That of some films of a batch."""
        return replace(self, latents=self.latents[part], extra={name: each[part] for name, each in self.extra.items()})

    def put_into(self, z: Latents) -> Latents:
        """Latents of a film with the given cells in their place; as they are if those stand beside it."""
        if not self.in_film:
            return z
        return torch.cat((spread(self.latents, len(z)).to(z), z[:, :, self.cells :]), 2)


def spread(part: Tensor, batch: int) -> Tensor:
    """A tensor of batch 1 as one of a larger batch."""
    return part.expand(batch, *part.shape[1:]) if len(part) == 1 else part


@dataclass(frozen=True)
class FilmGrid:
    """Frame counts and picture sizes that a model can take."""

    side: int
    """Height and width are multiples of this [px]."""
    first: int
    """The smallest number of frames."""
    step: int
    """Frames beyond the first come in multiples of this."""
    size: tuple[int, int] | None = None
    """The only height and width [px] that it takes, if its positions were learned for these."""

    def nearest(self, frames: int, height: int, width: int) -> tuple[int, int, int]:
        """The allowed frames, height and width nearest to the given ones."""
        count = self.first + self.step * max(round((frames - self.first) / self.step), 0)
        rows, columns = self.size or (max(round(length / self.side), 1) * self.side for length in (height, width))
        return count, rows, columns


class Family(ABC):
    """One family of video models: a thin adapter around its parts."""

    pipeline_class: str
    """Name of its pipeline class in diffusers, as ``model_index.json`` has it."""
    negative_prompt: str = ""
    """What the model's makers tell it to stay away from."""
    scene: str = (
        "{} The whole body is in the picture, seen from the front right, on a floor of grey tiles before a pale sky; the camera"
        " follows it smoothly."
    )
    """A sentence with view, ground and camera of our films, in the manner of the captions that the family was trained on."""
    takes_first_frame: bool = False
    """Whether the network can be given the first frame of a film (image-to-video)."""
    takes_control: bool = False
    """Whether the network can be given a control film (depths, masks, skeletons), whose motion its own films follow."""
    unneeded: tuple[str, ...] = ()
    """Parts of its pipeline that only sound or other uses need; they are not loaded."""
    encode_chunk_frames: int = 10_000
    """Frames that are encoded together, to bound memory."""

    spill: bool = False
    """Keep what the way back through the autoencoder needs in main memory."""
    in_tiles: bool = False
    """Decode large films in tiles, to bound memory: their seams are blended and differ a little from the whole."""
    compute_device: torch.device | None = None
    """Where networks and autoencoder compute, if that is not where their weights are."""
    residents: Sequence[Resident] = ()
    """Networks that come to the device only while they work."""

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe

    @property
    def network(self) -> Any:
        """The network that predicts noise, v or flow."""
        return self.pipe.transformer

    @property
    def vae(self) -> Any:
        """The autoencoder."""
        return self.pipe.vae

    @property
    def networks(self) -> tuple[Any, ...]:
        """All networks that predict; some models have one for much noise and one for little."""
        return (self.network,)

    @property
    def device(self) -> torch.device:
        """Where the parts compute."""
        return self.compute_device or next(self.vae.parameters()).device

    @property
    def text_device(self) -> torch.device:
        """Where the text encoder reads."""
        return next(self.pipe.text_encoder.parameters()).device

    def drop_text_encoder(self) -> None:
        """Free the memory of the text encoders; sentences cannot be embedded afterwards."""
        for name in ("text_encoder", "text_encoder_2", "connectors"):
            if getattr(self.pipe, name, None) is not None:
                setattr(self.pipe, name, None)

    @property
    def max_text_tokens(self) -> int:
        """Tokens of a sentence that the text encoder reads, end token included."""
        return int(self.pipe.tokenizer.model_max_length)

    @property
    def unknown_token(self) -> int:
        """The token of characters outside the vocabulary."""
        return self.pipe.tokenizer.unk_token_id

    def tokens(self, text: str) -> list[int]:
        """Tokens of a sentence, without the end token."""
        return self.pipe.tokenizer(text, add_special_tokens=False)["input_ids"]

    @property
    @abstractmethod
    def grid(self) -> FilmGrid:
        """Frame counts and sizes that fit."""

    @property
    @abstractmethod
    def film(self) -> FilmSettings:
        """Settings of the films that the model was trained on, where its folder does not give them."""

    @property
    @abstractmethod
    def compression(self) -> tuple[int, int, int]:
        """Channels of the latents, and the frames and pixels per side that share one latent cell."""

    def latent_shape(self, frames: int, height: int, width: int) -> tuple[int, int, int, int]:
        """Channels, frames, rows and columns of a film's latents."""
        channels, in_time, side = self.compression
        return channels, (frames - 1) // in_time + 1, height // side, width // side

    @abstractmethod
    def schedule(self) -> NoiseSchedule:
        """The noise schedule that the network was trained with."""

    @abstractmethod
    def embed(self, text: str) -> TextEmbedding:
        """A sentence through tokenizer and text encoder."""

    @abstractmethod
    def encode(self, video: Pixels) -> Latents:
        """Mean latents, scaled as the network takes them, in chunks of frames with gradient checkpointing."""

    @abstractmethod
    def decode(self, latents: Latents) -> Pixels:
        """Videos of latents."""

    def decode_bounded(self, latents: Latents) -> Pixels:
        """Videos of latents, in tiles where that is wanted and the autoencoder knows how."""
        if not self.in_tiles or not hasattr(self.vae, "enable_tiling"):
            return self.decode(latents)
        self.vae.enable_tiling()
        try:
            return self.decode(latents)
        finally:
            self.vae.disable_tiling()  # encoding goes another way

    def condition(self, picture: Picture, cells: int) -> Condition:
        """The encoded first frame (a video of one frame) of films with that many latent frames."""
        raise AkdError(f"A {self.pipeline_class} cannot be given a first frame: use an image-to-video model.")

    def control(self, film: Pixels, first: Picture | None = None, reference: Picture | None = None) -> Condition:
        """An encoded control film, with the first frame and a picture of how things look if those are given, too."""
        raise AkdError(f"A {self.pipeline_class} cannot be given a control film: use a Wan VACE model.")

    @abstractmethod
    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        """The network's own prediction; without a condition nothing is given, in image-to-video models an empty frame."""


def posterior_mean(moments: Float[Tensor, "batch twice cell row column"]) -> Latents:
    """The mean half of an autoencoder's output; the other half is the log-variance."""
    return moments.chunk(2, dim=1)[0]


def per_channel(values: Any, like: Latents) -> Float[Tensor, "1 channel 1 1 1"]:
    """One number per channel, shaped to multiply latents."""
    return torch.as_tensor(values).to(like).view(1, -1, 1, 1, 1)


def film_with_given(z_t: Latents, time: Tensor, condition: Condition | None) -> tuple[Latents, Float[Tensor, "batch cell"]]:
    """A noisy film with its given cells in place, and the time of every latent frame: 0 for the given ones."""
    times = time[:, None].expand(-1, z_t.shape[2])
    if condition is None:
        return z_t, times
    given = torch.arange(z_t.shape[2], device=z_t.device) < condition.cells
    return condition.put_into(z_t), times * ~given


def picture_file(picture: Picture) -> Any:
    """A video of one frame as the 8-bit picture that image encoders' own preparation takes."""
    from PIL import Image

    values = (picture[0, :, 0].permute(1, 2, 0).float() / 2 + 0.5).clamp(0, 1)
    return Image.fromarray((values.cpu() * 255).round().byte().numpy())


def beside(z_t: Latents, condition: Condition | None) -> Float[Tensor, "batch twice cell row column"]:
    """Noisy latents, and on further channels the given ones, with zeros for the frames that are not given."""
    given = torch.zeros_like(z_t)
    if condition is not None:
        given[:, :, : condition.cells] = condition.latents.to(z_t)
    return torch.cat((z_t, given), 1)
