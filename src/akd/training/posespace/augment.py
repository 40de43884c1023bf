"""Augmentation: a creature's rig becomes another rig of the same animal, in the same poses.

Another rest pose, joints removed, bones split, collar bones added, joints shifted. Left and right are always treated alike.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.posespace.representation import RigDescriptor
from akd.training.posespace.joint_edits import (
    ARM,
    HEAD,
    LEG,
    NECK,
    SPINE,
    TAIL,
    WING,
    StagePoses,
    add_collar_bones,
    draw_collar_bones,
    draw_removed_joints,
    draw_split_bones,
    first_joints,
    pointed,
    remove_joints,
    scaled,
    split_bones,
    to_stage_poses,
)

REST_PITCH = {LEG: 0.1, ARM: 0.15, WING: 0.2, TAIL: 0.15, NECK: 0.15, HEAD: 0.1, SPINE: 0.05}
"""Deviation of the joints of a limb between rest poses, up and down [rad]."""
ARM_ANGLE = (-0.05, 1.75)
"""Range of the angle of upper arms at rest from hanging down, in the frontal plane: up to a little above a T [rad]."""
MIN_FRONTAL_SHARE = 0.5
"""Arms with a smaller share of their length in the frontal plane point forward, as a tyrannosaur's, and are not raised."""
COLLAR_FACTOR = 1.4
"""An arm's first bone is a collar bone if the next one is so many times as long."""
REST_SCALE = (0.3, 2.5)
"""Range of the factor of the angles above, rig by rig: some artists bind near the usual stance, some far from it."""
STRAIGHT_LEGS_CHANCE = 0.5
"""Chance of a rest pose with straighter legs than the animal stands on."""
MIN_LEG_STEEPNESS = 0.6
"""Bones of legs that go down less steeply than this are feet, or sprawl, and stay as they are."""
JOINT_NOISE = (0.008, 0.04)
"""Range, from rig to rig, of the deviation by which joints are shifted [ℓ]."""
UNKNOWN_CHANCE = 0.08
"""Chance that a rig's limbs are not labelled, and that its thickness is not known."""


def augmented(descriptor: RigDescriptor, vectors: Float[np.ndarray, "pose joint 3"], rng: np.random.Generator) -> StagePoses:
    """Another rig that could have been made for the same animal, in the same poses."""
    stage = to_stage_poses(descriptor, vectors)
    if rng.random() < 0.8:
        stage = change_rest_pose(stage, _draw_rest_pose(descriptor, rng))
    if rng.random() < 0.6:
        stage = remove_joints(stage, draw_removed_joints(stage.descriptor, rng))
    if rng.random() < 0.4:
        stage = split_bones(stage, draw_split_bones(stage.descriptor, rng))
    if rng.random() < 0.7:
        stage = add_collar_bones(stage, draw_collar_bones(stage.descriptor, rng), max(0.0, float(rng.uniform(-0.3, 0.3))))
    return replace(stage, descriptor=_with_joint_noise(stage.descriptor, rng))


def change_rest_pose(stage: StagePoses, rest: Float[np.ndarray, "joint 3 3"]) -> StagePoses:
    """The same poses of a rig bound in another rest pose; ``rest`` rotates each joint relative to its parent."""
    descriptor = stage.descriptor
    turn, position = rest.copy(), descriptor.positions.copy()
    for joint in range(1, descriptor.joint_count):
        parent = descriptor.parents[joint]
        turn[joint] = turn[parent] @ rest[joint]
        position[joint] = position[parent] + turn[parent] @ (descriptor.positions[joint] - descriptor.positions[parent])
    tails = position + (turn @ (descriptor.tails - descriptor.positions)[..., None])[..., 0]
    lowest = np.minimum(descriptor.positions, descriptor.tails)[:, 1].min() - np.minimum(position, tails)[:, 1].min()
    up = np.array([0.0, lowest, 0.0])
    moved = replace(descriptor, positions=position + up, tails=tails + up)
    return StagePoses(scaled(moved, 1 / leg_length(moved)), stage.rotations @ np.swapaxes(turn, -1, -2))


def leg_length(descriptor: RigDescriptor) -> float:
    """ℓ of a rig: median height of the legs' top joints, half the body's height without legs."""
    leg = descriptor.kind == LEG
    top = leg & ~(leg[np.maximum(descriptor.parents, 0)] & (descriptor.parents >= 0))
    height = float(np.median(descriptor.positions[top, 1])) if top.any() else float(np.ptp(descriptor.positions[:, 1])) / 2
    return max(height, 0.2)


