"""Gaits without feet on the ground: flying, swimming, slithering.

The body's axis is a wave that travels from head to tail: each bone takes the direction that the wave has at its middle. Beat and
speed go together by the Strouhal number, near 0.3 for fish, dolphins and birds alike (Taylor, Nudds & Thomas 2003). A snake
follows its own track without slipping, along Hirose's serpenoid curve.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.character.leg import main_chain
from akd.character.limb_model import FrameVectors, LimbModel
from akd.gait.table import MIN_LEG_METRES
from akd.rig import GRAVITY

STROUHAL = 0.32
"""Beat frequency × width of the stroke / speed."""
MIN_SPREAD = 0.6
"""A wing is spread at rest if it reaches sideways by this share of its length; only such wings can carry."""
MIN_SPAN = 1.2
"""and if its length is at least this [ℓ]."""
MIN_AXIS_JOINTS = 7
"""A body without limbs needs so many joints in a row to slither."""
HEIGHT = {"fly": 2.2, "swim": 1.3}
"""How high the lowest point of the body at rest is carried above the ground [ℓ]."""
Curve = Float[np.ndarray, " frame"]


@dataclass(frozen=True, eq=False)
class FreeTargets:
    """Root and joint rotations frame by frame; nothing is held on the ground."""

    shift: FrameVectors
    """Displacement of the root from where it is at rest [ℓ]."""
    lean: FrameVectors
    """Rotation vector of the root [rad]."""
    vectors: dict[int, FrameVectors]
    """Rotation vectors of joints relative to their parents, in stage axes [rad]."""


@dataclass(frozen=True)
class FreeStyle:
    """How an individual differs from the typical; 1 everywhere is typical."""

    amplitude: float = 1.0
    tempo: float = 1.0
    waves: float = 1.0
    """Number of waves on the body."""

    @classmethod
    def random(cls, rng: np.random.Generator) -> "FreeStyle":
        """An individual style."""
        return cls(*(float(np.exp(rng.uniform(-width, width))) for width in (0.18, 0.2, 0.12)))


@dataclass(frozen=True)
class FreeGait:
    """A way of getting on without feet."""

    name: str
    beats: float
    """Typical period in units of √(ℓ/g), so that bodies of all sizes beat alike in a body-scaled film."""
    suits: Callable[[LimbModel], bool]
    needs: str
    """What a body must have, as a phrase for the error message."""
    stride: Callable[[LimbModel, FreeStyle], float]
    """Way in one period [ℓ]."""
    targets: Callable[[LimbModel, Curve, float, FreeStyle], FreeTargets]
    """From time in periods and the way in one period [ℓ]."""

    def period(self, model: LimbModel, style: FreeStyle) -> float:
        """Seconds of one beat."""
        return self.beats * float(np.sqrt(max(model.rig.leg_metres, MIN_LEG_METRES) / GRAVITY)) / style.tempo


def axis_joints(model: LimbModel) -> tuple[int, ...]:
    """The joints of head, neck, spine and tail from nose to tail, the root among them."""
    tail = max(model.tails, key=len, default=())
    ahead = tuple(reversed((*model.spine, *model.neck)))
    return (*ahead, 0, *tail)


def body_length(model: LimbModel) -> float:
    """From nose to tail at rest [ℓ]."""
    return max(float(np.ptp(model.rig.mesh.vertices[:, 0])), 1e-6)


def _place(model: LimbModel, x: float) -> float:
    """Where a point is along the body at rest: 0 at the nose, 1 at the end of the tail."""
    return (float(model.rig.mesh.vertices[:, 0].max()) - x) / body_length(model)


def bent_axis(
    model: LimbModel, direction: Callable[[float], Curve], *, plane: int
) -> tuple[Curve, dict[int, FrameVectors]]:
    """Turn of the root, and of the joints relative to their parents, so that every bone points as the wave says.

    ``direction`` gives the angle of the wave at a place along the body; ``plane`` is the axis of the turns: 1 sideways, 2 up and
    down. Neck and head keep half of the wave away from the eyes.
    """
    joints = axis_joints(model)
    middle = (model.skeleton.positions[:, 0] + model.skeleton.tails[:, 0]) / 2
    angle = {joint: direction(_place(model, middle[joint])) for joint in joints}
    eyes = {joint: 0.5 ** (rank + 1) for rank, joint in enumerate(model.neck)}
    angle |= {joint: eyes[joint] * angle[joint] for joint in model.neck}
    turn = np.eye(3)[plane]
    vectors = {}
    for joint in joints:
        parent = int(model.skeleton.parents[joint])
        while parent not in angle and parent > 0:
            parent = int(model.skeleton.parents[parent])
        if joint != 0:
            vectors[joint] = (angle[joint] - angle[parent])[:, None] * turn
    return angle[0], vectors


# --- swimming -----------------------------------------------------------------------------------------------------------------


def _beats_vertically(model: LimbModel) -> bool:
    """Is the end of the tail broader than high, as a dolphin's? Then it beats up and down."""
    tail = max(model.tails, key=len, default=())
    if not tail:
        return False
    below = model.skeleton.is_ancestor[tail[-1]]
    own = below[model.point_owner]
    if own.sum() < 4:
        return False
    _, high, wide = np.ptp(model.rig.mesh.vertices[own], axis=0)
    return bool(wide > 1.2 * high)


