"""Targets of a gait above the feet: path, bounce, sway and twist of the trunk, and what spine, neck, tail and arms add."""

import numpy as np
from jaxtyping import Float

from akd.character.limb_model import FrameVectors, LimbModel, axis_rotations
from akd.creatures.targets import BodyTargets, FootTargets, body_path, feet_centre
from akd.gait.table import GaitParameters

MAX_BOUNCE = 0.1
"""Amplitude of the vertical bounce of the root [ℓ]."""
MAX_TWIST_SHARE = 0.7
"""A stance foot moves back under the body; twist of the trunk takes off at most this share of that speed."""
SPRAWLING_UNDULATION = 2.5
"""The spine of a sprawling body undulates this many times as much as one above upright legs."""
Wave = Float[np.ndarray, " frame"]


def gait_targets(model: LimbModel, stride: GaitParameters, feet: FootTargets, time: Float[np.ndarray, " frame"]) -> BodyTargets:
    """All targets of a gait at the given times [s], around given foot targets."""
    cycle = time / stride.period
    place, heading = body_path(stride, time)
    from_centre = model.skeleton.positions[0] - feet_centre(model)
    place = place + axis_rotations(1, heading) @ from_centre - from_centre
    rise, slope = _rise(model, stride, cycle)
    gait, style = stride.gait, stride.style
    to_side = _side_wave(model, cycle - stride.middle[:, None])
    aside = np.stack((0 * rise, rise - gait.crouch * style.crouch, gait.sway * style.sway * to_side), -1)
    shift = place + (axis_rotations(1, heading) @ aside[..., None])[..., 0]
    hind, fore = _landing_wave(model, stride, cycle, last=True), _landing_wave(model, stride, cycle, last=False)
    undulation = SPRAWLING_UNDULATION if _walks_sprawling(model) else 1.0
    twist = min(gait.twist * style.sway, undulation * _max_twist(model, stride))
    arch = gait.flex * style.flex * _shortness(model) * _gather_wave(model, stride, cycle)
    lean = np.stack(
        (-gait.roll * style.sway * to_side, twist / undulation * hind, slope + 0.4 * arch - gait.lean * model.is_upright), -1
    )
    counter = -1.2 * hind if len(model.feet) == 2 else fore - hind
    vectors = spread(model.spine, np.stack((0.6 * gait.roll * style.sway * to_side, undulation * twist * counter, -arch), -1))
    vectors |= spread(model.neck, np.stack((0 * rise, 0 * rise, gait.nod * style.nod * _nod_wave(model, stride, cycle)), -1))
    for tail in model.tails:
        vectors |= tail_wave(tail, cycle, gait.tail * style.tail * undulation**0.5, 0.5 * arch - 0.5 * slope)
    vectors |= _dangling_arms(model, cycle)
    return BodyTargets(shift, heading, lean, feet, vectors, swinging_arms(model, stride, cycle))


def spread(joints: tuple[int, ...], vector: FrameVectors) -> dict[int, FrameVectors]:
    """A rotation vector shared evenly by a chain of joints."""
    return {joint: vector / len(joints) for joint in joints}


def tail_wave(tail: tuple[int, ...], cycle: Wave, swing: float, pitch: Wave | float = 0.0) -> dict[int, FrameVectors]:
    """Rotation vectors of a tail that follows the hips, each joint with a phase offset to the one before."""
    out = {}
    for number, joint in enumerate(tail):
        late = cycle - 0.6 * number / len(tail)
        bend = np.stack((0 * cycle, swing * np.sin(2 * np.pi * late), 0.15 * swing * np.sin(4 * np.pi * late) + pitch), -1)
        out[joint] = bend / len(tail)
    return out


def arm_directions(
    side: float, forward: Wave | float, elbow: Wave | float, away: Wave | float = 0.14
) -> tuple[FrameVectors, FrameVectors]:
    """Directions of upper arm and forearm: swung forward from hanging, bent at the elbow, held away from the body [rad]."""
    forward, elbow, away = np.broadcast_arrays(*map(np.asarray, (forward, elbow, away)))

    def pointing(angle: np.ndarray, out: np.ndarray) -> np.ndarray:
        return np.stack((np.sin(angle) * np.cos(out), -np.cos(angle) * np.cos(out), side * np.sin(out)), -1)

    return pointing(forward, away), pointing(forward + elbow, 0.4 * away)


def swinging_arms(model: LimbModel, stride: GaitParameters, cycle: Wave) -> dict[int, tuple[FrameVectors, FrameVectors]]:
    """Arm directions of an upright body, in antiphase to the legs of the same side."""
    if not model.is_humanoid:
        return {}
    gait, swing = stride.gait, stride.gait.arm_swing * stride.style.arms
    out = {}
    for number, arm in enumerate(model.arms):
        opposite = next(i for i, foot in enumerate(model.feet) if foot.side == -arm.side)
        forward = np.cos(2 * np.pi * (cycle - stride.phases[opposite]))
        out[number] = arm_directions(arm.side, swing * forward - 0.1 * gait.elbow, gait.elbow * (1 + 0.2 * forward))
    return out


