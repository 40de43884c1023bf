"""Inverse kinematics of the whole body: from targets of root, trunk, arms and soles to a motion of the rig.

Trunk and arms take their rotations from the targets, the root is lowered until every foot on the ground is within reach, and
the legs are solved for the soles. The module is the same for gaits and actions.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.character.limb_model import Arm, Foot, FrameVectors, JointRotations, LimbModel, axis_rotations, local_to_stage, skinned
from akd.contact.clearance import clear_ground, penetrating_vertices
from akd.creatures.free_gaits import FreeTargets, folded_wings
from akd.creatures.targets import BodyTargets, FootTargets
from akd.motion import Motion
from akd.rotations import align_hemisphere, continuous_angles, matrix_to_angles, matrix_to_quaternion
from akd.skeleton import Pose, Skeleton

MAX_EXTENSION = 0.995
"""Legs are never stretched beyond this share of their full length."""
LOW_FOOT = 0.02
"""A foot carried lower than this must be reached exactly [ℓ]."""
SOLE_CORRECTIONS = 2
"""Iterations that correct foot poses for skin that also follows the shin; each removes about nine tenths of the error."""
MAX_SOLVES = 3
"""How often a motion is solved at most: vertices found below the ground are kept above it in the next solve."""


def solve_motion(model: LimbModel, targets: BodyTargets, fps: float) -> Motion:
    """The motion of the rig that meets the targets."""
    for _ in range(MAX_SOLVES):
        root, rotations = _solve(model, targets)
        deep = penetrating_vertices(model, root, rotations)
        if not deep.size:
            break
        model = model.watching(deep)
    return _motion(model.skeleton, root, rotations, fps)


def free_motion(model: LimbModel, targets: FreeTargets, fps: float) -> Motion:
    """The motion of a body that nothing holds on the ground."""
    rotations = np.tile(np.eye(3), (len(targets.shift), model.skeleton.joint_count, 1, 1))
    rotations[:, 0] = Rotation.from_rotvec(targets.lean).as_matrix()
    for joint, vector in targets.vectors.items():
        rotations[:, joint] = Rotation.from_rotvec(vector).as_matrix()
    return _motion(model.skeleton, model.skeleton.positions[0] + targets.shift, rotations, fps)


def _solve(model: LimbModel, targets: BodyTargets) -> tuple[FrameVectors, JointRotations]:
    """Positions of the root [ℓ] and rotations of all joints relative to their parents, in stage axes."""
    skeleton = model.skeleton
    rotations = _trunk_rotations(model, targets)
    root = skeleton.positions[0] + targets.shift
    foot_poses = [_foot_pose(model, number, targets.feet) for number in range(len(model.feet))]
    root = root - np.array([0.0, _required_drop(model, root, rotations, foot_poses, targets.feet), 0.0])
    _solve_legs(model, root, rotations, foot_poses)
    for _ in range(SOLE_CORRECTIONS):
        root = clear_ground(model, root, rotations)
        root = _raised(model, root, rotations, foot_poses)
        _solve_legs(model, root, rotations, foot_poses)
        foot_poses = _corrected_targets(model, root, rotations, foot_poses)
        _solve_legs(model, root, rotations, foot_poses)
    if any(foot.leg.is_stiff for foot in model.feet):
        root = _on_stiff_legs(model, root, rotations, targets.feet)
    return root, rotations


@dataclass(frozen=True, eq=False)
class _FootPose:
    """Where one foot joint must be, and where that puts the sole."""

    joint: FrameVectors
    rotation: Float[np.ndarray, "frame 3 3"]
    toes: Float[np.ndarray, "frame 3 3"]
    """Rotation of the toes relative to the foot."""
    sole: FrameVectors
    """Mean of the sole in x and z, lowest point of the foot in y."""


def _trunk_rotations(model: LimbModel, targets: BodyTargets) -> JointRotations:
    skeleton, count = model.skeleton, len(targets.yaw)
    rotations = np.tile(np.eye(3), (count, skeleton.joint_count, 1, 1))
    heading = axis_rotations(1, targets.yaw)
    rotations[:, 0] = heading @ Rotation.from_rotvec(targets.lean).as_matrix()
    for joint, vector in (folded_wings(model, count) | targets.vectors).items():
        rotations[:, joint] = Rotation.from_rotvec(vector).as_matrix()
    for number, (upper, fore) in targets.arms.items():
        _point_arm(rotations, model.arms[number], upper, fore)
    if model.neck and targets.gaze:
        stage_rotation, _ = local_to_stage(skeleton, targets.shift, rotations)
        chest = np.swapaxes(heading, 1, 2) @ stage_rotation[:, skeleton.parents[model.neck[0]]]
        back = Rotation.from_rotvec(-targets.gaze / len(model.neck) * Rotation.from_matrix(chest).as_rotvec()).as_matrix()
        for joint in model.neck:
            rotations[:, joint] = back @ rotations[:, joint]
    return rotations


def _point_arm(rotations: JointRotations, arm: Arm, upper: FrameVectors, fore: FrameVectors) -> None:
    """Rotate shoulder and elbow by the smallest angle so that the bones point in the given directions."""
    shoulder = _shortest_rotation(np.broadcast_to(arm.directions[0], upper.shape), upper)
    rotations[:, arm.upper] = shoulder
    if arm.fore is not None:
        carried = shoulder @ arm.directions[1]
        elbow = _shortest_rotation(carried, fore)
        rotations[:, arm.fore] = np.swapaxes(shoulder, 1, 2) @ elbow @ shoulder


def _shortest_rotation(a: FrameVectors, b: FrameVectors) -> Float[np.ndarray, "frame 3 3"]:
    axis = np.cross(a, b)
    sine, cosine = np.linalg.norm(axis, axis=-1), (a * b).sum(-1)
    scale = np.arctan2(sine, cosine) / np.maximum(sine, 1e-9)
    return Rotation.from_rotvec(axis * scale[:, None]).as_matrix()


def _foot_pose(model: LimbModel, number: int, feet: FootTargets) -> _FootPose:
    """The pose of a foot as if its skin moved with foot and toes only; its lowest point is at the target's height."""
    foot, rest = model.feet[number], model.skeleton.positions
    place, pitch = feet.place[:, number], feet.pitch[:, number]
    heading = axis_rotations(1, feet.yaw[:, number])
    rotation, toes = heading @ axis_rotations(2, pitch), axis_rotations(2, np.maximum(-pitch, 0.0) if foot.toes else 0 * pitch)
    # The pivot moves from ball to heel as the pitch passes zero, quickly but without a jump.
    pivot = foot.ball + (0.5 + 0.5 * np.tanh(pitch / 0.03))[:, None] * (foot.heel - foot.ball)
    at_pivot = place * np.array([1.0, 0, 1.0]) + (heading @ (pivot - foot.centre)[..., None])[..., 0]
    joint = at_pivot + (rotation @ (rest[foot.leg.foot] - pivot)[..., None])[..., 0]
    sole = _rigid_sole(model, foot, joint, rotation, toes)
    lift = np.array([0.0, 1.0, 0.0]) * (place[:, 1] - sole[:, 1])[:, None]
    return _FootPose(joint + lift, rotation, toes, sole + lift)


