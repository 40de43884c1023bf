"""Sway a motion so that its weight is carried where its feet are.

A body at height h whose centre moves with acceleration a, and whose angular momentum L changes, pushes on the ground at
``x − (h a_x − L̇_z)/(g + a_y)``, ``z − (h a_z + L̇_x)/(g + a_y)``. The ground can push back only between the feet that stand, and
a body whose target forgets this falls to the side, however strong it is. Artists and priors do forget. So the whole body is
shifted a little over its feet, as people sway when they walk: the least shift c(t) with which that point stays within the
support. This is linear in c, so it is found for the whole clip at once.
"""

import numpy as np
from jaxtyping import Bool, Float
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from akd.character.articulation import Articulation
from akd.character.kinematics import FrameVectors, JointRotations, local_to_stage, skinned
from akd.character.limb_model import LimbModel
from akd.contact.foot_lock import typical_leg
from akd.contact.measures import CONTACT_HEIGHT, Feet

SHIFT_COST = 0.05
"""What a shift costs against the same distance of the pressure from the support: so much of a fault is left, not mended."""
MAX_SHIFT = 0.3
"""No body is shifted further than this share of the length of its legs: one that would have to be cannot keep its balance, and
its legs would not reach."""
SUPPORT_INSET = 0.3
"""Feet press on the ground within their outline, drawn in by this share toward their middle."""
ZMP_ITERATIONS, FRANK_WOLFE_STEPS = 100, 20
"""Times that shift and pressure are found in turns, and steps of each search for the pressure's nearest place."""
MOMENTUM_SMOOTHING = 1.0
"""Frames over which angular momentum is smoothed."""
MAX_BALANCE_LOAD = 2.0
"""Greatest load on the legs that is believed, in weights: feet that are set down abruptly make the body seem to jump."""
GroundVectors = Float[np.ndarray, "frame 2"]
"""Forward and rightward on the ground."""
GroundPoints = Float[np.ndarray, "frame point 2"]
Supporting = Bool[np.ndarray, "frame point"]
Stands = Bool[np.ndarray, "frame foot"]


def zmp_shift(
    puppet: LimbModel, body: Articulation, root: FrameVectors, turns: JointRotations, wanted: Feet, stands: Stands, fps: float
) -> FrameVectors:
    """How far the root must be shifted over the ground in every frame, for feet that will be where they are wanted [ℓ]."""
    rotation, position = local_to_stage(puppet.skeleton, root, turns)
    rotation_of_link, links = rotation[:, body.joints], _link_centres(body, rotation, position)
    centre = (body.mass[:, None] * links).sum(1)
    tilt = np.gradient(_angular_momentum(body, links - centre[:, None], rotation_of_link, fps), axis=0) * fps / body.gravity
    shift = np.zeros_like(root)
    support = _support_points(puppet, rotation, position, wanted, stands)
    furthest = MAX_SHIFT * typical_leg(puppet)
    shift[:, [0, 2]] = _least_shift(centre, tilt[:, [2, 0]] * (1, -1), *support, furthest, body.gravity, fps)
    return shift


def is_tipping(
    puppet: LimbModel, body: Articulation, root: FrameVectors, turns: JointRotations, feet: Feet, stands: Stands
) -> Bool[np.ndarray, " frame"]:
    """Frames in which the centre is further from the standing feet than any shift over them could mend."""
    centre = centre_of_mass(puppet, body, root, turns)[:, [0, 2]]
    under = feet[..., [0, 2]]
    carries = np.where(stands.any(1, keepdims=True), stands, True)
    nearest = _nearest_in_hull(under, carries, _support_centre(under, carries), centre)
    return stands.any(1) & (np.linalg.norm(nearest - centre, axis=1) > MAX_SHIFT * typical_leg(puppet))


def centre_of_mass(puppet: LimbModel, body: Articulation, root: FrameVectors, turns: JointRotations) -> FrameVectors:
    """Where the centre of the whole body is [ℓ]."""
    return (body.mass[:, None] * _link_centres(body, *local_to_stage(puppet.skeleton, root, turns))).sum(1)


def _link_centres(
    body: Articulation, rotation: JointRotations, position: Float[np.ndarray, "frame joint 3"]
) -> Float[np.ndarray, "frame link 3"]:
    return position[:, body.joints] + (rotation[:, body.joints] @ body.com[:, :, None])[..., 0]


