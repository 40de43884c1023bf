"""Which joint of the source each joint of the target follows, and the rotation between their rest poses.

Limbs are matched by label (kind, side, order), never by name. The rotation of every joint away from rest, on the stage, is
``Q_j(t) = R_i(t) A_j`` with R the source's rotations and A_j the rotation that brings the target's rest pose onto the source's:

- *Arms and wings*, and legs of the same shape, are aligned bone by bone from the body outwards, each by the smallest
  rotation that makes its rest direction the source's. So absolute bone directions are carried over, whatever the rest poses
  are (T, A, bent), and twist is that of the source.
- *Legs of another shape* (a dog's on a horse, a person's on an ostrich) are aligned by the line from hip to foot only: bends
  are added to the target's own, and inverse kinematics puts the feet where they belong.
- *Tails* are aligned as a whole, from root to tip: one that hangs at rest is lifted where the source's is.
- *Trunk, neck, head, collar bones and feet* are not aligned: their rest poses are neutral in both, so what is carried over is
  how far they rotate from there. Along trunk, neck and tail rotations are interpolated by normalised arc length.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from akd.character.leg import main_chain
from akd.character.limb_model import MAX_ANKLE_HEIGHT, limb_model
from akd.errors import AkdError
from akd.rig import Rig
from akd.skeleton import Limb, Skeleton

FOLLOWS_PARENT = -1
WRIST_SHARE = 0.6
"""The first joint beyond this share of an arm from shoulder to finger tips is its wrist,"""
ELBOW_SHARE = 0.45
"""and the joint nearest to this share before it is the elbow."""
UPRIGHT_LEG_ANGLE, OTHER_LEG_ANGLE = np.radians(60.0), np.radians(20.0)
"""Legs have the same shape if their bones at rest differ by no more than this, hip-to-foot lines aligned [rad]. People are
bound with bent or straight knees, so theirs may differ by much; the rest pose of an animal is how it stands."""


@dataclass(frozen=True, eq=False)
class LimbPair:
    """A limb of the target and the limb of the source that it follows."""

    source: Limb
    target: Limb
    source_chain: tuple[int, ...]
    """Joints from the pivot (hip, shoulder) outwards to the tip."""
    target_chain: tuple[int, ...]
    source_end: int
    """Place in the chain of the end: ankle, wrist. As long as the chain where that is the tail of its last bone."""
    target_end: int
    same_shape: bool
    """Are bones aligned one by one, or only the limb as a whole?"""


@dataclass(frozen=True, eq=False)
class Correspondence:
    """How the joints of a target follow those of a source."""

    first: Int[np.ndarray, " joint"]
    """The source joint that each target joint follows; −1: it goes with its parent."""
    second: Int[np.ndarray, " joint"]
    """Another, where a joint lies between two of the source's; otherwise the same."""
    weight: Float[np.ndarray, " joint"]
    """Share of the second."""
    align: Float[np.ndarray, "joint 3 3"]
    """A_j: from the target's rest pose to the source's."""
    pairs: tuple[LimbPair, ...]
    """Legs, arms and wings that follow a limb of the source, in the order of the target's labels."""
    notes: tuple[str, ...]
    """Limbs that the source or the target lacks."""

    def pairs_of(self, kind: str) -> list[LimbPair]:
        return [pair for pair in self.pairs if pair.target.kind == kind]


def correspondence(source: Rig, target: Rig) -> Correspondence:
    """Match two rigs of the same build by the labels of their limbs."""
    _check_builds(source, target)
    ours, theirs = target.skeleton, source.skeleton
    count = ours.joint_count
    first, second = np.full(count, FOLLOWS_PARENT), np.full(count, FOLLOWS_PARENT)
    weight, align = np.zeros(count), np.tile(np.eye(3), (count, 1, 1))

    def follow(joints: list[int], follows: list[tuple[int, int, float]]) -> None:
        for joint, (one, other, share) in zip(joints, follows, strict=True):
            first[joint], second[joint], weight[joint] = one, other, share

    follow(*_trunk(source, target))
    pairs, notes = list[LimbPair](), list[str]()
    theirs_by_label = {(limb.kind, limb.side, limb.order): limb for limb in theirs.limbs}
    for limb in ours.limbs:
        match = theirs_by_label.get((limb.kind, limb.side, limb.order))
        if match is None:
            notes.append(f"{source.name} has no {_called(limb)}, so that of {target.name} stays as at rest.")
            continue
        if limb.kind in ("neck", "head", "tail"):
            chain = main_chain(ours, limb)
            their_chain = main_chain(theirs, match)
            follow(chain, _along(theirs, their_chain, ours, chain))
            if limb.kind == "tail":
                align[chain] = smallest_rotation(_line(ours, chain, len(chain)), _line(theirs, their_chain, len(their_chain)))
        elif limb.kind != "spine":
            pair = _pair(source, target, match, limb)
            pairs.append(pair)
            _follow_limb(theirs, ours, pair, first, second, align)
        _follow_branches(theirs, ours, match, limb, first, second, align)
    left_out = [limb for limb in theirs.limbs if not any(_label(limb) == _label(other) for other in ours.limbs)]
    notes += [f"{target.name} has no {_called(limb)}: what it does in the clip is left out." for limb in left_out]
    return Correspondence(first, second, weight, align, tuple(pairs), tuple(notes))


