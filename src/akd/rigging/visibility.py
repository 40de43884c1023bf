"""Which bone does each point of the skin belong to at first sight?

A bone is seen from a point of the surface when the straight way to it never enters the body from outside: what is seen lies
in the same flesh, or a little outside of it, as artists' bones often do. Only faces of the point's own piece block the
view: the body under a sleeve must not hide the arm from it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.render.raycast import RayScene
from akd.rigging.bones import Bones, closest_on_bones, facing_distances
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
    surface: Surface, bones: Bones, eligible: Bool[np.ndarray, "piece bone"], *, tries: int, facing: bool
) -> Sight:
    """For each point the nearest bone that it sees among its ``tries`` nearest; the nearest of all where it sees none.

    Only bones that are ``eligible`` for the point's piece count, the others are infinitely far away. With ``facing``, bones
    straight below the skin are nearer than others.
    """
    distance, place = closest_on_bones(bones, surface.points)
    if facing:
        distance = facing_distances(bones, surface.points, surface.normals, distance, place)
    distance = np.where(eligible[surface.piece], distance, np.inf)
    tries = min(tries, len(bones.joint))
    nearest = np.argpartition(distance, tries - 1, axis=1)[:, :tries]
    order = np.argsort(np.take_along_axis(distance, nearest, 1), axis=1, kind="stable")
    nearest = np.take_along_axis(nearest, order, 1)
    chosen, seen = nearest[:, 0].copy(), np.zeros(len(surface.points), bool)
    walls = _walls(surface)
    for rank in range(tries):
        waiting = np.flatnonzero(~seen & np.isfinite(distance[np.arange(len(seen)), nearest[:, rank]]))
        bone = nearest[waiting, rank]
        at = place[waiting, bone][:, None]
        target = bones.head[bone] + at * (bones.tail[bone] - bones.head[bone])
        free = ~_blocked(surface, walls, waiting, target)
        chosen[waiting[free]] = bone[free]
        seen[waiting[free]] = True
    return Sight(distance, chosen, seen)


class _Wall(NamedTuple):
    """The faces of one piece, ready for rays."""

    scene: RayScene
    outwards: Float[np.ndarray, "face 3"]
    """Normals, turned round where the whole piece is inside out."""

    def stops(self, origin: Float[np.ndarray, "ray 3"], way: Float[np.ndarray, "ray 3"]) -> Bool[np.ndarray, " ray"]:
        """Does a ray enter the piece before the end of its way? It may leave it first."""
        out = np.zeros(len(way), bool)
        rays, passed = np.arange(len(way)), np.zeros(len(way))
        for _ in range(2):
            hits = self.scene.first_hits(origin[rays] + passed[:, None] * way[rays], way[rays])
            before_end = hits.distance + passed[hits.ray] < 1 - 2 * LIFT
            enters = (way[rays[hits.ray]] * self.outwards[hits.points.face]).sum(1) < 0
            out[rays[hits.ray[before_end & enters]]] = True
            leaving = before_end & ~enters
            passed = passed[hits.ray[leaving]] + hits.distance[leaving] + LIFT
            rays = rays[hits.ray[leaving]]
            if not len(rays):
                break
        return out


def _walls(surface: Surface) -> list[_Wall | None]:
    order = np.argsort(surface.piece_of_face, kind="stable")
    ends = np.cumsum(np.bincount(surface.piece_of_face, minlength=surface.piece_count))[:-1]
    return [
        _Wall(RayScene(surface.points, surface.faces[own]), surface.outwards[own]) if len(own) >= FEWEST_FACES else None
        for own in np.split(order, ends)
    ]


def _blocked(
    surface: Surface, walls: list[_Wall | None], points: Int[np.ndarray, " some"], target: Float[np.ndarray, "some 3"]
) -> Bool[np.ndarray, " some"]:
    """Does the point's own piece stand between it and the target?"""
    way = target - surface.points[points]
    origin = surface.points[points] + LIFT * way
    length = np.linalg.norm(way, axis=1)
    out = np.zeros(len(points), bool)
    order = np.argsort(surface.piece[points], kind="stable")
    order = order[length[order] > 1e-9 * surface.size]
    for rays in np.split(order, np.flatnonzero(np.diff(surface.piece[points[order]])) + 1):
        wall = walls[surface.piece[points[rays[0]]]] if len(rays) else None
        if wall is not None:
            out[rays] = wall.stops(origin[rays], way[rays])
    return out
