"""A unigram tokenizer read from ``tokenizer.json``: the most probable segmentation of each word into known pieces."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

WORD_MARK = "▁"
"""Stands for the space before a word."""
UNKNOWN_PENALTY = 10.0
"""How far below the rarest piece an unknown character scores, as in the tokenizers library."""
SPACES = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
"""Unicode's white space; ``str.split`` would split at control characters, too."""
PIPELINE: dict[str, Any] = {
    "truncation": None, "padding": None, "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"},
        {"type": "Metaspace", "replacement": WORD_MARK, "prepend_scheme": "always", "split": True},
    ]},
}  # fmt: skip
"""The steps before the segmentation; no others are implemented."""


@dataclass(frozen=True)
class UnigramTokenizer:
    """Sentences to token numbers."""

    pieces: Mapping[str, tuple[int, float]]
    """Number and log-probability of every piece."""
    special: Mapping[str, int]
    """Tokens that are found in the text before anything else."""
    unknown: int
    end: int
    pad: int

    @staticmethod
    def supports(config: Mapping[str, Any]) -> bool:
        """Whether a ``tokenizer.json`` describes the steps that are implemented here."""
        model, special = config.get("model"), config.get("added_tokens")
        return (
            all(config.get(step) == value for step, value in PIPELINE.items())
            and isinstance(model, dict) and model.get("type") == "Unigram" and not model.get("byte_fallback")
            and isinstance(model.get("vocab"), list) and isinstance(model.get("unk_id"), int)
            and isinstance(special, list)
            and {"<pad>", "</s>"} <= {token["content"] for token in special}
            and not any(token[flag] for token in special for flag in ("single_word", "lstrip", "rstrip", "normalized"))
        )  # fmt: skip

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> "UnigramTokenizer":
        """From the contents of a ``tokenizer.json``."""
        special = {token["content"]: int(token["id"]) for token in config["added_tokens"]}
        pieces = {piece: (number, float(score)) for number, (piece, score) in enumerate(config["model"]["vocab"])}
        return cls(pieces, special, config["model"]["unk_id"], special["</s>"], special["<pad>"])

    def tokens(self, text: str) -> list[int]:
        """The sentence's tokens, without the end token."""
        numbers: list[int] = []
        for part in re.split("(" + "|".join(map(re.escape, self.special)) + ")", text):
            if part in self.special:
                numbers.append(self.special[part])
            else:
                for word in _words(part):
                    numbers += self._segment(word)
        return numbers

    def padded(self, text: str, length: int) -> list[int]:
        """The sentence's tokens with the end token, cut or padded to a length."""
        numbers = [*self.tokens(text)[: length - 1], self.end]
        return numbers + [self.pad] * (length - len(numbers))

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.pieces))

    @cached_property
    def _unknown_score(self) -> float:
        return min(score for _, score in self.pieces.values()) - UNKNOWN_PENALTY

    def _segment(self, word: str) -> list[int]:
        """Viterbi: the pieces of the largest sum of log-probabilities; adjacent unknown characters are one token."""
        best: list[tuple[float, int, int] | None] = [(0.0, 0, 0), *[None] * len(word)]
        for start in range(len(word)):
            reached = best[start]
            assert reached is not None  # every character can be passed, by an unknown token at worst
            single = False
            for end in range(start + 1, min(start + self._longest, len(word)) + 1):
                number, score = self.pieces.get(word[start:end], (self.unknown, None))
                if score is not None:
                    single |= end == start + 1
                    _improve(best, end, reached[0] + score, start, number)
            if not single:
                _improve(best, start + 1, reached[0] + self._unknown_score, start, self.unknown)
        numbers: list[int] = []
        end = len(word)
        while end > 0:
            _, end, number = best[end]  # type: ignore[misc]
            if not (number == self.unknown and numbers and numbers[-1] == self.unknown):
                numbers.append(number)
        return numbers[::-1]


def _words(text: str) -> Iterator[str]:
    """Lower-case words, each with the mark of the space before it."""
    # Character by character: as a whole, Python gives a final sigma another form.
    for word in SPACES.split("".join(character.lower() for character in text)):
        if word:
            yield from re.findall(f"{WORD_MARK}[^{WORD_MARK}]*", word if word.startswith(WORD_MARK) else WORD_MARK + word)


def _improve(best: list[tuple[float, int, int] | None], end: int, score: float, start: int, number: int) -> None:
    known = best[end]
    if known is None or score > known[0]:
        best[end] = (score, start, number)
