"""Individuals as rigs whose skin is only rings of points: enough to pose them, and three hundred times cheaper than a mesh."""

import numpy as np

from akd.creatures.body import CreatureBody, Tube, place_body, sample_individual
from akd.creatures.build import SIDES, SOLE_HEIGHT, skeleton_of
from akd.creatures.plans import PLANS
from akd.mesh import Mesh
from akd.rig import Rig
from akd.skeleton import Skeleton

RING_ANGLES = np.arange(4) * np.pi / 2
"""Angles of the points around a cross-section [rad]: at both sides, above and below."""
SECTION_STRIDE = 2
"""Every so many of the cross-sections that ``creatures.body`` draws, one is used."""


def point_rig(plan_name: str, seed: int) -> Rig:
    """A rig with the joints of ``creatures.build.creature`` and rings of points for a skin, each point bound to one joint."""
    plan = PLANS[plan_name]
    body = place_body(plan, sample_individual(plan, seed))
    skeleton = skeleton_of(body)
    points, owners = _skin_points(body, skeleton)
    points[:, 1] = np.maximum(points[:, 1], 0.0)  # soles are flat on the ground
    weights = np.eye(skeleton.joint_count)[owners]
    mesh = Mesh(points, np.zeros((0, 3), int), np.full_like(points, 0.5))
    return Rig(mesh, skeleton, weights, _soles(points, owners, skeleton), body.leg_metres, plan_name)


def _skin_points(body: CreatureBody, skeleton: Skeleton) -> tuple[np.ndarray, np.ndarray]:
    """The points, and the joint of each."""
    points, owners = [], []
    for tube in body.tubes:
        if not tube.chain.solid:
            continue
        rings, names = _rings(tube)[::SECTION_STRIDE], tube.owners[::SECTION_STRIDE]
        for side, _, sign in SIDES if tube.chain.paired else SIDES[1:]:
            points.append((rings * (1.0, 1.0, sign)).reshape(-1, 3))
            owners.append(np.repeat([skeleton.index(name.replace("*", side)) for name in names], len(RING_ANGLES)))
    return np.concatenate(points), np.concatenate(owners)


def _rings(tube: Tube) -> np.ndarray:
    """Points around every cross-section, section × point × 3."""
    along = np.gradient(tube.centres, axis=0) if len(tube.centres) > 1 else np.array([[1.0, 0, 0]])
    axis = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    side = np.where(np.abs(axis[:, 2:]) < 0.999, [[0.0, 0, 1]], [[1.0, 0, 0]])
    lateral = side - (side * axis).sum(1, keepdims=True) * axis
    lateral /= np.linalg.norm(lateral, axis=1, keepdims=True)
    upper = np.cross(lateral, axis)
    out = np.cos(RING_ANGLES)[:, None] * (tube.widths[:, None] * lateral)[:, None]
    return tube.centres[:, None] + out + np.sin(RING_ANGLES)[:, None] * (tube.heights[:, None] * upper)[:, None]


def _soles(points: np.ndarray, owners: np.ndarray, skeleton: Skeleton) -> tuple[np.ndarray, ...]:
    """For every leg the lowest points of its last two joints, at least four."""
    soles = []
    for leg in skeleton.limbs_of("leg"):
        own = np.flatnonzero(np.isin(owners, leg.joints[-2:]))
        height = points[own, 1]
        soles.append(own[height <= max(SOLE_HEIGHT, np.sort(height)[3])])
    return tuple(soles)
