"""A jump: crouch, push off, ballistic flight, land, rise."""

from dataclasses import dataclass, replace

import numpy as np

from akd.character.limb_model import LimbModel
from akd.contact.stance import keyed_curve, lift_arc, quintic_step, septic_step
from akd.creatures.gait_targets import arm_directions, spread, tail_wave
from akd.creatures.targets import Action, ActionParameters, BodyTargets, Curve, FootTargets, columns, standing_targets
from akd.gait.table import MIN_LEG_METRES
from akd.rig import GRAVITY

JUMP_HEIGHT = 0.45
"""How high the root rises in flight [ℓ]."""
CROUCH_DEPTH = 0.24
"""How far the root is lowered before take-off [ℓ]."""
TOE_RISE = 0.03
"""Height of the root above rest at take-off, on the toes [ℓ]."""


@dataclass(frozen=True)
class JumpTiming:
    """Times of a jump's events [s]."""

    push: float
    """Deepest crouch; the push begins."""
    leave: float
    land: float
    low: float
    """Deepest after landing."""
    end: float
    speed: float
    """Upward speed when the feet leave [ℓ/s]."""


def jump_timing(model: LimbModel, parameters: ActionParameters) -> JumpTiming:
    """The events of a jump, from its height, the depth of its crouch, and gravity."""
    gravity = min(model.gravity, GRAVITY / MIN_LEG_METRES)
    speed = float(np.sqrt(2 * gravity * JUMP_HEIGHT * parameters.amount))
    gather = 2.2 * float(np.sqrt(1 / gravity))
    push = gather
    leave = push + 2 * (CROUCH_DEPTH + TOE_RISE) / speed
    land = leave + 2 * speed / gravity
    low = land + 2.4 * (CROUCH_DEPTH + TOE_RISE) / speed
    return JumpTiming(push, leave, land, low, low + 1.4 * gather, speed)


def jump(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """A jump forward: a little on two legs, further on four."""
    u = parameters.progress
    clock = jump_timing(model, parameters)
    time = u * clock.end
    height = _height(clock, time)
    length = (0.4 if len(model.feet) == 2 else 1.1) * parameters.amount
    forward = length * quintic_step((time - clock.push) / (clock.low - clock.push))
    level = not model.is_upright and len(model.feet) > 2
    pitch = _pitch(clock, time) * min(1.0, 1.0 / max(model.trunk_length, 0.1)) * level
    folded = keyed_curve([(0, 0), (clock.push, 1), (clock.leave, 0), (clock.land, 0), (clock.low, 0.8), (clock.end, 0)], time)
    lean = columns(u, z=pitch - 0.35 * folded * model.is_upright)
    vectors = spread(model.spine, columns(u, z=-(0.15 if level else 0.3) * folded))
    vectors |= {j: b for tail in model.tails for j, b in tail_wave(tail, 0 * u, 0.0, -0.4 * pitch - 0.3 * folded).items()}
    return replace(
        standing_targets(model, parameters), shift=columns(u, x=forward, y=height), lean=lean, vectors=vectors,
        feet=_feet(model, clock, time, height, length), arms=_arms(model, clock, time), gaze=0.8,
    )  # fmt: skip


def _height(clock: JumpTiming, time: Curve) -> Curve:
    """Root height above rest: cubic on the ground, matching speed at take-off and landing, a parabola between."""
    ground = keyed_curve([(0, 0), (clock.push, -CROUCH_DEPTH)], time)
    push = _cubic(time, clock.push, clock.leave, -CROUCH_DEPTH, TOE_RISE, 0.0, clock.speed)
    gone = time - clock.leave
    flight = TOE_RISE + clock.speed * gone * (1 - gone / (clock.land - clock.leave))
    land = _cubic(time, clock.land, clock.low, TOE_RISE, -0.9 * CROUCH_DEPTH, -clock.speed, 0.0)
    rise = keyed_curve([(clock.low, -0.9 * CROUCH_DEPTH), (clock.end, 0)], time)
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


def _feet(model: LimbModel, clock: JumpTiming, time: Curve, height: Curve, length: float) -> FootTargets:
    """Fore feet leave first, hind feet land last; in flight all are drawn up."""
    flight, stand = clock.land - clock.leave, standing_targets(model, ActionParameters(time)).feet
    place, pitch = stand.place.copy(), np.zeros_like(stand.pitch)
    for number, foot in enumerate(model.feet):
        early = 0.12 * flight if foot.order == 0 and len(model.feet) > 2 else 0.0
        late = 0.1 * flight if foot.order > 0 else 0.0
        start, end = clock.leave - early, clock.land - early + late
        u = (time - start) / (end - start)
        place[:, number, 0] += length * septic_step(u)
        place[:, number, 1] = (
            (0.3 * lift_arc(u) + np.maximum(height - TOE_RISE, 0.0)) * ((u > 0) & (u < 1)) * np.minimum(1, 6 * lift_arc(u))
        )
        long = min(foot.length / 0.2, 1.0) * (not foot.leg.sprawls)
        rise = keyed_curve(
            [(clock.push + 0.5 * (start - clock.push), 0), (start, -0.5), (start + 0.4 * flight, -0.7), (end, 0)], time
        )
        pitch[:, number] = long * rise
    return FootTargets(place, stand.yaw, pitch)


def _arms(model: LimbModel, clock: JumpTiming, time: Curve) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    if not model.is_humanoid:
        return {}
    swing = keyed_curve(
        [(0, 0), (clock.push, -0.9), (clock.leave, 1.9), (clock.land, 0.9), (clock.low, 0.2), (clock.end, 0)], time
    )
    return {number: arm_directions(arm.side, swing, 0.35 + 0.1 * np.abs(swing), 0.2) for number, arm in enumerate(model.arms)}


def _springs(model: LimbModel) -> bool:
    return bool(model.feet) and all(foot.leg.shortest < 0.75 * foot.leg.longest for foot in model.feet)


JUMP = Action("jump", lambda model, parameters: jump_timing(model, parameters).end, _springs, "legs with knees", jump)
