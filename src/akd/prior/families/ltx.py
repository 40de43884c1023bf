"""LTX-Video: strongly compressed latents, one token each, and a time for each token, so that a given first frame can stand in the
film at time 0. Predicts flow."""

from contextlib import nullcontext
from functools import partial
from typing import Any

from torch import Tensor

from akd.prior.checkpointing import checkpoint_in_pieces, checkpointed, spilled
from akd.prior.family import (
    Condition,
    Family,
    FilmGrid,
    Pixels,
    TextEmbedding,
    film_with_given,
    per_channel,
    posterior_mean,
)  # fmt: skip
from akd.prior.schedule import Latents, NoiseSchedule
from akd.render.film import FilmSettings

FRAME_RATE = 24.0
EIGHT_STEPS = (1.0, 0.99375, 0.9875, 0.98125, 0.975, 0.909375, 0.725, 0.421875)
"""Times that the distilled models were trained for."""


class LTXVideo(Family):
    pipeline_class = "LTXPipeline"
    negative_prompt = "worst quality, inconsistent motion, blurry, jittery, distorted"
    scene = (
        "{} The whole body stays in the frame. The camera is at the front right, at the height of the body, and moves along at"
        " the same speed. The floor is made of grey tiles, the sky behind is pale and even, and the light is soft. The scene is"
        " computer-generated imagery."
    )
    takes_first_frame = True
    residual_block = "LTXVideoResnetBlock3d"
    """Class of the blocks in its autoencoder that hold the most memory."""

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        pipe.vae.enable_gradient_checkpointing(_once)
        if pipe.vae.config.encoder_causal:
            checkpoint_in_pieces(pipe.vae.encoder, self.residual_block)

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
        return NoiseSchedule("flow", None, self.pipe.scheduler.config.num_train_timesteps, 3.0, EIGHT_STEPS)

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

    def condition(self, picture: Pixels, cells: int) -> Condition:
        return Condition(self.encode(picture), 1, in_film=True)

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        """Latents go in as one row of tokens; times are per token only where frames are given, as in diffusers."""
        frames, rows, columns = z_t.shape[2:]
        z_t, times = film_with_given(z_t, time, condition)
        timestep = time if condition is None else times.repeat_interleave(rows * columns, 1)
        output = self.call(z_t.flatten(2).transpose(1, 2), time, timestep, text, (frames, rows, columns))
        return output.transpose(1, 2).unflatten(2, (frames, rows, columns))

    def call(
        self, tokens: Tensor, time: Tensor, timestep: Tensor, text: TextEmbedding, cells: tuple[int, int, int]
    ) -> Tensor:  # fmt: skip
        """The network's prediction for a row of tokens, with the scale of a token in seconds and pixels."""
        side = self.pipe.vae_spatial_compression_ratio
        scale = (self.pipe.vae_temporal_compression_ratio / FRAME_RATE, side, side)
        return self.network(
            tokens, timestep=timestep, num_frames=cells[0], height=cells[1], width=cells[2], rope_interpolation_scale=scale,
            return_dict=False, **text,
        )[0]  # fmt: skip


class LTXImage(LTXVideo):
    """The same network under the name of its image-to-video pipeline."""

    pipeline_class = "LTXImageToVideoPipeline"


class LTXCondition(LTXVideo):
    """LTX-Video 0.9.5 and later: a token's place is that of its first frame, counted from the end of the first cell."""

    pipeline_class = "LTXConditionPipeline"

    def call(
        self, tokens: Tensor, time: Tensor, timestep: Tensor, text: TextEmbedding, cells: tuple[int, int, int]
    ) -> Tensor:  # fmt: skip
        pipe, side = self.pipe, self.pipe.vae_spatial_compression_ratio
        places = pipe._prepare_video_ids(len(tokens), *cells, device=tokens.device)
        places = pipe._scale_video_ids(
            places, scale_factor=side, scale_factor_t=pipe.vae_temporal_compression_ratio, device=tokens.device
        ).float()
        places[:, 0] /= FRAME_RATE
        timestep = timestep[:, None] if timestep.ndim == 1 else timestep
        return self.network(tokens, timestep=timestep.float(), video_coords=places, return_dict=False, **text)[0]


def _once(module: Any, *args: Any) -> Any:
    """Gradient checkpointing of what is not checkpointed in pieces."""
    return module(*args) if isinstance(module.forward, partial) else checkpointed(module, *args)
