"""Which plans and words the networks were trained with, and what is held out from all training: a card stored with the weights.

The lists are explicit, in the order used: the plan of an individual and a word's row in the text encoder depend on it. So a plan
or a synonym that is added later disturbs neither the shipped networks nor a training that is resumed. A new training may take
today's plans and words; its card is stored in its folder at the start and read from there ever after.
"""

import json
import string
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np

from akd.creatures.action_list import ACTION_LIST
from akd.creatures.action_phrases import ACTION_VERBS, phrase_words
from akd.creatures.captions import FINISHES, PLACES, SHOTS, VERBS, captions, describe, gerund, negative
from akd.creatures.plans import PLANS
from akd.creatures.words import NEAREST, SYNONYMS
from akd.errors import AkdError
from akd.files.writing import write_file
from akd.prior.folder import EMBEDDED_FOLDER

CARD_NAME = "training.json"
"""File name of the card, in a folder of weights and in the folder of a training run."""
GENERIC_NOUNS = ("animal", "creature", "character", "figure")
"""Nouns for any creature."""
SIDE_WORDS = ("left", "right", "hand", "foot", "with", "the")
"""Words that say with which limb."""
LISTED_ACTIONS = {
    "die": "death", "zombie": "zombie_walk", "sword": "sword_attack", "wave_hand": "wave", "sit": "sit_down",
    "climb_stairs": "climb", "look": "look_around",
}  # fmt: skip
"""What ``ACTION_LIST`` calls actions that captions of real clips call otherwise."""
OPTIONAL = ("actions", "modifiers")
"""Entries that a card of the first edition lacks."""
WORD_SEEDS = 100
"""Random captions of each action that are searched for words."""


@dataclass(frozen=True)
class DataCard:
    """The data of a training."""

    plans: tuple[str, ...]
    """Plans trained on: individual k has plan k modulo their number."""
    held_out_plans: tuple[str, ...]
    """Plans that no training sees."""
    first_held_out_seed: int
    """No training sees individuals with this seed or a larger one, of any plan."""
    synonyms: tuple[tuple[str, str], ...]
    """Nouns that captions use for a plan, with the plan; grouped by plan."""
    nearest: tuple[tuple[str, str], ...]
    """Nouns of creatures without a plan, and the nearest plan; in captions they stand for any creature."""
    words: tuple[str, ...]
    """Words of the tokenizer, in the order of its rows."""
    actions: tuple[str, ...] | None = None
    """Names in ``ACTION_LIST`` of the actions that were shown; ``None``, and not stored, for the first edition."""
    modifiers: tuple[str, ...] | None = None
    """Which of side, manner, speed and count captions told truly; ``None``, and not stored, for the first edition."""

    @classmethod
    def load(cls, path: Path) -> "DataCard":
        """Read a card."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            plans, held_out, words = (tuple(map(str, stored[name])) for name in ("plans", "held_out_plans", "words"))
            synonyms, nearest = (_pairs(stored[name]) for name in ("synonyms", "nearest"))
            actions, modifiers = (tuple(map(str, stored[name])) if name in stored else None for name in OPTIONAL)
            return cls(plans, held_out, int(stored["first_held_out_seed"]), synonyms, nearest, words, actions, modifiers)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            names = ", ".join(field.name for field in fields(cls) if field.name not in OPTIONAL)
            raise AkdError(f"{path} is not the card of a training: it must be JSON with {names}.") from error

    def save(self, path: Path) -> None:
        """Write the card, whole or not at all; nouns are grouped by plan."""
        grouped = {"synonyms": _by_plan(self.synonyms), "nearest": _by_plan(self.nearest)}
        stored = {name: value for name, value in (asdict(self) | grouped).items() if value is not None}
        write_file(path, json.dumps(stored, indent=1) + "\n")

    @property
    def nouns(self) -> dict[str, str]:
        """The plan, or the nearest plan, of every noun."""
        return dict(self.nearest) | dict(self.synonyms)


def current_card() -> DataCard:
    """Today's plans and words; what is held out stays held out."""
    plans = tuple(name for name in PLANS if name not in SHIPPED_CARD.held_out_plans)
    held_out = SHIPPED_CARD.held_out_plans, SHIPPED_CARD.first_held_out_seed
    synonyms, nearest = (_pairs(_by_plan(tuple(table.items()))) for table in (SYNONYMS, NEAREST))
    return DataCard(plans, *held_out, synonyms, nearest, tuple(_caption_words()))


def with_real_motion(card: DataCard, actions: Iterable[str], nouns: Iterable[str]) -> DataCard:
    """The card with real clips of these actions and these further nouns; new words come after those that were known.

    Captions of real clips tell the truth about the side that leads, and the manners of walking are actions of their own.
    """
    shown = sorted(set(actions))
    phrases = {word for action in shown for word in phrase_words(ACTION_VERBS[action])} | set(SIDE_WORDS) | set(nouns)
    known = {LISTED_ACTIONS.get(action, action) for action in (*shown, *VERBS)} & set(ACTION_LIST)
    words = card.words + tuple(sorted(phrases - set(card.words)))
    return replace(card, words=words, actions=tuple(sorted(known)), modifiers=("side",))


def run_card(folder: Path, *, current: bool = False) -> DataCard:
    """The card of a training run. A new run gets the shipped one, or today's if ``current``, and keeps it."""
    path = folder / CARD_NAME
    if path.exists():
        stored = DataCard.load(path)
        if current and stored != current_card():
            raise AkdError(f"{path} lists other plans or words than today's: leave out --current-plans, or use another folder.")
        return stored
    chosen = current_card() if current else SHIPPED_CARD
    chosen.save(path)
    return chosen


def _caption_words() -> list[str]:
    """Every word that captions can contain, sorted."""
    phrases = [*PLACES, *SHOTS, *FINISHES, *SYNONYMS, *NEAREST, *GENERIC_NOUNS]
    for verb in VERBS.values():
        phrases += [*verb.phrases, *verb.requests, *verb.manners, *(gerund(phrase) for phrase in (*verb.phrases, *verb.requests))]
    for action in VERBS:
        phrases += [describe("animal", action), negative("animal")]
        for seed in range(WORD_SEEDS):
            phrases += captions("animal", action, np.random.default_rng(seed), 4)
    words = {word.strip(string.punctuation).lower() for phrase in phrases for word in phrase.split()}
    return sorted(word for word in words if word)


def _by_plan(nouns: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """The nouns of each plan, as a card is stored."""
    return {plan: [noun for noun, meant in nouns if meant == plan] for _, plan in nouns}


def _pairs(grouped: dict[str, list[str]]) -> tuple[tuple[str, str], ...]:
    """Every noun with its plan, grouped by plan."""
    return tuple((str(noun), str(plan)) for plan, nouns in grouped.items() for noun in nouns)


SHIPPED_CARD = DataCard.load(EMBEDDED_FOLDER / CARD_NAME)
"""The card of the shipped weights, of the video prior and of the pose space alike."""
TRAINING_PLANS, HELD_OUT_PLANS = SHIPPED_CARD.plans, SHIPPED_CARD.held_out_plans
FIRST_HELD_OUT_SEED = SHIPPED_CARD.first_held_out_seed
