"""Loose parts of a mesh: which of them bend as flesh or cloth, and which are carried along whole.

The symmetric core of a mesh of loose parts.

Bodies are mirror images of themselves; what they hold in one hand is not. A loose part without a mirror image says nothing about
the bones, and a sword longer than its bearer would hide them.
"""

from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.rigging.bones import Bones
from akd.rigging.surface import Surface

SMALL = 0.15
"""Pieces smaller than this share of the mesh's size are buttons, eyes, teeth: they do not bend."""
HUGGING = 0.1
"""Cloth lies along the body: half of it is nearer to it than this share of its own size. Swords and shields do not."""
TOUCHING = 0.02
"""Where a carried piece is at most this share of the mesh's size farther from the body than its nearest point, it is held."""
AROUND = 0.25
"""A piece is the flesh of a bone if it encloses this much of it ..."""
RIVAL = 0.5
"""... and at least this share of what the piece that encloses most of it does."""
BONE_SAMPLES = 12


def flesh_of_bones(surface: Surface, bones: Bones) -> Bool[np.ndarray, "piece bone"]:
    """Which pieces lie around which bones? Inside-out pieces count, and so do open tubes such as sleeves."""
    import igl

    at = np.linspace(0, 1, BONE_SAMPLES)[:, None, None]
    samples = (bones.head + at * (bones.tail - bones.head)).reshape(-1, 3)
    low, high = samples.min(0), samples.max(0)
    inside = np.zeros((surface.piece_count, len(bones.joint)))
    order = np.argsort(surface.piece_of_face, kind="stable")
    counts = np.bincount(surface.piece_of_face, minlength=surface.piece_count)
    for piece, faces in enumerate(np.split(surface.faces[order], np.cumsum(counts)[:-1])):
        box = surface.points[faces]
        if len(faces) < 4 or (box.min((0, 1)) > high).any() or (box.max((0, 1)) < low).any():
            continue
        winding = igl.fast_winding_number(surface.points, faces, samples)
        inside[piece] = (np.abs(winding) > 0.5).reshape(BONE_SAMPLES, -1).mean(0)
    return np.logical_and(inside >= AROUND, inside >= RIVAL * inside.max(0))


def eligible_bones(flesh: Bool[np.ndarray, "piece bone"]) -> Bool[np.ndarray, "piece bone"]:
    """The bones that may move a piece: those it lies around and those that are in no piece; all if it lies around none."""
    in_none, around_none = ~np.any(flesh, axis=0), ~np.any(flesh, axis=1, keepdims=True)
    return flesh | in_none | around_none


def bending_pieces(surface: Surface, flesh: Bool[np.ndarray, "piece bone"]) -> Bool[np.ndarray, " piece"]:
    """Pieces around a bone, and cloth on them; the largest always."""
    extents = surface.extents()
    bending: np.ndarray = np.array(flesh.any(1))
    bending[np.argmax(extents * (bending | ~bending.any()))] = True
    body = surface.only(bending)
    for piece in np.flatnonzero((extents > SMALL * surface.size) & ~bending):
        distance, *_ = closest_on_surface(body, surface.points[surface.piece == piece])
        bending[piece] = np.median(distance) < HUGGING * extents[piece]
    return bending


def stiffened(surface: Surface, weights: Float[np.ndarray, "point joint"]) -> Float[np.ndarray, "point joint"]:
    """Weights in which every small piece moves as one."""
    small = surface.extents() <= SMALL * surface.size
    return np.where(small[surface.piece, None], _one_joint(surface, surface.piece, weights)[surface.piece], weights)


def carried_weights(
    surface: Surface, bending: Bool[np.ndarray, " piece"], body: Surface, weights: Float[np.ndarray, "point joint"]
) -> Float[np.ndarray, "all_point joint"]:
    """Weights of all points, from those of the bending pieces: every other piece moves as one with what it touches."""
    out = np.zeros((len(surface.points), weights.shape[1]))
    out[bending[surface.piece]] = weights
    loose = np.flatnonzero(~bending[surface.piece])
    if not len(loose):
        return out
    distance, corners, share = closest_on_surface(body, surface.points[loose])
    below = (weights[corners] * share[..., None]).sum(1)
    piece = surface.piece[loose]
    nearest = np.full(surface.piece_count, np.inf)
    np.minimum.at(nearest, piece, distance)
    held = distance <= nearest[piece] + TOUCHING * surface.size
    out[loose] = _one_joint(surface, piece[held], below[held])[piece]
    return out


def _one_joint(
    surface: Surface, piece: Int[np.ndarray, " some"], weights: Float[np.ndarray, "some joint"]
) -> Float[np.ndarray, "piece joint"]:
    """For each piece the joint that moves these points of it most. A blend of several would squash it where they bend."""
    total = np.zeros((surface.piece_count, weights.shape[1]))
    np.add.at(total, piece, weights)
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


SAME = 0.02
"""Mirrored points that are nearer to the surface than this are on it [size]."""
MOST = 0.9
"""A part has a mirror image if this share of its points has."""
CORE = 0.5
"""Without this share of the surface it is no core: the body is posed, or has no plane of symmetry."""
LARGE, PLANES, SAMPLES = 40, 8, 4000
"""So many parts, planes and points take part in the search."""
Plane = tuple[Float[np.ndarray, " 3"], Float[np.ndarray, " 3"]]
"""A point and the unit normal, which is horizontal."""


def symmetric_core(surface: Surface) -> Surface:
    """The parts that some vertical plane mirrors onto the surface; all of them if that is not most of it."""
    if surface.piece_count < 2:
        return surface
    area = np.bincount(surface.piece_of_face, np.linalg.norm(surface.outwards, axis=1), surface.piece_count)
    options = [_mirrored(surface, plane) for plane in _planes(surface)]
    best = max(options, key=lambda parts: area @ parts, default=np.ones(surface.piece_count, bool))
    return surface.only(best) if area @ best > CORE * area.sum() and not best.all() else surface


def _planes(surface: Surface) -> list[Plane]:
    """Those through the largest part along the axes, and those between two parts that look alike, the largest first."""
    extents = surface.extents()
    largest = surface.points[surface.piece == extents.argmax()]
    large = np.argsort(-extents)[:LARGE].tolist()
    centre = {piece: surface.points[surface.piece == piece].mean(0) for piece in large}
    points = np.bincount(surface.piece, minlength=surface.piece_count)
    near = SAME * surface.size
    out: list[Plane] = [((largest.min(0) + largest.max(0)) / 2, np.eye(3)[axis]) for axis in (0, 2)]
    for one, other in combinations(large, 2):
        way = centre[other] - centre[one]
        alike = points[one] == points[other] and abs(extents[one] - extents[other]) < near and abs(way[1]) < near
        if alike and len(out) < PLANES and np.hypot(way[0], way[2]) > near:
            normal = way * (1, 0, 1) / np.hypot(way[0], way[2])
            out.append(((centre[one] + centre[other]) / 2, normal))
    return out


def _mirrored(surface: Surface, plane: Plane) -> Bool[np.ndarray, " piece"]:
    """Which parts have a mirror image?"""
    at, normal = plane
    some = np.arange(0, len(surface.points), -(-len(surface.points) // SAMPLES))
    points = surface.points[some]
    distance, *_ = closest_on_surface(surface, points - 2 * np.outer((points - at) @ normal, normal))
    total = np.bincount(surface.piece[some], minlength=surface.piece_count)
    good = np.bincount(surface.piece[some], distance < SAME * surface.size, surface.piece_count)
    return np.asarray(good >= MOST * total)
