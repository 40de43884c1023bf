"""Action checks: does a motion do what an action needs, from kinematics alone? One pure function each, nothing is trained.

A check measures a few quantities of a ``BodyMotion`` and compares each with its limit (``LIMITS``). Limits were calibrated on the
training part of the captures (``python -m experiments.judges checks``): at least 90 % of real clips of an action should pass, at
most 10 % of others; docs/judges.md has both rates and says where that is missed. Lengths are leg lengths ℓ, speeds are in
ℓ per √(ℓ/g) (for a person 3 m/s), times in √(ℓ/g) (0.3 s), so that bodies of all sizes are judged alike. There is no check of
dancing: what makes a movement a dance is no quantity of this kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from akd.measure import action_values as measured
from akd.measure.action_values import Side, Values
from akd.measure.body import BodyMotion


class Limit(NamedTuple):
    """What one quantity must be."""

    least: float = -np.inf
    most: float = np.inf

    def holds(self, value: float) -> bool:
        return bool(self.least <= value <= self.most)

    def __str__(self) -> str:
        if np.isfinite(self.least) and np.isfinite(self.most):
            return f"{self.least:g} to {self.most:g}"
        return f"≥ {self.least:g}" if self.most == np.inf else f"≤ {self.most:g}"


@dataclass(frozen=True)
class ActionCheck:
    """What was measured of one action."""

    action: str
    values: Values
    failures: tuple[str, ...]
    """Names of the quantities that are beyond their limits."""

    @property
    def passed(self) -> bool:
        return not self.failures

    def as_dict(self) -> dict[str, object]:
        limits = {name: str(LIMITS[self.action][name]) for name in self.values}
        rounded = {name: round(value, 3) for name, value in self.values.items()}
        return {"passed": self.passed, "measured": rounded, "limits": limits, "failures": list(self.failures)}

    def sentence(self) -> str:
        """What was measured, in one line."""
        shown = ", ".join(
            f"{name.replace('_', ' ')} {value:.2f} ({LIMITS[self.action][name]})" for name, value in self.values.items()
        )
        return f"{self.action}: {'yes' if self.passed else 'no'}; {shown}"


def check_action(body: BodyMotion, action: str, *, side: Side | None = None) -> ActionCheck | None:
    """One check; None where there is none for this action and build. ``side``: the hand or foot that was asked for."""
    function = CHECKS.get(action)
    values = None if function is None or body.frame_count < 4 else function(body, side)
    if values is None:
        return None
    values = {name: float(value) for name, value in values.items()}
    limits = LIMITS[action]
    return ActionCheck(action, values, tuple(name for name, value in values.items() if not limits[name].holds(value)))


def check_all(body: BodyMotion) -> dict[str, ActionCheck]:
    """Every check that this body can be given."""
    found = {action: check_action(body, action) for action in CHECKS}
    return {action: check for action, check in found.items() if check is not None}


CHECKS: dict[str, Callable[[BodyMotion, Side | None], Values | None]] = {
    "walk": measured.walk,
    "run": measured.run,
    "jump": measured.jump,
    "kick": measured.kick,
    "punch": measured.punch,
    "throw": measured.throw,
    "pick up": measured.pick_up,
    "sit down": measured.sit_down,
    "get up": measured.stand_up,
    "flip": measured.flip,
    "fall": measured.fall,
    "wave": measured.wave,
    "idle": measured.idle,
    "turn": measured.turn,
    "bow": measured.bow,
    "crouch": measured.crouch,
    "limp": measured.limp,
    "eat": measured.eat,
    "attack": measured.attack,
    "fly": measured.fly,
    "swim": measured.slither,
    "slither": measured.slither,
}
"""The check of every action."""
WAVE_LIMITS = {"sway": Limit(0.05), "wave": Limit(0.15), "steadiness": Limit(0.6)}
LIMITS: dict[str, dict[str, Limit]] = {
    "walk": {"alternation": Limit(0.45), "aloft": Limit(most=0.25), "pace": Limit(0.1, 1.1), "upright": Limit(0.3)},
    "run": {"alternation": Limit(0.5), "duty": Limit(most=0.5), "pace": Limit(0.5), "upright": Limit(0.3)},
    "jump": {"clearance": Limit(0.09), "flight": Limit(0.5), "rise": Limit(0.12)},
    "kick": {"reach": Limit(0.42), "speed": Limit(1.2), "support": Limit(most=0.9), "returns": Limit(most=0.3)},
    "punch": {"ahead": Limit(0.65), "speed": Limit(0.95), "back": Limit(0.22), "travel": Limit(most=0.2)},
    "throw": {
        "speed": Limit(1.2), "swing": Limit(0.5), "top": Limit(-0.25), "ends": Limit(most=0.15), "other_hand": Limit(most=1.0),
        "travel": Limit(most=0.25), "upright": Limit(0.5),
    },
    "pick up": {
        "lowest": Limit(most=0.5), "start": Limit(0.75), "back": Limit(0.3), "pelvis": Limit(0.75), "upright": Limit(-0.15),
        "clearance": Limit(most=0.12),
    },
    "sit down": {"drop": Limit(0.3), "stays": Limit(most=0.15), "tilt": Limit(most=55)},
    "get up": {"rise": Limit(0.28), "height": Limit(0.75), "tilt": Limit(most=35)},
    "flip": {"upright": Limit(most=-0.6)},
    "fall": {"lying": Limit(1.0), "drop": Limit(0.3)},
    "wave": {"raised": Limit(0.25), "reversals": Limit(3), "other_hand": Limit(most=0.7), "steps": Limit(most=0.5)},
    "idle": {"speed": Limit(most=0.38), "sway": Limit(most=0.2), "travel": Limit(most=0.05)},
    "turn": {"yaw": Limit(60), "upright": Limit(0.5)},
    "bow": {"pitch": Limit(35), "returns": Limit(0.6), "steps": Limit(most=0.65), "drop": Limit(most=0.25)},
    "crouch": {
        "drop": Limit(0.25), "lowest": Limit(0.15), "aloft": Limit(most=0.15), "tilt": Limit(most=75), "upright": Limit(0.3),
    },
    "limp": {"unevenness": Limit(0.35), "pace": Limit(0.1, 0.8), "alternation": Limit(0.3), "aloft": Limit(most=0.4)},
    "eat": {"head": Limit(most=0.7), "share": Limit(0.15), "steps": Limit(most=0.3), "body": Limit(0.7)},
    "attack": {"speed": Limit(0.95), "stays": Limit(most=0.3), "ends_up": Limit(0.75), "burst": Limit(1.5)},
    "fly": {"beat": Limit(0.3), "together": Limit(0.5), "rate": Limit(0.1), "strides": Limit(most=0.3)},
    "swim": WAVE_LIMITS,
    "slither": WAVE_LIMITS,
}  # fmt: skip
"""What each quantity must be; see the module's docstring for units and calibration."""
