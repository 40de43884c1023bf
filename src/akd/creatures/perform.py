"""From what the body should do to a motion of the rig: bend the trunk, lower it until all feet reach, plant the feet.

Nothing here knows a gait from a dance. A choreography says where the root goes, how joints of trunk and arms bend, and where
each sole is; the legs follow.
"""

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.character.kinematics import FrameVectors, JointRotations, axis_rotations, local_to_stage, skinned
from akd.character.limb_model import Arm, Foot, LimbModel
from akd.contact.clearance import clear_ground, penetrating_vertices
from akd.motion import Motion
from akd.rotations import align_hemisphere, continuous_angles, matrix_to_angles, matrix_to_quaternion
from akd.skeleton import Pose, Skeleton

REACH = 0.995
"""Legs are never stretched beyond this share of their full length."""
LOW_STEP = 0.02
"""A foot carried lower than this must be reached exactly [ℓ]."""
SETTLING = 2
"""Rounds of correcting foot targets for skin that also follows the shin: each removes about nine tenths of the error."""
TAKES = 3
"""How often a motion is made at most: again with an eye on the skin that was in the ground."""


@dataclass(frozen=True, eq=False)
class FootTargets:
    """Where the feet are."""

    place: Float[np.ndarray, "frame foot 3"]
    """x and z of the middle of the flat sole; y is the height of the foot's lowest point above the ground [ℓ]."""
    yaw: Float[np.ndarray, "frame foot"]
    """Direction of the foot; 0 faces +X, positive to the left [rad]."""
    pitch: Float[np.ndarray, "frame foot"]
    """Toes up is positive, heel up negative [rad]."""


@dataclass(frozen=True, eq=False)
class Choreography:
    """What the body should do, frame by frame."""

    shift: FrameVectors
    """Displacement of the root from where it is at rest [ℓ]."""
    yaw: Float[np.ndarray, " frame"]
    """Heading of the body [rad]."""
    lean: FrameVectors
    """Further turn of the root as a rotation vector in the heading's axes: roll, yaw, pitch; nose up is positive [rad]."""
    footing: FootTargets
    bends: dict[int, FrameVectors] = field(default_factory=dict)
    """Rotation vectors of joints of trunk, neck and tail relative to their parents, in stage axes [rad]."""
    arms: dict[int, tuple[FrameVectors, FrameVectors]] = field(default_factory=dict)
    """For arms by number: directions of upper arm and forearm in the axes of the chest."""
    gaze: float = 0.7
    """Share of the chest's turning that neck and head take back, so that the eyes stay on the path."""


def perform(puppet: LimbModel, choreography: Choreography, fps: float) -> Motion:
    """The motion of the rig."""
    for _ in range(TAKES):
        root, turns = _take(puppet, choreography)
        deep = penetrating_vertices(puppet, root, turns)
        if not deep.size:
            break
        puppet = puppet.watching(deep)
    return _motion(puppet.skeleton, root, turns, fps)


def _take(puppet: LimbModel, choreography: Choreography) -> tuple[FrameVectors, JointRotations]:
    """Places of the root and turns of all joints."""
    skeleton = puppet.skeleton
    turns = _trunk_turns(puppet, choreography)
    root = skeleton.positions[0] + choreography.shift
    targets = [_foot_target(puppet, number, choreography.footing) for number in range(len(puppet.feet))]
    root = root - np.array([0.0, _drop(puppet, root, turns, targets, choreography.footing), 0.0])
    _reach(puppet, root, turns, targets)
    for _ in range(SETTLING):
        root = clear_ground(puppet, root, turns)
        root = _raised(puppet, root, turns, targets)
        _reach(puppet, root, turns, targets)
        targets = _corrected(puppet, root, turns, targets)
        _reach(puppet, root, turns, targets)
    if any(foot.leg.is_stiff for foot in puppet.feet):
        root = _settled(puppet, root, turns, choreography.footing)
    return root, turns


@dataclass(frozen=True, eq=False)
class _Target:
    """Where one foot joint must be, and what that means for the skin of the foot."""

    joint: FrameVectors
    rotation: Float[np.ndarray, "frame 3 3"]
    toes: Float[np.ndarray, "frame 3 3"]
    """Turn of the toes relative to the foot."""
    sole: FrameVectors
    """Mean of the sole in x and z, lowest point of the foot in y."""


