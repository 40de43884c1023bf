"""Put feet where they should be by bending legs as little as possible: damped Gauss–Newton on the legs' own angles.

Unlike ``creatures.perform``, which invents how a leg is folded, this starts from what an artist or a prior made of it. All
frames are solved at once. The foot keeps its direction on the stage, so toes roll as they did.
"""

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.creatures.kinematics import Turns, Vectors, skinned, stage_turns
from akd.creatures.puppet import Foot, Puppet
from akd.measure.contact import Feet

STEPS = 12
DAMPING = 2e-3
"""Added to the squared lever arms of a leg [ℓ²]: a stretched leg gives up a little reach instead of flailing."""
LARGEST_TURN = 0.25
"""No joint turns further than this in one step [rad]."""
SIDEWAYS = 0.1
"""How readily hinges give way across their own axis, compared with about it."""


def feet_of(puppet: Puppet, root: Vectors, turns: Turns) -> Feet:
    """Mean x and z of each sole, and the height of the lowest point of the foot."""
    rotation, position = stage_turns(puppet.skeleton, root, turns)
    return np.stack([_foot_at(puppet, number, rotation, position) for number in range(len(puppet.feet))], 1)


def reach(puppet: Puppet, root: Vectors, turns: Turns, wanted: Feet) -> Turns:
    """The turns with which the feet come nearest to the wanted paths."""
    skeleton, turns = puppet.skeleton, turns.copy()
    original, _ = stage_turns(skeleton, root, turns)
    for _ in range(STEPS):
        rotation, position = stage_turns(skeleton, root, turns)
        for number, foot in enumerate(puppet.feet):
            missed = wanted[:, number] - _foot_at(puppet, number, rotation, position)
            _bend(puppet, foot, rotation, position, missed, turns)
            _keep_direction(puppet, foot, rotation, original[:, foot.leg.foot], turns)
    return turns


def _foot_at(puppet: Puppet, number: int, rotation: Turns, position: Float[np.ndarray, "frame joint 3"]) -> Vectors:
    foot = puppet.feet[number]
    if not foot.outline.size:
        tip = puppet.rig.legs[number].tip
        return position[:, tip] - puppet.skeleton.positions[tip] * np.array([0.0, 1.0, 0.0])
    mean = skinned(puppet.rig, foot.sole, rotation, position).mean(1)
    lowest = skinned(puppet.rig, foot.outline, rotation, position)[..., 1].min(1)
    return np.stack((mean[:, 0], lowest, mean[:, 2]), -1)


def _bend(
    puppet: Puppet, foot: Foot, rotation: Turns, position: Float[np.ndarray, "frame joint 3"], missed: Vectors, turns: Turns
) -> None:
    """One step of the joints above the foot; ``turns`` is changed in place."""
    leg, parents = foot.leg, puppet.skeleton.parents
    bending = leg.chain[:-1] or leg.chain
    end = position[:, leg.foot] if len(leg.chain) > 1 else position[:, leg.foot] + rotation[:, leg.foot] @ (
        foot.centre - puppet.skeleton.positions[leg.foot]
    )
    levers = np.stack([_cross_matrix(end - position[:, joint]) for joint in bending], 1)
    above = np.stack([rotation[:, max(parents[joint], 0)] for joint in bending], 1)
    ready = np.stack([_readiness(leg.normal, joint == leg.hip) for joint in bending])
    willing = above @ ready @ np.swapaxes(above, -1, -2)
    # A turn ω about a joint moves the end by ω × lever = leverᵀ× ω.
    jacobian = np.swapaxes(levers, -1, -2)
    normal = np.einsum("fjab,fjbc,fjdc->fad", jacobian, willing, jacobian) + DAMPING * np.eye(3)
    pull = np.linalg.solve(normal, missed[..., None])[..., 0]
    turn = np.einsum("fjab,fjcb,fc->fja", willing, jacobian, pull)
    size = np.linalg.norm(turn, axis=-1, keepdims=True)
    turn *= LARGEST_TURN / np.maximum(size, LARGEST_TURN)
    for k, joint in enumerate(bending):
        local = (np.swapaxes(above[:, k], -1, -2) @ turn[:, k, :, None])[..., 0]
        turns[:, joint] = Rotation.from_rotvec(local).as_matrix() @ turns[:, joint]


def _readiness(normal: Float[np.ndarray, " 3"], is_hip: bool) -> Float[np.ndarray, "3 3"]:
    """How readily a joint turns about each direction at rest: a hip any way, a hinge about the normal of the leg's plane."""
    about = np.outer(normal, normal)
    return np.eye(3) if is_hip else about + SIDEWAYS * (np.eye(3) - about)


def _keep_direction(puppet: Puppet, foot: Foot, rotation: Turns, wanted: Float[np.ndarray, "frame 3 3"], turns: Turns) -> None:
    """Turn the foot joint against what the joints above it did."""
    chain = foot.leg.chain
    if len(chain) < 2:
        return
    above = rotation[:, puppet.skeleton.parents[chain[0]]]
    for joint in chain[:-1]:
        above = above @ turns[:, joint]
    turns[:, chain[-1]] = np.swapaxes(above, -1, -2) @ wanted


def _cross_matrix(v: Vectors) -> Float[np.ndarray, "frame 3 3"]:
    """``m @ w = v × w``."""
    x, y, z = v.T
    zero = np.zeros_like(x)
    return np.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).reshape(-1, 3, 3)
