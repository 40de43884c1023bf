"""Words for motions: captions of a subject in motion, and the motion that a sentence asks for.

captions("dog", "walk", rng, 3)  →  "a dog strolling through a meadow", "The dog walks calmly.", …
action_from_prompt("a fox leaping over a log")  →  "jump"
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from akd.creatures.words import BUILDS, COLORS, LOOKS


@dataclass(frozen=True)
class Verb:
    """Phrases for one motion."""

    phrases: tuple[str, ...]
    """Phrases in the infinitive, the plainest first; the first word is the verb."""
    requests: tuple[str, ...] = ()
    """Further phrases that ask for this motion but do not describe it well."""
    manners: tuple[str, ...] = ()
    """Adverbs that fit."""


VERBS: dict[str, Verb] = {
    "walk": Verb(
        ("walk", "walk along", "stroll", "amble", "walk forward", "take a walk"),
        (
            "wander",
            "march",
            "pad",
            "plod",
            "crawl",
            "crawl along",
            "scuttle",
            "creep",
            "roam",
            "stride",
            "strut",
            "waddle",
            "lumber",
            "go for a walk",
            "step",
        ),
        ("slowly", "calmly", "at an easy pace", "steadily", "quietly"),
    ),
    "run": Verb(
        ("run", "run along", "sprint", "race ahead", "run forward"),
        ("jog", "dash", "rush", "scurry", "hurry", "flee", "chase", "charge"),
        ("fast", "at full speed", "quickly", "as fast as it can"),
    ),
    "trot": Verb(("trot", "trot along", "go at a trot"), (), ("briskly", "steadily", "lightly")),
    "pace": Verb(("pace", "pace along", "walk with both legs of a side together"), ("amble sideways",), ("smoothly", "evenly")),
    "canter": Verb(("canter", "canter along", "go at a canter"), (), ("easily", "gracefully", "in three beats")),
    "gallop": Verb(("gallop", "gallop along", "go at a gallop", "gallop away"), (), ("fast", "at full speed", "wildly")),
    "bound": Verb(("bound", "bound along", "run in great leaps"), (), ("playfully", "with long leaps")),
    "hop": Verb(("hop", "hop along", "hop forward on both feet"), ("skip", "bounce"), ("lightly", "happily")),
    "tripod": Verb(
        ("walk", "walk on six legs", "scuttle", "crawl along", "crawl"), ("walk in a tripod gait",), ("quickly", "steadily")
    ),
    "tetrapod": Verb(
        ("walk", "walk on eight legs", "scuttle", "crawl along", "crawl"), ("walk in a tetrapod gait",), ("quickly", "silently")
    ),
    "wave": Verb(
        ("creep", "creep forward", "crawl slowly", "move one leg after the other"),
        ("walk in a wave gait",),
        ("slowly", "carefully"),
    ),
    "fly": Verb(
        ("fly", "fly along", "flap its wings", "fly through the air", "beat its wings in flight"),
        ("soar", "glide", "hover", "flutter", "take wing", "take flight"),
        ("high", "swiftly", "with strong wing beats", "gracefully"),
    ),
    "swim": Verb(
        ("swim", "swim along", "swim forward", "swim with its tail beating", "swim through water"),
        ("paddle", "dart through the water", "cruise through the water"),
        ("calmly", "swiftly", "smoothly"),
    ),
    "slither": Verb(
        ("slither", "slither along", "slither forward", "wind along the ground", "glide over the ground in curves"),
        ("writhe", "snake along", "wriggle", "undulate"),
        ("slowly", "silently", "smoothly"),
    ),
    "idle": Verb(
        ("stand still", "stand", "stand quietly", "wait", "rest on its feet"),
        ("idle", "pause", "freeze", "do nothing", "breathe", "not moving", "not move", "motionless", "frozen"),
        ("calmly", "motionless", "without taking a step"),
    ),
    "look": Verb(
        ("look around", "look left and right", "turn its head", "survey its surroundings"),
        ("watch", "search", "gaze", "look"),
        ("slowly", "alertly"),
    ),
    "turn": Verb(
        ("turn around", "turn in place", "turn on the spot", "step around in a circle"),
        ("turn", "spin", "rotate", "circle"),
        ("slowly", "step by step"),
    ),
    "crouch": Verb(
        ("crouch", "crouch down", "duck", "squat down"), ("squat", "kneel", "cower", "bend its knees"), ("low", "slowly")
    ),
    "sit": Verb(("sit down", "sit", "sit on its haunches"), ("seat itself",), ("obediently", "slowly")),
    "eat": Verb(
        ("eat", "graze", "lower its head to feed", "eat from the ground"),
        ("feed", "drink", "browse", "sniff", "nibble"),
        ("calmly", "hungrily"),
    ),
    "jump": Verb(
        ("jump", "leap", "jump forward", "jump into the air", "leap up"),
        ("pounce", "spring", "vault", "jump over"),
        ("high", "with all its strength"),
    ),
    "punch": Verb(("punch", "throw punches", "box", "shadow-box"), ("hit", "fight", "strike", "jab"), ("hard", "fast")),
    "kick": Verb(("kick", "kick forward", "throw a kick"), ("karate kick",), ("high", "hard")),
    "wave_hand": Verb(
        ("wave", "wave a hand", "wave hello", "greet with a raised hand"),
        ("greet", "wave goodbye", "say hello"),
        ("happily", "kindly"),
    ),
    "dance": Verb(
        ("dance", "dance to music", "groove", "dance from side to side"),
        ("boogie", "party", "sway", "dancing"),
        ("happily", "in rhythm"),
    ),
    "twist": Verb(("twist", "dance the twist", "twist its hips"), (), ("wildly", "in rhythm")),
    "disco": Verb(
        ("dance disco", "dance to disco music", "point to the ceiling in a disco dance"), ("disco",), ("proudly", "in rhythm")
    ),
}
"""Every motion; motions of more specific names come after the plain ones."""
PLACES = (
    "in a field", "on a checkerboard floor", "on sand", "in the snow", "on a dirt road", "across a meadow", "in a studio",
    "in a park", "on a plain floor", "in the desert", "on grass", "at sunset",
)  # fmt: skip
SHOTS = (
    "a side view of", "a full-body shot of", "a 3D animation of", "a video of", "a high-quality render of", "a cinematic shot of",
    "an animated", "a long shot of",
)  # fmt: skip
FINISHES = ("smooth motion", "natural movement", "high detail", "realistic motion", "soft light", "plain background")
DOUBLED = {
    "run", "trot", "hop", "step", "strut", "hit", "jab", "jog", "pad", "spin", "skip", "sit", "squat", "plod",
    "nod", "snap", "swim", "dig", "clap", "stab", "get", "chop", "drop", "flop", "stop", "bat", "flap", "tug", "nap", "grab",
    "drum", "trip", "slip", "hug", "flip", "sip", "sob", "mop",
}  # fmt: skip
"""Verbs whose last letter is written twice before -ing."""
IRREGULAR_PAST = {
    "run": "ran", "stand": "stood", "sit": "sat", "creep": "crept", "eat": "ate", "throw": "threw", "fly": "flew", "swim": "swam",
}  # fmt: skip
CREATURES_TOO = {"duck", "ducks", "fly", "flies"}
"""Forms of verbs that are creatures after an article or an adjective."""
DETERMINERS = {"a", "an", "the", "this", "that", "one", "two", "three", "four", "some", "many"}


def captions(subject: str, action: str, rng: np.random.Generator, n: int, *, color: str | None = None) -> list[str]:
    """Different sentences about a subject (a noun, with or without article and adjectives) doing something.

    About half of them name the colour, if one is given; some have a place, a manner, a style of picture.
    """
    return captions_with(subject, VERBS[action], rng, n, color=color)


def captions_with(subject: str, verb: Verb, rng: np.random.Generator, n: int, *, color: str | None = None) -> list[str]:
    """Sentences as ``captions`` makes them, about a motion with these phrases."""
    out = []
    for _ in range(n):
        noun = _noun(subject, color if color and rng.random() < 0.5 else None)
        phrase = str(rng.choice(verb.phrases[:2] if rng.random() < 0.5 else verb.phrases))
        manner = f" {rng.choice(verb.manners)}" if verb.manners and rng.random() < 0.3 else ""
        place = f" {rng.choice(PLACES)}" if rng.random() < 0.35 else ""
        out.append(_sentence(noun, phrase, manner + place, rng))
    return out


def describe(subject: str, action: str) -> str:
    """The one canonical description of a motion, also used to fill up short prompts."""
    return describe_with(subject, VERBS[action])


def describe_with(subject: str, verb: Verb) -> str:
    """The canonical description of a motion with these phrases."""
    return describe_phrase(subject, verb.phrases[0])


def describe_phrase(subject: str, phrase: str) -> str:
    """The canonical description of a motion that is said by a phrase in the infinitive."""
    doing = gerund(phrase)
    return f"{with_article(_noun(subject)).capitalize()} {doing}, seen from the side, full body, on a checkerboard ground."


def negative(subject: str) -> str:
    """What the motion is not: the same subject, frozen."""
    return f"{with_article(_noun(subject))}, frozen, standing still, motionless"


def action_from_prompt(prompt: str) -> str | None:
    """The motion that a sentence asks for: the first that it names, the most exact where two begin together."""
    found = find_action(prompt)
    return found.action if found else None


class FoundAction(NamedTuple):
    """A motion that a sentence names, and the text around its words."""

    action: str
    before: str
    after: str
    words: str
    """The words that name it."""


def find_action(prompt: str) -> FoundAction | None:
    """The first motion that a sentence names, the most exact where two begin together."""
    text = " " + re.sub(r"[^a-z'\- ]+", " ", prompt.lower()) + " "
    found = [
        (match.start(), -len(match.group()), rank, action)
        for rank, (action, pattern) in enumerate(_PATTERNS.items())
        for match in pattern.finditer(text)
        if not (match.group() in CREATURES_TOO and _after_article(text[: match.start()]))
    ]
    if not found:
        return None
    start, minus_length, _, action = min(found)
    end = start - minus_length
    return FoundAction(action, text[:start].strip(), text[end:].strip(), text[start:end])


def _after_article(before: str) -> bool:
    """Does the text end with an article or an adjective, so that a noun comes next?"""
    last = before.split()[-1:]
    return any(word in DETERMINERS or word in BUILDS or word in COLORS or word in LOOKS for word in last)


def gerund(phrase: str) -> str:
    """ "run along" → "running along"."""
    verb, _, rest = phrase.partition(" ")
    return f"{_ing(verb)} {rest}".strip()


def with_article(noun: str) -> str:
    """ "elephant" → "an elephant"."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _sentence(noun: str, phrase: str, rest: str, rng: np.random.Generator) -> str:
    doing, subject = gerund(phrase), with_article(noun)
    forms = (
        f"{subject} {doing}{rest}",
        f"{subject} {doing}{rest}",
        f"{subject.capitalize()} is {doing}{rest}.",
        f"The {noun} {_third_person(phrase)}{rest}.",
        _shot(str(rng.choice(SHOTS)), noun, f"{doing}{rest}"),
        f"{subject} {doing}{rest}, {rng.choice(FINISHES)}",
    )
    return forms[int(rng.integers(len(forms)))]


