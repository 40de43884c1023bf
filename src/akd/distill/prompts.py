"""Sentences for the prior: what is prompt, in the words that its training used, and what is not."""

import re

from akd.creatures.captions import action_from_prompt, describe, negative
from akd.creatures.words import ACTION_WORDS, SMALL_WORDS, SYNONYMS

FAST = ("run", "trot", "pace", "canter", "gallop", "bound", "hop")
"""Gaits that differ from standing still by much that they share with a walk."""


def expand(prompt: str) -> str:
    """The full description that goes with a short prompt: subject, motion, view and ground, as in the captions of training.

    A sentence whose motion is not known stays as it is.
    """
    action = action_from_prompt(prompt)
    return prompt if action is None else describe(subject(prompt), action)


def negative_prompts(prompt: str) -> tuple[str, ...]:
    """What the motion is led away from: the same subject frozen, and for fast gaits the same subject walking, too."""
    who = subject(prompt)
    return (negative(who), describe(who, "walk")) if action_from_prompt(prompt) in FAST else (negative(who),)


def subject(prompt: str) -> str:
    """Who moves: the words before the verb without article, or a creature named anywhere, or just some creature."""
    words = re.findall(r"[a-z'\-]+", prompt.lower())
    before = []
    for word in words:
        if action_from_prompt(word) or word in ACTION_WORDS or word in ("is", "are", "that", "who", "which"):
            break
        before.append(word)
    named = [word for word in before if word not in SMALL_WORDS]
    return " ".join(named) or next((word for word in words if word in SYNONYMS), "creature")
