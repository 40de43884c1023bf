"""What a sentence asks for, as one value: who, which action, which side, how, how fast, how often, and what comes then.

read_wish("a knight waving twice with the left hand")  →  human, wave, left, 2
read_wish("doggo leaps over a log").line()             →  'dog (doggo), jump (leap)'

Words of an action come first from lists (``action_list`` and the kinds WordNet gives them), then from word vectors; an action
that is only near is said to be near, with a confidence.
"""

import re
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Literal

from akd.creatures.action_list import ACTION_LIST
from akd.creatures.nearest_action import SUBJECT, Reading, read_action
from akd.creatures.word_table import word_table
from akd.creatures.words import (
    ACTION_WORDS,
    BUILDS,
    COLORS,
    LOOKS,
    NEAREST,
    NUMBERS,
    PARTS,
    SMALL_WORDS,
    SYNONYMS,
    known_noun,
    word_groups,
)

Side = Literal["", "left", "right", "both"]
SURE = 0.52
"""An action read with less confidence is unknown: at this value nine tenths of the unknown ones of the tuning half are
rejected (``python -m experiments.words``)."""
SPEEDS: dict[str, str] = word_groups({
    "slow": "slowly slow leisurely gently lazily unhurriedly sluggishly",
    "fast": "quickly fast rapidly swiftly hastily hurriedly speedily quick rapid swift",
})
SIDES: dict[str, Side] = {"left": "left", "right": "right", "both": "both"}
COUNTS = {"once": 1, "twice": 2, "thrice": 3}
MANNERS = word_groups({
    "happy": "happily cheerfully merrily joyfully happy cheerful joyful",
    "sad": "sadly gloomily dejectedly sad gloomy dejected",
    "drunk": "drunkenly drunk tipsy tipsily",
    "angry": "angrily furiously angry furious",
    "tired": "tiredly wearily tired weary exhausted",
    "proud": "proudly proud cockily",
    "nervous": "nervously anxiously nervous",
    "quiet": "quietly silently",
    "calm": "calmly calm",
    "graceful": "gracefully elegantly",
    "wild": "wildly wild crazily",
    "playful": "playfully playful",
    "high": "high highly",
    "hard": "hard forcefully powerfully",
})
"""Words of manner, with the plainest one."""
DIRECTIONS = {
    "backwards": "walk_backward", "backward": "walk_backward", "sideways": "sidestep", "sidewards": "sidestep",
}  # fmt: skip
"""Words that make a walk another action."""
BODY_SIDES = r"(?:hand|arm|leg|foot|fist|paw|wing|side|hoof|knee|elbow|shoulder|claw)s?"
THEN = re.compile(r"\s*(?:,|;)?\s*\b(?:and then|then|afterwards|and finally|followed by|before(?=\s+\w+ing\b))\b\s*,?\s*")


@dataclass(frozen=True)
class Wish:
    """What a sentence asks for."""

    text: str
    noun: str = ""
    """The word for the body, as said."""
    plan: str = ""
    """The body plan that the noun means or is nearest to."""
    plan_confidence: float = 0.0
    action: str = ""
    """The action's name in ``ACTION_LIST``; empty where none is near enough."""
    said: str = ""
    """The words that were read as the action."""
    confidence: float = 0.0
    """Of the action: 1 by its own words, less where it is only near."""
    nearest: tuple[tuple[str, float], ...] = ()
    """The three nearest actions with their confidences, however small."""
    side: Side = ""
    manner: str = ""
    speed: str = ""
    """"slow", "fast" or nothing."""
    count: int | None = None
    then: "Wish | None" = None
    """What is to follow."""
    unknown: tuple[str, ...] = ()
    """Words that were not understood."""

    def line(self) -> str:
        """The wish in a few words, for the first line of a command's output."""
        who = self.noun if self.noun in ("", self.plan) else f"{self.plan} ({self.noun})"
        parts = [who or "nobody named", self._action_words(), *self.modifiers().values()]
        text = ", ".join(part for part in parts if part)
        return f"{text}; then {self.then._action_words()}" if self.then else text

    def _action_words(self) -> str:
        if not self.action:
            return "no action named" if not self.said else f"unknown action {self.said!r}"
        name = self.action.replace("_", " ")
        if self.confidence < 0.995:
            return f"{name} ({self.said!r}, confidence {self.confidence:.2f})"
        return name if self.said in (name, "") else f"{name} ({self.said!r})"

    def without(self, told: Container[str]) -> "Wish":
        """The wish without what is done to the finished motion (``ACTED``), but with what a prior is ``told`` itself."""
        kept = {name: getattr(PLAIN, name) for name in ACTED if name not in told}
        return replace(self, **kept)

    def modifiers(self) -> dict[str, str]:
        """Side, manner, speed and count as phrases, by the name of the field; only what was asked for."""
        times = {1: "once", 2: "twice"}.get(self.count or 0, f"{self.count} times")
        found = {"side": f"{self.side} side" if self.side else "", "manner": self.manner, "speed": self.speed}
        return {name: text for name, text in found.items() if text} | ({"count": times} if self.count else {})


