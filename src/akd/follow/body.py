"""A character as the follower sees it: points on its skin, where they are in a pose, and how they move with every coordinate.

A pose is one row of numbers: where the root is, then a rotation vector per joint (see ``posespace.representation``; row 0 is the
root's whole turn on the stage). Every measurement of a picture is a direction g at a skin point: it changes by g · dx. For a
joint at P with turning axis a, and the share s of the point's weights that hang on it, dx = s a × (x − P), so that

    g · dx = s (a · (x × g) − g · (a × P))

and the rows of a whole frame are one product of (x × g, g) with (a, −a × P) of all axes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from akd.mesh import vertex_normals
from akd.reconstruct.surface_splats import sample_surface
from akd.render.decimate import decimate
from akd.render.looks import Look, marker_colors
from akd.render.raycast import SurfacePoints, interpolate, lit_colors
from akd.rig import Rig
from akd.skeleton import Skeleton

POINTS = 1600
"""Points on the skin: enough that some point is near every place of the outline."""
SHELL_FACES = 8000
"""Triangles of depth pictures: what is lost by decimating is below a pixel."""
USUAL_EXTENT = 3.0
"""Diagonal of the box around a person or a four-legged animal [ℓ]; around a fish with fins for legs it is 20."""
MIN_SHARE = 0.004
"""A joint that moves less of the skin than this stays as it is: nothing in a picture of this size shows it."""
SHADE = 0.35
"""How much darker skin is that faces away from the sky, in the character's own colours."""
Coordinates = Float[np.ndarray, "frame coordinate"]
"""Root position [ℓ], then a rotation vector per joint [rad]."""


