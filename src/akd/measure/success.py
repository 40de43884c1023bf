"""Is a motion a good walk or run? One test for generated, simulated and artists' motions alike."""

from typing import Literal, NamedTuple

from akd.creatures.gaits import gait_motion
from akd.errors import AkdError
from akd.measure.evaluation import Evaluation, evaluate
from akd.rig import Rig

TaskName = Literal["walk", "run"]
MIN_AMPLITUDE = 0.1
"""Least half swing of every foot, fore and aft [ℓ]."""
MIN_ALTERNATION = 0.8
"""Least alternation of every left/right pair of a walk; 1 is antiphase."""
WALK_DUTY_FACTOR = 0.5
"""A walk's duty factor is above this, a run's below."""
MIN_HEADING = 0.9
"""Least cosine between the root's velocity and the body's forward direction."""
MAX_FLOAT = 0.03
"""Largest mean height of a walk's lowest point [ℓ]."""
MAX_SKATING = 0.2
"""Largest share of foot contact that skates."""
MAX_DEPTH = 0.02
"""Largest depth of any vertex in the ground [ℓ]."""
MAX_JERK_RATIO = 2.0
"""Largest jerk, relative to our own gait on the same body."""


class Check(NamedTuple):
    """One condition."""

    name: str
    value: float | None
    passed: bool


class Success(NamedTuple):
    """All conditions."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[str, ...]:
        """Names of the conditions that are not met."""
        return tuple(check.name for check in self.checks if not check.passed)


def success(measured: Evaluation, task: TaskName, own_jerk: float | None) -> Success:
    """Check a motion as a walk or a run; what cannot be measured fails. ``own_jerk``: see ``gait_jerk``."""
    e, walk = measured, task == "walk"
    speed, duty = e.treadmill_speed or e.travel, e.duty_factor
    amplitude = min(e.amplitudes) if e.amplitudes else None
    alternation = min(e.alternation) if e.alternation else None
    checks = [
        Check("amplitude", amplitude, _at_least(amplitude, MIN_AMPLITUDE)),
        Check("duty", duty, duty is not None and (duty > WALK_DUTY_FACTOR if walk else duty < WALK_DUTY_FACTOR)),
        Check("heading", e.heading, _at_least(e.heading, MIN_HEADING)),
        Check("travel", speed, speed > 0),
        Check("skating", e.skating_ratio, _at_most(e.skating_ratio, MAX_SKATING)),
        Check("penetration", e.penetration_max, _at_most(e.penetration_max, MAX_DEPTH)),
        Check("jerk", e.jerk, own_jerk is None or _at_most(e.jerk, MAX_JERK_RATIO * own_jerk)),
    ]
    if walk:
        checks += [
            Check("alternation", alternation, _at_least(alternation, MIN_ALTERNATION)),
            Check("float", e.float_height, _at_most(e.float_height, MAX_FLOAT)),
        ]
    return Success(tuple(checks))


def gait_jerk(rig: Rig, task: TaskName, fps: float) -> float | None:
    """Jerk of our own gait on this body [ℓ/s³]; None where the body has no such gait."""
    try:
        motion = gait_motion(rig, task, seed=None, fps=fps, cycles=2)
    except AkdError:
        return None
    return evaluate(rig, motion, from_file=False).jerk


def _at_least(value: float | None, limit: float) -> bool:
    return value is not None and value >= limit


def _at_most(value: float | None, limit: float) -> bool:
    return value is not None and value <= limit
