"""What a sentence asks for, in the words of the judges: an action, and the side if it names a hand or foot."""

import re
from typing import NamedTuple

from akd.creatures.captions import action_from_prompt
from akd.measure.actions import CHECKS, Side

WORDS: dict[str, str] = {
    "get up": r"(stand|get|stood|got|climb|ris)\w* (back )?up\b|gets? to (its|his|her|their) feet",
    "sit down": r"sit(s|ting)?( down)?\b|sat\b|takes? a seat|lowers? (itself|himself|herself) onto",
    "pick up": r"pick(s|ing|ed)? (\w+ ){0,4}up\b|lift(s|ing|ed)? (\w+ ){0,3}(up|off)\b|pick(s|ing|ed)? (a|an|the|something)\b",
    "flip": r"(back|front)?-?flip(s|ping|ped)?\b|cartwheel\w*|somersault\w*|handspring\w*",
    "fall": r"fall(s|ing)?\b|fell\b|collaps\w*|dies?\b|dying\b|death\b|drops? dead|faint(s|ing|ed)?\b|keels? over|tumbl\w*",
    "throw": r"throw(s|ing|n)?\b(?! punch)(?! (a )?(punch|kick))|threw\b|toss\w*|hurl\w*|pitch(es|ing) \w* ?ball|lob(s|bing)?\b",
    "bow": r"bow(s|ing|ed)?\b|curts\w+",
    "crouch": r"crouch\w*|duck(s|ing|ed)\b|squat\w*|kneel\w*|cower\w*",
    "limp": r"limp(s|ing|ed)?\b|hobbl\w*",
    "fly": r"fly(ing)?\b|flies\b|flew\b|flap\w*|soar\w*|glid(e|es|ing)\b|hover\w*",
    "slither": r"slither\w*|wriggl\w*",
    "swim": r"sw[ia]m(s|ming)?\b",
    "attack": r"attack\w*|bit(e|es|ing)\b|headbutt\w*|lung(e|es|ing)\b|claw(s|ing)\b|strik(e|es|ing) with",
    "turn": r"turn(s|ing|ed)? (around|round|about|left|right|to|on the spot|in place)|spin(s|ning)?\b|rotat\w*",
    "walk": r"sneak\w*|tiptoe\w*|stagger\w*|shuffl\w*|trudg\w*|saunter\w*|swagger\w*|march\w*|sidestep\w*|back(s|ing) away",
    "run": r"sprint\w*|gallop\w*|jog(s|ging)?\b",
    "jump": r"jump\w*|leap\w*|hop(s|ping)?\b|pounc\w*|jumping jacks?",
    "punch": r"(throws?|throwing) (a )?punch\w*|punch\w*|box(es|ing)\b|jab(s|bing)?\b|uppercut\w*",
    "kick": r"(throws?|throwing) (a )?kick\w*|kick\w*",
    "wave": r"wav(e|es|ing|ed)\b|says? (hello|goodbye)|greet\w*",
    "dance": r"danc\w*|boogi\w*|groov\w*",
    "eat": r"eat(s|ing)?\b|ate\b|graz\w*|feed(s|ing)?\b|drink\w*|peck\w*",
}
"""Words for each action, as regular expressions."""
_PATTERNS = {action: re.compile(rf"\b({pattern})") for action, pattern in WORDS.items()}
SAME = {
    "wave_hand": "wave", "sit": "sit down", "twist": "dance", "disco": "dance", "hop": "jump", "trot": "run", "canter": "run",
    "gallop": "run", "bound": "run", "pace": "walk", "tripod": "walk", "tetrapod": "walk", "wave": "walk", "stand_up": "get up",
    "get_up": "get up", "sit_down": "sit down", "die": "fall", "death": "fall", "cartwheel": "flip", "sneak": "walk",
}  # fmt: skip
"""Names of motions in captions, and what the judges call them; others are called as they are."""
RECOGNISED_AS = {"limp": "walk"}
"""Actions that the recogniser merges with another."""
_SIDE = re.compile(r"\b(left|right)[- ](hand|arm|foot|leg|fist|paw|hoof|wing)")


class Asked(NamedTuple):
    """What a motion should show."""

    action: str
    side: Side | None = None


def asked_of(prompt: str) -> Asked | None:
    """The first action that a sentence names; None if it names none that can be judged."""
    text = prompt.lower().replace("_", " ")
    named = _SIDE.search(text)
    side: Side | None = None if named is None else "L" if named.group(1) == "left" else "R"
    found = [
        (match.start(), -len(match.group()), action) for action, pattern in _PATTERNS.items() if (match := pattern.search(text))
    ]
    if found:
        return Asked(min(found)[2], side)
    known = action_from_prompt(prompt)
    action = SAME.get(known, known.replace("_", " ")) if known else None
    return None if action is None or (action not in CHECKS and action != "dance") else Asked(action, side)
