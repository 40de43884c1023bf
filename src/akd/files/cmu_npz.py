"""Compact motion capture: clips of one action in an ``.npz``, their skeletons in a ``skeleton.json`` beside it.

``root`` is frame × 3 [m], ``quat`` frame × joint × 4 as int16 / 32767 (w x y z, relative to the parent), ``start`` and ``length``
say which frames are which clip, ``skeleton`` which row of ``offsets`` in ``skeleton.json`` it was captured on. Y is up, the floor
is y = 0, +Z is forward in the first frame.
"""

import json
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial.transform import Rotation

from akd.errors import AkdError
from akd.files.reading import Tracks, no_mesh
from akd.rig import Clip, FileRig

FIELDS = ("root", "quat", "start", "length", "skeleton")
FPS = 30.0
"""Of all clips [1/s]."""
UNIT = 32767
"""A quaternion component of 1 as int16."""


def is_compact_capture(path: Path) -> bool:
    """Does an ``.npz`` hold captured clips in this layout?"""
    try:
        with np.load(path) as stored:
            return all(name in stored.files for name in FIELDS)
    except (OSError, ValueError):
        return False


def read_cmu_npz(path: Path, clip: int) -> FileRig:
    """The skeleton of one clip (counted from 0) in its T-pose, and the clip, named "<file>_<number>"."""
    arrays = _arrays(path)
    count = len(arrays["start"])
    if not 0 <= clip < count:
        raise AkdError(f"{path.name} has no clip {clip}: its {count} clips are 0 to {count - 1}.")
    description = _description(path)
    first, frames, skeleton = (int(arrays[name][clip]) for name in ("start", "length", "skeleton"))
    now = slice(first, first + frames)
    names, parents, offsets = _bones(description, skeleton)
    captured = len(description["joints"])
    rotations = torch.zeros((frames, len(names), 4), dtype=torch.float64)
    rotations[..., 0] = 1.0
    quaternions = torch.as_tensor(arrays["quat"][now].astype(float) / UNIT)
    rotations[:, :captured] = quaternions / quaternions.norm(dim=-1, keepdim=True)
    translations = torch.as_tensor(np.broadcast_to(offsets, (frames, *offsets.shape)).copy())
    translations[:, 0] = torch.as_tensor(arrays["root"][now].astype(float))
    tracks = Tracks(parents, rotations, translations, None, 1 / FPS)
    name = f"{path.stem}_{clip}"
    return FileRig(
        names=names, parents=parents, rest=_t_pose(names, parents, offsets, description["t_pose_euler_zyx_degrees"]),
        mesh=no_mesh(), weights=np.zeros((0, len(names))), clips=(Clip(name, tracks.duration),),
        sample=lambda _, times: tracks.sample(times), metres=1.0, forward=np.array([0.0, 0.0, 1.0]), path=path.with_name(name),
    )  # fmt: skip


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError) as error:
        raise AkdError(f"{path} is not an .npz file.") from error
    absent = [name for name in FIELDS if name not in arrays]
    if absent:
        raise AkdError(f"{path} has no {absent[0]!r}, so it holds no captured clips: it needs {', '.join(FIELDS)}.")
    return arrays


def _description(path: Path) -> dict:
    beside = path.with_name("skeleton.json")
    if not beside.is_file():
        raise AkdError(f"{path.name} needs the skeletons of its clips: put skeleton.json beside it.")
    return json.loads(beside.read_text(encoding="utf-8"))


def _bones(description: dict, row: int) -> tuple[tuple[str, ...], Int[np.ndarray, " bone"], Float[np.ndarray, "bone 3"]]:
    """Names, parents and offsets of the joints, and a bone "…_end" for every end site."""
    names, parents = list(description["joints"]), list(description["parents"])
    offsets = [np.array(offset, float) for offset in description["offsets"][row]]
    for joint, offset in description["end_offsets"][row].items():
        parents.append(names.index(joint))
        names.append(f"{joint}_end")
        offsets.append(np.array(offset, float))
    return tuple(names), np.array(parents), np.stack(offsets)


def _t_pose(
    names: tuple[str, ...],
    parents: Int[np.ndarray, " bone"],
    offsets: Float[np.ndarray, "bone 3"],
    angles: dict[str, list[float]],
) -> Float[np.ndarray, "bone 4 4"]:
    """World matrices in the T-pose, standing on y = 0: the zero pose of the captures has its legs apart."""
    rest = np.tile(np.eye(4), (len(names), 1, 1))
    for bone, parent in enumerate(parents):
        rest[bone, :3, 3] = offsets[bone]
        rest[bone, :3, :3] = Rotation.from_euler("ZYX", angles.get(names[bone], (0.0, 0.0, 0.0)), degrees=True).as_matrix()
        if parent >= 0:
            rest[bone] = rest[parent] @ rest[bone]
    rest[:, 1, 3] -= rest[:, 1, 3].min()
    return rest
