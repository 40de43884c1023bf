"""Wan 2.1 and 2.2, with sentences alone (T2V, TI2V-5B) or with a first frame (I2V, TI2V-5B). Predicts flow.

2.2 A14B has two networks: one for much noise, one for little. TI2V-5B takes a time for every token, so that a given frame can
stand in the film at time 0.
"""

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
    film_with_given,
    per_channel,
    picture_file,
    posterior_mean,
)  # fmt: skip
from akd.prior.schedule import Latents, NoiseSchedule
from akd.render.film import FilmSettings

IMAGE_TOKENS = 257
"""Tokens of a picture from the image encoder of Wan 2.1: 16 × 16 patches and one for the whole."""


class Wan(Family):
    pipeline_class = "WanPipeline"
    scene = (
        "{} 3D animation, a floor of grey tiles before a pale sky, soft daylight. Full shot from the front right, tracking shot:"
        " the camera follows smoothly and the whole body stays in the picture."
    )
    encode_chunk_frames = 5

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        for layer in pipe.vae.encoder.down_blocks:
            _checkpoint_layer(layer)
        self.time_per_token = self.takes_first_frame = bool(pipe.config.get("expand_timesteps"))
        if pipe.config.boundary_ratio is not None and pipe.transformer_2 is None:
            raise AkdError("This Wan model names a boundary between two networks and has one: copy the whole folder again.")

    @property
    def networks(self) -> tuple[Any, ...]:
        both = self.pipe.transformer, getattr(self.pipe, "transformer_2", None)
        return tuple(network for network in both if network is not None)

    @property
    def grid(self) -> FilmGrid:
        side = self.pipe.vae_scale_factor_spatial * self.network.config.patch_size[1]
        return FilmGrid(side, 1, self.pipe.vae_scale_factor_temporal)

    @property
    def film(self) -> FilmSettings:
        """The 5B model compresses frames more and was trained on larger ones."""
        if self.time_per_token:
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

    def condition(self, picture: Pixels, cells: int) -> Condition:
        if not self.takes_first_frame:
            return super().condition(picture, cells)
        return Condition(self.encode(picture), 1, in_film=True)

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        if self.time_per_token:
            _, rows, columns = self.network.config.patch_size
            z_t, times = film_with_given(z_t, time, condition)
            per_frame = (z_t.shape[3] // rows) * (z_t.shape[4] // columns)
            return self.call(z_t, time, times.repeat_interleave(per_frame, 1), text)
        return self.call(z_t, time, time, text)

    def call(self, seen: Tensor, time: Tensor, timestep: Tensor, text: TextEmbedding, **options: Any) -> Latents:
        """The prediction of the network for each film's time: the first one down to the boundary, the second one below it."""
        boundary = self.pipe.config.boundary_ratio
        if boundary is None or seen.device.type == "meta":  # plans need shapes only, and both networks have the same
            return self.network(seen, timestep=timestep, return_dict=False, **text, **options)[0]
        noisy = time >= boundary * self.pipe.scheduler.config.num_train_timesteps
        parts = []
        order = torch.cat([noisy.nonzero().flatten(), (~noisy).nonzero().flatten()])
        for network, chosen in zip(self.networks, (noisy, ~noisy), strict=True):
            if chosen.any():
                own = [{name: part[chosen] for name, part in group.items()} for group in (text, options)]
                parts.append(network(seen[chosen], timestep=timestep[chosen], return_dict=False, **own[0], **own[1])[0])
        return torch.cat(parts)[order.argsort()]


class WanImage(Wan):
    """The image-to-video models: mask and latents of a film that is empty after its first frame come in on further channels, in
    2.1 also the picture as its image encoder sees it."""

    pipeline_class = "WanImageToVideoPipeline"

    def __init__(self, pipe: Any) -> None:
        super().__init__(pipe)
        self.takes_first_frame = True

    def condition(self, picture: Pixels, cells: int) -> Condition:
        if self.time_per_token:
            return super().condition(picture, cells)
        in_time = self.pipe.vae_scale_factor_temporal
        empty = picture.new_zeros(*picture.shape[:2], (cells - 1) * in_time, *picture.shape[3:])
        latents = self.encode(torch.cat((picture, empty), 2))
        mask = latents.new_zeros(len(latents), in_time, *latents.shape[2:])
        mask[:, :, 0] = 1
        return Condition(torch.cat((mask, latents), 1), 1, self._seen_picture(picture))

    def _seen_picture(self, picture: Pixels) -> TextEmbedding:
        if self.network.config.image_dim is None:
            return {}
        embedded = [self.pipe.encode_image(picture_file(each[None]), self.picture_device) for each in picture]
        return {"encoder_hidden_states_image": torch.cat(embedded).to(self.device, picture.dtype)}

    @property
    def picture_device(self) -> torch.device:
        """Where the image encoder looks."""
        return next(self.pipe.image_encoder.parameters()).device

    def predict(self, z_t: Latents, time: Tensor, text: TextEmbedding, condition: Condition | None = None) -> Latents:
        if self.time_per_token:
            return super().predict(z_t, time, text, condition)
        given, options = self._empty(z_t) if condition is None else (condition.latents.to(z_t), condition.extra)
        options = {name: part.to(z_t) for name, part in options.items()}
        return self.call(torch.cat((z_t, given), 1), time, time, text, **options)

    def _empty(self, z_t: Latents) -> tuple[Tensor, TextEmbedding]:
        """What stands for a frame that is not given: zeros everywhere."""
        config = self.network.config
        given = z_t.new_zeros(len(z_t), config.in_channels - z_t.shape[1], *z_t.shape[2:])
        if config.image_dim is None:
            return given, {}
        return given, {"encoder_hidden_states_image": z_t.new_zeros(len(z_t), IMAGE_TOKENS, config.image_dim)}


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
