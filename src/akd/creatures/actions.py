"""What a body can do without going anywhere: stand, look around, turn, crouch, sit, eat. All feet stay planted."""

from dataclasses import replace

import numpy as np

from akd.character.limb_model import LimbModel
from akd.contact.easing import keyed_curve
from akd.creatures.action import Action, ActionParameters, lasting, still, vectors, wave
from akd.creatures.carriage import choreography, spread, tail_wave
from akd.creatures.footing import feet_centre, walking_feet
from akd.creatures.jump import JUMP
from akd.creatures.perform import Choreography
from akd.creatures.upright_actions import DANCES, FIGHTS, relaxed_arms
from akd.gait.stride import GaitParameters, longest_stride
from akd.gait.table import gait_for

MOUTH = 0.25
"""The head's bone ends so high above the ground when the mouth is down [ℓ]."""
BOW = 0.22
"""How far shoulders are lowered for a short neck [rad]."""
HANGING = -1.7
"""No head hangs steeper than this: it would look back between the legs [rad]."""
SITTING_FOOT = 0.12
"""Animals with shorter hind feet than this do not sit like dogs [ℓ]: they stand on hooves."""


def idle(body: LimbModel, cue: ActionParameters) -> Choreography:
    """Breathing, shifting weight, a slow look and a slow tail."""
    u, k = cue.u, cue.amount
    half = np.mean([abs(foot.centre[2]) for foot in body.feet]) if body.feet else 0.0
    shift = vectors(u, y=0.002 * k * (wave(u, 2) - 1), z=0.12 * k * half * cue.side * wave(u))
    lean = vectors(u, x=-0.012 * k * cue.side * wave(u))
    bends = spread(body.spine, vectors(u, z=0.012 * k * wave(u, 2)))
    bends |= spread(body.neck, vectors(u, y=0.1 * k * wave(u, 1, 0.2), z=0.03 * k * wave(u, 2)))
    return replace(still(body, cue), shift=shift, lean=lean, bends=bends | _slow_tail(body, cue), arms=relaxed_arms(body, cue))


def look(body: LimbModel, cue: ActionParameters) -> Choreography:
    """To one side, to the other, and ahead again."""
    turn = cue.side * cue.amount * keyed_curve([(0, 0), (0.22, 0.75), (0.4, 0.75), (0.62, -0.75), (0.8, -0.75), (1, 0)], cue.u)
    up = cue.amount * keyed_curve([(0, 0), (0.25, 0.12), (0.5, -0.05), (0.75, 0.12), (1, 0)], cue.u)
    quiet = idle(body, replace(cue, amount=0.3 * cue.amount))
    bends = (
        quiet.bends | spread(body.neck, vectors(cue.u, y=0.85 * turn, z=up)) | spread(body.spine, vectors(cue.u, y=0.15 * turn))
    )
    return replace(quiet, bends=bends)


def turn(body: LimbModel, cue: ActionParameters) -> Choreography:
    """One round of steps on the spot, as far around as the legs allow."""
    gait = replace(gait_for("walk", len(body.feet)), bounce=0.1, strike=0.0, heel_rise=0.2, arm_swing=0.1, twist=0.0, sway=0.015)
    arm = max(float(np.linalg.norm(foot.centre - feet_centre(body), ord=2)) for foot in body.feet)
    angle = min(0.5 * longest_stride(body, gait, gait.duty) / max(arm, 0.2), 0.8) * min(cue.amount, 1.1)
    stride = GaitParameters(gait, np.array(gait.phases[len(body.feet)]), gait.duty, 1.0, 0.0, -cue.side * angle)
    return choreography(body, stride, walking_feet(body, stride, cue.u), cue.u)


def crouch(body: LimbModel, cue: ActionParameters) -> Choreography:
    """Down, wait, up."""
    down = keyed_curve([(0, 0), (0.3, 1), (0.65, 1), (1, 0)], cue.u)
    depth = min(0.45 * cue.amount, *(0.75 * (1 - foot.leg.shortest / foot.leg.longest) for foot in body.feet))
    tilt = 0.5 * body.is_upright * down
    bends = spread(body.spine, vectors(cue.u, z=-0.5 * tilt))
    quiet = still(body, cue)
    return replace(
        quiet, shift=vectors(cue.u, x=-0.05 * down * body.is_upright, y=-depth * down), lean=vectors(cue.u, z=-0.5 * tilt),
        bends=bends | _slow_tail(body, cue, -0.5 * depth * down), arms=relaxed_arms(body, cue, forward=0.6 * down), gaze=0.8,
    )  # fmt: skip


def sit(body: LimbModel, cue: ActionParameters) -> Choreography:
    """Rump down, fore legs straight, and up again: the trunk turns about the shoulders."""
    down = keyed_curve([(0, 0), (0.3, 1), (0.7, 1), (1, 0)], cue.u)
    rest = body.skeleton.positions
    shoulder = np.mean([rest[foot.leg.hip] for foot in body.feet if foot.order == 0], axis=0)
    pitch = _sitting_angle(body, shoulder) * down * min(cue.amount, 1.0)
    x, y, _ = rest[0] - shoulder
    cos, sin = np.cos(pitch), np.sin(pitch)
    shift = vectors(cue.u, cos * x - sin * y - x, sin * x + cos * y - y - 0.005)
    bends = spread(body.neck, vectors(cue.u, y=0.3 * cue.side * down * wave(cue.u, 2))) | _slow_tail(body, cue, -1.1 * pitch)
    return replace(still(body, cue), shift=shift, lean=vectors(cue.u, z=pitch), bends=bends, gaze=0.9)


