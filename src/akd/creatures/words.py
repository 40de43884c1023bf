"""A sentence to a character: which plan its nouns mean, and how its adjectives shape it.

``character`` is the whole interface, so that a neural text-to-3D model can stand in its place (see ``shap_e``).
"""

import difflib
import re
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from akd.creatures.build import build
from akd.creatures.individual import Individual, draw, rgb
from akd.creatures.plan import Marking, Plan
from akd.creatures.plans import PLANS
from akd.creatures.vocabulary import ACTION_WORDS, BUILDS, COLORS, LOOKS, NEAREST, NUMBERS, PARTS, SMALL_WORDS, SYNONYMS
from akd.rig import Rig

LEG_COUNTS = {2: "human", 4: "dog", 6: "ant", 8: "spider"}
"""The plan for a number of legs, where nothing else is said."""
PATTERN_SIZES = {"stripes": 0.17, "spots": 0.16, "blotches": 0.4}
"""Scale of a pattern that a sentence asks for and the plan does not have [ℓ]."""
PREPOSITIONS = ("in", "on", "through", "across", "over", "under", "near", "beside", "like", "with")
LIMITS = (0.55, 1.8)
"""However many adjectives pull the same way, a trait stays within these."""


@dataclass(frozen=True)
class Reading:
    """What a sentence says."""

    plan: str
    traits: dict[str, float] = field(default_factory=dict)
    """Factors on top of the individual's own."""
    colors: dict[str, np.ndarray] = field(default_factory=dict)
    """sRGB by palette name; ``""`` is the plan's main colour and ``"second"`` the one a sentence names after it."""
    pattern: str = ""
    """A marking that the sentence asks for."""
    notes: tuple[str, ...] = ()
    """What was not understood or only nearly, one sentence each."""


def character(prompt: str, seed: int = 0) -> tuple[Rig, str | None]:
    """The character a sentence describes, and a message where the sentence was understood only in part."""
    reading = read(prompt)
    plan = PLANS[reading.plan]
    rig = build(plan, shaped(plan, draw(plan, seed), reading))
    message = " ".join(reading.notes) or None
    return replace(rig, notes=reading.notes), message


def read(prompt: str) -> Reading:
    """Pick the plan, then let every other word shape it."""
    words = re.findall(r"[a-z]+(?:-[a-z]+)*|\d+", prompt.lower())
    words = [part for word in words for part in ((word,) if _known(word) else word.split("-"))]
    plan, used, notes = _plan(words)
    traits: dict[str, float] = {}
    colors: dict[str, np.ndarray] = {}
    pattern = ""
    unknown = []
    for i, word in enumerate(words):
        for trait, factor in BUILDS.get(word, {}).items():
            traits[trait] = traits.get(trait, 1.0) * factor
        if word in LOOKS:
            look, coat, mark = LOOKS[word]
            pattern = look or pattern
            named = {part: rgb(COLORS[color]) for part, color in (("", coat), ("second", mark)) if color}
            colors = named | colors
        elif word in COLORS:
            colors[_colored_part(words, i, colors)] = rgb(COLORS[word])
        elif i not in used and not _known(word) and not word.isdigit():
            unknown.append(word)
    if unknown:
        notes.append(f"These words did not change the character: {', '.join(unknown)}.")
    return Reading(plan, traits, colors, pattern, tuple(notes))


def shaped(plan: Plan, individual: Individual, reading: Reading) -> Individual:
    """The individual with a sentence's wishes applied."""
    low, high = LIMITS
    traits = dict(individual.traits)
    for name, factor in reading.traits.items():
        traits[name] = traits[name] * (factor if name == "size" else float(np.clip(factor, low, high)))
    palette, markings = dict(individual.palette), individual.markings
    for part, color in reading.colors.items():
        if part != "second":
            palette |= _recolored(palette, part if part in palette else plan.main_color, color)
    if reading.pattern or "second" in reading.colors:
        main = tuple(dict.fromkeys(chain.name for chain in plan.chains if chain.color == plan.main_color))
        pattern = reading.pattern or "blotches"
        markings = tuple(entry for entry in markings if entry[0].pattern == "under" and not reading.pattern)
        markings += ((Marking(pattern, "second", main), _pattern_size(plan, pattern), 0.45),)
        palette["second"] = reading.colors.get("second", 0.3 * palette[plan.main_color])
    return replace(individual, traits=traits, palette=palette, markings=markings)


