"""Leg inverse kinematics: feet onto target paths by bending the legs as little as possible (damped Gauss–Newton).

Unlike ``creatures.perform``, which chooses how a leg folds, this starts from the legs of a given motion. All frames are solved
at once. The foot keeps its orientation on the stage, so toes roll as they did.
"""

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from akd.character.leg import main_chain
from akd.character.limb_model import FrameVectors, JointPositions, JointRotations, LimbModel, local_to_stage, skinned
from akd.contact.measures import Feet

ITERATIONS, UNSMOOTHED_ITERATIONS, BEND_SMOOTHING = 18, 7, 1.0
"""Gauss–Newton steps; until the last few the bends are smoothed over so many frames, so that a leg that is nearly straight
does not bend one way in one frame and the other way in the next."""
DAMPING = 1e-3
"""λ: Levenberg–Marquardt damping, against the squared lever arms [ℓ²]."""
MAX_STEP = 0.25
"""Largest rotation of one joint in one step [rad]."""
MAX_STRETCH, STRETCH_SOFTNESS = 0.98, 0.02
"""Legs are straightened to this share of their length, and approach it gently over this one."""
OFF_AXIS_COMPLIANCE = 0.1
"""Compliance of hinges across their own axis, relative to that about it."""


def foot_positions(model: LimbModel, root: FrameVectors, rotations: JointRotations) -> Feet:
    """Mean x and z of each sole, and the height of the lowest point of the foot."""
    stage, position = local_to_stage(model.skeleton, root, rotations)
    return np.stack([_foot_at(model, number, stage, position) for number in range(len(model.feet))], 1)


def solve_legs(
    model: LimbModel, root: FrameVectors, rotations: JointRotations, targets: Feet,
    loose: Float[np.ndarray, "frame foot"] | None = None,
) -> JointRotations:  # fmt: skip
    """The rotations with which the feet come nearest to the target paths; ``within_reach`` makes targets reachable.

    ``loose``: how far each foot turns with its shin, 0 to 1, instead of keeping its orientation on the stage as by default.
    """
    skeleton, bent = model.skeleton, rotations.copy()
    original, _ = local_to_stage(skeleton, root, rotations)
    chains = [leg_chain(model, number) for number in range(len(model.feet))]
    bends = [np.zeros((len(root), len(chain[:-1] or chain), 3)) for chain in chains]
    for step in range(ITERATIONS):
        stage, position = local_to_stage(skeleton, root, bent)
        for number, (chain, bend) in enumerate(zip(chains, bends, strict=True)):
            missed = targets[:, number] - _foot_at(model, number, stage, position)
            bend += _gauss_newton_step(model, number, chain, stage, position, missed)
            if step < ITERATIONS - UNSMOOTHED_ITERATIONS:
                bend[:] = gaussian_filter1d(bend, BEND_SMOOTHING, axis=0, mode="nearest")
            for k in range(bend.shape[1]):
                bent[:, chain[k]] = Rotation.from_rotvec(bend[:, k]).as_matrix() @ rotations[:, chain[k]]
            _keep_foot_orientation(model, chain, stage, original[:, chain[-1]], bent)
            if loose is not None:
                _loosen(bent, rotations, chain[-1], loose[:, number])
    return bent


def _loosen(bent: JointRotations, given: JointRotations, foot: int, share: Float[np.ndarray, " frame"]) -> None:
    """Turn a foot joint by a share of the way back to its given rotation relative to the shin."""
    back = Rotation.from_matrix(np.swapaxes(bent[:, foot], -1, -2) @ given[:, foot]).as_rotvec()
    bent[:, foot] = bent[:, foot] @ Rotation.from_rotvec(share[:, None] * back).as_matrix()


def leg_length(model: LimbModel, number: int) -> float:
    """From the hip along the bones to the joint that moves most of the sole, or to the sole of a leg of one bone [ℓ]."""
    points = model.skeleton.positions[leg_chain(model, number)]
    if len(points) == 1:
        points = np.stack((points[0], model.feet[number].centre))
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def typical_leg(model: LimbModel) -> float:
    """Median length of the legs [ℓ]: ℓ is how high a body stands, and a spider's legs are six times that."""
    return float(np.median([leg_length(model, number) for number in range(len(model.feet))]))


def overstretch(
    model: LimbModel, root: FrameVectors, rotations: JointRotations, targets: Feet
) -> Float[np.ndarray, "frame foot"]:
    """How far the body must sink for each foot to be within reach of its leg [ℓ]; negative where there is room."""
    stage, position = local_to_stage(model.skeleton, root, rotations)
    out = []
    for number in range(len(model.feet)):
        away, length, given = _hip_to_foot(model, number, stage, position, targets)
        flat = np.square(away[:, [0, 2]]).sum(-1)
        length = np.maximum(length, given)
        out.append(-away[:, 1] - np.sqrt(np.maximum(length**2 - flat, (0.3 * length) ** 2)))
    return np.stack(out, 1)


