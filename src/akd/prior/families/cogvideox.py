"""CogVideoX: 2B (learned positions), 5B and 1.5 (rotary positions); and the embedded prior. Predicts v."""

from typing import Any

import torch
from torch import Tensor

from akd.prior.checkpointing import checkpointed
from akd.prior.family import Condition, Family, FilmGrid, Pixels, TextEmbedding, beside, posterior_mean
from akd.prior.schedule import Latents, NoiseSchedule, diffusion_schedule
from akd.render.film import FilmSettings

FIRST_FRAME_OFFSET = 2.0
"""The number that version 1.5 reads beside the time; it was trained with this one only."""


class CogVideoX(Family):
    pipeline_class = "CogVideoXPipeline"
    encode_chunk_frames = 9

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        # Within a chunk, too, so that one block's activations are held at a time.
        pipe.vae.enable_gradient_checkpointing(checkpointed)

    @property
    def max_text_tokens(self) -> int:
        return int(self.pipe.transformer.config.max_text_seq_length)

    @property
    def grid(self) -> FilmGrid:
        """Version 1.5 joins latent frames in pairs, so it takes an even number of them."""
        config = self.pipe.transformer.config
        in_time = self.pipe.vae.config.temporal_compression_ratio
        pairs, side = config.patch_size_t or 1, self.pipe.vae_scale_factor_spatial
        # Positions that are learned beside rotary ones are those of one size: diffusers refuses all others.
        fixed = config.use_learned_positional_embeddings and config.use_rotary_positional_embeddings
        size = (config.sample_height * side, config.sample_width * side) if fixed else None
        return FilmGrid(side * config.patch_size, 1 + in_time * (pairs - 1), in_time * pairs, size)

    @property
    def film(self) -> FilmSettings:
        config, side = self.pipe.transformer.config, self.pipe.vae_scale_factor_spatial
        later = config.patch_size_t is not None
        return FilmSettings(
            width=config.sample_width * side, height=config.sample_height * side, frames=85 if later else config.sample_frames,
            fps=16.0 if later else 8.0, look="natural",
        )  # fmt: skip

    @property
    def compression(self) -> tuple[int, int, int]:
        config = self.pipe.vae.config
        return config.latent_channels, config.temporal_compression_ratio, self.pipe.vae_scale_factor_spatial

    def schedule(self) -> NoiseSchedule:
        return diffusion_schedule("v", self.pipe.scheduler.alphas_cumprod)

    def embed(self, text: str) -> TextEmbedding:
        longest = self.max_text_tokens
        embedded, _ = self.pipe.encode_prompt(
            text, do_classifier_free_guidance=False, max_sequence_length=longest, device=self.text_device
        )
        return {"encoder_hidden_states": embedded}

    def encode(self, video: Pixels) -> Latents:
        """Chunks of frames as diffusers' autoencoder takes them, each with gradient checkpointing."""
        vae, cache, moments = self.pipe.vae, None, []
        size = vae.num_sample_frames_batch_size
        extra = video.shape[2] % size if video.shape[2] > size else 0
        begin = 0
        while begin < video.shape[2]:
            end = min(begin + size + (extra if begin == 0 else 0), video.shape[2])
            part, cache = checkpointed(self._encode_part, video[:, :, begin:end], cache, spill=self.spill)
            moments.append(part)
            begin = end
        return posterior_mean(torch.cat(moments, 2)) * vae.config.scaling_factor

    def _encode_part(self, video: Pixels, cache: Any) -> tuple[Tensor, Any]:
        vae = self.pipe.vae
        moments, cache = vae.encoder(video, conv_cache=cache)
        return (moments if vae.quant_conv is None else vae.quant_conv(moments)), cache

    def decode(self, latents: Latents) -> Pixels:
        """The decoder takes the first cell as a single frame only if their number is odd; else one more is put in front."""
        plain = latents / self.pipe.vae.config.scaling_factor
        if plain.shape[2] % 2:
            return self.pipe.vae.decode(plain).sample
        in_time = int(self.pipe.vae.config.temporal_compression_ratio)
        return self.pipe.vae.decode(torch.cat((plain[:, :, :1], plain), 2)).sample[:, :, in_time:]

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        return self._call(z_t, time, text)

    def _call(self, z_t: Tensor, time: Tensor, text: TextEmbedding, **options: Any) -> Latents:
        rotary = None
        if self.pipe.transformer.config.use_rotary_positional_embeddings:
            side = self.pipe.vae_scale_factor_spatial
            rotary = self.pipe._prepare_rotary_positional_embeddings(
                z_t.shape[3] * side, z_t.shape[4] * side, z_t.shape[2], z_t.device
            )
        output = self.pipe.transformer(
            z_t.transpose(1, 2), timestep=time, image_rotary_emb=rotary, return_dict=False, **text, **options
        )
        return output[0].transpose(1, 2)


class CogVideoXImage(CogVideoX):
    """The image-to-video models: the encoded first frame comes in on further channels."""

    pipeline_class = "CogVideoXImageToVideoPipeline"
    takes_first_frame = True

    def condition(self, picture: Pixels, cells: int) -> Condition:
        config = self.pipe.vae.config
        latents = self.encode(picture)
        # Version 1.5 was trained with pictures that were divided by the scale instead of multiplied.
        return Condition(latents / config.scaling_factor**2 if config.invert_scale_latents else latents, 1)

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        options = {} if self.pipe.transformer.config.ofs_embed_dim is None else {"ofs": z_t.new_full((1,), FIRST_FRAME_OFFSET)}
        return self._call(beside(z_t, condition), time, text, **options)