def _swim_envelope(model: LimbModel, style: FreeStyle) -> tuple[Callable[[float], float], float]:
    """Amplitude of the wave along the body, in body lengths, and the number of waves on it.

    The quadratic is that of steadily swimming fish (Videler 1993); a body long for its height swims like an eel.
    """
    slender = body_length(model) > 9
    if slender:
        return lambda s: style.amplitude * (0.012 + 0.078 * s), 1.35 * style.waves
    return lambda s: style.amplitude * (0.02 - 0.08 * s + 0.16 * s * s), 0.95 * style.waves


def _swim_stride(model: LimbModel, style: FreeStyle) -> float:
    envelope, _ = _swim_envelope(model, style)
    return 2 * envelope(1.0) * body_length(model) / STROUHAL


def _swim(model: LimbModel, cycle: Curve, stride: float, style: FreeStyle) -> FreeTargets:
    envelope, waves = _swim_envelope(model, style)
    step, vertical = 1e-3, _beats_vertically(model)

    def aside(s: float) -> Curve:
        return envelope(s) * np.sin(2 * np.pi * (waves * s - cycle))

    def direction(s: float) -> Curve:
        slope = (aside(s + step) - aside(s - step)) / (2 * step)
        # The nose is at s = 0 and looks along +X: a bone that leads to larger z (or y) towards the tail is turned this way.
        return np.arctan(slope) if not vertical else -np.arctan(slope)

    yaw, vectors = bent_axis(model, direction, plane=2 if vertical else 1)
    sway = body_length(model) * aside(_place(model, model.skeleton.positions[0, 0]))
    rise = HEIGHT["swim"] + 0.05 * np.sin(2 * np.pi * cycle)
    shift = np.stack((stride * cycle, rise + (sway if vertical else 0.0), 0 * cycle if vertical else sway), -1)
    lean = np.zeros((len(cycle), 3))
    lean[:, 2 if vertical else 1] = yaw
    return FreeTargets(shift, lean, vectors | _sculling_fins(model, cycle, style))


def _sculling_fins(model: LimbModel, cycle: Curve, style: FreeStyle) -> dict[int, FrameVectors]:
    """Fins that row a little, the outer joints later than the inner."""
    out = {}
    for limb in model.skeleton.limbs_of("fin"):
        side = {"L": -1.0, "R": 1.0, "C": 0.0}[limb.side]
        for rank, joint in enumerate(main_chain(model.skeleton, limb)):
            wave = np.sin(2 * np.pi * (cycle - 0.12 * rank - (0.0 if limb.side == "R" else 0.5) * (limb.order > 0)))
            out[joint] = 0.28 * style.amplitude * np.stack((-side * wave, -0.5 * side * wave, 0.3 * wave), -1)
    return out


