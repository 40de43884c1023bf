"""The symmetric core of a mesh of loose parts.

Bodies are mirror images of themselves; what they hold in one hand is not. A loose part without a mirror image says nothing about
the bones, and a sword longer than its bearer would hide them.
"""

from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float

from akd.rigging.pieces import closest_on_surface
from akd.rigging.surface import Surface

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
