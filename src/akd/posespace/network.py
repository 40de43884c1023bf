"""How poses are noised: ``z_t = α_t u + σ_t ε`` with α² + σ² = 1, t from 0 (clean) to 1 (noise only).

The network: a rig encoder that runs once for each rig, a head that tells how far joints bend, and a denoiser of poses.

Bends are normalised by what the encoder says of the joint, ``u = (x − μ) / σ``, so nothing needs to be known of a new rig
but its rest pose. The denoiser sees u under noise and says what it believes to be behind it.

The shipped weights: one safetensors file with the network's sizes in its header.
"""

import json
import math
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from akd.errors import AkdError
from akd.posespace.rig_batch import FEATURES, PAIR_CODES, RigBatch

LEAST = 0.02
"""At t = 0 a trace of noise is left, so that the logarithm of signal to noise is finite."""


class Level(NamedTuple):
    """Shares of signal and noise."""

    alpha: Float[Tensor, "*batch"]
    sigma: Float[Tensor, "*batch"]


def level(t: Float[Tensor, "*batch"]) -> Level:
    """The cosine schedule."""
    angle = (LEAST + (1 - LEAST) * t) * (torch.pi / 2 - 1e-3)
    return Level(torch.cos(angle), torch.sin(angle))


def log_snr(t: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """``log(α² / σ²)``, what the network is told of the noise."""
    alpha, sigma = level(t)
    return 2 * (alpha / sigma).log()


HANDLE = 4
"""Inputs for a handle: is there one, and where it wants the joint to be, away from where it is at rest."""
SMALLEST = 0.03
"""No joint is taken to be stiffer than this [rad]."""
WAVES = 32


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the network."""

    features: int = FEATURES
    width: int = 128
    heads: int = 4
    rig_blocks: int = 2
    blocks: int = 6
    widening: int = 2
    """How much wider the inner layer of each block is."""
    graph: bool = True
    """Whether attention knows who is parent, child, partner; without, it is the control."""


class Range(NamedTuple):
    """How far joints bend: middle and spread of each angle [rad]."""

    mean: Float[Tensor, "rig joint 3"]
    spread: Float[Tensor, "rig joint 3"]


class EncodedRigs(NamedTuple):
    """What is computed once for a rig."""

    hidden: Float[Tensor, "rig joint width"]
    range: Range
    rigs: RigBatch


class GraphAttention(nn.Module):
    """Attention between the joints of a rig, biased by what they are to each other; local layers see relatives only."""

    def __init__(self, config: NetworkConfig, local: bool) -> None:
        super().__init__()
        self.heads, self.local = config.heads, local
        self.to_qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)
        self.bias = nn.Embedding(PAIR_CODES, config.heads) if config.graph else None
        if self.bias is not None:
            nn.init.zeros_(self.bias.weight)

    def mask(self, rigs: RigBatch) -> Float[Tensor, "rig 1 head joint joint"]:
        """What is added to the logits."""
        seen = rigs.present[:, None, :]
        if self.local and self.bias is not None:
            seen = seen & (rigs.near | torch.eye(rigs.joint_count, dtype=torch.bool))
        hidden = torch.where(seen, 0.0, -1e4)[:, None]
        bias = self.bias(rigs.codes).permute(0, 3, 1, 2) if self.bias is not None else 0.0
        return (hidden + bias)[:, None].expand(-1, -1, self.heads, rigs.joint_count, -1)

    def forward(self, x: Float[Tensor, "rig pose joint width"], rigs: RigBatch) -> Float[Tensor, "rig pose joint width"]:
        q, k, v = self.to_qkv(x).unflatten(-1, (3, self.heads, -1)).permute(3, 0, 1, 4, 2, 5)
        logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + self.mask(rigs)
        return self.out((logits.softmax(-1) @ v).transpose(2, 3).flatten(-2))


class Block(nn.Module):
    """Attention and a small network, both steered by the noise level where there is one."""

    def __init__(self, config: NetworkConfig, local: bool, steered: bool) -> None:
        super().__init__()
        width, inner = config.width, config.widening * config.width
        self.attention = GraphAttention(config, local)
        self.inner = nn.Sequential(nn.Linear(width, inner), nn.GELU(approximate="tanh"), nn.Linear(inner, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=not steered) for _ in range(2))
        self.steer = nn.Linear(width, 6 * width) if steered else None
        if self.steer is not None:
            nn.init.zeros_(self.steer.weight)
            nn.init.zeros_(self.steer.bias)

    def forward(self, x: Tensor, rigs: RigBatch, noise: Float[Tensor, "rig pose width"] | None = None) -> Tensor:
        if self.steer is None or noise is None:
            x = x + self.attention(self.norms[0](x), rigs)
            return x + self.inner(self.norms[1](x))
        scale1, shift1, gate1, scale2, shift2, gate2 = self.steer(noise)[:, :, None].chunk(6, -1)
        x = x + (1 + gate1) * self.attention((1 + scale1) * self.norms[0](x) + shift1, rigs)
        return x + (1 + gate2) * self.inner((1 + scale2) * self.norms[1](x) + shift2)


class PoseNetwork(nn.Module):
    """Rig encoder, range head and denoiser."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.read_rig = nn.Linear(config.features, width)
        self.rig_blocks = nn.ModuleList(Block(config, k % 2 == 0, steered=False) for k in range(config.rig_blocks))
        self.range_head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 6))
        self.read_pose = nn.Linear(3 + HANDLE, width)
        self.read_noise = nn.Sequential(nn.Linear(WAVES, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.blocks = nn.ModuleList(Block(config, k % 2 == 0, steered=True) for k in range(config.blocks))
        last = nn.Linear(width, 3)
        nn.init.zeros_(last.weight)
        self.say = nn.Sequential(nn.LayerNorm(width), last)

    def encode(self, rigs: RigBatch) -> EncodedRigs:
        """Read rigs once, for any number of poses."""
        hidden = self.read_rig(rigs.features)[:, None]
        for block in self.rig_blocks:
            hidden = block(hidden, rigs)
        mean, spread = self.range_head(hidden[:, 0]).chunk(2, -1)
        found = Range(0.5 * mean, SMALLEST + torch.nn.functional.softplus(spread - 1.5))
        return EncodedRigs(hidden[:, 0], even(found, rigs), rigs)

    def denoise(
        self, rig: EncodedRigs, noisy: Float[Tensor, "rig pose joint 3"], t: Float[Tensor, "rig pose"],
        handles: Float[Tensor, "rig pose joint 4"] | None = None,
    ) -> Float[Tensor, "rig pose joint 3"]:  # fmt: skip
        """What it believes to be behind the noise, in normalised bends: ``û = α z − σ v``."""
        alpha, sigma = (part[..., None, None] for part in level(t))
        if handles is None:
            handles = noisy.new_zeros(*noisy.shape[:-1], HANDLE)
        x = self.read_pose(torch.cat((noisy, handles), -1)) + rig.hidden[:, None]
        noise = self.read_noise(_waves(log_snr(t)))
        for block in self.blocks:
            x = block(x, rig.rigs, noise)
        return alpha * noisy - sigma * self.say(x)


def even(range: Range, rigs: RigBatch) -> Range:
    """Left and right bend alike: the middle between what is said of a joint and of its partner."""

    def partner(values: Float[Tensor, "rig joint 3"]) -> Float[Tensor, "rig joint 3 1"]:
        return values.gather(1, rigs.mirror[:, :, None].expand_as(values))[..., None]

    mean = (range.mean + (rigs.mirror_maps @ partner(range.mean)).squeeze(-1)) / 2
    variance = (range.spread.square() + (rigs.mirror_maps.square() @ partner(range.spread.square())).squeeze(-1)) / 2
    return Range(mean, variance.sqrt())


def normalise(range: Range, bends: Float[Tensor, "rig pose joint 3"]) -> Float[Tensor, "rig pose joint 3"]:
    return (bends - range.mean[:, None]) / range.spread[:, None]


def restore(range: Range, unit: Float[Tensor, "rig pose joint 3"]) -> Float[Tensor, "rig pose joint 3"]:
    return range.mean[:, None] + range.spread[:, None] * unit


def _waves(value: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch wave"]:
    frequency = torch.exp(torch.linspace(math.log(0.1), math.log(4.0), WAVES // 2))
    phase = value[..., None] * frequency
    return torch.cat((phase.sin(), phase.cos()), -1)


SHIPPED = Path(__file__).parent / "weights" / "posespace.safetensors"


def save_weights(network: PoseNetwork, path: Path, facts: dict[str, str]) -> None:
    """Write a network; ``facts`` say where it comes from."""
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"config": json.dumps(asdict(network.config)), **facts}
    # Half precision is far below what training leaves uncertain, and halves the package.
    save_file({name: value.half().contiguous() for name, value in network.state_dict().items()}, path, about)


@cache
def load_network(path: Path = SHIPPED) -> PoseNetwork:
    """A trained network, frozen; each file is read once."""
    from safetensors import safe_open

    if not path.is_file():
        raise AkdError(f"There are no pose-space weights at {path}: train some with `akd posespace train`.")
    with safe_open(path, "pt") as stored:
        network = PoseNetwork(NetworkConfig(**json.loads(stored.metadata()["config"])))
        network.load_state_dict({name: stored.get_tensor(name).float() for name in stored.keys()})  # noqa: SIM118
    return network.requires_grad_(False).eval()


def handle_inputs(
    rigs: RigBatch, wanted: Bool[Tensor, "rig pose joint"], target: Float[Tensor, "rig pose joint 3"]
) -> Float[Tensor, "rig pose joint 4"]:
    """How the network is told that joints should be at these places, seen from the root [ℓ]."""
    flag = wanted[..., None].to(target.dtype)
    return torch.cat((flag, flag * (target - rigs.rest[:, None])), -1)
