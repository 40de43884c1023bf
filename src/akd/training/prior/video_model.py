"""Training the small video model: transformer and text encoder together, on latents, to predict v."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from akd.errors import AkdError
from akd.prior.schedule import add_noise, diffusion_schedule
from akd.training.loop import Trainee, TrainingConfig, train
from akd.training.prior.cache import read_latents
from akd.training.prior.captions import caption_tokenizer, clip_caption
from akd.training.prior.networks import TEXT_TOKENS, build_scheduler, build_text_encoder, build_transformer
from akd.training.prior.text_encoder_start import start_reader

RESCAN = 100
"""Every so many steps latents are read anew, so that training can begin while they are still being computed."""
NOISY = 0.6
"""Times are drawn as this power of even ones: below one, more of them are late, where sentences decide and motion begins."""


@dataclass(frozen=True)
class VideoTraining:
    """What the video model is trained on, and how."""

    cache: Path
    """Folder of filmed clips, for their labels."""
    latents: Path
    """Folder of their latents."""
    folder: Path
    """Where state and log go."""
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(steps=20000, learning_rate=1e-3, warmup=100, ema=0.999, weight_decay=0.01)
    )
    batch: int = 16


class Narrator(nn.Module):
    """The two networks that are trained together."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.tokenizer = caption_tokenizer()
        self.text_encoder = build_text_encoder(len(self.tokenizer), seed)
        start_reader(self.text_encoder, self.tokenizer, seed)
        self.transformer = build_transformer(seed)

    def forward(self, z_t: Tensor, step: Tensor, sentences: list[str]) -> Tensor:
        """Predicted v, batch × channel × frame × row × column; sentences are read as the pipeline reads them."""
        options = {"padding": "max_length", "max_length": TEXT_TOKENS, "truncation": True, "return_tensors": "pt"}
        words = self.text_encoder(self.tokenizer(sentences, **options).input_ids)[0]
        return self.transformer(z_t.transpose(1, 2), words, step).sample.transpose(1, 2)


def train_video(config: VideoTraining) -> Narrator:
    """Train the video model, or go on; with averaged weights."""
    schedule = diffusion_schedule("v", build_scheduler().alphas_cumprod)
    latents, labels = _read(config)

    def loss(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[Tensor, dict[str, float]]:
        nonlocal latents, labels
        if step % RESCAN == 0:
            latents, labels = _read(config)
        rng = np.random.default_rng((config.training.seed, step))
        chosen = torch.randint(len(latents), (config.batch,), generator=randomness)
        clean = latents[chosen].float()
        # Times are spread evenly over the batch, which halves the noise of the loss.
        t = ((torch.arange(config.batch) + torch.rand(config.batch, generator=randomness)) / config.batch) ** NOISY
        noise = torch.randn(clean.shape, generator=randomness)
        level = schedule.level(t)
        sentences = [clip_caption(labels[index], rng) for index in chosen.tolist()]
        predicted = network(add_noise(clean, noise, level), schedule.network_time(t), sentences)
        error = (predicted - schedule.target(clean, noise, level)).square().mean((1, 2, 3, 4))
        half = config.batch // 2
        return error.mean(), {"low": float(error[:half].detach().mean()), "high": float(error[half:].detach().mean())}

    narrator = Narrator(config.training.seed)
    trainee: Trainee = train(narrator, loss, config.training, config.folder)
    trainee.use_average()
    return narrator


def _read(config: VideoTraining) -> tuple[Tensor, list]:
    latents, labels = read_latents(config.cache, config.latents)
    if not latents.isfinite().all():
        raise AkdError(f"Latents in {config.latents} are not finite: delete the folder and encode the clips anew.")
    return latents, labels
