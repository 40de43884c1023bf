"""What every reader needs: a file's content or the reason why not, names that differ, parents before children."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int

from akd.errors import AkdError
from akd.mesh import Mesh

Y_FROM_Z_UP = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
"""Turns a world whose Z axis points up so that Y does."""


def file_bytes(path: Path) -> bytes:
    """All of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise AkdError(f"{path} cannot be read ({error.strerror}); check the name.") from None


def file_text(path: Path) -> str:
    """A text file's text. Old exporters write names in their own code page, so any byte that is not UTF-8 is let through."""
    content = file_bytes(path)
    if b"\0" in content[:4096]:
        raise AkdError(f"{path.name} is a binary file, but text was expected; check that the file is what its name says.")
    return content.decode("utf-8-sig", errors="replace")


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """The same names in the same order; repeated ones get a number."""
    taken, out = set(names), list[str]()
    for name in names:
        unique, number = name, 2
        if name in out:
            while unique in taken:
                unique, number = f"{name}_{number}", number + 1
            taken.add(unique)
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