@dataclass(frozen=True, eq=False)
class Body:
    """Skin points with their weights."""

    rig: Rig
    points: Float[np.ndarray, "point 3"]
    """At rest [ℓ], in random order, so that the first few are a fair choice of all."""
    colors: Float[np.ndarray, "point 3"]
    """In the look of the clip: the character's own in soft light, or one for each limb."""
    weights: Float[np.ndarray, "point joint"]
    hanging: Float[np.ndarray, "point joint"]
    """Share of each point's weights that hang on each joint or below it."""
    active: Int[np.ndarray, " column"]
    """Coordinates that are fitted: of joints that move enough of the skin to be seen."""
    limb: Int[np.ndarray, " point"]
    """Which of the skeleton's limbs moves each point most; −1 for none."""
    shell: Float[np.ndarray, "vertex 3"]
    """Vertices of the mesh at rest, decimated, for depth pictures [ℓ]."""
    shell_weights: Float[np.ndarray, "vertex joint"]
    faces: Int[np.ndarray, "face 3"]
    look: Look = "natural"
    """How the character looks in the clip; colours of the marker look are known before anything is seen."""

    @classmethod
    def of(cls, rig: Rig, *, count: int = POINTS, seed: int = 0, look: Look = "natural") -> "Body":
        rng = np.random.default_rng(seed)
        samples = sample_surface(rig.mesh, count, rng)
        order = rng.permutation(count)
        samples = SurfacePoints(samples.face[order], samples.barycentric[order])
        weights = interpolate(rig.mesh, samples, np.asarray(rig.weights, float))
        weights /= weights.sum(1, keepdims=True)
        small = decimate(rig.mesh.vertices, rig.mesh.faces, SHELL_FACES)
        hanging = weights @ rig.skeleton.is_ancestor.T.astype(float)
        return cls(
            rig, interpolate(rig.mesh, samples, rig.mesh.vertices),
            skin_colors(rig, samples, weights, look), weights, hanging,
            active_coordinates(hanging), limb_of_points(rig.skeleton, weights),
            rig.mesh.vertices[small.kept], np.asarray(rig.weights, float)[small.kept], small.faces, look,
        )  # fmt: skip

    @cached_property
    def hanging_columns(self) -> Float[np.ndarray, "point angle"]:
        """``hanging`` for each active rotation coordinate."""
        return np.repeat(self.hanging[:, (self.active[3::3] - 3) // 3], 3, 1).astype(np.float32)

    @cached_property
    def size(self) -> float:
        """The unit of lengths for this body [ℓ]: 1 for a body of usual build, more where legs are short for it or absent."""
        return float(np.linalg.norm(np.ptp(self.shell, axis=0))) / USUAL_EXTENT

    @property
    def joint_count(self) -> int:
        return self.rig.skeleton.joint_count


def skin_colors(
    rig: Rig, samples: SurfacePoints, weights: Float[np.ndarray, "point joint"], look: Look
) -> Float[np.ndarray, "point 3"]:
    """Colours of skin points in a look: in soft light, or every limb in its own."""
    if look == "marker":
        return marker_colors(rig.skeleton, torch.from_numpy(weights)).numpy()
    normals = vertex_normals(rig.mesh.vertices, rig.mesh.faces)
    return np.clip(lit_colors(rig.mesh, samples, SHADE, normals), 0, 1)


def active_coordinates(hanging: Float[np.ndarray, "point joint"]) -> Int[np.ndarray, " column"]:
    """Columns of a row of coordinates: the root's, and those of joints that move at least ``MIN_SHARE`` of the skin."""
    moved = hanging.mean(0) >= MIN_SHARE
    moved[0] = True
    return np.concatenate((np.arange(3), (3 + 3 * np.flatnonzero(moved)[:, None] + np.arange(3)).ravel()))


def limb_of_points(skeleton: Skeleton, weights: Float[np.ndarray, "point joint"]) -> Int[np.ndarray, " point"]:
    """The limb with the largest share of each point's weights."""
    if not skeleton.limbs:
        return np.full(len(weights), -1)
    member = np.zeros((skeleton.joint_count, len(skeleton.limbs)))
    for column, limb in enumerate(skeleton.limbs):
        member[list(limb.joints), column] = 1
    return (weights @ member).argmax(1)


@dataclass(frozen=True, eq=False)
class PosedBody:
    """Skin points, shell and turning axes in every frame."""

    points: Float[np.ndarray, "frame point 3"]
    shell: Float[np.ndarray, "frame vertex 3"]
    axes: Float[np.ndarray, "frame 6 angle"]
    """(a, −a × P) of every rotation coordinate, three of each joint."""
    joints: Float[np.ndarray, "frame joint 3"]


def posed(body: Body, y: Coordinates) -> PosedBody:
    """Forward kinematics and skinning of the points."""
    skeleton, count = body.rig.skeleton, body.joint_count
    vectors = y[:, 3:].reshape(len(y), count, 3)
    turns = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix().reshape(len(y), count, 3, 3)
    frames = skeleton.frames
    local = frames @ turns @ np.swapaxes(frames, -1, -2)
    stage, position = np.empty_like(local), np.empty((len(y), count, 3))
    stage[:, 0], position[:, 0] = local[:, 0], y[:, :3]
    offsets = skeleton.positions - skeleton.positions[np.maximum(skeleton.parents, 0)]
    for joints, _ in skeleton.levels:
        j = joints.numpy()
        parent = skeleton.parents[j]
        position[:, j] = position[:, parent] + (stage[:, parent] @ offsets[j][:, :, None])[..., 0]
        stage[:, j] = stage[:, parent] @ local[:, j]
    axes = stage @ frames @ right_jacobian(vectors)
    moment = -np.cross(np.swapaxes(axes, -1, -2), position[:, :, None])
    plucker = np.concatenate((axes, np.swapaxes(moment, -1, -2)), 2)
    shift = position - (stage @ skeleton.positions[:, :, None])[..., 0]
    maps = np.concatenate((stage.reshape(len(y), count, 9), shift), -1).astype(np.float32)
    points, shell = (_skinned(maps, *each) for each in ((body.points, body.weights), (body.shell, body.shell_weights)))
    return PosedBody(points, shell, plucker.transpose(0, 2, 1, 3).reshape(len(y), 6, 3 * count), position)


def _skinned(maps: np.ndarray, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    blended = weights.astype(np.float32) @ maps
    linear = blended[..., :9].reshape(*blended.shape[:2], 3, 3)
    return np.einsum("fpab,pb->fpa", linear, points.astype(np.float32)) + blended[..., 9:]


def right_jacobian(vectors: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3 3"]:
    """``exp(x + dx) = exp(x) exp(J dx)`` for small dx."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    safe = np.maximum(angle, 1e-4)
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    cross = np.stack((zero, -z, y, z, zero, -x, -y, x, zero), -1).reshape(*vectors.shape, 3)
    first = np.where(angle < 1e-4, 0.5, (1 - np.cos(safe)) / safe**2)
    second = np.where(angle < 1e-4, 1 / 6, (safe - np.sin(safe)) / safe**3)
    return np.eye(3) - first * cross + second * (cross @ cross)


def rows(
    body: Body, now: PosedBody, frame: int, point: Int[np.ndarray, " row"], direction: Float[np.ndarray, "row 3"]
) -> Float[np.ndarray, "row column"]:
    """How measurements along directions at skin points of one frame change with the active coordinates."""
    x = now.points[frame, point]
    levers = np.concatenate((np.cross(x, direction), direction), 1).astype(np.float32)
    turned = levers @ now.axes[frame][:, body.active[3:] - 3].astype(np.float32)
    return np.concatenate((direction.astype(np.float32), turned * body.hanging_columns[point]), 1)
