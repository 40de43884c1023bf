"""Arms: wrists where the source's are in units of arm length, hands that touch the body on the same place.

An arm is solved as two bones: the elbow opens or closes until the length fits, then the arm swings to the goal. The elbow
stays in its plane and the hand keeps its orientation. Hands that would be in the ground are raised.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d, grey_opening
from scipy.spatial.transform import Rotation

from akd.character.limb_model import FrameVectors, limb_model, skinned
from akd.contact.clearance import MIN_CLEARANCE
from akd.retarget.correspondence import Correspondence, LimbPair, limb_length, middle_place
from akd.retarget.transfer import Performance, limb_points
from akd.rig import Rig
from akd.skeleton import Skeleton

TOUCH, NEAR = 1.35, 2.0
"""A hand nearer to a bone than this many radii of the body there touches it; up to the second it is drawn to the same place."""
TOUCH_SPEED = 0.5
"""A hand that is faster than this, seen from the bone, passes by and does not touch [ℓ/s]."""
MIN_TOUCH = 0.3
"""What is shorter than this is a hand that swings by [s]."""
FADE = 0.06
"""Standard deviation in time with which a touch sets in and ends [s]."""
MAX_STRETCH = 0.995
"""Arms are straightened to this share of their length."""
RADII = {"spine": 0.15, "neck": 0.07, "head": 0.13, "leg": 0.09}
"""Of a person's parts, for skeletons without a mesh [ℓ]."""
HAND_SAMPLES = 24
"""Vertices of an arm that are kept out of the ground."""


class Touch(NamedTuple):
    """Where a hand of the source touches the body."""

    place: Float[np.ndarray, "frame 3"]
    """The same place on the target's body [ℓ]."""
    weight: Float[np.ndarray, " frame"]
    """1 where it touches, 0 where it is far."""


def place_hands(source: Rig, target: Rig, between: Correspondence, seen: Performance, posed: Performance) -> Performance:
    """The target with its wrists where they belong."""
    for pair in between.pairs_of("arm"):
        elbow = middle_place(target.skeleton, pair.target_chain, pair.target_end)
        if elbow is None:
            continue
        posed = _reach(target.skeleton, pair, elbow, posed, _goal(source, target, between, pair, seen, posed))
        for _ in range(2):
            wrist = limb_points(target.skeleton, pair.target_chain, pair.target_end, posed)[:, -1]
            depth = _depth(target, pair, posed)
            if depth.max() > 0:
                posed = _reach(target.skeleton, pair, elbow, posed, wrist + depth[:, None] * np.array([0.0, 1.0, 0.0]))
    return posed


def _goal(
    source: Rig, target: Rig, between: Correspondence, pair: LimbPair, seen: Performance, posed: Performance
) -> FrameVectors:
    """Where the wrist should be: as far from the shoulder as in the source, in arm lengths, or where the hand touches."""
    theirs = limb_points(source.skeleton, pair.source_chain, pair.source_end, seen)
    shoulder = posed.positions[:, pair.target_chain[0]]
    scale = arm_scale(source, target, pair)
    free = shoulder + scale * (theirs[:, -1] - theirs[:, 0])
    touch = find_touch(source, target, between, pair, seen, posed)
    offset = hand_point(target, pair.target_chain, pair.target_end, posed)
    offset = offset - limb_points(target.skeleton, pair.target_chain, pair.target_end, posed)[:, -1]
    return free + touch.weight[:, None] * (touch.place - offset - free)


def arm_scale(source: Rig, target: Rig, pair: LimbPair) -> float:
    """Arm length of the target over that of the source, each in its own ℓ."""
    ours = limb_length(target.skeleton, pair.target_chain, pair.target_end)
    return ours / limb_length(source.skeleton, pair.source_chain, pair.source_end)


def hand_point(rig: Rig, chain: tuple[int, ...], end: int, performance: Performance) -> FrameVectors:
    """The middle of the hand: between wrist and finger tips [ℓ]."""
    wrist = limb_points(rig.skeleton, chain, end, performance)[:, -1]
    if end >= len(chain):
        return wrist
    tip = limb_points(rig.skeleton, chain, len(chain), performance)[:, -1]
    return (wrist + tip) / 2