def within_reach(model: LimbModel, root: FrameVectors, rotations: JointRotations, targets: Feet) -> Feet:
    """The target paths, drawn towards the hips where legs are too short: a stretched leg would jerk."""
    stage, position = local_to_stage(model.skeleton, root, rotations)
    out = targets.copy()
    for number in range(len(model.feet)):
        away, length, given = _hip_to_foot(model, number, stage, position, targets)
        far = np.linalg.norm(away, axis=-1)
        near = (far + length - np.sqrt(np.square(far - length) + (STRETCH_SOFTNESS * length) ** 2)) / 2
        near = np.maximum(near, np.minimum(far, given))  # as straight as it was given it may stay
        out[:, number] += (np.minimum(near / np.maximum(far, 1e-9), 1.0) - 1)[:, None] * away
    return out


def _hip_to_foot(
    model: LimbModel, number: int, stage: JointRotations, position: JointPositions, targets: Feet
) -> tuple[FrameVectors, float, Float[np.ndarray, " frame"]]:
    """From the hip to where the foot joint is with the sole on target, how long that may be, and how long it is."""
    chain = leg_chain(model, number)
    foot = _foot_at(model, number, stage, position)
    missed, length = targets[:, number] - foot, leg_length(model, number)
    end, stretch = (foot, 1.0) if len(chain) == 1 else (position[:, chain[-1]], MAX_STRETCH)
    away = end - position[:, chain[0]]
    return away + missed, stretch * length, np.linalg.norm(away, axis=-1)


def leg_chain(model: LimbModel, number: int) -> list[int]:
    """The joints of a leg from the hip to the one that moves most of the sole."""
    limb, sole = model.rig.legs[number], model.feet[number].sole
    chain = main_chain(model.skeleton, limb)
    return chain[: int(np.argmax(model.rig.weights[sole][:, chain].sum(0))) + 1] if sole.size else chain


def _foot_at(model: LimbModel, number: int, stage: JointRotations, position: JointPositions) -> FrameVectors:
    foot = model.feet[number]
    if not foot.outline.size:
        tip = model.rig.legs[number].tip
        return position[:, tip] - model.skeleton.positions[tip] * np.array([0.0, 1.0, 0.0])
    mean = skinned(model.rig, foot.sole, stage, position).mean(1)
    lowest = skinned(model.rig, foot.outline, stage, position)[..., 1].min(1)
    return np.stack((mean[:, 0], lowest, mean[:, 2]), -1)


def _gauss_newton_step(
    model: LimbModel, number: int, chain: list[int], stage: JointRotations, position: JointPositions,
    missed: FrameVectors,
) -> Float[np.ndarray, "frame bending 3"]:  # fmt: skip
    """How the bends of the joints above the foot (rotation vectors in their parents' axes) should change."""
    foot, parents = model.feet[number], model.skeleton.parents
    bending = chain[:-1] or chain
    end = position[:, chain[-1]]
    if len(chain) == 1:
        end = end + stage[:, chain[0]] @ (foot.centre - model.skeleton.positions[chain[0]])
    above = np.stack([stage[:, max(parents[joint], 0)] for joint in bending], 1)
    # A turn ω about a joint moves the end by ω × lever = [lever]×ᵀ ω.
    levers = np.stack([_cross_matrix(end - position[:, joint]) for joint in bending], 1)
    jacobian = np.swapaxes(levers, -1, -2) @ above
    compliance = np.stack([_compliance(foot.leg.normal, joint == chain[0]) for joint in bending])
    normal = np.einsum("fjab,jbc,fjdc->fad", jacobian, compliance, jacobian) + DAMPING * np.eye(3)
    change = np.einsum("jab,fjcb,fc->fja", compliance, jacobian, np.linalg.solve(normal, missed[..., None])[..., 0])
    return change * MAX_STEP / np.maximum(np.linalg.norm(change, axis=-1, keepdims=True), MAX_STEP)


def _compliance(normal: Float[np.ndarray, " 3"], is_hip: bool) -> Float[np.ndarray, "3 3"]:
    """Compliance of a joint about each direction at rest: a hip any way, a hinge about the normal of the leg's plane."""
    about = np.outer(normal, normal)
    return np.eye(3) if is_hip else about + OFF_AXIS_COMPLIANCE * (np.eye(3) - about)


def _keep_foot_orientation(
    model: LimbModel,
    chain: list[int],
    stage: JointRotations,
    orientation: Float[np.ndarray, "frame 3 3"],
    rotations: JointRotations,
) -> None:
    """Rotate the foot joint so that its stage orientation is ``orientation``."""
    if len(chain) < 2:
        return
    above = stage[:, model.skeleton.parents[chain[0]]]
    for joint in chain[:-1]:
        above = above @ rotations[:, joint]
    rotations[:, chain[-1]] = np.swapaxes(above, -1, -2) @ orientation


def _cross_matrix(v: FrameVectors) -> Float[np.ndarray, "frame 3 3"]:
    """``m @ w = v × w``."""
    x, y, z = v.T
    zero = np.zeros_like(x)
    return np.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).reshape(-1, 3, 3)
