"""Make a target dynamically feasible: the zero moment point inside the support polygon, ballistic flight between stances.

**Balance.** A body at height h whose centre of mass accelerates with a, and whose angular momentum L changes, has its zero
moment point at ``x − (h a_x − L̇_z)/(g + a_y)``, ``z − (h a_z + L̇_x)/(g + a_y)``. The ground can push back only within the
support polygon of the standing feet, and a target that ignores this falls to the side, however strong the simulated body is.
Drawn and generated motions do ignore it. So the whole body is shifted over its feet by the least c(t) that brings the zero
moment point into the polygon. The condition is linear in c, so it is solved for the whole clip at once.

**Flight.** Between two stances of a run nothing holds the body, so its centre of mass falls with g, and the speed for that
comes from the stances. The least change of height is found with which the centre falls freely in the air and loads the ground
with a bounded force while a foot stands: a bounded least-squares problem, solved for the whole clip at once.
"""

import numpy as np
from jaxtyping import Bool, Float
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from akd.character.articulation import Articulation
from akd.character.limb_model import FrameVectors, JointPositions, JointRotations, LimbModel, local_to_stage, skinned
from akd.contact.foot_lock import typical_leg
from akd.contact.measures import CONTACT_HEIGHT, Feet
from akd.contact.stance import Stance

SHIFT_COST = 0.05
"""Squared shift [ℓ²] against squared distance of the zero moment point from the support polygon: a small fault is left."""
MAX_SHIFT = 0.3
"""The body is shifted by at most this share of the leg length: beyond it balance is lost anyway, and legs would not reach."""
SUPPORT_INSET = 0.3
"""The support polygon is drawn in by this share toward the middle of each foot."""
ZMP_ITERATIONS, FRANK_WOLFE_STEPS = 100, 20
"""Alternations between shift and pressure point, and Frank–Wolfe steps for the pressure point in each."""
MOMENTUM_SMOOTHING = 1.0
"""Standard deviation with which angular momentum is smoothed [frames]."""
MAX_BALANCE_LOAD = 2.0
"""Greatest load on the legs used for balance [body weights]: feet set down abruptly make the body seem to jump."""
RISE_COST = 0.05
"""Squared rise [ℓ²] against a squared error of acceleration of 1 g."""
LOAD_CHANGE_COST = 1e-4
"""Squared change of the ground's load by one body weight from frame to frame, against the same."""
MAX_LOAD = 3.0
"""Greatest load on the legs in stance [body weights]."""
FREE_FALL_TOLERANCE = 1e-3
"""Load that is left in flight [body weights]: the solver needs bounds with a little room between them."""
GroundVectors = Float[np.ndarray, "frame 2"]
"""Stage x and z."""
GroundPoints = Float[np.ndarray, "frame point 2"]
SupportMask = Bool[np.ndarray, "frame point"]
HeightCurve = Float[np.ndarray, " frame"]


def zmp_shift(
    model: LimbModel, body: Articulation, root: FrameVectors, rotations: JointRotations, targets: Feet, stance: Stance, fps: float
) -> FrameVectors:
    """Shift of the root over the ground in every frame that balances the body on the feet at ``targets`` [ℓ]."""
    stage, position = local_to_stage(model.skeleton, root, rotations)
    link_rotations, links = stage[:, body.joints], _link_centres(body, stage, position)
    centre = (body.mass[:, None] * links).sum(1)
    tilt = np.gradient(_angular_momentum(body, links - centre[:, None], link_rotations, fps), axis=0) * fps / body.gravity
    shift = np.zeros_like(root)
    support = _support_points(model, stage, position, targets, stance)
    max_shift = MAX_SHIFT * typical_leg(model)
    shift[:, [0, 2]] = _least_shift(centre, tilt[:, [2, 0]] * (1, -1), *support, max_shift, body.gravity, fps)
    return shift


def is_tipping(
    model: LimbModel, body: Articulation, root: FrameVectors, rotations: JointRotations, feet: Feet, stance: Stance
) -> Bool[np.ndarray, " frame"]:
    """Frames in which the centre of mass is further from the standing feet than ``MAX_SHIFT`` could correct."""
    centre = centre_of_mass(model, body, root, rotations)[:, [0, 2]]
    under = feet[..., [0, 2]]
    supporting = np.where(stance.any(1, keepdims=True), stance, True)
    nearest = _nearest_in_hull(under, supporting, _support_centre(under, supporting), centre)
    return stance.any(1) & (np.linalg.norm(nearest - centre, axis=1) > MAX_SHIFT * typical_leg(model))


def centre_of_mass(model: LimbModel, body: Articulation, root: FrameVectors, rotations: JointRotations) -> FrameVectors:
    """Centre of mass of the whole body on the stage [ℓ]."""
    return (body.mass[:, None] * _link_centres(body, *local_to_stage(model.skeleton, root, rotations))).sum(1)


def _link_centres(body: Articulation, stage: JointRotations, position: JointPositions) -> Float[np.ndarray, "frame link 3"]:
    return position[:, body.joints] + (stage[:, body.joints] @ body.com[:, :, None])[..., 0]


def _angular_momentum(
    body: Articulation, levers: Float[np.ndarray, "frame link 3"], stage: Float[np.ndarray, "frame link 3 3"], fps: float
) -> FrameVectors:
    """About the centre of mass: of the links' centres, and of their own turning [mass ℓ²/s]."""
    orbit = np.cross(levers, np.gradient(levers, axis=0) * fps)
    step = Rotation.from_matrix((stage[1:] @ np.swapaxes(stage[:-1], -1, -2)).reshape(-1, 3, 3)).as_rotvec() * fps
    spin = step.reshape(len(levers) - 1, -1, 3)
    spin = np.concatenate((spin[:1], (spin[1:] + spin[:-1]) / 2, spin[-1:]))
    own = stage @ (body.inertia @ (np.swapaxes(stage, -1, -2) @ spin[..., None]))
    return gaussian_filter1d((body.mass[:, None] * orbit + own[..., 0]).sum(1), MOMENTUM_SMOOTHING, axis=0, mode="nearest")


