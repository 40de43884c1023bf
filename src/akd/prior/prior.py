"""A video diffusion model as distillation uses it, whichever family it belongs to.

    prior = load_prior("embedded")
    z = prior.encode(video)                     # with gradient
    text = prior.embed("a dog walking")         # cached
    level = prior.schedule.level(t)
    z_t = add_noise(z.detach(), noise, level)
    x0, noise = prior.denoise(z_t, t, text, prior.embed(""), guidance=5.0)
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.prior.family import Condition, Family, TextEmbedding, spread
from akd.prior.reader import FigureReader
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

    reader: FigureReader | None = None
    """Says where limbs are in its films of figures, if its folder has one."""
    evaluated = 0
    """Latents that went through the network so far."""
    takes_first_frame = False
    """Whether it is an image-to-video model, which can be given the first frame."""
    negative_prompt = ""
    """What the model's makers guide away from."""
    scene = ""
    """A prompt, where the braces are, with view and ground of our films."""

    def __init__(self, family: Family, film: FilmSettings | None = None) -> None:
        self.family = family
        self.film = film or family.film
        """Settings of the films it takes."""
        self.takes_first_frame, self.negative_prompt = family.takes_first_frame, family.negative_prompt
        self.scene = family.scene
        self.schedule = family.schedule()
        """Its noise schedule and kind of prediction."""
        self.batch: int | None = None
        """Latents that go through the network at once, to bound memory; all by default."""
        self._sentences: dict[str, TextEmbedding] = {}
        self._read = False
        for part in (*family.networks, family.vae):
            part.requires_grad_(False).eval()

    @property
    def device(self) -> torch.device:
        return self.family.device

    @property
    def dtype(self) -> torch.dtype:
        """Of the numbers that the network takes; quantised weights are whole numbers."""
        own = self.family.network.dtype
        return own if own.is_floating_point else self.family.vae.dtype

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
            if self._read:
                raise AkdError(f"The text encoder has left memory before it read {text!r}: load the model again.")
            self._sentences[text] = {name: part.detach().to(self.device) for name, part in self.family.embed(text).items()}
        return self._sentences[text]

    def read(self, sentences: Iterable[str]) -> None:
        """Embed all sentences that will be needed, then free the memory of a big model's text encoder, often the largest part."""
        for text in sentences:
            self.embed(text)
        self.family.drop_text_encoder()
        self._read = not self.trained_on_captions

    def encode(self, video: Float[Tensor, "batch frame height width 3"]) -> Latents:
        """Latents of videos with colours in 0 to 1, differentiable, in float32."""
        self.check_film(*video.shape[1:4])
        latents = self.family.encode(self._pixels(video)).float()
        if latents.requires_grad and self.family.residents:
            latents.register_hook(self._make_room)
        return latents

    def _make_room(self, gradient: Tensor | None = None) -> None:
        """The way back through the autoencoder needs more memory than anything else, and decoding some: networks that wait leave
        the device."""
        for resident in self.family.residents:
            resident.leave()

    @torch.no_grad()
    def decode(self, latents: Latents) -> Float[Tensor, "batch frame height width 3"]:
        """Videos of latents."""
        self._make_room()
        pixels = self.family.decode_bounded(latents.to(self.device, self.family.vae.dtype)).float()
        return (pixels.permute(0, 2, 3, 4, 1) / 2 + 0.5).clamp(0, 1)

    @torch.no_grad()
    def condition(
        self, first: Float[Tensor, "batch height width 3"], frames: int | None = None
    ) -> Condition:  # fmt: skip
        """The first frame of a film of that many frames (its own number by default), for ``predict`` and what is made of it."""
        frames = frames or self.film.frames
        cells = self.latent_shape(frames, *first.shape[1:3]).frame
        return self.family.condition(self._pixels(first[:, None]), cells)

    @torch.no_grad()
    def control(
        self, film: Float[Tensor, "batch frame height width 3"], first: Float[Tensor, "batch height width 3"] | None = None,
        reference: Float[Tensor, "batch height width 3"] | None = None,
    ) -> Condition:  # fmt: skip
        """A control film, whose motion the model's own films follow, and the first frame if it is known, too.

        A picture for reference shows how things look, from anywhere; it is for samples, whose latents begin with its cells.
        """
        self.check_film(*film.shape[1:4])
        pictures = (None if each is None else self._pixels(each[:, None]) for each in (first, reference))
        return self.family.control(self._pixels(film), *pictures)

    def _pixels(self, video: Float[Tensor, "batch frame height width 3"]) -> Tensor:
        """Videos as autoencoders take them."""
        return (video.permute(0, 4, 1, 2, 3) * 2 - 1).to(self.device, self.family.vae.dtype)

    @torch.no_grad()
    def predict(
        self, z_t: Latents, t: Float[Tensor, " batch"], text: TextEmbedding, condition: Condition | None = None
    ) -> Latents:  # fmt: skip
        """The network's own prediction (v, ε or flow), in float32; text and condition of batch 1 are broadcast."""
        time = self.schedule.network_time(t).to(self.device)
        words = {name: spread(part, len(z_t)) for name, part in text.items()}
        given = None if condition is None else condition.expand(len(z_t))
        z_t = z_t.to(self.device, self.dtype)
        self.evaluated += len(z_t)
        parts = [slice(begin, begin + self.batch) for begin in range(0, len(z_t), self.batch)] if self.batch else [slice(None)]
        return torch.cat([self._predict(z_t, time, words, given, part) for part in parts])

    def _predict(self, z_t: Tensor, time: Tensor, words: TextEmbedding, given: Condition | None, part: slice) -> Tensor:
        """The prediction for some of a batch."""
        texts = {name: each[part] for name, each in words.items()}
        return self.family.predict(z_t[part], time[part], texts, None if given is None else given[part]).float()

    def denoise(
        self, z_t: Latents, t: Float[Tensor, " batch"], text: TextEmbedding, negative: TextEmbedding | None = None,
        guidance: float = 1.0, condition: Condition | None = None,
    ) -> Denoised:  # fmt: skip
        """x0 and noise of noisy latents, with classifier-free guidance away from a negative prompt; both see the condition."""
        prediction = self.predict(z_t, t, text, condition)
        if negative is not None and guidance != 1:
            prediction = classifier_free_guidance(prediction, self.predict(z_t, t, negative, condition), guidance)
        guess = self.schedule.denoised(prediction, z_t.to(prediction), self.schedule.level(t.to(prediction)))
        return guess if condition is None else guess._replace(x0=condition.put_into(guess.x0))

    def sample_latents(
        self, text: str, *, count: int = 1, steps: int = 30, guidance: float = 5.0, negative: str = "", seed: int = 0,
        film: FilmSettings | None = None, condition: Condition | None = None,
    ) -> Latents:  # fmt: skip
        """Latents of new videos by deterministic sampling (DDIM, or Euler for flow models)."""
        film = film or self.film
        shape, ahead = self.latent_shape(film.frames, film.height, film.width), condition.ahead if condition is not None else 0
        shape = shape._replace(frame=shape.frame + ahead)
        z = torch.randn((count, *shape), generator=torch.Generator().manual_seed(seed)).to(self.device)
        words, without = self.embed(text), self.embed(negative)
        times = self.schedule.sampling_times(steps).to(self.device)
        for now, then in pairwise(times):
            x0, noise = self.denoise(z, now.expand(count), words, without, guidance, condition)
            z = x0 if then == 0 else add_noise(x0, noise, self.schedule.level(then[None]))
        return z if condition is None else condition.put_into(z)[:, :, ahead:]

    def sample(
        self, text: str, *, count: int = 1, steps: int = 30, guidance: float = 5.0, seed: int = 0,
        condition: Condition | None = None,
    ) -> Tensor:  # fmt: skip
        """New videos, colours in 0 to 1: count × frames × height × width × 3."""
        return self.decode(
            self.sample_latents(text, count=count, steps=steps, guidance=guidance, seed=seed, condition=condition)
        )

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
        prior._sentences, prior.trained_on_captions, prior.batch = self._sentences, self.trained_on_captions, self.batch
        prior.known_actions, prior.known_modifiers = self.known_actions, self.known_modifiers
        return prior


