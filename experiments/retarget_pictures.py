"""Contact sheets of retargeted clips: the source above, every target below, the same instants in every column."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from akd.mesh import Mesh
from akd.motion import Motion
from akd.render.camera import View
from akd.render.preview import PreviewSettings, preview_frames
from akd.rig import Rig

COLUMNS, SIZE = 8, 200
THICKNESS = 0.035
"""Half width of the bones that a skeleton without a mesh is drawn with [ℓ]."""


def drawable(rig: Rig) -> Rig:
    """A rig with a mesh: that of its own, or an octahedron around every bone."""
    if rig.mesh.vertex_count:
        return rig
    skeleton, vertices, faces, owner = rig.skeleton, [], [], []
    for joint in range(skeleton.joint_count):
        ends = skeleton.children(joint) or [None]
        for child in ends:
            start = skeleton.positions[joint]
            end = skeleton.tails[joint] if child is None else skeleton.positions[child]
            along = end - start
            if np.linalg.norm(along) < 1e-6:
                continue
            side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
            side *= min(THICKNESS, 0.3 * np.linalg.norm(along)) / np.linalg.norm(side)
            up = np.cross(along, side) / np.linalg.norm(along)
            ring = start + 0.3 * along + np.array([side, up, -side, -up])
            first = len(owner)
            vertices += [start, *ring, end]
            owner += [joint] * 6
            for k in range(4):
                a, b = first + 1 + k, first + 1 + (k + 1) % 4
                faces += [(first, b, a), (first + 5, a, b)]
    weights = np.eye(skeleton.joint_count)[owner].astype(np.float32)
    mesh = Mesh(np.array(vertices), np.array(faces), np.full((len(vertices), 3), 0.55))
    soles = tuple(np.zeros(0, int) for _ in rig.legs)
    return replace(rig, mesh=mesh, weights=weights, soles=soles)


def strip(rig: Rig, motion: Motion, *, turn: float = 55.0, columns: int = COLUMNS) -> Image.Image:
    """A row of pictures at evenly spaced instants."""
    index = torch.linspace(0, motion.frame_count - 1, columns).round().long()
    pose = motion.pose[index].to(torch.float32)
    settings = PreviewSettings(width=SIZE, height=SIZE, view=View(turn, 10.0, 1.05), supersample=1, follow=1e-3)
    frames = list(preview_frames(drawable(rig), Motion(pose, 1.0), settings))
    row = Image.new("RGB", (SIZE * columns, SIZE), "white")
    for column, frame in enumerate(frames):
        row.paste(Image.fromarray((255 * np.asarray(frame)).round().astype(np.uint8)), (SIZE * column, 0))
    return row


def contact_sheet(rows: list[tuple[Rig, Motion]], path: Path, *, turn: float = 55.0, columns: int = COLUMNS) -> Path:
    """One row for each motion, written as a picture."""
    strips = [strip(rig, motion, turn=turn, columns=columns) for rig, motion in rows]
    out = Image.new("RGB", (SIZE * columns, SIZE * len(strips)), "white")
    for k, image in enumerate(strips):
        out.paste(image, (0, SIZE * k))
    path.parent.mkdir(parents=True, exist_ok=True)
    out.save(path)
    return path