def _rigid_sole(
    model: LimbModel,
    foot: Foot,
    joint: FrameVectors,
    rotation: Float[np.ndarray, "frame 3 3"],
    toes: Float[np.ndarray, "frame 3 3"],
) -> FrameVectors:
    """Sole mean (x, z) and lowest point (y) if all skin of the foot moved with the foot joint or the toes."""
    rest, vertices, weights = model.skeleton.positions, model.rig.mesh.vertices, model.rig.weights

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


def _required_drop(
    model: LimbModel, root: FrameVectors, rotations: JointRotations, foot_poses: list[_FootPose], feet: FootTargets
) -> float:
    """How far the root must be lowered so that every foot on the ground is within reach of its hip [ℓ]."""
    _, position = local_to_stage(model.skeleton, root, rotations)
    needed = [0.0]
    for number, (foot, foot_pose) in enumerate(zip(model.feet, foot_poses, strict=True)):
        down = feet.place[:, number, 1] < LOW_FOOT
        away = _effector(foot, foot_pose)[down] - position[down, foot.leg.hip]
        length = MAX_EXTENSION * foot.leg.longest
        reachable = np.sqrt(np.maximum(length**2 - np.square(away[:, [0, 2]]).sum(-1), 0.0))
        needed.append(float(np.max(-away[:, 1] - reachable, initial=0.0)))
    return max(needed)


