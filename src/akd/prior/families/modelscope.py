"""ModelScope's text-to-video and its kin (ZeroScope): a 3D U-Net over latents of single pictures. Predicts ε."""

from typing import Any

import torch
from torch import Tensor

from akd.prior.checkpointing import checkpointed
from akd.prior.family import Condition, Family, FilmGrid, Pixels, TextEmbedding, posterior_mean
from akd.prior.schedule import Latents, NoiseSchedule, diffusion_schedule
from akd.render.film import FilmSettings

ENCODE_CHUNK_FRAMES = 4
"""Frames that are encoded together."""


class ModelScope(Family):
    pipeline_class = "TextToVideoSDPipeline"
    scene = "{} Whole body, seen from the front right, grey floor, pale sky."
    encode_chunk_frames = ENCODE_CHUNK_FRAMES

    @property
    def network(self) -> Any:
        return self.pipe.unet

    @property
    def grid(self) -> FilmGrid:
        """The U-Net halves its pictures between blocks."""
        return FilmGrid(self.pipe.vae_scale_factor * 2 ** (len(self.pipe.unet.config.block_out_channels) - 1), 1, 1)

    @property
    def film(self) -> FilmSettings:
        return FilmSettings(width=256, height=256, frames=16, fps=8.0, look="natural")

    @property
    def compression(self) -> tuple[int, int, int]:
        config = self.pipe.vae.config
        return config.latent_channels, 1, self.pipe.vae_scale_factor

    def schedule(self) -> NoiseSchedule:
        kind = self.pipe.scheduler.config.prediction_type
        return diffusion_schedule("v" if kind == "v_prediction" else "epsilon", self.pipe.scheduler.alphas_cumprod)

    def embed(self, text: str) -> TextEmbedding:
        embedded, _ = self.pipe.encode_prompt(text, self.text_device, 1, False)
        return {"encoder_hidden_states": embedded}

    def encode(self, video: Pixels) -> Latents:
        pictures = video.transpose(1, 2).flatten(0, 1)
        parts = [checkpointed(self._encode_part, part, spill=self.spill) for part in pictures.split(ENCODE_CHUNK_FRAMES)]
        moments = torch.cat(parts).unflatten(0, (len(video), -1)).transpose(1, 2)
        return posterior_mean(moments) * self.pipe.vae.config.scaling_factor

    def _encode_part(self, pictures: Tensor) -> Tensor:
        return self.pipe.vae.encode(pictures).latent_dist.parameters

    def decode(self, latents: Latents) -> Pixels:
        pictures = (latents / self.pipe.vae.config.scaling_factor).transpose(1, 2).flatten(0, 1)
        seen = torch.cat([self.pipe.vae.decode(part).sample for part in pictures.split(ENCODE_CHUNK_FRAMES)])
        return seen.unflatten(0, (len(latents), -1)).transpose(1, 2)

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        """The U-Net repeats text and time for every frame itself."""
        return self.pipe.unet(z_t, time, return_dict=False, **text)[0]
