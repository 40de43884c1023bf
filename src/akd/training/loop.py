"""The training loop of all networks. A run that is killed at any instant resumes and ends with the same weights.

All randomness of a step comes from (seed, step), so there is no random state to save. A checkpoint is one file, written
beside the old one and renamed over it. To keep it small, the optimisers' moments are kept in bfloat16 and the averaged weights as
float16 differences from the weights; the running values are rounded alike whenever one is written, so a run that
resumes and one that was never stopped do the same.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from akd.errors import AkdError

MOMENTS = ("exp_avg", "exp_avg_sq", "momentum_buffer")
"""What the optimisers keep of every weight."""
Loss = Callable[[nn.Module, int, torch.Generator], tuple[Float[Tensor, ""], dict[str, float]]]
"""(network, step, randomness) → the loss, and numbers for the log."""


@dataclass(frozen=True)
class TrainingConfig:
    """How a network is trained."""

    steps: int
    learning_rate: float
    seed: int = 0
    """Of all random numbers."""
    warmup: int = 50
    """Steps over which the learning rate grows to its value."""
    cooldown: float = 0.2
    """Share of the steps, at the end, over which the learning rate falls to a twentieth."""
    ema: float = 0.995
    """Decay of the averaged weights, reached after some hundred steps."""
    clip: float = 1.0
    """Largest gradient norm."""
    weight_decay: float = 0.0
    muon: tuple[str, ...] = ()
    """Parts of the names of matrices that Muon trains; AdamW trains all other weights."""
    muon_rate: float = 2.0
    """Learning rate of those, as a multiple of the others'."""
    save_every: int = 50
    """Steps between checkpoints."""
    threads: int = 1
    """Of torch."""
    tensorboard: Path | None = None
    """Folder for curves in TensorBoard, beside the log; none by default."""


class TrainingState:
    """A network in training: weights, their exponential moving average, optimiser, step."""

    def __init__(self, network: nn.Module, config: TrainingConfig) -> None:
        self.network = network
        self.config = config
        self.trained = {name: p for name, p in network.named_parameters() if p.requires_grad}
        self.average = {name: p.detach().clone() for name, p in self.trained.items()}
        self.optimisers = _optimisers(self.trained, config)
        self.step = 0

    def update(self, loss: Float[Tensor, ""]) -> float:
        """One step down the gradient; returns its norm."""
        config = self.config
        for weight in self.trained.values():
            weight.grad = None
        loss.backward()
        norm = float(nn.utils.clip_grad_norm_(list(self.trained.values()), config.clip))
        if not norm < float("inf"):
            raise AkdError(f"The gradient is not finite at step {self.step}: resume with a lower learning rate.")
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = optimiser.defaults["lr"] * learning_rate_factor(self.step, config)
            optimiser.step()
        decay = min(config.ema, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, weight in self.trained.items():
                self.average[name].lerp_(weight, 1 - decay)
        self.step += 1
        return norm

    def use_average(self) -> None:
        """Put the averaged weights into the network; it is not trained further after this."""
        with torch.no_grad():
            for name, weight in self.trained.items():
                weight.copy_(self.average[name])

    @torch.no_grad()
    def save(self, path: Path) -> None:
        """Write a checkpoint, and round the state to what was written."""
        tensors = {"step": torch.tensor(self.step)}
        for name, weight in self.trained.items():
            tensors["weight." + name] = weight.detach()
            ahead = (self.average[name] - weight).half()
            self.average[name] = weight + ahead.float()
            tensors["average." + name] = ahead
            for key, value in self._moments(weight).items():
                value.copy_(value.bfloat16())
                tensors[f"{key}." + name] = value.bfloat16()
        part = path.with_name(path.name + ".part")
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, part)
        part.replace(path)

    @torch.no_grad()
    def load(self, path: Path) -> None:
        """Read a checkpoint."""
        try:
            tensors = load_file(path)
        except (SafetensorError, OSError) as error:
            raise AkdError(f"{path} is no checkpoint of a training, or cut off: delete it to begin again.") from error
        if {name for name in tensors if name.startswith("weight.")} != {"weight." + name for name in self.trained}:
            raise AkdError(f"{path} was saved by a run that trained other weights: use another folder.")
        self.step = int(tensors["step"])
        for name, weight in self.trained.items():
            weight.copy_(tensors["weight." + name])
            self.average[name] = weight + tensors["average." + name].float()
            keys = [key for key in MOMENTS if f"{key}.{name}" in tensors]
            if not keys:
                raise AkdError(f"{path} lacks the moments of {name}: delete it to begin again.")
            moments = {key: tensors[f"{key}.{name}"].float() for key in keys}
            self._optimiser_of(weight).state[weight] = {"step": torch.tensor(float(self.step)), **moments}

    def _optimiser_of(self, weight: Tensor) -> torch.optim.Optimizer:
        return next(each for each in self.optimisers if any(weight is own for own in each.param_groups[0]["params"]))

    def _moments(self, weight: Tensor) -> dict[str, Tensor]:
        """Moving averages of a weight's gradients, by the name its optimiser has for them."""
        state = self._optimiser_of(weight).state[weight]
        return {key: state[key] for key in MOMENTS if key in state}