# --- flying -------------------------------------------------------------------------------------------------------------------


def _carrying_wings(model: LimbModel) -> list[tuple[tuple[int, ...], float]]:
    """Joint chains of the wings that are spread at rest and large, each with its side."""
    out = []
    for chain in model.wings:
        ends = np.concatenate((model.skeleton.positions[list(chain)], model.skeleton.tails[[chain[-1]]]))
        length = float(np.linalg.norm(np.diff(ends, axis=0), axis=1).sum())
        aside = float(ends[-1, 2] - ends[0, 2])
        if length >= MIN_SPAN and abs(aside) > MIN_SPREAD * length:
            out.append((chain, float(np.sign(aside))))
    return out


def folded_wings(model: LimbModel, count: int) -> dict[int, FrameVectors]:
    """Rotation vectors that lay spread wings along the body, for everything that is done on the ground."""
    out = {}
    for chain, side in _carrying_wings(model):
        back = Rotation.from_rotvec((0.0, -side * 1.35, 0.0))
        upright = Rotation.from_rotvec((side * 1.15, 0.0, 0.0))
        out[chain[0]] = np.tile((upright * back).as_rotvec(), (count, 1))
    return out


def _half_span(model: LimbModel) -> float:
    wings = [chain for chain, _ in _carrying_wings(model)]
    tips = [model.skeleton.tails[chain[-1], 2] - model.skeleton.positions[chain[0], 2] for chain in wings]
    return float(np.mean(np.abs(tips)))


FLAP = 0.8
"""Half of the wings' stroke at the shoulder [rad]."""


def _fly_stride(model: LimbModel, style: FreeStyle) -> float:
    return 2 * _half_span(model) * float(np.sin(FLAP * style.amplitude)) / STROUHAL


def _fly(model: LimbModel, cycle: Curve, stride: float, style: FreeStyle) -> FreeTargets:
    beat = 2 * np.pi * cycle
    vectors: dict[int, FrameVectors] = {}
    for chain, side in _carrying_wings(model):
        for rank, joint in enumerate(chain):
            late = beat - 0.55 * rank
            share = 1.0 if rank == 0 else 0.4
            flap = FLAP * style.amplitude * share * np.cos(late) + (0.1 if rank == 0 else 0.0)
            # On the way up the wing is drawn in at wrist and elbow; leading edge down on the way down.
            drawn = (0.1 if rank == 0 else 0.3) * np.maximum(-np.sin(late), 0.0) ** 2
            twist = -0.22 * np.sin(late) if rank == 0 else 0 * beat
            vectors[joint] = np.stack((-side * flap, -side * drawn, twist), -1)
    vectors |= _tucked_legs(model, beat) | _flight_axis(model, beat)
    heave = min(model.gravity * (FLY.period(model, style) / (2 * np.pi)) ** 2, 0.12 * _half_span(model)) * style.amplitude
    shift = np.stack((stride * cycle, HEIGHT["fly"] - heave * np.sin(beat), 0 * beat), -1)
    lean = np.stack((0 * beat, 0 * beat, 0.06 + 0.05 * np.cos(beat)), -1)
    return FreeTargets(shift, lean, vectors)


def _tucked_legs(model: LimbModel, beat: Curve) -> dict[int, FrameVectors]:
    """Legs trail behind and swing a little."""
    out = {}
    for foot in model.feet:
        chain = foot.leg.chain
        for rank, joint in enumerate(chain):
            pitch = -1.15 if rank == 0 else (-0.5 if joint == foot.leg.foot else 0.25)
            out[joint] = np.stack((0 * beat, 0 * beat, pitch + 0.05 * (rank == 0) * np.sin(beat)), -1)
    return out


