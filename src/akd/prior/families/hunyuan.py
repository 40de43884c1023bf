"""HunyuanVideo: guidance is an input of the network. Predicts flow."""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from akd.prior.checkpointing import spilled
from akd.prior.family import Condition, Family, FilmGrid, Pixels, TextEmbedding, posterior_mean
from akd.prior.schedule import Latents, NoiseSchedule
from akd.render.film import FilmSettings

EMBEDDED_GUIDANCE = 1.0
"""Distilled guidance scale given to the network; classifier-free guidance with a negative prompt comes on top."""


class HunyuanVideo(Family):
    pipeline_class = "HunyuanVideoPipeline"
    scene = (
        "{} Wide shot from the front right; the camera follows smoothly, and the whole body stays in the picture. The background"
        " is a floor of grey tiles before a pale sky, in soft daylight. 3D animation style."
    )

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        pipe.vae.enable_gradient_checkpointing()

    @property
    def grid(self) -> FilmGrid:
        side = self.pipe.vae_scale_factor_spatial * self.pipe.transformer.config.patch_size
        return FilmGrid(side, 1, self.pipe.vae_scale_factor_temporal)

    @property
    def film(self) -> FilmSettings:
        return FilmSettings(width=960, height=544, frames=61, fps=24.0, look="natural")

    @property
    def compression(self) -> tuple[int, int, int]:
        config = self.pipe.vae.config
        return config.latent_channels, self.pipe.vae_scale_factor_temporal, self.pipe.vae_scale_factor_spatial

    def schedule(self) -> NoiseSchedule:
        config = self.pipe.scheduler.config
        return NoiseSchedule("flow", None, config.num_train_timesteps, config.get("shift") or 1.0)

    def embed(self, text: str) -> TextEmbedding:
        embedded, pooled, mask = self.pipe.encode_prompt(text, device=self.text_device)
        return {"encoder_hidden_states": embedded, "pooled_projections": pooled, "encoder_attention_mask": mask}

    def encode(self, video: Pixels) -> Latents:
        with spilled() if self.spill else nullcontext():
            return posterior_mean(self.pipe.vae.encode(video).latent_dist.parameters) * self.pipe.vae.config.scaling_factor

    def decode(self, latents: Latents) -> Pixels:
        return self.pipe.vae.decode(latents / self.pipe.vae.config.scaling_factor).sample

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        return self.call(z_t, time, text)

    def call(self, seen: Tensor, time: Tensor, text: TextEmbedding) -> Latents:
        """The network's prediction of what it is shown."""
        guidance = None
        if self.pipe.transformer.config.guidance_embeds:
            guidance = torch.full_like(time, EMBEDDED_GUIDANCE * 1000, dtype=seen.dtype)
        return self.pipe.transformer(seen, timestep=time.to(seen.dtype), guidance=guidance, return_dict=False, **text)[0]
