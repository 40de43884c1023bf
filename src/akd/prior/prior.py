"""A video diffusion model as distillation uses it, whichever family it belongs to.

    prior = load_prior("embedded")
    z = prior.encode(video)                     # with gradient
    text = prior.embed("a dog walking")         # cached
    level = prior.schedule.level(t)
    z_t = add_noise(z.detach(), noise, level)
    x0, noise = prior.denoise(z_t, t, text, prior.embed(""), guidance=5.0)
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.prior.family import Family, TextEmbedding
from akd.prior.schedule import Denoised, Latents, add_noise, classifier_free_guidance
from akd.render.film import FilmSettings

CHANGE_EXPONENT = 0.6
"""Errors are divided by this power of the clip's variance over time, because what moves more is missed by more."""
TEXT_WEIGHT = 6.0
"""Weight of the log-ratio of the errors with and without the sentence in the guided denoising error."""


class LatentShape(NamedTuple):
    """Size of one video's latents."""

    channel: int
    frame: int
    row: int
    column: int


class VideoPrior:
    """A video model in eval mode, without gradients of its weights."""

    trained_on_captions = False
    """Whether it was trained on this package's captions, so that short prompts are best expanded to their wording."""
    known_actions: tuple[str, ...] | None = None
    """Names in ``ACTION_LIST`` of the actions that its training showed; ``None`` for a model that has seen the world."""
    known_modifiers: tuple[str, ...] | None = None
    """Which of a wish's side, manner, speed and count its captions told the truth about; ``None`` as above."""

    def __init__(self, family: Family, film: FilmSettings | None = None) -> None:
        self.family = family
        self.film = film or family.film
        """Settings of the films it takes."""
        self.schedule = family.schedule()
        """Its noise schedule and kind of prediction."""
        self._sentences: dict[str, TextEmbedding] = {}
        for part in (family.network, family.vae):
            part.requires_grad_(False).eval()

    @property
    def device(self) -> torch.device:
        return self.family.device

    @property
    def dtype(self) -> torch.dtype:
        return self.family.network.dtype

    def check_film(self, frames: int, height: int, width: int) -> None:
        """Refuse a film that the model cannot take, naming the nearest that it can."""
        nearest = self.family.grid.nearest(frames, height, width)
        if (frames, height, width) != nearest:
            raise AkdError(
                f"This prior cannot take {frames} frames of {width} × {height} pixels; the nearest that fits is"
                f" {nearest[0]} frames of {nearest[2]} × {nearest[1]}."
            )

    def check_sentence(self, text: str) -> None:
        """Refuse a sentence with mostly unknown characters, or with more tokens than the text encoder reads."""
        tokens, limit = self.family.tokens(text), self.family.max_text_tokens
        if 2 * tokens.count(self.family.unknown_token) >= len(tokens):
            raise AkdError(f"The prior cannot read {text!r}: say it in English words.")
        if len(tokens) >= limit:
            raise AkdError(f"The prior reads {limit - 1} tokens, and {text!r} has {len(tokens)}: say it shorter.")

    @torch.no_grad()
    def embed(self, text: str) -> TextEmbedding:
        """A sentence as the network takes it; cached."""
        if text not in self._sentences:
            self._sentences[text] = {name: part.detach() for name, part in self.family.embed(text).items()}
        return self._sentences[text]

    def encode(self, video: Float[Tensor, "batch frame height width 3"]) -> Latents:
        """Latents of videos with colours in 0 to 1, differentiable, in float32."""
        self.check_film(*video.shape[1:4])
        pixels = (video.permute(0, 4, 1, 2, 3) * 2 - 1).to(self.device, self.family.vae.dtype)
        return self.family.encode(pixels).float()

    @torch.no_grad()
    def decode(self, latents: Latents) -> Float[Tensor, "batch frame height width 3"]:
        """Videos of latents."""
        pixels = self.family.decode(latents.to(self.device, self.family.vae.dtype)).float()
        return (pixels.permute(0, 2, 3, 4, 1) / 2 + 0.5).clamp(0, 1)

    @torch.no_grad()
    def predict(self, z_t: Latents, t: Float[Tensor, " batch"], text: TextEmbedding) -> Latents:
        """The network's own prediction (v, ε or flow), in float32; a text embedding of batch 1 is broadcast."""
        time = self.schedule.network_time(t).to(self.device)
        words = {name: part.expand(len(z_t), *part.shape[1:]) if len(part) == 1 else part for name, part in text.items()}
        return self.family.predict(z_t.to(self.device, self.dtype), time, words).float()

    def denoise(
        self, z_t: Latents, t: Float[Tensor, " batch"], text: TextEmbedding, negative: TextEmbedding | None = None,
        guidance: float = 1.0,
    ) -> Denoised:  # fmt: skip
        """x0 and noise of noisy latents, with classifier-free guidance away from a negative prompt."""
        prediction = self.predict(z_t, t, text)
        if negative is not None and guidance != 1:
            prediction = classifier_free_guidance(prediction, self.predict(z_t, t, negative), guidance)
        return self.schedule.denoised(prediction, z_t.to(prediction), self.schedule.level(t.to(prediction)))

    def sample_latents(
        self, text: str, *, count: int = 1, steps: int = 30, guidance: float = 5.0, negative: str = "", seed: int = 0,
        film: FilmSettings | None = None,
    ) -> Latents:  # fmt: skip
        """Latents of new videos by deterministic sampling (DDIM, or Euler for flow models)."""
        film = film or self.film
        shape = self.latent_shape(film.frames, film.height, film.width)
        z = torch.randn((count, *shape), generator=torch.Generator().manual_seed(seed)).to(self.device)
        words, without = self.embed(text), self.embed(negative)
        times = self.schedule.sampling_times(steps).to(self.device)
        for now, then in pairwise(times):
            x0, noise = self.denoise(z, now.expand(count), words, without, guidance)
            z = x0 if then == 0 else add_noise(x0, noise, self.schedule.level(then[None]))
        return z

    def sample(self, text: str, *, count: int = 1, steps: int = 30, guidance: float = 5.0, seed: int = 0) -> Tensor:
        """New videos, colours in 0 to 1: count × frames × height × width × 3."""
        return self.decode(self.sample_latents(text, count=count, steps=steps, guidance=guidance, seed=seed))

    @property
    def film_latents(self) -> LatentShape:
        """Size of the latents of its own film."""
        return self.latent_shape(self.film.frames, self.film.height, self.film.width)

    def latent_shape(self, frames: int, height: int, width: int) -> LatentShape:
        """Size of the latents of a film."""
        self.check_film(frames, height, width)
        return LatentShape(*self.family.latent_shape(frames, height, width))

    def with_film(self, changes: Mapping[str, object]) -> "VideoPrior":
        """The same model with other film settings (size, frames, ground …)."""
        prior = VideoPrior(self.family, replace(self.film, **changes))  # type: ignore[arg-type]
        prior._sentences, prior.trained_on_captions = self._sentences, self.trained_on_captions
        prior.known_actions, prior.known_modifiers = self.known_actions, self.known_modifiers
        return prior