def _trunk_turns(puppet: LimbModel, choreography: Choreography) -> JointRotations:
    skeleton, count = puppet.skeleton, len(choreography.yaw)
    turns = np.tile(np.eye(3), (count, skeleton.joint_count, 1, 1))
    heading = axis_rotations(1, choreography.yaw)
    turns[:, 0] = heading @ Rotation.from_rotvec(choreography.lean).as_matrix()
    for joint, vector in choreography.bends.items():
        turns[:, joint] = Rotation.from_rotvec(vector).as_matrix()
    for number, (upper, fore) in choreography.arms.items():
        _point_arm(turns, puppet.arms[number], upper, fore)
    if puppet.neck and choreography.gaze:
        rotation, _ = local_to_stage(skeleton, choreography.shift, turns)
        chest = np.swapaxes(heading, 1, 2) @ rotation[:, skeleton.parents[puppet.neck[0]]]
        back = Rotation.from_rotvec(-choreography.gaze / len(puppet.neck) * Rotation.from_matrix(chest).as_rotvec()).as_matrix()
        for joint in puppet.neck:
            turns[:, joint] = back @ turns[:, joint]
    return turns


def _point_arm(turns: JointRotations, arm: Arm, upper: FrameVectors, fore: FrameVectors) -> None:
    """Turn shoulder and elbow by the shortest way, so that the bones point as told."""
    shoulder = _shortest_turn(np.broadcast_to(arm.directions[0], upper.shape), upper)
    turns[:, arm.upper] = shoulder
    if arm.fore is not None:
        carried = shoulder @ arm.directions[1]
        elbow = _shortest_turn(carried, fore)
        turns[:, arm.fore] = np.swapaxes(shoulder, 1, 2) @ elbow @ shoulder


def _shortest_turn(a: FrameVectors, b: FrameVectors) -> Float[np.ndarray, "frame 3 3"]:
    axis = np.cross(a, b)
    sine, cosine = np.linalg.norm(axis, axis=-1), (a * b).sum(-1)
    scale = np.arctan2(sine, cosine) / np.maximum(sine, 1e-9)
    return Rotation.from_rotvec(axis * scale[:, None]).as_matrix()


def _foot_target(puppet: LimbModel, number: int, footing: FootTargets) -> _Target:
    """The pose of a foot whose skin moves with foot and toes only; its lowest point is at the height the footing says."""
    foot, rest = puppet.feet[number], puppet.skeleton.positions
    place, pitch = footing.place[:, number], footing.pitch[:, number]
    heading = axis_rotations(1, footing.yaw[:, number])
    rotation, toes = heading @ axis_rotations(2, pitch), axis_rotations(2, np.maximum(-pitch, 0.0) if foot.toes else 0 * pitch)
    # The pivot moves from ball to heel as the pitch passes zero, quickly but without a jump.
    pivot = foot.ball + (0.5 + 0.5 * np.tanh(pitch / 0.03))[:, None] * (foot.heel - foot.ball)
    at_pivot = place * np.array([1.0, 0, 1.0]) + (heading @ (pivot - foot.centre)[..., None])[..., 0]
    joint = at_pivot + (rotation @ (rest[foot.leg.foot] - pivot)[..., None])[..., 0]
    sole = _own_skin(puppet, foot, joint, rotation, toes)
    lift = np.array([0.0, 1.0, 0.0]) * (place[:, 1] - sole[:, 1])[:, None]
    return _Target(joint + lift, rotation, toes, sole + lift)


def _own_skin(
    puppet: LimbModel,
    foot: Foot,
    joint: FrameVectors,
    rotation: Float[np.ndarray, "frame 3 3"],
    toes: Float[np.ndarray, "frame 3 3"],
) -> FrameVectors:
    """Sole mean (x, z) and lowest point (y) if all the skin of the foot moved with the foot joint or the toes."""
    rest, vertices, weights = puppet.skeleton.positions, puppet.rig.mesh.vertices, puppet.rig.weights

    def moved(index: np.ndarray) -> Float[np.ndarray, "frame point 3"]:
        out = vertices[index] - rest[foot.leg.foot] + np.zeros((len(joint), 1, 1))
        for toe in foot.toes:
            from_toe = vertices[index] - rest[toe]
            out = out + weights[index, toe][:, None] * (from_toe @ np.swapaxes(toes, 1, 2) - from_toe)
        return joint[:, None] + out @ np.swapaxes(rotation, 1, 2)

    if not foot.outline.size:
        return joint + (rotation @ (foot.centre - rest[foot.leg.foot]))
    mean, lowest = moved(foot.sole).mean(1), moved(foot.outline)[..., 1].min(1)
    return np.stack((mean[:, 0], lowest, mean[:, 2]), -1)


