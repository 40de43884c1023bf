"""Is a motion what was asked for? Two judges, the recogniser and the action checks, and a verdict that knows the wish.

Nothing that makes or chooses motions may import this (see the import contracts): judges that are optimised for judge nothing.
"""

from dataclasses import dataclass
from typing import Literal

from akd.contact.traces import Trace
from akd.measure.actions import ActionCheck, check_action, check_all
from akd.measure.asked import RECOGNISED_AS, Asked
from akd.measure.body import BodyMotion, body_motion
from akd.measure.evaluation import Evaluation
from akd.measure.leg_order import LegOrder, leg_order
from akd.measure.recognise import NONE, Recognition, load_models, recognise
from akd.motion import Motion, crop
from akd.rig import Rig

WishVerdict = Literal["as_asked", "not_as_asked", "unsure"]
CLEARLY = 0.5
"""The recogniser is sure of another action from this probability on …"""
HARDLY = 0.2
"""… if the asked one has less than this."""
MAX_SECONDS = 60.0
"""Judges look at so much of a motion: no action takes longer."""
SHOWN = {
    "walk": "walking", "run": "running", "jump": "a jump", "kick": "a kick", "punch": "a punch", "throw": "a throw",
    "pick up": "picking something up", "sit down": "sitting down", "get up": "getting up", "flip": "a flip", "fall": "a fall",
    "wave": "waving", "dance": "dancing", "idle": "standing about", "eat": "eating", "attack": "an attack", "swim": "swimming",
    "turn": "turning round", "bow": "a bow", "crouch": "crouching", "limp": "limping", "fly": "flying", "slither": "slithering",
    NONE: "none of the actions it knows",
}  # fmt: skip
"""Actions after "looks like"."""


@dataclass(frozen=True)
class Judgement:
    """What both judges say of a motion."""

    asked: Asked | None
    """What it should show; None if nobody said."""
    looks_like: Recognition | None
    """None for builds that the recogniser has not seen."""
    has_class: bool
    """Does the recogniser know the asked action for this build?"""
    check: ActionCheck | None
    """Of the asked action, where there is one."""
    checks: dict[str, ActionCheck]
    """All checks that this body can be given."""
    order: LegOrder | None = None
    """Of the legs, where a walk or run was asked for and the motion was measured."""

    @property
    def verdict(self) -> WishVerdict | None:
        """None if nothing was asked for."""
        if self.asked is None:
            return None
        if self.order is not None and not self.order.passed:
            return "not_as_asked"  # both judges take all gaits of a kind for one
        named = self._recognised()
        checked = None if self.check is None else self.check.passed
        if named is None and checked is None:
            return "unsure"
        if named in (True, None) and checked in (True, None):
            return "as_asked"
        if checked in (False, None) and (named is None or self._is_another()):
            return "not_as_asked"
        return "unsure"

    def _recognised(self) -> bool | None:
        """Is the asked action the likeliest named one, and is it not clearly none of them? None if the recogniser has no say.

        "None of these" is many actions in one: it is a refusal, and a refusal must be sure.
        """
        if self.asked is None or self.looks_like is None or not self.has_class:
            return None
        found = self.looks_like.probabilities
        likeliest = next(action for action in found if action != NONE)
        return likeliest == self._class() and found.get(NONE, 0.0) < CLEARLY

    def _class(self) -> str:
        assert self.asked is not None
        return RECOGNISED_AS.get(self.asked.action, self.asked.action)

    def _is_another(self) -> bool:
        found = self.looks_like
        return found is not None and found.probability >= CLEARLY and found.probabilities.get(self._class(), 0.0) < HARDLY

    def as_dict(self) -> dict[str, object]:
        """The fields of a result: asked, looks_like, checks (the asked one in full, and which others pass), verdict."""
        checks: dict[str, object] = {} if self.check is None or self.asked is None else {self.asked.action: self.check.as_dict()}
        return {
            "asked": None if self.asked is None else self.asked._asdict(),
            "looks_like": None if self.looks_like is None else self.looks_like.as_dict(),
            "checks": checks | {"others_passed": [action for action in self.passed if action not in checks]},
            "order_of_legs": None if self.order is None else self.order._asdict(),
            "verdict": self.verdict,
        }

    @property
    def passed(self) -> tuple[str, ...]:
        """Actions whose checks the motion passes."""
        return tuple(action for action, check in self.checks.items() if check.passed)

    def short(self) -> str:
        """ "jump (0.92)"; a dash where there is no recogniser for this build."""
        return "–" if self.looks_like is None else f"{self.looks_like.action} ({self.looks_like.probability:.2f})"

    def looks(self) -> str:
        """ "looks like a jump (0.93)", or what the checks found where there is no recogniser."""
        if self.looks_like is not None:
            return self._looks_like(self.looks_like.action)
        return f"does what {' and '.join(self.passed[:3])} needs" if self.passed else "does nothing that can be named"

    def _looks_like(self, action: str) -> str:
        assert self.looks_like is not None
        return f"looks like {SHOWN[action]} ({self.looks_like.probabilities[action]:.2f})"

    def sentence(self, quality: str) -> str:
        """The last line of a run: whether it is what was asked for, then how good it is (``quality``: a verdict's sentence)."""
        if self.asked is None:
            return quality
        word, _, rest = quality.partition(": ")
        if self.verdict == "as_asked":
            shown = self._looks_like(self._class()) if self.has_class else f"does what {SHOWN[self.asked.action]} needs"
            return f"{word}: {shown}, as asked; {rest}"
        if self.verdict == "not_as_asked":
            disorder = self.order.sentence() if self.order is not None and not self.order.passed else None
            if self.looks_like is None:
                return f"Not as asked: {disorder or self._failure()}."
            return f"Not as asked: {self.looks()}{f', but {disorder}' if disorder else ''}."
        return f"Unsure: {self.looks()}, asked for {SHOWN[self.asked.action]}{self._doubt()}; {word.lower()}: {rest}"

    def _failure(self) -> str:
        assert self.check is not None
        name = self.check.failures[0]
        return f"{name.replace('_', ' ')} is {self.check.values[name]:.2f}"

    def _doubt(self) -> str:
        if self.check is None:
            return ""
        if self.check.passed:
            return ", whose check it passes"
        name = self.check.failures[0]
        return f", whose check it fails ({name.replace('_', ' ')} {self.check.values[name]:.2f})"


def judge(
    rig: Rig, motion: Motion, asked: Asked | None = None, measured: Evaluation | None = None, traced: Trace | None = None
) -> Judgement:
    """Both judges on a motion, or its first minute; with what was ``measured`` of it, the order of its legs counts, too."""
    if motion.duration > MAX_SECONDS:
        motion, traced = crop(motion, 0, MAX_SECONDS), None
    return judge_body(body_motion(rig, motion, traced), asked, measured)


def judge_body(body: BodyMotion, asked: Asked | None = None, measured: Evaluation | None = None) -> Judgement:
    """``judge`` for a motion that was already read."""
    model = load_models().get(body.build)
    has_class = asked is not None and model is not None and RECOGNISED_AS.get(asked.action, asked.action) in model.classes
    check = None if asked is None else check_action(body, asked.action, side=asked.side)
    order = None if asked is None or measured is None else leg_order(body.build, measured.gait, measured.alternation, asked)
    return Judgement(asked, recognise(body), has_class, check, check_all(body), order)
