"""Random poses of a creature: gaits and actions at random instants, free reaching and looking, and blends of these.

Everything is written as targets of the body and solved by inverse kinematics, so legs fold as they are built and feet are where
they should be, also half way from a gallop to sitting down.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.character.limb_model import FrameVectors, LimbModel, limb_model
from akd.creatures.actions import ACTIONS
from akd.creatures.body_ik import LOW_FOOT, MAX_EXTENSION, solve_motion
from akd.creatures.gait_targets import arm_directions, gait_targets, spread
from akd.creatures.gaits import actions_for, gaits_for
from akd.creatures.targets import ActionParameters, BodyTargets, FootTargets, standing_targets, walking_feet
from akd.creatures.upright_actions import relaxed_arms
from akd.gait.table import GAITS, choose_parameters
from akd.rig import Rig
from akd.skeleton import Pose

GAIT_CLIPS, ACTION_CLIPS, FREE_FRAMES = 4, 4, 10
"""Number of gaits and actions of an individual, and of free poses."""
GAIT_FRAMES, ACTION_FRAMES = 5, 4
"""Poses of each gait and of each action."""
BLEND_SHARE = 0.25
"""Share of the poses that are blended with another one: transitions."""
EXTRA_MOTION_SHARE = 0.6
"""Share of the poses of gaits and actions in which head, tail and arms move independently, too."""


def draw_poses(rig: Rig, rng: np.random.Generator) -> Pose:
    """About fifty poses of an individual."""
    body = limb_model(rig)
    gaits, actions = gaits_for(rig), actions_for(rig)
    chosen = [_gait(body, str(name), rng) for name in rng.choice(gaits, GAIT_CLIPS)] if gaits else []
    chosen += [_action(body, str(name), rng) for name in rng.choice(actions, ACTION_CLIPS)] if actions else []
    moving = [_add_extra_motion(body, part, rng, EXTRA_MOTION_SHARE) for part in chosen]
    every = _joined([*moving, _add_extra_motion(body, _free_stand(body, FREE_FRAMES, rng), rng, 1.0)])
    count = len(every.yaw)
    weight = np.where(rng.random(count) < BLEND_SHARE, rng.uniform(0.2, 0.8, count), 0.0)
    mixed = _blended(every, _selected(every, rng.permutation(count)), weight)
    return solve_motion(body, _within_reach(body, mixed), 30.0).pose


def _gait(body: LimbModel, name: str, rng: np.random.Generator) -> BodyTargets:
    """A few instants of a stride, in place: how far a body has travelled is no part of a pose."""
    gait, seed = GAITS[name], int(rng.integers(1 << 30))
    turn = float(rng.normal(0, 0.3))
    stride = choose_parameters(body, gait, seed=seed, speed=None, length=None, duty=None, turn=turn, style=None)
    time = stride.period * rng.random(GAIT_FRAMES)
    return gait_targets(body, stride, walking_feet(body, stride, time), time)


def _action(body: LimbModel, name: str, rng: np.random.Generator) -> BodyTargets:
    """A few instants of an action."""
    u = 0.05 + 0.9 * rng.random(ACTION_FRAMES)
    return ACTIONS[name].targets(body, ActionParameters(u, float(rng.uniform(0.7, 1.2)), float(rng.choice((-1.0, 1.0)))))


def _free_stand(body: LimbModel, count: int, rng: np.random.Generator) -> BodyTargets:
    """Free stands: leaning, half crouched, a foot lifted or put aside."""
    parameters = ActionParameters(np.linspace(0, 1, count))
    quiet = standing_targets(body, parameters)
    folds = min((1 - foot.leg.shortest / foot.leg.longest for foot in body.feet), default=0.0)
    low = -min(0.45, 0.8 * folds) * rng.random(count) ** 2
    shift = rng.normal(0, 1, (count, 3)) * (0.08, 0.0, 0.05) + low[:, None] * (0.0, 1.0, 0.0)
    lean = rng.normal(0, 1, (count, 3)) * (0.08, 0.12, 0.18 if len(body.feet) == 2 else 0.1)
    arms = relaxed_arms(body, parameters)
    return replace(quiet, shift=shift, lean=lean, feet=_free_feet(body, quiet.feet, rng), arms=arms, gaze=0.4)


def _free_feet(body: LimbModel, standing: FootTargets, rng: np.random.Generator) -> FootTargets:
    """Feet put down at random near where they stand; some are lifted."""
    count, feet = standing.yaw.shape
    away = rng.normal(0, 1, (count, feet, 3)) * (0.1, 0.0, 0.04)
    lifted = (rng.random((count, feet)) < 0.35 / max(feet / 2, 1)) * rng.random((count, feet))
    raised = lifted[..., None] * (rng.uniform(-0.5, 0.9, (count, feet, 1)) * (1.0, 0, 0) + (0.0, 0.6, 0.0))
    sprawl = np.array([foot.leg.sprawls for foot in body.feet], float)
    return FootTargets(
        standing.place + away + raised, standing.yaw + rng.normal(0, 0.12, (count, feet)),
        -1.2 * lifted * (1 - sprawl) * rng.uniform(-0.1, 1.0, (count, feet)),
    )  # fmt: skip


def _add_extra_motion(body: LimbModel, part: BodyTargets, rng: np.random.Generator, share: float) -> BodyTargets:
    """Independent motion of head, back, tails, wings and arms in a share of the frames; of ears and jaws a little in all."""
    count = len(part.yaw)
    active = (rng.random((count, 1)) < share).astype(float)

    def bend(chain: tuple[int, ...], size: tuple[float, float, float]) -> dict[int, FrameVectors]:
        """One bend over the whole chain, and a little at each joint."""
        whole = spread(chain, active * rng.normal(0, 1, (count, 3)) * size)
        return {joint: vector + active * rng.normal(0, 0.15, (count, 3)) * size / len(chain) for joint, vector in whole.items()}

    added = bend(body.spine, (0.12, 0.18, 0.18)) | bend(body.neck, (0.12, 0.45, 0.35))
    for tail in body.tails:
        added |= bend(tail, (0.0, 0.7, 0.45))
    added |= _wings(body, active, rng) | _small_parts(body, count, rng)
    if not body.is_humanoid:
        for arm in body.arms:
            added |= bend((arm.upper,), (0.1, 0.15, 0.3)) | (bend((arm.fore,), (0, 0, 0.3)) if arm.fore is not None else {})
    vectors = {joint: part.vectors.get(joint, 0.0) + vector for joint, vector in added.items()}
    return replace(part, vectors=part.vectors | vectors, arms=_free_arms(body, part, active[:, 0], rng))


def _free_arms(
    body: LimbModel, part: BodyTargets, active: Float[np.ndarray, " frame"], rng: np.random.Generator
) -> dict[int, tuple[FrameVectors, FrameVectors]]:
    """Arms of humanoids reach in random directions, each independently, as far as shoulders and elbows allow."""
    if not body.is_humanoid:
        return part.arms
    out, count = {}, len(active)
    shared = rng.random((3, count))
    for number, arm in enumerate(body.arms):
        throw = np.where(rng.random(count) < 0.3, shared, rng.random((3, count)))
        forward, elbow, away = -0.7 + 3.1 * throw[0] ** 1.5, 2.2 * throw[1] ** 1.5, 0.05 + 1.3 * throw[2] ** 2
        free = arm_directions(arm.side, forward, elbow, away)
        used = (active * (rng.random(count) < 0.6))[:, None]
        resting = part.arms.get(number) or arm_directions(arm.side, 0 * forward, 0.15 + 0 * forward)
        out[number] = (_blended_direction(resting[0], free[0], used), _blended_direction(resting[1], free[1], used))
    return out


def _wings(body: LimbModel, active: np.ndarray, rng: np.random.Generator) -> dict[int, FrameVectors]:
    """Wings beat mostly in phase."""
    out: dict[int, FrameVectors] = {}
    count = len(active)
    beat, sweep = rng.normal(0, 0.5, count), rng.normal(0, 0.25, count)
    for wing in body.wings:
        side = float(np.sign(body.skeleton.positions[wing[-1], 2])) or 1.0
        own = rng.normal(0, 0.1, (2, count))
        for rank, joint in enumerate(wing):
            part = (0.8 if rank == 0 else 0.4) / (1 + 0.3 * rank)
            flap = np.stack((-side * (beat + own[0]), side * (sweep + own[1]), 0 * beat), -1)
            out[joint] = active * part * flap
    return out


def _small_parts(body: LimbModel, count: int, rng: np.random.Generator) -> dict[int, FrameVectors]:
    """All other joints (ears, jaws, fingers) move a little, left and right mostly alike."""
    skeleton = body.skeleton
    known = {0, *body.spine, *body.neck, *(j for chain in (*body.tails, *body.wings) for j in chain)}
    known |= {joint for limb in skeleton.limbs if limb.kind == "leg" for joint in limb.joints}
    known |= {joint for arm in body.arms for joint in (arm.upper, arm.fore) if joint is not None}
    out: dict[int, FrameVectors] = {}
    for joint in range(skeleton.joint_count):
        partner = int(skeleton.mirror[joint])
        own = rng.normal(0, 0.08, (count, 3))
        if joint not in known:
            out[joint] = own if partner >= joint else 0.3 * own + out[partner] * (-1.0, -1.0, 1.0)
    return out


def _within_reach(body: LimbModel, part: BodyTargets) -> BodyTargets:
    """Each pose as low as its own feet need: ``solve_motion`` lowers a clip as a whole, and these poses are no clip."""
    rest = body.skeleton.positions
    leaning = Rotation.from_rotvec(part.lean).as_matrix()
    low = np.zeros(len(part.yaw))
    for number, foot in enumerate(body.feet):
        hip = rest[0] + part.shift + leaning @ (rest[foot.leg.hip] - rest[0])
        target = part.feet.place[:, number] + (rest[foot.leg.foot] - foot.centre) * (len(foot.leg.chain) > 1)
        away = target - hip
        height = np.sqrt(np.maximum((MAX_EXTENSION * foot.leg.longest) ** 2 - np.square(away[:, [0, 2]]).sum(-1), 0.0))
        low = np.maximum(low, np.where(part.feet.place[:, number, 1] < LOW_FOOT, -away[:, 1] - height, 0.0))
    return replace(part, shift=part.shift - low[:, None] * (0.0, 1.0, 0.0))


def _blended_direction(one: FrameVectors, other: FrameVectors, weight: np.ndarray) -> FrameVectors:
    """The unit direction between two."""
    mixed = (1 - weight) * one + weight * other
    return mixed / np.maximum(np.linalg.norm(mixed, axis=-1, keepdims=True), 1e-6)


def _joined(parts: list[BodyTargets]) -> BodyTargets:
    """The targets one after the other, each moved to where the body stands at rest, facing ahead."""
    counts = [len(part.yaw) for part in parts]
    joints = sorted({joint for part in parts for joint in part.vectors})
    arms = sorted({arm for part in parts for arm in part.arms})
    here = [_without_travel(part) for part in parts]
    vectors = {
        joint: np.concatenate([part.vectors.get(joint, np.zeros((n, 3))) for part, n in zip(here, counts, strict=True)])
        for joint in joints
    }
    known = {arm: next(part.arms[arm] for part in here if arm in part.arms) for arm in arms}
    reached = {
        arm: tuple(
            np.concatenate([
                part.arms[arm][k] if arm in part.arms else np.repeat(known[arm][k][:1], n, 0)
                for part, n in zip(here, counts, strict=True)
            ]) for k in (0, 1)
        ) for arm in arms
    }  # fmt: skip
    feet = FootTargets(*(np.concatenate([getattr(part.feet, name) for part in here]) for name in ("place", "yaw", "pitch")))
    shift, yaw, lean = (np.concatenate([getattr(part, name) for part in here]) for name in ("shift", "yaw", "lean"))
    gaze = float(np.mean([part.gaze for part in here]))
    return BodyTargets(shift, yaw, lean, feet, vectors, {arm: (a, b) for arm, (a, b) in reached.items()}, gaze)


def _without_travel(part: BodyTargets) -> BodyTargets:
    """The targets without their travel, frame by frame; the feet move along."""
    travel = part.shift * (1.0, 0.0, 1.0)
    cos, sin = np.cos(-part.yaw), np.sin(-part.yaw)
    zero = np.zeros_like(cos)
    back = np.stack((cos, zero, sin, zero, zero + 1, zero, -sin, zero, cos), -1).reshape(-1, 3, 3)
    place = (part.feet.place - travel[:, None]) @ np.swapaxes(back, 1, 2)
    feet = FootTargets(place, part.feet.yaw - part.yaw[:, None], part.feet.pitch)
    return replace(part, shift=part.shift * (0.0, 1.0, 0.0), yaw=zero, feet=feet)


def _selected(part: BodyTargets, index: np.ndarray) -> BodyTargets:
    """Some frames of targets."""
    feet = FootTargets(*(getattr(part.feet, name)[index] for name in ("place", "yaw", "pitch")))
    vectors = {joint: vector[index] for joint, vector in part.vectors.items()}
    arms = {arm: (a[index], b[index]) for arm, (a, b) in part.arms.items()}
    return replace(
        part, shift=part.shift[index], yaw=part.yaw[index], lean=part.lean[index], feet=feet, vectors=vectors, arms=arms
    )


def _blended(one: BodyTargets, other: BodyTargets, weight: Float[np.ndarray, " frame"]) -> BodyTargets:
    """A share of the way from one to the other, frame by frame."""

    def mixed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a + weight.reshape(-1, *[1] * (a.ndim - 1)) * (b - a)

    parts = (mixed(getattr(one.feet, name), getattr(other.feet, name)) for name in ("place", "yaw", "pitch"))
    feet, share = FootTargets(*parts), weight[:, None]
    arms = {
        arm: (_blended_direction(a, other.arms[arm][0], share), _blended_direction(b, other.arms[arm][1], share))
        for arm, (a, b) in one.arms.items()
    }
    vectors = {joint: mixed(vector, other.vectors[joint]) for joint, vector in one.vectors.items()}
    shift, lean = mixed(one.shift, other.shift), mixed(one.lean, other.lean)
    return replace(one, shift=shift, lean=lean, feet=feet, vectors=vectors, arms=arms)
