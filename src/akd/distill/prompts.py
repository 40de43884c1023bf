"""Sentences for the prior: the prompt in the words of its training captions, and the negative prompts."""

import re
from collections.abc import Container

from akd.creatures.action_list import ACTION_LIST, MOTION_ACTIONS
from akd.creatures.captions import (
    FINISHES,
    PLACES,
    SHOTS,
    VERBS,
    action_from_prompt,
    describe,
    describe_phrase,
    find_action,
    negative,
)
from akd.creatures.wish import Wish, read_wish
from akd.creatures.words import ACTION_WORDS, NEAREST, SMALL_WORDS, SYNONYMS

FAST_GAITS = ("run", "trot", "pace", "canter", "gallop", "bound", "hop")
"""Gaits that share much with a walk, so that a walk is one of their negative prompts."""
FUNCTION_WORDS = {
    "a", "an", "the", "is", "are", "it", "its", "his", "her", "their", "of", "and", "in", "on", "at", "to", "by", "with", "from",
    "through", "over",
}  # fmt: skip
"""Words without a meaning of their own."""
REVERSED = {"walk_backward": "walk"}
"""Actions that are another one in reverse: the prior is told that one, and the finished motion is reversed."""
VERB_SIGNS = ("is", "are", "that", "who", "which", "does", "doing")
"""Words that end the subject of a sentence."""


def expand(prompt: str, known: Container[str] | None = None, told: Container[str] = ()) -> str:
    """The full description that goes with a short prompt: subject, motion, view and ground, as in the captions of training.

    A sentence stays as it is if its motion is unknown, or if it says more about the motion than the description would keep
    ("walking backwards"). With ``known``, the actions that a prior has seen, free wordings of these are understood too
    ("the knight saunters"), and a sentence of any other action stays as it is. What is done to the finished motion (see
    ``wish.ACTED``) is left out, unless the prior's captions ``told`` of it.
    """
    found = find_action(prompt)
    if known is not None:
        wish, action = asked_action(prompt, known)
        plain = wish.without(told)
        if _is_free(wish) or action != (MOTION_ACTIONS.get(found.action, "") if found else None) or wish.action in REVERSED:
            return _expand_wish(prompt, plain, action)
        if found is None or _lost_words(found.action, found.after):
            return prompt if plain == wish else _expand_wish(prompt, plain, action)
    if found is None or _lost_words(found.action, found.after):
        return prompt
    return describe(subject(prompt), found.action)


def asked_action(prompt: str, known: Container[str]) -> tuple[Wish, str]:
    """What a sentence asks for, and which of the known actions a prior is told; "" if none of them is meant.

    Words that captions have always used for a motion ("a spider crawls") are taken for it where the prior does not know better.
    """
    wish, found = read_wish(prompt), find_action(prompt)
    if wish.action in REVERSED and wish.action not in known:
        return wish, REVERSED[wish.action]
    own = ACTION_LIST.get(wish.action)
    exact = len(wish.said.split()) if wish.confidence == 1 else 0
    if found:
        action, size = MOTION_ACTIONS.get(found.action, ""), len(found.words.split())
        if own and own.of and own.of == action:
            return wish, wish.action if wish.action in known else action
        if wish.action != action and exact >= size and (wish.action in known or exact > size):
            return wish, wish.action if wish.action in known else ""
        if not action or action in known:
            return wish, action
    if wish.action in known:
        return wish, wish.action
    return wish, own.of if own and own.of in known else ""


def _is_free(wish: Wish) -> bool:
    """Is the body named by a word that no caption has, but that is near to one?"""
    return bool(wish.plan) and wish.noun not in SYNONYMS and wish.noun not in NEAREST and wish.noun.rstrip("s") not in SYNONYMS


def _expand_wish(prompt: str, wish: Wish, action: str) -> str:
    """The description of a wish whose action is known and that asks for nothing else, in words that captions have."""
    if not action or wish.modifiers() or wish.then:
        return prompt
    motion, who = ACTION_LIST[action].motion, wish.plan if _is_free(wish) else wish.noun or subject(prompt)
    return describe(who, motion) if motion in VERBS else describe_phrase(who, ACTION_LIST[action].phrases[0])


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
