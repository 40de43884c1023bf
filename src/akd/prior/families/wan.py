"""Wan 2.1, and 2.2 where one network serves all noise levels (TI2V-5B). Predicts flow."""

from typing import Any

import torch
from torch import Tensor

from akd.errors import AkdError
from akd.prior.family import Family, Grid, Pixels, Text, awake, forgetfully, mean_of, per_channel
from akd.prior.schedule import Latents, NoiseSchedule
from akd.render.film import FilmSettings


class Wan(Family):
    pipeline_class = "WanPipeline"
    frames_at_once = 5

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        if pipe.config.boundary_ratio is not None:
            cure = "use one with a single network, 2.1 or 2.2 TI2V-5B"
            raise AkdError(f"This Wan model has two networks, for high and for low noise: {cure}.")

    @property
    def grid(self) -> Grid:
        side = self.pipe.vae_scale_factor_spatial * self.pipe.transformer.config.patch_size[1]
        return Grid(side, 1, self.pipe.vae_scale_factor_temporal)

    @property
    def film(self) -> FilmSettings:
        """The 5B model squeezes pictures more and was made for larger ones."""
        if self.pipe.config.expand_timesteps:
            return FilmSettings(width=1280, height=704, frames=121, fps=24.0, look="natural")
        return FilmSettings(width=832, height=480, frames=81, fps=16.0, look="natural")

    @property
    def squeeze(self) -> tuple[int, int, int]:
        config = self.pipe.vae.config
        return config.z_dim, self.pipe.vae_scale_factor_temporal, self.pipe.vae_scale_factor_spatial

    def schedule(self) -> NoiseSchedule:
        config = self.pipe.scheduler.config
        return NoiseSchedule("flow", None, config.num_train_timesteps, config.get("flow_shift") or config.get("shift") or 1.0)

    def embed(self, text: str) -> Text:
        embedded, _ = self.pipe.encode_prompt(text, do_classifier_free_guidance=False, max_sequence_length=512)
        return {"encoder_hidden_states": embedded}

    def encode(self, video: Pixels) -> Latents:
        """The first frame, then four at a time, with the autoencoder's memory of earlier frames handed on explicitly."""
        from diffusers.models.autoencoders.autoencoder_kl_wan import patchify

        vae, moments = self.pipe.vae, []
        vae.clear_cache()
        memory = list(vae._enc_feat_map)
        patched = video if vae.config.patch_size is None else patchify(video, vae.config.patch_size)
        for begin, end in [(0, 1), *((i, i + 4) for i in range(1, video.shape[2], 4))]:
            part, memory = forgetfully(self._encode_part, patched[:, :, begin:end], memory)
            moments.append(part)
        mean = mean_of(vae.quant_conv(torch.cat(moments, 2)))
        return (mean - per_channel(vae.config.latents_mean, mean)) / per_channel(vae.config.latents_std, mean)

    def _encode_part(self, video: Tensor, memory: list[Any]) -> tuple[Tensor, list[Any]]:
        memory = list(memory)
        return awake(self.pipe.vae).encoder(video, feat_cache=memory, feat_idx=[0]), memory

    def decode(self, latents: Latents) -> Pixels:
        config = self.pipe.vae.config
        plain = latents * per_channel(config.latents_std, latents) + per_channel(config.latents_mean, latents)
        return self.pipe.vae.decode(plain).sample

    def predict(self, z_t: Latents, time: Tensor, text: Text) -> Latents:
        if self.pipe.config.expand_timesteps:  # the 5B model takes a time for every token
            _, rows, columns = self.pipe.transformer.config.patch_size
            time = time[:, None].expand(-1, z_t.shape[2] * (z_t.shape[3] // rows) * (z_t.shape[4] // columns))
        return self.pipe.transformer(z_t, timestep=time, return_dict=False, **text)[0]
