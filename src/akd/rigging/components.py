"""Connected components of a mesh: which bend as body or cloth, which move rigidly, and which are mirror-symmetric.

Bodies are mirror images of themselves; what they hold in one hand is not. A component without a mirror image says nothing about
the bones, and a sword longer than its bearer would hide them.
"""

from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.rigging.bones import Bones
from akd.rigging.surface import Surface

SMALL_COMPONENT = 0.15
"""Components smaller than this share of the mesh's size are buttons, eyes, teeth: they move rigidly, and end no bone."""
MAX_CLOTH_DISTANCE = 0.1
"""Cloth lies along the body: half of it is nearer to it than this share of its own size. Swords and shields do not."""
TOUCH_DISTANCE = 0.02
"""Where a rigid component is at most this share of the mesh's size farther from the body than its nearest point, it is held."""
MIN_ENCLOSED = 0.25
"""A component surrounds a bone if it encloses this much of it ..."""
MIN_RIVAL_SHARE = 0.5
"""... and at least this share of what the component that encloses most of it does."""
BONE_SAMPLES = 12
MIRROR_DISTANCE = 0.02
"""Mirrored points that are nearer to the surface than this are on it [size]."""
MIN_MIRRORED = 0.9
"""A component has a mirror image if this share of its points has."""
MIN_SYMMETRIC_AREA = 0.5
"""Share of the surface that must be symmetric: with less the body is posed, or has no plane of symmetry."""
MAX_CANDIDATES, MAX_PLANES, MIRROR_SAMPLES = 40, 8, 4000
"""Limits of the search for a symmetry plane: components, planes and surface points."""
Plane = tuple[Float[np.ndarray, " 3"], Float[np.ndarray, " 3"]]
"""A point and the unit normal, which is horizontal."""


def components_around_bones(surface: Surface, bones: Bones) -> Bool[np.ndarray, "component bone"]:
    """Which components lie around which bones? Inside-out components count, and so do open tubes such as sleeves."""
    import igl

    at = np.linspace(0, 1, BONE_SAMPLES)[:, None, None]
    samples = (bones.head + at * (bones.tail - bones.head)).reshape(-1, 3)
    low, high = samples.min(0), samples.max(0)
    inside = np.zeros((surface.component_count, len(bones.joint)))
    order = np.argsort(surface.component_of_face, kind="stable")
    counts = np.bincount(surface.component_of_face, minlength=surface.component_count)
    for component, faces in enumerate(np.split(surface.faces[order], np.cumsum(counts)[:-1])):
        box = surface.points[faces]
        if len(faces) < 4 or (box.min((0, 1)) > high).any() or (box.max((0, 1)) < low).any():
            continue
        winding = igl.fast_winding_number(surface.points, faces, samples)
        inside[component] = (np.abs(winding) > 0.5).reshape(BONE_SAMPLES, -1).mean(0)
    return np.logical_and(inside >= MIN_ENCLOSED, inside >= MIN_RIVAL_SHARE * inside.max(0))


def eligible_bones(around_bone: Bool[np.ndarray, "component bone"]) -> Bool[np.ndarray, "component bone"]:
    """The bones that may move a component: those inside it and those inside no component; all if none is inside it."""
    in_none, around_none = ~np.any(around_bone, axis=0), ~np.any(around_bone, axis=1, keepdims=True)
    return around_bone | in_none | around_none


def bending_components(surface: Surface, around_bone: Bool[np.ndarray, "component bone"]) -> Bool[np.ndarray, " component"]:
    """Components around a bone, and cloth on them; the largest always."""
    extents = surface.extents()
    bending: np.ndarray = np.array(around_bone.any(1))
    bending[np.argmax(extents * (bending | ~bending.any()))] = True
    body = surface.only(bending)
    for component in np.flatnonzero((extents > SMALL_COMPONENT * surface.size) & ~bending):
        distance, *_ = closest_on_surface(body, surface.points[surface.component == component])
        bending[component] = np.median(distance) < MAX_CLOTH_DISTANCE * extents[component]
    return bending


def rigid_small_components(surface: Surface, weights: Float[np.ndarray, "point joint"]) -> Float[np.ndarray, "point joint"]:
    """Weights in which every small component moves as one."""
    small = surface.extents() <= SMALL_COMPONENT * surface.size
    return np.where(small[surface.component, None], _one_joint(surface, surface.component, weights)[surface.component], weights)