def _pattern_size(plan: Plan, pattern: str) -> float:
    """The scale at which the plan itself wears a pattern, or else a common one [ℓ]."""
    own = [marking.size for marking in plan.markings if marking.pattern == pattern]
    return float(np.mean(own)) if own else PATTERN_SIZES[pattern]


def _plan(words: list[str]) -> tuple[str, set[int], list[str]]:
    """The plan's name, which words said so, and what to tell the user about it."""
    for table, note in ((SYNONYMS, ""), (NEAREST, "There is no body plan for {word!r}; the nearest is {plan!r}.")):
        for i, word in reversed(list(enumerate(words))):
            name = next((form for form in _singular(word) if form in table), None)
            # "a bear dog" is a dog and "a horse in a cow field" a horse: the last noun before a preposition counts.
            if name and i < _first_preposition(words):
                return table[name], {i} | _nouns(words), [note.format(word=word, plan=table[name])] if note else []
    legs = _leg_count(words)
    if legs:
        plan = LEG_COUNTS[min(LEG_COUNTS, key=lambda count: abs(count - legs))]
        return plan, set(), [f"No animal was named; the plan with about {legs} legs is {plan!r}."]
    return _closest_spelling(words)


def _closest_spelling(words: list[str]) -> tuple[str, set[int], list[str]]:
    """For words that are in no table: perhaps one is a slip of the pen."""
    for i, word in enumerate(words):
        close = difflib.get_close_matches(word, list(SYNONYMS), 1, 0.78) if len(word) > 3 and not _known(word) else []
        if close:
            return SYNONYMS[close[0]], {i}, [f"{word!r} was read as {close[0]!r}."]
    return "human", set(), [f"No known character is named in {' '.join(words)!r}; here is a person. Known: {', '.join(PLANS)}."]


def _singular(word: str) -> tuple[str, ...]:
    """The word and what it may be the plural of."""
    ends = (("ies", "y"), ("ves", "f"), ("es", ""), ("s", ""))
    return (word, *(word[: -len(end)] + new for end, new in ends if word.endswith(end) and len(word) > len(end) + 2))


def _nouns(words: list[str]) -> set[int]:
    return {i for i, word in enumerate(words) if any(form in SYNONYMS or form in NEAREST for form in _singular(word))}


def _first_preposition(words: list[str]) -> int:
    """Where the description of the character ends and that of its surroundings begins."""
    places = [i for i, word in enumerate(words) if word in PREPOSITIONS]
    return next((i for i in places if i > 0 and _nouns(words[:i])), len(words))


def _leg_count(words: list[str]) -> int:
    """``six legs``, ``eight-legged``, ``4 legs``: how many, or zero."""
    for number, noun in pairwise(words):
        if noun in ("leg", "legs", "legged") and (number in NUMBERS or number.isdigit()):
            return NUMBERS.get(number) or int(number)
    return 0


def _colored_part(words: list[str], index: int, colors: dict[str, np.ndarray]) -> str:
    """``red shirt`` colours the shirt, ``brown dog`` the whole animal, ``black and white cow`` its markings too."""
    for word in words[index + 1 : index + 3]:
        if word in PARTS:
            return PARTS[word]
        if word not in COLORS and word not in BUILDS and word != "and":
            break
    return "second" if "" in colors and words[index - 1] in ("and", "white", "black") else ""


def _recolored(palette: dict[str, np.ndarray], name: str, color: np.ndarray) -> dict[str, np.ndarray]:
    """The new colour, with the shades that belong to it keeping their distance in lightness."""
    changed = {name: 0.85 * color + 0.15 * palette[name]}
    if name == "coat":
        for shade in ("belly", "dark", "down", "wing", "leg", "back"):
            if shade in palette:
                lighter = float((palette[shade] - palette[name]).mean())
                goal = np.ones(3) if lighter > 0 else np.zeros(3)
                changed[shade] = changed[name] + min(abs(lighter) * 1.6, 0.75) * (goal - changed[name])
    return changed


def _action(word: str) -> bool:
    return word in ACTION_WORDS or word.endswith("ing")


def _known(word: str) -> bool:
    tables = (SMALL_WORDS, BUILDS, COLORS, LOOKS, PARTS, NUMBERS, SYNONYMS, NEAREST)
    return _action(word) or any(form in table for form in _singular(word) for table in tables)
