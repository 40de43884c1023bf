"""The pose network: a rig encoder that runs once for each rig, a range head, and a denoiser of poses.

Joint rotation vectors are normalised by the mean and spread that the range head predicts for the joint, ``u = (x − μ) / σ``, so
nothing needs to be known of a new rig but its rest pose. The denoiser sees ``z_t = α_t u + σ_t ε`` with α² + σ² = 1, the time t
running from 0 (clean) to 1 (noise only), and predicts u. Where poses of the very rig are known, they shift its range, and every
joint of the denoiser attends to what it does in each of them. Attributes of the modules are the keys of weight files.
"""

import json
import math
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from akd.errors import AkdError
from akd.files.writing import write_file
from akd.posespace.rig_batch import FEATURES, PAIR_CODES, RigBatch

SHIPPED = Path(__file__).parent / "weights" / "posespace.safetensors"
"""The weights of the package: one safetensors file with the network's sizes in its header."""
MIN_TIME = 0.02
"""At t = 0 the noise of this time is left, so that the logarithm of the signal-to-noise ratio is finite."""
HANDLE_INPUTS = 4
"""Inputs for a handle: whether there is one, and its target position relative to the joint's position at rest."""
MIN_SPREAD = 0.03
"""Smallest spread of a joint angle [rad]."""
EXAMPLE_FACTS = 7
"""What the range head is told of a joint in example poses: mean and deviation of its angles, and the number of poses."""
MAX_SHOWN = 5.0
"""Example poses are shown up to so many spreads from the mean."""
MAX_ADAPTION = 2.0
"""Examples change a spread by at most this factor's exponential: from an eighth to seven times."""
QUANTILES = 101
"""Of anomalies, from the least to the largest."""
MAX_SIZE = 4096
"""Largest width or number of anything that a weight file may claim."""
NOISE_FEATURES = 32
"""Sinusoids that the noise level is given by."""


class NoiseLevel(NamedTuple):
    """Amplitudes of signal and noise."""

    alpha: Float[Tensor, "*batch"]
    sigma: Float[Tensor, "*batch"]


def noise_level(t: Float[Tensor, "*batch"]) -> NoiseLevel:
    """Amplitudes of signal and noise at a time (cosine schedule)."""
    angle = (MIN_TIME + (1 - MIN_TIME) * t) * (torch.pi / 2 - 1e-3)
    return NoiseLevel(torch.cos(angle), torch.sin(angle))


def log_snr(t: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """``log(α² / σ²)``, by which the network is conditioned on the noise level."""
    alpha, sigma = noise_level(t)
    return 2 * (alpha / sigma).log()


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the network."""

    features: int = FEATURES
    width: int = 128
    heads: int = 4
    rig_blocks: int = 2
    blocks: int = 6
    widening: int = 2
    """Width of the inner layer of each block, relative to ``width``."""
    example_blocks: int = 2
    """Blocks that read example poses of the rig; 0 for a network that cannot use any."""
    judges: bool = True
    """Whether the network tells real poses from broken ones."""
    graph: bool = True
    """Whether attention is biased by the relation of joints in the tree; without, it is a control."""


class Range(NamedTuple):
    """Range of joints: mean and spread of each angle [rad]."""

    mean: Float[Tensor, "rig joint 3"]
    spread: Float[Tensor, "rig joint 3"]


class Examples(NamedTuple):
    """Known poses of rigs; rigs may have different numbers of them, or none."""

    vectors: Float[Tensor, "rig example joint 3"]
    """Joint rotation vectors [rad]."""
    given: Bool[Tensor, "rig example"]
    """Which of them are poses and not padding."""


class ReadExamples(NamedTuple):
    """Example poses as the denoiser's attention sees them."""

    tokens: Float[Tensor, "rig example joint width"]
    given: Bool[Tensor, "rig example"]


class EncodedRigs(NamedTuple):
    """What the network computes once for a batch of rigs."""

    hidden: Float[Tensor, "rig joint width"]
    range: Range
    rigs: RigBatch
    examples: ReadExamples | None = None


class Verdict(NamedTuple):
    """How sure the network is that poses are broken, as logits."""

    pose: Float[Tensor, "rig pose"]
    joint: Float[Tensor, "rig pose joint"]


class GraphAttention(nn.Module):
    """Attention between the joints of a rig, biased by their relation in the tree; local layers see near relations only."""

    def __init__(self, config: NetworkConfig, local: bool) -> None:
        super().__init__()
        self.heads, self.local = config.heads, local
        self.to_qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)
        self.bias = nn.Embedding(PAIR_CODES, config.heads) if config.graph else None
        if self.bias is not None:
            nn.init.zeros_(self.bias.weight)

    def mask(self, rigs: RigBatch) -> Float[Tensor, "rig 1 head joint joint"]:
        """What is added to the attention logits: a bias for each relation, and −10⁴ for joints that are not seen."""
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
    """Attention and a feed-forward layer, both modulated by the noise level (adaLN) where there is one."""

    def __init__(self, config: NetworkConfig, local: bool, modulated: bool) -> None:
        super().__init__()
        width, inner = config.width, config.widening * config.width
        self.attention = GraphAttention(config, local)
        self.inner = nn.Sequential(nn.Linear(width, inner), nn.GELU(approximate="tanh"), nn.Linear(inner, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=not modulated) for _ in range(2))
        self.steer = nn.Linear(width, 6 * width) if modulated else None
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


