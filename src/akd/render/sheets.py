"""Contact sheets: meshes side by side, rigs in the colours of their weights with bones, and poses."""

import colorsys
from dataclasses import replace
from pathlib import Path
from typing import no_type_check

import numba
import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image, ImageDraw

from akd.files.video import contact_sheet, write_picture
from akd.mesh import Mesh, vertex_normals
from akd.motion import Motion
from akd.render.preview import PreviewSettings, preview_frames
from akd.rig import Rig
from akd.skeleton import Pose

PAPER = np.array([0.93, 0.92, 0.90])
SUN_DIRECTION = np.array([0.45, 0.8, 0.4]) / np.linalg.norm([0.45, 0.8, 0.4])
VIEWS = ((10.0, 8.0), (80.0, 8.0), (45.0, 60.0))
"""Turn towards the face and lift of the camera [degrees]: from the side, from the front, from above."""
POSE_INTERVAL = 1.0
"""Poses on a sheet are a second apart, so that the camera does not smooth its path over them [s]."""


def picture(mesh: Mesh, size: int = 256, turn: float = 45.0, lift: float = 14.0) -> UInt8[np.ndarray, "size size 3"]:
    """One mesh lit by a sun and the sky, with its shadow on the ground.

    ``turn`` swings the camera from the character's right side towards its face, ``lift`` raises it [degrees].
    """
    large = 2 * size
    view = _view(turn, lift)
    seen = mesh.vertices @ view.T
    shadow = mesh.vertices - mesh.vertices[:, 1:2] * SUN_DIRECTION / SUN_DIRECTION[1]
    scale = 0.9 * large / max(np.ptp(seen[:, 0]), np.ptp(seen[:, 1]))
    centre = (seen.max(0) + seen.min(0)) / 2
    image = np.broadcast_to(PAPER, (large, large, 3)).copy()
    for points, colors in ((shadow @ view.T, np.broadcast_to(PAPER * 0.82, seen.shape)), (seen, _shaded(mesh))):
        _draw_triangles(image, np.full((large, large), -np.inf), (points - centre) * scale + large / 2, mesh.faces, colors.copy())
    small = image[::-1].reshape(size, 2, size, 2, 3).mean((1, 3))
    return (255 * np.clip(small, 0, 1)).astype(np.uint8)


def sheet(entries: list[tuple[str, Mesh]], across: int, size: int = 200, turn: float = 45.0) -> Image.Image:
    """Pictures with a name over each, ``across`` of them in a row."""
    rows = -(-len(entries) // across)
    page = Image.new("RGB", (across * size, rows * size), tuple(int(255 * c) for c in PAPER))
    ink = ImageDraw.Draw(page)
    for i, (name, mesh) in enumerate(entries):
        left, top = (i % across) * size, (i // across) * size
        page.paste(Image.fromarray(picture(mesh, size, turn)), (left, top))
        ink.text((left + 6, top + 4), name, fill=(70, 70, 70))
    return page


def _view(turn: float, lift: float) -> Float[np.ndarray, "3 3"]:
    """Rows: the picture's right, its up, and towards the eye, in stage axes."""
    a, b = np.deg2rad(turn), np.deg2rad(lift)
    towards = np.array([np.sin(a) * np.cos(b), np.sin(b), np.cos(a) * np.cos(b)])
    right = np.array([np.cos(a), 0, -np.sin(a)])
    return np.stack((right, np.cross(towards, right), towards))


def _shaded(mesh: Mesh) -> Float[np.ndarray, "vertex 3"]:
    """Sun and sky light on every vertex, with a crude darkening near the ground."""
    normals = vertex_normals(mesh.vertices, mesh.faces)
    sun, sky = np.clip(normals @ SUN_DIRECTION, 0, None), 0.5 + 0.5 * normals[:, 1]
    return mesh.colors * (0.28 + 0.55 * sun + 0.32 * sky)[:, None]


@numba.njit(cache=True)
@no_type_check
def _draw_triangles(image, depth, points, faces, colors):
    """Draw triangles into an image whose first row is the lowest, nearest ones in front."""
    height, width = depth.shape
    for f in range(len(faces)):
        a, b, c = points[faces[f, 0]], points[faces[f, 1]], points[faces[f, 2]]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if abs(area) < 1e-12:
            continue
        x0, x1 = int(max(min(a[0], b[0], c[0]), 0)), int(min(max(a[0], b[0], c[0]) + 1, width - 1))
        y0, y1 = int(max(min(a[1], b[1], c[1]), 0)), int(min(max(a[1], b[1], c[1]) + 1, height - 1))
        for y in range(y0, y1 + 1):
            for x in range(x0, x1 + 1):
                px, py = x + 0.5, y + 0.5
                u = ((b[0] - px) * (c[1] - py) - (b[1] - py) * (c[0] - px)) / area
                v = ((c[0] - px) * (a[1] - py) - (c[1] - py) * (a[0] - px)) / area
                w = 1.0 - u - v
                z = u * a[2] + v * b[2] + w * c[2]
                if u >= 0 and v >= 0 and w >= 0 and z > depth[y, x]:
                    depth[y, x] = z
                    image[y, x] = u * colors[faces[f, 0]] + v * colors[faces[f, 1]] + w * colors[faces[f, 2]]


def rig_sheet(rig: Rig, size: int = 400) -> Image.Image:
    """The rig from three sides, next to each other."""
    page = Image.new("RGB", (size * len(VIEWS), size))
    for i, (turn, lift) in enumerate(VIEWS):
        page.paste(rig_picture(rig, size, turn, lift), (i * size, 0))
    return page


def rig_picture(rig: Rig, size: int, turn: float, lift: float) -> Image.Image:
    """One view. Bones are black, the ends of leaf bones red."""
    hues = [colorsys.hsv_to_rgb((joint * 0.618) % 1, 0.55, 0.95) for joint in range(rig.skeleton.joint_count)]
    mesh = replace(rig.mesh, colors=rig.weights @ np.array(hues), uv=None, materials=(), face_material=np.zeros(0, int))
    image = Image.fromarray(picture(mesh, size, turn, lift))
    view = _view(turn, lift)[:2]
    seen = mesh.vertices @ view.T
    scale = 0.9 * size / max(np.ptp(seen, axis=0).max(), 1e-12)
    place = lambda points: ((points @ view.T - (seen.max(0) + seen.min(0)) / 2) * scale * (1, -1) + size / 2)  # noqa: E731
    joints, tails = place(rig.skeleton.positions), place(rig.skeleton.tails)
    ink = ImageDraw.Draw(image)
    for joint, parent in enumerate(rig.skeleton.parents.tolist()):
        if parent >= 0:
            ink.line([*joints[parent], *joints[joint]], fill=(0, 0, 0), width=2)
        if joint not in rig.skeleton.parents:
            ink.line([*joints[joint], *tails[joint]], fill=(200, 0, 0), width=2)
    for x, y in joints:
        ink.ellipse([x - 2, y - 2, x + 2, y + 2], fill=(255, 255, 255), outline=(0, 0, 0))
    return image


def pose_sheet(rig: Rig, pose: Pose, path: Path, *, columns: int = 4, size: int = 240) -> Path:
    """Write a picture of every pose of a batch."""
    settings = PreviewSettings(width=size, height=size, follow=0.0, supersample=1)
    frames = torch.stack(list(preview_frames(rig, Motion(pose.detach().to(torch.float32), 1 / POSE_INTERVAL), settings)))
    return write_picture(path, contact_sheet(frames, columns=columns))
