"""Word vectors for words that a text encoder did not know: near those of the same meaning, so that training starts from sense."""

import torch
from jaxtyping import Float
from torch import Tensor

from akd.creatures.action_phrases import ACTION_VERBS, phrase_words
from akd.prior.embedded.tokenizer import UnigramTokenizer
from akd.training.data_card import DataCard
from akd.training.prior.network_init import CHANNEL_SIZE, CONSTANT_CHANNEL, IMPORTANT_CHANNEL, SYNONYM_SPREAD

MAX_ACTIONS = 2
"""A word that occurs in phrases of more actions than this means none of them."""


def extended_words(
    table: Float[Tensor, "old width"], old: UnigramTokenizer, new: UnigramTokenizer, card: DataCard, seed: int = 1
) -> Float[Tensor, "new width"]:
    """Rows of the new tokenizer: the old vectors where a word was known, else the mean of its meaning and a little noise."""
    randomness = torch.Generator().manual_seed(seed)
    rows = SYNONYM_SPREAD * torch.randn(len(new.pieces), table.shape[1], generator=randomness)
    senses = word_senses(card)
    known: dict[str, list[Tensor]] = {}
    for piece, (number, _) in old.pieces.items():
        sense = senses.get(piece.removeprefix("▁"))
        if sense:
            known.setdefault(sense, []).append(table[number])
    common = {sense: torch.stack(vectors).mean(0) for sense, vectors in known.items()}
    for piece, (number, _) in new.pieces.items():
        if piece in old.pieces:
            rows[number] = table[old.pieces[piece][0]]
            continue
        sense = senses.get(piece.removeprefix("▁"), "")
        if sense:
            if sense not in common:
                common[sense] = torch.randn(table.shape[1], generator=randomness)
            rows[number] += common[sense]
        rows[number, IMPORTANT_CHANNEL] = CHANNEL_SIZE if sense else -CHANNEL_SIZE
        rows[number, CONSTANT_CHANNEL] = CHANNEL_SIZE
    return rows


def word_senses(card: DataCard) -> dict[str, str]:
    """The plan that a noun means, or the action in whose phrases a word occurs."""
    actions: dict[str, list[str]] = {}
    for action, verb in ACTION_VERBS.items():
        for word in phrase_words(verb):
            actions.setdefault(word, []).append(action)
    senses = {word: names[0] for word, names in actions.items() if len(names) <= MAX_ACTIONS and len(word) > 2}
    nouns = {part: plan for noun, plan in card.nouns.items() for part in noun.split()}
    return senses | {"left": "left", "right": "right"} | nouns
