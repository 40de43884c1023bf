"""What every reader needs: a file's content or the reason why not, unique names, parents before children, clips as tracks."""

import errno
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from akd.errors import AkdError
from akd.mesh import Mesh
from akd.rotations import matrix_to_quaternion, quaternion_to_matrix, slerp

Y_FROM_Z_UP = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
"""Turns a world whose Z axis points up so that Y does."""
MAX_COORDINATE = 1e12  # beyond this a position is a defect of the file, and products of matrices lose all digits
MAX_WEIGHTS = 2**28  # vertices × bones; a table of weights takes eight bytes for each
MAX_QUOTED = 60  # characters
WHY_UNREADABLE = {
    errno.ENOENT: "there is no such file; check the name",
    errno.ENOTDIR: "there is no such file; check the name",
    errno.EISDIR: "it is a folder; name a file in it",
    errno.EACCES: "permission is denied; change the file's permissions, or copy it to a place of your own",
    errno.EPERM: "permission is denied; change the file's permissions, or copy it to a place of your own",
    errno.ENAMETOOLONG: "the name is too long; check it",
    errno.ELOOP: "it is a link that leads to itself; check the name",
}


def file_bytes(path: Path) -> bytes:
    """All of a file."""
    check_regular(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None


def check_regular(path: Path) -> None:
    """Refuse what is no file with a content of its own: opening a pipe waits for ever, a device never ends."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise _unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        raise _unreadable(path, IsADirectoryError(errno.EISDIR, ""))
    if not stat.S_ISREG(mode):
        raise AkdError(f"{path} cannot be read: it is a pipe or a device; save its content in a file first.")


def check_readable(path: Path) -> None:
    """The same, and that it may be opened; for files that another process will read."""
    check_regular(path)
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError | ValueError) -> AkdError:
    code = error.errno if isinstance(error, OSError) else None
    reason = WHY_UNREADABLE.get(code or 0) or f"{getattr(error, 'strerror', None) or error}; check the name"
    return AkdError(f"{path} cannot be read: {reason}.")


def check_coordinates(values: Num[np.ndarray, "..."], name: str) -> None:
    """Refuse numbers that no place in space has."""
    if not np.all(np.isfinite(values)):
        raise AkdError(f"{name} contains numbers that are not finite; export it again.")
    if np.any(np.abs(values) > MAX_COORDINATE):
        raise AkdError(f"{name} contains the coordinate {np.abs(values).max():g}, beyond {MAX_COORDINATE:g} units; rescale it.")


def check_weight_count(vertex_count: int, bone_count: int, name: str) -> None:
    """Refuse tables of weights that two long lists in a small file could ask for."""
    if vertex_count * bone_count > MAX_WEIGHTS:
        raise AkdError(f"{name} has {vertex_count} vertices and {bone_count} bones, too many to keep weights for; simplify it.")


def file_text(path: Path) -> str:
    """A text file's text. Old exporters write names in their own code page, so any byte that is not UTF-8 is let through."""
    content = file_bytes(path)
    if b"\0" in content[:4096]:
        raise AkdError(f"{path.name} is a binary file, but text was expected; check that the file is what its name says.")
    return content.decode("utf-8-sig", errors="replace")


def quoted(text: str) -> str:
    """A file's own words for a sentence about it, which a damaged file may have thousands of."""
    return repr(text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…")


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """The same names in the same order; repeated ones get a number."""
    taken, seen, out = set(names), set[str](), list[str]()
    latest: dict[str, int] = {}  # so that a thousand equal names do not each count from two
    for name in names:
        unique = name
        if name in seen:
            number = latest.get(name, 2)
            while unique in taken:
                unique, number = f"{name}_{number}", number + 1
            latest[name] = number
            taken.add(unique)
        seen |= {name, unique}
        out.append(unique)
    return tuple(out)


def parents_first(parents: Int[np.ndarray, " bone"]) -> Int[np.ndarray, " bone"]:
    """An order of the bones, as near to the given one as can be, in which every parent comes before its children."""
    children: dict[int, list[int]] = {}
    for bone, parent in enumerate(parents.tolist()):
        children.setdefault(parent, []).append(bone)
    order, waiting = list[int](), children.get(-1, [])[::-1]
    while waiting:
        bone = waiting.pop()
        order.append(bone)
        waiting += children.get(bone, [])[::-1]
    if len(order) != len(parents):
        lost = min(set(range(len(parents))) - set(order))
        raise AkdError(f"The skeleton has a loop: bone {lost} is its own ancestor; every bone needs a way to a root.")
    return np.array(order, int)


def reordered_parents(parents: Int[np.ndarray, " bone"], order: Int[np.ndarray, " bone"]) -> Int[np.ndarray, " bone"]:
    """Parent indices after the bones have been put into a new order."""
    place = np.full(len(parents) + 1, -1)
    place[order] = np.arange(len(order))
    return place[parents[order]]


def no_mesh() -> Mesh:
    """The mesh of a file that has none."""
    return Mesh(np.zeros((0, 3)), np.zeros((0, 3), int), np.zeros((0, 3)))


@dataclass(frozen=True, eq=False)
class Tracks:
    """Evenly spaced frames. Rotations turn at constant speed in between, the rest moves on straight lines."""

    parents: Int[np.ndarray, " bone"]
    rotations: Float[Tensor, "frame bone 4"]
    translations: Float[Tensor, "frame bone 3"]
    stretches: Float[Tensor, "frame bone 3 3"] | None
    """What is left of each matrix when the rotation is taken off: scale and shear; None where there is none."""
    frame_time: float
    """Seconds from frame to frame."""

    @classmethod
    def from_world(
        cls, parents: Int[np.ndarray, " bone"], world: Float[np.ndarray, "frame bone 4 4"], frame_time: float
    ) -> "Tracks":
        """From the world matrices of every frame."""
        local = world.copy()
        child = np.flatnonzero(parents >= 0)
        local[:, child] = np.linalg.pinv(world[:, parents[child]]) @ world[:, child]
        matrices = torch.as_tensor(local)
        # The nearest rotation U Vᵀ; where the matrix mirrors, the mirroring goes into the stretch.
        left, _, right = torch.linalg.svd(matrices[..., :3, :3])
        left[..., 2] *= torch.linalg.det(left @ right)[..., None].sign()
        turn = left @ right
        return cls(parents, matrix_to_quaternion(turn), matrices[..., :3, 3], turn.mT @ matrices[..., :3, :3], frame_time)

    @property
    def frame_count(self) -> int:
        return len(self.rotations)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (self.frame_count - 1) * self.frame_time

    def sample(self, times: np.ndarray) -> Float[np.ndarray, "time bone 4 4"]:
        """World matrices at any times [s]; before the first frame and after the last the pose holds."""
        last = self.frame_count - 1
        place = torch.as_tensor(np.clip(np.asarray(times, float).reshape(-1) / self.frame_time, 0, last))
        before = place.floor().long().clamp(max=max(last - 1, 0))
        after, u = (before + 1).clamp(max=last), (place - before)[:, None, None]
        linear = quaternion_to_matrix(slerp(self.rotations[before], self.rotations[after], u))
        if self.stretches is not None:
            linear = linear @ torch.lerp(self.stretches[before], self.stretches[after], u[..., None])
        world = np.zeros((len(place), len(self.parents), 4, 4))
        world[..., 3, 3] = 1
        world[..., :3, :3] = linear.numpy()
        world[..., :3, 3] = torch.lerp(self.translations[before], self.translations[after], u).numpy()
        for bone, parent in enumerate(self.parents):
            if parent >= 0:
                world[:, bone] = world[:, parent] @ world[:, bone]
        return world
