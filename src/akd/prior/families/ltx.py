"""LTX-Video: strongly compressed latents, one token each. Predicts flow."""

from contextlib import nullcontext
from typing import Any

from torch import Tensor

from akd.prior.checkpointing import spilled
from akd.prior.family import Condition, Family, FilmGrid, Pixels, TextEmbedding, per_channel, posterior_mean
from akd.prior.schedule import Latents, NoiseSchedule
from akd.render.film import FilmSettings

FRAME_RATE = 24.0


class LTXVideo(Family):
    pipeline_class = "LTXPipeline"
    negative_prompt = "worst quality, inconsistent motion, blurry, jittery, distorted"

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        pipe.vae.enable_gradient_checkpointing()

    @property
    def grid(self) -> FilmGrid:
        return FilmGrid(self.pipe.vae_spatial_compression_ratio, 1, self.pipe.vae_temporal_compression_ratio)

    @property
    def film(self) -> FilmSettings:
        return FilmSettings(width=704, height=480, frames=121, fps=FRAME_RATE, look="natural")

    @property
    def compression(self) -> tuple[int, int, int]:
        config = self.pipe.vae.config
        return config.latent_channels, self.pipe.vae_temporal_compression_ratio, self.pipe.vae_spatial_compression_ratio

    def schedule(self) -> NoiseSchedule:
        """The timestep shift grows with the size of the film; 3 is about right for the usual ones."""
        return NoiseSchedule("flow", None, self.pipe.scheduler.config.num_train_timesteps, 3.0)

    def embed(self, text: str) -> TextEmbedding:
        embedded, mask, *_ = self.pipe.encode_prompt(text, do_classifier_free_guidance=False, device=self.text_device)
        return {"encoder_hidden_states": embedded, "encoder_attention_mask": mask}

    def encode(self, video: Pixels) -> Latents:
        vae = self.pipe.vae
        with spilled() if self.spill else nullcontext():
            mean = posterior_mean(vae.encode(video).latent_dist.parameters)
        return (mean - per_channel(vae.latents_mean, mean)) * vae.config.scaling_factor / per_channel(vae.latents_std, mean)

    def decode(self, latents: Latents) -> Pixels:
        vae = self.pipe.vae
        spread = per_channel(vae.latents_std, latents) / vae.config.scaling_factor
        plain = latents * spread + per_channel(vae.latents_mean, latents)
        time = plain.new_zeros(len(plain)) if vae.config.timestep_conditioning else None
        return vae.decode(plain, time).sample

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        """Latents go in as one row of tokens, with the scale of a token in seconds and pixels."""
        frames, rows, columns = z_t.shape[2:]
        side = self.pipe.vae_spatial_compression_ratio
        scale = (self.pipe.vae_temporal_compression_ratio / FRAME_RATE, side, side)
        output = self.pipe.transformer(
            z_t.flatten(2).transpose(1, 2), timestep=time, num_frames=frames, height=rows, width=columns,
            rope_interpolation_scale=scale, return_dict=False, **text,
        )[0]  # fmt: skip
        return output.transpose(1, 2).unflatten(2, (frames, rows, columns))
