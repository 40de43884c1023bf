"""Skin weights and vertex colours of a creature's surface.

Weights: each vertex starts with the joint of the cone it lies on, and weights diffuse along the surface. Edges are short where
the body is thin, so a fixed number of averaging steps spreads a joint over about its own radius. Colours: the palette by
section, markings over it, then decals (eyes, mouths).
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import cKDTree

from akd.creatures.body import Individual, Tube, random_stream
from akd.creatures.remesh import neighbour_average
from akd.creatures.surface import MirroredSurface, evaluate, implicit_field
from akd.mesh import vertex_normals
from akd.skeleton import Skeleton

DIFFUSION_STEPS = 14
"""Averaging steps over the vertices' neighbours."""
MAX_INFLUENCES = 4
"""Joints per vertex."""
SHARP_COLORS = ("eye", "white", "pupil", "nose", "iris", "teeth", "visor", "light")
"""Palette names that are not blended into their surroundings."""
Pattern = Callable[[np.ndarray, np.ndarray, float, float, np.random.Generator], np.ndarray]
"""Vertices, normals, size [ℓ], amount and random numbers → coverage of each vertex by a marking, 0 to 1."""


def skin_weights(
    surface: MirroredSurface, owner: Int[np.ndarray, " half"], skeleton: Skeleton
) -> Float[np.ndarray, "vertex joint"]:
    """Rows sum to one, at most four joints each, mirrored exactly, nothing across the midline."""
    count = len(surface.source)
    left = np.arange(count) >= len(surface.half)
    bone = owner[surface.source]
    bone = np.where(left, skeleton.mirror[bone], bone)
    weights = np.zeros((count, skeleton.joint_count))
    weights[np.arange(count), bone] = 1.0
    average = neighbour_average(surface.faces, count)
    for _ in range(DIFFUSION_STEPS):
        weights = 0.5 * weights + 0.5 * (average @ weights)
    weights = 0.5 * (weights + weights[surface.partner][:, skeleton.mirror])
    weights[_across_midline(surface, skeleton)] = 0.0
    weights = _strongest(weights)
    return weights / weights.sum(1, keepdims=True)


def _across_midline(surface: MirroredSurface, skeleton: Skeleton) -> np.ndarray:
    """Which weights would bind a vertex to a limb of the other side?"""
    side = np.sign(skeleton.positions[:, 2]) * (skeleton.mirror != np.arange(skeleton.joint_count))
    return surface.vertices[:, 2][:, None] * side[None] < 0


def _strongest(weights: Float[np.ndarray, "vertex joint"]) -> Float[np.ndarray, "vertex joint"]:
    """Only the strongest few of each row; the next in rank is subtracted from all, so nothing jumps where ranks change."""
    ranked = np.sort(weights, axis=1)
    next_in_rank = ranked[:, -MAX_INFLUENCES - 1 : -MAX_INFLUENCES] if weights.shape[1] > MAX_INFLUENCES else 0.0
    return np.maximum(weights - np.maximum(next_in_rank, 1e-3), 0.0)


def vertex_colors(
    surface: MirroredSurface, tubes: tuple[Tube, ...], cone: Int[np.ndarray, " half"], cone_tube: Int[np.ndarray, " cone"],
    cone_section: Int[np.ndarray, " cone"], decals: tuple[Tube, ...], individual: Individual,
) -> Float[np.ndarray, "vertex 3"]:
    """sRGB of all vertices. ``cone`` is the nearest cone of each vertex of the half surface."""
    vertices, normals = surface.vertices, vertex_normals(surface.vertices, surface.faces)
    names = np.array([tubes[t].colors[s] for t, s in zip(cone_tube[cone], cone_section[cone], strict=True)])[surface.source]
    chains = np.array([tubes[t].chain.name for t in cone_tube[cone]])[surface.source]
    colors = np.array([individual.palette[name] for name in names])
    rng = random_stream(individual.plan, individual.seed, 2)
    for marking, size, amount in individual.markings:
        cover = PATTERNS[marking.pattern](vertices, normals, size, amount, rng)
        cover = np.where(np.isin(chains, marking.on) & ~np.isin(names, SHARP_COLORS), cover, 0.0)[:, None]
        colors = (1 - cover) * colors + cover * individual.palette[marking.color]
    soft = 0.5 * colors + 0.5 * (neighbour_average(surface.faces, len(vertices)) @ colors)
    colors = np.where(np.isin(names, SHARP_COLORS)[:, None], colors, soft)
    for decal in decals:
        colors = _with_decal(colors, vertices, decal, individual.palette[decal.colors[0]])
    return np.clip(colors, 0.0, 1.0)


