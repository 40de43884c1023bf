"""The closed surface around a creature's tubes: a blended implicit function, its isosurface, remeshed and mirrored.

The function is evaluated for the right half only and the surface is mirrored, so creatures are exactly symmetric. A tube
blends only with what lies near its root: legs do not stick to each other or to the belly.
"""

from dataclasses import dataclass
from typing import NamedTuple, no_type_check

import numba
import numpy as np
from jaxtyping import Float, Int

from akd.creatures.body import Tube
from akd.creatures.remesh import (
    collapse_short_edges,
    expected_vertices,
    graded,
    largest_component,
    neighbour_average,
    split_long_edges,
)
from akd.mesh import isosurface

GRID_NODES = 600_000
"""Nodes of the grid that marching cubes runs on."""
VERTEX_BUDGET = 6_000
"""About how many vertices a creature has."""
OUTSIDE = 1e3
"""Value of the implicit function far from every tube [ℓ]."""


class ImplicitField(NamedTuple):
    """The implicit function of all tubes as flat arrays for compiled code. A cone is the solid between two sections."""

    start: Float[np.ndarray, "cone 3"]
    along: Float[np.ndarray, "cone 3"]
    """From its first section to its second."""
    lateral: Float[np.ndarray, "cone 3"]
    upper: Float[np.ndarray, "cone 3"]
    width: Float[np.ndarray, "cone 2"]
    """Half extent along ``lateral`` at both ends."""
    height: Float[np.ndarray, "cone 2"]
    tube: Int[np.ndarray, " cone"]
    first_cone: Int[np.ndarray, " tube_and_one"]
    root: Float[np.ndarray, "tube 3"]
    blend: Float[np.ndarray, " tube"]
    """Width of the blend [ℓ]."""
    reach: Float[np.ndarray, " tube"]
    """Distance from the root at which blending has ended [ℓ]."""
    ball: Float[np.ndarray, "tube 4"]
    """Centre and radius of a ball around each tube."""


@dataclass(frozen=True, eq=False)
class MirroredSurface:
    """The right half of a surface, and how the whole is made of it."""

    half: Float[np.ndarray, "half 3"]
    faces: Int[np.ndarray, "face 3"]
    """Of the whole."""
    source: Int[np.ndarray, " vertex"]
    """For each vertex of the whole, the vertex of the half it copies; the right half comes first."""

    @property
    def vertices(self) -> Float[np.ndarray, "vertex 3"]:
        whole = self.half[self.source]
        whole[len(self.half) :, 2] *= -1
        return whole

    @property
    def partner(self) -> Int[np.ndarray, " vertex"]:
        """Each vertex's mirror image."""
        out = np.arange(len(self.source))
        left = np.arange(len(self.half), len(self.source))
        out[left], out[self.source[left]] = self.source[left], left
        return out


def implicit_field(tubes: tuple[Tube, ...], thinnest: float) -> ImplicitField:
    """The implicit function of tubes, none of them thinner than ``thinnest`` [ℓ]: what the grid can resolve."""
    cones, first, roots, blends, reaches, balls = [], [0], [], [], [], []
    for index, tube in enumerate(tubes):
        widths, heights = np.maximum(tube.widths, thinnest), np.maximum(tube.heights, thinnest)
        for i in range(max(len(tube.centres) - 1, 1)):
            j = min(i + 1, len(tube.centres) - 1)
            along = tube.centres[j] - tube.centres[i]
            lateral, upper = _section_axes(along)
            cones.append((tube.centres[i], along, lateral, upper, widths[[i, j]], heights[[i, j]], index))
        first.append(len(cones))
        thick = float(np.sqrt(widths[0] * heights[0]))
        roots.append(tube.centres[0])
        blends.append(max(tube.chain.blend * thick, 1e-6))
        reaches.append(3.0 * max(float(widths[0]), float(heights[0])))
        balls.append(_bounding_ball(tube.centres, np.maximum(widths, heights)))
    start, along, lateral, upper, width, height, tube_of = (np.array(column) for column in zip(*cones, strict=True))
    return ImplicitField(
        start, along, lateral, upper, width, height, tube_of,
        np.array(first), np.array(roots), np.array(blends), np.array(reaches), np.array(balls),
    )


