"""Wan VACE: a control film (depths, masks, skeletons) beside the sentence says how things move. Predicts flow.

The film is encoded twice, once with what is to be made (mask 1) and once with what is kept (mask 0), the other part grey; the
mask of every pixel of a cell comes in on channels of its own.
"""

from typing import Any

import torch
from torch import Tensor

from akd.prior.families.wan import Wan
from akd.prior.family import Condition, Picture, Pixels, TextEmbedding
from akd.prior.schedule import Latents


class WanVACE(Wan):
    pipeline_class = "WanVACEPipeline"
    takes_control = True

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        self.takes_first_frame = True

    def condition(self, picture: Picture, cells: int) -> Condition:
        """The first frame is kept, and the rest made freely."""
        frames = 1 + (cells - 1) * self.pipe.vae_scale_factor_temporal
        return self.control(picture.new_zeros(*picture.shape[:2], frames, *picture.shape[3:]), picture)

    def control(self, film: Pixels, first: Picture | None = None, reference: Picture | None = None) -> Condition:
        """A picture for reference comes before the film, kept as a whole."""
        made = torch.ones_like(film[:, :1])
        if first is not None:
            film = torch.cat((first, film[:, :, 1:]), 2)
            made[:, :, 0] = 0
        latents = torch.cat((self.encode(film * (1 - made)), self.encode(film * made)), 1)
        given = torch.cat((latents, self._masks(made, latents.shape[2])), 1)
        if reference is not None:
            shown = self.encode(reference)
            nothing = shown.new_zeros(len(shown), given.shape[1] - shown.shape[1], *shown.shape[2:])
            given = torch.cat((torch.cat((shown, nothing), 1), given), 2)
        return Condition(given, 0 if first is None else 1, ahead=0 if reference is None else 1)

    def _masks(self, made: Tensor, cells: int) -> Tensor:
        """Masks of the pixels of each cell, from one frame of each."""
        side = self.pipe.vae_scale_factor_spatial
        batch, _, frames, height, width = made.shape
        blocks = made.view(batch, frames, height // side, side, width // side, side).permute(0, 3, 5, 1, 2, 4).flatten(1, 2)
        return torch.nn.functional.interpolate(blocks, size=(cells, height // side, width // side), mode="nearest-exact")

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        given = self._nothing(z_t) if condition is None else condition.latents.to(z_t)
        return self.call(z_t, time, time, text, control_hidden_states=given)

    def _nothing(self, z_t: Latents) -> Tensor:
        """Nothing is kept and nothing controlled: grey on all channels, masks of ones."""
        side, in_time = self.pipe.vae_scale_factor_spatial, self.pipe.vae_scale_factor_temporal
        frames, height, width = 1 + in_time * (z_t.shape[2] - 1), side * z_t.shape[3], side * z_t.shape[4]
        if z_t.device.type == "meta":  # plans need shapes only, and this is computed once for many predictions
            return z_t.new_zeros(len(z_t), 2 * z_t.shape[1] + side**2, *z_t.shape[2:])
        size = frames, height, width
        if self._empty_film is None or self._empty_film[0] != size:
            with torch.no_grad():
                empty = self.control(torch.zeros(1, 3, *size, device=z_t.device, dtype=self.vae.dtype))
            self._empty_film = size, empty.latents
        return self._empty_film[1].to(z_t).expand(len(z_t), -1, -1, -1, -1)

    _empty_film: tuple[tuple[int, int, int], Tensor] | None = None
    """The last film without control that was encoded."""
