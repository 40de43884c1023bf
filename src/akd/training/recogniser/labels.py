"""Which class of the recogniser a clip of the motion data shows.

Captures are named by what the person does, artists' clips by an action and the clip's own name. What one class cannot be told
from by motion alone is merged with it; what is neither clearly one nor clearly another is left out (None).
"""

import re

from akd.measure.body import Build
from akd.measure.recognise import NONE

WALKS = (
    "walk",
    "walk_backward",
    "sidestep",
    "march",
    "sneak",
    "limp",
    "zombie",
    "drunk_walk",
    "sad_walk",
    "happy_walk",
    "swagger_walk",
    "old_walk",
    "tiptoe",
)
TWO_LEGGED: dict[str, tuple[str, ...]] = {
    "walk": WALKS,
    "run": ("run",),
    "jump": ("jump", "hop", "jumping_jacks"),
    "kick": ("kick",),
    "punch": ("punch",),
    "throw": ("throw",),
    "pick up": ("pick_up",),
    "sit down": ("sit_down", "sit"),
    "get up": ("stand_up", "get_up"),
    "flip": ("flip", "cartwheel", "handstand", "roll"),
    "fall": ("fall", "lie_down", "death"),
    "wave": ("wave",),
    "dance": ("dance",),
    "idle": ("idle",),
}
"""Classes of people and other two-legged bodies, and the labels they merge."""
FOUR_LEGGED: dict[str, tuple[str, ...]] = {
    "walk": ("walk", "sneak"),
    "run": ("run", "gallop", "trot"),
    "jump": ("jump",),
    "eat": ("eat",),
    "idle": ("idle", "look"),
    "attack": ("attack", "bite", "headbutt", "kick"),
    "fall": ("death", "fall"),
}
CLASSES: dict[Build, dict[str, tuple[str, ...]]] = {"two-legged": TWO_LEGGED, "four-legged": FOUR_LEGGED}
LEFT_OUT = {"turn", "climb_stairs", "carry", "martial_arts", "look_around", "rest_pose", "sleep", "howl", "other", None}
"""Labels that hold walks or stand-stills beside what they are named after."""
PARTS = re.compile(r"(^|[_\- ])(start|land|idlea?|enter|exit|loop|end)$")
"""Clips of a game's jump that show a part of it only."""
STILL = re.compile(r"idle|talking|stand$|_tpose")
"""Standing or sitting about with something in the hand."""


def class_of(build: Build, label: str | None, *, clip: str = "", beside: tuple[str, ...] = ()) -> str | None:
    """The class of a clip, ``NONE``, or None where it is left out.

    ``clip`` is its name, ``beside`` are the names of all clips of its file.
    """
    if label in LEFT_OUT or build not in CLASSES:
        return None
    name, others = clip.split("|")[-1].lower(), tuple(other.split("|")[-1].lower() for other in beside)
    if clip and not _is_whole(label or "", name, others):
        return None
    return next((found for found, labels in CLASSES[build].items() if label in labels), NONE)


def _is_whole(label: str, name: str, others: tuple[str, ...]) -> bool:
    """Does an artist's clip show all of the action that it is labelled with, and nothing else?"""
    if label == "jump":
        in_parts = any(other.startswith("jump") and PARTS.search(other) for other in others)
        return not PARTS.search(name) and not (in_parts and name == "jump")
    if label == "sit":
        return not STILL.search(name)
    if label == "pick_up":
        return "pick" in name
    if label == "roll":
        return name == "roll"
    if label == "idle":
        return "spawn" not in name
    if label == "fall":
        return not name.startswith("fall")
    return not (label in ("shoot", "sword", "carry", "attack", "fly") and STILL.search(name))
