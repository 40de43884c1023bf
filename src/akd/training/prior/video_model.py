"""Training the small video model: transformer and text encoder together, on latents, to predict v."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from akd.errors import AkdError
from akd.prior.schedule import add_noise, diffusion_schedule
from akd.training.data_card import SHIPPED_CARD, DataCard
from akd.training.loop import TrainingConfig, train
from akd.training.prior.cache import read_latents
from akd.training.prior.clips import caption_tokenizer, clip_caption
from akd.training.prior.network_init import init_text_encoder
from akd.training.prior.networks import TEXT_TOKENS, build_scheduler, build_text_encoder, build_transformer

RESCAN_STEPS = 100
"""Steps between readings of the latents, so that training can begin while they are still being computed."""
TIME_POWER = 0.6
"""Noise times are this power of uniform ones: below one, more of them are late, where sentence and motion are decided."""


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
    """Clips in a batch."""
    card: DataCard = SHIPPED_CARD
    """Plans and words of the run."""


class TextToVideoModel(nn.Module):
    """Text encoder and transformer, which are trained together; attributes are the keys of checkpoints."""

    def __init__(self, seed: int = 0, card: DataCard = SHIPPED_CARD) -> None:
        super().__init__()
        self.tokenizer = caption_tokenizer(card.words)
        self.text_encoder = build_text_encoder(len(self.tokenizer), seed)
        init_text_encoder(self.text_encoder, self.tokenizer, seed, card)
        self.transformer = build_transformer(seed)

    def forward(self, z_t: Tensor, step: Tensor, sentences: list[str]) -> Tensor:
        """Predicted v, batch × channel × frame × row × column; sentences are tokenised as the pipeline does."""
        options = {"padding": "max_length", "max_length": TEXT_TOKENS, "truncation": True, "return_tensors": "pt"}
        words = self.text_encoder(self.tokenizer(sentences, **options).input_ids)[0]
        return self.transformer(z_t.transpose(1, 2), words, step).sample.transpose(1, 2)


def train_video(config: VideoTraining) -> TextToVideoModel:
    """The trained video model with averaged weights; a run that was stopped is resumed."""
    schedule = diffusion_schedule("v", build_scheduler().alphas_cumprod)
    latents, labels = _read(config)

    def loss(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[Tensor, dict[str, float]]:
        nonlocal latents, labels
        if step % RESCAN_STEPS == 0:
            latents, labels = _read(config)
        rng = np.random.default_rng((config.training.seed, step))
        chosen = torch.randint(len(latents), (config.batch,), generator=randomness)
        clean = latents[chosen].float()
        # Times are stratified over the batch, which halves the variance of the loss.
        t = ((torch.arange(config.batch) + torch.rand(config.batch, generator=randomness)) / config.batch) ** TIME_POWER
        noise = torch.randn(clean.shape, generator=randomness)
        level = schedule.level(t)
        sentences = [clip_caption(labels[index], rng, config.card) for index in chosen.tolist()]
        predicted = network(add_noise(clean, noise, level), schedule.network_time(t), sentences)
        error = (predicted - schedule.target(clean, noise, level)).square().mean((1, 2, 3, 4))
        half = config.batch // 2
        return error.mean(), {"low": float(error[:half].detach().mean()), "high": float(error[half:].detach().mean())}

    model = TextToVideoModel(config.training.seed, config.card)
    train(model, loss, config.training, config.folder).use_average()
    return model


def _read(config: VideoTraining) -> tuple[Tensor, list]:
    """Latents and labels of all clips that are encoded so far."""
    latents, labels = read_latents(config.cache, config.latents)
    if not latents.isfinite().all():
        raise AkdError(f"Latents in {config.latents} are not finite: delete the folder and encode the clips anew.")
    return latents, labels
