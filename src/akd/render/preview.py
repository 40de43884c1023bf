"""Previews: the mesh itself, ray cast with light and shadow, on the same ground that films have.

A key light with a soft shadow, a sky, and light thrown back by the ground: enough to judge weight, contact and form.
Nothing here is differentiable; the films that priors see are made of splats (``film``).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.files.video import write_video
from akd.mesh import Mesh
from akd.motion import Motion
from akd.render.camera import Camera, View, bounding_sphere, fitting_distance, following_camera, smooth_path
from akd.render.decimate import MAX_FACES, decimate
from akd.render.ground import Ground, Light, ground_layer
from akd.render.looks import Color, Look, marker_colors
from akd.render.raycast import RayScene, Shader, base_colors, interpolate, mesh_picture, points_at_vertices, vertex_normals
from akd.rig import Rig
from akd.skeleton import Pose, forward_kinematics
from akd.splats import skin_points

KEY_DIRECTION = np.array([0.25, 0.85, 0.45]) / np.linalg.norm([0.25, 0.85, 0.45])
"""Towards the key light: high, a little in front, on the camera's side."""
LAMP_DIRECTIONS = KEY_DIRECTION + 0.06 * np.array(
    [[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 0, 1], [0, 0, -1], [0.7, 0, 0.7], [-0.7, 0, -0.7]]
)
"""The key light is a disc: one direction for each of a few points on it."""
KEY_LIGHT, SKY_LIGHT, BOUNCE_LIGHT = 0.62, 0.50, 0.24
"""Brightness of a surface that faces the key light, the sky, the ground."""
GROUND_SHADOW = 0.42
"""Share of light the ground loses in full shadow."""
RAY_OFFSET = 4e-3
"""Shadow rays start this far above the surface [ℓ], so that a triangle does not shade itself."""


@dataclass(frozen=True)
class PreviewSettings:
    """How a preview is filmed."""

    width: int = 1280
    """Picture width [px]."""
    height: int = 720
    """Picture height [px]."""
    view: View = field(default_factory=lambda: View(55.0, 14.0, 1.12))
    fov: float = 26.0
    """Full vertical field of view [degrees]."""
    follow: float = 0.5
    """Time over which the camera's path is smoothed [s]."""
    look: Look = "natural"
    background: Color = (0.86, 0.89, 0.92)
    ground: Ground = field(default_factory=lambda: Ground(((0.70, 0.71, 0.73), (0.79, 0.80, 0.82)), tile=1.0, fade=2.5))
    supersample: int = 2
    """Rays per pixel in each direction."""


def preview(rig: Rig, motion: Motion, path: Path | str, settings: PreviewSettings | None = None) -> Path:
    """Render a preview of a motion and write it as mp4 or GIF."""
    return write_video(path, preview_frames(rig, motion, settings), motion.fps)


def preview_frames(
    rig: Rig, motion: Motion, settings: PreviewSettings | None = None
) -> Iterator[Float[Tensor, "height width 3"]]:
    """The preview's pictures, one by one: a minute of them would not fit in memory. Huge meshes are decimated first."""
    settings = settings or PreviewSettings()
    rig = _without_excess(rig)
    vertices = moving_vertices(rig, motion)
    distance = settings.view.distance * fitting_distance(
        bounding_sphere(torch.from_numpy(rig.mesh.vertices))[1], settings.fov, settings.width, settings.height
    )
    path = smooth_path((vertices.amin(1) + vertices.amax(1)) / 2, motion.fps, settings.follow)
    camera = following_camera(
        path, settings.view, distance=distance, width=settings.width, height=settings.height, fov=settings.fov
    )
    mesh = _in_look(rig, settings.look)
    for frame, moved in enumerate(vertices.double().numpy()):
        yield _picture(mesh, moved, camera[frame : frame + 1], distance, settings)


def still(
    rig: Rig, pose: Pose, camera: Camera, *, background: Color, ground: Ground | None = None, supersample: int = 3
) -> tuple[Float[Tensor, "height width 3"], Float[Tensor, "height width"]]:
    """One pose seen by one camera, over a plain background or on the ground; and how much of each pixel it covers."""
    rig = _without_excess(rig)
    vertices = moving_vertices(rig, Motion(pose[None], 1.0))[0].double().numpy()
    scene = RayScene(vertices, rig.mesh.faces)
    shader = _shader(rig.mesh, vertices, scene)
    image, alpha = mesh_picture(scene, vertices, camera, 0, shader, supersample=supersample)
    behind: Tensor = torch.tensor(background)
    if ground is not None:
        away = float((camera.centers[0] - torch.from_numpy(vertices).float().mean(0)).norm())
        behind = ground_layer(camera, ground, background, away * ground.fade, _ground_light(scene, vertices))[0]
    return image + (1 - alpha[..., None]) * behind, alpha