def find_touch(source: Rig, target: Rig, between: Correspondence, pair: LimbPair, seen: Performance, posed: Performance) -> Touch:
    """Where one hand of the source is near the body, and the same place on the target: on the same bone, as many radii away."""
    hand = hand_point(source, pair.source_chain, pair.source_end, seen)
    nearest, place = np.full(len(hand), np.inf), np.zeros_like(hand)
    for ours, theirs in _body_bones(source, target, between).items():
        radius, our_radius = _radius(source, theirs), _radius(target, ours)
        if radius is None or our_radius is None:
            continue
        start, along = _bone_in_time(source.skeleton, theirs, seen)
        share = np.clip(((hand - start) * along).sum(-1) / np.maximum((along**2).sum(-1), 1e-12), 0.0, 1.0)
        away = hand - start - share[:, None] * along
        radii = np.linalg.norm(away, axis=-1) / radius
        our_start, our_along = _bone_in_time(target.skeleton, ours, posed)
        found = our_start + share[:, None] * our_along + away * our_radius / radius
        still = gaussian_filter1d(_speed(source.skeleton, theirs, hand, seen), max(FADE * seen.fps, 0.5), mode="nearest")
        radii = radii + np.maximum(still / TOUCH_SPEED - 1.0, 0.0)
        closer = radii < nearest
        nearest, place = np.where(closer, radii, nearest), np.where(closer[:, None], found, place)
    weight = np.clip((NEAR - nearest) / (NEAR - TOUCH), 0.0, 1.0)
    weight = grey_opening(weight, size=min(max(round(MIN_TOUCH * seen.fps), 1), len(weight)), mode="nearest")
    weight = gaussian_filter1d(weight, max(FADE * seen.fps, 0.5), mode="nearest")
    # The place is only as smooth as the nearest bone is constant, so it is smoothed where it counts.
    share = np.where(nearest < NEAR, 1.0, 1e-6)[:, None]
    width = max(FADE * seen.fps, 0.5)
    smooth = gaussian_filter1d(share * place, width, axis=0, mode="nearest") / gaussian_filter1d(
        share, width, axis=0, mode="nearest"
    )
    return Touch(np.where(weight[:, None] > 0.99, place, smooth), weight)


def _body_bones(source: Rig, target: Rig, between: Correspondence) -> dict[int, int]:
    """Bones of the target's trunk, head and upper legs, and the source's that they follow."""
    out: dict[int, int] = {}
    for limb in target.skeleton.limbs:
        joints = limb.joints[:2] if limb.kind == "leg" else limb.joints if limb.kind in RADII else ()
        for joint in joints:
            follows = between.second[joint] if between.weight[joint] > 0.5 else between.first[joint]
            if follows >= 0 and int(follows) not in out.values():
                out[joint] = int(follows)
    return out


def _radius(rig: Rig, joint: int) -> float | None:
    """Mean distance of the skin of a bone from its axis [ℓ]; that of a person where there is no mesh."""
    skeleton = rig.skeleton
    start, along = skeleton.positions[joint], skeleton.tails[joint] - skeleton.positions[joint]
    if not rig.mesh.vertex_count:
        kind = next(limb.kind for limb in skeleton.limbs if joint in limb.joints)
        return RADII.get(kind)
    own = rig.mesh.vertices[limb_model(rig).point_owner == joint]
    if len(own) < 4:
        return None
    share = np.clip((own - start) @ along / max(along @ along, 1e-12), 0.0, 1.0)
    return float(np.linalg.norm(own - start - share[:, None] * along, axis=1).mean())


def _speed(skeleton: Skeleton, joint: int, point: FrameVectors, performance: Performance) -> Float[np.ndarray, " frame"]:
    """How fast a point moves, seen from a bone [ℓ/s]."""
    turned = np.swapaxes(performance.rotations[:, joint], -1, -2)
    local = (turned @ (point - performance.positions[:, joint])[..., None])[..., 0]
    return np.linalg.norm(np.gradient(local, axis=0), axis=-1) * performance.fps


def _bone_in_time(skeleton: Skeleton, joint: int, performance: Performance) -> tuple[FrameVectors, FrameVectors]:
    along = performance.rotations[:, joint] @ (skeleton.tails[joint] - skeleton.positions[joint])
    return performance.positions[:, joint], along


