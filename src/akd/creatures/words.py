"""A character from a sentence: which plan its nouns mean, and how its adjectives shape it, by tables of words.

``character`` is the whole interface, so that a neural text-to-3D model can take its place (see ``shap_e``).
"""

import difflib
import re
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from akd.creatures.body import Individual, rgb, sample_individual
from akd.creatures.build import build
from akd.creatures.plan import Marking, Plan
from akd.creatures.plans import PLANS
from akd.creatures.word_table import word_table
from akd.rig import Rig


def word_groups(rows: dict[str, str]) -> dict[str, str]:
    """``{meaning: "word word …"}`` turned into one entry per word."""
    return {word: plan for plan, words in rows.items() for word in words.split()}


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


SYNONYMS = {word: plan.name for plan in PLANS.values() for word in plan.nouns()}
"""Words that a plan fits well."""
NEAREST = word_groups({
    "human": (
        "ape gorilla chimpanzee monkey orangutan angel ghost statue skeleton alien orc ogre giant troll demon "
        "frankenstein"
    ),
    "cat": "lion tiger leopard panther cheetah jaguar puma cougar lioness weasel ferret otter mongoose meerkat lemur",
    "dog": "hyena raccoon badger rat mouse rabbit hare bunny squirrel hamster kangaroo marten werewolf",
    "bear": "koala wombat sloth beaver capybara porcupine hedgehog",
    "horse": "zebra donkey mule deer elk moose reindeer antelope gazelle impala stag doe centaur okapi",
    "cow": "sheep goat pig boar hog ram lamb yak wildebeest piglet",
    "giraffe": "camel llama alpaca dromedary",
    "elephant": "rhino rhinoceros hippo hippopotamus tapir",
    "sauropod": "stegosaurus triceratops ankylosaurus",
    "tyrannosaur": "kaiju",
    "ostrich": "flamingo crane heron stork peacock turkey moa dodo swan goose",
    "chick": "penguin",
    "crocodile": "monitor",
    "lizard": "turtle tortoise frog toad",
    "ant": "bee wasp fly grasshopper cricket mantis mosquito butterfly",
    "spider": "crab octopus lobster scorpion",
})
"""Words whose own plan does not exist yet, with the nearest one."""
COLORS = {
    "red": "#b8332b", "crimson": "#a01f2d", "orange": "#dd7f2e", "ginger": "#cf7a34", "yellow": "#e3bd3c", "golden": "#d3a03f",
    "gold": "#cf9f3a", "blonde": "#d9b46a", "blond": "#d9b46a", "green": "#4f8f45", "olive": "#77783c", "teal": "#2f8a86",
    "turquoise": "#3fb0ab", "blue": "#3c68b0", "navy": "#26365f", "purple": "#74489c", "violet": "#7d55b0", "pink": "#e08fa8",
    "brown": "#7a4c2a", "chocolate": "#55321d", "tan": "#c39a68", "beige": "#d9c4a0", "cream": "#ece0c6", "white": "#eeebe5",
    "grey": "#85827f", "gray": "#85827f", "silver": "#b9bcc2", "black": "#262322", "chestnut": "#7c3f22", "sandy": "#d0ae78",
    "rusty": "#a4532a", "dark": "#3a322d", "pale": "#dcd3c6",
}
"""Colour words as sRGB."""
BUILDS: dict[str, dict[str, float]] = {
    "small": {"size": 0.65}, "little": {"size": 0.6}, "tiny": {"size": 0.4}, "mini": {"size": 0.4}, "miniature": {"size": 0.3},
    "big": {"size": 1.4}, "large": {"size": 1.4}, "huge": {"size": 1.9, "girth": 1.06}, "giant": {"size": 2.5},
    "gigantic": {"size": 3.0}, "enormous": {"size": 2.5}, "massive": {"size": 1.8, "girth": 1.15}, "colossal": {"size": 3.0},
    "tall": {"leg": 1.12, "neck": 1.1, "size": 1.1}, "short": {"leg": 0.8, "size": 0.85}, "long": {"body": 1.2, "tail": 1.1},
    "fat": {"girth": 1.3, "limb": 1.08}, "chubby": {"girth": 1.2, "limb": 1.08}, "plump": {"girth": 1.18},
    "round": {"girth": 1.25, "body": 0.92}, "obese": {"girth": 1.4, "limb": 1.12},
    "stout": {"girth": 1.18, "limb": 1.15, "leg": 0.92}, "heavy": {"girth": 1.15, "limb": 1.1},
    "bulky": {"girth": 1.18, "limb": 1.15}, "strong": {"girth": 1.08, "limb": 1.2}, "muscular": {"girth": 1.1, "limb": 1.25},
    "stocky": {"girth": 1.15, "limb": 1.15, "leg": 0.88}, "burly": {"girth": 1.15, "limb": 1.2},
    "thin": {"girth": 0.8, "limb": 0.85}, "skinny": {"girth": 0.75, "limb": 0.8}, "slim": {"girth": 0.85, "limb": 0.9},
    "slender": {"girth": 0.84, "limb": 0.88, "leg": 1.05}, "lean": {"girth": 0.88},
    "lanky": {"girth": 0.82, "leg": 1.15, "limb": 0.88}, "long-legged": {"leg": 1.28}, "short-legged": {"leg": 0.7},
    "leggy": {"leg": 1.22}, "long-necked": {"neck": 1.35}, "short-necked": {"neck": 0.75}, "long-tailed": {"tail": 1.4},
    "short-tailed": {"tail": 0.65}, "stubby": {"leg": 0.75, "tail": 0.75}, "big-headed": {"head": 1.25},
    "small-headed": {"head": 0.85}, "big-eared": {"ear": 1.5}, "long-eared": {"ear": 1.5}, "small-eared": {"ear": 0.7},
    "long-armed": {"arm": 1.25}, "young": {"head": 1.12, "leg": 0.95, "size": 0.75},
    "baby": {"head": 1.22, "leg": 0.85, "size": 0.5, "girth": 1.05}, "cute": {"head": 1.12},
    "puppy": {"head": 1.2, "leg": 0.85, "size": 0.5, "ear": 1.1}, "kitten": {"head": 1.22, "leg": 0.85, "size": 0.5},
    "cub": {"head": 1.2, "size": 0.45}, "calf": {"head": 1.1, "size": 0.55, "girth": 0.88},
    "foal": {"head": 1.05, "size": 0.6, "girth": 0.85, "leg": 1.08}, "pony": {"size": 0.8, "leg": 0.86},
    "wolf": {"size": 1.25, "girth": 0.95, "head": 1.05}, "dachshund": {"leg": 0.6, "body": 1.25, "size": 0.7},
    "corgi": {"leg": 0.62, "body": 1.1, "size": 0.7}, "greyhound": {"leg": 1.15, "girth": 0.82, "limb": 0.88},
    "raptor": {"size": 0.4, "girth": 0.8, "arm": 1.4}, "velociraptor": {"size": 0.4, "girth": 0.8, "arm": 1.4},
    "mammoth": {"girth": 1.1, "limb": 1.1}, "toddler": {"size": 0.75, "head": 1.1, "leg": 0.85},
    "dwarf": {"leg": 0.8, "girth": 1.15, "size": 1.1}, "woman": {"size": 0.93, "girth": 0.92, "limb": 0.92},
    "lady": {"size": 0.93, "girth": 0.92, "limb": 0.92}, "queen": {"size": 0.93, "girth": 0.94},
    "princess": {"size": 0.93, "girth": 0.9, "limb": 0.9}, "lion": {"size": 4.5, "girth": 1.15, "limb": 1.2},
    "tiger": {"size": 4.5, "girth": 1.15, "limb": 1.2},
}
"""What an adjective, or a noun that says more than its plan, does to the traits."""
LOOKS: dict[str, tuple[str, str, str]] = {
    "zebra": ("stripes", "white", "black"), "tiger": ("stripes", "orange", "black"), "striped": ("stripes", "", "dark"),
    "dalmatian": ("spots", "white", "black"), "leopard": ("spots", "golden", "chocolate"), "cheetah": ("spots", "sandy", "black"),
    "jaguar": ("spots", "golden", "black"), "spotted": ("spots", "", "dark"), "spotty": ("spots", "", "dark"),
    "spots": ("spots", "", ""), "stripes": ("stripes", "", ""), "patchy": ("blotches", "", "dark"),
    "ladybug": ("spots", "red", "black"), "ladybird": ("spots", "red", "black"), "lion": ("", "sandy", ""),
    "lioness": ("", "sandy", ""),
    "panther": ("", "black", ""), "puma": ("", "tan", ""), "polar": ("", "white", ""), "grizzly": ("", "brown", ""),
    "wolf": ("", "grey", ""), "husky": ("blotches", "white", "grey"), "unicorn": ("", "white", ""),
    "mammoth": ("", "chocolate", ""),
    "coyote": ("", "sandy", ""), "jackal": ("", "tan", ""), "dingo": ("", "ginger", ""), "deer": ("", "tan", ""),
    "pig": ("", "pink", ""), "piglet": ("", "pink", ""), "donkey": ("", "grey", ""), "sheep": ("", "cream", ""),
    "lamb": ("", "cream", ""), "flamingo": ("", "pink", ""), "gorilla": ("", "black", ""), "duckling": ("", "yellow", ""),
    "crow": ("", "black", ""), "raven": ("", "black", ""),
}
"""Nouns and adjectives that say how the coat looks: a pattern, the coat's colour word, the pattern's."""
PARTS = {
    "shirt": "shirt", "sweater": "shirt", "jacket": "shirt", "coat": "shirt", "dress": "shirt", "hoodie": "shirt",
    "top": "shirt", "tunic": "shirt", "trousers": "trousers", "pants": "trousers", "jeans": "trousers", "shorts": "trousers",
    "skirt": "trousers", "shoes": "shoes", "boots": "shoes", "sneakers": "shoes", "hair": "hair", "haired": "hair",
    "belly": "belly", "bellied": "belly", "eyes": "iris", "eyed": "iris", "socks": "socks", "paws": "socks", "mane": "mane",
    "skin": "skin", "skinned": "skin", "helmet": "suit", "suit": "suit", "hooves": "hoof", "horns": "horn", "spots": "dark",
    "spotted": "dark", "stripes": "dark", "striped": "dark", "patches": "patch", "shell": "shell", "beak": "beak",
}
"""Nouns that a colour before them belongs to, with the palette name."""
NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "ten": 10,
}
ACTION_WORDS = word_set(
    "bound canter dance dances fight fights flies gallop gallops hop hops idle jump jumps kick kicks look looks pace punch "
    "once punches rest rests run runs sit sits slither slithers stand stands swim swims then times trot trots turn turns "
    "twice walk walks wave waves "
)
"""Verbs are for the motion, not for the body."""
SMALL_WORDS = word_set(
    "3d a across ahead an and angry animal animation are around at backward beach beast beautiful being beside by cartoon "
    "checkerboard creature cute-looking desert domestic down fast field floor fluffy forest forward forwards friendly from "
    "furry grass ground happy her high his in is its left leg legged legs like low model monster near nice of old on one or "
    "over pet photo picture place poly pretty quality quickly quite rather realistic really render right room sad shaggy "
    "single slow slowly snow some stage still straight street style that the their thing through to under up very video "
    "wearing which wild with "
)
"""Words that say nothing about the body."""
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
    rig = build(plan, shaped(plan, sample_individual(plan, seed), reading))
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
    """The individual shaped and coloured as a sentence says."""
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
    """The plan's name, the indices of the words that named it, and notes for the user."""
    for table, note in ((SYNONYMS, ""), (NEAREST, "There is no body plan for {word!r}; the nearest is {plan!r}.")):
        for i, word in reversed(list(enumerate(words))):
            name = next((form for form in _singular(word) if form in table), None)
            # "a bear dog" is a dog and "a horse in a cow field" a horse: the last noun before a preposition counts.
            if name and i < _first_preposition(words):
                return table[name], {i} | _nouns(words), [note.format(word=word, plan=table[name])] if note else []
    found = _near_noun(words)
    if found:
        return found
    legs = _leg_count(words)
    if legs:
        plan = LEG_COUNTS[min(LEG_COUNTS, key=lambda count: abs(count - legs))]
        return plan, set(), [f"No animal was named; the plan with about {legs} legs is {plan!r}."]
    return _closest_spelling(words)


