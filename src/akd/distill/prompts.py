"""Sentences for the prior: the prompt in the words of its training captions, and the negative prompts."""

import re

from akd.creatures.captions import FINISHES, PLACES, SHOTS, VERBS, action_from_prompt, describe, find_action, negative
from akd.creatures.words import ACTION_WORDS, NEAREST, SMALL_WORDS, SYNONYMS

FAST_GAITS = ("run", "trot", "pace", "canter", "gallop", "bound", "hop")
"""Gaits that share much with a walk, so that a walk is one of their negative prompts."""
FUNCTION_WORDS = {
    "a", "an", "the", "is", "are", "it", "its", "his", "her", "their", "of", "and", "in", "on", "at", "to", "by", "with", "from",
    "through", "over",
}  # fmt: skip
"""Words without a meaning of their own."""
VERB_SIGNS = ("is", "are", "that", "who", "which", "does", "doing")
"""Words that end the subject of a sentence."""


def expand(prompt: str) -> str:
    """The full description that goes with a short prompt: subject, motion, view and ground, as in the captions of training.

    A sentence stays as it is if its motion is unknown, or if it says more about the motion than the description would keep
    ("walking backwards").
    """
    found = find_action(prompt)
    if found is None or _lost_words(found.action, found.after):
        return prompt
    return describe(subject(prompt), found.action)


def _lost_words(action: str, after: str) -> list[str]:
    """Words after the verb that the description of the motion would not keep and that are no scenery."""
    phrases = (*PLACES, *SHOTS, *FINISHES, *VERBS[action].manners, *VERBS[action].phrases)
    kept = FUNCTION_WORDS.union(*(phrase.split() for phrase in phrases))
    return [word for word in after.split() if word not in kept]


def negative_prompts(prompt: str) -> tuple[str, ...]:
    """The same subject frozen, and for fast gaits the same subject walking, too."""
    who = subject(prompt)
    return (negative(who), describe(who, "walk")) if action_from_prompt(prompt) in FAST_GAITS else (negative(who),)


def subject(prompt: str) -> str:
    """The words before the verb without article, or a creature named anywhere, or "creature".

    Where the verb is not known the subject ends with the first noun that is: the rest of the sentence is the motion.
    """
    words = re.findall(r"[a-z'\-]+", prompt.lower())
    known = action_from_prompt(prompt) is not None
    before: list[str] = []
    for word in words:
        if action_from_prompt(word) or word in ACTION_WORDS or word in VERB_SIGNS or (not known and word.endswith("ing")):
            break
        before.append(word)
        if not known and (word in SYNONYMS or word in NEAREST):
            break
    named = [word for word in before if word not in SMALL_WORDS]
    return " ".join(named) or next((word for word in words if word in SYNONYMS), "creature")