def _check_builds(source: Rig, target: Rig) -> None:
    for rig in (source, target):
        if not rig.skeleton.limbs:
            raise AkdError(f"The limbs of {rig.name} are not labelled, so nothing can be matched: load it with load_rig.")
    if len(source.legs) != len(target.legs):
        raise AkdError(
            f"A clip of a body with {_legs(source)} does not fit one with {_legs(target)}: {source.name} and {target.name}"
            " must be of the same build."
        )


def _legs(rig: Rig) -> str:
    return f"{len(rig.legs) or 'no'} legs"


def _label(limb: Limb) -> tuple[str, str, int]:
    return limb.kind, limb.side, limb.order


def _called(limb: Limb) -> str:
    side = {"L": "left ", "R": "right ", "C": ""}[limb.side]
    return f"{side}{limb.kind}" + (f" number {limb.order + 1}" if limb.order else "")


def _trunk(source: Rig, target: Rig) -> tuple[list[int], list[tuple[int, int, float]]]:
    """Joints of the target's trunk, and between which of the source's each lies along the axis from hips to neck."""
    ours, theirs = _axial_joints(target.skeleton), _axial_joints(source.skeleton)
    at, known = _trunk_places(target, ours), _trunk_places(source, theirs)
    if len(ours) == len(theirs) and np.allclose(at, known, atol=0.02):
        return ours, [(joint, joint, 0.0) for joint in theirs]
    return ours, _between(theirs, known, at)


def _axial_joints(skeleton: Skeleton) -> list[int]:
    """The root, the main chain of the spine, and every trunk joint that a leg, arm or neck hangs on."""
    spine = {joint for limb in skeleton.limbs_of("spine") for joint in limb.joints} | {0}
    ends = [limb.tip for limb in skeleton.limbs_of("spine")]
    ends += [int(skeleton.parents[limb.joints[0]]) for limb in skeleton.limbs if limb.kind != "spine"]
    above = np.any([skeleton.is_ancestor[:, end] for end in ends if end >= 0], axis=0)
    return sorted(joint for joint in spine if above[joint])


def _trunk_places(rig: Rig, joints: list[int]) -> Float[np.ndarray, " joint"]:
    """Where the middle of each trunk bone is, from the hindmost hips (0) to the neck (1)."""
    skeleton, legs = rig.skeleton, rig.legs
    hind = [leg.joints[0] for leg in legs if leg.order == max(x.order for x in legs)] or [0]
    front = [limb.joints[0] for kind in ("neck", "head") for limb in skeleton.limbs_of(kind)][:1]
    front = front or [limb.joints[0] for limb in skeleton.limbs_of("arm")] or [joints[-1]]
    start, end = skeleton.positions[hind].mean(0), skeleton.positions[front].mean(0)
    start, end = start * (1, 1, 0), end * (1, 1, 0)
    on_axis = [child for child in joints if child]
    middle = []
    for joint in joints:
        below = [child for child in on_axis if skeleton.parents[child] == joint]
        tail = skeleton.positions[below].mean(0) if below else skeleton.tails[joint]
        middle.append((skeleton.positions[joint] + tail) / 2)
    axis = end - start
    return (np.array(middle) - start) @ axis / max(float(axis @ axis), 1e-9)


def _along(theirs: Skeleton, source: list[int], ours: Skeleton, target: list[int]) -> list[tuple[int, int, float]]:
    """Between which bones of a source chain each bone of a target chain lies, by normalised arc length."""
    return _between(source, _middles(theirs, source), _middles(ours, target))


def _between(
    joints: list[int], known: Float[np.ndarray, " bone"], at: Float[np.ndarray, " place"]
) -> list[tuple[int, int, float]]:
    order = np.argsort(known, kind="stable")
    joints, known = [joints[k] for k in order], known[order]
    out = []
    for place in at:
        k = int(np.clip(np.searchsorted(known, place) - 1, 0, max(len(joints) - 2, 0)))
        if len(joints) == 1:
            out.append((joints[0], joints[0], 0.0))
            continue
        span = known[k + 1] - known[k]
        share = float(np.clip((place - known[k]) / span, 0.0, 1.0)) if span > 1e-9 else 0.0
        out.append((joints[k], joints[k + 1], share))
    return out


