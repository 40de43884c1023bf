"""CogVideoX: 2B (learned positions), 5B and 1.5 (rotary positions); and the embedded prior. Predicts v."""

from typing import Any

import torch
from torch import Tensor

from akd.prior.family import Family, Grid, Pixels, Text, awake, forgetfully, mean_of
from akd.prior.schedule import Latents, NoiseSchedule, diffusion_schedule
from akd.render.film import FilmSettings


class CogVideoX(Family):
    pipeline_class = "CogVideoXPipeline"
    frames_at_once = 9

    @property
    def longest_sentence(self) -> int:
        return int(self.pipe.transformer.config.max_text_seq_length)

    @property
    def grid(self) -> Grid:
        """Version 1.5 joins latent frames in pairs, so it takes an even number of them."""
        config = self.pipe.transformer.config
        squeeze = self.pipe.vae.config.temporal_compression_ratio
        pairs = config.patch_size_t or 1
        return Grid(self.pipe.vae_scale_factor_spatial * config.patch_size, 1 + squeeze * (pairs - 1), squeeze * pairs)

    @property
    def film(self) -> FilmSettings:
        config, side = self.pipe.transformer.config, self.pipe.vae_scale_factor_spatial
        later = config.patch_size_t is not None
        return FilmSettings(
            width=config.sample_width * side, height=config.sample_height * side, frames=85 if later else config.sample_frames,
            fps=16.0 if later else 8.0, look="natural",
        )  # fmt: skip

    @property
    def squeeze(self) -> tuple[int, int, int]:
        config = self.pipe.vae.config
        return config.latent_channels, config.temporal_compression_ratio, self.pipe.vae_scale_factor_spatial

    def schedule(self) -> NoiseSchedule:
        return diffusion_schedule("v", self.pipe.scheduler.alphas_cumprod)

    def embed(self, text: str) -> Text:
        longest = self.longest_sentence
        embedded, _ = self.pipe.encode_prompt(text, do_classifier_free_guidance=False, max_sequence_length=longest)
        return {"encoder_hidden_states": embedded}

    def encode(self, video: Pixels) -> Latents:
        """As the autoencoder itself goes through the frames, but each batch of them is done again on the way back."""
        vae, cache, moments = self.pipe.vae, None, []
        if vae.use_tiling:
            return mean_of(forgetfully(lambda x: vae.encode(x).latent_dist.parameters, video)) * vae.config.scaling_factor
        size = vae.num_sample_frames_batch_size
        extra = video.shape[2] % size if video.shape[2] > size else 0
        begin = 0
        while begin < video.shape[2]:
            end = min(begin + size + (extra if begin == 0 else 0), video.shape[2])
            part, cache = forgetfully(self._encode_part, video[:, :, begin:end], cache)
            moments.append(part)
            begin = end
        return mean_of(torch.cat(moments, 2)) * vae.config.scaling_factor

    def _encode_part(self, video: Pixels, cache: Any) -> tuple[Tensor, Any]:
        vae = awake(self.pipe.vae)
        moments, cache = vae.encoder(video, conv_cache=cache)
        return (moments if vae.quant_conv is None else vae.quant_conv(moments)), cache

    def decode(self, latents: Latents) -> Pixels:
        """The decoder takes the first cell for a single frame only if their number is odd; else it gets one more in front."""
        plain = latents / self.pipe.vae.config.scaling_factor
        if plain.shape[2] % 2:
            return self.pipe.vae.decode(plain).sample
        squeeze = self.pipe.vae.config.temporal_compression_ratio
        return self.pipe.vae.decode(torch.cat((plain[:, :, :1], plain), 2)).sample[:, :, int(squeeze) :]

    def predict(self, z_t: Latents, time: Tensor, text: Text) -> Latents:
        rotary = None
        if self.pipe.transformer.config.use_rotary_positional_embeddings:
            side = self.pipe.vae_scale_factor_spatial
            rotary = self.pipe._prepare_rotary_positional_embeddings(
                z_t.shape[3] * side, z_t.shape[4] * side, z_t.shape[2], z_t.device
            )
        output = self.pipe.transformer(z_t.transpose(1, 2), timestep=time, image_rotary_emb=rotary, return_dict=False, **text)
        return output[0].transpose(1, 2)
