"""Actions on the spot that need no arms: idle, look, turn, crouch, sit, eat; and the table of all actions."""

from dataclasses import replace

import numpy as np

from akd.character.limb_model import LimbModel
from akd.contact.stance import keyed_curve
from akd.creatures.gait_targets import gait_targets, spread, tail_wave
from akd.creatures.jump import JUMP
from akd.creatures.targets import (
    Action,
    ActionParameters,
    BodyTargets,
    columns,
    feet_centre,
    scaled_duration,
    sine,
    standing_targets,
    walking_feet,
)
from akd.creatures.upright_actions import UPRIGHT_ACTIONS, relaxed_arms
from akd.gait.table import GaitParameters, gait_for, longest_stride

MOUTH_HEIGHT = 0.25
"""Height of the end of the head bone when the mouth is at the ground [ℓ]."""
MAX_SHOULDER_DROP = 0.22
"""How far the trunk pitches down to help a short neck, at most [rad]."""
MIN_HEAD_PITCH = -1.7
"""No head is pitched lower than this [rad]: it would look back between the legs."""
MIN_SITTING_FOOT = 0.12
"""Bodies with shorter hind feet than this do not sit like dogs [ℓ]: they stand on hooves."""


def idle(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """Breathing, shifting weight, a slow look and a slow tail."""
    u, k, side = parameters.progress, parameters.amount, parameters.side
    half = np.mean([abs(foot.centre[2]) for foot in model.feet]) if model.feet else 0.0
    shift = columns(u, y=0.002 * k * (sine(u, 2) - 1), z=0.12 * k * half * side * sine(u))
    lean = columns(u, x=-0.012 * k * side * sine(u))
    vectors = spread(model.spine, columns(u, z=0.012 * k * sine(u, 2)))
    vectors |= spread(model.neck, columns(u, y=0.1 * k * sine(u, 1, 0.2), z=0.03 * k * sine(u, 2)))
    return replace(
        standing_targets(model, parameters),
        shift=shift,
        lean=lean,
        vectors=vectors | _slow_tail(model, parameters),
        arms=relaxed_arms(model, parameters),
    )


def look(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """Head to one side, to the other, and ahead again."""
    u, amount = parameters.progress, parameters.amount
    turn = parameters.side * amount * keyed_curve([(0, 0), (0.22, 0.75), (0.4, 0.75), (0.62, -0.75), (0.8, -0.75), (1, 0)], u)
    up = amount * keyed_curve([(0, 0), (0.25, 0.12), (0.5, -0.05), (0.75, 0.12), (1, 0)], u)
    quiet = idle(model, replace(parameters, amount=0.3 * amount))
    vectors = (
        quiet.vectors | spread(model.neck, columns(u, y=0.85 * turn, z=up)) | spread(model.spine, columns(u, y=0.15 * turn))
    )
    return replace(quiet, vectors=vectors)


def turn(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """One stride cycle on the spot, turning as far as the legs allow."""
    u = parameters.progress
    gait = replace(gait_for("walk", len(model.feet)), bounce=0.1, strike=0.0, heel_rise=0.2, arm_swing=0.1, twist=0.0, sway=0.015)
    radius = max(float(np.linalg.norm(foot.centre - feet_centre(model), ord=2)) for foot in model.feet)
    angle = min(0.5 * longest_stride(model, gait, gait.duty) / max(radius, 0.2), 0.8) * min(parameters.amount, 1.1)
    stride = GaitParameters(gait, np.array(gait.phases[len(model.feet)]), gait.duty, 1.0, 0.0, -parameters.side * angle)
    return gait_targets(model, stride, walking_feet(model, stride, u), u)


def crouch(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """Down, wait, up."""
    u = parameters.progress
    down = keyed_curve([(0, 0), (0.3, 1), (0.65, 1), (1, 0)], u)
    depth = min(0.45 * parameters.amount, *(0.75 * (1 - foot.leg.shortest / foot.leg.longest) for foot in model.feet))
    tilt = 0.5 * model.is_upright * down
    vectors = spread(model.spine, columns(u, z=-0.5 * tilt))
    quiet = standing_targets(model, parameters)
    return replace(
        quiet, shift=columns(u, x=-0.05 * down * model.is_upright, y=-depth * down), lean=columns(u, z=-0.5 * tilt),
        vectors=vectors | _slow_tail(model, parameters, -0.5 * depth * down),
        arms=relaxed_arms(model, parameters, forward=0.6 * down), gaze=0.8,
    )  # fmt: skip


def sit(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """Rump down, fore legs straight, and up again: the trunk turns about the shoulders."""
    u = parameters.progress
    down = keyed_curve([(0, 0), (0.3, 1), (0.7, 1), (1, 0)], u)
    rest = model.skeleton.positions
    shoulder = np.mean([rest[foot.leg.hip] for foot in model.feet if foot.order == 0], axis=0)
    pitch = _sitting_angle(model, shoulder) * down * min(parameters.amount, 1.0)
    x, y, _ = rest[0] - shoulder
    cos, sin = np.cos(pitch), np.sin(pitch)
    shift = columns(u, cos * x - sin * y - x, sin * x + cos * y - y - 0.005)
    vectors = spread(model.neck, columns(u, y=0.3 * parameters.side * down * sine(u, 2))) | _slow_tail(
        model, parameters, -1.1 * pitch
    )
    return replace(standing_targets(model, parameters), shift=shift, lean=columns(u, z=pitch), vectors=vectors, gaze=0.9)


def _sitting_angle(model: LimbModel, shoulder: np.ndarray) -> float:
    """How far the trunk turns about the shoulders until rump or folded hind legs stop it, at most 0.95 rad."""
    rest, angles = model.skeleton.positions, np.linspace(0, 0.95, 96)[:, None]
    rump = model.rig.mesh.vertices[model.rig.weights[:, 0] > 0.5]
    points = np.concatenate((rump, [rest[0]]))[:, :2] - shoulder[:2]
    lowest = shoulder[1] + (np.sin(angles) * points[:, 0] + np.cos(angles) * points[:, 1]).min(1)
    hips = np.array([rest[foot.leg.hip] for foot in model.feet if foot.order == 1])[:, :2] - shoulder[:2]
    hip_height = shoulder[1] + (np.sin(angles) * hips[:, 0] + np.cos(angles) * hips[:, 1]).min(1)
    folded = max(foot.leg.shortest + rest[foot.leg.foot, 1] for foot in model.feet if foot.order == 1) + 0.06
    stopped = (lowest < 0.02) | (hip_height < max(folded, 0.3))
    return float(angles[np.argmax(stopped) if stopped.any() else -1, 0])


def eat(model: LimbModel, parameters: ActionParameters) -> BodyTargets:
    """Head down to the ground, a few bites, head up; a neck too short for that is helped by lower shoulders."""
    u = parameters.progress
    down = keyed_curve([(0, 0), (0.25, 1), (0.8, 1), (1, 0)], u)
    bites = 0.06 * parameters.amount * down * sine(u, 5)
    bend, above = _neck_reach(model)
    root, snout = model.skeleton.positions[0], model.skeleton.positions[model.neck[-1]]
    tilt = min(max(above - MOUTH_HEIGHT, 0.0) / max(snout[0] - root[0], 0.5), MAX_SHOULDER_DROP) * down
    share = _neck_share(model)
    vectors = {joint: columns(u, z=part * (bites - bend * down)) for joint, part in zip(model.neck, share, strict=True)}
    vectors |= _slow_tail(model, parameters, tilt)
    return replace(
        standing_targets(model, parameters), shift=columns(u, y=-0.01 * down), lean=columns(u, z=-tilt), vectors=vectors, gaze=0.0
    )


def _neck_reach(model: LimbModel) -> tuple[float, float]:
    """How far the neck bends until the mouth is down or the head hangs [rad], and how high the mouth is then [ℓ]."""
    rest, neck = model.skeleton.positions, model.neck
    chain = np.concatenate((rest[list(neck)], model.skeleton.tails[[neck[-1]]]))
    bones = np.diff(chain, axis=0)
    direction, length = np.arctan2(bones[:, 1], bones[:, 0]), np.hypot(bones[:, 0], bones[:, 1])
    angles = np.linspace(0, 2.5, 126)
    bent = direction - angles[:, None] * np.cumsum(_neck_share(model))
    height = chain[0, 1] + (length * np.sin(bent)).sum(1)
    stopped = (height < MOUTH_HEIGHT) | (bent[:, -1] < MIN_HEAD_PITCH)
    last = int(np.argmax(stopped)) if stopped.any() else len(angles) - 1
    return float(angles[last]), float(height[last])


def _neck_share(model: LimbModel) -> np.ndarray:
    """Share of each neck joint in lowering the head, most at the base; sums to one."""
    share = np.arange(len(model.neck), 0, -1.0) ** 2
    return share / share.sum()


def _slow_tail(model: LimbModel, parameters: ActionParameters, pitch: np.ndarray | float = 0.0) -> dict[int, np.ndarray]:
    return {
        joint: bend
        for tail in model.tails
        for joint, bend in tail_wave(tail, 2 * parameters.progress, 0.2 * parameters.amount, pitch).items()
    }


def _stands(model: LimbModel) -> bool:
    return len(model.feet) > 0


def _looks(model: LimbModel) -> bool:
    return bool(model.feet and model.neck)


def _turns(model: LimbModel) -> bool:
    return bool(model.pairs) and len(model.feet) in (2, 4, 6, 8)


def _folds(model: LimbModel) -> bool:
    return _stands(model) and all(foot.leg.shortest < 0.8 * foot.leg.longest for foot in model.feet)


def _sits(model: LimbModel) -> bool:
    if len(model.feet) != 4 or not model.pairs:
        return False
    hind = [foot for foot in model.feet if foot.order == 1]
    return all(foot.leg.shortest < 0.55 and not foot.leg.sprawls and foot.length >= MIN_SITTING_FOOT for foot in hind)


def _grazes(model: LimbModel) -> bool:
    if not _looks(model) or model.is_upright or len(model.neck) < 2:
        return False
    ahead = model.skeleton.positions[model.neck[-1], 0] - model.skeleton.positions[0, 0]
    return bool(_neck_reach(model)[1] - MAX_SHOULDER_DROP * max(ahead, 0.0) < 2 * MOUTH_HEIGHT)


ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action("idle", scaled_duration(4.0), _stands, "legs to stand on", idle),
        Action("look", scaled_duration(3.2), _looks, "a neck or head", look),
        Action("turn", scaled_duration(0.9), _turns, "two, four, six or eight legs in pairs", turn),
        Action("crouch", scaled_duration(2.4), _folds, "legs with knees", crouch),
        Action("sit", scaled_duration(3.6), _sits, "four legs under the body, the hind ones on paws and able to fold", sit),
        Action("eat", scaled_duration(4.0), _grazes, "a neck that reaches for the ground", eat),
        JUMP,
        *UPRIGHT_ACTIONS,
    )
}
