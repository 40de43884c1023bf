"""A text encoder that can read before any training: every token says what the sentence's nouns and verbs say.

From random weights the video model learns to look at the one word of two dozen that matters only after very many steps: after
5,000 its guesses did not depend on the sentence at all. Here the first attention layer is set to find the words that matter
and to hand their mean to every token; words of one meaning begin alike; all other branches begin silent, and everything can be
trained on from there.
"""

from functools import cache
from typing import Any

import torch

from akd.creatures.captions import action_from_prompt, negative
from akd.creatures.words import NEAREST, SYNONYMS
from akd.training.prior.captions import VAGUE

FLAG, ONE = 0, 1
"""Channels of an embedding that tell words that matter from others, and that are the same for all words."""
SIZE = 4.0
"""Of these two channels; the others are about 1."""
SHARPNESS = 1.5
"""How strongly words that matter are preferred."""
OWN = 0.4
"""How much words of one meaning differ at first."""
GAIN = 4.0
"""How much louder the sentence is than the word itself."""


@torch.no_grad()
def start_reader(reader: Any, tokenizer: Any, seed: int = 0) -> None:
    """Set the weights of a small T5 encoder."""
    width = reader.config.d_model
    words = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    means = [meaning(word) for word in words]
    known = sorted({mean for mean in means if mean})
    randomness = torch.Generator().manual_seed(seed)
    table, common = torch.randn(len(words), width, generator=randomness), torch.randn(len(known), width, generator=randomness)
    for row, mean in enumerate(means):
        if mean:
            table[row] = OWN * table[row] + common[known.index(mean)]
        table[row, FLAG] = SIZE if mean else -SIZE
    table[:, ONE] = SIZE
    reader.shared.weight.copy_(table)
    for block in reader.encoder.block:
        block.layer[0].SelfAttention.o.weight.zero_()
        block.layer[1].DenseReluDense.wo.weight.zero_()
    first = reader.encoder.block[0].layer[0].SelfAttention
    first.relative_attention_bias.weight.zero_()
    first.q.weight.zero_()
    first.k.weight.zero_()
    head = reader.config.d_kv
    first.q.weight[::head, ONE] = SHARPNESS
    first.k.weight[::head, FLAG] = SHARPNESS
    first.v.weight.copy_(torch.eye(width))
    first.o.weight.copy_(GAIN * torch.eye(width))


def meaning(token: str) -> str:
    """The creature or the motion that a token is a word for; nothing for all other tokens."""
    word = token.removeprefix("▁")
    if not token.startswith("▁") or len(word) < 2:
        return ""
    if word in VAGUE:
        return "somebody"
    return _nouns().get(word) or action_from_prompt(word) or ("idle" if word in negative("") else "")


@cache
def _nouns() -> dict[str, str]:
    return {part: plan for noun, plan in {**NEAREST, **SYNONYMS}.items() for part in noun.split()}
