"""The action that the words of a clause mean: by the actions' own phrases, by kinds of verbs, by word vectors."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from akd.creatures.action_list import ACTION_LIST
from akd.creatures.word_table import WordTable, word_table
from akd.creatures.words import word_groups, word_set

STOP_WORDS = word_set(
    "a an the of or and to is are be as by for in his her its their my your our something someone some that this it so such who "
    "which from when while not no being oneself he she they i we you will would can could shall should may might must"
)
"""Words that are left out before anything is compared."""
NOUN_SIGNS = word_set(
    "a an the his her its their my your our of from into onto at in on under over through across behind against with by for "
    "after before off this that these those some any no one two three four many much along beside"
)
"""After these a word is a noun, even if a verb is spelled like it."""
PLAIN_VERB_SIGNS = word_set("to and or will would can could shall should may might must they we you i not") | {""}
"""After these, the subject, or a plural, a verb may stand in its plain form."""
LIGHT_VERBS = word_groups({"do": "do perform practise practice execute train"}) | {
    verb: verb for verb in word_set("play make take get give go have put move be keep start begin try let deliver land")
}
"""Verbs that say little by themselves; several words for "do" are one."""
SUBJECT = ""
"""Stands where the subject was."""
MAX_GAP = 2
"""Words that may stand between those of a phrase: "picks the box up"."""
KIND_WEIGHT, VECTOR_WEIGHT = 0.75, 0.65
"""What the kinds of verbs and the vectors add to an action's confidence;"""
SECOND_VERB = 0.7
"""Factor for each verb before the one that an action was read from;"""
FAR, NEAR = 0.15, 0.7
"""a cosine of FAR adds nothing, one of NEAR all. Tuned on the tuning half of the paraphrases (``experiments.words``)."""


@dataclass(frozen=True)
class Reading:
    """The action that was read."""

    action: str = ""
    said: str = ""
    """The words it was read from."""
    confidence: float = 0.0
    nearest: tuple[tuple[str, float], ...] = ()
    """The three nearest actions with their confidences."""
    unread: tuple[str, ...] = ()
    """Words that the table does not have."""


@dataclass(frozen=True)
class _Found:
    """A phrase of an action in the clause."""

    action: str
    places: tuple[int, ...]
    confidence: float


def read_action(words: Sequence[str], known: Container[str] | None = None) -> Reading:
    """The nearest action to the words of a clause, modifiers left out and ``SUBJECT`` in the place of the subject."""
    table = word_table()
    lemmas = [_plain(table.lemma(word)) for word in words]
    content = [i for i, word in enumerate(words) if word not in STOP_WORDS and word != SUBJECT]
    unread = tuple(words[i] for i in content if lemmas[i] not in table.row and lemmas[i] not in table.kinds)
    verbs = [i for i in content if _is_verb(words, i, lemmas[i], table)]
    scores = _scores(table, [lemmas[i] for i in content], [_verb_forms(lemmas, i) for i in verbs])
    said = " ".join(words[i] for i in (verbs[:1] or content[:1]))
    found = _own_phrase([lemmas[i] for i in content], [content.index(i) for i in verbs if lemmas[i] not in LIGHT_VERBS])
    if found:
        scores[found.action] = max(scores[found.action], found.confidence)
        if scores[found.action] == max(scores.values()):
            said = " ".join(words[content[i]] for i in found.places)
    ranked = sorted(((name, s) for name, s in scores.items() if known is None or name in known), key=lambda entry: -entry[1])
    if not content or not ranked:
        return Reading(unread=unread)
    nearest = tuple((name, round(float(score), 3)) for name, score in ranked[:3])
    return Reading(nearest[0][0], said, nearest[0][1], nearest, unread)


def _scores(table: WordTable, content: list[str], verbs: list[list[str]]) -> dict[str, float]:
    """A confidence below one for every action."""
    clause = table.embedding(content)
    kinds: dict[str, float] = {}
    for rank, forms in enumerate(verbs):
        for form in forms:
            if form in LIGHT_VERBS:
                continue
            for action, share in table.kinds.get(form, {}).items():
                kinds[action] = max(kinds.get(action, 0.0), share**0.5 * 0.8**rank)
    out = {}
    for action, phrases in table.phrases.items():
        cosine = float((phrases @ clause).max()) if len(phrases) else 0.0
        near = float(np.clip((cosine - FAR) / (NEAR - FAR), 0, 1))
        out[action] = min(KIND_WEIGHT * kinds.get(action, 0.0) + VECTOR_WEIGHT * near, 0.99)
    return out


def _is_verb(words: Sequence[str], i: int, form: str, table: WordTable) -> bool:
    if form not in table.verbs and "-" not in form:
        return False
    if i == 0 or words[i].endswith("ing"):
        return True
    before = words[i - 1]
    if words[i] == form:  # "run" is a verb in "will run" and "dogs run", not in "a home run"
        return before in PLAIN_VERB_SIGNS or before.endswith("s")
    return before not in NOUN_SIGNS


def _verb_forms(lemmas: list[str], i: int) -> list[str]:
    """The verb with a particle after it, and alone: "get_up" before "get"."""
    after = [f"{lemmas[i]}_{lemmas[j]}" for j in range(i + 1, min(i + 1 + MAX_GAP + 1, len(lemmas)))]
    return [*after, lemmas[i]]


def _own_phrase(content: list[str], verbs: list[int]) -> _Found | None:
    """The longest phrase of an action that the clause contains, the first of equally long ones.

    A verb alone is sure only where it is the clause's first: in "swings for a home run" nobody runs.
    """
    found = []
    for action, phrases in _own_phrases().items():
        for phrase in phrases:
            places = _places(content, phrase[1:] if len(phrase) > 1 and phrase[0] == "do" else phrase)
            if not places:
                continue
            if len(phrase) > 1:
                found.append(_Found(action, places, 1.0))
            elif places[0] in verbs:
                found.append(_Found(action, places, SECOND_VERB ** verbs.index(places[0])))
    return min(found, key=lambda entry: (-len(entry.places), -entry.confidence, entry.places[0]), default=None)


def _plain(word: str) -> str:
    """One word for all that mean "do"."""
    return LIGHT_VERBS.get(word, word)


def _places(content: list[str], phrase: tuple[str, ...]) -> tuple[int, ...]:
    """Where the words of a phrase stand in order, with small gaps; empty if they do not."""
    for start, word in enumerate(content):
        if word != phrase[0]:
            continue
        places = [start]
        for part in phrase[1:]:
            window = range(places[-1] + 1, min(places[-1] + 2 + MAX_GAP, len(content)))
            place = next((i for i in window if content[i] == part), None)
            if place is None:
                break
            places.append(place)
        if len(places) == len(phrase):
            return tuple(places)
    return ()


@lru_cache(1)
def _own_phrases() -> dict[str, tuple[tuple[str, ...], ...]]:
    """The actions' phrases as dictionary forms without small words."""
    table = word_table()

    def forms(phrase: str) -> tuple[str, ...]:
        return tuple(_plain(table.lemma(word)) for word in phrase.split() if word not in STOP_WORDS)

    return {name: tuple(dict.fromkeys(map(forms, words.phrases))) for name, words in ACTION_LIST.items()}
