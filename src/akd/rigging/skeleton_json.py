"""Skeletons written by hand or by other programs.

    {"joints": [{"name": "hips", "parent": null, "position": [0, 0.9, 0]},
                {"name": "spine", "parent": "hips", "position": [0, 1.1, 0]}]}

Positions are in the mesh's own axes and units; a parent is a name, and joints may come in any order.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from akd.errors import AkdError
from akd.files.reading import file_text, no_mesh, parents_first, reordered_parents
from akd.rig import FileRig


def read_skeleton_json(path: Path) -> FileRig:
    """Bones without a mesh."""
    try:
        data = json.loads(file_text(path))
    except json.JSONDecodeError as error:
        raise AkdError(f"{path.name} is not JSON: {error.msg} in line {error.lineno}.") from error
    joints = data.get("joints") if isinstance(data, dict) else None
    if not isinstance(joints, list) or not joints:
        raise AkdError(f'{path.name} has no joints: it needs {{"joints": [{{"name", "parent", "position"}}, …]}}.')
    names = [_name(joint, path) for joint in joints]
    if len(set(names)) < len(names):
        raise AkdError(f"{path.name} names a joint twice: {next(n for n in names if names.count(n) > 1)!r}.")
    parents = np.array([_parent(joint, names, path) for joint in joints])
    order = parents_first(parents)
    rest = np.tile(np.eye(4), (len(names), 1, 1))
    rest[:, :3, 3] = [_position(joint, path) for joint in joints]
    mesh = no_mesh()
    weights = np.zeros((mesh.vertex_count, len(names)))
    return FileRig(tuple(names[i] for i in order), reordered_parents(parents, order), rest[order], mesh, weights, path=path)


def _name(joint: Any, path: Path) -> str:
    if not isinstance(joint, dict) or not isinstance(joint.get("name"), str):
        raise AkdError(f"{path.name} has a joint without a name: {json.dumps(joint)[:60]}.")
    return str(joint["name"])


def _parent(joint: dict[str, Any], names: list[str], path: Path) -> int:
    above = joint.get("parent")
    if above is None:
        return -1
    if above not in names or above == joint["name"]:
        raise AkdError(f"{path.name}: the parent of {joint['name']!r} is {above!r}, which is no other joint.")
    return names.index(above)


def _position(joint: dict[str, Any], path: Path) -> list[float]:
    place = joint.get("position")
    if not isinstance(place, list) or len(place) != 3 or not all(isinstance(x, int | float) and np.isfinite(x) for x in place):
        raise AkdError(f"{path.name}: the position of {joint['name']!r} must be three numbers, and is {place!r}.")
    return [float(x) for x in place]
