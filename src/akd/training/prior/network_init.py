"""Closed-form initialisation of the embedded prior: the best linear code for the encoder, word meanings for the text encoder."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from akd.creatures.captions import action_from_prompt, negative
from akd.training.data_card import GENERIC_NOUNS, SHIPPED_CARD, DataCard
from akd.training.prior.cache import ClipCache, to_network
from akd.training.prior.networks import CELL_FRAMES, Vae

OPPONENT = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [1.0, -0.5, -0.5], [0.0, 0.9, -0.9]])
"""Brightness, red against the rest, green against blue: colour counts more, because limbs are coloured and the ground is not."""
SILU_OFFSET = 8.0
"""Added before SiLU and subtracted after it."""
ANCHOR_SIZE = 30.0
"""Size of the constant channels, large beside the signals."""
MAX_REGRESSION_ROWS = 30_000
"""Most samples for each regression."""
POSTERIOR_SPREAD = 0.05
"""Standard deviation that the encoder claims for its latents, whose own is 1."""
IMPORTANT_CHANNEL, CONSTANT_CHANNEL = 0, 1
"""Channels of an embedding: one that separates words that matter from others, and one that is the same for all words."""
CHANNEL_SIZE = 4.0
"""Size of these two channels; the others are about 1."""
ATTENTION_SHARPNESS = 1.5
"""How strongly attention prefers words that matter."""
SYNONYM_SPREAD = 0.4
"""How much words of one meaning differ initially."""
SENTENCE_GAIN = 4.0
"""Weight of the sentence's meaning relative to the word itself."""


@torch.no_grad()
def init_encoder(vae: Vae, clips: ClipCache, count: int = 48) -> None:
    """Set the encoder's weights from so many clips, taken evenly from a cache."""
    encoder = vae.encoder
    videos = torch.cat([to_network(clips.video(i)[None]) for i in torch.linspace(0, len(clips) - 1, count).long().tolist()])
    for block in (*encoder.down_blocks, encoder.mid_block):
        for resnet in block.resnets:
            _zero_branch(resnet)
    _split_colors_and_instants(encoder.conv_in.conv)
    _remember_previous(encoder.down_blocks[1].resnets[0])
    for level, block in enumerate(encoder.down_blocks[:3]):
        conv = block.downsamplers[0].conv
        inputs = _inputs_of(vae, conv, videos, lambda x: _patches_2d(x, 2))
        codes, offset, scale = _best_code(inputs, _cells(videos, CELL_FRAMES, 2 ** (level + 1)), conv.out_channels)
        conv.weight.copy_((codes / scale).T.reshape(conv.weight.shape))
        conv.bias.copy_(-offset / scale)
    _anchor(encoder.down_blocks[3].resnets[0], encoder.norm_out)
    _last_layer(vae, videos)


def _zero_branch(resnet: Any) -> None:
    """Leave only the shortcut of a residual block: channels stay, new ones are zero."""
    resnet.conv2.conv.weight.zero_()
    resnet.conv2.conv.bias.zero_()
    if resnet.in_channels != resnet.out_channels:
        nn.init.dirac_(resnet.conv_shortcut.weight)
        resnet.conv_shortcut.bias.zero_()


def _split_colors_and_instants(conv: Any) -> None:
    """Three colours now, three colours one frame ago, brightness and redness two frames ago."""
    conv.weight.zero_()
    conv.bias.zero_()
    for channel, (color, ago) in enumerate([(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2)]):
        conv.weight[channel, :, 2 - ago, 1, 1] = OPPONENT[color]


def _remember_previous(resnet: Any) -> None:
    """The upper half of the channels becomes the lower half one instant ago; pooling over time would lose it."""
    half = resnet.in_channels
    for norm in (resnet.norm1, resnet.norm2):
        norm.weight.fill_(1.0)
        norm.bias.fill_(SILU_OFFSET)
    for conv, ago, first in ((resnet.conv1.conv, 1, 0), (resnet.conv2.conv, 0, half)):
        conv.weight.zero_()
        conv.bias.zero_()
        for channel in range(half):
            conv.weight[half + channel, first + channel, 2 - ago, 1, 1] = 1.0
        conv.bias[half:] = -SILU_OFFSET


def _anchor(resnet: Any, norm: nn.GroupNorm) -> None:
    """Signals in the first half of each group of channels, constants of both signs in the other."""
    per_group = norm.num_channels // norm.num_groups
    weight, bias = resnet.conv_shortcut.weight, resnet.conv_shortcut.bias
    weight.zero_()
    bias.zero_()
    norm.weight.fill_(ANCHOR_SIZE / 2**0.5)
    norm.bias.fill_(SILU_OFFSET)
    signal = 0
    for channel in range(norm.num_channels):
        place = channel % per_group
        if place < per_group // 2:
            weight[channel, signal] = 1.0
            signal += 1
        else:
            bias[channel] = ANCHOR_SIZE if place % 2 else -ANCHOR_SIZE
            norm.weight[channel] = 0.0


def _last_layer(vae: Vae, videos: Tensor) -> None:
    """From signals of a cell, its neighbours and its past to latents of mean 0 and variance 1 on average.

    Channels keep the root of their natural size: what fills most of the picture survives more noise, so the video model goes from
    coarse to fine, and details take up neither its capacity nor the gradient of distillation.
    """
    conv = vae.encoder.conv_out.conv
    inputs = _inputs_of(vae, conv, videos, _patches_3d)
    channels = conv.out_channels // 2
    codes, offset, size = _best_code(inputs, _cells(videos, CELL_FRAMES, 8), channels)
    scale = (size * size.mean()).sqrt()
    conv.weight.zero_()
    conv.weight[:channels] = (codes / scale).T.reshape(conv.weight[:channels].shape)
    conv.bias[:channels] = -offset / scale
    conv.bias[channels:] = 2 * torch.tensor(POSTERIOR_SPREAD).log()