def _lengths(skeleton: Skeleton, chain: list[int] | tuple[int, ...]) -> Float[np.ndarray, " bone"]:
    """Lengths of the bones of a chain, the last to its tail [ℓ]."""
    ends = np.concatenate((skeleton.positions[list(chain)], skeleton.tails[[chain[-1]]]))
    return np.linalg.norm(np.diff(ends, axis=0), axis=1)


def _starts(skeleton: Skeleton, chain: list[int] | tuple[int, ...]) -> Float[np.ndarray, " joint"]:
    """Where the joints of a chain are along it, as shares of its length."""
    length = _lengths(skeleton, chain)
    return np.concatenate(([0.0], np.cumsum(length)[:-1])) / max(float(length.sum()), 1e-9)


def _middles(skeleton: Skeleton, chain: list[int]) -> Float[np.ndarray, " bone"]:
    length = _lengths(skeleton, chain)
    return _starts(skeleton, chain) + length / max(float(length.sum()), 1e-9) / 2


def _pair(source: Rig, target: Rig, match: Limb, limb: Limb) -> LimbPair:
    theirs, their_end = _landmarks(source, match)
    ours, our_end = _landmarks(target, limb)
    same = limb.kind != "leg" or _same_shape(source, theirs[: their_end + 1], target, ours[: our_end + 1])
    return LimbPair(match, limb, tuple(theirs), tuple(ours), their_end, our_end, same)


def _landmarks(rig: Rig, limb: Limb) -> tuple[list[int], int]:
    """The chain of a limb from its pivot on, and the place in it of ankle or wrist."""
    skeleton, chain = rig.skeleton, main_chain(rig.skeleton, limb)
    if limb.kind == "leg":
        return chain, _ankle(rig, limb, chain)
    if limb.kind == "arm":
        upper = next(arm.upper for arm in limb_model(rig).arms if arm.joints == limb.joints)
        chain = chain[chain.index(upper) :]
        beyond = np.flatnonzero(_starts(skeleton, chain) >= WRIST_SHARE)
        return chain, int(beyond[0]) if beyond.size else len(chain)
    return chain, len(chain)


def _ankle(rig: Rig, limb: Limb, chain: list[int]) -> int:
    """The joint that carries the sole, on both sides the same; without a mesh, the first below the height of an ankle."""
    if rig.mesh.vertex_count:
        feet = [limb_model(rig).feet[number].leg for number, leg in enumerate(rig.legs) if leg.order == limb.order]
        return min(max(len(leg.chain) for leg in feet), len(chain)) - 1
    low = np.flatnonzero(rig.skeleton.positions[chain[1:], 1] < MAX_ANKLE_HEIGHT)
    return 1 + int(low[0]) if low.size else len(chain) - 1


def _same_shape(source: Rig, theirs: list[int], target: Rig, ours: list[int]) -> bool:
    """Have two legs from hip to foot as many bones, and are these bent alike at rest?"""
    if len(theirs) != len(ours) or len(ours) < 2:
        return False
    one, other = (np.diff(rig.skeleton.positions[chain], axis=0) for rig, chain in ((source, theirs), (target, ours)))
    turn = smallest_rotation(other.sum(0), one.sum(0))
    angles = [_angle(turn @ b, a) for a, b in zip(one, other, strict=True)]
    upright = limb_model(source).is_upright and limb_model(target).is_upright
    return bool(max(angles) <= (UPRIGHT_LEG_ANGLE if upright else OTHER_LEG_ANGLE))


def _follow_limb(
    theirs: Skeleton, ours: Skeleton, pair: LimbPair, first: np.ndarray, second: np.ndarray, align: np.ndarray
) -> None:
    """Enter the joints of a leg, arm or wing."""
    collars = main_chain(ours, pair.target)
    collars = collars[: collars.index(pair.target_chain[0])]
    their_collars = main_chain(theirs, pair.source)
    their_collars = their_collars[: their_collars.index(pair.source_chain[0])]
    if collars and their_collars:
        for joint, place in zip(collars, np.linspace(0, len(their_collars) - 1, len(collars)).round().astype(int), strict=True):
            first[joint] = second[joint] = their_collars[place]
    places = _places(theirs, ours, pair)
    for joint, place in zip(pair.target_chain, places, strict=True):
        first[joint] = second[joint] = pair.source_chain[place]
    ends_aligned = max(pair.target_end, 1)
    above = np.eye(3)
    line = smallest_rotation(_line(ours, pair.target_chain, pair.target_end), _line(theirs, pair.source_chain, pair.source_end))
    for k, (joint, place) in enumerate(zip(pair.target_chain, places, strict=True)):
        if k >= ends_aligned and pair.target.kind == "leg":
            above = np.eye(3)
        elif k < ends_aligned and not pair.same_shape:
            above = line
        elif k < ends_aligned:
            bone = above @ _bone(ours, pair.target_chain, k)
            above = smallest_rotation(bone, _bone(theirs, pair.source_chain, place)) @ above
        align[joint] = above


