"""T5's encoder: gated GELU, root-mean-square norms, relative position bias shared by all layers."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

FIXED = {"feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu_new", "is_decoder": False, "dropout_rate": 0.0}
"""Settings of the configuration that have no alternative here."""


class TextEncoder(nn.Module):
    """Token numbers to text embeddings. All tokens are visible, padding too, as CogVideoX uses it."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        width, layers = config["d_model"], config["num_layers"]
        self.shared = nn.Embedding(config["vocab_size"], width)
        self.encoder: Any = nn.Module()
        self.encoder.block = nn.ModuleList(_Block(config, has_bias=layer == 0) for layer in range(layers))
        self.encoder.final_layer_norm = _RootMeanSquareNorm(width, config["layer_norm_epsilon"])

    def forward(self, tokens: Int[Tensor, "batch token"]) -> Float[Tensor, "batch token width"]:
        x = self.shared(tokens)
        bias = self.encoder.block[0].layer[0].SelfAttention.bias(tokens.shape[1])
        for block in self.encoder.block:
            x = block(x, bias)
        return self.encoder.final_layer_norm(x)


class _Block(nn.Module):
    def __init__(self, config: Mapping[str, Any], *, has_bias: bool) -> None:
        super().__init__()
        attention, feed_forward = nn.Module(), nn.Module()
        attention.SelfAttention = _Attention(config, has_bias=has_bias)
        feed_forward.DenseReluDense = _GatedFeedForward(config)
        for part in (attention, feed_forward):
            part.layer_norm = _RootMeanSquareNorm(config["d_model"], config["layer_norm_epsilon"])
        self.layer: Any = nn.ModuleList((attention, feed_forward))

    def forward(self, x: Float[Tensor, "batch token width"], bias: Float[Tensor, "1 head token token"]) -> Tensor:
        attention, feed_forward = self.layer
        x = x + attention.SelfAttention(attention.layer_norm(x), bias)
        return x + feed_forward.DenseReluDense(feed_forward.layer_norm(x))


class _Attention(nn.Module):
    def __init__(self, config: Mapping[str, Any], *, has_bias: bool) -> None:
        super().__init__()
        width, self.heads = config["d_model"], config["num_heads"]
        inner = self.heads * config["d_kv"]
        self.q, self.k, self.v = (nn.Linear(width, inner, bias=False) for _ in range(3))
        self.o = nn.Linear(inner, width, bias=False)
        self.buckets, self.max_distance = config["relative_attention_num_buckets"], config["relative_attention_max_distance"]
        if has_bias:
            self.relative_attention_bias = nn.Embedding(self.buckets, self.heads)

    def bias(self, length: int) -> Float[Tensor, "1 head token token"]:
        """What a query adds to the score of each key, by their distance: exact when near, in logarithmic steps when far."""
        place = torch.arange(length, device=self.q.weight.device)
        offset = place[None, :] - place[:, None]
        half = self.buckets // 2
        exact = half // 2
        distance = offset.abs()
        step = torch.log(distance.float() / exact) / math.log(self.max_distance / exact) * (half - exact)
        far = (exact + step.long()).clamp(max=half - 1)
        bucket = (offset > 0) * half + torch.where(distance < exact, distance, far)
        return self.relative_attention_bias(bucket).permute(2, 0, 1)[None]

    def forward(self, x: Float[Tensor, "batch token width"], bias: Float[Tensor, "1 head token token"]) -> Tensor:
        query, key, value = (part(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=1.0)
        return self.o(mixed.transpose(1, 2).flatten(2))


class _GatedFeedForward(nn.Module):
    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.wi_0, self.wi_1 = (nn.Linear(config["d_model"], config["d_ff"], bias=False) for _ in range(2))
        self.wo = nn.Linear(config["d_ff"], config["d_model"], bias=False)

    def forward(self, x: Float[Tensor, "batch token width"]) -> Tensor:
        return self.wo(_gelu(self.wi_0(x)) * self.wi_1(x))


def _gelu(x: Tensor) -> Tensor:
    """GELU by tanh, step by step as in transformers: torch's own differs in the last bit, and motions would, too."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class _RootMeanSquareNorm(nn.Module):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x: Float[Tensor, "batch token width"]) -> Tensor:
        scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + self.eps)
        return self.weight * (x * scale).to(self.weight.dtype)