def _bounding_ball(centres: Float[np.ndarray, "section 3"], radii: Float[np.ndarray, " section"]) -> Float[np.ndarray, " 4"]:
    """A ball that holds a whole tube."""
    middle = (centres.min(0) + centres.max(0)) / 2
    return np.append(middle, (np.linalg.norm(centres - middle, axis=1) + radii).max())


def _section_axes(along: Float[np.ndarray, " 3"]) -> tuple[Float[np.ndarray, " 3"], Float[np.ndarray, " 3"]]:
    """Lateral and upper axis of a cone's cross-section; for a ball, the stage's axes."""
    length = float(np.linalg.norm(along))
    axis = along / length if length > 1e-9 else np.array([1.0, 0, 0])
    side = np.array([0.0, 0, 1]) if abs(axis[2]) < 0.999 else np.array([1.0, 0, 0])
    lateral = side - (side @ axis) * axis
    lateral /= np.linalg.norm(lateral)
    return lateral, np.cross(lateral, axis)


@numba.njit(cache=True, inline="always")
@no_type_check
def _cone_distance(x, y, z, start, along, lateral, upper, width, height):
    """Approximate signed distance to a cone with elliptical sections and rounded ends, negative inside."""
    px, py, pz = x - start[0], y - start[1], z - start[2]
    ax, ay, az = along[0], along[1], along[2]
    square = ax * ax + ay * ay + az * az
    t = 0.0
    if square > 1e-18:
        t = min(max((px * ax + py * ay + pz * az) / square, 0.0), 1.0)
    px, py, pz = px - t * ax, py - t * ay, pz - t * az
    w = width[0] + t * (width[1] - width[0])
    h = height[0] + t * (height[1] - height[0])
    side = px * lateral[0] + py * lateral[1] + pz * lateral[2]
    up = px * upper[0] + py * upper[1] + pz * upper[2]
    rest = max(px * px + py * py + pz * pz - side * side - up * up, 0.0)
    cap = w * h
    k0 = np.sqrt((side / w) ** 2 + (up / h) ** 2 + rest / cap)
    k1 = np.sqrt((side / (w * w)) ** 2 + (up / (h * h)) ** 2 + rest / (cap * cap))
    if k1 < 1e-12:
        return -min(w, h)
    return k0 * (k0 - 1.0) / k1


@numba.njit(cache=True, inline="always")
@no_type_check
def _blended(total, new, x, y, z, root, blend, reach):
    """Union with a new tube, smooth near the tube's root and sharp away from it."""
    away = np.sqrt((x - root[0]) ** 2 + (y - root[1]) ** 2 + (z - root[2]) ** 2) / reach
    if away >= 1.0:
        return min(total, new)
    k = blend * (1.0 - away * away) ** 2
    overlap = max(k - abs(total - new), 0.0) / max(k, 1e-9)
    return min(total, new) - overlap * overlap * k * 0.25


@numba.njit(cache=True)
@no_type_check
def _evaluate_on_grid(field, xs, ys, zs, margin):
    """The implicit function on a grid, each cone evaluated only in the box where it matters."""
    total = np.full((len(xs), len(ys), len(zs)), OUTSIDE)
    own = np.full((len(xs), len(ys), len(zs)), OUTSIDE)
    for tube in range(len(field.blend)):
        lo, hi = np.full(3, 1 << 30), np.full(3, -1)
        for c in range(field.first_cone[tube], field.first_cone[tube + 1]):
            radius = max(field.width[c].max(), field.height[c].max()) + margin
            box = np.empty((3, 2), np.int64)
            for d, axis in enumerate((xs, ys, zs)):
                a, b = field.start[c, d], field.start[c, d] + field.along[c, d]
                box[d, 0] = np.searchsorted(axis, min(a, b) - radius)
                box[d, 1] = np.searchsorted(axis, max(a, b) + radius)
                lo[d], hi[d] = min(lo[d], box[d, 0]), max(hi[d], box[d, 1])
            for i in range(box[0, 0], box[0, 1]):
                for j in range(box[1, 0], box[1, 1]):
                    for k in range(box[2, 0], box[2, 1]):
                        value = _cone_distance(
                            xs[i], ys[j], zs[k], field.start[c], field.along[c], field.lateral[c], field.upper[c],
                            field.width[c], field.height[c],
                        )
                        own[i, j, k] = min(own[i, j, k], value)
        for i in range(lo[0], hi[0]):
            for j in range(lo[1], hi[1]):
                for k in range(lo[2], hi[2]):
                    if own[i, j, k] < OUTSIDE:
                        total[i, j, k] = _blended(
                            total[i, j, k], own[i, j, k], xs[i], ys[j], zs[k],
                            field.root[tube], field.blend[tube], field.reach[tube],
                        )
                        own[i, j, k] = OUTSIDE
    return total


