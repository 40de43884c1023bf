"""Word knowledge that ships with the package: kinds of actions and creatures from WordNet, and small word vectors.

Made by ``python -m experiments.word_table`` from WordNet 3.1 and MiniLM; licences in ``word_table.LICENCES.txt``. The sum of the
vectors of a clause's words approximates the sentence embedding that MiniLM gives "a person …", in fewer dimensions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int8, UInt8

from akd.creatures.lemmas import lemma

FILE = Path(__file__).parent / "word_table.npz"


@dataclass(frozen=True, eq=False)
class WordTable:
    """What is known about English words."""

    vectors: Int8[np.ndarray, "word dimension"]
    scale: Float[np.ndarray, " word"]
    """Factor of each row of ``vectors``."""
    row: dict[str, int]
    """The row of each word."""
    verbs: frozenset[str]
    """Verbs of one word, in the dictionary form."""
    kinds: dict[str, dict[str, float]]
    """For verbs, also of several words, the actions that some of their senses are a kind of, with the share of those senses."""
    plans: dict[str, tuple[str, float]]
    """For nouns that no plan lists, the nearest plan and a confidence."""
    phrases: dict[str, Float[np.ndarray, "phrase dimension"]]
    """For each action, the embeddings of its phrases, of length one."""

    def lemma(self, word: str) -> str:
        """The dictionary form of a word."""
        return lemma(word, self.verbs, self.row)

    def embedding(self, words: Iterable[str]) -> Float[np.ndarray, " dimension"]:
        """The embedding of a clause from the dictionary forms of its words, of length one; zeros if none is known."""
        rows = [self.row[word] for word in words if word in self.row]
        total = (self.vectors[rows] * self.scale[rows, None]).sum(0) if rows else np.zeros(self.vectors.shape[1])
        return total / max(float(np.linalg.norm(total)), 1e-9)

    def plan_of(self, noun: str) -> tuple[str, float] | None:
        """The body plan nearest to a noun, and how near it is."""
        forms = (noun, noun.removesuffix("s"), noun.removesuffix("es"), noun.removesuffix("ies") + "y")
        return next((self.plans[form] for form in forms if form in self.plans), None)


@lru_cache(1)
def word_table() -> WordTable:
    """The shipped table, read once."""
    with np.load(FILE) as stored:
        arrays = {name: stored[name] for name in stored.files}
    words, actions, plans = (_lines(arrays[name]) for name in ("words", "actions", "plans"))
    kinds: dict[str, dict[str, float]] = {}
    for verb, action, share in zip(_lines(arrays["kind_verbs"]), arrays["kind_actions"], arrays["kind_shares"], strict=True):
        kinds.setdefault(verb, {})[actions[action]] = share / 255
    nouns = {
        noun: (plans[plan], near / 255)
        for noun, plan, near in zip(_lines(arrays["nouns"]), arrays["noun_plans"], arrays["noun_near"], strict=True)
    }
    rows = arrays["phrases"] / np.maximum(np.linalg.norm(arrays["phrases"].astype(float), axis=1, keepdims=True), 1e-9)
    phrases = {name: rows[arrays["phrase_actions"] == number] for number, name in enumerate(actions)}
    return WordTable(
        arrays["vectors"], arrays["scale"].astype(float), {word: i for i, word in enumerate(words)},
        frozenset(_lines(arrays["verbs"])), kinds, nouns, phrases,
    )  # fmt: skip


def _lines(stored: UInt8[np.ndarray, " byte"]) -> list[str]:
    """Words that are stored as the bytes of lines."""
    return stored.tobytes().decode().split("\n")
