"""The nearest visible bone of each surface point, and where bones without a continuing child end; both by ray casting.

A bone is visible from a point of the surface when the segment to it never enters the body from outside: a visible bone lies in
the same part of the body, or a little outside of it, as modelled bones often do. Only faces of the point's own component block
the ray: the body under a sleeve must not hide the arm from it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.render.raycast import RayScene
from akd.rigging.bones import Bones, bones_of, closest_on_bones, ends_here, facing_distances
from akd.rigging.components import SMALL_COMPONENT
from akd.rigging.surface import Surface
from akd.skeleton import Skeleton

MIN_FACES = 8
"""Components with fewer faces hide nothing from their own points."""
RAY_OFFSET = 1e-3
"""Rays start this share of their length away from the surface, or they would hit the faces around their own point."""
FAN_RINGS = 16
"""Rings of directions around the bone's own direction; the outermost is at a right angle to it."""
SIDEWAYS_WEIGHT = 0.5
"""Weight of a direction at a right angle to the bone above, relative to straight on."""
STRAIGHT_BONUS = 1.05
"""Factor in favour of exactly straight on, or corners of blunt ends would win."""
NEAR_BEST = 0.9
"""All rays with at least this share of the best score are averaged: a toe's corner is not its tip."""
RAYS_AT_ONCE = 32
"""Rays whose ends are measured against all bones together, the best first; most fans need no more."""
MAX_APPROACH = 0.5
"""A ray that ends this much nearer to another joint's bone belongs to that joint: from the skull into an ear."""


@dataclass(frozen=True, eq=False)
class NearestBones:
    """Distances of all bones, and the bone chosen for each point."""

    distances: Float[np.ndarray, "point bone"]
    bone: Int[np.ndarray, " point"]
    visible: Bool[np.ndarray, " point"]
    """False where the segment to the chosen bone is blocked."""

    @property
    def distance(self) -> Float[np.ndarray, " point"]:
        """To the chosen bone."""
        return self.distances[np.arange(len(self.bone)), self.bone]


def nearest_visible(
    surface: Surface, bones: Bones, eligible: Bool[np.ndarray, "component bone"], *, tries: int, facing: bool
) -> NearestBones:
    """For each point the nearest visible bone among its ``tries`` nearest; the nearest of all where none is visible.

    Only bones that are ``eligible`` for the point's component count, the others are infinitely far away. With ``facing``, bones
    straight below the skin are nearer than others.
    """
    distance, place = closest_on_bones(bones, surface.points)
    if facing:
        distance = facing_distances(bones, surface.points, surface.normals, distance, place)
    distance = np.where(eligible[surface.component], distance, np.inf)
    tries = min(tries, len(bones.joint))
    nearest = _nearest(distance, tries)
    chosen, visible = nearest[:, 0].copy(), np.zeros(len(surface.points), bool)
    occluders = _occluders(surface)
    for rank in range(tries):
        waiting = np.flatnonzero(~visible & np.isfinite(distance[np.arange(len(visible)), nearest[:, rank]]))
        bone = nearest[waiting, rank]
        at = place[waiting, bone][:, None]
        target = bones.head[bone] + at * (bones.tail[bone] - bones.head[bone])
        free = ~_blocked(surface, occluders, waiting, target)
        chosen[waiting[free]] = bone[free]
        visible[waiting[free]] = True
    return NearestBones(distance, chosen, visible)


def _nearest(distance: Float[np.ndarray, "point bone"], count: int) -> Int[np.ndarray, "point count"]:
    """The nearest bones of each point, the nearest first."""
    if count == 1:  # the usual case, in a tenth of the time
        return distance.argmin(1)[:, None]
    nearest = np.argpartition(distance, count - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(distance, nearest, 1), axis=1, kind="stable")
    return np.take_along_axis(nearest, order, 1)


