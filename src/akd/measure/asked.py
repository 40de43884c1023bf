"""What a sentence asks for, in the words of the judges: an action, the side if it names a hand or foot, the gait if it names one.

Sentences are read by ``creatures.wish``; here its actions are only given the names that the judges use.
"""

from typing import NamedTuple

from akd.creatures.action_list import ACTION_LIST
from akd.creatures.wish import Wish, read_wish
from akd.measure.actions import CHECKS, Side

JUDGED_AS = {
    "stand_up": "get up", "get_up": "get up", "sit_down": "sit down", "pick_up": "pick up", "death": "fall", "cartwheel": "flip",
    "hop": "jump", "jumping_jacks": "jump", "trot": "run", "canter": "run", "gallop": "run", "bound": "run", "pace": "walk",
    "march": "walk", "sneak": "walk", "tiptoe": "walk", "walk_backward": "walk", "sidestep": "walk", "twist": "dance",
    "disco": "dance", "bite": "attack", "headbutt": "attack", "drink": "eat", "duck": "crouch",
}  # fmt: skip
"""Actions of ``ACTION_LIST`` that the judges call by another name; manners of walking are walks, others keep their name."""
UPRIGHT = ("human", "child", "astronaut", "robot")
"""Plans on two legs, who go on hands and knees when they crawl; all others walk."""
RECOGNISED_AS = {"limp": "walk"}
"""Actions that the recogniser merges with another."""
NAMED_GAITS = ("walk", "trot", "pace", "canter", "gallop", "bound")
"""Gaits that are asked for by name, each with an order of legs of its own."""
_SIDES: dict[str, Side | None] = {"left": "L", "right": "R"}


class Asked(NamedTuple):
    """What a motion should show."""

    action: str
    side: Side | None = None
    gait: str = ""
    """The gait, where the sentence names one and not only its kind."""


def asked_of(prompt: str) -> Asked | None:
    """What a sentence asks for first; None if that is nothing that can be judged."""
    return asked_by(read_wish(prompt))


def asked_by(wish: Wish) -> Asked | None:
    """The same for a sentence that was read."""
    name = wish.action
    if name == "crawl" and wish.plan not in UPRIGHT:
        name = "walk"
    known = ACTION_LIST.get(name)
    action = JUDGED_AS.get(name, (known.of if known else "") or name)
    if action not in CHECKS and action != "dance":
        return None
    return Asked(action, _SIDES.get(wish.side), wish.action if wish.action in NAMED_GAITS else "")
