"""CogVideoX's transformer with fixed sinusoidal positions, as in its 2B model."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

Tokens = Float[Tensor, "batch _token width"]
FIXED = {
    "activation_fn": "gelu-approximate", "timestep_activation_fn": "silu", "norm_elementwise_affine": True, "dropout": 0.0,
    "flip_sin_to_cos": True, "freq_shift": 0, "ofs_embed_dim": None, "patch_size_t": None, "patch_bias": True,
    "use_rotary_positional_embeddings": False, "use_learned_positional_embeddings": False,
    "spatial_interpolation_scale": 1.0, "temporal_interpolation_scale": 1.0,
}  # fmt: skip
"""Settings of the configuration that have no alternative here."""
LONGEST_WAVE = 10_000.0
"""Period of the slowest wave in positions and timesteps, over 2π."""


class Transformer(nn.Module):
    """Noisy latents (and given ones on further channels), timesteps and text embeddings to v-predictions."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        heads, self.patch = config["num_attention_heads"], config["patch_size"]
        self.width = heads * config["attention_head_dim"]
        time_width, eps = config["time_embed_dim"], config["norm_eps"]
        self.patch_embed: Any = nn.Module()
        self.patch_embed.proj = nn.Conv2d(config["in_channels"], self.width, self.patch, self.patch)
        self.patch_embed.text_proj = nn.Linear(config["text_embed_dim"], self.width)
        self.time_embedding: Any = nn.Module()
        self.time_embedding.linear_1 = nn.Linear(self.width, time_width)
        self.time_embedding.linear_2 = nn.Linear(time_width, time_width)
        self.transformer_blocks = nn.ModuleList(
            _Block(self.width, heads, time_width, eps, config["attention_bias"]) for _ in range(config["num_layers"])
        )
        self.norm_final = nn.LayerNorm(self.width, eps)
        self.norm_out: Any = nn.Module()
        self.norm_out.linear = nn.Linear(time_width, 2 * self.width)
        self.norm_out.norm = nn.LayerNorm(self.width, eps)
        self.proj_out = nn.Linear(self.width, self.patch**2 * config["out_channels"])

    @property
    def dtype(self) -> torch.dtype:
        return self.proj_out.weight.dtype

    def forward(
        self, z_t: Float[Tensor, "batch _given cell row column"], timestep: Float[Tensor, " batch"] | Tensor, text: Tensor
    ) -> Float[Tensor, "batch channel cell row column"]:
        time = self.time_embedding.linear_1(waves(timestep.float(), self.width).to(z_t.dtype))
        time = F.silu(self.time_embedding.linear_2(F.silu(time)))  # every layer takes it through SiLU
        cells, rows, columns = z_t.shape[2], z_t.shape[3] // self.patch, z_t.shape[4] // self.patch
        text = self.patch_embed.text_proj(text)
        video = self.patch_embed.proj(z_t.transpose(1, 2).flatten(0, 1)).flatten(2).transpose(1, 2)
        video = video.reshape(len(z_t), -1, self.width) + positions(self.width, cells, rows, columns).to(z_t)
        for block in self.transformer_blocks:
            video, text = block(video, text, time)
        shift, scale = self.norm_out.linear(time).chunk(2, dim=1)
        video = self.norm_out.norm(self.norm_final(video)) * (1 + scale)[:, None] + shift[:, None]
        patches = self.proj_out(video).reshape(len(z_t), cells, rows, columns, -1, self.patch, self.patch)
        return patches.permute(0, 4, 1, 2, 5, 3, 6).flatten(5, 6).flatten(3, 4)


class _Block(nn.Module):
    def __init__(self, width: int, heads: int, time_width: int, eps: float, bias: bool) -> None:
        super().__init__()
        self.norm1 = _ModulatedNorm(time_width, width, eps)
        self.attn1 = _Attention(width, heads, bias)
        self.norm2 = _ModulatedNorm(time_width, width, eps)
        self.ff = _FeedForward(width)

    def forward(self, video: Tokens, text: Tokens, time: Float[Tensor, "batch time"]) -> tuple[Tokens, Tokens]:
        count = text.shape[1]
        for norm, layer in ((self.norm1, self.attn1), (self.norm2, self.ff)):
            tokens, gate, text_gate = norm(video, text, time)
            change = layer(tokens)
            video, text = video + gate * change[:, count:], text + text_gate * change[:, :count]
        return video, text


class _ModulatedNorm(nn.Module):
    """A layer norm whose scale and shift, and the gate of what follows it, depend on time, apart for video and text."""

    def __init__(self, time_width: int, width: int, eps: float) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(time_width, 6 * width), nn.LayerNorm(width, eps)

    def forward(self, video: Tokens, text: Tokens, time: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        shift, scale, gate, text_shift, text_scale, text_gate = self.linear(time)[:, None].chunk(6, dim=2)
        text, video = self.norm(text) * (1 + text_scale) + text_shift, self.norm(video) * (1 + scale) + shift
        return torch.cat((text, video), 1), gate, text_gate


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int, bias: bool) -> None:
        super().__init__()
        self.heads = heads
        self.norm_q, self.norm_k = (nn.LayerNorm(width // heads, 1e-6) for _ in range(2))
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, width, bias=bias) for _ in range(3))
        self.to_out = nn.ModuleList((nn.Linear(width, width),))

    def forward(self, tokens: Tokens) -> Tokens:
        query, key, value = (
            part(tokens).unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (self.to_q, self.to_k, self.to_v)
        )
        mixed = F.scaled_dot_product_attention(self.norm_q(query), self.norm_k(key), value)
        return self.to_out[0](mixed.transpose(1, 2).flatten(2))


class _FeedForward(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        first = nn.Module()
        first.proj = nn.Linear(width, 4 * width)
        self.net: Any = nn.ModuleList((first, nn.Identity(), nn.Linear(4 * width, width)))

    def forward(self, tokens: Tokens) -> Tokens:
        first, _, last = self.net
        return last(F.gelu(first.proj(tokens), approximate="tanh"))


def waves(values: Float[Tensor, " n"], width: int) -> Float[Tensor, "n width"]:
    """Cosines, then sines of timesteps, of periods from 2π to ``LONGEST_WAVE`` · 2π."""
    order = torch.arange(width // 2, device=values.device, dtype=torch.float32)
    angle = values[:, None] * torch.exp(-math.log(LONGEST_WAVE) * order / (width // 2))
    return torch.cat((angle.cos(), angle.sin()), 1)


@lru_cache(maxsize=8)
def positions(width: int, cells: int, rows: int, columns: int) -> Float[Tensor, "token width"]:
    """Fixed positions of the tokens (cached): a quarter of the channels for time, three eighths each for column and row."""

    def along(count: int, channels: int) -> Float[Tensor, "count channel"]:
        omega = torch.arange(channels // 2, dtype=torch.float64) / (channels / 2)
        angle = torch.outer(torch.arange(count, dtype=torch.float32), LONGEST_WAVE**-omega)
        return torch.cat((angle.sin(), angle.cos()), 1)

    size, side = (cells, rows, columns), 3 * width // 8
    parts = (along(cells, width // 4)[:, None, None], along(columns, side)[None, None], along(rows, side)[None, :, None])
    return torch.cat([part.expand(*size, -1) for part in parts], -1).flatten(0, 2)
