"""Motions as .npz: root, angles, frames per second, and the names of the joints they belong to."""

import io
import math
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.files.reading import check_coordinates, file_bytes
from akd.files.writing import write_file
from akd.motion import Motion
from akd.skeleton import Pose, Skeleton

FIELDS = ("root_position", "root_rotation", "angles", "fps")
LARGEST = 2**30  # bytes of all arrays together: a day at 30 fps is a third of that
DENSEST = 1100  # a deflated byte stands for at most 1032 others
RATES = (1e-3, 1e6)  # frames per second that a motion can have


def write_motion(path: Path, skeleton: Skeleton, motion: Motion) -> None:
    """Write a motion of this skeleton."""
    pose, content = motion.pose.detach(), io.BytesIO()
    np.savez_compressed(
        content, joints=np.array(skeleton.names), fps=motion.fps,
        root_position=pose.root_position.numpy(), root_rotation=pose.root_rotation.numpy(), angles=pose.angles.numpy(),
    )  # fmt: skip
    write_file(path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz"), content.getvalue())


def read_motion(path: Path, skeleton: Skeleton) -> Motion:
    """A motion for this skeleton; where the file names its joints, they are matched by name."""
    arrays = read_arrays(path, (*FIELDS, "joints"), "a motion")
    absent = [name for name in FIELDS if name not in arrays]
    if absent:
        raise AkdError(f"{path} has no {absent[0]!r}, so it is not a motion: it needs {', '.join(FIELDS)}.")
    angles = arrays["angles"]
    names = [str(name) for name in arrays.get("joints", np.array(skeleton.names)).reshape(-1)]
    if angles.ndim != 3 or angles.shape[1:] != (len(names), 3) or sorted(names) != sorted(skeleton.names):
        raise AkdError(
            f"{path} moves {len(names)} joints by angles of shape {angles.shape}, but the character's"
            f" {skeleton.joint_count} joints are others; take the character that the motion was made for."
        )
    place = {name: index for index, name in enumerate(names)}
    order = [place[name] for name in skeleton.names]
    pose = Pose(
        _numbers(path, "root_position", arrays["root_position"], (len(angles), 3)),
        _numbers(path, "root_rotation", arrays["root_rotation"], (len(angles), 4)),
        _numbers(path, "angles", angles[:, order], angles.shape),
    )
    if bool((pose.root_rotation.norm(dim=-1) < 1e-6).any()):
        raise AkdError(f"{path} has a root rotation that is no rotation: all four of its numbers are zero.")
    return Motion(pose, _rate(path, arrays["fps"]))


def _numbers(path: Path, name: str, values: np.ndarray, shape: tuple[int, ...]) -> Float[Tensor, "..."]:
    if values.shape != shape or values.dtype.kind not in "fiu":
        raise AkdError(f"{path}: {name!r} should be numbers of shape {shape}, and is {values.dtype} of shape {values.shape}.")
    check_coordinates(values, f"{path} ({name})")
    return torch.as_tensor(values.astype(np.float32))


def _rate(path: Path, value: np.ndarray) -> float:
    if value.size != 1 or value.dtype.kind not in "fiu" or not RATES[0] <= float(value.reshape(())) <= RATES[1]:
        raise AkdError(f"{path}: 'fps' should be one number of frames per second, and is {np.array2string(value, threshold=4)}.")
    return float(value.reshape(()))


def read_arrays(path: Path, names: Sequence[str], what: str) -> dict[str, np.ndarray]:
    """The arrays of an .npz file that have these names; whatever else is in it is not looked at. ``what`` it should hold."""
    content = file_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            wanted = {f"{name}.npy": name for name in names}
            members = {wanted[member.filename]: member for member in package.infolist() if member.filename in wanted}
            if sum(member.file_size for member in members.values()) > LARGEST:
                raise AkdError(f"{path} claims to hold more than {LARGEST // 2**20} MB, which {what} does not need.")
            return {name: _array(package, member) for name, member in members.items()}
    except (OSError, ValueError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise AkdError(f"{path} is not an .npz file with {what} ({reason}); write it again.") from error


def _array(package: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """One array, once its own header and the package agree on how long it is: both may claim what is not there."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{member.filename} is compressed in an unusual way")
    if member.file_size > DENSEST * (member.compress_size + 1):
        raise ValueError(f"{member.filename} claims {member.file_size} bytes in {member.compress_size}")
    with package.open(member) as stream:
        shape, by_columns, dtype = _header(stream, member.filename)
        if dtype.hasobject or dtype.kind not in "fiuUS":
            raise ValueError(f"{member.filename} holds {dtype} and not numbers")
        size = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or size > member.file_size:
            raise ValueError(f"{member.filename} claims an array of shape {shape}, longer than itself")
        data = stream.read(size)
        if len(data) < size:
            raise ValueError(f"{member.filename} is cut off")
        if stream.read(1):
            raise ValueError(f"{member.filename} is longer than its array")
    values = np.frombuffer(data, dtype) if size else np.zeros(0, dtype)
    return values.reshape(shape, order="F" if by_columns else "C")


def _header(stream: Any, name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether columns come first, and type."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"{name} has version {version}")
    try:
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return read(stream)
    except Exception as error:  # the header is Python, and numpy lets through what Python's parser raises
        raise ValueError(f"{name} has a damaged header") from error
