"""CogVideoX's causal 3D autoencoder.

Convolutions see the present and two instants before it. Films go through in chunks of frames, over each of which the group
norms take their statistics; every causal convolution keeps its last two inputs in a ``Cache`` for the next chunk.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from akd.prior.checkpointing import checkpointed

Volume = Float[Tensor, "batch _channel _instant _row _column"]
FRAME_CHUNK = 8
"""Frames that are encoded together; the first chunk takes the remainder, too."""
CELL_CHUNK = 2
"""Latent cells that are decoded together; the first chunk takes the remainder, too."""
FIXED = {
    "act_fn": "silu", "in_channels": 3, "out_channels": 3, "use_quant_conv": False, "use_post_quant_conv": False,
    "shift_factor": None, "latents_mean": None, "latents_std": None, "invert_scale_latents": False, "norm_eps": 1e-6,
}  # fmt: skip
"""Settings of the configuration that have no alternative here."""


class Cache(dict[nn.Module, Tensor]):
    """The last two inputs of each causal convolution."""


class Autoencoder(nn.Module):
    """Films with colours in −1 to 1 to moments of latents, and latents to films."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.encoder, self.decoder = _Encoder(config), _Decoder(config)

    @property
    def dtype(self) -> torch.dtype:
        return self.encoder.conv_out.conv.weight.dtype

    def encode(self, video: Volume) -> Volume:
        """Mean and log-variance of the latents, one after the other along the channels."""
        cache, moments = Cache(), []
        for chunk in _chunks(video, FRAME_CHUNK):
            part, cache = checkpointed(self._encode_chunk, chunk, cache)
            moments.append(part)
        return torch.cat(moments, 2)

    def _encode_chunk(self, video: Volume, cache: Cache) -> tuple[Volume, Cache]:
        """Moments, and the cache for the next chunk; the given one stays as it is, because checkpointing calls this twice."""
        cache = Cache(cache)
        return self.encoder(video, cache), cache

    def decode(self, latents: Volume) -> Volume:
        """Films of latents."""
        cache = Cache()
        return torch.cat([self.decoder(part, cache) for part in _chunks(latents, CELL_CHUNK)], 2)

    def without_zeros(self) -> "Autoencoder":
        """The same function with less work, changed in place: zeros in the encoder's weights are not multiplied.

        The encoder of the embedded prior is a code in closed form, written into CogVideoX's layers. All of its residual branches
        but one end in a convolution of zeros, so they add nothing; and three of its convolutions look at no neighbouring pixels.
        """
        for block in (*self.encoder.down_blocks, self.encoder.mid_block):
            for place, resnet in enumerate(block.resnets):
                if isinstance(resnet, _Resnet) and not any(weights.any() for weights in resnet.conv2.parameters()):
                    block.resnets[place] = _Shortcut(resnet)
        for part in self.encoder.modules():
            if isinstance(part, _CausalConv):
                part.drop_empty_sides()
        return self


class _Encoder(nn.Module):
    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        channels, groups = config["block_out_channels"], config["norm_num_groups"]
        self.conv_in = _CausalConv(config["in_channels"], channels[0])
        self.down_blocks = nn.ModuleList()
        for level, (before, after) in enumerate(zip((channels[0], *channels), channels, strict=False)):
            block = nn.Module()
            block.resnets = _resnets(before, after, config["layers_per_block"], groups)
            if level < len(channels) - 1:
                block.downsamplers = nn.ModuleList((_Downsample(after, in_time=2**level < config["temporal_compression_ratio"]),))
            self.down_blocks.append(block)
        self.mid_block = nn.Module()
        self.mid_block.resnets = _resnets(channels[-1], channels[-1], 2, groups)
        self.norm_out = nn.GroupNorm(groups, channels[-1], eps=1e-6)
        self.conv_out = _CausalConv(channels[-1], 2 * config["latent_channels"])

    def forward(self, video: Volume, cache: Cache) -> Volume:
        x = self.conv_in(video, cache)
        for block in (*self.down_blocks, self.mid_block):
            for resnet in block.resnets:
                x = resnet(x, None, cache)
            for downsample in getattr(block, "downsamplers", ()):
                x = downsample(x)
        return self.conv_out(F.silu(self.norm_out(x)), cache)


class _Decoder(nn.Module):
    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        channels, groups, latents = config["block_out_channels"][::-1], config["norm_num_groups"], config["latent_channels"]
        self.conv_in = _CausalConv(latents, channels[0])
        self.mid_block = nn.Module()
        self.mid_block.resnets = _resnets(channels[0], channels[0], 2, groups, latents)
        self.up_blocks = nn.ModuleList()
        for level, (before, after) in enumerate(zip((channels[0], *channels), channels, strict=False)):
            block = nn.Module()
            block.resnets = _resnets(before, after, config["layers_per_block"] + 1, groups, latents)
            if level < len(channels) - 1:
                block.upsamplers = nn.ModuleList((_Upsample(after, in_time=2**level < config["temporal_compression_ratio"]),))
            self.up_blocks.append(block)
        self.norm_out = _SpatialNorm(channels[-1], latents, groups)
        self.conv_out = _CausalConv(channels[-1], config["out_channels"])

    def forward(self, latents: Volume, cache: Cache) -> Volume:
        x = self.conv_in(latents, cache)
        for block in (self.mid_block, *self.up_blocks):
            for resnet in block.resnets:
                x = resnet(x, latents, cache)
            for upsample in getattr(block, "upsamplers", ()):
                x = upsample(x)
        return self.conv_out(F.silu(self.norm_out(x, latents)), cache)


def _resnets(before: int, after: int, count: int, groups: int, latents: int | None = None) -> nn.ModuleList:
    return nn.ModuleList(_Resnet(before if place == 0 else after, after, groups, latents) for place in range(count))


