"""What makes our creatures look like strangers' rigs: another rest pose, joints left out, joints added, joints shifted.

All of it acts on a sketch and on the joints' turns on the stage. Left and right are always treated alike.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.posespace.representation import RigDescriptor
from akd.training.poses.joints import (
    ARM,
    HEAD,
    LEG,
    NECK,
    SPINE,
    TAIL,
    WING,
    Posing,
    pointed,
    posing_of,
    scaled,
    some_collars,
    some_to_leave_out,
    some_to_split,
    with_collars,
    with_middles,
    without,
)

REST_PITCH = {LEG: 0.1, ARM: 0.15, WING: 0.2, TAIL: 0.15, NECK: 0.15, HEAD: 0.1, SPINE: 0.05}
"""How far the joints of a limb may be bent in another rest pose, up and down [rad]."""
BOLDNESS = (0.3, 2.5)
"""Some artists bind near the usual stance, some far from it: what the angles above are multiplied by, rig by rig."""
STRAIGHT = 0.5
"""Chance of a rig to be bound with straighter legs than its animal stands on."""
STEEP = 0.6
"""Bones of legs that go down less steeply than this are feet, or sprawl, and stay as they are."""
SHIFTS = (0.008, 0.04)
"""How far joints are shifted at random, from rig to rig [ℓ]."""
UNKNOWN = 0.08
"""Chance that a rig's limbs are not labelled, and that nothing is known of its flesh."""


def augmented(sketch: RigDescriptor, bends: Float[np.ndarray, "pose joint 3"], rng: np.random.Generator) -> Posing:
    """Another rig that could have been made for the same animal, in the same poses."""
    posing = posing_of(sketch, bends)
    if rng.random() < 0.8:
        posing = rebound(posing, _rest_turns(sketch, rng))
    if rng.random() < 0.6:
        posing = without(posing, some_to_leave_out(posing.sketch, rng))
    if rng.random() < 0.4:
        posing = with_middles(posing, some_to_split(posing.sketch, rng))
    if rng.random() < 0.7:
        posing = with_collars(posing, some_collars(posing.sketch, rng), max(0.0, float(rng.uniform(-0.3, 0.3))))
    return replace(posing, sketch=_blurred(posing.sketch, rng))


def rebound(posing: Posing, rest: Float[np.ndarray, "joint 3 3"]) -> Posing:
    """The same poses of a rig that was bound in another rest pose; ``rest`` turns each joint relative to its parent."""
    sketch = posing.sketch
    turn, position = rest.copy(), sketch.positions.copy()
    for joint in range(1, sketch.joint_count):
        parent = sketch.parents[joint]
        turn[joint] = turn[parent] @ rest[joint]
        position[joint] = position[parent] + turn[parent] @ (sketch.positions[joint] - sketch.positions[parent])
    tails = position + (turn @ (sketch.tails - sketch.positions)[..., None])[..., 0]
    lowest = np.minimum(sketch.positions, sketch.tails)[:, 1].min() - np.minimum(position, tails)[:, 1].min()
    up = np.array([0.0, lowest, 0.0])
    moved = replace(sketch, positions=position + up, tails=tails + up)
    return Posing(scaled(moved, 1 / leg_length(moved)), posing.turns @ np.swapaxes(turn, -1, -2))


def leg_length(sketch: RigDescriptor) -> float:
    """ℓ of a sketch: median height of the legs' top joints, half the body's height without legs."""
    leg = sketch.kind == LEG
    top = leg & ~(leg[np.maximum(sketch.parents, 0)] & (sketch.parents >= 0))
    height = float(np.median(sketch.positions[top, 1])) if top.any() else float(np.ptp(sketch.positions[:, 1])) / 2
    return max(height, 0.2)


def _rest_turns(sketch: RigDescriptor, rng: np.random.Generator) -> Float[np.ndarray, "joint 3 3"]:
    """A symmetric rest pose near the old one; arms anywhere between hanging and stretched out, legs maybe straighter."""
    vectors = straighter(sketch, float(rng.random())) if rng.random() < STRAIGHT else np.zeros((sketch.joint_count, 3))
    raised, bold = rng.uniform(-0.6, 1.0), rng.uniform(*BOLDNESS)
    for joint in range(1, sketch.joint_count):
        kind, partner = int(sketch.kind[joint]), int(sketch.mirror[joint])
        if kind < 0 or partner < joint:
            continue
        size = bold * REST_PITCH[kind] * rng.normal(0, 1, 3) * (0.4, 0.4, 1.0)
        starts = sketch.kind[sketch.parents[joint]] != kind
        if kind == ARM and starts and partner != joint:
            size[0] += raised * np.sign(-sketch.positions[joint, 2])
        vectors[joint] += size if partner != joint else size * (0, 0, 1.0)
        if partner != joint:
            vectors[partner] += size * (-1.0, -1.0, 1.0)
    return Rotation.from_rotvec(vectors).as_matrix()


def straighter(sketch: RigDescriptor, share: float) -> Float[np.ndarray, "joint 3"]:
    """Turns relative to the parent, about the lateral axis, that take out a share of how the bones of legs are bent."""
    bone = sketch.tails - sketch.positions
    length = np.maximum(np.linalg.norm(bone, axis=1), 1e-9)
    steep = (sketch.kind == LEG) & (bone[:, 1] < -STEEP * length)
    # Away from straight down, forward positive; turning about +Z moves a bone that hangs down forward.
    on_stage = np.where(steep, -share * np.arctan2(bone[:, 0], -bone[:, 1]), 0.0)
    above = on_stage[np.maximum(sketch.parents, 0)]
    turn = np.where(sketch.kind == LEG, on_stage - above, 0.0)
    return turn[:, None] * (0.0, 0.0, 1.0)


def _blurred(sketch: RigDescriptor, rng: np.random.Generator) -> RigDescriptor:
    """Joints a little elsewhere, on both sides alike; sometimes without labels, sometimes without flesh."""
    noise = rng.normal(0, rng.uniform(*SHIFTS), (sketch.joint_count, 3))
    noise = (noise + noise[sketch.mirror] * (1.0, 1.0, -1.0)) / 2
    thick = float(np.exp(rng.normal(0, 0.15)))
    moved = replace(sketch, positions=sketch.positions + noise, tails=sketch.tails + noise)
    blurred = replace(pointed(moved), radius=sketch.radius * thick, half=sketch.half * thick)
    if rng.random() < UNKNOWN:
        blurred = replace(blurred, kind=np.full_like(sketch.kind, -1))
    if rng.random() < UNKNOWN:
        blurred = replace(blurred, radius=np.zeros_like(sketch.radius), half=np.zeros_like(sketch.half))
    return blurred