def rigid_weights(
    surface: Surface, bending: Bool[np.ndarray, " component"], body: Surface, weights: Float[np.ndarray, "point joint"]
) -> Float[np.ndarray, "all_point joint"]:
    """Weights of all points, from those of the bending components: every other component moves as one with what it touches."""
    out = np.zeros((len(surface.points), weights.shape[1]))
    out[bending[surface.component]] = weights
    loose = np.flatnonzero(~bending[surface.component])
    if not len(loose):
        return out
    distance, corners, share = closest_on_surface(body, surface.points[loose])
    below = (weights[corners] * share[..., None]).sum(1)
    component = surface.component[loose]
    nearest = np.full(surface.component_count, np.inf)
    np.minimum.at(nearest, component, distance)
    held = distance <= nearest[component] + TOUCH_DISTANCE * surface.size
    out[loose] = _one_joint(surface, component[held], below[held])[component]
    return out


def _one_joint(
    surface: Surface, component: Int[np.ndarray, " some"], weights: Float[np.ndarray, "some joint"]
) -> Float[np.ndarray, "component joint"]:
    """For each component the joint that moves these points of it most. A blend of several would squash it where they bend."""
    total = np.zeros((surface.component_count, weights.shape[1]))
    np.add.at(total, component, weights)
    return np.eye(weights.shape[1])[total.argmax(1)]


def closest_on_surface(
    surface: Surface, points: Float[np.ndarray, "point 3"]
) -> tuple[Float[np.ndarray, " point"], Int[np.ndarray, "point 3"], Float[np.ndarray, "point 3"]]:
    """Distance to the surface, the corners of the nearest face, and their shares in the nearest place."""
    import igl

    square, face, place = igl.point_mesh_squared_distance(np.ascontiguousarray(points), surface.points, surface.faces)
    corners = surface.faces[face]
    a, b, c = (np.ascontiguousarray(surface.points[corners[:, i]]) for i in range(3))
    share = np.clip(igl.barycentric_coordinates(np.ascontiguousarray(place), a, b, c), 0, 1)
    return np.sqrt(square), corners, share / share.sum(1, keepdims=True)


def symmetric_components(surface: Surface) -> Surface:
    """The components that some vertical plane mirrors onto the surface; all of them if that is not most of it."""
    if surface.component_count < 2:
        return surface
    area = np.bincount(surface.component_of_face, np.linalg.norm(surface.outwards, axis=1), surface.component_count)
    options = [_mirrored(surface, plane) for plane in _planes(surface)]
    best = max(options, key=lambda parts: area @ parts, default=np.ones(surface.component_count, bool))
    return surface.only(best) if area @ best > MIN_SYMMETRIC_AREA * area.sum() and not best.all() else surface


def _planes(surface: Surface) -> list[Plane]:
    """Planes through the largest component along the axes, and those between two that look alike, the largest first."""
    extents = surface.extents()
    largest = surface.points[surface.component == extents.argmax()]
    large = np.argsort(-extents)[:MAX_CANDIDATES].tolist()
    centre = {component: surface.points[surface.component == component].mean(0) for component in large}
    points = np.bincount(surface.component, minlength=surface.component_count)
    near = MIRROR_DISTANCE * surface.size
    out: list[Plane] = [((largest.min(0) + largest.max(0)) / 2, np.eye(3)[axis]) for axis in (0, 2)]
    for one, other in combinations(large, 2):
        offset = centre[other] - centre[one]
        alike = points[one] == points[other] and abs(extents[one] - extents[other]) < near and abs(offset[1]) < near
        if alike and len(out) < MAX_PLANES and np.hypot(offset[0], offset[2]) > near:
            normal = offset * (1, 0, 1) / np.hypot(offset[0], offset[2])
            out.append(((centre[one] + centre[other]) / 2, normal))
    return out


def _mirrored(surface: Surface, plane: Plane) -> Bool[np.ndarray, " component"]:
    """Which components have a mirror image?"""
    at, normal = plane
    some = np.arange(0, len(surface.points), -(-len(surface.points) // MIRROR_SAMPLES))
    points = surface.points[some]
    distance, *_ = closest_on_surface(surface, points - 2 * np.outer((points - at) @ normal, normal))
    total = np.bincount(surface.component[some], minlength=surface.component_count)
    good = np.bincount(surface.component[some], distance < MIRROR_DISTANCE * surface.size, surface.component_count)
    return np.asarray(good >= MIN_MIRRORED * total)
