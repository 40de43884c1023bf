"""Wan 2.1, and 2.2 where one network covers all noise levels (TI2V-5B). Predicts flow."""

from typing import Any

import torch
from torch import Tensor

from akd.errors import AkdError
from akd.prior.checkpointing import checkpointed
from akd.prior.family import (
    Condition,
    Family,
    FilmGrid,
    Pixels,
    TextEmbedding,
    per_channel,
    posterior_mean,
)  # fmt: skip
from akd.prior.schedule import Latents, NoiseSchedule
from akd.render.film import FilmSettings


class Wan(Family):
    pipeline_class = "WanPipeline"
    encode_chunk_frames = 5

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        for layer in pipe.vae.encoder.down_blocks:
            _checkpoint_layer(layer)
        if pipe.config.boundary_ratio is not None:
            cure = "use one with a single network, 2.1 or 2.2 TI2V-5B"
            raise AkdError(f"This Wan model has two networks, for high and for low noise: {cure}.")

    @property
    def grid(self) -> FilmGrid:
        side = self.pipe.vae_scale_factor_spatial * self.pipe.transformer.config.patch_size[1]
        return FilmGrid(side, 1, self.pipe.vae_scale_factor_temporal)

    @property
    def film(self) -> FilmSettings:
        """The 5B model compresses frames more and was trained on larger ones."""
        if self.pipe.config.expand_timesteps:
            return FilmSettings(width=1280, height=704, frames=121, fps=24.0, look="natural")
        return FilmSettings(width=832, height=480, frames=81, fps=16.0, look="natural")

    @property
    def compression(self) -> tuple[int, int, int]:
        config = self.pipe.vae.config
        return config.z_dim, self.pipe.vae_scale_factor_temporal, self.pipe.vae_scale_factor_spatial

    def schedule(self) -> NoiseSchedule:
        config = self.pipe.scheduler.config
        return NoiseSchedule("flow", None, config.num_train_timesteps, config.get("flow_shift") or config.get("shift") or 1.0)

    def embed(self, text: str) -> TextEmbedding:
        embedded, _ = self.pipe.encode_prompt(
            text, do_classifier_free_guidance=False, max_sequence_length=512, device=self.text_device
        )
        return {"encoder_hidden_states": embedded}

    def encode(self, video: Pixels) -> Latents:
        """The first frame, then four at a time, with the autoencoder's cache of earlier frames passed on explicitly."""
        from diffusers.models.autoencoders.autoencoder_kl_wan import patchify

        vae, moments = self.pipe.vae, []
        vae.clear_cache()
        cache = list(vae._enc_feat_map)
        patched = video if vae.config.patch_size is None else patchify(video, vae.config.patch_size)
        for begin, end in [(0, 1), *((i, i + 4) for i in range(1, video.shape[2], 4))]:
            part, cache = checkpointed(self._encode_part, patched[:, :, begin:end], cache, spill=self.spill)
            moments.append(part)
        mean = posterior_mean(vae.quant_conv(torch.cat(moments, 2)))
        return (mean - per_channel(vae.config.latents_mean, mean)) / per_channel(vae.config.latents_std, mean)

    def _encode_part(self, video: Tensor, cache: list[Any]) -> tuple[Tensor, list[Any]]:
        cache = list(cache)
        return self.pipe.vae.encoder(video, feat_cache=cache, feat_idx=[0]), cache

    def decode(self, latents: Latents) -> Pixels:
        config = self.pipe.vae.config
        plain = latents * per_channel(config.latents_std, latents) + per_channel(config.latents_mean, latents)
        return self.pipe.vae.decode(plain).sample

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        if self.pipe.config.expand_timesteps:  # the 5B model takes a time for every token
            _, rows, columns = self.pipe.transformer.config.patch_size
            time = time[:, None].expand(-1, z_t.shape[2] * (z_t.shape[3] // rows) * (z_t.shape[4] // columns))
        return self.pipe.transformer(z_t, timestep=time, return_dict=False, **text)[0]


def _checkpoint_layer(layer: Any) -> None:
    """Gradient checkpointing of one of the encoder's layers, which diffusers does not offer: a chunk's activations are many.

    The layer takes and replaces entries of a list of earlier frames, from a place on that it moves; both become arguments and
    results here, because what is computed again must not be stored twice.
    """
    plain, slots = layer.forward, len(list(layer.modules()))

    def forward(x: Tensor, feat_cache: list[Any] | None = None, feat_idx: list[int] | None = None) -> Tensor:
        if feat_cache is None or feat_idx is None:
            return plain(x)
        begin = feat_idx[0]

        def run(x: Tensor, earlier: list[Any]) -> tuple[Tensor, list[Any], int]:
            cache, place = [None] * begin + list(earlier), [begin]
            return plain(x, cache, place), cache[begin:], place[0]

        x, cache, feat_idx[0] = checkpointed(run, x, feat_cache[begin : begin + slots])
        feat_cache[begin : begin + slots] = cache
        return x

    layer.forward = forward
