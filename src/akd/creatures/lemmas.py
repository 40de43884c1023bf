"""The dictionary form of an English word, by rules and a list of irregular forms; which forms exist is up to a vocabulary."""

import re
from collections.abc import Container

VOWELS = "aeiou"
IRREGULAR = {
    form: lemma
    for lemma, forms in {
        "be": "is are was were been being am", "have": "has had having", "do": "does did done doing",
        "go": "goes went gone going",
        "run": "ran", "sit": "sat sitting", "stand": "stood", "eat": "ate eaten", "drink": "drank drunk", "swim": "swam swum",
        "fly": "flew flown flies", "fall": "fell fallen", "throw": "threw thrown", "get": "got gotten getting",
        "lie": "lay lain lying",
        "die": "dying died", "take": "took taken", "give": "gave given", "make": "made", "come": "came", "creep": "crept",
        "sleep": "slept", "weep": "wept", "leap": "leapt", "kneel": "knelt", "sweep": "swept", "keep": "kept", "feel": "felt",
        "bite": "bit bitten", "hide": "hid hidden", "ride": "rode ridden", "drive": "drove driven", "rise": "rose risen",
        "write": "wrote written", "strike": "struck stricken", "stride": "strode stridden", "swing": "swung", "fling": "flung",
        "spring": "sprang sprung", "sing": "sang sung", "ring": "rang rung", "sink": "sank sunk", "shrink": "shrank shrunk",
        "spin": "spun", "win": "won", "dig": "dug", "stick": "stuck", "slide": "slid", "fight": "fought", "catch": "caught",
        "bring": "brought", "buy": "bought", "think": "thought", "teach": "taught", "seek": "sought", "shoot": "shot",
        "hold": "held", "tell": "told", "sell": "sold", "say": "said", "pay": "paid", "lead": "led", "feed": "fed",
        "flee": "fled",
        "bleed": "bled", "speed": "sped", "meet": "met", "light": "lit", "build": "built", "bend": "bent", "send": "sent",
        "spend": "spent", "lose": "lost", "leave": "left", "mean": "meant", "deal": "dealt", "hear": "heard", "tear": "tore torn",
        "wear": "wore worn", "bear": "bore borne", "break": "broke broken", "speak": "spoke spoken", "steal": "stole stolen",
        "freeze": "froze frozen", "choose": "chose chosen", "wake": "woke woken", "shake": "shook shaken", "draw": "drew drawn",
        "grow": "grew grown", "know": "knew known", "blow": "blew blown", "see": "saw seen", "wind": "wound", "grind": "ground",
        "find": "found", "bind": "bound", "hang": "hung", "sneak": "snuck", "slay": "slew slain", "slink": "slunk",
        "begin": "began begun",
        "cling": "clung", "sling": "slung", "wring": "wrung", "tread": "trod trodden", "shine": "shone", "awake": "awoke awoken",
        "foot": "feet", "tooth": "teeth", "man": "men", "woman": "women", "child": "children", "mouse": "mice", "goose": "geese",
        "wolf": "wolves", "calf": "calves", "knife": "knives", "leaf": "leaves", "half": "halves", "person": "people",
    }.items()
    for form in forms.split()
}  # fmt: skip
"""Irregular forms that sentences about motion use. "bound", "found", "left",
"ground" and the like keep a reading of their own."""
KEPT = {"bound", "left", "ground", "found", "wound", "saw", "felt", "fell", "lay", "rose", "spoke", "leaves", "shot", "drunk",
"dying"}
"""Forms that are words in their own right; the vocabulary decides which reading they get."""


def lemma(word: str, verbs: Container[str], others: Container[str] = ()) -> str:
    """The dictionary form: an inflected verb's if ``verbs`` has one, else a plural's, else the word itself.

    >>> lemma("hopping", {"hop"}), lemma("riding", {"rid", "ride"}), lemma("horses", (), {"horse"})
    ('hop', 'ride', 'horse')
    """
    if word in IRREGULAR and not (word in KEPT and word in verbs):
        return IRREGULAR[word]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            found = next((stem for stem in _stems(word[: -len(ending)]) if stem in verbs), None)
            if found:
                return found
    if word in verbs:
        return word
    return next((form for form in _singular(word) if form in verbs or form in others), word)


def _stems(stem: str) -> list[str]:
    """What may have stood before -ing or -ed, the likeliest first."""
    if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in VOWELS:
        return [stem[:-1], stem]
    if stem.endswith("i"):
        return [stem[:-1] + "y", stem]
    if stem.endswith("y") and len(stem) < 3:
        return [stem[:-1] + "ie", stem]
    if re.search(r"[^aeiou][aeiou][^aeiouwxy]$", stem):
        return [stem + "e", stem]
    return [stem, stem + "e"]


def _singular(word: str) -> list[str]:
    """What the word may be the plural, or the third person, of."""
    ends = (("ies", "y"), ("ves", "f"), ("es", "e"), ("es", ""), ("s", ""), ("'s", ""))
    if word.endswith("ss"):
        return []
    return [word[: -len(end)] + new for end, new in ends if word.endswith(end) and len(word) > len(end) + 1]
