"""How far does the flesh of a joint without children reach? A file does not say, and weights are not there yet."""

import numpy as np
from jaxtyping import Float

from akd.render.raycast import RayScene
from akd.rigging.surface import Surface
from akd.skeleton import Skeleton

DIRECTIONS = 256
SIDEWAYS = 0.5
"""What a direction at a right angle to the bone above is worth, relative to going straight on."""
STRAIGHT = 1.05
"""Others must be this much better than going exactly straight on, or corners of blunt ends would win."""
SMALL_PIECE = 0.15
"""Pieces smaller than this share of the mesh's size (eyes, teeth) do not end a bone."""


def flesh_ends(skeleton: Skeleton, surface: Surface) -> Float[np.ndarray, "joint 3"]:
    """For each leaf the end of the longest way through the flesh, straight on if possible: over the toes, up to the crown.

    Joints with children keep their place. A leaf that lies outside the mesh goes on half as long as the bone above it.
    """
    out = skeleton.positions.copy()
    leaves = np.setdiff1d(np.arange(skeleton.joint_count), skeleton.parents)
    large = surface.extents() > SMALL_PIECE * surface.size
    faces = surface.faces[large[surface.piece_of_face]]
    scene = RayScene(surface.points, faces) if len(faces) else None
    for leaf in leaves.tolist():
        above = int(skeleton.parents[leaf])
        on = skeleton.positions[leaf] - skeleton.positions[above] if above >= 0 else np.array([0.0, 0.5 * surface.size, 0.0])
        reach = _longest_way(scene, skeleton.positions[leaf], on, surface.size) if scene is not None else None
        out[leaf] = skeleton.positions[leaf] + (0.5 * on if reach is None else reach)
    return out


def _longest_way(
    scene: RayScene, start: Float[np.ndarray, " 3"], on: Float[np.ndarray, " 3"], size: float
) -> Float[np.ndarray, " 3"] | None:
    """From a place inside the flesh to the skin, not turning back; None if the place is not inside."""
    length = float(np.linalg.norm(on))
    straight = on / length if length > 0 else np.array([0.0, 1.0, 0.0])
    directions = np.concatenate((straight[None], _sphere(DIRECTIONS)))
    ahead = directions @ straight if length > 0 else np.ones(len(directions))
    directions, ahead = directions[ahead >= 0], ahead[ahead >= 0]
    hits = scene.first_hits(np.broadcast_to(start, directions.shape), directions)
    if len(hits.ray) < 0.7 * len(directions):
        return None
    worth = hits.distance * (SIDEWAYS + (1 - SIDEWAYS) * ahead[hits.ray])
    worth[hits.ray == 0] *= STRAIGHT
    best = int(np.argmax(worth))
    if hits.distance[best] < 1e-3 * size:
        return None
    return hits.distance[best] * directions[hits.ray[best]]


def _sphere(count: int) -> Float[np.ndarray, "direction 3"]:
    """Directions spread evenly (a golden spiral)."""
    height = 1 - (2 * np.arange(count) + 1) / count
    turn = np.pi * (1 + 5**0.5) * np.arange(count)
    ring = np.sqrt(1 - height**2)
    return np.stack((ring * np.cos(turn), height, ring * np.sin(turn)), -1)