def denoising_error(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: TextEmbedding) -> Float[Tensor, " draw"]:
    """Mean square error of the x0-prediction, for every draw of noise."""
    return _x0_error(prior, z, noise, t, text).square().flatten(1).mean(1)


def guided_denoising_error(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str) -> Float[Tensor, ""]:
    """Logarithm of a denoising error for comparing motions under a sentence: lower is better.

    It is the error of the x0-prediction in what changes over time, divided by a power of how much changes: clips with less to
    see, such as legs that hide each other, have smaller errors whether the prior knows them or not. The log-ratio of the errors
    with and without the sentence is added with a weight, as in guidance: clips should be probable, and above all match the
    prompt.
    """
    conditional, unconditional = _log_errors(prior, z, noise, t, text)
    return conditional - CHANGE_EXPONENT * _temporal_variance(z).mean().log() + TEXT_WEIGHT * (conditional - unconditional)


def text_log_ratio(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str) -> Float[Tensor, ""]:
    """Log-ratio of that error with and without the sentence: below zero if the sentence explains some of the clip."""
    conditional, unconditional = _log_errors(prior, z, noise, t, text)
    return conditional - unconditional


def _log_errors(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str) -> tuple[Tensor, Tensor]:
    conditional, unconditional = (
        _temporal_variance(_x0_error(prior, z, noise, t, prior.embed(words))).mean().log() for words in (text, "")
    )
    return conditional, unconditional


def _temporal_variance(z: Tensor) -> Float[Tensor, " clip"]:
    """Mean square deviation from the mean over time."""
    return (z - z.mean(2, keepdim=True)).square().flatten(1).mean(1).clamp(min=1e-12)


def _x0_error(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: TextEmbedding) -> Latents:
    x0, t = z.expand_as(noise), t.to(z.device)
    return prior.denoise(add_noise(x0, noise.to(z), prior.schedule.level(t)), t, text).x0 - x0
