"""Initialisation of the text encoder: every token starts with the meaning of the sentence's nouns and verbs.

From random weights the video model learns very slowly which one word of two dozen matters: after 5,000 steps its predictions did
not depend on the sentence at all. Here the first attention layer is set to find the words that matter and to give their mean to
every token; words of one meaning start alike; all other branches start at zero; everything can be trained further.
"""

from typing import Any

import torch

from akd.creatures.captions import action_from_prompt, negative
from akd.training.data_card import GENERIC_NOUNS, SHIPPED_CARD, DataCard

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
