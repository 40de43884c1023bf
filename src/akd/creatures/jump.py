"""A jump: gather, push off, fly as gravity says, land, rise."""

from dataclasses import dataclass, replace

import numpy as np

from akd.character.limb_model import LimbModel
from akd.contact.easing import keyed_curve, lift_arc, quintic_step, septic_step
from akd.creatures.action import Action, ActionParameters, Curve, still, vectors
from akd.creatures.carriage import hanging, spread, tail_wave
from akd.creatures.perform import Choreography, FootTargets

HEIGHT = 0.45
"""How high the body rises in flight [ℓ]."""
DEPTH = 0.24
"""How deep it gathers before [ℓ]."""
STRETCH = 0.03
"""How far above rest it is when the feet leave the ground, on its toes [ℓ]."""


@dataclass(frozen=True)
class JumpTiming:
    """Instants of a jump [s]."""

    push: float
    """Gathered, the push begins."""
    leave: float
    land: float
    low: float
    """Deepest after landing."""
    end: float
    speed: float
    """Upward speed when the feet leave [ℓ/s]."""


def jump_timing(body: LimbModel, cue: ActionParameters) -> JumpTiming:
    """The clock of a jump follows from its height, the depth it starts from, and gravity."""
    gravity = min(body.gravity, 9.81 / 0.12)
    speed = float(np.sqrt(2 * gravity * HEIGHT * cue.amount))
    gather = 2.2 * float(np.sqrt(1 / gravity))
    push = gather
    leave = push + 2 * (DEPTH + STRETCH) / speed
    land = leave + 2 * speed / gravity
    low = land + 2.4 * (DEPTH + STRETCH) / speed
    return JumpTiming(push, leave, land, low, low + 1.4 * gather, speed)


def jump(body: LimbModel, cue: ActionParameters) -> Choreography:
    """Forward, a little for those on two legs, further for those on four."""
    clock = jump_timing(body, cue)
    time = cue.u * clock.end
    height = _height(clock, time)
    length = (0.4 if len(body.feet) == 2 else 1.1) * cue.amount
    forward = length * quintic_step((time - clock.push) / (clock.low - clock.push))
    level = not body.is_upright and len(body.feet) > 2
    pitch = _pitch(clock, time) * min(1.0, 1.0 / max(body.trunk_length, 0.1)) * level
    folded = keyed_curve([(0, 0), (clock.push, 1), (clock.leave, 0), (clock.land, 0), (clock.low, 0.8), (clock.end, 0)], time)
    lean = vectors(cue.u, z=pitch - 0.35 * folded * body.is_upright)
    bends = spread(body.spine, vectors(cue.u, z=-(0.15 if level else 0.3) * folded))
    bends |= {j: b for tail in body.tails for j, b in tail_wave(tail, 0 * cue.u, 0.0, -0.4 * pitch - 0.3 * folded).items()}
    return replace(
        still(body, cue), shift=vectors(cue.u, x=forward, y=height), lean=lean, bends=bends,
        footing=_feet(body, clock, time, height, length), arms=_arms(body, clock, time), gaze=0.8,
    )  # fmt: skip


def _height(clock: JumpTiming, time: Curve) -> Curve:
    """Root height above rest: cubic on the ground, matching speed at take-off and landing, a parabola between."""
    ground = keyed_curve([(0, 0), (clock.push, -DEPTH)], time)
    push = _cubic(time, clock.push, clock.leave, -DEPTH, STRETCH, 0.0, clock.speed)
    gone = time - clock.leave
    flight = STRETCH + clock.speed * gone * (1 - gone / (clock.land - clock.leave))
    land = _cubic(time, clock.land, clock.low, STRETCH, -0.9 * DEPTH, -clock.speed, 0.0)
    rise = keyed_curve([(clock.low, -0.9 * DEPTH), (clock.end, 0)], time)
    parts = [time < clock.push, time < clock.leave, time < clock.land, time < clock.low]
    return np.select(parts, [ground, push, flight, land], rise)


def _cubic(time: Curve, start: float, end: float, a: float, b: float, slope_a: float, slope_b: float) -> Curve:
    """Hermite curve from a to b with the given slopes at its ends."""
    u, span = np.clip((time - start) / (end - start), 0, 1), end - start
    return (
        (1 + 2 * u) * (1 - u) ** 2 * a + u**2 * (3 - 2 * u) * b
        + span * u * (1 - u) * ((1 - u) * slope_a - u * slope_b)
    )  # fmt: skip


def _pitch(clock: JumpTiming, time: Curve) -> Curve:
    middle = (clock.leave + clock.land) / 2
    keys = [(0, 0), (clock.push, -0.08), (clock.leave, 0.3), (middle, 0.1), (clock.land, -0.25), (clock.end, 0)]
    return keyed_curve(keys, time)


def _feet(body: LimbModel, clock: JumpTiming, time: Curve, height: Curve, length: float) -> FootTargets:
    """Feet leave last behind and land first in front; in flight they are drawn up."""
    flight, stand = clock.land - clock.leave, still(body, ActionParameters(time)).footing
    place, pitch = stand.place.copy(), np.zeros_like(stand.pitch)
    for number, foot in enumerate(body.feet):
        early = 0.12 * flight if foot.order == 0 and len(body.feet) > 2 else 0.0
        late = 0.1 * flight if foot.order > 0 else 0.0
        start, end = clock.leave - early, clock.land - early + late
        u = (time - start) / (end - start)
        place[:, number, 0] += length * septic_step(u)
        place[:, number, 1] = (
            (0.3 * lift_arc(u) + np.maximum(height - STRETCH, 0.0)) * ((u > 0) & (u < 1)) * np.minimum(1, 6 * lift_arc(u))
        )
        long = min(foot.length / 0.2, 1.0) * (not foot.leg.sprawls)
        rise = keyed_curve(
            [(clock.push + 0.5 * (start - clock.push), 0), (start, -0.5), (start + 0.4 * flight, -0.7), (end, 0)], time
        )
        pitch[:, number] = long * rise
    return FootTargets(place, stand.yaw, pitch)


def _arms(body: LimbModel, clock: JumpTiming, time: Curve) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    if not body.is_humanoid:
        return {}
    swing = keyed_curve(
        [(0, 0), (clock.push, -0.9), (clock.leave, 1.9), (clock.land, 0.9), (clock.low, 0.2), (clock.end, 0)], time
    )
    return {number: hanging(arm.side, swing, 0.35 + 0.1 * np.abs(swing), 0.2) for number, arm in enumerate(body.arms)}


def _springs(body: LimbModel) -> bool:
    return bool(body.feet) and all(foot.leg.shortest < 0.75 * foot.leg.longest for foot in body.feet)


JUMP = Action("jump", lambda body, cue: jump_timing(body, cue).end, _springs, "legs with knees", jump)