class _Occluder(NamedTuple):
    """The faces of one component as a ray-casting scene."""

    scene: RayScene
    outwards: Float[np.ndarray, "face 3"]
    """Normals, turned round where the whole component is inside out."""

    def blocks(self, origin: Float[np.ndarray, "ray 3"], segment: Float[np.ndarray, "ray 3"]) -> Bool[np.ndarray, " ray"]:
        """Does a ray enter the component before the end of its segment? It may leave it first."""
        out = np.zeros(len(segment), bool)
        rays, passed = np.arange(len(segment)), np.zeros(len(segment))
        for _ in range(2):
            hits = self.scene.first_hits(origin[rays] + passed[:, None] * segment[rays], segment[rays])
            before_end = hits.distance + passed[hits.ray] < 1 - 2 * RAY_OFFSET
            enters = (segment[rays[hits.ray]] * self.outwards[hits.points.face]).sum(1) < 0
            out[rays[hits.ray[before_end & enters]]] = True
            leaving = before_end & ~enters
            passed = passed[hits.ray[leaving]] + hits.distance[leaving] + RAY_OFFSET
            rays = rays[hits.ray[leaving]]
            if not len(rays):
                break
        return out


def _occluders(surface: Surface) -> list[_Occluder | None]:
    order = np.argsort(surface.component_of_face, kind="stable")
    ends = np.cumsum(np.bincount(surface.component_of_face, minlength=surface.component_count))[:-1]
    return [
        _Occluder(RayScene(surface.points, surface.faces[own]), surface.outwards[own]) if len(own) >= MIN_FACES else None
        for own in np.split(order, ends)
    ]


def _blocked(
    surface: Surface, occluders: list[_Occluder | None], points: Int[np.ndarray, " some"], target: Float[np.ndarray, "some 3"]
) -> Bool[np.ndarray, " some"]:
    """Is the segment from each point to its target blocked by the point's own component?"""
    segment = target - surface.points[points]
    origin = surface.points[points] + RAY_OFFSET * segment
    length = np.linalg.norm(segment, axis=1)
    out = np.zeros(len(points), bool)
    order = np.argsort(surface.component[points], kind="stable")
    order = order[length[order] > 1e-9 * surface.size]
    for rays in np.split(order, np.flatnonzero(np.diff(surface.component[points[order]])) + 1):
        occluder = occluders[surface.component[points[rays[0]]]] if len(rays) else None
        if occluder is not None:
            out[rays] = occluder.blocks(origin[rays], segment[rays])
    return out


def bone_ends(skeleton: Skeleton, surface: Surface) -> Float[np.ndarray, "joint 3"]:
    """Where bones end that no child continues: after the longest ray inside the body, straight on if possible.

    So feet reach over the toes and skulls to crown or muzzle. A leaf that lies outside the mesh goes on half as long as the
    bone above it; a root whose children lead everywhere ends in their middle; all other joints keep their place.
    """
    out = skeleton.positions.copy()
    scene, bones = _large_components(surface), bones_of(skeleton, skeleton.positions)
    for joint in np.flatnonzero(ends_here(skeleton)).tolist():
        children, above = np.flatnonzero(skeleton.parents == joint), int(skeleton.parents[joint])
        if len(children) and above < 0:
            out[joint] = skeleton.positions[children].mean(0)
            continue
        on = skeleton.positions[joint] - skeleton.positions[above] if above >= 0 else np.array([0.0, 0.5 * surface.size, 0.0])
        segment = _longest_ray(scene, skeleton, bones, joint, on, surface.size) if scene is not None else None
        if segment is not None or not len(children):
            out[joint] += 0.5 * on if segment is None else segment
    return out


def _large_components(surface: Surface) -> RayScene | None:
    large = surface.extents() > SMALL_COMPONENT * surface.size
    faces = surface.faces[large[surface.component_of_face]]
    return RayScene(surface.points, faces) if len(faces) else None


