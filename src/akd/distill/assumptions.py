"""What a candidate assumes of a motion that no gradient can find: once or again and again, which limbs together, what carries it.

A run begins with a few candidates of different structure and lets the prior decide between them (``candidates``). Which ones
are begun follows from the body alone. What a sentence seems to ask for may put one first; it never leaves one out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from akd.gait.timing import GALLOPING_LEGS
from akd.rig import Rig

Symmetry = Literal["none", "in phase", "antiphase"]
Support = Literal["feet", "any skin", "none"]
CandidateName = Literal["once", "staying", "in phase", "antiphase", "carried", "aloft"]
DRAW = 0.06
"""Alternatives whose errors differ by less are in a draw, which the sentence decides: about twice the standard deviation of
such a difference between two motions of a dog over other noise and views (.027 with three views; docs/log.md)."""
MIN_AXIS_JOINTS = 5
"""A body without legs needs so many joints in a row for a wave to carry it."""


@dataclass(frozen=True)
class Assumptions:
    """The structure of one candidate."""

    cycle: bool
    """It repeats itself; otherwise it happens once."""
    symmetry: Symmetry
    """The right side copies the left one at the same time or half a cycle later, or each side goes its own way."""
    travels: bool
    """It gets on at a steady speed; otherwise it stays about where it is."""
    support: Support
    """What may carry the body: its feet, any part of its skin that is low and slow, or nothing it touches."""

    @property
    def is_gait(self) -> bool:
        """A travelling cycle on legs: only to such a motion does what is known of gaits apply."""
        return self.cycle and self.travels and self.support == "feet" and self.symmetry != "none"

    @property
    def phase_offset(self) -> float:
        """Share of a cycle by which the right side follows the left one."""
        return 0.0 if self.symmetry == "in phase" else 0.5


CANDIDATES: dict[CandidateName, Assumptions] = {
    "in phase": Assumptions(cycle=True, symmetry="in phase", travels=True, support="feet"),
    "antiphase": Assumptions(cycle=True, symmetry="antiphase", travels=True, support="feet"),
    "staying": Assumptions(cycle=True, symmetry="none", travels=False, support="feet"),
    "once": Assumptions(cycle=False, symmetry="none", travels=False, support="any skin"),
    "carried": Assumptions(cycle=True, symmetry="none", travels=True, support="any skin"),
    "aloft": Assumptions(cycle=True, symmetry="in phase", travels=True, support="none"),
}
"""Every kind of candidate: two gaits, a cycle in place, a motion that happens once, a body on its belly that is carried by
its own wave, and one that flies or swims."""
EXPECTED: dict[str, CandidateName] = {
    "walk": "antiphase", "run": "antiphase", "trot": "antiphase", "pace": "antiphase", "gallop": "in phase", "canter": "in phase",
    "bound": "in phase", "hop": "in phase", "wave": "staying", "dance": "staying", "clap": "staying", "eat": "staying",
    "punch": "staying", "idle": "staying", "nod": "staying", "jump": "once", "kick": "once", "throw": "once", "sit_down": "once",
    "stand_up": "once", "get_up": "once", "fall": "once", "death": "once", "bow": "once", "turn": "once", "crouch": "once",
    "pick_up": "once", "attack": "once", "lie_down": "once", "fly": "aloft", "swim": "aloft", "slither": "carried",
}  # fmt: skip
"""Which candidate an action's name suggests. It only comes first: the one that is shown on the way, and kept in a draw."""


def candidates_for(
    rig: Rig, chosen: Iterable[CandidateName], *, loop: bool = False, expected: str = ""
) -> dict[CandidateName, Assumptions]:
    """The candidates that are begun on this body, of those that a recipe has chosen, in the order of what is ``expected``.

    ``loop``: the user asked for whole cycles, so nothing happens only once.
    """
    chosen = tuple(chosen)
    fitting = [name for name in chosen if _suits(rig, name) and not (loop and not CANDIDATES[name].cycle)]
    begun = fitting or [name for name in chosen if not loop or CANDIDATES[name].cycle] or ["staying"]
    first = EXPECTED.get(expected)
    return {name: CANDIDATES[name] for name in sorted(begun, key=lambda name: name != first)}


def _suits(rig: Rig, name: CandidateName) -> bool:
    """Can this body move so at all? By its limbs alone."""
    legs, sides = has_feet(rig), rig.skeleton.mirror.tolist() != list(range(rig.skeleton.joint_count))
    if name == "in phase":  # pairs of more legs alternate at every speed (Hughes 1952, Wilson 1966)
        return legs and sides and len(rig.legs) <= GALLOPING_LEGS
    if name == "antiphase":
        return legs and sides
    if name == "carried":
        return not legs and len(body_axis(rig)) >= MIN_AXIS_JOINTS
    if name == "aloft":
        return not legs or bool(rig.skeleton.limbs_of("wing"))
    return True


def has_feet(rig: Rig) -> bool:
    """Has it feet to stand on?"""
    return any(len(sole) for sole in rig.soles)


def body_axis(rig: Rig) -> list[int]:
    """The joints in the middle of the body, from its hind end to its head."""
    skeleton = rig.skeleton
    middle = np.flatnonzero(skeleton.mirror == np.arange(skeleton.joint_count))
    return middle[np.argsort(skeleton.positions[middle, 0], kind="stable")].tolist()