def _optimisers(trained: dict[str, nn.Parameter], config: TrainingConfig) -> list[torch.optim.Optimizer]:
    """AdamW, and Muon for the matrices that the configuration names."""
    by_muon = {name for name, weight in trained.items() if weight.ndim == 2 and any(part in name for part in config.muon)}
    others = [weight for name, weight in trained.items() if name not in by_muon]
    adamw = torch.optim.AdamW(others, lr=config.learning_rate, betas=(0.9, 0.99), weight_decay=config.weight_decay)
    if not by_muon:
        return [adamw]
    rate, decay = config.muon_rate * config.learning_rate, config.weight_decay
    matrices = [trained[name] for name in sorted(by_muon)]
    return [adamw, torch.optim.Muon(matrices, lr=rate, weight_decay=decay, adjust_lr_fn="match_rms_adamw")]


def learning_rate_factor(step: int, config: TrainingConfig) -> float:
    """Factor of the learning rate: linear warm-up, constant, linear cool-down to a twentieth."""
    left = (config.steps - step) / max(config.cooldown * config.steps, 1)
    return min((step + 1) / max(config.warmup, 1), 1.0) * min(max(left, 0.05), 1.0)


def train(
    network: nn.Module, loss: Loss, config: TrainingConfig, folder: Path,
    *, validate: Callable[[TrainingState], dict[str, float]] | None = None, validate_every: int = 500,
) -> TrainingState:  # fmt: skip
    """Train a network, or resume its training, in a folder (``state.safetensors``, ``log.jsonl``).

    Every ``validate_every`` steps ``validate`` adds its numbers to the log.
    """
    torch.set_num_threads(config.threads)
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "state.safetensors"
    state = TrainingState(network, config)
    if checkpoint.exists():
        state.load(checkpoint)
    curves = None
    if config.tensorboard is not None:
        from akd.pipeline.curves import add_numbers, open_curves

        curves = open_curves(config.tensorboard, state.step)
    with (folder / "log.jsonl").open("a") as log:
        while state.step < config.steps:
            step, began = state.step, time.monotonic()
            randomness = torch.Generator().manual_seed(config.seed * 1_000_003 + step)
            value, entry = loss(network, step, randomness)
            entry = {"step": step, "loss": float(value.detach()), **entry, "norm": state.update(value)}
            if validate and state.step % validate_every == 0:
                entry |= validate(state)
            entry["seconds"] = time.monotonic() - began
            log.write(json.dumps({key: float(f"{number:.5g}") for key, number in entry.items()}) + "\n")
            if curves is not None:
                add_numbers(curves, step, entry)
            if state.step % config.save_every == 0 or state.step == config.steps:
                state.save(checkpoint)
                log.flush()
    return state