def _inputs_of(
    vae: Vae, layer: nn.Module, videos: Tensor, patches: Callable[[Tensor], Tensor]
) -> Float[Tensor, "clip cell row column feature"]:
    """The inputs of a layer for every cell but those of the first frame."""
    clips = []
    for video in videos:
        seen: list[Tensor] = []
        handle = layer.register_forward_pre_hook(lambda _, args, seen=seen: seen.append(patches(args[0])))  # type: ignore[misc]
        vae.encode(video[None])
        handle.remove()
        clips.append(torch.cat(seen)[1:])
    return torch.stack(clips)


def _patches_2d(x: Float[Tensor, "cell channel height width"], stride: int) -> Float[Tensor, "cell row column feature"]:
    return x.unfold(2, 3, stride).unfold(3, 3, stride).permute(0, 2, 3, 1, 4, 5).flatten(3)


def _patches_3d(x: Float[Tensor, "1 channel instant row column"]) -> Float[Tensor, "cell row column feature"]:
    padded = nn.functional.pad(x[0], (1, 1, 1, 1))
    return padded.unfold(1, 3, 1).unfold(2, 3, 1).unfold(3, 3, 1).permute(1, 2, 3, 0, 4, 5, 6).flatten(3)


def _cells(videos: Tensor, frames: int, side: int) -> Float[Tensor, "clip cell row column pixel"]:
    """The pixels of each cell, in opponent colours; the first frame is left out, as a cell of its own."""
    colors = torch.einsum("ok,nkfhw->nofhw", OPPONENT, videos[:, :, 1:])
    split = colors.unflatten(2, (-1, frames)).unflatten(4, (-1, side)).unflatten(6, (-1, side))
    return split.permute(0, 2, 4, 6, 1, 3, 5, 7).flatten(4)


def _best_code(
    inputs: Float[Tensor, "clip cell row column feature"], targets: Float[Tensor, "clip cell row column pixel"], rank: int
) -> tuple[Float[Tensor, "feature rank"], Float[Tensor, " rank"], Float[Tensor, " rank"]]:
    """Reduced-rank regression: directions, and mean and standard deviation of what they give."""
    x, y = inputs.flatten(0, 3).double(), targets.flatten(0, 3).double()
    rows = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:MAX_REGRESSION_ROWS]
    x, y = x[rows], y[rows]
    alive = x.std(0) > 1e-6  # constant and zero channels predict nothing
    mean = x.mean(0)
    x, y = (x - mean)[:, alive], y - y.mean(0)
    square = x.T @ x
    ridge = 1e-5 * square.diagonal().mean() * torch.eye(len(square), dtype=square.dtype)
    maps = torch.linalg.solve(square + ridge, x.T @ y)
    predicted = x @ maps
    directions = torch.linalg.eigh(predicted.T @ predicted)[1].flip(1)[:, :rank]
    codes = torch.zeros(len(alive), rank, dtype=x.dtype)
    codes[alive] = maps @ directions
    scale = (x @ codes[alive]).std(0).clamp(min=1e-8)
    return codes.float(), (mean @ codes).float(), scale.float()


@torch.no_grad()
def init_text_encoder(encoder: Any, tokenizer: Any, seed: int = 0, card: DataCard = SHIPPED_CARD) -> None:
    """Set the weights of a small T5 encoder; the card knows which plan a noun means."""
    width = encoder.config.d_model
    words = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    nouns = {part: plan for noun, plan in card.nouns.items() for part in noun.split()}
    meanings = [meaning(word, nouns) for word in words]
    known = sorted({sense for sense in meanings if sense})
    randomness = torch.Generator().manual_seed(seed)
    table, common = torch.randn(len(words), width, generator=randomness), torch.randn(len(known), width, generator=randomness)
    for row, sense in enumerate(meanings):
        if sense:
            table[row] = SYNONYM_SPREAD * table[row] + common[known.index(sense)]
        table[row, IMPORTANT_CHANNEL] = CHANNEL_SIZE if sense else -CHANNEL_SIZE
    table[:, CONSTANT_CHANNEL] = CHANNEL_SIZE
    encoder.shared.weight.copy_(table)
    for block in encoder.encoder.block:
        block.layer[0].SelfAttention.o.weight.zero_()
        block.layer[1].DenseReluDense.wo.weight.zero_()
    first = encoder.encoder.block[0].layer[0].SelfAttention
    first.relative_attention_bias.weight.zero_()
    first.q.weight.zero_()
    first.k.weight.zero_()
    head = encoder.config.d_kv
    first.q.weight[::head, CONSTANT_CHANNEL] = ATTENTION_SHARPNESS
    first.k.weight[::head, IMPORTANT_CHANNEL] = ATTENTION_SHARPNESS
    first.v.weight.copy_(torch.eye(width))
    first.o.weight.copy_(SENTENCE_GAIN * torch.eye(width))


def meaning(token: str, nouns: dict[str, str]) -> str:
    """The creature or motion that a token stands for; empty for all other tokens."""
    word = token.removeprefix("▁")
    if not token.startswith("▁") or len(word) < 2:
        return ""
    if word in GENERIC_NOUNS:
        return "somebody"  # sorted among the other meanings, which fixes its random row: another name would change the weights
    return nouns.get(word) or action_from_prompt(word) or ("idle" if word in negative("") else "")