class _Resnet(nn.Module):
    """Twice norm, SiLU and causal convolution, beside a shortcut; in the decoder the norms are conditioned on the latents."""

    def __init__(self, before: int, after: int, groups: int, latents: int | None) -> None:
        super().__init__()
        self.norm1, self.norm2 = (
            nn.GroupNorm(groups, channels, eps=1e-6) if latents is None else _SpatialNorm(channels, latents, groups)
            for channels in (before, after)
        )
        self.conv1, self.conv2 = _CausalConv(before, after), _CausalConv(after, after)
        if before != after:
            self.conv_shortcut = nn.Conv3d(before, after, 1)

    def forward(self, x: Volume, latents: Volume | None, cache: Cache) -> Volume:
        condition = () if latents is None else (latents,)
        changed = self.conv1(F.silu(self.norm1(x, *condition)), cache)
        changed = self.conv2(F.silu(self.norm2(changed, *condition)), cache)
        return changed + (self.conv_shortcut(x) if hasattr(self, "conv_shortcut") else x)


class _Shortcut(nn.Module):
    """What is left of a residual block whose branch is zero."""

    def __init__(self, resnet: _Resnet) -> None:
        super().__init__()
        self.conv_shortcut = getattr(resnet, "conv_shortcut", nn.Identity())

    def forward(self, x: Volume, latents: Volume | None, cache: Cache) -> Volume:
        return self.conv_shortcut(x)


class _SpatialNorm(nn.Module):
    """A group norm whose scale and shift come from the latents at the same place."""

    def __init__(self, channels: int, latents: int, groups: int) -> None:
        super().__init__()
        self.norm_layer = nn.GroupNorm(groups, channels, eps=1e-6)
        self.conv_y, self.conv_b = (_CausalConv(latents, channels, 1) for _ in range(2))

    def forward(self, x: Volume, latents: Volume) -> Volume:
        size = x.shape[-3:]
        if x.shape[2] > 1 and x.shape[2] % 2 == 1:  # the first instant belongs to the first cell alone
            first, rest = (1, *size[1:]), (size[0] - 1, *size[1:])
            latents = torch.cat((F.interpolate(latents[:, :, :1], size=first), F.interpolate(latents[:, :, 1:], size=rest)), 2)
        else:
            latents = F.interpolate(latents, size=size)
        return self.norm_layer(x) * self.conv_y.conv(latents) + self.conv_b.conv(latents)


class _CausalConv(nn.Module):
    """A convolution over the present and the past; before the first instant lies the first one repeated."""

    def __init__(self, before: int, after: int, kernel: int = 3) -> None:
        super().__init__()
        side = kernel // 2
        self.conv = nn.Conv3d(before, after, kernel, padding=(0, side, side))

    def forward(self, x: Volume, cache: Cache) -> Volume:
        past = self.conv.kernel_size[0] - 1
        earlier = cache.get(self)
        x = torch.cat([x[:, :, :1]] * past + [x] if earlier is None else [earlier, x], 2)
        cache[self] = x[:, :, -past:]
        return self.conv(x)

    @torch.no_grad()
    def drop_empty_sides(self) -> None:
        """Make the kernel one pixel wide if all of its weights but those of the middle pixel are zero."""
        weight, bias = self.conv.weight, self.conv.bias
        side = self.conv.kernel_size[1] // 2
        middle = weight[..., side : side + 1, side : side + 1]
        if side and weight.count_nonzero() == middle.count_nonzero():
            narrow = nn.Conv3d(self.conv.in_channels, self.conv.out_channels, (weight.shape[2], 1, 1))
            narrow.weight = nn.Parameter(middle.contiguous(), requires_grad=weight.requires_grad)
            narrow.bias = bias
            self.conv = narrow


class _Downsample(nn.Module):
    """Half the height and width by a convolution, and half the instants by the mean of pairs where wanted."""

    def __init__(self, channels: int, *, in_time: bool) -> None:
        super().__init__()
        self.conv, self.in_time = nn.Conv2d(channels, channels, 3, stride=2), in_time

    def forward(self, x: Volume) -> Volume:
        if self.in_time:
            odd = x.shape[2] % 2  # the first instant stays alone
            x = torch.cat((x[:, :, :odd], (x[:, :, odd::2] + x[:, :, odd + 1 :: 2]) / 2), 2)
        return _frame_by_frame(self.conv, F.pad(x, (0, 1, 0, 1)))


class _Upsample(nn.Module):
    """Twice the height and width, and twice the instants where wanted, by repetition; then a convolution."""

    def __init__(self, channels: int, *, in_time: bool) -> None:
        super().__init__()
        self.conv, self.in_time = nn.Conv2d(channels, channels, 3, padding=1), in_time

    def forward(self, x: Volume) -> Volume:
        if self.in_time and x.shape[2] > 1:
            odd = x.shape[2] % 2
            x = torch.cat((x[:, :, :odd], x[:, :, odd:].repeat_interleave(2, 2)), 2)
        return _frame_by_frame(self.conv, x.repeat_interleave(2, 3).repeat_interleave(2, 4))


def _frame_by_frame(conv: nn.Conv2d, x: Volume) -> Volume:
    return conv(x.transpose(1, 2).flatten(0, 1)).unflatten(0, (len(x), -1)).transpose(1, 2)


def _chunks(x: Volume, size: int) -> Iterator[Volume]:
    """Pieces of so many instants; the remainder belongs to the first."""
    begin, end = 0, size + x.shape[2] % size if x.shape[2] > size else x.shape[2]
    while begin < x.shape[2]:
        yield x[:, :, begin:end]
        begin, end = end, end + size