@torch.no_grad()
def moving_vertices(rig: Rig, motion: Motion) -> Float[Tensor, "frame vertex 3"]:
    """The skinned mesh in every frame."""
    weights, points = (torch.from_numpy(np.asarray(values, np.float32)) for values in (rig.weights, rig.mesh.vertices))
    return skin_points(rig.skeleton, forward_kinematics(rig.skeleton, motion.pose.to(torch.float32)), weights, points)


def _without_excess(rig: Rig) -> Rig:
    """The rig with at most ``MAX_FACES`` faces; the colours of a decimated mesh are those of the texture at its vertices."""
    mesh = rig.mesh
    if len(mesh.faces) <= MAX_FACES:
        return rig
    small = decimate(mesh.vertices, mesh.faces, MAX_FACES)
    colors = base_colors(mesh, points_at_vertices(mesh))[small.kept]
    return replace(rig, mesh=Mesh(mesh.vertices[small.kept], small.faces, colors), weights=rig.weights[small.kept], soles=())


def _in_look(rig: Rig, look: Look) -> Mesh:
    if look == "natural":
        return rig.mesh
    colors = marker_colors(rig.skeleton, torch.from_numpy(np.asarray(rig.weights, np.float32))).double().numpy()
    return replace(rig.mesh, colors=colors, uv=None)


def _picture(
    mesh: Mesh, vertices: Float[np.ndarray, "vertex 3"], camera: Camera, distance: float, settings: PreviewSettings
) -> Float[Tensor, "height width 3"]:
    """One frame: the mesh in its light over the ground in the mesh's shadow."""
    scene = RayScene(vertices, mesh.faces)
    shader = _shader(mesh, vertices, scene)
    image, alpha = mesh_picture(scene, vertices, camera, 0, shader, supersample=settings.supersample, floor=0.0)
    light = _ground_light(scene, vertices)
    ground = ground_layer(camera, settings.ground, settings.background, distance * settings.ground.fade, light)[0]
    return image + (1 - alpha[..., None]) * ground


def _shader(mesh: Mesh, vertices: Float[np.ndarray, "vertex 3"], scene: RayScene) -> Shader:
    """Matt colours under key light, sky and ground."""
    normals = vertex_normals(vertices, mesh.faces)

    def shade(hits, directions):
        normal = interpolate(mesh, hits.points, normals)
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-9)
        # Thin walls are seen from behind, too: what counts is the side that faces the camera.
        normal *= -np.sign((normal * directions[hits.ray]).sum(1, keepdims=True))
        place = interpolate(mesh, hits.points, vertices) + RAY_OFFSET * normal
        key = np.clip(normal @ KEY_DIRECTION, 0, None)
        facing = np.flatnonzero(key > 0)
        key[facing[scene.blocked(place[facing], np.broadcast_to(KEY_DIRECTION, (len(facing), 3)))]] = 0
        sky, bounce = 0.5 + 0.5 * normal[:, 1], 0.5 - 0.5 * normal[:, 1]
        return base_colors(mesh, hits.points) * (KEY_LIGHT * key + SKY_LIGHT * sky + BOUNCE_LIGHT * bounce)[:, None]

    return shade


def _ground_light(scene: RayScene, vertices: Float[np.ndarray, "vertex 3"]) -> Light:
    """How much of the key light's disc each ground point sees."""
    ends = np.concatenate([vertices[:, [0, 2]] - vertices[:, 1:2] * lamp[[0, 2]] / lamp[1] for lamp in LAMP_DIRECTIONS])
    low, high = ends.min(0), ends.max(0)

    def light(point):
        flat = point.reshape(-1, 2).double().numpy()
        near = np.flatnonzero(((flat > low) & (flat < high)).all(1))
        start = np.stack((flat[near, 0], np.full(len(near), RAY_OFFSET), flat[near, 1]), 1)
        dark = sum(scene.blocked(start, np.broadcast_to(lamp, start.shape)).astype(float) for lamp in LAMP_DIRECTIONS) / len(
            LAMP_DIRECTIONS
        )
        out = np.ones(len(flat))
        out[near] -= GROUND_SHADOW * dark
        return torch.from_numpy(out).to(point).reshape(point.shape[:-1])

    return light
