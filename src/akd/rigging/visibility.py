"""Which bone does each point of the skin belong to at first sight?

A bone is seen from a point of the surface when the straight way to it never enters the body from outside: what is seen lies
in the same flesh, or a little outside of it, as artists' bones often do. Only faces of the point's own piece block the
view: the body under a sleeve must not hide the arm from it.

How far does the flesh of a bone reach that no child continues? A file does not say, and weights are not there yet.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.render.raycast import RayScene
from akd.rigging.bones import Bones, bones_end, bones_of, closest_on_bones, facing_distances
from akd.rigging.surface import Surface
from akd.skeleton import Skeleton

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


RINGS = 16
"""Directions lie in rings around the way straight on; the outermost is at a right angle to it."""
SIDEWAYS = 0.5
"""What a direction at a right angle to the bone above is worth, relative to going straight on."""
STRAIGHT = 1.05
"""Others must be this much better than going exactly straight on, or corners of blunt ends would win."""
AS_GOOD = 0.9
"""The middle of all ends with at least this share of the best one's worth is taken: a toe's corner is not its tip."""
APPROACH = 0.5
"""A way that comes this much nearer to another joint's bone leads into that joint's flesh: from the skull into an ear."""
SMALL_PIECE = 0.15
"""Pieces smaller than this share of the mesh's size (eyes, teeth) do not end a bone."""


def flesh_ends(skeleton: Skeleton, surface: Surface) -> Float[np.ndarray, "joint 3"]:
    """Where bones end that no child continues: after the longest way through the flesh, straight on if possible.

    So feet reach over the toes and skulls to crown or muzzle. A leaf that lies outside the mesh goes on half as long as the
    bone above it; a root whose children lead everywhere ends in their middle; all other joints keep their place.
    """
    out = skeleton.positions.copy()
    scene = _large_pieces(surface)
    for joint in np.flatnonzero(bones_end(skeleton)).tolist():
        children, above = np.flatnonzero(skeleton.parents == joint), int(skeleton.parents[joint])
        if len(children) and above < 0:
            out[joint] = skeleton.positions[children].mean(0)
            continue
        on = skeleton.positions[joint] - skeleton.positions[above] if above >= 0 else np.array([0.0, 0.5 * surface.size, 0.0])
        way = _longest_way(scene, skeleton, joint, on, surface.size) if scene is not None else None
        if way is not None or not len(children):
            out[joint] += 0.5 * on if way is None else way
    return out


def _large_pieces(surface: Surface) -> RayScene | None:
    large = surface.extents() > SMALL_PIECE * surface.size
    faces = surface.faces[large[surface.piece_of_face]]
    return RayScene(surface.points, faces) if len(faces) else None


def _longest_way(
    scene: RayScene, skeleton: Skeleton, joint: int, on: Float[np.ndarray, " 3"], size: float
) -> Float[np.ndarray, " 3"] | None:
    """From a joint inside the flesh to the skin, not turning back; None if it is not inside or all ways are other joints'."""
    length = float(np.linalg.norm(on))
    straight = on / length if length > 0 else np.array([0.0, 1.0, 0.0])
    directions, ahead = _fan(straight)
    start = skeleton.positions[joint]
    hits = scene.first_hits(np.broadcast_to(start, directions.shape), directions)
    if len(hits.ray) < 0.7 * len(directions):
        return None
    ways = hits.distance[:, None] * directions[hits.ray]
    worth = hits.distance * (SIDEWAYS + (1 - SIDEWAYS) * ahead[hits.ray])
    worth[hits.ray == 0] *= STRAIGHT
    worth[_leads_elsewhere(skeleton, joint, ways)] = 0
    if worth.max() < 1e-3 * size:
        return None
    return ways[worth >= AS_GOOD * worth.max()].mean(0)


def _leads_elsewhere(skeleton: Skeleton, joint: int, ways: Float[np.ndarray, "way 3"]) -> Bool[np.ndarray, " way"]:
    """Does a way end much nearer than it began to a bone of another joint? Those of the joint above do not count."""
    bones = bones_of(skeleton, skeleton.positions)
    others = (bones.joint != joint) & (bones.joint != skeleton.parents[joint])
    bones = Bones(bones.joint[others], bones.head[others], bones.tail[others], bones.joint_count)
    start = skeleton.positions[joint]
    (before, _), (after, _) = closest_on_bones(bones, start[None]), closest_on_bones(bones, start + ways)
    return np.any(after < APPROACH * before, axis=1)


def _fan(straight: Float[np.ndarray, " 3"]) -> tuple[Float[np.ndarray, "direction 3"], Float[np.ndarray, " direction"]]:
    """Directions that do not turn back, the first straight on, and their cosines with it.

    They are about evenly spread, and mirror images of each other in the vertical plane, so left limbs end like right ones.
    """
    tilt = np.linspace(0, np.pi / 2, RINGS + 1)
    counts = np.maximum(np.round(4 * RINGS * np.sin(tilt)), 1).astype(int)
    ring = np.repeat(np.arange(RINGS + 1), counts)
    turn = 2 * np.pi * (np.arange(len(ring)) - np.repeat(np.cumsum(counts) - counts, counts)) / counts[ring]
    upright = np.array([0.0, 1.0, 0.0]) if abs(straight[1]) < 0.99 else np.array([1.0, 0.0, 0.0])
    aside = np.cross(straight, upright) / np.linalg.norm(np.cross(straight, upright))
    around = np.cos(turn)[:, None] * np.cross(aside, straight) + np.sin(turn)[:, None] * aside
    ahead = np.cos(tilt)[ring]
    return ahead[:, None] * straight + np.sin(tilt)[ring, None] * around, ahead
