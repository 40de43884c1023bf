"""What was understood of a sentence, for the user: who does what, what the prior has not seen, and what will have no effect."""

from collections.abc import Container

from akd.creatures.wish import Wish, read_wish
from akd.distill.prompts import asked_action

CURE = "Use another --prior, or a video."


def understanding(prompt: str, known: Container[str] | None, modifiers: Container[str] | None) -> tuple[str, ...]:
    """One line on what was understood, and one for everything that was not.

    ``known`` and ``modifiers`` are the actions and modifiers that the prior's training showed, ``None`` for a model that has
    seen the world.
    """
    wish = read_wish(prompt)
    lines = [f"Understood: {wish.line()}."]
    if known is not None:
        lines += filter(None, (_unseen(prompt, known),))
    lost = [] if modifiers is None else [text for name, text in wish.without(()).modifiers().items() if name not in modifiers]
    unread = [repr(word) for word in wish.unknown if word not in wish.said.split()]
    if lost or unread:
        lines.append(f"Not understood, so without effect: {', '.join((*lost, *unread))}.")
    return tuple(lines)


def _unseen(prompt: str, known: Container[str]) -> str:
    """The sentence about an action that the prior has not seen; empty if it has."""
    wish, told = asked_action(prompt, known)
    name = told.replace("_", " ")
    if told == wish.action and told:
        return ""
    if told:
        return f"The prior does not know {_words(wish)!r} as such; it is taken for {name!r}."
    if not wish.said:
        return f"The sentence names no action: say what happens, as in \"{wish.noun or 'a fox'} walking\"."
    nearest = next((entry for entry in read_wish(prompt, known).nearest if entry[1] > 0), None)
    near = f"nearest: {nearest[0].replace('_', ' ')!r} ({nearest[1]:.2f})" if nearest else "nothing it knows is near"
    return f"The prior does not know {_words(wish)!r}; {near}. {CURE}"


def _words(wish: Wish) -> str:
    """The action as the list calls it where it is sure, else in the sentence's own words."""
    return wish.action.replace("_", " ") or wish.said
