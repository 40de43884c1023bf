"""Which bone does each point of the skin belong to at first sight?

A bone is seen from a point of the surface when the straight way to it stays inside the body. Only faces of the point's own
piece block the view: the body under a sleeve must not hide the arm from it. A bone in another limb can never be
seen, because the way there leaves one surface and enters another of the same piece.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.render.raycast import RayScene
from akd.rigging.bones import Bones, closest_on_bones
from akd.rigging.surface import Surface

FEWEST_FACES = 8
"""Pieces with fewer faces hide nothing from their own points."""
LIFT = 1e-3
"""Rays start this share of their length away from the surface, or they would hit the faces around their own point."""


@dataclass(frozen=True, eq=False)
class Sight:
    """The bone chosen for each point."""

    distances: Float[np.ndarray, "point bone"]
    bone: Int[np.ndarray, " point"]
    seen: Bool[np.ndarray, " point"]
    """False where the way to the bone is blocked."""

    @property
    def distance(self) -> Float[np.ndarray, " point"]:
        """To the chosen bone."""
        return self.distances[np.arange(len(self.bone)), self.bone]


def nearest_visible(
    surface: Surface, bones: Bones, eligible: Bool[np.ndarray, "piece bone"], *, tries: int, slack: float
) -> Sight:
    """For each point the nearest bone that it sees among its ``tries`` nearest; the nearest of all where it sees none.

    Only bones that are ``eligible`` for the point's piece count, the others are infinitely far away. A wall in the last ``slack`` share of the way does not count: artists' bones may lie a little outside the flesh.
    """
    distance, place = closest_on_bones(bones, surface.points)
    distance = np.where(eligible[surface.piece], distance, np.inf)
    tries = min(tries, len(bones.joint))
    nearest = np.argpartition(distance, tries - 1, axis=1)[:, :tries]
    order = np.argsort(np.take_along_axis(distance, nearest, 1), axis=1, kind="stable")
    nearest = np.take_along_axis(nearest, order, 1)
    chosen, seen = nearest[:, 0].copy(), np.zeros(len(surface.points), bool)
    scenes = _piece_scenes(surface)
    for rank in range(tries):
        waiting = np.flatnonzero(~seen & np.isfinite(distance[np.arange(len(seen)), nearest[:, rank]]))
        bone = nearest[waiting, rank]
        at = place[waiting, bone][:, None]
        target = bones.head[bone] + at * (bones.tail[bone] - bones.head[bone])
        free = ~_blocked(surface, scenes, waiting, target, slack)
        chosen[waiting[free]] = bone[free]
        seen[waiting[free]] = True
    return Sight(distance, chosen, seen)


def _piece_scenes(surface: Surface) -> list[RayScene | None]:
    """Each piece alone, ready for rays."""
    order = np.argsort(surface.piece_of_face, kind="stable")
    groups = np.split(surface.faces[order], np.cumsum(np.bincount(surface.piece_of_face, minlength=surface.piece_count))[:-1])
    return [RayScene(surface.points, faces) if len(faces) >= FEWEST_FACES else None for faces in groups]


def _blocked(
    surface: Surface, scenes: list[RayScene | None], points: Int[np.ndarray, " some"], target: Float[np.ndarray, "some 3"], slack: float
) -> Bool[np.ndarray, " some"]:
    """Does the point's own piece stand between it and the target?"""
    way = target - surface.points[points]
    origin = surface.points[points] + LIFT * way
    length = np.linalg.norm(way, axis=1)
    out = np.zeros(len(points), bool)
    order = np.argsort(surface.piece[points], kind="stable")
    order = order[length[order] > 1e-9 * surface.size]
    for rays in np.split(order, np.flatnonzero(np.diff(surface.piece[points[order]])) + 1):
        scene = scenes[surface.piece[points[rays[0]]]] if len(rays) else None
        if scene is not None:
            hits = scene.first_hits(origin[rays], way[rays])
            out[rays[hits.ray[hits.distance < 1 - LIFT - slack]]] = True
    return out