def _support_points(
    model: LimbModel, stage: JointRotations, position: JointPositions, targets: Feet, stance: Stance
) -> tuple[GroundPoints, SupportMask]:
    """Outlines of the feet, and the points that span the support polygon: of standing feet, of the lowest if none stands."""
    lowest = targets[..., 1] == targets[..., 1].min(1, keepdims=True)
    standing = np.where(stance.any(1, keepdims=True), stance, lowest)
    points, supporting = [], []
    for number, foot in enumerate(model.feet):
        outline = skinned(model.rig, foot.outline, stage, position) if foot.outline.size else targets[:, number, None]
        low = outline[..., 1] < outline[..., 1].min(1, keepdims=True) + CONTACT_HEIGHT
        outline = outline + (targets[:, number] - outline.mean(1))[:, None]
        outline += SUPPORT_INSET * (targets[:, number, None] - outline)
        points.append(outline[..., [0, 2]])
        supporting.append(low & standing[:, number, None])
    return np.concatenate(points, 1), np.concatenate(supporting, 1)


def _least_shift(
    centre: FrameVectors, tilt: GroundVectors, points: GroundPoints, supporting: SupportMask,
    max_shift: float, gravity: float, fps: float,
) -> GroundVectors:  # fmt: skip
    """The least shift of the centre with which ``load (x + c) − h/g (x + c)″ + tilt = load s`` for some s in the support."""
    count = len(centre)
    second_difference = (np.eye(count, k=1) - 2 * np.eye(count) + np.eye(count, k=-1))[1:-1] * fps**2
    inner = slice(1, -1)
    load = np.clip(1 + second_difference @ centre[:, 1] / gravity, 0.0, MAX_BALANCE_LOAD)[:, None]
    tilt = np.minimum(load, 1.0) * tilt[inner]  # in the air nothing pushes, and nothing has to be balanced
    moment = load * np.eye(count)[inner] - centre[inner, 1, None] / gravity * second_difference
    centre_xz, points, supporting = centre[:, [0, 2]], points[inner], supporting[inner]
    solve = np.linalg.solve(moment.T @ moment + SHIFT_COST * np.eye(count), moment.T)
    demand = moment @ centre_xz + tilt
    shift, pressure = np.zeros_like(centre_xz), _support_centre(points, supporting)
    for _ in range(ZMP_ITERATIONS):
        pressure = _nearest_in_hull(points, supporting, pressure, (demand + moment @ shift) / np.maximum(load, 0.1))
        shift = np.clip(solve @ (load * pressure - demand), -max_shift, max_shift)
    return shift


def _support_centre(points: GroundPoints, supporting: SupportMask) -> GroundVectors:
    return (points * supporting[..., None]).sum(1) / supporting.sum(1)[:, None]


def _nearest_in_hull(
    points: GroundPoints, supporting: SupportMask, pressure: GroundVectors, point: GroundVectors
) -> GroundVectors:
    """Frank–Wolfe steps from a place in the convex hull of the supporting points toward the one nearest to ``point``."""
    for _ in range(FRANK_WOLFE_STEPS):
        way = point - pressure
        along = np.where(supporting, np.einsum("fpk,fk->fp", points, way), -np.inf)
        toward = np.take_along_axis(points, along.argmax(1)[:, None, None], 1)[:, 0] - pressure
        share = (toward * way).sum(1) / np.maximum((toward**2).sum(1), 1e-12)
        pressure = pressure + np.clip(share, 0.0, 1.0)[:, None] * toward
    return pressure


def in_free_fall(stance: Stance) -> Bool[np.ndarray, " frame"]:
    """Frames in which, and on both sides of which, no foot stands: the acceleration seen there is gravity's alone."""
    air = ~stance.any(1)
    return np.convolve(air, np.ones(3), mode="same") > 2.5


def ballistic_rise(
    height: HeightCurve, free_fall: Bool[np.ndarray, " frame"], limit: HeightCurve, gravity: float, fps: float
) -> HeightCurve:
    """How far the centre of mass must be raised in every frame [ℓ], at most to ``limit`` where that is finite.

    Zero everywhere if the load on the feet is feasible already.
    """
    count = len(height)
    second_difference = np.diff(np.eye(count), 2, axis=0) * fps**2 / gravity
    load, free_fall = 1 + second_difference @ height, free_fall[1:-1]
    if not free_fall.any() and load.min() >= 0 and load.max() <= MAX_LOAD:
        return np.zeros(count)
    # Unknown are the shift c and how hard the ground pushes, p: (h + c)″/g + 1 = p.
    keep, even = RISE_COST**0.5 * np.eye(count), LOAD_CHANGE_COST**0.5 * np.diff(np.eye(count - 2), axis=0)
    rows = np.block(
        [[second_difference, -np.eye(count - 2)], [keep, np.zeros((count, count - 2))], [np.zeros((count - 3, count)), even]]
    )
    goal = np.concatenate((-load, np.zeros(2 * count - 3)))
    lower = np.concatenate((np.full(count, -np.inf), np.zeros(count - 2)))
    upper = np.concatenate((limit, np.where(free_fall, FREE_FALL_TOLERANCE, MAX_LOAD)))
    return lsq_linear(rows, goal, (lower, upper)).x[:count]
