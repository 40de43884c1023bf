"""Skin weights for any mesh and any skeleton by heat diffusion on the surface.

The method is the heat equilibrium of Baran and Popović (2007), as in the AKD paper: each bone heats the skin that it is nearest
to, and heat diffuses along the skin. It differs from the paper's in a few ways, each measured against hand-made weights
(docs/rigging.md), and ``PAPER`` switches them off: bones straight below the skin count as nearer; joints that branch reach only
part of the way to children off the straight line; where bones are equally near, as around every joint, they share the vertex;
heat stays closer to its source and small weights fade out; components keep to their own bones.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.sparse import csc_matrix, diags_array
from scipy.sparse.linalg import splu
from scipy.spatial import cKDTree

from akd.errors import AkdError
from akd.mesh import Mesh
from akd.rigging.bones import Bones, bones_of, closest_on_bones
from akd.rigging.components import (
    bending_components,
    closest_on_surface,
    components_around_bones,
    eligible_bones,
    rigid_small_components,
    rigid_weights,
)
from akd.rigging.surface import Surface, decimated, weld
from akd.rigging.visibility import NearestBones, bone_ends, nearest_visible
from akd.skeleton import Skeleton

MIN_DISTANCE = 1e-3
"""Distances to bones count as at least this share of the mesh's size, or a bone on the skin would be infinitely hot."""
MIN_RELATIVE_WEIGHT = 0.01
"""Weights below this share of the strongest are left out."""
INTERPOLATED = 4
"""Vertices of a decimated mesh whose weights a vertex of the full one averages."""
FADE_RANGE = (0.025, 0.05)
"""Weights below the first vanish and above the second stay; between them they fade, so that nothing jumps."""


def laplacian(surface: Surface) -> tuple[csc_matrix, Float[np.ndarray, " point"]]:
    """Cotangent matrix (positive semi-definite) and areas; a tufted cover makes it sound on meshes with any defect.

    Voronoi areas depend less than thirds of triangles on which diagonal parts a quadrilateral.
    """
    import igl
    import robust_laplacian

    matrix, _ = robust_laplacian.mesh_laplacian(surface.points, surface.faces)
    area = igl.massmatrix(surface.points, surface.faces.astype(np.int64), igl.MASSMATRIX_TYPE_VORONOI).diagonal()
    return csc_matrix(matrix), np.maximum(area, 1e-9 * max(float(area.mean()), 1e-300))


def diffuse(
    matrix: csc_matrix, area: Float[np.ndarray, " point"], conductance: Float[np.ndarray, " point"],
    source: Float[np.ndarray, "point joint"],
) -> Float[np.ndarray, "point joint"]:  # fmt: skip
    """Solve (L + M H) w = M H p for all joints with one factorisation; ``conductance`` is the diagonal of H.

    L maps constants to zero, so rows of w sum to one as those of p do. Every component needs a point with positive conductance.
    """
    load = area * conductance
    system = csc_matrix(matrix + diags_array(load))
    # A symmetric positive definite matrix needs no pivoting, and this ordering keeps its factor about as thin as Cholesky's.
    factor = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    used = np.flatnonzero(source.any(0))
    out = np.zeros_like(source)
    out[:, used] = factor.solve(load[:, None] * source[:, used])
    return out


@dataclass(frozen=True)
class HeatSettings:
    """How bones heat the skin."""

    conductance: float = 4.0
    """c in H = c / d²: larger values keep weights closer to the nearest bone."""
    tries: int = 1
    """How many bones are tried per vertex, nearest first, until one is visible."""
    facing: bool = True
    """Do bones straight below the skin count as nearer than others?"""
    branching: float = 0.4
    """How far a joint with several children reaches towards those that do not go straight on."""
    sharpness: float = 1000.0
    """Bones share a vertex as (d_nearest / d)^sharpness."""
    fading: bool = True
    """Do small weights fade to zero? Heat reaches everywhere, hand-made weights do not."""
    components: bool = True
    """Are components told apart: bound to the bones inside them only, small or held ones rigid?"""


PAPER = HeatSettings(conductance=1.0, facing=False, branching=1.0, sharpness=np.inf, fading=False, components=False)
"""As published: only the nearest bone heats a vertex, and only if it is visible."""


def heat_weights(
    mesh: Mesh, skeleton: Skeleton, *, k: int = 4, settings: HeatSettings | None = None, small: Mesh | None = None
) -> Float[np.ndarray, "vertex joint"]:
    """Weights with at most ``k`` joints per vertex; rows sum to one and no vertex is left out, whatever the mesh is like.

    Those of a huge mesh are found on a decimated copy, ``small`` if it is known already, and interpolated.
    """
    if k < 1:
        raise AkdError(f"A vertex needs at least one joint, but k is {k}.")
    settings = settings or HeatSettings()
    small = decimated(mesh) if small is None else small
    if small is not mesh:
        return strongest(_interpolated(mesh, small, heat_weights(small, skeleton, k=k, settings=settings)), k)
    surface = weld(mesh)
    bones = bones_of(skeleton, bone_ends(skeleton, surface), branching=settings.branching)
    if not len(surface.faces):
        return nearest_weights(mesh, bones)
    around_bone = (
        components_around_bones(surface, bones)
        if settings.components
        else np.ones((surface.component_count, len(bones.joint)), bool)
    )
    bending = bending_components(surface, around_bone)
    body = surface.only(bending)
    nearest_bones = nearest_visible(
        body, bones, eligible_bones(around_bone)[bending], tries=settings.tries, facing=settings.facing
    )
    conductance = _conductance(body, nearest_bones, settings.conductance)
    heat = diffuse(*laplacian(body), conductance, _heat_sources(nearest_bones, bones, skeleton, settings.sharpness))
    if settings.components:
        heat = rigid_small_components(body, heat)
    if settings.fading:
        heat = faded(heat)
    points = rigid_weights(surface, bending, body, strongest(heat, k))
    return strongest(_to_mesh_vertices(mesh, surface, points), k)


