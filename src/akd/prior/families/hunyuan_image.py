"""HunyuanVideo image-to-video: its text encoder reads a sentence together with the first frame. Predicts flow.

There are two kinds. One takes the first frame's latents and a mask beside the film, the other has that frame in the film; its
network knows that the first cells are clean.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from akd.prior.families.hunyuan import HunyuanVideo
from akd.prior.family import Condition, Picture, TextEmbedding, beside, picture_file
from akd.prior.schedule import Latents

INTERLEAVE = {"latent_concat": 2, "token_replace": 4}
"""One in so many of a picture's tokens is kept, by the kind of model; as diffusers chooses."""
SENTENCE = "sentence"
"""Number of a sentence, which travels with its embedding, because another picture asks for another embedding."""
REMEMBERED = 8
"""Embeddings of a sentence with a picture that are kept; a step asks for two sentences again and again."""


class HunyuanVideoImage(HunyuanVideo):
    pipeline_class = "HunyuanVideoImageToVideoPipeline"
    takes_first_frame = True

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        self._sentences: list[str] = []
        self._seen: dict[tuple[int, bytes], TextEmbedding] = {}

    @property
    def in_film(self) -> bool:
        """Whether a given frame stands in the film itself."""
        return self.network.config.image_condition_type == "token_replace"

    def drop_text_encoder(self) -> None:
        """The large one is needed for every new first frame, and stays in main memory."""
        self.pipe.text_encoder_2 = None

    def embed(self, text: str) -> TextEmbedding:
        """As read without a first frame: with a black one, which diffusers shows where nothing is meant."""
        from PIL import Image

        if text not in self._sentences:
            self._sentences.append(text)
        embedded, pooled, mask = self._read(text, Image.new("RGB", (64, 64)))
        number = torch.tensor([[self._sentences.index(text)]])
        return {
            "encoder_hidden_states": embedded, "pooled_projections": pooled, "encoder_attention_mask": mask, SENTENCE: number,
        }  # fmt: skip

    def _read(self, text: str, picture: Any, pooled: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        every = INTERLEAVE[self.network.config.image_condition_type]
        return self.pipe.encode_prompt(
            picture, text, pooled_prompt_embeds=pooled, device=self.text_device, image_embed_interleave=every
        )

    def condition(self, picture: Picture, cells: int) -> Condition:
        shown = torch.from_numpy(np.stack([picture_file(each[None]) for each in picture]))
        return Condition(self.encode(picture), 1, {"picture": shown}, in_film=self.in_film)

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        words = {name: part for name, part in text.items() if name != SENTENCE}
        if condition is not None and SENTENCE in text:
            words |= self._read_with(text[SENTENCE], text["pooled_projections"], condition.extra["picture"], z_t)
        return self.call(self._input(z_t, condition), time, words)

    def _input(self, z_t: Latents, condition: Condition | None) -> Tensor:
        if self.in_film:
            empty = torch.cat((torch.zeros_like(z_t[:, :, :1]), z_t[:, :, 1:]), 2)
            return empty if condition is None else condition.put_into(z_t)
        mask = torch.zeros_like(z_t[:, :1])
        if condition is not None:
            mask[:, :, : condition.cells] = 1
        return torch.cat((beside(z_t, condition), mask), 1)

    @torch.no_grad()
    def _read_with(
        self, numbers: Int[Tensor, "batch 1"], pooled: Tensor, pictures: UInt8[Tensor, "batch row column 3"], like: Tensor
    ) -> TextEmbedding:
        """Sentences read with their films' first frames; those of the last few films are remembered."""
        from PIL import Image

        found = []
        for number, one, picture in zip(numbers.flatten().cpu().tolist(), pooled, pictures.cpu().numpy(), strict=True):
            key = number, picture.tobytes()
            if key not in self._seen:
                embedded, _, mask = self._read(self._sentences[number], Image.fromarray(picture), one[None])
                self._seen[key] = {"encoder_hidden_states": embedded.to(like), "encoder_attention_mask": mask.to(like.device)}
                for old in list(self._seen)[:-REMEMBERED]:
                    del self._seen[old]
            found.append(self._seen[key])
        return {name: torch.cat([each[name] for each in found]) for name in found[0]}
