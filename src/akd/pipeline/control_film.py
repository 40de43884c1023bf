"""Control films: a motion as depths, masks or coloured bones, which video models such as Wan VACE make their own films follow."""

from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image, ImageDraw
from torch import Tensor

from akd.errors import AkdError
from akd.files.video import Video
from akd.motion import Motion, resample
from akd.prior.hardware import film_size
from akd.reconstruct.skinned import skinned_splats
from akd.render.camera import Camera, View
from akd.render.film import FilmSettings, MovingSplats, camera_for, move_splats, render_splats
from akd.render.looks import marker_colors
from akd.rig import Rig
from akd.skeleton import Skeleton, forward_kinematics

Control = Literal["depth", "mask", "pose"]
FRAMES_PER_CELL, SIDE = 4, 16
"""Films of Wan models have 4k + 1 frames, and sides that are multiples of 16 [px]."""
LINES_PER_HEIGHT = 96
"""Bones are drawn as lines of this share of the picture's height, about as wide as in pictures of OpenPose."""


def control_settings(film: str, fps: float) -> FilmSettings:
    """Settings of a control film; its size is that of the film that is to be made."""
    frames, height, width = film_size(film)
    if (frames - 1) % FRAMES_PER_CELL or height % SIDE or width % SIDE:
        raise AkdError(f"A control film has 4k + 1 frames and sides that are multiples of {SIDE}, not {film}: try 81x480x832.")
    if not 1 <= fps <= 120:
        raise AkdError(f"A film has 1 to 120 frames per second, not {fps:g}.")
    return FilmSettings(width=width, height=height, frames=frames, fps=fps, look="natural")


@torch.no_grad()
def control_film(rig: Rig, motion: Motion, control: Control, settings: FilmSettings, view: View | None = None) -> Video:
    """A motion's beginning as a control film; a shorter motion gives a film of as many frames as fit."""
    motion = _fitting(resample(motion, settings.fps), settings.frames)
    skinned, view = skinned_splats(rig), view or settings.view
    moving = move_splats(rig.skeleton, motion, skinned)
    camera = camera_for(moving, skinned, motion.fps, settings, view)
    if control == "pose":
        return bone_film(rig.skeleton, motion, camera)
    grey = mask_of(moving, camera) if control == "mask" else depth_of(moving, camera)
    return grey.clamp(0, 1)[..., None].expand(-1, -1, -1, 3)


def _fitting(motion: Motion, frames: int) -> Motion:
    count = min(motion.frame_count, frames)
    count -= (count - 1) % FRAMES_PER_CELL
    if count < 1 + FRAMES_PER_CELL:
        raise AkdError(f"A control film needs at least {1 + FRAMES_PER_CELL} frames, and this clip has {motion.frame_count}.")
    return replace(motion, pose=motion.pose[:count])


def mask_of(moving: MovingSplats, camera: Camera) -> Float[Tensor, "frame height width"]:
    """1 where the character is."""
    return render_splats(moving, torch.ones_like(moving.means[0]), camera, torch.zeros(3))[..., 0]


def depth_of(moving: MovingSplats, camera: Camera) -> Float[Tensor, "frame height width"]:
    """0 far or empty, 1 near."""
    away = (moving.means - camera.centers[:, None]).norm(dim=-1)
    near = 1 - (away - away.min()) / (away.max() - away.min()).clamp(min=1e-6)
    return render_splats(moving, near[..., None].expand(-1, -1, 3), camera, torch.zeros(3))[..., 0]


def bone_film(skeleton: Skeleton, motion: Motion, camera: Camera) -> Video:
    """Bones as lines in the colours of the marker look, on black; those that are farther away are drawn first."""
    joints = forward_kinematics(skeleton, motion.pose).position
    homogeneous = torch.cat((joints, torch.ones_like(joints[..., :1])), -1)
    seen = torch.einsum("fij,fkj->fki", camera.world_to_camera.to(joints), homogeneous)[..., :3]
    pixels = torch.einsum("fij,fkj->fki", camera.intrinsics.to(joints), seen)
    places = (pixels[..., :2] / pixels[..., 2:].clamp(min=1e-6)).cpu().numpy()
    colors = (marker_colors(skeleton, torch.eye(skeleton.joint_count)) * 255).round().int().tolist()
    frames = [
        _bones_drawn(skeleton, each, depth, colors, (camera.width, camera.height))
        for each, depth in zip(places, seen[..., 2].cpu().numpy(), strict=True)
    ]
    return torch.from_numpy(np.stack(frames)).float() / 255


def _bones_drawn(
    skeleton: Skeleton, places: np.ndarray, depth: np.ndarray, colors: list[list[int]], size: tuple[int, int]
) -> np.ndarray:
    image = Image.new("RGB", size)
    draw, wide = ImageDraw.Draw(image), max(size[1] // LINES_PER_HEIGHT, 1)
    for joint in np.argsort(-depth):
        parent = int(skeleton.parents[joint])
        x, y = map(float, places[joint])
        if parent >= 0:
            draw.line((*map(float, places[parent]), x, y), fill=tuple(colors[joint]), width=wide)
        draw.ellipse((x - wide, y - wide, x + wide, y + wide), fill=tuple(colors[joint]))
    return np.asarray(image)
