"""Gait parameters: duty factor, stride period and speed of one gait on one body, from the request, the body's size and a seed."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from akd.character.limb_model import Foot, LimbModel
from akd.errors import AkdError
from akd.gait.table import Gait
from akd.rig import GRAVITY

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