def _depth(rig: Rig, pair: LimbPair, posed: Performance) -> Float[np.ndarray, " frame"]:
    """How far the arm beyond its elbow is in the ground, or too near to it [ℓ]."""
    if not rig.mesh.vertex_count:
        return np.zeros(len(posed.positions))
    below = np.flatnonzero(rig.skeleton.is_ancestor[pair.target_chain[0]])
    own = np.flatnonzero(np.isin(limb_model(rig).point_owner, below))
    if not own.size:
        return np.zeros(len(posed.positions))
    spread = own[:: max(len(own) // HAND_SAMPLES, 1)]
    heights = skinned(rig, np.union1d(spread, own[_extremes(rig.mesh.vertices[own])]), posed.rotations, posed.positions)[..., 1]
    return np.maximum(MIN_CLEARANCE - heights.min(1), 0.0)


def _extremes(points: Float[np.ndarray, "point 3"]) -> np.ndarray:
    """The outermost points along some directions."""
    directions = np.array([(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)])
    return np.unique((points @ directions.T).argmax(0))


def _reach(skeleton: Skeleton, pair: LimbPair, elbow: int, posed: Performance, goal: FrameVectors) -> Performance:
    """Two-bone inverse kinematics of one arm; frames are independent."""
    chain, end = pair.target_chain, pair.target_end
    points = limb_points(skeleton, chain, end, posed)
    a, b, c = points[:, 0], points[:, elbow], points[:, -1]
    upper, fore = np.linalg.norm(b - a, axis=-1), np.linalg.norm(c - b, axis=-1)
    length = np.clip(np.linalg.norm(goal - a, axis=-1), np.abs(upper - fore) + 0.02 * fore, MAX_STRETCH * (upper + fore))
    bend = np.arccos(np.clip((upper**2 + fore**2 - length**2) / np.maximum(2 * upper * fore, 1e-12), -1.0, 1.0))
    straight = np.arccos(np.clip(((a - b) * (c - b)).sum(-1) / np.maximum(upper * fore, 1e-12), -1.0, 1.0))
    axis = np.cross(b - a, c - b)
    fallback = np.cross(b - a, posed.rotations[:, 0] @ np.array([1.0, 0.0, 0.0]))
    axis = np.where(np.linalg.norm(axis, axis=-1, keepdims=True) > 1e-3 * (upper * fore)[:, None], axis, fallback)
    axis = axis / np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-12)
    open_ = Rotation.from_rotvec((straight - bend)[:, None] * axis).as_matrix()
    reached = b + (open_ @ (c - b)[..., None])[..., 0] - a
    swing = smallest_rotations(reached, goal - a)
    rotations = posed.rotations.copy()
    below_elbow = skeleton.is_ancestor[chain[elbow]]
    hand = skeleton.is_ancestor[chain[end]] if end < len(chain) else np.zeros(skeleton.joint_count, bool)
    for joint in np.flatnonzero(skeleton.is_ancestor[chain[0]] & ~hand):
        rotations[:, joint] = swing @ (open_ @ rotations[:, joint] if below_elbow[joint] else rotations[:, joint])
    return _posed(skeleton, rotations, posed)


def _posed(skeleton: Skeleton, rotations: np.ndarray, before: Performance) -> Performance:
    """Where joints are under other rotations on the stage."""
    positions = before.positions.copy()
    for joint in range(1, skeleton.joint_count):
        parent = skeleton.parents[joint]
        offset = skeleton.positions[joint] - skeleton.positions[parent]
        positions[:, joint] = positions[:, parent] + rotations[:, parent] @ offset
    return Performance(rotations, positions, before.fps)


def smallest_rotations(a: FrameVectors, b: FrameVectors) -> Float[np.ndarray, "frame 3 3"]:
    """In every frame the smallest rotation from the direction of a to that of b."""
    axis = np.cross(a, b)
    sine, cosine = np.linalg.norm(axis, axis=-1), (a * b).sum(-1)
    angle = np.arctan2(sine, cosine)
    return Rotation.from_rotvec(np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 0.0)[:, None] * axis).as_matrix()