def _interpolated(
    mesh: Mesh, small: Mesh, weights: Float[np.ndarray, "small joint"]
) -> Float[np.ndarray, "vertex joint"]:
    """Weights of a decimated mesh at all vertices: means of the nearest ones by inverse distance."""
    distance, nearest = cKDTree(small.vertices).query(mesh.vertices, k=min(INTERPOLATED, small.vertex_count))
    share = 1 / np.maximum(distance.reshape(mesh.vertex_count, -1), 1e-9 * float(np.ptp(mesh.vertices, axis=0).max()))
    out = np.zeros((mesh.vertex_count, weights.shape[1]))
    for part, index in zip((share / share.sum(1, keepdims=True)).T, nearest.reshape(mesh.vertex_count, -1).T, strict=True):
        out += part[:, None] * weights[index]
    return out


def nearest_weights(mesh: Mesh, bones: Bones) -> Float[np.ndarray, "vertex joint"]:
    """Every vertex moves with the nearest bone alone."""
    distance, _ = closest_on_bones(bones, np.asarray(mesh.vertices, float))
    return np.eye(bones.joint_count)[bones.joint[distance.argmin(1)]]


def strongest(weights: Float[np.ndarray, "vertex joint"], k: int) -> Float[np.ndarray, "vertex joint"]:
    """The k largest of each row that are not faint, scaled to sum to one."""
    weights = np.clip(weights, 0, None)
    weights = np.where(weights >= MIN_RELATIVE_WEIGHT * weights.max(1, keepdims=True, initial=0), weights, 0)
    many = np.flatnonzero(np.count_nonzero(weights, axis=1) > k)  # few rows have, where there are many joints
    if len(many):
        rows = weights[many]
        np.put_along_axis(rows, np.argpartition(rows, -k, axis=1)[:, :-k], 0, axis=1)
        weights[many] = rows
    return weights / weights.sum(1, keepdims=True)


def faded(weights: Float[np.ndarray, "vertex joint"]) -> Float[np.ndarray, "vertex joint"]:
    """Weights without the long tail of warmth that every bone sends everywhere; the strongest of a row always stays."""
    low, high = FADE_RANGE
    left = np.clip((weights - low) / (high - low), 0, 1) * np.maximum(weights, high)
    return np.where(weights >= weights.max(1, keepdims=True), weights, left)


def _conductance(surface: Surface, nearest_bones: NearestBones, c: float) -> Float[np.ndarray, " point"]:
    """c / d² where a bone is visible. In a component without visible bones all count as visible: nothing stays unheated."""
    has_visible = np.zeros(surface.component_count, bool)
    has_visible[surface.component[nearest_bones.visible]] = True
    heated = nearest_bones.visible | ~has_visible[surface.component]
    return np.where(heated, c / np.maximum(nearest_bones.distance, MIN_DISTANCE * surface.size) ** 2, 0)


def _heat_sources(
    nearest_bones: NearestBones, bones: Bones, skeleton: Skeleton, sharpness: float
) -> Float[np.ndarray, "point joint"]:
    """Share of each joint in a point's heat: all of it for the chosen bone, less for others that are hardly farther away.

    Only the chosen joint's parent and children share with it: around a joint, both its bones are equally near. Nearer bones
    that are not visible from the point get nothing.
    """
    chosen, distance = bones.joint[nearest_bones.bone], np.maximum(nearest_bones.distance, 1e-12)
    out = np.zeros((len(chosen), bones.joint_count))
    if not np.isinf(sharpness):
        related = np.eye(bones.joint_count, dtype=bool)
        child = np.flatnonzero(skeleton.parents >= 0)
        related[child, skeleton.parents[child]] = related[skeleton.parents[child], child] = True
        for bone, joint in enumerate(bones.joint):
            ratio = distance / np.maximum(nearest_bones.distances[:, bone], 1e-12)
            share = np.where((ratio <= 1) & related[chosen, joint], ratio, 0) ** sharpness
            out[:, joint] = np.maximum(out[:, joint], share)
    out[np.arange(len(out)), chosen] = 1
    return out / out.sum(1, keepdims=True)


def _to_mesh_vertices(
    mesh: Mesh, surface: Surface, weights: Float[np.ndarray, "point joint"]
) -> Float[np.ndarray, "vertex joint"]:
    """From the welded points to the file's vertices; those that no sound face uses move with the nearest place."""
    out = weights[np.maximum(surface.point_of_vertex, 0)]
    stray = np.flatnonzero(surface.point_of_vertex < 0)
    if len(stray):
        _, corners, share = closest_on_surface(surface, np.asarray(mesh.vertices[stray], float))
        out[stray] = (weights[corners] * share[..., None]).sum(1)
    return out
