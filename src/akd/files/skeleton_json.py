"""Skeletons written by hand or by other programs, as JSON."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from akd.errors import AkdError
from akd.files.reading import check_coordinates, file_text, no_mesh, parents_first, reordered_parents
from akd.rig import FileRig


def read_skeleton_json(path: Path) -> FileRig:
    """Bones without a mesh."""
    data = _json(path)
    joints = data.get("joints") if isinstance(data, dict) else None
    if not isinstance(joints, list) or not joints:
        raise AkdError(f'{path.name} has no joints: it needs {{"joints": [{{"name", "parent", "position"}}, …]}}.')
    names = [_name(joint, path) for joint in joints]
    place = {name: index for index, name in enumerate(names)}
    if len(place) < len(names):
        raise AkdError(f"{path.name} names a joint twice: {Counter(names).most_common(1)[0][0]!r}.")
    parents = np.array([_parent(joint, place, path) for joint in joints])
    order = parents_first(parents)
    rest = np.tile(np.eye(4), (len(names), 1, 1))
    rest[:, :3, 3] = [_position(joint, path) for joint in joints]
    check_coordinates(rest, path.name)
    mesh = no_mesh()
    weights = np.zeros((mesh.vertex_count, len(names)))
    return FileRig(tuple(names[i] for i in order), reordered_parents(parents, order), rest[order], mesh, weights, path=path)


def _json(path: Path) -> Any:
    try:
        return json.loads(file_text(path))
    except json.JSONDecodeError as error:
        raise AkdError(f"{path.name} is not JSON: {error.msg} in line {error.lineno}.") from None
    except RecursionError:
        raise AkdError(f"{path.name} is nested too deep: joints name their parents, none contains another.") from None
    except ValueError as error:  # a number of more digits than Python will read
        raise AkdError(f"{path.name} is not JSON that can be read here: {str(error).split(';')[0]}.") from None


def _name(joint: Any, path: Path) -> str:
    name = joint.get("name") if isinstance(joint, dict) else None
    if not isinstance(name, str):
        raise AkdError(f"{path.name} has a joint without a name: {_short(joint)}.")
    return name.encode(errors="replace").decode()  # half a surrogate pair is a string that cannot be written


def _parent(joint: dict[str, Any], place: dict[str, int], path: Path) -> int:
    above = joint.get("parent")
    if above is None:
        return -1
    above = above.encode(errors="replace").decode() if isinstance(above, str) else above
    if not isinstance(above, str) or above not in place or above == joint["name"]:
        raise AkdError(f"{path.name}: the parent of {_short(joint['name'])} is {_short(above)}, which is no other joint.")
    return place[above]


def _position(joint: dict[str, Any], path: Path) -> list[float]:
    position = joint.get("position")
    if not isinstance(position, list) or len(position) != 3 or not all(_is_number(x) for x in position):
        raise AkdError(f"{path.name}: the position of {_short(joint['name'])} must be three numbers, and is {_short(position)}.")
    return [float(x) for x in position]


def _is_number(value: Any) -> bool:
    """Whole numbers may be too large for a float, and Python counts true as one."""
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**300)


def _short(value: Any) -> str:
    return json.dumps(value)[:60]