def _flight_axis(model: LimbModel, beat: Curve) -> dict[int, FrameVectors]:
    """The neck is stretched ahead against the body's pitch; the tail follows the heave."""
    out = {}
    for rank, joint in enumerate(model.neck):
        stretch = (-0.35 if rank + 1 < len(model.neck) else 0.25) / max(len(model.neck) - 1, 1)
        out[joint] = np.stack((0 * beat, 0 * beat, stretch - 0.05 * np.cos(beat)), -1)
    for tail in model.tails:
        for rank, joint in enumerate(tail):
            out[joint] = np.stack((0 * beat, 0 * beat, 0.25 * np.sin(beat - 0.9 * rank) / len(tail)), -1)
    return out


# --- slithering ---------------------------------------------------------------------------------------------------------------

WINDING = 0.75
"""Largest angle between a snake's body and its way [rad]."""
SNAKE_WAVES = 1.8
"""Waves on the body."""


def _winding(style: FreeStyle) -> float:
    return float(np.clip(WINDING * style.amplitude, 0.4, 1.0))


def _slither_stride(model: LimbModel, style: FreeStyle) -> float:
    """One wavelength of the track along the way: its arc length shortened by the winding."""
    arc = np.linspace(0, 1, 200, endpoint=False)
    return body_length(model) / (SNAKE_WAVES * style.waves) * float(np.cos(_winding(style) * np.sin(2 * np.pi * arc)).mean())


def _slither(model: LimbModel, cycle: Curve, stride: float, style: FreeStyle) -> FreeTargets:
    winding, waves = _winding(style), SNAKE_WAVES * style.waves
    wavelength = body_length(model) / waves

    def heading(u: Curve) -> Curve:
        return winding * np.sin(2 * np.pi * u)

    yaw, vectors = bent_axis(model, lambda s: heading(cycle - waves * s), plane=1)
    root = waves * _place(model, model.skeleton.positions[0, 0])
    fine = np.linspace(0, 1, 721)
    x, z = (_integral(part) for part in (np.cos(heading(fine)), -np.sin(heading(fine))))
    at = cycle - root
    start = np.floor(-root) * x[-1] + np.interp((-root) % 1.0, fine, x)
    ahead = np.floor(at) * x[-1] + np.interp(at % 1.0, fine, x) - start
    aside = np.interp(at % 1.0, fine, z) - z.mean()
    shift = wavelength * np.stack((ahead, 0 * cycle, aside), -1)
    lean = np.stack((0 * yaw, yaw, 0 * yaw), -1)
    return FreeTargets(shift, lean, vectors)


def _integral(values: Curve) -> Curve:
    """The integral over one period from its start to each of evenly spaced samples, by the trapezoid rule."""
    return np.concatenate(([0.0], np.cumsum((values[1:] + values[:-1]) / 2))) / (len(values) - 1)


def _slithers(model: LimbModel) -> bool:
    limbs = {limb.kind for limb in model.skeleton.limbs}
    return not limbs & {"leg", "arm", "wing", "fin"} and len(axis_joints(model)) >= MIN_AXIS_JOINTS and body_length(model) > 5


def _swims(model: LimbModel) -> bool:
    return not model.feet and bool(model.skeleton.limbs_of("fin")) and bool(model.tails)


FLY = FreeGait(
    "fly", 4.2, lambda model: bool(_carrying_wings(model)),
    "wings that are spread at rest, longer than its legs", _fly_stride, _fly
)
SWIM = FreeGait("swim", 4.2, _swims, "fins, a tail and no legs", _swim_stride, _swim)
SLITHER = FreeGait("slither", 7.0, _slithers, "a long body without limbs", _slither_stride, _slither)
FREE_GAITS: dict[str, FreeGait] = {gait.name: gait for gait in (FLY, SWIM, SLITHER)}