def _draw_rest_pose(descriptor: RigDescriptor, rng: np.random.Generator) -> Float[np.ndarray, "joint 3 3"]:
    """A symmetric rest pose near the old one; arms anywhere between hanging and stretched out, legs maybe straighter."""
    straight = rng.random() < STRAIGHT_LEGS_CHANCE
    vectors = leg_straightening(descriptor, float(rng.random())) if straight else np.zeros((descriptor.joint_count, 3))
    vectors += arm_raising(descriptor, float(rng.uniform(*ARM_ANGLE)))
    scale = rng.uniform(*REST_SCALE)
    for joint in range(1, descriptor.joint_count):
        kind, partner = int(descriptor.kind[joint]), int(descriptor.mirror[joint])
        if kind < 0 or partner < joint:
            continue
        size = scale * REST_PITCH[kind] * rng.normal(0, 1, 3) * (0.4, 0.4, 1.0)
        vectors[joint] += size if partner != joint else size * (0, 0, 1.0)
        if partner != joint:
            vectors[partner] += size * (-1.0, -1.0, 1.0)
    return Rotation.from_rotvec(vectors).as_matrix()


def leg_straightening(descriptor: RigDescriptor, share: float) -> Float[np.ndarray, "joint 3"]:
    """Rotation vectors relative to the parent, about the lateral axis: they bring leg bones a share of the way to vertical."""
    bone = descriptor.tails - descriptor.positions
    length = np.maximum(np.linalg.norm(bone, axis=1), 1e-9)
    steep = (descriptor.kind == LEG) & (bone[:, 1] < -MIN_LEG_STEEPNESS * length)
    # Away from straight down, forward positive; turning about +Z moves a bone that hangs down forward.
    on_stage = np.where(steep, -share * np.arctan2(bone[:, 0], -bone[:, 1]), 0.0)
    above = on_stage[np.maximum(descriptor.parents, 0)]
    turn = np.where(descriptor.kind == LEG, on_stage - above, 0.0)
    return turn[:, None] * (0.0, 0.0, 1.0)


def arm_raising(descriptor: RigDescriptor, angle: float) -> Float[np.ndarray, "joint 3"]:
    """Rotation vectors relative to the parent, about the forward axis: they bring upper arms to an angle from hanging [rad]."""
    out = np.zeros((descriptor.joint_count, 3))
    bone = descriptor.tails - descriptor.positions
    length = np.linalg.norm(bone, axis=1)
    for first in first_joints(descriptor, (ARM,)):
        children = np.flatnonzero(descriptor.parents == first)
        longest = int(children[np.argmax(length[children])]) if len(children) else first
        upper = longest if length[longest] > COLLAR_FACTOR * length[first] else first
        for joint in {upper, int(descriptor.mirror[upper])}:
            side = np.sign(descriptor.positions[joint, 2])
            down, outward = -bone[joint, 1], side * bone[joint, 2]
            if np.hypot(down, outward) > MIN_FRONTAL_SHARE * length[joint]:
                out[joint, 0] = -side * (angle - np.arctan2(outward, down))
    return out


def _with_joint_noise(descriptor: RigDescriptor, rng: np.random.Generator) -> RigDescriptor:
    """Joints shifted a little, on both sides alike; sometimes without labels, sometimes without thickness."""
    noise = rng.normal(0, rng.uniform(*JOINT_NOISE), (descriptor.joint_count, 3))
    noise = (noise + noise[descriptor.mirror] * (1.0, 1.0, -1.0)) / 2
    thickness = float(np.exp(rng.normal(0, 0.15)))
    moved = replace(descriptor, positions=descriptor.positions + noise, tails=descriptor.tails + noise)
    shifted = replace(pointed(moved), radius=descriptor.radius * thickness, half=descriptor.half * thickness)
    if rng.random() < UNKNOWN_CHANCE:
        shifted = replace(shifted, kind=np.full_like(descriptor.kind, -1))
    if rng.random() < UNKNOWN_CHANCE:
        shifted = replace(shifted, radius=np.zeros_like(descriptor.radius), half=np.zeros_like(descriptor.half))
    return shifted