def _raised(model: LimbModel, root: FrameVectors, rotations: JointRotations, foot_poses: list[_FootPose]) -> FrameVectors:
    """The root, raised where a hip is so near its foot that the leg cannot fold enough."""
    _, position = local_to_stage(model.skeleton, root, rotations)
    lift = np.zeros(len(root))
    for foot, foot_pose in zip(model.feet, foot_poses, strict=True):
        away = position[:, foot.leg.hip] - _effector(foot, foot_pose)
        least = np.sqrt(np.maximum(foot.leg.shortest**2 - np.square(away[:, [0, 2]]).sum(-1), 0.0))
        lift = np.maximum(lift, np.where(least > 0, least - away[:, 1], 0.0) * (len(foot.leg.chain) > 2))
    return root + np.array([0.0, 1.0, 0.0]) * lift[:, None]


def _on_stiff_legs(model: LimbModel, root: FrameVectors, rotations: JointRotations, feet: FootTargets) -> FrameVectors:
    """The root at the height where the lowest foot stands: over legs that cannot fold a body vaults like a pair of compasses."""
    stage_rotation, position = local_to_stage(model.skeleton, root, rotations)
    lowest = np.stack(
        [skinned(model.rig, foot.outline, stage_rotation, position)[..., 1].min(1) for foot in model.feet if foot.outline.size]
    )
    return root + np.array([0.0, 1.0, 0.0]) * (feet.place[..., 1].min(1) - lowest.min(0))[:, None]


def _effector(foot: Foot, foot_pose: _FootPose) -> FrameVectors:
    """The end effector's target: the foot joint, or the sole itself on a leg of one bone."""
    return foot_pose.sole if len(foot.leg.chain) == 1 else foot_pose.joint


def _solve_legs(model: LimbModel, root: FrameVectors, rotations: JointRotations, foot_poses: list[_FootPose]) -> None:
    """Set the rotations of all leg joints, in place."""
    skeleton = model.skeleton
    stage_rotation, position = local_to_stage(skeleton, root, rotations)
    for foot, foot_pose in zip(model.feet, foot_poses, strict=True):
        leg, parent = foot.leg, stage_rotation[:, skeleton.parents[foot.leg.hip]]
        away = _effector(foot, foot_pose) - position[:, leg.hip]
        hip, fold = leg.reach((np.swapaxes(parent, 1, 2) @ away[..., None])[..., 0])
        rotations[:, leg.hip] = hip
        above = parent @ hip
        for joint, angle in zip(leg.chain[1:-1], fold.T, strict=True):
            rotations[:, joint] = Rotation.from_rotvec(angle[:, None] * leg.normal).as_matrix()
            above = above @ rotations[:, joint]
        if len(leg.chain) > 1:
            rotations[:, leg.foot] = np.swapaxes(above, 1, 2) @ foot_pose.rotation
        for toe in foot.toes:
            rotations[:, toe] = foot_pose.toes


def _corrected_targets(
    model: LimbModel, root: FrameVectors, rotations: JointRotations, foot_poses: list[_FootPose]
) -> list[_FootPose]:
    """The foot poses moved by the error of the skinned soles, since skin near the ankle follows the shin too."""
    stage_rotation, position = local_to_stage(model.skeleton, root, rotations)
    out = []
    for foot, foot_pose in zip(model.feet, foot_poses, strict=True):
        if not foot.outline.size:
            out.append(foot_pose)
            continue
        mean = skinned(model.rig, foot.sole, stage_rotation, position).mean(1)
        lowest = skinned(model.rig, foot.outline, stage_rotation, position)[..., 1].min(1)
        missed = foot_pose.sole - np.stack((mean[:, 0], lowest, mean[:, 2]), -1)
        out.append(_FootPose(foot_pose.joint + missed, foot_pose.rotation, foot_pose.toes, foot_pose.sole))
    return out


def _motion(skeleton: Skeleton, root: FrameVectors, rotations: JointRotations, fps: float) -> Motion:
    in_bone_axes = torch.from_numpy(np.swapaxes(skeleton.frames, -1, -2) @ rotations @ skeleton.frames)
    angles = matrix_to_angles(in_bone_axes)
    if (angles.diff(dim=0).abs() > torch.pi / 2).any():
        angles = continuous_angles(in_bone_axes)
    angles[:, 0] = 0
    rotation = align_hemisphere(matrix_to_quaternion(torch.from_numpy(rotations[:, 0])))
    return Motion(Pose(torch.from_numpy(root), rotation, angles).to(torch.float32), fps)