def _with_decal(colors: np.ndarray, vertices: np.ndarray, decal: Tube, color: np.ndarray) -> np.ndarray:
    """The colours with what lies inside the decal's tube painted over, on both sides."""
    right = np.column_stack((vertices[:, :2], np.abs(vertices[:, 2])))
    distance, _ = evaluate(implicit_field((decal,), 1e-4), right)
    cover = np.clip(0.5 - distance / (0.3 * decal.heights.mean()), 0, 1)[:, None]
    return (1 - cover) * colors + cover * color


def _smoothstep(value: np.ndarray, softness: float) -> np.ndarray:
    """0 below, 1 above zero, smooth in between."""
    t = np.clip(value / softness * 0.5 + 0.5, 0, 1)
    return t * t * (3 - 2 * t)


def _noise(points: np.ndarray, size: float, rng: np.random.Generator) -> np.ndarray:
    """Smooth noise between about −1 and 1: a sum of random plane waves; ``size`` is their mean wavelength [ℓ]."""
    direction = rng.normal(size=(8, 3))
    direction *= 2 * np.pi / size / np.linalg.norm(direction, axis=1, keepdims=True) * rng.uniform(0.5, 1.2, (8, 1))
    return np.cos(points @ direction.T + rng.uniform(0, 2 * np.pi, 8)).sum(1) / 2.5


def _under(points, normals, size, amount, rng):  # type: ignore[no-untyped-def]
    """Light below, as most animals are."""
    return _smoothstep(-normals[:, 1] - 1 + 2 * amount + 0.15 * _noise(points, 0.5, rng), 0.35)


def _back(points, normals, size, amount, rng):  # type: ignore[no-untyped-def]
    """Dark along the back."""
    return _smoothstep(normals[:, 1] - 1 + 2 * amount + 0.15 * _noise(points, 0.5, rng), 0.35)


def _worley(points: np.ndarray, size: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Worley noise: distances to the nearest and second nearest of jittered grid points about ``size`` apart."""
    low, high = points.min(0) - size, points.max(0) + size
    steps = np.ceil((high - low) / size).astype(int)
    nodes = np.stack(np.meshgrid(*map(np.arange, steps), indexing="ij"), -1).reshape(-1, 3)
    centres = low + (nodes + rng.uniform(0.12, 0.88, nodes.shape)) * size
    distance, _ = cKDTree(centres).query(points, k=2)
    return distance[:, 0], distance[:, 1]


def _patches(points, normals, size, amount, rng):  # type: ignore[no-untyped-def]
    """Large cells with light seams between them: a giraffe."""
    first, second = _worley(points, size, rng)
    return _smoothstep((second - first) / size - 0.35 * (1 - amount), 0.06)


def _spots(points, normals, size, amount, rng):  # type: ignore[no-untyped-def]
    """Round spots."""
    first, _ = _worley(points, size, rng)
    return _smoothstep(0.2 + 0.4 * amount - first / size, 0.08)


def _stripes(points, normals, size, amount, rng):  # type: ignore[no-untyped-def]
    """Bands across the body that break up at random."""
    bent = points[:, 0] + 0.35 * size * _noise(points, 2.5 * size, rng) + 0.15 * points[:, 1]
    return _smoothstep(np.sin(2 * np.pi * bent / size) + 2 * amount - 1 + 0.3 * _noise(points, 3 * size, rng), 0.35)


def _blotches(points, normals, size, amount, rng):  # type: ignore[no-untyped-def]
    """Large irregular areas: a cow, a spotted dog."""
    return _smoothstep(_noise(points, 2.0 * size, rng) + 2 * amount - 1, 0.12)


PATTERNS: dict[str, Pattern] = {
    "under": _under, "back": _back, "patches": _patches, "spots": _spots, "stripes": _stripes, "blotches": _blotches,
}
