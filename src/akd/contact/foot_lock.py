"""Put feet where they should be by bending legs as little as possible: damped Gauss–Newton on the legs' own angles.

Unlike ``creatures.perform``, which invents how a leg is folded, this starts from what an artist or a prior made of it. All
frames are solved at once. The foot keeps its direction on the stage, so toes roll as they did.
"""

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from akd.character.kinematics import FrameVectors, JointRotations, local_to_stage, skinned
from akd.character.leg import main_chain
from akd.character.limb_model import LimbModel
from akd.contact.measures import Feet

ITERATIONS, UNSMOOTHED_ITERATIONS, BEND_SMOOTHING = 18, 7, 1.0
"""Gauss–Newton steps; until the last few the bends are smoothed over so many frames, so that a leg that is nearly straight
does not bend one way in one frame and the other way in the next."""
DAMPING = 1e-3
"""λ: how much reach a leg gives up for not bending, against its squared lever arms [ℓ²]."""
MAX_STEP = 0.25
"""No joint turns further than this in one step [rad]."""
MAX_STRETCH, STRETCH_SOFTNESS = 0.98, 0.02
"""Legs are straightened to this share of their length, and approach it gently over this one."""
OFF_AXIS_COMPLIANCE = 0.1
"""How readily hinges give way across their own axis, compared with about it."""


def foot_positions(puppet: LimbModel, root: FrameVectors, turns: JointRotations) -> Feet:
    """Mean x and z of each sole, and the height of the lowest point of the foot."""
    rotation, position = local_to_stage(puppet.skeleton, root, turns)
    return np.stack([_foot_at(puppet, number, rotation, position) for number in range(len(puppet.feet))], 1)


def solve_legs(puppet: LimbModel, root: FrameVectors, turns: JointRotations, wanted: Feet) -> JointRotations:
    """The turns with which the feet come nearest to the wanted paths; see ``within_reach`` for what can be wanted."""
    skeleton, bent = puppet.skeleton, turns.copy()
    original, _ = local_to_stage(skeleton, root, turns)
    chains = [leg_chain(puppet, number) for number in range(len(puppet.feet))]
    bends = [np.zeros((len(root), len(chain[:-1] or chain), 3)) for chain in chains]
    for step in range(ITERATIONS):
        rotation, position = local_to_stage(skeleton, root, bent)
        for number, (chain, bend) in enumerate(zip(chains, bends, strict=True)):
            missed = wanted[:, number] - _foot_at(puppet, number, rotation, position)
            bend += _gauss_newton_step(puppet, number, chain, rotation, position, missed)
            if step < ITERATIONS - UNSMOOTHED_ITERATIONS:
                bend[:] = gaussian_filter1d(bend, BEND_SMOOTHING, axis=0, mode="nearest")
            for k in range(bend.shape[1]):
                bent[:, chain[k]] = Rotation.from_rotvec(bend[:, k]).as_matrix() @ turns[:, chain[k]]
            _keep_foot_orientation(puppet, chain, rotation, original[:, chain[-1]], bent)
    return bent


def leg_length(puppet: LimbModel, number: int) -> float:
    """From the hip along the bones to the joint that moves most of the sole, or to the sole of a leg of one bone [ℓ]."""
    points = puppet.skeleton.positions[leg_chain(puppet, number)]
    if len(points) == 1:
        points = np.stack((points[0], puppet.feet[number].centre))
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def typical_leg(puppet: LimbModel) -> float:
    """Median length of the legs [ℓ]: ℓ is how high a body stands, and a spider's legs are six times that."""
    return float(np.median([leg_length(puppet, number) for number in range(len(puppet.feet))]))


def overstretch(puppet: LimbModel, root: FrameVectors, turns: JointRotations, wanted: Feet) -> Float[np.ndarray, "frame foot"]:
    """How far the body must sink for each foot to be within reach of its leg [ℓ]; negative where there is room."""
    rotation, position = local_to_stage(puppet.skeleton, root, turns)
    out = []
    for number in range(len(puppet.feet)):
        away, length, given = _leg_line(puppet, number, rotation, position, wanted)
        flat = np.square(away[:, [0, 2]]).sum(-1)
        length = np.maximum(length, given)
        out.append(-away[:, 1] - np.sqrt(np.maximum(length**2 - flat, (0.3 * length) ** 2)))
    return np.stack(out, 1)


def within_reach(puppet: LimbModel, root: FrameVectors, turns: JointRotations, wanted: Feet) -> Feet:
    """The wanted paths, drawn towards the hips where legs are too short: a stretched leg would jerk."""
    rotation, position = local_to_stage(puppet.skeleton, root, turns)
    out = wanted.copy()
    for number in range(len(puppet.feet)):
        away, length, given = _leg_line(puppet, number, rotation, position, wanted)
        far = np.linalg.norm(away, axis=-1)
        near = (far + length - np.sqrt(np.square(far - length) + (STRETCH_SOFTNESS * length) ** 2)) / 2
        near = np.maximum(near, np.minimum(far, given))  # as straight as it was given it may stay
        out[:, number] += (np.minimum(near / np.maximum(far, 1e-9), 1.0) - 1)[:, None] * away
    return out