ACTED = ("side", "speed", "count")
"""Modifiers that are done to the finished motion, whatever the prior knows of them."""
PLAIN = Wish("")


def read_wish(prompt: str, known: Container[str] | None = None) -> Wish:
    """Read a sentence. ``known`` names the actions to choose the nearest from; all of ``ACTION_LIST`` by default."""
    clauses = [part for part in THEN.split(prompt.lower()) if part.strip(" .,!")]
    if not clauses:
        return Wish(prompt)
    wishes = [_read_clause(clause, known) for clause in clauses]
    first = replace(wishes[0], text=prompt)
    if len(wishes) == 1 or not (wishes[1].action or wishes[1].said):
        return first
    return replace(first, then=replace(wishes[1], noun=wishes[1].noun or first.noun, plan=wishes[1].plan or first.plan))


def _read_clause(text: str, known: Container[str] | None) -> Wish:
    words = re.findall(r"[a-z]+(?:[-'][a-z]+)*|\d+", text)
    side, speed, manner, count, used = _modifiers(words)
    at, noun, plan, sure = _noun(words)
    rest = [SUBJECT if i == at else word for i, word in enumerate(words) if i not in used and not _describes(words, i, at)]
    reading = _directed(read_action(rest, known), [word for word in words if word in DIRECTIONS], known)
    wish = Wish(
        text, noun, plan, sure, reading.action, reading.said, reading.confidence, reading.nearest, side, manner, speed, count,
        unknown=tuple(word for word in reading.unread if not _says_nothing(word)),
    )  # fmt: skip
    if wish.action and wish.confidence < SURE:
        wish = replace(wish, action="")
    return _styled(wish, known)


def _directed(reading: Reading, directions: list[str], known: Container[str] | None) -> Reading:
    """A walk with a direction is another action, where that is on offer."""
    action = next((DIRECTIONS[word] for word in directions), "")
    if action and reading.action == "walk" and (known is None or action in known):
        return replace(
            reading, action=action, said=f"{reading.said} {directions[0]}", nearest=_first(reading.nearest, action)
        )
    return reading


def _first(nearest: tuple[tuple[str, float], ...], action: str) -> tuple[tuple[str, float], ...]:
    """The nearest actions with another one before them, as sure as the first was."""
    return ((action, nearest[0][1]), *(entry for entry in nearest if entry[0] != action))[:3]


def _styled(wish: Wish, known: Container[str] | None) -> Wish:
    """A manner of walking that is an action of its own, where that is on offer; else the plain action with its manner."""
    own = ACTION_LIST.get(wish.action)
    if own and own.of and known is not None and wish.action not in known:
        return replace(wish, action=own.of, manner=own.manner)
    for name, entry in ACTION_LIST.items():
        if entry.of and entry.of == wish.action and entry.manner == wish.manner and (known is None or name in known):
            return replace(wish, action=name, said=f"{wish.said} {wish.manner}", nearest=_first(wish.nearest, name))
    return wish


def _modifiers(words: list[str]) -> tuple[Side, str, str, int | None, set[int]]:
    """Side, speed, manner and count, and the indices of their words."""
    side: Side = ""
    speed = manner = ""
    count: int | None = None
    used: set[int] = set()
    for i, word in enumerate(words):
        after = words[i + 1] if i + 1 < len(words) else ""
        if word in SIDES and (re.fullmatch(BODY_SIDES, after) or words[max(i - 2, 0) : i] == ["to", "the"]):
            side, used = SIDES[word], used | {i, i + 1 if re.fullmatch(BODY_SIDES, after) else i}
        elif word in SPEEDS:
            speed, used = SPEEDS[word], used | {i}
        elif word in MANNERS:
            manner, used = MANNERS[word], used | {i}
        elif word in COUNTS:
            count, used = COUNTS[word], used | {i}
        elif (word in NUMBERS or word.isdigit()) and after == "times":
            count, used = NUMBERS.get(word) or int(word), used | {i, i + 1}
    return side, speed, manner, count, used


def _noun(words: list[str]) -> tuple[int, str, str, float]:
    """Index, word, plan and confidence of the body's noun: by the plans' words, then by WordNet's kinds of animals and people."""
    for i, word in enumerate(words):
        plan = known_noun(word)
        if plan and not (i > 0 and word in ACTION_WORDS):
            return i, word, plan, 1.0 if plan == SYNONYMS.get(word, plan) and word not in NEAREST else 0.8
    for i, word in enumerate(words):
        found = word_table().plan_of(word)
        if found and word not in ACTION_WORDS:
            return i, word, *found
    return -1, "", "", 0.0


def _describes(words: list[str], i: int, noun: int) -> bool:
    """Is this an adjective or a colour before the noun?"""
    return i < noun and (words[i] in BUILDS or words[i] in COLORS or words[i] in LOOKS)


def _says_nothing(word: str) -> bool:
    tables = (SMALL_WORDS, BUILDS, COLORS, LOOKS, PARTS, NUMBERS, DIRECTIONS)
    return word.isdigit() or any(word in table for table in tables)
