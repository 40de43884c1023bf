"""Gradient estimators: which way the prior would change a clip's latents.

All have one form. The clip is noised, the prior says what it believes to be behind the noise, and the difference between
the clip and that belief is the gradient on the latents. It never goes through the prior's network.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.prior.family import TextEmbedding
from akd.prior.prior import VideoPrior
from akd.prior.schedule import Denoised, Latents, add_noise, classifier_free_guidance

Estimator = Literal["sds", "csd", "dds", "vp_sds"]


class ScoreInputs(NamedTuple):
    """What the prior is asked about a clip."""

    noise: Float[Tensor, "draw channel cell row column"]
    t: Float[Tensor, " draw"]
    prompt: TextEmbedding
    negative_prompts: tuple[TextEmbedding, ...]
    """What the clip is led away from, alike from each; the first is the subject at rest."""
    guidance: float
    denoising_steps: int = 1


def draw_noise(shape: tuple[int, ...], draws: int, t: tuple[float, float], randomness: torch.Generator) -> tuple[Tensor, Tensor]:
    """Noise in opposite pairs, and times spread evenly over their range; both of a pair share their time."""
    pairs = -(-draws // 2)
    noise = torch.randn((pairs, *shape), generator=randomness)
    spread = (torch.arange(pairs) + torch.rand(pairs, generator=randomness)) / pairs
    times = t[0] + (t[1] - t[0]) * spread
    return torch.stack((noise, -noise), 1).flatten(0, 1)[:draws], times.repeat_interleave(2)[:draws]


@torch.no_grad()
def sds(prior: VideoPrior, z: Latents, ask: ScoreInputs) -> Latents:
    """Score distillation: z − ẑ, ẑ the guided guess of the clean clip, made in one step or several."""
    clean = z.expand_as(ask.noise)
    t = ask.t.to(z.device)
    z_t = add_noise(clean, ask.noise.to(z), prior.schedule.level(t))
    for step in range(ask.denoising_steps):
        guess = _guided(prior, z_t, t, ask)
        t = ask.t.to(z.device) * (1 - (step + 1) / ask.denoising_steps)
        z_t = add_noise(guess.x0, guess.noise, prior.schedule.level(t))
    return (clean - guess.x0).mean(0, keepdim=True)


@torch.no_grad()
def csd(prior: VideoPrior, z: Latents, ask: ScoreInputs) -> Latents:
    """Classifier score distillation: only what the prompt sentence changes in the guess."""
    prompt, negative_prompts = _guesses(prior, z, ask)
    return ask.guidance * (negative_prompts - prompt)


@torch.no_grad()
def variance_preserving_sds(prior: VideoPrior, z: Latents, ask: ScoreInputs) -> Latents:
    """Score distillation that does not calm: what the prompt sentence changes, and the guess as lively as the clip itself.

    Under strong noise the guess is a mean over all that may be, so it moves less than the clip, even a perfect one. Followed as
    it is, it stills every motion, and guidance that outweighs this also outweighs what the guess knows about the motion's shape.
    """
    prompt, negative_prompts = _guesses(prior, z, ask)
    still = prompt.mean(2, keepdim=True)
    change, own = prompt - still, z - z.mean(2, keepdim=True)
    belief = still + own.norm() / change.norm().clamp(min=1e-9) * change
    return z - belief + (ask.guidance - 1) * (negative_prompts - prompt)


def _guesses(prior: VideoPrior, z: Latents, ask: ScoreInputs) -> tuple[Latents, Latents]:
    """The clean clip as the prompt and as the negative_prompts sentences have it, mean over the draws."""
    t = ask.t.to(z.device)
    z_t = add_noise(z.expand_as(ask.noise), ask.noise.to(z), prior.schedule.level(t))
    prompt, *negative_prompts = (
        prior.denoise(z_t, t, text).x0.mean(0, keepdim=True) for text in (ask.prompt, *ask.negative_prompts)
    )
    return prompt, torch.stack(negative_prompts).mean(0)


def _guided(prior: VideoPrior, z_t: Latents, t: Float[Tensor, " draw"], ask: ScoreInputs) -> Denoised:
    """What the prior believes, led away from the mean of what it would believe of the negative_prompts sentences."""
    prompt = prior.denoise(z_t, t, ask.prompt)
    if ask.guidance == 1:
        return prompt
    others = [prior.denoise(z_t, t, text) for text in ask.negative_prompts]
    clean, noise = (torch.stack(parts).mean(0) for parts in zip(*others, strict=True))
    return Denoised(*(classifier_free_guidance(*parts, ask.guidance) for parts in ((prompt.x0, clean), (prompt.noise, noise))))


def dds(prior: VideoPrior, z: Latents, ask: ScoreInputs, still: Latents) -> Latents:
    """Delta denoising: what is wrong with the clip but not with the same character at rest, under the same noise."""
    return sds(prior, z, ask) - sds(prior, still, ask._replace(prompt=ask.negative_prompts[0], guidance=1.0))


ESTIMATORS: dict[str, Callable[..., Latents]] = {"sds": sds, "csd": csd, "dds": dds, "vp_sds": variance_preserving_sds}