def _near_noun(words: list[str]) -> tuple[str, set[int], list[str]] | None:
    """A pet name of a plan, or a noun that WordNet knows as a kind of animal or person: the first in the sentence."""
    for i, word in enumerate(words):
        if _known(word):
            continue
        pet = next((form for form in _pet_name(word) if form in SYNONYMS), None)
        if pet:
            return SYNONYMS[pet], {i}, [f"{word!r} was read as {pet!r}."]
        near = word_table().plan_of(word)
        if near:
            plan, confidence = near
            return plan, {i}, [f"There is no body plan for {word!r}; the nearest is {plan!r} (confidence {confidence:.2f})."]
    return None


def _closest_spelling(words: list[str]) -> tuple[str, set[int], list[str]]:
    """The plan whose word is nearest in spelling, for sentences without a known word."""
    for i, word in enumerate(words):
        close = difflib.get_close_matches(word, list(SYNONYMS), 1, 0.78) if len(word) > 3 and not _known(word) else []
        if close:
            return SYNONYMS[close[0]], {i}, [f"{word!r} was read as {close[0]!r}."]
    return "human", set(), [f"No known character is named in {' '.join(words)!r}; here is a person. Known: {', '.join(PLANS)}."]


def _singular(word: str) -> tuple[str, ...]:
    """The word and what it may be the plural of."""
    ends = (("ies", "y"), ("ves", "f"), ("es", ""), ("s", ""))
    return (word, *(word[: -len(end)] + new for end, new in ends if word.endswith(end) and len(word) > len(end) + 2))


def known_noun(word: str) -> str | None:
    """The plan that a noun of the tables means, or is nearest to: also of plurals and of pet names like "doggo"."""
    forms = (*_singular(word), *_pet_name(word))
    return next((table[form] for table in (SYNONYMS, NEAREST) for form in forms if form in table), None)


def _pet_name(word: str) -> tuple[str, ...]:
    """What a pet name may be made of: "doggo", "horsey", "birdie"."""
    found = re.fullmatch(r"([a-z]{3,}?)(?:o|y|ie|ies|os)", word)
    if not found:
        return ()
    stem = found.group(1)
    return (stem, stem + "e", *((stem[:-1],) if stem[-1] == stem[-2] else ()))


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
    """Is the word about the motion?"""
    table = word_table()
    return word in ACTION_WORDS or word.endswith("ing") or (table.lemma(word) != word and table.lemma(word) in table.kinds)


def _known(word: str) -> bool:
    tables = (SMALL_WORDS, BUILDS, COLORS, LOOKS, PARTS, NUMBERS, SYNONYMS, NEAREST)
    return _action(word) or any(form in table for form in _singular(word) for table in tables)