def _shot(shot: str, noun: str, doing: str) -> str:
    return f"{shot} {noun} {doing}" if shot == "an animated" else f"{shot} {with_article(noun)} {doing}"


def _noun(subject: str, color: str | None = None) -> str:
    """The subject without article, with a colour before it."""
    bare = re.sub(r"^(a|an|the)\s+", "", subject.strip(), flags=re.IGNORECASE)
    *before, thing = bare.split(" ")
    return " ".join((*before, color, thing)) if color and color not in before else bare


def _ing(verb: str) -> str:
    if verb in ("be", "see", "flee"):
        return verb + "ing"
    if verb in ("die", "lie", "tie"):
        return verb[:-2] + "ying"
    if verb in DOUBLED:
        return verb + verb[-1] + "ing"
    return verb[:-1] + "ing" if verb.endswith("e") and not verb.endswith("ee") else verb + "ing"


def _third_person(phrase: str) -> str:
    verb, _, rest = phrase.partition(" ")
    if verb == "be":
        return f"is {rest}".strip()
    if re.search(r"[^aeiou]y$", verb):
        verb = verb[:-1] + "ie"
    elif re.search(r"(s|x|ch|sh|^go|^do)$", verb):
        verb += "e"
    return f"{verb}s {rest}".strip()


def inflected(phrase: str) -> list[str]:
    """The phrase with its verb inflected."""
    verb, _, rest = phrase.partition(" ")
    past = IRREGULAR_PAST.get(verb, "")
    forms = {verb, _ing(verb), _third_person(verb), past or (verb + "d" if verb.endswith("e") else verb + "ed")}
    return [f"{form} {rest}".strip() for form in forms]


def _pattern(verb: Verb) -> re.Pattern[str]:
    phrases = sorted({form for phrase in verb.phrases + verb.requests for form in inflected(phrase)}, key=len, reverse=True)
    return re.compile(r"(?<=[ ])(" + "|".join(map(re.escape, phrases)) + r")(?=[ ])")


_PATTERNS = {action: _pattern(verb) for action, verb in VERBS.items()}