def _longest_ray(
    scene: RayScene, skeleton: Skeleton, bones: Bones, joint: int, on: Float[np.ndarray, " 3"], size: float
) -> Float[np.ndarray, " 3"] | None:
    """From a joint inside the body to the surface, not turning back; None if it is outside or all rays belong to other joints."""
    length = float(np.linalg.norm(on))
    straight = on / length if length > 0 else np.array([0.0, 1.0, 0.0])
    directions, ahead = _fan(straight)
    start = skeleton.positions[joint]
    hits = scene.first_hits(np.broadcast_to(start, directions.shape), directions)
    if len(hits.ray) < 0.7 * len(directions):
        return None
    rays = hits.distance[:, None] * directions[hits.ray]
    score = hits.distance * (SIDEWAYS_WEIGHT + (1 - SIDEWAYS_WEIGHT) * ahead[hits.ray])
    score[hits.ray == 0] *= STRAIGHT_BONUS
    own = _own_rays(skeleton, bones, joint, rays, score)
    best = score[own].max(initial=0.0)
    return rays[own & (score >= NEAR_BEST * best)].mean(0) if best >= 1e-3 * size else None


def _own_rays(
    skeleton: Skeleton, bones: Bones, joint: int, rays: Float[np.ndarray, "way 3"], score: Float[np.ndarray, " way"]
) -> Bool[np.ndarray, " way"]:
    """Rays that do not lead to other joints' bones, among those that matter: none that is far from the best of them is looked at.

    With thousands of bones, measuring every ray of every leaf would take longer than all the rest.
    """
    out, best = np.zeros(len(rays), bool), 0.0
    order = np.argsort(-score, kind="stable")
    for some in np.split(order, range(RAYS_AT_ONCE, len(order), RAYS_AT_ONCE)):
        if score[some[0]] < NEAR_BEST * best:
            break
        out[some] = ~leads_elsewhere(skeleton, bones, joint, rays[some])
        best = max(best, score[some[out[some]]].max(initial=0.0))
    return out


def leads_elsewhere(
    skeleton: Skeleton, bones: Bones, joint: int, rays: Float[np.ndarray, "way 3"]
) -> Bool[np.ndarray, " way"]:
    """Does a ray end much nearer than it began to a bone of another joint? Those of the joint above do not count."""
    start = skeleton.positions[joint]
    before = closest_on_bones(bones, start[None])[0][0]
    # A ray comes nearer by its own length at most, so only bones near its start matter.
    reach = np.linalg.norm(rays, axis=1).max(initial=0.0) / (1 - MAX_APPROACH)
    near = (bones.joint != joint) & (bones.joint != skeleton.parents[joint]) & (before <= 1.001 * reach)
    after, _ = closest_on_bones(Bones(bones.joint[near], bones.head[near], bones.tail[near], bones.joint_count), start + rays)
    return np.any(after < MAX_APPROACH * before[near], axis=1)


def _fan(straight: Float[np.ndarray, " 3"]) -> tuple[Float[np.ndarray, "direction 3"], Float[np.ndarray, " direction"]]:
    """Directions that do not turn back, the first straight on, and their cosines with it.

    They are about evenly spread, and mirror images of each other in the vertical plane, so left limbs end like right ones.
    """
    tilt = np.linspace(0, np.pi / 2, FAN_RINGS + 1)
    counts = np.maximum(np.round(4 * FAN_RINGS * np.sin(tilt)), 1).astype(int)
    ring = np.repeat(np.arange(FAN_RINGS + 1), counts)
    turn = 2 * np.pi * (np.arange(len(ring)) - np.repeat(np.cumsum(counts) - counts, counts)) / counts[ring]
    upright = np.array([0.0, 1.0, 0.0]) if abs(straight[1]) < 0.99 else np.array([1.0, 0.0, 0.0])
    aside = np.cross(straight, upright) / np.linalg.norm(np.cross(straight, upright))
    around = np.cos(turn)[:, None] * np.cross(aside, straight) + np.sin(turn)[:, None] * aside
    ahead = np.cos(tilt)[ring]
    return ahead[:, None] * straight + np.sin(tilt)[ring, None] * around, ahead
