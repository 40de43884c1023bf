"""Noise of poses on disk: an .npz with ``noise`` (pose × joint × 3) and the names of the ``joints``."""

import io
from pathlib import Path

import numpy as np
import torch

from akd.errors import AkdError
from akd.files.motion_npz import read_arrays
from akd.files.writing import write_file
from akd.posespace.denoiser import Poses
from akd.skeleton import Skeleton

MAX_NOISE = 100.0
"""Larger numbers are no Gaussian noise."""


def write_noise(path: Path, skeleton: Skeleton, noise: Poses) -> None:
    """Write the noise of poses of this skeleton."""
    content = io.BytesIO()
    np.savez_compressed(content, noise=noise.numpy(), joints=np.array(skeleton.names))
    write_file(path, content.getvalue())


def check_noise_name(path: Path) -> None:
    """Refuse names that do not say the format."""
    if path.suffix != ".npz":
        raise AkdError(f"Noise is written as .npz, not {path.suffix or 'without an ending'!r}.")


def read_noise(path: Path, skeleton: Skeleton) -> Poses:
    """Noise for a skeleton with as many joints; of which skeleton it was does not matter."""
    arrays = read_arrays(path, ("noise",), "the noise of poses")
    if "noise" not in arrays:
        raise AkdError(f"{path} has no 'noise': write it with `akd pose invert`.")
    noise = arrays["noise"]
    if noise.dtype.kind != "f" or noise.ndim != 3 or noise.shape[2] != 3 or not len(noise):
        raise AkdError(f"{path}: 'noise' should be numbers of shape (poses, joints, 3), and is {noise.dtype} of {noise.shape}.")
    if noise.shape[1] != skeleton.joint_count:
        raise AkdError(f"{path} is noise for {noise.shape[1]} joints, but the character has {skeleton.joint_count}.")
    if not (np.abs(noise) <= MAX_NOISE).all():
        raise AkdError(f"{path}: 'noise' has numbers that are no Gaussian noise: write it again with `akd pose invert`.")
    return torch.from_numpy(noise.astype(np.float32))