@numba.njit(cache=True)
@no_type_check
def evaluate(field, points):
    """The implicit function at points, and the nearest cone of each point."""
    values, nearest = np.empty(len(points)), np.zeros(len(points), np.int64)
    for p in range(len(points)):
        x, y, z = points[p]
        total, closest = OUTSIDE, OUTSIDE
        for tube in range(len(field.blend)):
            ball = field.ball[tube]
            gap = np.sqrt((x - ball[0]) ** 2 + (y - ball[1]) ** 2 + (z - ball[2]) ** 2) - ball[3]
            if gap > max(closest, total + field.blend[tube]):
                continue
            own = OUTSIDE
            for c in range(field.first_cone[tube], field.first_cone[tube + 1]):
                value = _cone_distance(
                    x, y, z, field.start[c], field.along[c], field.lateral[c], field.upper[c], field.width[c], field.height[c]
                )
                if value < own:
                    own = value
                    if value < closest:
                        closest, nearest[p] = value, c
            total = _blended(total, own, x, y, z, field.root[tube], field.blend[tube], field.reach[tube])
        values[p] = total
    return values, nearest


def extract_surface(tubes: tuple[Tube, ...], decals: tuple[Tube, ...]) -> tuple[MirroredSurface, ImplicitField]:
    """The closed surface around a creature's tubes, feet cut flat at the ground, fine where it is thin or painted."""
    low, high = _bounds(tubes)
    spacing = float(np.prod(high - low) / GRID_NODES) ** (1 / 3)
    field = implicit_field(tubes, 0.9 * spacing)
    detail = implicit_field(decals, 1e-4) if decals else None
    vertices, faces = _right_half(field, low, high, spacing)
    edge_length = _target_edge_lengths(vertices, faces, field, detail)
    vertices, faces = collapse_short_edges(vertices, faces, edge_length)
    for _ in range(2):
        edge_length = _target_edge_lengths(vertices, faces, field, detail)
        vertices, faces = split_long_edges(vertices, faces, edge_length)
        vertices = _projected(vertices, field, vertices[:, 1] < 1e-6, np.abs(vertices[:, 2]) < 1e-9)
    return _relaxed(_mirrored(vertices, faces), field), field


def _right_half(
    field: ImplicitField, low: Float[np.ndarray, " 3"], high: Float[np.ndarray, " 3"], spacing: float
) -> tuple[Float[np.ndarray, "vertex 3"], Int[np.ndarray, "face 3"]]:
    """The right half of the isosurface at zero by marching cubes, open along z = 0."""
    xs, ys, zs = (np.arange(lo, hi + spacing, spacing) for lo, hi in zip(low, high, strict=True))
    # The ground lies between two layers of the grid and the mirror plane on its first, where halves are welded.
    ys = ys - ys[0] + (np.floor(low[1] / spacing) + 0.5) * spacing
    zs = np.arange(len(zs)) * spacing
    values = _evaluate_on_grid(field, xs, ys, zs, 3 * spacing + float(field.blend.max()))
    values = np.maximum(values, -ys[None, :, None])
    nodes, faces = isosurface(values)
    return largest_component(nodes * spacing + (xs[0], ys[0], 0.0), faces)