def _places(theirs: Skeleton, ours: Skeleton, pair: LimbPair) -> list[int]:
    """For every joint of the target's chain the place in the source's chain of the bone it follows."""
    if len(pair.source_chain) == len(pair.target_chain) and pair.source_end == pair.target_end:
        return list(range(len(pair.target_chain)))
    knots_s = _knots(theirs, pair.source_chain, pair.source_end, pair.source.kind)
    knots_t = _knots(ours, pair.target_chain, pair.target_end, pair.target.kind)
    starts = _starts(theirs, pair.source_chain)
    at = np.interp(_middles(ours, list(pair.target_chain)), knots_t, knots_s)
    places = np.clip(np.searchsorted(starts, at + 1e-9) - 1, 0, len(starts) - 1)
    beyond = np.arange(pair.target_end, len(places))
    places[beyond] = np.minimum(beyond - pair.target_end + pair.source_end, len(starts) - 1)
    return places.tolist()


def middle_place(skeleton: Skeleton, chain: tuple[int, ...], end: int) -> int | None:
    """The place in an arm's chain of its elbow; None for an arm of one bone."""
    inner = _starts(skeleton, chain)[1:end]
    return 1 + int(np.argmin(np.abs(inner - ELBOW_SHARE))) if inner.size else None


def _knots(skeleton: Skeleton, chain: tuple[int, ...], end: int, kind: str) -> list[float]:
    """Shares of a chain's length at which landmarks lie: pivot, elbow, wrist or ankle, tip."""
    starts = _starts(skeleton, chain)
    last = float(starts[end]) if end < len(starts) else 1.0
    elbow = middle_place(skeleton, chain, end) if kind == "arm" else None
    return [0.0, last / 2 if elbow is None else float(starts[elbow]), last, 1.0 + 1e-9]


def _follow_branches(
    theirs: Skeleton, ours: Skeleton, match: Limb, limb: Limb, first: np.ndarray, second: np.ndarray, align: np.ndarray
) -> None:
    """Fingers, toes, ears, jaws: where both limbs are built alike, joint for joint; otherwise they go with their parent."""
    if _structure(theirs, match) != _structure(ours, limb):
        return
    for joint, same in zip(limb.joints, match.joints, strict=True):
        if first[joint] == FOLLOWS_PARENT:
            first[joint] = second[joint] = same
            align[joint] = align[ours.parents[joint]]


def _structure(skeleton: Skeleton, limb: Limb) -> list[int]:
    place = {joint: k for k, joint in enumerate(limb.joints)}
    return [place.get(int(skeleton.parents[joint]), -1) for joint in limb.joints]


def _bone(skeleton: Skeleton, chain: tuple[int, ...], place: int) -> Float[np.ndarray, " 3"]:
    end = skeleton.positions[chain[place + 1]] if place + 1 < len(chain) else skeleton.tails[chain[place]]
    return end - skeleton.positions[chain[place]]


def _line(skeleton: Skeleton, chain: Sequence[int], end: int) -> Float[np.ndarray, " 3"]:
    return rest_points(skeleton, chain, max(end, 1))[-1] - skeleton.positions[chain[0]]


def rest_points(skeleton: Skeleton, chain: Sequence[int], end: int) -> Float[np.ndarray, "point 3"]:
    """The joints of a limb at rest from its pivot to its end, which may be the tail of the last bone [ℓ]."""
    joints = skeleton.positions[list(chain[: end + 1])]
    return joints if end < len(chain) else np.concatenate((joints, skeleton.tails[[chain[-1]]]))


def limb_length(skeleton: Skeleton, chain: tuple[int, ...], end: int) -> float:
    """From the pivot along the bones to the end [ℓ]."""
    return max(float(np.linalg.norm(np.diff(rest_points(skeleton, chain, max(end, 1)), axis=0), axis=1).sum()), 1e-9)


def smallest_rotation(a: Float[np.ndarray, " 3"], b: Float[np.ndarray, " 3"]) -> Float[np.ndarray, "3 3"]:
    """The rotation by the smallest angle that turns the direction of a into that of b."""
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    axis, cosine = np.cross(a, b), float(a @ b)
    sine = float(np.linalg.norm(axis))
    if lengths < 1e-12 or (sine < 1e-9 * lengths and cosine > 0):
        return np.eye(3)
    if sine < 1e-9 * lengths:  # opposite: about any axis across
        axis = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
        return Rotation.from_rotvec(np.pi * axis / np.linalg.norm(axis)).as_matrix()
    return Rotation.from_rotvec(np.arctan2(sine, cosine) * axis / sine).as_matrix()


def _angle(a: Float[np.ndarray, " 3"], b: Float[np.ndarray, " 3"]) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))