def _leg_line(
    puppet: LimbModel, number: int, rotation: JointRotations, position: Float[np.ndarray, "frame joint 3"], wanted: Feet
) -> tuple[FrameVectors, float, Float[np.ndarray, " frame"]]:
    """From the hip to where the foot joint would be if the sole were as wanted, how long that may be, and how long it is."""
    chain = leg_chain(puppet, number)
    foot = _foot_at(puppet, number, rotation, position)
    missed, length = wanted[:, number] - foot, leg_length(puppet, number)
    end, stretch = (foot, 1.0) if len(chain) == 1 else (position[:, chain[-1]], MAX_STRETCH)
    away = end - position[:, chain[0]]
    return away + missed, stretch * length, np.linalg.norm(away, axis=-1)


def leg_chain(puppet: LimbModel, number: int) -> list[int]:
    """The joints of a leg from the hip to the one that moves most of the sole."""
    limb, sole = puppet.rig.legs[number], puppet.feet[number].sole
    chain = main_chain(puppet.skeleton, limb)
    return chain[: int(np.argmax(puppet.rig.weights[sole][:, chain].sum(0))) + 1] if sole.size else chain


def _foot_at(
    puppet: LimbModel, number: int, rotation: JointRotations, position: Float[np.ndarray, "frame joint 3"]
) -> FrameVectors:
    foot = puppet.feet[number]
    if not foot.outline.size:
        tip = puppet.rig.legs[number].tip
        return position[:, tip] - puppet.skeleton.positions[tip] * np.array([0.0, 1.0, 0.0])
    mean = skinned(puppet.rig, foot.sole, rotation, position).mean(1)
    lowest = skinned(puppet.rig, foot.outline, rotation, position)[..., 1].min(1)
    return np.stack((mean[:, 0], lowest, mean[:, 2]), -1)


def _gauss_newton_step(
    puppet: LimbModel, number: int, chain: list[int], rotation: JointRotations, position: Float[np.ndarray, "frame joint 3"],
    missed: FrameVectors,
) -> Float[np.ndarray, "frame bending 3"]:  # fmt: skip
    """How the bends of the joints above the foot (rotation vectors in their parents' axes) should change."""
    foot, parents = puppet.feet[number], puppet.skeleton.parents
    bending = chain[:-1] or chain
    end = position[:, chain[-1]]
    if len(chain) == 1:
        end = end + rotation[:, chain[0]] @ (foot.centre - puppet.skeleton.positions[chain[0]])
    above = np.stack([rotation[:, max(parents[joint], 0)] for joint in bending], 1)
    # A turn ω about a joint moves the end by ω × lever = [lever]×ᵀ ω.
    levers = np.stack([_cross_matrix(end - position[:, joint]) for joint in bending], 1)
    jacobian = np.swapaxes(levers, -1, -2) @ above
    ready = np.stack([_compliance(foot.leg.normal, joint == chain[0]) for joint in bending])
    normal = np.einsum("fjab,jbc,fjdc->fad", jacobian, ready, jacobian) + DAMPING * np.eye(3)
    change = np.einsum("jab,fjcb,fc->fja", ready, jacobian, np.linalg.solve(normal, missed[..., None])[..., 0])
    return change * MAX_STEP / np.maximum(np.linalg.norm(change, axis=-1, keepdims=True), MAX_STEP)


def _compliance(normal: Float[np.ndarray, " 3"], is_hip: bool) -> Float[np.ndarray, "3 3"]:
    """How readily a joint turns about each direction at rest: a hip any way, a hinge about the normal of the leg's plane."""
    about = np.outer(normal, normal)
    return np.eye(3) if is_hip else about + OFF_AXIS_COMPLIANCE * (np.eye(3) - about)


def _keep_foot_orientation(
    puppet: LimbModel, chain: list[int], rotation: JointRotations, wanted: Float[np.ndarray, "frame 3 3"], turns: JointRotations
) -> None:
    """Turn the foot joint against what the joints above it did."""
    if len(chain) < 2:
        return
    above = rotation[:, puppet.skeleton.parents[chain[0]]]
    for joint in chain[:-1]:
        above = above @ turns[:, joint]
    turns[:, chain[-1]] = np.swapaxes(above, -1, -2) @ wanted


def _cross_matrix(v: FrameVectors) -> Float[np.ndarray, "frame 3 3"]:
    """``m @ w = v × w``."""
    x, y, z = v.T
    zero = np.zeros_like(x)
    return np.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).reshape(-1, 3, 3)
