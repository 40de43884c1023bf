"""Poses to look at: a contact sheet of single poses, each seen as a photographer would."""

from pathlib import Path

import torch

from akd.files.video import contact_sheet, write_picture
from akd.motion import Motion
from akd.pose import Pose
from akd.render.preview import PreviewSettings, preview_frames
from akd.rig import Rig

STILL = 1.0
"""Poses on a sheet are a second apart, so that the camera does not smooth its path over them [s]."""


def pose_sheet(rig: Rig, pose: Pose, path: Path, *, columns: int = 4, size: int = 240) -> Path:
    """Write a picture of every pose of a batch."""
    settings = PreviewSettings(width=size, height=size, follow=0.0, supersample=1)
    frames = torch.stack(list(preview_frames(rig, Motion(pose.detach().to(torch.float32), 1 / STILL), settings)))
    return write_picture(path, contact_sheet(frames, columns=columns))
