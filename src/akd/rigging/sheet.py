"""A picture of a rig: the mesh in the colours of its weights, with the bones drawn over it."""

import colorsys
from dataclasses import replace

import numpy as np
from PIL import Image, ImageDraw

from akd.creatures.sheet import picture
from akd.rig import Rig

VIEWS = ((10.0, 8.0), (80.0, 8.0), (45.0, 60.0))
"""Turn towards the face and lift of the camera [degrees]: from the side, from the front, from above."""


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
    a, b = np.deg2rad(turn), np.deg2rad(lift)
    towards = np.array([np.sin(a) * np.cos(b), np.sin(b), np.cos(a) * np.cos(b)])
    right = np.array([np.cos(a), 0, -np.sin(a)])
    view = np.stack((right, np.cross(towards, right)))
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
