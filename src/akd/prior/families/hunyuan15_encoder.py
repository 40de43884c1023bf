"""The encoder of HunyuanVideo 1.5 a few frames at a time, exactly: at 121 frames one layer's activations alone are 12 GB.

Its convolutions look back over two frames, so each keeps the last two that it saw; norms see single positions. Only the
attention at the end sees all earlier frames, where a frame has few cells: it is computed frame by frame.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from akd.prior.checkpointing import checkpointed

Cache = list[Tensor]
"""The last two frames of the input of each convolution, in the order in which they are computed."""


def encode_in_chunks(encoder: Any, video: Tensor, *, spill: bool) -> Tensor:
    """What ``encoder(video)`` gives: the first frame, then as many at a time as share a latent cell."""
    size = 2 ** sum(block.downsamplers[0].add_temporal_downsample for block in encoder.down_blocks if block.downsamplers)
    cells: list[Tensor] = []
    cache: Cache | None = None
    for begin, end in [(0, 1), *((at, at + size) for at in range(1, video.shape[2], size))]:
        cell, cache = checkpointed(partial(_blocks, encoder), video[:, :, begin:end], cache, spill=spill)
        cells.append(cell)
    return _last_layers(encoder, torch.cat(cells, 2))


def _blocks(encoder: Any, x: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
    """Everything before the attention, for a chunk of frames; without a cache it is the first frame."""
    earlier, later = iter(cache) if cache is not None else None, []

    def run(step: Any, x: Tensor, convolutions: int) -> Tensor:
        own = None if earlier is None else [next(earlier) for _ in range(convolutions)]
        x, kept = checkpointed(step, x, own)
        later.extend(kept)
        return x

    x = run(partial(_convolved, encoder.conv_in), x, 1)
    for block in encoder.down_blocks:
        for resnet in block.resnets:
            x = run(partial(_residual, resnet), x, 2)
        for downsampler in block.downsamplers or ():
            x = run(partial(_downsampled, downsampler), x, 1)
    return x, later


def _convolved(convolution: Any, x: Tensor, earlier: Cache | None) -> tuple[Tensor, Cache]:
    """A causal convolution that goes on where it stopped."""
    before = x[:, :, :1].expand(-1, -1, 2, -1, -1) if earlier is None else earlier[0]
    seen = torch.cat((before, x), 2)
    # The kernel is three cells wide; at the edges the last one is repeated.
    return convolution.conv(nn.functional.pad(seen, (1, 1, 1, 1, 0, 0), mode="replicate")), [seen[:, :, -2:]]


def _residual(resnet: Any, x: Tensor, earlier: Cache | None) -> tuple[Tensor, Cache]:
    parts = (None, None) if earlier is None else ([earlier[0]], [earlier[1]])
    inner, first = _convolved(resnet.conv1, resnet.nonlinearity(resnet.norm1(x)), parts[0])
    inner, second = _convolved(resnet.conv2, resnet.nonlinearity(resnet.norm2(inner)), parts[1])
    return inner + (x if resnet.conv_shortcut is None else resnet.conv_shortcut(x)), [*first, *second]


def _downsampled(module: Any, x: Tensor, earlier: Cache | None) -> tuple[Tensor, Cache]:
    """Cells of 2 × 2 pixels, and of two frames except for the first one, to channels."""
    inner, kept = _convolved(module.conv, x, earlier)
    alone = module.add_temporal_downsample and earlier is None
    frames = 2 if module.add_temporal_downsample and not alone else 1
    inner, short = (module._dcae_downsample_rearrange(part, r1=frames) for part in (inner, x))
    if alone:
        inner = torch.cat((inner, inner), 1)
    return inner + short.unflatten(1, (inner.shape[1], -1)).mean(2), kept


def _last_layers(encoder: Any, x: Tensor) -> Tensor:
    middle = encoder.mid_block
    x = checkpointed(middle.resnets[0], x)
    for attention, resnet in zip(middle.attentions, middle.resnets[1:], strict=True):
        x = x if attention is None else _attended(attention, x)
        x = checkpointed(resnet, x)
    short = x.unflatten(1, (-1, encoder.group_size)).mean(2)
    return encoder.conv_out(encoder.conv_act(encoder.norm_out(x))) + short


def _attended(module: Any, x: Tensor) -> Tensor:
    """Attention of each frame to itself and all earlier ones."""
    seen = module.norm(x)
    query, key, value = (layer(seen).permute(0, 2, 3, 4, 1).flatten(2, 3) for layer in (module.to_q, module.to_k, module.to_v))

    def frame(at: int) -> Tensor:
        keys, values = (each[:, : at + 1].flatten(1, 2) for each in (key, value))
        return checkpointed(nn.functional.scaled_dot_product_attention, query[:, at], keys, values)

    made = torch.stack([frame(at) for at in range(x.shape[2])], 1).unflatten(2, x.shape[3:]).permute(0, 4, 1, 2, 3)
    return x + module.proj_out(made)
