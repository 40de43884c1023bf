"""Gradient estimators: in which direction the prior would change a film's latents.

All have one signature. The latents z are noised, the prior predicts the clean latents behind the noise, and the gradient is made
of differences between z and such predictions. It never passes through the prior's network.

To add one: write a function ``(prior, z, inputs) -> gradient`` and enter it into ``ESTIMATORS``; recipe, command line, tests
and experiments read that table.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from akd.prior.family import Condition, TextEmbedding
from akd.prior.prior import VideoPrior
from akd.prior.schedule import Denoised, Latents, add_noise, classifier_free_guidance


class ScoreInputs(NamedTuple):
    """Noise, timesteps and conditioning of one score evaluation."""

    noise: Float[Tensor, "draw channel cell row column"]
    t: Float[Tensor, " draw"]
    """Timestep of each draw, 0 (clean) to 1 (noise only)."""
    prompt: TextEmbedding
    negative_prompts: tuple[TextEmbedding, ...]
    """Averaged; the first describes the subject at rest."""
    guidance: float
    denoising_steps: int = 1
    """Steps from z_t to the predicted clean latents (SDS and DDS; the others take one): one step gives a mean over all films,
    several give one of them."""
    rest: Callable[[], Latents] | None = None
    """Latents of the character at rest from the same view, computed when an estimator asks for them."""
    condition: Condition | None = None
    """The film's own first frame, for image-to-video models."""


Estimator = Callable[[VideoPrior, Latents, ScoreInputs], Latents]


def score_gradient(estimator: str, prior: VideoPrior, z: Latents, inputs: ScoreInputs) -> Latents:
    """The gradient of the named estimator; frames that the prior was given say nothing about themselves, so theirs is zero."""
    gradient = ESTIMATORS[estimator](prior, z, inputs)
    if inputs.condition is not None:
        gradient = gradient.clone()
        gradient[:, :, : inputs.condition.cells] = 0
    return gradient


def draw_noise(shape: tuple[int, ...], draws: int, t: tuple[float, float], randomness: torch.Generator) -> tuple[Tensor, Tensor]:
    """Antithetic pairs of noise, and timesteps stratified over their range; both of a pair share their timestep."""
    pairs = -(-draws // 2)
    noise = torch.randn((pairs, *shape), generator=randomness)
    spread = (torch.arange(pairs) + torch.rand(pairs, generator=randomness)) / pairs
    times = t[0] + (t[1] - t[0]) * spread
    return torch.stack((noise, -noise), 1).flatten(0, 1)[:draws], times.repeat_interleave(2)[:draws]


@torch.no_grad()
def sds(prior: VideoPrior, z: Latents, inputs: ScoreInputs) -> Latents:
    """Score distillation sampling: z minus the guided prediction of the clean latents."""
    clean = z.expand_as(inputs.noise)
    t = inputs.t.to(z.device)
    z_t = add_noise(clean, inputs.noise.to(z), prior.schedule.level(t))
    for step in range(inputs.denoising_steps):
        denoised = _guided(prior, z_t, t, inputs)
        t = inputs.t.to(z.device) * (1 - (step + 1) / inputs.denoising_steps)
        z_t = add_noise(denoised.x0, denoised.noise, prior.schedule.level(t))
    return (clean - denoised.x0).mean(0, keepdim=True)


@torch.no_grad()
def csd(prior: VideoPrior, z: Latents, inputs: ScoreInputs) -> Latents:
    """Classifier score distillation: only the difference that the prompt makes to the prediction."""
    conditional, negative = _predictions(prior, z, inputs)
    return inputs.guidance * (negative - conditional)


@torch.no_grad()
def variance_preserving_sds(prior: VideoPrior, z: Latents, inputs: ScoreInputs) -> Latents:
    """Score distillation that does not damp the motion: the prediction is rescaled to the temporal variance of z.

    Under strong noise the prediction is a mean over all possible films, so it moves less than even a perfect film. Followed as
    it is, it stills every motion, and a guidance strong enough to outweigh this drowns what the prediction knows of the motion.
    """
    conditional, negative = _predictions(prior, z, inputs)
    still = conditional.mean(2, keepdim=True)
    change, own = conditional - still, z - z.mean(2, keepdim=True)
    target = still + own.norm() / change.norm().clamp(min=1e-9) * change
    return z - target + (inputs.guidance - 1) * (negative - conditional)


def dds(prior: VideoPrior, z: Latents, inputs: ScoreInputs) -> Latents:
    """Delta denoising score: the SDS gradient minus that of the character at rest under the same noise."""
    if inputs.rest is None:
        raise ValueError("delta denoising needs the latents of the character at rest")
    at_rest = inputs._replace(prompt=inputs.negative_prompts[0], guidance=1.0, condition=None)
    return sds(prior, z, inputs) - sds(prior, inputs.rest(), at_rest)


def _predictions(prior: VideoPrior, z: Latents, inputs: ScoreInputs) -> tuple[Latents, Latents]:
    """Clean latents predicted with the prompt and with the negative prompts, each a mean over the draws."""
    t = inputs.t.to(z.device)
    z_t = add_noise(z.expand_as(inputs.noise), inputs.noise.to(z), prior.schedule.level(t))
    texts = (inputs.prompt, *inputs.negative_prompts)
    conditional, *negative = (
        prior.denoise(z_t, t, text, condition=inputs.condition).x0.mean(0, keepdim=True) for text in texts
    )
    return conditional, torch.stack(negative).mean(0)


def _guided(prior: VideoPrior, z_t: Latents, t: Float[Tensor, " draw"], inputs: ScoreInputs) -> Denoised:
    """The prediction, guided away from the mean of the predictions for the negative prompts."""
    conditional = prior.denoise(z_t, t, inputs.prompt, condition=inputs.condition)
    if inputs.guidance == 1:
        return conditional
    others = [prior.denoise(z_t, t, text, condition=inputs.condition) for text in inputs.negative_prompts]
    negative = (torch.stack(parts).mean(0) for parts in zip(*others, strict=True))
    guided = (classifier_free_guidance(ours, other, inputs.guidance) for ours, other in zip(conditional, negative, strict=True))
    return Denoised(*guided)


ESTIMATORS: dict[str, Estimator] = {"sds": sds, "csd": csd, "dds": dds, "vp_sds": variance_preserving_sds}
