"""Loose parts of a mesh: which of them bend as flesh or cloth, and which are carried along whole."""

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
BONE_SAMPLES = 12


def bending_pieces(surface: Surface, bones: Bones) -> Bool[np.ndarray, " piece"]:
    """Pieces around a bone, and cloth on them; the largest always."""
    extents = surface.extents()
    large = extents > SMALL * surface.size
    if not large.any():
        return np.ones(surface.piece_count, bool)
    flesh = np.zeros(surface.piece_count, bool)
    for piece in np.flatnonzero(large):
        flesh[piece] = _encloses_a_bone(surface, piece, bones)
    flesh[np.argmax(extents * (flesh | ~flesh.any()))] = True
    body = surface.only(flesh)
    for piece in np.flatnonzero(large & ~flesh):
        distance, *_ = closest_on_surface(body, surface.points[surface.piece == piece])
        flesh[piece] = np.median(distance) < HUGGING * extents[piece]
    return flesh


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
    total = np.zeros((surface.piece_count, weights.shape[1]))
    np.add.at(total, piece[held], below[held])
    out[loose] = (total / np.maximum(total.sum(1, keepdims=True), 1e-300))[piece]
    return out


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


def _encloses_a_bone(surface: Surface, piece: int, bones: Bones) -> bool:
    """Does any bone run through the inside of this piece? Inside-out pieces count, and so do open tubes such as sleeves."""
    import igl

    at = np.linspace(0, 1, BONE_SAMPLES)[:, None, None]
    samples = (bones.head + at * (bones.tail - bones.head)).reshape(-1, 3)
    faces = surface.faces[surface.piece_of_face == piece]
    return bool((np.abs(igl.fast_winding_number(surface.points, faces, samples)) > 0.5).any())