def _sitting_angle(body: LimbModel, shoulder: np.ndarray) -> float:
    """How far the trunk turns about the shoulders until rump or folded hind legs stop it, at most 0.95 rad."""
    rest, angles = body.skeleton.positions, np.linspace(0, 0.95, 96)[:, None]
    rump = body.rig.mesh.vertices[body.rig.weights[:, 0] > 0.5]
    points = np.concatenate((rump, [rest[0]]))[:, :2] - shoulder[:2]
    lowest = shoulder[1] + (np.sin(angles) * points[:, 0] + np.cos(angles) * points[:, 1]).min(1)
    hips = np.array([rest[foot.leg.hip] for foot in body.feet if foot.order == 1])[:, :2] - shoulder[:2]
    hip_height = shoulder[1] + (np.sin(angles) * hips[:, 0] + np.cos(angles) * hips[:, 1]).min(1)
    folded = max(foot.leg.shortest + rest[foot.leg.foot, 1] for foot in body.feet if foot.order == 1) + 0.06
    stopped = (lowest < 0.02) | (hip_height < max(folded, 0.3))
    return float(angles[np.argmax(stopped) if stopped.any() else -1, 0])


def eat(body: LimbModel, cue: ActionParameters) -> Choreography:
    """Head down to the ground, a few bites, head up; a neck too short for that is helped by lower shoulders."""
    down = keyed_curve([(0, 0), (0.25, 1), (0.8, 1), (1, 0)], cue.u)
    bites = 0.06 * cue.amount * down * wave(cue.u, 5)
    bend, above = _neck_reach(body)
    root, snout = body.skeleton.positions[0], body.skeleton.positions[body.neck[-1]]
    tilt = min(max(above - MOUTH, 0.0) / max(snout[0] - root[0], 0.5), BOW) * down
    share = _neck_share(body)
    bends = {joint: vectors(cue.u, z=part * (bites - bend * down)) for joint, part in zip(body.neck, share, strict=True)}
    bends |= _slow_tail(body, cue, tilt)
    return replace(still(body, cue), shift=vectors(cue.u, y=-0.01 * down), lean=vectors(cue.u, z=-tilt), bends=bends, gaze=0.0)


def _neck_reach(body: LimbModel) -> tuple[float, float]:
    """How far the neck bends until the mouth is down or the head hangs [rad], and how high the mouth is then [ℓ]."""
    rest, neck = body.skeleton.positions, body.neck
    chain = np.concatenate((rest[list(neck)], body.skeleton.tails[[neck[-1]]]))
    bones = np.diff(chain, axis=0)
    direction, length = np.arctan2(bones[:, 1], bones[:, 0]), np.hypot(bones[:, 0], bones[:, 1])
    angles = np.linspace(0, 2.5, 126)
    bent = direction - angles[:, None] * np.cumsum(_neck_share(body))
    height = chain[0, 1] + (length * np.sin(bent)).sum(1)
    stopped = (height < MOUTH) | (bent[:, -1] < HANGING)
    last = int(np.argmax(stopped)) if stopped.any() else len(angles) - 1
    return float(angles[last]), float(height[last])


def _neck_share(body: LimbModel) -> np.ndarray:
    """A neck is lowered mostly at its base."""
    share = np.arange(len(body.neck), 0, -1.0) ** 2
    return share / share.sum()


def _slow_tail(body: LimbModel, cue: ActionParameters, pitch: np.ndarray | float = 0.0) -> dict[int, np.ndarray]:
    return {joint: bend for tail in body.tails for joint, bend in tail_wave(tail, 2 * cue.u, 0.2 * cue.amount, pitch).items()}


def _stands(body: LimbModel) -> bool:
    return len(body.feet) > 0


def _looks(body: LimbModel) -> bool:
    return bool(body.feet and body.neck)


def _turns(body: LimbModel) -> bool:
    return bool(body.pairs) and len(body.feet) in (2, 4, 6, 8)


def _folds(body: LimbModel) -> bool:
    return _stands(body) and all(foot.leg.shortest < 0.8 * foot.leg.longest for foot in body.feet)


def _sits(body: LimbModel) -> bool:
    if len(body.feet) != 4 or not body.pairs:
        return False
    hind = [foot for foot in body.feet if foot.order == 1]
    return all(foot.leg.shortest < 0.55 and not foot.leg.sprawls and foot.length >= SITTING_FOOT for foot in hind)


def _grazes(body: LimbModel) -> bool:
    if not _looks(body) or body.is_upright or len(body.neck) < 2:
        return False
    ahead = body.skeleton.positions[body.neck[-1], 0] - body.skeleton.positions[0, 0]
    return bool(_neck_reach(body)[1] - BOW * max(ahead, 0.0) < 2 * MOUTH)


ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action("idle", lasting(4.0), _stands, "legs to stand on", idle),
        Action("look", lasting(3.2), _looks, "a neck or head", look),
        Action("turn", lasting(0.9), _turns, "two, four, six or eight legs in pairs", turn),
        Action("crouch", lasting(2.4), _folds, "legs with knees", crouch),
        Action("sit", lasting(3.6), _sits, "four legs under the body, the hind ones on paws and able to fold", sit),
        Action("eat", lasting(4.0), _grazes, "a neck that reaches for the ground", eat),
        JUMP,
        *FIGHTS,
        *DANCES,
    )
}
