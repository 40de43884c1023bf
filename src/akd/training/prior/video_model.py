"""Training of the video model on latents of films, with the first frame given in half of them.

It starts from the weights of a prior folder, whose films may be shorter, whose words fewer, and which may know no first frame:
positions in time go on, new words begin near words of the same meaning, weights for the first frame begin at zero.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file
from torch import Tensor, nn

from akd.prior.embedded.family import alphas_cumprod
from akd.prior.embedded.text_encoder import TextEncoder
from akd.prior.embedded.tokenizer import UnigramTokenizer
from akd.prior.embedded.transformer import Transformer
from akd.prior.folder import read_object
from akd.prior.load import EMBEDDED_FOLDER
from akd.prior.schedule import add_noise, diffusion_schedule
from akd.training.data_card import SHIPPED_CARD, DataCard
from akd.training.loop import TrainingConfig, train
from akd.training.prior.latents import FilmLatents, LatentFiles
from akd.training.prior.new_words import extended_words
from akd.training.prior.real_films import RealLabel, caption

RESCAN_STEPS = 200
"""Steps between readings of the latents, so that training can begin while films are still being made."""
TIME_POWER = 0.6
"""Noise times are this power of uniform ones: below one, more of them are late, where sentence and motion are decided."""
GIVEN_SHARE = 0.5
"""Share of films whose first frame is given."""
BALANCE = 0.5
"""How far rare actions are drawn more often: 0 as often as they occur, 1 every action equally often."""
FORMULA_SHARE = 0.35
"""Share of films of our own formulas in a batch."""


@dataclass(frozen=True)
class VideoTraining:
    """What the video model is trained on, and how."""

    films: tuple[Path, ...]
    """Folders of films, for their labels and pixels."""
    latents: Path
    """Folder of their latents."""
    folder: Path
    """Where state and log go."""
    start: Path = EMBEDDED_FOLDER
    """The prior folder whose weights it starts from."""
    frames: int = 25
    """Frames of a film."""
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(steps=20_000, learning_rate=1e-3, warmup=200, ema=0.999, weight_decay=0.01)
    )
    batch: int = 16
    """Films in a batch."""
    card: DataCard = SHIPPED_CARD
    """Plans and words of the run."""


class TextToVideoModel(nn.Module):
    """Text encoder and transformer, which are trained together; attributes are the keys of checkpoints."""

    def __init__(self, transformer: Mapping[str, Any], text_encoder: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> None:
        super().__init__()
        self.configs = {"transformer": dict(transformer), "text_encoder": dict(text_encoder)}
        self.tokenizer_config = tokenizer
        self.tokenizer = UnigramTokenizer.read(tokenizer)
        self.text_encoder = TextEncoder(text_encoder)
        self.transformer = Transformer(transformer)

    def forward(self, z_t: Tensor, given: Tensor, step: Tensor, sentences: Sequence[str]) -> Tensor:
        """Predicted v, batch × channel × cell × row × column; ``given`` is the first frame's latents, or zeros."""
        longest = self.configs["transformer"]["max_text_seq_length"]
        tokens: Int[Tensor, "batch token"] = torch.tensor([self.tokenizer.padded(text, longest) for text in sentences])
        return self.transformer(torch.cat((z_t, given), 1), step, self.text_encoder(tokens))

    @classmethod
    def start_from(cls, folder: Path, card: DataCard, frames: int, tokenizer: Mapping[str, Any]) -> "TextToVideoModel":
        """The model of a prior folder with longer films, the card's words and a first frame that can be given."""
        config = read_object(folder / "transformer" / "config.json")
        words = read_object(folder / "text_encoder" / "config.json")
        channels = config["out_channels"]
        weights = load_file(folder / "transformer" / "diffusion_pytorch_model.safetensors")
        if config["in_channels"] == channels:
            enter = weights["patch_embed.proj.weight"]
            weights["patch_embed.proj.weight"] = torch.cat((enter, torch.zeros_like(enter)), 1)
        old = UnigramTokenizer.read(read_object(folder / "tokenizer" / "tokenizer.json"))
        new = UnigramTokenizer.read(tokenizer)
        model = cls(
            {**config, "in_channels": 2 * channels, "sample_frames": frames}, {**words, "vocab_size": len(new.pieces)}, tokenizer
        )
        model.transformer.load_state_dict(weights)
        text = load_file(folder / "text_encoder" / "model.safetensors")
        text.pop("encoder.embed_tokens.weight", None)
        text["shared.weight"] = extended_words(text["shared.weight"], old, new, card)
        model.text_encoder.load_state_dict(text)
        return model


