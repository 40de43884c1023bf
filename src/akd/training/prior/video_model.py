"""Training of the video model on latents of films, with the first frame given in half of them.

It starts from the weights of a prior folder, whose films may be shorter, whose words fewer, and which may know no first frame:
positions in time go on, new words begin near words of the same meaning, weights for the first frame begin at zero.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from akd.prior.embedded.family import alphas_cumprod
from akd.prior.embedded.text_encoder import TextEncoder
from akd.prior.embedded.tokenizer import UnigramTokenizer
from akd.prior.embedded.transformer import Transformer
from akd.prior.folder import EMBEDDED_FOLDER, read_object
from akd.prior.schedule import Latents, NoiseSchedule, add_noise, diffusion_schedule
from akd.training.data_card import SHIPPED_CARD, DataCard
from akd.training.loop import TrainingConfig, train
from akd.training.prior.clips import COMMON_NAMES, ClipLabel
from akd.training.prior.latents import FilmLatents, LatentFiles
from akd.training.prior.new_words import extended_words
from akd.training.prior.real_films import BALANCE, HUMAN_NOUNS, RealLabel, caption

RESCAN_STEPS = 200
"""Steps between readings of the latents, so that training can begin while films are still being made."""
TIME_POWER = 0.6
"""Noise times are this power of uniform ones: below one, more of them are late, where sentence and motion are decided."""
GIVEN_SHARE = 0.5
"""Share of films whose first frame is given."""
FORMULA_SHARE = 0.3
"""Share of films of our own formulas in a batch."""
CONTRAST = 0.6
"""Weight of telling a film's caption from that of another action. Without it, sentences make so little of the error that
after 4,850 steps even filmed people were told apart no better than strangers (docs/log.md)."""
CONTRAST_MARGIN = 0.1
"""Relative difference of two captions' errors at which they count as told apart."""
SAME_ACTION = {"gallop": "run", "fall": "die", "get_up": "stand_up", "sit": "sit_down", "hop": "jump", "bite": "attack"}
"""Actions that are too much alike to be told apart in two seconds."""
ASKED_FOR = frozenset((
    "walk", "run", "jump", "kick", "punch", "wave_hand", "sit_down", "stand_up", "dance", "throw", "pick_up", "die", "idle",
    "sword", "bow", "turn", "crouch", "limp", "sneak", "eat", "attack", "gallop",
))  # fmt: skip
"""Actions that users ask for most …"""
ASKED_WEIGHT = 2.5
"""… which are drawn so many times as often as others, and named so many times as often in wrong captions: telling a kick from a
punch matters more than telling it from someone who acts like a mouse."""


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
    batch: int = 24
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
        vocabulary = len(UnigramTokenizer.read(tokenizer).pieces)
        model = cls(
            {**config, "in_channels": 2 * channels, "sample_frames": frames}, {**words, "vocab_size": vocabulary}, tokenizer
        )
        model.transformer.load_state_dict(weights)
        model.text_encoder.load_state_dict(known_words(folder, tokenizer, card))
        return model


def known_words(folder: Path, tokenizer: Mapping[str, Any], card: DataCard) -> dict[str, Tensor]:
    """The text encoder of a prior folder for the words of another tokenizer."""
    old, new = UnigramTokenizer.read(read_object(folder / "tokenizer" / "tokenizer.json")), UnigramTokenizer.read(tokenizer)
    text = load_file(folder / "text_encoder" / "model.safetensors")
    text.pop("encoder.embed_tokens.weight", None)
    return text | {"shared.weight": extended_words(text["shared.weight"], old, new, card)}


class NoisyFilms(NamedTuple):
    """A batch of films as the network sees them."""

    noisy: Latents
    given: Latents
    """Latents of the first frame in the films that show it, else zeros."""
    target: Latents
    time: Tensor
    shown: Bool[Tensor, " film"]
    """Is the first frame given?"""

    @classmethod
    def draw(cls, clean: Latents, first: Tensor, schedule: NoiseSchedule, randomness: torch.Generator) -> "NoisyFilms":
        """Noise and timesteps for films; times grow over the batch."""
        count = len(clean)
        # Times are stratified over the batch, which halves the variance of the loss.
        t = ((torch.arange(count) + torch.rand(count, generator=randomness)) / count) ** TIME_POWER
        noise = torch.randn(clean.shape, generator=randomness)
        given = torch.zeros_like(clean)
        shown = torch.rand(count, generator=randomness) < GIVEN_SHARE
        given[shown, :, 0] = first[shown]
        level = schedule.level(t)
        return cls(add_noise(clean, noise, level), given, schedule.target(clean, noise, level), schedule.network_time(t), shown)

    def errors(self, network: nn.Module, rows: Sequence[int], sentences: Sequence[str]) -> Float[Tensor, " row"]:
        """Mean squared error of the network's prediction for some of the films under sentences."""
        # Products in half precision take three quarters of the time of a step; the gradient's direction is the same. With
        # attention as plain products instead of torch's fused kernel it is another fifth less (docs/log.md).
        with torch.autocast("cpu", dtype=torch.bfloat16), sdpa_kernel(SDPBackend.MATH):
            predicted = network(self.noisy[rows], self.given[rows], self.time[rows], sentences)
        return (predicted.float() - self.target[rows]).square().mean((1, 2, 3, 4))


