"""The table of gaits: touch-down phases, duty factor, speed, and how the body moves with the legs.

Phases are the time of touch-down as a share of the stride, for legs ordered front to hind, left before right (LF, RF, LH, RH).
Speeds are Froude numbers v²/(gℓ), so that a mouse and an elephant walk alike: animals change from walk to run near 0.5
(Alexander & Jayes 1983). Amplitudes are in leg lengths and radians for a typical animal.
"""

from dataclasses import dataclass

from akd.errors import AkdError


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


_MANY = {"sway": 0.0, "width": 1.0, "heel_rise": 0.0, "nod": 0.01, "tail": 0.1, "crouch": 0.0}
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
PLAIN_WORDS = {
    "walk": {6: "tripod", 8: "tetrapod"},
    "run": {4: "gallop", 6: "tripod", 8: "tetrapod"},
    "hop": {4: "bound"},
    "gallop": {2: "run"},
}
"""What everyday words mean on bodies for which the gait of that name does not exist."""


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