def _dangling_arms(model: LimbModel, cycle: Wave) -> dict[int, FrameVectors]:
    """Arms of a horizontal body, as a tyrannosaur's, hardly move."""
    if model.is_humanoid:
        return {}
    bend = np.stack((0 * cycle, 0 * cycle, 0.08 * np.sin(4 * np.pi * cycle)), -1)
    return {arm.upper: bend for arm in model.arms}


def _rise(model: LimbModel, stride: GaitParameters, cycle: Wave) -> tuple[Wave, Wave]:
    """Height of the root [ℓ] and pitch of the trunk [rad] from what each pair of legs does to the part of the body above it.

    A pair in antiphase lifts the body twice a stride, one in phase once. A body on a spring of that period
    whose greatest downward acceleration is gravity's rises by ±g T²/4π².
    """
    feet, angle = model.feet, 2 * np.pi * (cycle - stride.middle[:, None])
    heights, places = [], []
    groups = model.pairs or tuple((i, i) for i in range(len(feet)))
    for left, right in groups:
        alternate = 0.5 * (1 - np.cos(2 * np.pi * (stride.phases[left] - stride.phases[right])))
        seconds = stride.period * (1 - 0.5 * alternate)
        natural = min(model.gravity * (seconds / (2 * np.pi)) ** 2, MAX_BOUNCE / max(abs(stride.gait.bounce), 1e-6))
        pair = angle[[left, right]]
        wave = (1 - alternate) * np.cos(pair).mean(0) + alternate * np.cos(2 * pair).mean(0)
        shared = len(groups) if stride.gait.bounce > 0 else 1  # a body held by other legs too vaults less over each pair
        heights.append(stride.gait.bounce * stride.style.bounce * _shortness(model) * natural * wave / shared)
        places.append((feet[left].centre[0] + feet[right].centre[0]) / 2)
    at = np.array(places) - np.mean(places)
    length = float(np.square(at).sum())
    slope = at @ np.array(heights) / length if length > 0.05 else np.zeros_like(cycle)
    slope = np.clip(slope, -0.2, 0.2) * _shortness(model)
    return np.mean(heights, axis=0) + slope * (model.skeleton.positions[0, 0] - np.mean(places)), slope


def _side_wave(model: LimbModel, cycle: Float[np.ndarray, "foot frame"]) -> Wave:
    """+1 when the right feet are at phase 0, −1 when the left are; zero for feet in phase."""
    side = np.array([foot.side for foot in model.feet])
    return (side[:, None] * np.cos(2 * np.pi * cycle)).mean(0)


def _shortness(model: LimbModel) -> float:
    """Factor below one for long low bodies, which bounce and pitch less: their ends would sink into the ground."""
    return min(1.0, 1.2 / max(model.trunk_length, 0.1))


def _walks_sprawling(model: LimbModel) -> bool:
    return len(model.feet) == 4 and all(foot.leg.sprawls for foot in model.feet)


def _landing_wave(model: LimbModel, stride: GaitParameters, cycle: Wave, last: bool) -> Wave:
    """+1 when the right foot of the hindmost (or foremost) pair lands, −1 when the left does."""
    order = (max if last else min)(foot.order for foot in model.feet)
    chosen = [i for i, foot in enumerate(model.feet) if foot.order == order]
    waves = [model.feet[i].side * np.cos(2 * np.pi * (cycle - stride.phases[i])) for i in chosen]
    return np.mean(waves, axis=0)


def _max_twist(model: LimbModel, stride: GaitParameters) -> float:
    """How far the root may turn to both sides [rad]: feet far aside of a body that turns would else swing forward while they
    stand, as a beetle's do at three leg lengths."""
    aside = max(abs(float(foot.centre[2])) for foot in model.feet)
    return MAX_TWIST_SHARE * stride.speed * stride.period / (2 * np.pi * max(aside, 1e-6))


def _gather_wave(model: LimbModel, stride: GaitParameters, cycle: Wave) -> Wave:
    """+1 when the hind feet land under the body and the back is arched, −1 when they push off and it is stretched."""
    last = max(foot.order for foot in model.feet)
    landing = np.exp(2j * np.pi * np.array([p for p, foot in zip(stride.phases, model.feet, strict=True) if foot.order == last]))
    return np.cos(2 * np.pi * cycle - np.angle(landing.mean()))


def _nod_wave(model: LimbModel, stride: GaitParameters, cycle: Wave) -> Wave:
    """The head goes down a little after each fore foot lands."""
    landing = [p for p, foot in zip(stride.phases, model.feet, strict=True) if foot.order == 0]
    alternates = len(landing) == 2 and abs((landing[0] - landing[1] + 0.5) % 1 - 0.5) > 0.25
    return -np.cos(2 * np.pi * (1 + alternates) * (cycle - landing[0] - 0.12))
