"""The video prior: what distillation needs of a video model, whichever it is.

    prior = load_prior("embedded")
    z = prior.encode(video)                     # with gradient
    text = prior.embed("a dog walking")         # cached
    level = prior.schedule.level(t)
    z_t = add_noise(z.detach(), noise, level)
    guess = prior.denoise(z_t, t, text, prior.embed(""), guidance=5.0)
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.prior.family import Family, Text
from akd.prior.schedule import Denoised, Latents, Level, add_noise, guide
from akd.render.film import FilmSettings

SHOWN = 0.6
"""How much of the natural growth of errors with what there is to be seen is taken out of a surprise."""
SAID = 6.0
"""How much more a sentence's part in a surprise counts."""
__all__ = ["Denoised", "LatentShape", "Level", "VideoPrior", "add_noise", "guide"]


class LatentShape(NamedTuple):
    """Size of one video's latents."""

    channel: int
    frame: int
    row: int
    column: int


class VideoPrior:
    """A video model, frozen."""

    def __init__(self, family: Family, film: FilmSettings | None = None) -> None:
        self.family = family
        self.film = film or family.film
        """How to film for it."""
        self.schedule = family.schedule()
        """Its noise, and what it predicts."""
        self._sentences: dict[str, Text] = {}
        for part in (family.network, family.pipe.vae):
            part.requires_grad_(False).eval()

    @property
    def device(self) -> torch.device:
        return self.family.pipe._execution_device

    @property
    def dtype(self) -> torch.dtype:
        return self.family.network.dtype

    def check_film(self, frames: int, height: int, width: int) -> None:
        """Refuse a film that the model cannot take, and name the nearest that it can."""
        nearest = self.family.grid.nearest(frames, height, width)
        if (frames, height, width) != nearest:
            raise AkdError(
                f"This prior cannot take {frames} frames of {width} × {height} pixels; the nearest that fits is"
                f" {nearest[0]} frames of {nearest[2]} × {nearest[1]}."
            )

    def check_sentence(self, text: str) -> None:
        """Refuse a sentence that is mostly signs the model does not know, or longer than it reads."""
        tokenizer, longest = self.family.pipe.tokenizer, self.family.longest_sentence
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        if 2 * sum(token == tokenizer.unk_token_id for token in tokens) >= len(tokens):
            raise AkdError(f"The prior cannot read {text!r}: say it in English words.")
        if len(tokens) >= longest:
            raise AkdError(f"The prior reads {longest - 1} tokens, and {text!r} has {len(tokens)}: say it shorter.")

    @torch.no_grad()
    def embed(self, text: str) -> Text:
        """A sentence as the network takes it; each is read once."""
        if text not in self._sentences:
            self._sentences[text] = {name: part.detach() for name, part in self.family.embed(text).items()}
        return self._sentences[text]

    def encode(self, video: Float[Tensor, "batch frame height width 3"]) -> Latents:
        """Latents of videos with colours in 0 to 1, differentiable, in float32."""
        self.check_film(*video.shape[1:4])
        pixels = (video.permute(0, 4, 1, 2, 3) * 2 - 1).to(self.device, self.family.pipe.vae.dtype)
        return self.family.encode(pixels).float()

    @torch.no_grad()
    def decode(self, latents: Latents) -> Float[Tensor, "batch frame height width 3"]:
        """Videos of latents."""
        pixels = self.family.decode(latents.to(self.device, self.family.pipe.vae.dtype)).float()
        return (pixels.permute(0, 2, 3, 4, 1) / 2 + 0.5).clamp(0, 1)

    @torch.no_grad()
    def predict(self, z_t: Latents, t: Float[Tensor, " batch"], text: Text) -> Latents:
        """The network's own prediction (v, ε or flow), in float32. One sentence serves a whole batch."""
        time = self.schedule.network_time(t).to(self.device)
        words = {name: part.expand(len(z_t), *part.shape[1:]) if len(part) == 1 else part for name, part in text.items()}
        return self.family.predict(z_t.to(self.device, self.dtype), time, words).float()

    def denoise(
        self, z_t: Latents, t: Float[Tensor, " batch"], text: Text, negative: Text | None = None, guidance: float = 1.0
    ) -> Denoised:
        """Clean latents and noise behind noisy ones, guided away from a negative sentence."""
        prediction = self.predict(z_t, t, text)
        if negative is not None and guidance != 1:
            prediction = guide(prediction, self.predict(z_t, t, negative), guidance)
        return self.schedule.guess(prediction, z_t.to(prediction), self.schedule.level(t.to(prediction)))

    def sample_latents(
        self, text: str, *, count: int = 1, steps: int = 30, guidance: float = 5.0, negative: str = "", seed: int = 0,
        film: FilmSettings | None = None,
    ) -> Latents:  # fmt: skip
        """Latents of new videos, by deterministic steps from noise to clean (DDIM, or Euler for flow models)."""
        film = film or self.film
        shape = self.latent_shape(film.frames, film.height, film.width)
        z = torch.randn((count, *shape), generator=torch.Generator().manual_seed(seed)).to(self.device)
        words, without = self.embed(text), self.embed(negative)
        times = self.schedule.sampling_times(steps).to(self.device)
        for now, then in pairwise(times):
            guess = self.denoise(z, now.expand(count), words, without, guidance)
            z = guess.clean if then == 0 else add_noise(guess.clean, guess.noise, self.schedule.level(then[None]))
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
        """The same model looking at films of another kind (size, frames, ground …)."""
        prior = VideoPrior(self.family, replace(self.film, **changes))  # type: ignore[arg-type]
        prior._sentences = self._sentences
        return prior


def denoising_error(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: Text) -> Float[Tensor, " draw"]:
    """Mean square error of the guessed clean latents, for every draw."""
    return _missed(prior, z, noise, t, text).square().flatten(1).mean(1)


def guided_denoising_error(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str) -> Float[Tensor, ""]:
    """How much a clip surprises a prior that is told a sentence, for comparing motions: a logarithm, small is good.

    It is the error of the guess in what changes over time, beside how much changes: clips of which less is to be seen, such as
    legs that hide each other, have smaller errors whether the prior knows them or not. What the sentence does to the error
    counts more, as in guidance: clips are to be probable, but above all to be what was asked for.
    """
    told, untold = _told_and_untold(prior, z, noise, t, text)
    return told - SHOWN * _change(z).mean().log() + SAID * (told - untold)


def text_log_ratio(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str) -> Float[Tensor, ""]:
    """What a sentence does to that error alone, as the logarithm of a factor: below zero if it explains some of the clip."""
    told, untold = _told_and_untold(prior, z, noise, t, text)
    return told - untold


def _told_and_untold(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str) -> tuple[Tensor, Tensor]:
    told, untold = (_change(_missed(prior, z, noise, t, prior.embed(words))).mean().log() for words in (text, ""))
    return told, untold


def _change(z: Tensor) -> Float[Tensor, " clip"]:
    """Mean square of what changes over time."""
    return (z - z.mean(2, keepdim=True)).square().flatten(1).mean(1).clamp(min=1e-12)


def _missed(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: Text) -> Tensor:
    clean, t = z.expand_as(noise), t.to(z.device)
    return prior.denoise(add_noise(clean, noise.to(z), prior.schedule.level(t)), t, text).clean - clean
