"""Did a motion become what was asked for? One test for walks and runs, the same for everybody's motions."""

from typing import Literal, NamedTuple

from akd.measure.evaluation import Evaluation, evaluate
from akd.rig import Rig

TaskName = Literal["walk", "run"]
AMPLITUDE = 0.1
"""Every foot swings at least this far fore and aft of its middle [ℓ]."""
ALTERNATION = 0.8
"""Left and right of every pair of a walk are at least this far from going together."""
DUTY = 0.5
"""A walk's feet are on the ground for more than this share of the time, a run's for less."""
HEADING = 0.9
"""It goes where it faces: least cosine."""
FLOAT = 0.03
"""A walk's lowest point is at most this high on average [ℓ]."""
SKATING = 0.2
"""Largest share of foot contact that skates."""
DEPTH = 0.02
"""No vertex is ever deeper in the ground [ℓ]."""
JERKS = 2.0
"""Jerk may be so many times that of our own gait on the same body."""


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


def success(measured: Evaluation, wish: TaskName, own_jerk: float | None) -> Success:
    """Is a motion a good walk or run? What cannot be measured is not met. ``own_jerk``: see ``gait_jerk``."""
    e, walk = measured, wish == "walk"
    speed = e.treadmill_speed or e.travel
    amplitude = min(e.amplitudes) if e.amplitudes else None
    alternation = min(e.alternation) if e.alternation else None
    checks = [
        Check("amplitude", amplitude, _least(amplitude, AMPLITUDE)),
        Check("duty", e.duty_factor, e.duty_factor is not None and (e.duty_factor > DUTY if walk else e.duty_factor < DUTY)),
        Check("heading", e.heading, _least(e.heading, HEADING)),
        Check("travel", speed, speed > 0),
        Check("skating", e.skating_ratio, _most(e.skating_ratio, SKATING)),
        Check("penetration", e.penetration_max, _most(e.penetration_max, DEPTH)),
        Check("jerk", e.jerk, own_jerk is None or _most(e.jerk, JERKS * own_jerk)),
    ]
    if walk:
        checks += [
            Check("alternation", alternation, _least(alternation, ALTERNATION)),
            Check("float", e.float_height, _most(e.float_height, FLOAT)),
        ]
    return Success(tuple(checks))


def gait_jerk(rig: Rig, wish: TaskName, fps: float) -> float | None:
    """Jerk of our own gait on this body [ℓ/s³]; None where the body cannot go that way."""
    from akd.creatures.gaits import gait_motion
    from akd.errors import AkdError

    try:
        motion = gait_motion(rig, wish, seed=None, fps=fps, cycles=2)
    except AkdError:
        return None
    return evaluate(rig, motion, from_file=False).jerk


def _least(value: float | None, limit: float) -> bool:
    return value is not None and value >= limit


def _most(value: float | None, limit: float) -> bool:
    return value is not None and value <= limit