def train_video(config: VideoTraining, tokenizer: Mapping[str, Any], encoder: nn.Module) -> TextToVideoModel:
    """The trained video model with averaged weights; a run that was stopped is resumed."""
    scheduler = read_object(config.start / "scheduler" / "scheduler_config.json")
    schedule = diffusion_schedule("v", alphas_cumprod(scheduler))
    files = LatentFiles(config.films, config.latents, encoder)
    films = files.read()
    chances = _chances(films)

    def loss(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[Tensor, dict[str, float]]:
        nonlocal films, chances
        if step % RESCAN_STEPS == 0:
            films = files.read()
            chances = _chances(films)
        rng = np.random.default_rng((config.training.seed, step))
        chosen = torch.multinomial(chances, config.batch, replacement=True, generator=randomness)
        clean, first = films.latents[chosen].float(), films.first[chosen].float()
        # Times are stratified over the batch, which halves the variance of the loss.
        t = ((torch.arange(config.batch) + torch.rand(config.batch, generator=randomness)) / config.batch) ** TIME_POWER
        noise = torch.randn(clean.shape, generator=randomness)
        given = torch.zeros_like(clean)
        shown = torch.rand(config.batch, generator=randomness) < GIVEN_SHARE
        given[shown, :, 0] = first[shown]
        level = schedule.level(t)
        sentences = [caption(films.labels[index], rng, config.card) for index in chosen.tolist()]
        predicted = network(add_noise(clean, noise, level), given, schedule.network_time(t), sentences)
        error = (predicted - schedule.target(clean, noise, level)).square().mean((1, 2, 3, 4))
        half = config.batch // 2
        parts = {"low": error[:half], "high": error[half:], "given": error[shown], "text": error[~shown]}
        return error.mean(), {name: float(part.detach().mean()) for name, part in parts.items() if len(part)}

    model = TextToVideoModel.start_from(config.start, config.card, config.frames, tokenizer)
    train(model, loss, config.training, config.folder).use_average()
    return model


def _chances(films: FilmLatents) -> Float[Tensor, " film"]:
    """How often each film is drawn: formulas and real motion in fixed shares, rare actions more often than they occur."""
    real = [isinstance(label, RealLabel) for label in films.labels]
    names = [label.action if isinstance(label, RealLabel) else label.motion for label in films.labels]
    counts = Counter(zip(real, names, strict=True))
    chance = torch.tensor([counts[key] ** -BALANCE for key in zip(real, names, strict=True)])
    is_real = torch.tensor(real)
    for which, share in ((is_real, 1 - FORMULA_SHARE), (~is_real, FORMULA_SHARE)):
        if which.any():
            chance[which] *= share / chance[which].sum()
    return chance


def save_video_model(model: TextToVideoModel, folder: Path) -> None:
    """Write transformer and text encoder as a prior folder has them, in half precision."""
    from safetensors.torch import save_file

    for part, name in (("transformer", "diffusion_pytorch_model"), ("text_encoder", "model")):
        target = folder / part
        target.mkdir(parents=True, exist_ok=True)
        weights = {key: value.detach().half().contiguous() for key, value in getattr(model, part).state_dict().items()}
        save_file(weights, target / f"{name}.safetensors", metadata={"format": "pt"})
        (target / "config.json").write_text(json.dumps(model.configs[part], indent=2) + "\n")
