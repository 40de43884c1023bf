"""RigNet's text format: ``joints name x y z``, ``root name``, ``hier parent child``, ``skin vertex joint weight …``.

Vertices are counted as the ``v`` lines of an OBJ file that lies beside it under the same name.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from akd.errors import AkdError
from akd.files.meshes import read_obj, write_obj
from akd.files.reading import (
    MAX_COORDINATE,
    check_weight_count,
    file_text,
    no_mesh,
    parents_first,
    quoted,
    reordered_parents,
    unique_names,
)
from akd.files.writing import write_file
from akd.rig import FileRig, Rig


@dataclass
class _Lines:
    """What the lines of the file have said so far."""

    positions: dict[str, list[float]] = field(default_factory=dict)
    root: str = ""
    parent_of: dict[str, str] = field(default_factory=dict)
    skin: dict[int, dict[str, float]] = field(default_factory=dict)


def read_rignet(path: str | Path, mesh_path: str | Path | None = None) -> FileRig:
    """Joints, tree and weights; the mesh is ``mesh_path``, or the OBJ file of the same name, or none."""
    path = Path(path)
    lines = _parse(path)
    names, parents, positions = _tree(lines, path.name)
    rest = np.tile(np.eye(4), (len(names), 1, 1))
    rest[:, :3, 3] = positions
    beside = path.with_suffix(".obj")
    if mesh_path is None and not beside.is_file():
        note = (f"There is no mesh {beside.name} beside {path.name}, so its weights mean nothing and were left out.",)
        return FileRig(names, parents, rest, no_mesh(), np.zeros((0, len(names))), path=path, notes=note if lines.skin else ())
    obj = read_obj(Path(mesh_path) if mesh_path else beside)
    weights, notes = _weights(lines.skin, names, int(obj.line_of_vertex.max()) + 1, path.name)
    return FileRig(names, parents, rest, obj.mesh, weights[obj.line_of_vertex], path=path, notes=(*obj.notes, *notes))


def write_rignet(path: str | Path, rig: Rig) -> None:
    """A rig in stage coordinates, and its mesh beside it as OBJ."""
    path = Path(path)
    skeleton = rig.skeleton
    names = unique_names(["_".join(name.split()) or "joint" for name in skeleton.names])
    lines = [f"joints {name} {x:.9g} {y:.9g} {z:.9g}" for name, (x, y, z) in zip(names, skeleton.positions.tolist(), strict=True)]
    lines.append(f"root {names[0]}")
    for vertex, row in enumerate(rig.weights):
        lines.append(f"skin {vertex} " + " ".join(f"{names[joint]} {row[joint]:.6g}" for joint in np.flatnonzero(row)))
    lines += [f"hier {names[parent]} {names[joint]}" for joint, parent in enumerate(skeleton.parents.tolist()) if parent >= 0]
    write_file(path, "\n".join(lines) + "\n")
    write_obj(path.with_suffix(".obj"), rig.mesh)


def _parse(path: Path) -> _Lines:
    lines = _Lines()
    for number, line in enumerate(file_text(path).splitlines(), 1):
        words = line.split()
        if not words:
            continue
        try:
            _statement(lines, words)
        except (ValueError, OverflowError) as error:
            raise AkdError(f"{path.name}, line {number}: {line.strip()[:60]!r} is not understood ({str(error)[:100]}).") from None
    if not lines.positions:
        raise AkdError(f"{path.name} has no joints; is it a RigNet file?")
    return lines


def _statement(lines: _Lines, words: list[str]) -> None:
    match words:
        case ["joints", name, x, y, z]:
            if name in lines.positions:
                raise ValueError(f"joint {name!r} occurs twice")
            lines.positions[name] = [_number(x), _number(y), _number(z)]
        case ["root", name]:
            lines.root = name
        case ["hier", parent, child]:
            if lines.parent_of.setdefault(child, parent) != parent:
                raise ValueError(f"{child!r} has two parents")
        case ["skin", vertex, *pairs] if len(pairs) % 2 == 0:
            row = lines.skin.setdefault(int(vertex), {})
            for joint, weight in zip(pairs[::2], pairs[1::2], strict=True):
                row[joint] = row.get(joint, 0.0) + _number(weight)
        case _:
            raise ValueError("lines are 'joints name x y z', 'root name', 'hier parent child', 'skin vertex joint weight …'")


def _number(word: str) -> float:
    value = float(word)
    if not np.isfinite(value):
        raise ValueError("not a finite number")
    if abs(value) > MAX_COORDINATE:
        raise ValueError(f"beyond {MAX_COORDINATE:g} units; rescale it")
    return value


def _tree(lines: _Lines, name: str) -> tuple[tuple[str, ...], Int[np.ndarray, " bone"], Float[np.ndarray, "bone 3"]]:
    """Names, parents and positions, parents first."""
    place = {joint: index for index, joint in enumerate(lines.positions)}
    for joint in (lines.root or next(iter(place)), *lines.parent_of, *lines.parent_of.values()):
        if joint not in place:
            raise AkdError(f"{name} speaks of a joint {quoted(joint)} that no 'joints' line defines.")
    if lines.root in lines.parent_of:
        raise AkdError(f"{name}: the root {quoted(lines.root)} has a parent, {quoted(lines.parent_of[lines.root])}.")
    parents = np.array([place[lines.parent_of[joint]] if joint in lines.parent_of else -1 for joint in place])
    order = parents_first(parents)
    names, positions = tuple(lines.positions), np.array(list(lines.positions.values()))
    return tuple(names[bone] for bone in order), reordered_parents(parents, order), positions[order]


def _weights(
    skin: dict[int, dict[str, float]], names: tuple[str, ...], vertex_count: int, name: str
) -> tuple[Float[np.ndarray, "vertex bone"], list[str]]:
    """Rows that sum to one; vertices the file does not mention stay zero and are noted."""
    check_weight_count(vertex_count, len(names), name)
    place = {joint: index for index, joint in enumerate(names)}
    weights = np.zeros((vertex_count, len(names)))
    for vertex, row in skin.items():
        if not 0 <= vertex < vertex_count:
            raise AkdError(f"{name} has weights for vertex {vertex}, but the mesh has {vertex_count}: it is another mesh's.")
        for joint, weight in row.items():
            if joint not in place or weight < 0:
                raise AkdError(f"{name}: vertex {vertex} has the weight {weight:g} for joint {quoted(joint)}, which cannot be.")
            weights[vertex, place[joint]] = weight
    total = weights.sum(1, keepdims=True)
    bare = int((total == 0).sum())
    return weights / np.where(total > 0, total, 1), [f"{bare} of {vertex_count} vertices have no weights."] * bool(bare)