def denoising_error(
    prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: TextEmbedding, condition: Condition | None = None
) -> Float[Tensor, " draw"]:
    """Mean square error of the x0-prediction in all frames that are not given, for every draw of noise."""
    return _x0_error(prior, z, noise, t, text, condition).square().flatten(1).mean(1)


def guided_denoising_error(
    prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str, condition: Condition | None = None
) -> Float[Tensor, ""]:
    """Logarithm of a denoising error for comparing motions under a sentence: lower is better.

    It is the error of the x0-prediction in what changes over time, divided by a power of how much changes: clips with less to
    see, such as legs that hide each other, have smaller errors whether the prior knows them or not. The log-ratio of the errors
    with and without the sentence is added with a weight, as in guidance: clips should be probable, and above all match the
    prompt.
    """
    conditional, unconditional = _log_errors(prior, z, noise, t, text, condition)
    return conditional - CHANGE_EXPONENT * _temporal_variance(z).mean().log() + TEXT_WEIGHT * (conditional - unconditional)


def text_log_ratio(
    prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str, condition: Condition | None = None
) -> Float[Tensor, ""]:
    """Log-ratio of that error with and without the sentence: below zero if the sentence explains some of the clip."""
    conditional, unconditional = _log_errors(prior, z, noise, t, text, condition)
    return conditional - unconditional


def missed_change(
    prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str, condition: Condition | None = None
) -> Float[Tensor, ""]:
    """Logarithm of the share of a film's change over time that the prior's prediction misses under a sentence.

    Above zero the prior does worse than one who says that nothing moves: it knows nothing of such a film.
    """
    missed = _x0_error(prior, z, noise, t, prior.embed(text), condition)
    return _temporal_variance(missed).mean().log() - _temporal_variance(z).mean().log()


def _log_errors(
    prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str, condition: Condition | None
) -> tuple[Tensor, Tensor]:
    conditional, unconditional = (
        _temporal_variance(_x0_error(prior, z, noise, t, prior.embed(words), condition)).mean().log() for words in (text, "")
    )
    return conditional, unconditional


def _temporal_variance(z: Tensor) -> Float[Tensor, " clip"]:
    """Mean square deviation from the mean over time."""
    return (z - z.mean(2, keepdim=True)).square().flatten(1).mean(1).clamp(min=1e-12)


def _x0_error(
    prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: TextEmbedding, condition: Condition | None
) -> Tensor:
    """Of the frames that are not given."""
    x0, t = z.expand_as(noise), t.to(z.device)
    z_t = add_noise(x0, noise.to(z), prior.schedule.level(t))
    error = prior.denoise(z_t, t, text, condition=condition).x0 - x0
    return error if condition is None else error[:, :, condition.cells :]