def _angular_momentum(
    body: Articulation, arms: Float[np.ndarray, "frame link 3"], rotation: Float[np.ndarray, "frame link 3 3"], fps: float
) -> FrameVectors:
    """About the centre of mass: of the links' centres, and of their own turning [mass ℓ²/s]."""
    orbit = np.cross(arms, np.gradient(arms, axis=0) * fps)
    step = Rotation.from_matrix((rotation[1:] @ np.swapaxes(rotation[:-1], -1, -2)).reshape(-1, 3, 3)).as_rotvec() * fps
    spin = step.reshape(len(arms) - 1, -1, 3)
    spin = np.concatenate((spin[:1], (spin[1:] + spin[:-1]) / 2, spin[-1:]))
    own = rotation @ (body.inertia @ (np.swapaxes(rotation, -1, -2) @ spin[..., None]))
    return gaussian_filter1d((body.mass[:, None] * orbit + own[..., 0]).sum(1), MOMENTUM_SMOOTHING, axis=0, mode="nearest")


def _support_points(
    puppet: LimbModel, rotation: JointRotations, position: Float[np.ndarray, "frame joint 3"], wanted: Feet, stands: Stands
) -> tuple[GroundPoints, Supporting]:
    """Outlines of the feet, and which of their points carry: those of standing feet, or of the lowest where none stands."""
    lowest = wanted[..., 1] == wanted[..., 1].min(1, keepdims=True)
    standing = np.where(stands.any(1, keepdims=True), stands, lowest)
    points, carries = [], []
    for number, foot in enumerate(puppet.feet):
        outline = skinned(puppet.rig, foot.outline, rotation, position) if foot.outline.size else wanted[:, number, None]
        low = outline[..., 1] < outline[..., 1].min(1, keepdims=True) + CONTACT_HEIGHT
        outline = outline + (wanted[:, number] - outline.mean(1))[:, None]
        outline += SUPPORT_INSET * (wanted[:, number, None] - outline)
        points.append(outline[..., [0, 2]])
        carries.append(low & standing[:, number, None])
    return np.concatenate(points, 1), np.concatenate(carries, 1)


def _least_shift(
    centre: FrameVectors, tilt: GroundVectors, points: GroundPoints, carries: Supporting, furthest: float, gravity: float, fps: float
) -> GroundVectors:  # fmt: skip
    """The least shift of the centre with which ``load (x + c) − h/g (x + c)″ + tilt = load s`` for some s in the support."""
    count = len(centre)
    bend = (np.eye(count, k=1) - 2 * np.eye(count) + np.eye(count, k=-1))[1:-1] * fps**2
    inner = slice(1, -1)
    load = np.clip(1 + bend @ centre[:, 1] / gravity, 0.0, MAX_BALANCE_LOAD)[:, None]
    tilt = np.minimum(load, 1.0) * tilt[inner]  # in the air nothing pushes, and nothing has to be balanced
    moment = load * np.eye(count)[inner] - centre[inner, 1, None] / gravity * bend
    there, points, carries = centre[:, [0, 2]], points[inner], carries[inner]
    solve = np.linalg.solve(moment.T @ moment + SHIFT_COST * np.eye(count), moment.T)
    pushes = moment @ there + tilt
    shift, press = np.zeros_like(there), _support_centre(points, carries)
    for _ in range(ZMP_ITERATIONS):
        press = _nearest_in_hull(points, carries, press, (pushes + moment @ shift) / np.maximum(load, 0.1))
        shift = np.clip(solve @ (load * press - pushes), -furthest, furthest)
    return shift


def _support_centre(points: GroundPoints, carries: Supporting) -> GroundVectors:
    return (points * carries[..., None]).sum(1) / carries.sum(1)[:, None]


def _nearest_in_hull(points: GroundPoints, carries: Supporting, press: GroundVectors, wanted: GroundVectors) -> GroundVectors:
    """Some steps (Frank–Wolfe) from a place in the convex hull of the carrying points toward the one nearest to ``wanted``."""
    for _ in range(FRANK_WOLFE_STEPS):
        way = wanted - press
        reach = np.where(carries, np.einsum("fpk,fk->fp", points, way), -np.inf)
        toward = np.take_along_axis(points, reach.argmax(1)[:, None, None], 1)[:, 0] - press
        share = (toward * way).sum(1) / np.maximum((toward**2).sum(1), 1e-12)
        press = press + np.clip(share, 0.0, 1.0)[:, None] * toward
    return press