def train_video(config: VideoTraining, tokenizer: Mapping[str, Any], encoder: nn.Module) -> TextToVideoModel:
    """The trained video model with averaged weights; a run that was stopped is resumed."""
    scheduler = read_object(config.start / "scheduler" / "scheduler_config.json")
    schedule = diffusion_schedule("v", alphas_cumprod(scheduler))
    files = LatentFiles(config.films, config.latents, encoder)
    films = files.read()
    chances, rivals = _chances(films), Rivals(films.labels)

    def loss(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[Tensor, dict[str, float]]:
        nonlocal films, chances, rivals
        if step % RESCAN_STEPS == 0:
            films = files.read()
            chances, rivals = _chances(films), Rivals(films.labels)
        chosen = torch.multinomial(chances, config.batch, replacement=True, generator=randomness)
        batch = NoisyFilms.draw(films.latents[chosen].float(), films.first[chosen].float(), schedule, randomness)
        labels = [films.labels[index] for index in chosen.tolist()]
        seeds = [(config.training.seed, step, row) for row in range(config.batch)]
        sentences = [caption(label, np.random.default_rng(seed), config.card) for label, seed in zip(labels, seeds, strict=True)]
        error, half = batch.errors(network, range(config.batch), sentences), config.batch // 2
        parts = {"low": error[:half], "high": error[half:], "given": error[batch.shown], "text": error[~batch.shown]}
        wrong = {
            row: sentence
            for row in range(config.batch - config.batch // 4, config.batch)  # late times, at which the sentence counts
            if sentences[row] and (sentence := rivals.wrong_caption(labels[row], seeds[row], config.card))
        }
        total, rows = error.mean(), list(wrong)
        if rows:
            parts["worse"] = batch.errors(network, rows, list(wrong.values())).log() - error[rows].log()
            total = total + CONTRAST * CONTRAST_MARGIN * nn.functional.softplus(-parts["worse"] / CONTRAST_MARGIN).mean()
        return total, {name: float(part.detach().mean()) for name, part in parts.items() if len(part)}

    model = TextToVideoModel.start_from(config.start, config.card, config.frames, tokenizer)
    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)  # on the processor, too: else attention is in single precision
    train(model, loss, config.training, config.folder).use_average()
    return model


class Rivals:
    """Captions that are wrong in nothing but the action: another one of such a body, as the films show it."""

    def __init__(self, labels: Sequence[RealLabel | ClipLabel]) -> None:
        self.actions: dict[str, list[str]] = {}
        """Every kind of body's actions, sorted."""
        for kind, action in sorted({(_alike(label), _action(label)) for label in labels}):
            self.actions.setdefault(kind, []).append(action)

    def wrong_caption(self, label: RealLabel | ClipLabel, seed: tuple[int, ...], card: DataCard) -> str:
        """The caption of a film in the same words, but for the action; empty if such a body does nothing else."""
        others = [action for action in self.actions.get(_alike(label), ()) if _class(action) != _class(_action(label))]
        if not others:
            return ""
        weights = np.array([_demand(action) for action in others])
        action = str(np.random.default_rng((*seed, 1)).choice(others, p=weights / weights.sum()))
        wrong = replace(label, action=action, side="") if isinstance(label, RealLabel) else replace(label, motion=action)
        return caption(wrong, np.random.default_rng(seed), card)


def _alike(label: RealLabel | ClipLabel) -> str:
    """Bodies of one kind: people by any name, else the noun; films of our formulas are compared with such films."""
    if isinstance(label, ClipLabel):
        return "formulas of " + label.plan
    return "human" if label.source.startswith("cmu/") or label.noun in HUMAN_NOUNS else label.noun


def _action(label: RealLabel | ClipLabel) -> str:
    return label.action if isinstance(label, RealLabel) else label.motion


def _class(action: str) -> str:
    """The action, with styles of walking taken together, and gaits with those that captions may call by the same name."""
    action = COMMON_NAMES[action][0] if action in COMMON_NAMES else action
    return "walk" if "walk" in action else SAME_ACTION.get(action, action)


def _demand(action: str) -> float:
    """How much an action counts, by how often users ask for it."""
    return ASKED_WEIGHT if _class(action) in ASKED_FOR else 1.0


def _chances(films: FilmLatents) -> Float[Tensor, " film"]:
    """How often each film is drawn: formulas and real motion in fixed shares, rare actions and those that users ask for more
    often than they occur."""
    real, names = [isinstance(label, RealLabel) for label in films.labels], [_action(label) for label in films.labels]
    counts = Counter(zip(real, names, strict=True))
    chance = torch.tensor([
        counts[is_real, name] ** -BALANCE * _demand(name) for is_real, name in zip(real, names, strict=True)
    ])
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
