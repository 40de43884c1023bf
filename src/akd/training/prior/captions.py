"""Captions for training the embedded prior, and a tokenizer of their words.

Nouns without a training creature are trained to mean nothing in particular: a share of the captions calls the creature "animal",
or by a noun of no training plan. So an unknown noun with a known verb still gives the verb.
"""

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from akd.creatures.captions import captions, describe, negative
from akd.training.data_card import GENERIC_NOUNS, SHIPPED_CARD, DataCard
from akd.training.prior.clips import ClipLabel

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

COMMON_NAMES = {"gallop": ("run", 0.4), "bound": ("hop", 0.3), "tripod": ("walk", 0.3), "tetrapod": ("walk", 0.3)}
"""Common names of gaits, and the share of captions that use them."""
EMPTY_SHARE = 0.12
"""Share of empty captions, for classifier-free guidance."""


def clip_caption(label: ClipLabel, rng: np.random.Generator, card: DataCard = SHIPPED_CARD) -> str:
    """A random true sentence about a clip, in the nouns of a card."""
    if rng.random() < EMPTY_SHARE:
        return ""
    common, share = COMMON_NAMES.get(label.motion, ("", 0.0))
    action = common if rng.random() < share else label.motion
    noun = _noun(label.plan, rng, card)
    form = rng.random()
    if label.motion == "idle" and form < 0.3:
        return negative(noun)
    return describe(noun, action) if form < 0.4 else captions(noun, action, rng, 1)[0]


def _noun(plan: str, rng: np.random.Generator, card: DataCard) -> str:
    """The plan's name, a synonym, a generic noun, or a noun of no training plan."""
    which = rng.random()
    if which < 0.15:
        return str(rng.choice(GENERIC_NOUNS))
    if which < 0.25:
        return str(rng.choice(_unknown_nouns(card)))
    return plan if which < 0.65 else str(rng.choice([word for word, meaning in card.synonyms if meaning == plan]))


def _unknown_nouns(card: DataCard) -> list[str]:
    """Nouns of creatures that training does not see, sorted."""
    nearest = dict(card.nearest)
    return sorted(word for word, plan in card.nouns.items() if plan not in card.plans or word in nearest)


def caption_tokenizer(words: Sequence[str] = SHIPPED_CARD.words) -> "PreTrainedTokenizerFast":
    """A tokenizer of whole words where known and letters where not, with punctuation apart, in lower case."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram
    from transformers import PreTrainedTokenizerFast

    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    whole = [("▁" + word, -1.0) for word in words if len(word) > 1]
    whole += [("▁" + letter, -5.0) for letter in string.ascii_lowercase] + [(mark, -1.0) for mark in ".,"]
    letters = [(mark, -10.0) for mark in ("▁", *string.ascii_lowercase, *string.digits, *"-'")]
    core = Tokenizer(Unigram([*special, *whole, *letters], unk_id=2))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    core.post_processor = processors.TemplateProcessing(single=["$A", "</s>"], special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