def _drop(puppet: LimbModel, root: FrameVectors, turns: JointRotations, targets: list[_Target], footing: FootTargets) -> float:
    """How far the body must sink so that every foot on the ground is within reach of its hip [ℓ]."""
    _, position = local_to_stage(puppet.skeleton, root, turns)
    needed = [0.0]
    for number, (foot, target) in enumerate(zip(puppet.feet, targets, strict=True)):
        down = footing.place[:, number, 1] < LOW_STEP
        away = _effector(foot, target)[down] - position[down, foot.leg.hip]
        length = REACH * foot.leg.longest
        reachable = np.sqrt(np.maximum(length**2 - np.square(away[:, [0, 2]]).sum(-1), 0.0))
        needed.append(float(np.max(-away[:, 1] - reachable, initial=0.0)))
    return max(needed)


def _raised(puppet: LimbModel, root: FrameVectors, turns: JointRotations, targets: list[_Target]) -> FrameVectors:
    """The root, raised where a hip is so near its foot that the leg cannot fold enough."""
    _, position = local_to_stage(puppet.skeleton, root, turns)
    lift = np.zeros(len(root))
    for foot, target in zip(puppet.feet, targets, strict=True):
        away = position[:, foot.leg.hip] - _effector(foot, target)
        least = np.sqrt(np.maximum(foot.leg.shortest**2 - np.square(away[:, [0, 2]]).sum(-1), 0.0))
        lift = np.maximum(lift, np.where(least > 0, least - away[:, 1], 0.0) * (len(foot.leg.chain) > 2))
    return root + np.array([0.0, 1.0, 0.0]) * lift[:, None]


def _settled(puppet: LimbModel, root: FrameVectors, turns: JointRotations, footing: FootTargets) -> FrameVectors:
    """The root at the height where the lowest foot stands: over legs that cannot fold a body rises and falls like compasses."""
    rotation, position = local_to_stage(puppet.skeleton, root, turns)
    lowest = np.stack(
        [skinned(puppet.rig, foot.outline, rotation, position)[..., 1].min(1) for foot in puppet.feet if foot.outline.size]
    )
    return root + np.array([0.0, 1.0, 0.0]) * (footing.place[..., 1].min(1) - lowest.min(0))[:, None]


def _effector(foot: Foot, target: _Target) -> FrameVectors:
    """What the leg reaches for: the foot joint, or the sole itself on a leg of one bone."""
    return target.sole if len(foot.leg.chain) == 1 else target.joint


def _reach(puppet: LimbModel, root: FrameVectors, turns: JointRotations, targets: list[_Target]) -> None:
    """Set the turns of all leg joints."""
    skeleton = puppet.skeleton
    rotation, position = local_to_stage(skeleton, root, turns)
    for foot, target in zip(puppet.feet, targets, strict=True):
        leg, parent = foot.leg, rotation[:, skeleton.parents[foot.leg.hip]]
        away = _effector(foot, target) - position[:, leg.hip]
        hip, fold = leg.reach((np.swapaxes(parent, 1, 2) @ away[..., None])[..., 0])
        turns[:, leg.hip] = hip
        above = parent @ hip
        for joint, angle in zip(leg.chain[1:-1], fold.T, strict=True):
            turns[:, joint] = Rotation.from_rotvec(angle[:, None] * leg.normal).as_matrix()
            above = above @ turns[:, joint]
        if len(leg.chain) > 1:
            turns[:, leg.foot] = np.swapaxes(above, 1, 2) @ target.rotation
        for toe in foot.toes:
            turns[:, toe] = target.toes


def _corrected(puppet: LimbModel, root: FrameVectors, turns: JointRotations, targets: list[_Target]) -> list[_Target]:
    """The targets moved by what the skinned soles miss, since skin near the ankle follows the shin too."""
    rotation, position = local_to_stage(puppet.skeleton, root, turns)
    out = []
    for foot, target in zip(puppet.feet, targets, strict=True):
        if not foot.outline.size:
            out.append(target)
            continue
        mean = skinned(puppet.rig, foot.sole, rotation, position).mean(1)
        lowest = skinned(puppet.rig, foot.outline, rotation, position)[..., 1].min(1)
        missed = target.sole - np.stack((mean[:, 0], lowest, mean[:, 2]), -1)
        out.append(_Target(target.joint + missed, target.rotation, target.toes, target.sole))
    return out


def _motion(skeleton: Skeleton, root: FrameVectors, turns: JointRotations, fps: float) -> Motion:
    in_bone_axes = torch.from_numpy(np.swapaxes(skeleton.frames, -1, -2) @ turns @ skeleton.frames)
    angles = matrix_to_angles(in_bone_axes)
    if (angles.diff(dim=0).abs() > torch.pi / 2).any():
        angles = continuous_angles(in_bone_axes)
    angles[:, 0] = 0
    rotation = align_hemisphere(matrix_to_quaternion(torch.from_numpy(turns[:, 0])))
    return Motion(Pose(torch.from_numpy(root), rotation, angles).to(torch.float32), fps)