class ExampleAttention(nn.Module):
    """Every joint of a pose attends to the same joint in the example poses of its rig; nothing is added where there are none."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.norm = nn.LayerNorm(config.width)
        self.to_q = nn.Linear(config.width, config.width)
        self.to_kv = nn.Linear(config.width, 2 * config.width)
        self.out = nn.Linear(config.width, config.width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Float[Tensor, "rig pose joint width"], read: ReadExamples) -> Float[Tensor, "rig pose joint width"]:
        q = self.to_q(self.norm(x)).unflatten(-1, (self.heads, -1)).permute(0, 2, 3, 1, 4)
        k, v = self.to_kv(read.tokens).unflatten(-1, (2, self.heads, -1)).permute(3, 0, 2, 4, 1, 5)
        logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        logits = logits.masked_fill(~read.given[:, None, None, None], -1e4)
        seen = (logits.softmax(-1) @ v).permute(0, 3, 1, 2, 4).flatten(-2)
        return self.out(seen) * read.given.any(1)[:, None, None, None]


class PoseNetwork(nn.Module):
    """Rig encoder, range head and denoiser."""

    calibration: Float[Tensor, "2 quantile"]
    """Quantiles of the anomaly of real poses of rigs that training did not see: without examples, and with some. Zero before
    calibration."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.read_rig = nn.Linear(config.features, width)
        self.rig_blocks = nn.ModuleList(Block(config, k % 2 == 0, modulated=False) for k in range(config.rig_blocks))
        self.range_head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 6))
        self.read_pose = nn.Linear(3 + HANDLE_INPUTS, width)
        self.read_noise = nn.Sequential(nn.Linear(NOISE_FEATURES, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.blocks = nn.ModuleList(Block(config, k % 2 == 0, modulated=True) for k in range(config.blocks))
        last = nn.Linear(width, 3)
        nn.init.zeros_(last.weight)
        self.say = nn.Sequential(nn.LayerNorm(width), last)
        if config.example_blocks:
            adapt = nn.Linear(width, 6)
            nn.init.zeros_(adapt.weight)
            nn.init.zeros_(adapt.bias)
            self.adapt_range = nn.Sequential(nn.Linear(EXAMPLE_FACTS, width), nn.GELU(approximate="tanh"), adapt)
            self.read_example = nn.Linear(3, width)
            self.example_blocks = nn.ModuleList(Block(config, k % 2 == 0, modulated=False) for k in range(config.example_blocks))
            self.recall = nn.ModuleList(ExampleAttention(config) for _ in range((config.blocks + 1) // 2))
        if config.judges:
            self.register_buffer("calibration", torch.zeros(2, QUANTILES))
            self.judge_norm = nn.LayerNorm(width)
            self.judge_joint = nn.Linear(width, 1)
            self.judge_pose = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(approximate="tanh"), nn.Linear(width, 1))

    def encode(self, rigs: RigBatch, examples: Examples | None = None) -> EncodedRigs:
        """Encode rigs once, for any number of poses, and predict the range of their joints; known poses of the rigs are used."""
        hidden = self.read_rig(rigs.features)[:, None]
        for block in self.rig_blocks:
            hidden = block(hidden, rigs)
        mean, spread = self.range_head(hidden[:, 0]).chunk(2, -1)
        predicted = Range(0.5 * mean, MIN_SPREAD + torch.nn.functional.softplus(spread - 1.5))
        zero_shot = EncodedRigs(hidden[:, 0], symmetric_range(predicted, rigs), rigs)
        if examples is None or not self.config.example_blocks:
            return zero_shot
        adapted = self._adapted_range(zero_shot.range, examples)
        shown = normalise(adapted, examples.vectors).clamp(-MAX_SHOWN, MAX_SHOWN)
        tokens = self.read_example(shown) + zero_shot.hidden[:, None]
        for block in self.example_blocks:
            tokens = block(tokens, rigs)
        return EncodedRigs(zero_shot.hidden, adapted, rigs, ReadExamples(tokens, examples.given))

    def _adapted_range(self, predicted: Range, examples: Examples) -> Range:
        """The range of joints given how they move in the examples; where there are none, the predicted one."""
        given = examples.given[:, :, None, None].float()
        count = given.sum(1)
        fixed = Range(*(part.detach() for part in predicted))  # facts are inputs, nothing to be learned by moving the range
        known = normalise(fixed, examples.vectors) * given
        mean = known.sum(1) / count.clamp(min=1)
        deviation = (((known - mean[:, None]) * given).square().sum(1) / count.clamp(min=1)).sqrt()
        number = (count.log1p() / 3).expand_as(mean)[..., :1]
        facts = torch.cat((mean.clamp(-MAX_SHOWN, MAX_SHOWN), (deviation + 0.05).log(), number), -1)
        shift, factor = self.adapt_range(facts).chunk(2, -1)
        some = (count > 0).float()
        spread = predicted.spread * (some * MAX_ADAPTION * (factor / MAX_ADAPTION).tanh()).exp()
        return Range(predicted.mean + some * shift * predicted.spread, spread.clamp(min=MIN_SPREAD))

    def denoise(
        self, rig: EncodedRigs, noisy: Float[Tensor, "rig pose joint 3"], t: Float[Tensor, "rig pose"],
        handles: Float[Tensor, "rig pose joint 4"] | None = None,
    ) -> Float[Tensor, "rig pose joint 3"]:  # fmt: skip
        """Clean normalised poses predicted from noisy ones, by v-prediction: ``û = α z − σ v``."""
        return self.clean(noisy, t, self.look(rig, noisy, t, handles))

    def look(
        self, rig: EncodedRigs, noisy: Float[Tensor, "rig pose joint 3"], t: Float[Tensor, "rig pose"],
        handles: Float[Tensor, "rig pose joint 4"] | None = None,
    ) -> Float[Tensor, "rig pose joint width"]:  # fmt: skip
        """What the denoiser sees in noisy poses, from which clean poses and verdicts are read."""
        if handles is None:
            handles = noisy.new_zeros(*noisy.shape[:-1], HANDLE_INPUTS)
        x = self.read_pose(torch.cat((noisy, handles), -1)) + rig.hidden[:, None]
        noise = self.read_noise(_sinusoids(log_snr(t)))
        for number, block in enumerate(self.blocks):
            x = block(x, rig.rigs, noise)
            if rig.examples is not None and number % 2 == 0:
                x = x + self.recall[number // 2](x, rig.examples)
        return x

    def clean(
        self, noisy: Float[Tensor, "rig pose joint 3"], t: Float[Tensor, "rig pose"], seen: Float[Tensor, "rig pose joint width"]
    ) -> Float[Tensor, "rig pose joint 3"]:
        """Clean normalised poses, from what ``look`` saw."""
        alpha, sigma = (part[..., None, None] for part in noise_level(t))
        return alpha * noisy - sigma * self.say(seen)

    def judge(self, rig: EncodedRigs, seen: Float[Tensor, "rig pose joint width"]) -> Verdict:
        """Whether poses are broken, from what ``look`` saw at little noise."""
        seen = self.judge_norm(seen)
        present = rig.rigs.present[:, None, :, None]
        mean = (seen * present).sum(2) / present.sum(2)
        most = seen.masked_fill(~present, -1e4).amax(2)
        return Verdict(self.judge_pose(torch.cat((mean, most), -1)).squeeze(-1), self.judge_joint(seen).squeeze(-1))


def symmetric_range(predicted: Range, rigs: RigBatch) -> Range:
    """The same range for left and right: mean over a joint and the mirror image of its partner."""

    def partner(values: Float[Tensor, "rig joint 3"]) -> Float[Tensor, "rig joint 3 1"]:
        return values.gather(1, rigs.mirror[:, :, None].expand_as(values))[..., None]

    mean = (predicted.mean + (rigs.mirror_maps @ partner(predicted.mean)).squeeze(-1)) / 2
    variance = (predicted.spread.square() + (rigs.mirror_maps.square() @ partner(predicted.spread.square())).squeeze(-1)) / 2
    return Range(mean, variance.sqrt())


def normalise(joints: Range, vectors: Float[Tensor, "rig pose joint 3"]) -> Float[Tensor, "rig pose joint 3"]:
    """Rotation vectors in spreads away from the mean."""
    return (vectors - joints.mean[:, None]) / joints.spread[:, None]


def restore(joints: Range, normalised: Float[Tensor, "rig pose joint 3"]) -> Float[Tensor, "rig pose joint 3"]:
    """Rotation vectors [rad] from normalised ones."""
    return joints.mean[:, None] + joints.spread[:, None] * normalised


def _sinusoids(value: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch wave"]:
    """Sines and cosines of a value at frequencies from 0.1 to 4."""
    frequency = torch.exp(torch.linspace(math.log(0.1), math.log(4.0), NOISE_FEATURES // 2))
    phase = value[..., None] * frequency
    return torch.cat((phase.sin(), phase.cos()), -1)


def handle_inputs(
    rigs: RigBatch, handled: Bool[Tensor, "rig pose joint"], target: Float[Tensor, "rig pose joint 3"]
) -> Float[Tensor, "rig pose joint 4"]:
    """The network's inputs for handles: which joints have one, and its target position seen from the root [ℓ]."""
    flag = handled[..., None].to(target.dtype)
    return torch.cat((flag, flag * (target - rigs.rest[:, None])), -1)


def save_weights(network: PoseNetwork, path: Path, facts: dict[str, str]) -> None:
    """Write a network in half precision; ``facts`` go into the header and say where it comes from."""
    from safetensors.torch import save

    about = {"config": json.dumps(asdict(network.config)), **facts}
    # Half precision is far below what training leaves uncertain, and halves the package.
    weights = {name: value.half().contiguous() for name, value in network.state_dict().items()}
    write_file(path, save(weights, about))


@cache
def load_network(path: Path = SHIPPED) -> PoseNetwork:
    """A trained network, frozen; each file is read once."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise AkdError(f"There are no pose-space weights at {path}: train some with `akd posespace train`.")
    try:
        with safe_open(path, "pt") as stored:
            config = stored_config(stored.metadata() or {})
            network = _empty_network(config, {name: stored.get_slice(name).get_shape() for name in stored.keys()})  # noqa: SIM118
            weights = {name: stored.get_tensor(name).float() for name in network.state_dict()}
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        raise _no_weights(path, type(error).__name__) from error
    if not all(bool(weight.isfinite().all()) for weight in weights.values()):
        raise _no_weights(path, "some numbers are not finite")
    network.load_state_dict(weights, assign=True)
    return network.requires_grad_(False).eval()


def stored_config(about: dict[str, str]) -> NetworkConfig:
    """The sizes in a weight file's header; files of the first edition say nothing of examples and verdicts, and have none."""
    return NetworkConfig(**{"example_blocks": 0, "judges": False, **json.loads(about["config"])})


def start_from(network: PoseNetwork, path: Path) -> int:
    """Put the weights of a file into a network wherever names and shapes agree; returns how many parameters were."""
    known = load_network(path).state_dict()
    own = network.state_dict()
    taken = {name: weight for name, weight in known.items() if name in own and own[name].shape == weight.shape}
    network.load_state_dict(own | taken)
    return sum(weight.numel() for weight in taken.values())


def mean_network(network: PoseNetwork, other: PoseNetwork, share: float) -> PoseNetwork:
    """A network between two of a training: ``share`` of the first's weights, the rest of the other's where that has them."""
    own, others = network.state_dict(), other.state_dict()
    mixed = PoseNetwork(network.config)
    mixed.load_state_dict({
        name: share * weight + (1 - share) * others[name] if name in others and others[name].shape == weight.shape else weight
        for name, weight in own.items()
    })  # fmt: skip
    if network.config.judges:
        mixed.calibration.zero_()
    return mixed.requires_grad_(False).eval()


class _NoChance(TorchFunctionMode):
    """Weights that come from a file are not drawn first: without memory, that only imports torch's compiler (1.2 s)."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ in ("normal_", "uniform_", "kaiming_uniform_"):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def _empty_network(config: NetworkConfig, shapes: dict[str, list[int]]) -> PoseNetwork:
    """A network without memory for its weights, whose shapes must be these: a file may claim any size."""
    sizes = config.features, config.width, config.heads, config.rig_blocks, config.blocks, config.widening
    if not all(isinstance(size, int) and 0 < size <= MAX_SIZE for size in sizes) or config.features != FEATURES:
        raise ValueError(f"sizes {sizes}")
    if not (isinstance(config.example_blocks, int) and 0 <= config.example_blocks <= MAX_SIZE):
        raise ValueError(f"example blocks {config.example_blocks}")
    with torch.device("meta"), _NoChance():
        network = PoseNetwork(config)
    if {name: list(weight.shape) for name, weight in network.state_dict().items()} != shapes:
        raise ValueError("other shapes")
    return network


def _no_weights(path: Path, reason: str) -> AkdError:
    return AkdError(f"{path} holds no weights of the pose space ({reason}): give a file that `akd posespace export` wrote.")