def _bounds(tubes: tuple[Tube, ...]) -> tuple[Float[np.ndarray, " 3"], Float[np.ndarray, " 3"]]:
    """A box around the right half."""
    reach = [np.maximum(t.widths, t.heights)[:, None] for t in tubes]
    low = np.min([(t.centres - r).min(0) for t, r in zip(tubes, reach, strict=True)], 0) - 0.05
    high = np.max([(t.centres + r).max(0) for t, r in zip(tubes, reach, strict=True)], 0) + 0.05
    low[1], low[2] = -0.06, 0.0
    return low, high


def _target_edge_lengths(
    vertices: np.ndarray, faces: np.ndarray, field: ImplicitField, detail: ImplicitField | None
) -> Float[np.ndarray, " vertex"]:
    """Target edge lengths: short on thin parts and under decals, longer elsewhere if the vertex budget demands it [ℓ]."""
    _, cone = evaluate(field, vertices)
    radius = np.minimum(field.width[cone].mean(1), field.height[cone].mean(1))
    coarse = np.clip(0.4 * radius, 0.012, max(0.03, 0.12 * float(np.percentile(radius, 90))))
    ball = np.bincount(field.tube)[field.tube[cone]] == 1
    fine = np.where(ball, 0.35 * radius, np.inf)
    if detail is not None:
        distance, cone = evaluate(detail, vertices)
        size = 0.4 * np.minimum(detail.width[cone].mean(1), detail.height[cone].mean(1))
        fine = np.where(distance < size, np.minimum(fine, size), fine)
    for _ in range(3):
        edge_length = graded(vertices, faces, np.minimum(coarse, fine))
        coarse = coarse * np.sqrt(max(1.0, expected_vertices(vertices, faces, edge_length) / (VERTEX_BUDGET / 2)))
    return edge_length


def _mirrored(half: Float[np.ndarray, "half 3"], faces: Int[np.ndarray, "half_face 3"]) -> MirroredSurface:
    """Mirror the half and weld it along the plane z = 0."""
    middle = np.abs(half[:, 2]) < 1e-9
    order = np.arange(len(half))
    image = order.copy()
    image[~middle] = len(half) + np.arange((~middle).sum())
    whole = np.concatenate((faces, image[faces][:, ::-1]))
    return MirroredSurface(half, whole, np.concatenate((order, order[~middle])))


def _relaxed(surface: MirroredSurface, field: ImplicitField) -> MirroredSurface:
    """Even out the triangles: slide vertices towards their neighbours' mean, back onto the isosurface, then soften creases."""
    average = neighbour_average(surface.faces, len(surface.source))
    half = surface.half.copy()
    count = len(half)
    middle = np.abs(half[:, 2]) < 1e-9
    ground = half[:, 1] < 1e-6

    def smoothed(points: np.ndarray, share: float) -> np.ndarray:
        moved = points + share * ((average @ MirroredSurface(points, surface.faces, surface.source).vertices)[:count] - points)
        moved[middle, 2] = 0.0
        moved[ground, 1] = 0.0
        return moved

    for _ in range(3):
        half = smoothed(half, 0.5)
        half = _projected(half, field, ground, middle)
    for share in (0.5, -0.52) * 5:
        half = smoothed(half, share)
    half[:, 1] = np.maximum(half[:, 1], 0.0)
    half[~middle, 2] = np.maximum(half[~middle, 2], 1e-4)
    return MirroredSurface(half, surface.faces, surface.source)


def _projected(points: np.ndarray, field: ImplicitField, ground: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """One Newton step onto the isosurface; the flat soles stay where they are."""
    step = 1e-4
    value, _ = evaluate(field, points)
    slope = np.stack([(evaluate(field, points + step * axis)[0] - value) / step for axis in np.eye(3)], -1)
    slope[middle, 2] = 0.0
    move = -value[:, None] * slope / np.maximum((slope**2).sum(1, keepdims=True), 0.25)
    move *= np.minimum(1.0, 0.02 / np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-12))
    move[ground] = 0.0
    out = points + move
    out[:, 1] = np.maximum(out[:, 1], 0.0)
    out[~middle, 2] = np.maximum(out[~middle, 2], 1e-4)
    return out
