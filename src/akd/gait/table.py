"""The gaits and their parameters on one body: touch-down phases, duty factor, speed, stride, style.

Phases are the time of touch-down as a share of the stride, for legs ordered front to hind, left before right (LF, RF, LH, RH).
Speeds are Froude numbers v²/(gℓ), so that a mouse and an elephant walk alike: animals change from walk to run near 0.5
(Alexander & Jayes 1983). Amplitudes are in leg lengths and radians for a typical animal.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from akd.character.limb_model import Foot, LimbModel
from akd.errors import AkdError
from akd.rig import GRAVITY

_MANY = {"sway": 0.0, "width": 1.0, "heel_rise": 0.0, "nod": 0.01, "tail": 0.1, "crouch": 0.0}
PLAIN_WORDS = {
    "walk": {6: "tripod", 8: "tetrapod"},
    "run": {4: "gallop", 6: "tripod", 8: "tetrapod"},
    "hop": {4: "bound"},
    "gallop": {2: "run"},
}
"""What everyday words mean on bodies for which the gait of that name does not exist."""
MIN_LEG_METRES = 0.12
"""Shorter legs step as if they were this long [m]: a beetle's own rhythm is too quick for a film camera."""
MAX_SINK = 0.12
"""Strides are shortened where the body would otherwise sink further than this [ℓ]."""
STIFF_SWING = 0.3
"""A leg without a knee swings this far to both sides, as a share of its length: further, and the body would bob wildly."""
MIN_HALF_STANCE = 0.1
"""Half of the way of a stance foot under the body is at least this [ℓ]: less does not look like walking."""
MIN_PERIOD = 0.12
"""Shortest stride period [s]."""


@dataclass(frozen=True)
class Gait:
    """One gait of a typical animal."""

    name: str
    phases: dict[int, tuple[float, ...]]
    """Touch-down phases by number of legs."""
    duty: float
    """Share of the stride for which a foot is down."""
    froude: float
    """Typical v²/(gℓ)."""
    bounce: float
    """Rise of the body: above zero it vaults over stiff legs (highest at mid-stance), below zero it bounces (lowest there);
    1 is what gravity gives."""
    clearance: float
    """How high feet are lifted [ℓ]."""
    crouch: float = 0.02
    """How far the body is carried below its rest height [ℓ]."""
    stride: float = 1.0
    """Stride length relative to what the speed suggests."""
    width: float = 0.8
    """Distance of the feet from the middle line relative to rest."""
    sway: float = 0.0
    """Body's shift toward the standing leg [ℓ]."""
    roll: float = 0.0
    """Drop of the hip on the swinging side [rad]."""
    twist: float = 0.0
    """Turn of hips and shoulders with the leg that reaches forward [rad]."""
    flex: float = 0.0
    """Arching and stretching of the back [rad]."""
    lean: float = 0.0
    """Forward lean of an upright trunk [rad]."""
    arm_swing: float = 0.3
    elbow: float = 0.3
    nod: float = 0.04
    """Nodding of neck and head [rad]."""
    tail: float = 0.25
    """Swing of the whole tail [rad]."""
    heel_rise: float = 0.45
    """Tilt of the foot when it leaves the ground [rad]."""
    strike: float = 0.0
    """Toes up at landing [rad]: people walk heel first."""


