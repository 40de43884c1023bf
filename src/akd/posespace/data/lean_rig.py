"""An individual as a rig whose skin is only rings of points: enough for a puppeteer, three hundred times cheaper to make."""

import numpy as np

from akd.creatures.body import Body, Tube, place
from akd.creatures.build import SIDES, SOLE_HEIGHT, skeleton_of
from akd.creatures.individual import draw
from akd.creatures.plans import PLANS
from akd.mesh import Mesh
from akd.rig import Rig
from akd.skeleton import Skeleton

RIM = np.arange(4) * np.pi / 2
"""Where on its outline a section of flesh has points: below, above and at both sides."""
EVERY = 2
"""Of the sections that ``body`` draws, each so-manieth is used."""


def lean_rig(plan_name: str, seed: int) -> Rig:
    """The same joints as ``creatures.build.creature``, with points around every section of flesh; each follows one joint."""
    plan = PLANS[plan_name]
    body = place(plan, draw(plan, seed))
    skeleton = skeleton_of(body)
    points, owners = _flesh_points(body, skeleton)
    points[:, 1] = np.maximum(points[:, 1], 0.0)  # feet are cut flat at the ground
    weights = np.eye(skeleton.joint_count)[owners]
    mesh = Mesh(points, np.zeros((0, 3), int), np.full_like(points, 0.5))
    return Rig(mesh, skeleton, weights, _soles(points, owners, skeleton), body.leg_metres, plan_name)


def _flesh_points(body: Body, skeleton: Skeleton) -> tuple[np.ndarray, np.ndarray]:
    points, owners = [], []
    for tube in body.tubes:
        if not tube.chain.flesh:
            continue
        rings, names = _rings(tube)[::EVERY], tube.owners[::EVERY]
        for side, _, sign in SIDES if tube.chain.paired else SIDES[1:]:
            points.append((rings * (1.0, 1.0, sign)).reshape(-1, 3))
            owners.append(np.repeat([skeleton.index(name.replace("*", side)) for name in names], len(RIM)))
    return np.concatenate(points), np.concatenate(owners)


def _rings(tube: Tube) -> np.ndarray:
    """Points on the outline of every section, section × point × 3."""
    along = np.gradient(tube.centres, axis=0) if len(tube.centres) > 1 else np.array([[1.0, 0, 0]])
    axis = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    side = np.where(np.abs(axis[:, 2:]) < 0.999, [[0.0, 0, 1]], [[1.0, 0, 0]])
    lateral = side - (side * axis).sum(1, keepdims=True) * axis
    lateral /= np.linalg.norm(lateral, axis=1, keepdims=True)
    upper = np.cross(lateral, axis)
    out = np.cos(RIM)[:, None] * (tube.widths[:, None] * lateral)[:, None]
    return tube.centres[:, None] + out + np.sin(RIM)[:, None] * (tube.heights[:, None] * upper)[:, None]


def _soles(points: np.ndarray, owners: np.ndarray, skeleton: Skeleton) -> tuple[np.ndarray, ...]:
    soles = []
    for leg in skeleton.limbs_of("leg"):
        own = np.flatnonzero(np.isin(owners, leg.joints[-2:]))
        height = points[own, 1]
        soles.append(own[height <= max(SOLE_HEIGHT, np.sort(height)[3])])
    return tuple(soles)
