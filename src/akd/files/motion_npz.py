"""Motions as .npz: root, angles, frames per second, and the names of the joints they belong to."""

from pathlib import Path

import numpy as np
import torch

from akd.errors import AkdError
from akd.motion import Motion
from akd.skeleton import Pose, Skeleton

FIELDS = ("root_position", "root_rotation", "angles", "fps")


def write_motion(path: Path, skeleton: Skeleton, motion: Motion) -> None:
    """Write a motion of this skeleton."""
    pose = motion.pose.detach()
    np.savez_compressed(
        path, joints=np.array(skeleton.names), fps=motion.fps,
        root_position=pose.root_position.numpy(), root_rotation=pose.root_rotation.numpy(), angles=pose.angles.numpy(),
    )  # fmt: skip


def read_motion(path: Path, skeleton: Skeleton) -> Motion:
    """A motion for this skeleton; where the file names its joints, they are matched by name."""
    if not path.is_file():
        raise AkdError(f"There is no motion at {path}.")
    try:
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError) as error:
        raise AkdError(f"{path} is not an .npz file with a motion.") from error
    absent = [name for name in FIELDS if name not in arrays]
    if absent:
        raise AkdError(f"{path} has no {absent[0]!r}, so it is not a motion: it needs {', '.join(FIELDS)}.")
    angles = arrays["angles"]
    names = [str(name) for name in arrays.get("joints", skeleton.names)]
    if angles.ndim != 3 or angles.shape[1:] != (len(names), 3) or sorted(names) != sorted(skeleton.names):
        raise AkdError(f"{path} moves {angles.shape[1:2]} joints, but the character's {skeleton.joint_count} joints are others.")
    order = [names.index(name) for name in skeleton.names]
    parts = arrays["root_position"], arrays["root_rotation"], angles[:, order]
    return Motion(Pose(*(torch.as_tensor(part, dtype=torch.float32) for part in parts)), float(arrays["fps"]))