def _checkered(count: int) -> tuple[float, ...]:
    """Each leg opposite to its neighbours beside, before and behind it."""
    return tuple(0.5 * ((leg // 2 + leg) % 2) for leg in range(count))


def _wave(count: int) -> tuple[float, ...]:
    """One leg after the other from hind to front, the sides half a stride apart."""
    pairs = count // 2
    return tuple(((pairs - 1 - leg // 2) / count + 0.5 * (leg % 2)) % 1.0 for leg in range(count))


GAITS: dict[str, Gait] = {
    gait.name: gait
    for gait in (
        Gait("walk", {2: (0.0, 0.5), 4: (0.0, 0.5, 0.75, 0.25)}, duty=0.64, froude=0.18, bounce=0.75, clearance=0.13, sway=0.03,
             roll=0.05, twist=0.08, strike=0.2),
        Gait("trot", {4: (0.0, 0.5, 0.5, 0.0)}, duty=0.38, froude=0.6, bounce=-0.8, clearance=0.18, crouch=0.04, sway=0.005,
             roll=0.015, twist=0.03, heel_rise=0.6, tail=0.18),
        Gait("pace", {4: (0.0, 0.5, 0.0, 0.5)}, duty=0.39, froude=0.6, bounce=-0.7, clearance=0.17, crouch=0.04, sway=0.03,
             roll=0.05, twist=0.03, heel_rise=0.6),
        Gait("canter", {4: (0.0, 0.67, 0.67, 0.33)}, duty=0.34, froude=1.2, bounce=-0.5, clearance=0.2, crouch=0.04, flex=0.1,
             heel_rise=0.7, nod=0.08, tail=0.2),
        Gait("gallop", {4: (0.0, 0.1, 0.5, 0.6)}, duty=0.27, froude=2.2, bounce=-0.55, clearance=0.24, crouch=0.06, flex=0.22,
             heel_rise=0.8, nod=0.06, tail=0.25),
        Gait("bound", {4: (0.0, 0.0, 0.5, 0.5)}, duty=0.3, froude=1.4, bounce=-0.6, clearance=0.24, crouch=0.06, flex=0.25,
             heel_rise=0.8, nod=0.05, tail=0.25),
        Gait("run", {2: (0.0, 0.5)}, duty=0.33, froude=1.1, bounce=-0.9, clearance=0.28, crouch=0.06, width=0.7, sway=0.01,
             roll=0.04, twist=0.12, lean=0.14, arm_swing=0.6, elbow=1.5, heel_rise=0.9),
        Gait("hop", {2: (0.0, 0.0)}, duty=0.31, froude=0.12, stride=0.55, bounce=-1.0, clearance=0.17, crouch=0.07, lean=0.1,
             arm_swing=0.3, elbow=0.9, heel_rise=0.5),
        Gait("tripod", {6: _checkered(6)}, duty=0.55, froude=0.3, bounce=0.2, clearance=0.2, roll=0.02, twist=0.04, **_MANY),
        Gait("tetrapod", {8: _checkered(8)}, duty=0.55, froude=0.3, bounce=0.2, clearance=0.2, roll=0.02, twist=0.03, **_MANY),
        Gait("wave", {count: _wave(count) for count in (6, 8)}, duty=0.78, froude=0.08, bounce=0.1, clearance=0.18, roll=0.01,
             twist=0.04, **_MANY),
    )
}  # fmt: skip


def gait_for(name: str, legs: int) -> Gait:
    """The gait of this name, or what the word means on so many legs."""
    word = PLAIN_WORDS.get(name, {}).get(legs, name)
    gait = GAITS.get(word)
    if gait is None:
        raise AkdError(f"There is no gait {name!r}; choose one of {', '.join(GAITS)}.")
    if legs not in gait.phases:
        possible = [known.name for known in GAITS.values() if legs in known.phases]
        cure = f"on {legs} legs choose {' or '.join(possible)}" if possible else "no gait is known for that number of legs"
        raise AkdError(f"A body with {legs} legs cannot {name}: {cure}.")
    return gait


@dataclass(frozen=True)
class Style:
    """Amplitudes of an individual relative to the typical; 1 everywhere is typical."""

    bounce: float = 1.0
    lift: float = 1.0
    """Height of the steps."""
    sway: float = 1.0
    """Sway, roll and twist of the body."""
    flex: float = 1.0
    """Arching of the back."""
    arms: float = 1.0
    nod: float = 1.0
    tail: float = 1.0
    crouch: float = 1.0

    @classmethod
    def random(cls, rng: np.random.Generator) -> "Style":
        """An individual style, within what still looks natural."""
        spread = {"bounce": 0.2, "lift": 0.15, "sway": 0.3, "flex": 0.2, "arms": 0.25, "nod": 0.4, "tail": 0.4, "crouch": 0.3}
        return cls(**{name: float(np.exp(rng.uniform(-width, width))) for name, width in spread.items()})


@dataclass(frozen=True, eq=False)
class GaitParameters:
    """A gait with all its numbers."""

    gait: Gait
    phases: Float[np.ndarray, " foot"]
    duty: float
    period: float
    """Seconds per stride."""
    speed: float
    """[ℓ/s]"""
    turn: float = 0.0
    """Turning to the left [rad/s]."""
    style: Style = field(default_factory=Style)

    @property
    def middle(self) -> Float[np.ndarray, " foot"]:
        """Phase of mid-stance of each foot."""
        return self.phases + self.duty / 2

    def in_time(self, period: float) -> "GaitParameters":
        """The same strides, equally long and turning equally far, at another period [s]."""
        ratio = self.period / period
        return replace(self, period=period, speed=self.speed * ratio, turn=self.turn * ratio)


def choose_parameters(
    model: LimbModel,
    gait: Gait,
    *,
    seed: int | None,
    speed: float | None,
    length: float | None,
    duty: float | None,
    turn: float,
    style: Style | None,
) -> GaitParameters:
    """Parameters for what the user left open.

    Animals of all sizes that are dynamically similar take strides of 2.4 Fr^0.34 leg lengths (Alexander & Jayes 1983).
    """
    rng = np.random.default_rng(seed)
    jitter = np.exp(rng.uniform(-1, 1, 3) * (0.15, 0.06, 0.06)) if seed is not None else np.ones(3)
    style = style or (Style.random(rng) if seed is not None else Style())
    duty = _checked_duty(gait.duty * jitter[2] if duty is None else duty, gait, given=duty is not None)
    gravity = min(model.gravity, GRAVITY / MIN_LEG_METRES)
    fast = float(np.sqrt(gait.froude * gravity) * jitter[0]) if speed is None else speed
    if fast <= 0:
        raise AkdError(f"Speed must be positive, not {fast} ℓ/s; to stand still ask for 'idle'.")
    natural = 2.4 * (fast**2 / gravity) ** 0.34 * gait.stride * jitter[1] if length is None else length
    reachable = longest_stride(model, gait, duty)
    period = natural / fast
    if natural > reachable:
        # A short-legged body keeps its rhythm and goes slower; if told how fast to go, it steps more often.
        natural, fast, period = reachable, *((reachable / period, period) if speed is None else (fast, reachable / fast))
    if period < MIN_PERIOD:
        raise AkdError(
            f"At {fast:.1f} ℓ/s these legs would take a step every {period:.2f} s: go slower than {natural / MIN_PERIOD:.1f} ℓ/s."
        )
    return GaitParameters(gait, np.array(gait.phases[len(model.feet)]), duty, period, fast, turn, style)


def longest_stride(model: LimbModel, gait: Gait, duty: float) -> float:
    """The stride for which the legs still reach the ground at both ends of stance, and do not step on one another [ℓ]."""
    phases = gait.phases[len(model.feet)]
    half = [_half_stance(model, foot, gait) for foot in model.feet]
    half += [_half_between(model, i, j, phases) for i in range(len(phases)) for j in range(i)]
    return 2 * max(min(half), MIN_HALF_STANCE) / duty


def _half_stance(model: LimbModel, foot: Foot, gait: Gait) -> float:
    """How far before and behind its place at rest a foot can stand."""
    rest, leg = model.skeleton.positions, foot.leg
    away = (foot.centre if len(leg.chain) == 1 else rest[leg.foot]) - rest[leg.hip]
    height = max(-away[1] - MAX_SINK - gait.crouch, 0.0)
    if leg.is_stiff:
        return STIFF_SWING * leg.longest
    half = np.sqrt(max(leg.longest**2 - height**2 - away[2] ** 2, 0.0)) - 0.7 * abs(away[0])
    return float(min(half, 0.6 * abs(away[2]) + 0.1) if leg.sprawls else half)


def _half_between(model: LimbModel, i: int, j: int, phases: tuple[float, ...]) -> float:
    """The same, so that two feet of one side swing apart and together without meeting.

    Two feet that swing by ±a with a phase between them come nearer than at rest by 2a sin πΔφ. Gallops and bounds gather
    all feet under the body on purpose, where fore feet have left before hind feet arrive.
    """
    one, other = model.feet[i], model.feet[j]
    left, right = model.pairs[0]
    together = abs((phases[left] - phases[right] + 0.5) % 1.0 - 0.5) < 0.25
    nearer = 2 * abs(np.sin(np.pi * (phases[i] - phases[j])))
    if one.side != other.side or nearer < 1e-6 or together:
        return np.inf
    return float(0.95 * abs(one.centre[0] - other.centre[0]) / nearer)


def _checked_duty(duty: float, gait: Gait, given: bool) -> float:
    if given and not 0.1 <= duty <= 0.95:
        raise AkdError(f"The duty factor is the share of a stride for which a foot is down, 0.1 to 0.95, not {duty}.")
    if given:
        return duty
    # Variation must not turn a walk into a run: half is the border, and feet just above the ground still count as down.
    return float(np.clip(duty, 0.54, 0.9) if gait.duty > 0.5 else np.clip(duty, 0.15, 0.37))
