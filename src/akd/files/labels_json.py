"""Limb labels beside a character's file, for people to correct: ``fox.glb`` is corrected by ``fox.akd.json``.

    {"file": "fox.glb", "facing": [0, 0, 1], "height": 0.62,
     "limbs": [{"kind": "leg", "side": "L", "order": 0, "joints": ["thigh.L", "shin.L", "foot.L"], "tip": "foot.L"}, …]}

``facing`` is a direction in the file's axes, ``height`` is in metres. Every joint belongs to one limb; orders count from the
front. ``facing``, ``height`` and ``tip`` may be left out and ``limbs`` empty, then they are found as ever.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from akd.errors import AkdError
from akd.files.reading import file_text
from akd.files.writing import write_file
from akd.skeleton import Kind, Side

SUFFIX = ".akd.json"
MAX_ORDER = 999  # more limbs of a kind on one side are a mistake


@dataclass(frozen=True)
class NamedLimb:
    """A limb whose joints are given by name."""

    kind: Kind
    side: Side
    order: int
    joints: tuple[str, ...]
    tip: str | None = None


@dataclass(frozen=True)
class LabelFile:
    """What a label file says about a character."""

    name: str
    """The label file's own name, for sentences about it."""
    limbs: tuple[NamedLimb, ...]
    facing: tuple[float, float, float] | None = None
    """Direction in the axes of the character's file."""
    height: float | None = None
    """Metres."""


def label_path(path: Path) -> Path:
    """Where the labels of a character's file are kept."""
    return path.with_suffix(SUFFIX)


def read_labels(path: Path) -> LabelFile | None:
    """The labels beside a character's file; None where there are none, or where they name another file that is there."""
    source = label_path(path)
    if not source.is_file():
        return None
    data = _json(source)
    if not isinstance(data, dict) or not isinstance(data.get("limbs"), list):
        raise AkdError(f'{source.name} has no list "limbs": write it again with akd inspect {path.name} --write-labels --force.')
    named = data.get("file")
    if isinstance(named, str) and named != path.name and path.with_name(Path(named).name).is_file():
        return None
    limbs = tuple(_limb(entry, source.name) for entry in data["limbs"])
    return LabelFile(source.name, limbs, _facing(data.get("facing"), source.name), _height(data.get("height"), source.name))


def write_labels(path: Path, labels: LabelFile) -> Path:
    """Write labels beside a character's file and return where."""
    rows = [json.dumps({key: value for key, value in vars(limb).items() if value is not None}) for limb in labels.limbs]
    head = {"file": path.name, "facing": labels.facing, "height": labels.height}
    lines = [f'  "{key}": {json.dumps(value)},\n' for key, value in head.items() if value is not None]
    limbs = "[\n    " + ",\n    ".join(rows) + "\n  ]" if rows else "[]"
    text = "{\n" + "".join(lines) + f'  "limbs": {limbs}\n' + "}\n"
    write_file(label_path(path), text)
    return label_path(path)


def _json(source: Path) -> Any:
    try:
        return json.loads(file_text(source))
    except json.JSONDecodeError as error:
        raise AkdError(f"{source.name} is not JSON: {error.msg} in line {error.lineno}; mend it or delete the file.") from None
    except (RecursionError, ValueError):
        raise AkdError(f"{source.name} is not JSON that can be read here: mend it or delete the file.") from None


def _limb(entry: Any, name: str) -> NamedLimb:
    kind: Any
    side: Any
    if not isinstance(entry, dict):
        raise AkdError(f'{name}: a limb is {{"kind", "side", "order", "joints"}}, not {_short(entry)}.')
    kind, side, order, joints, tip = (entry.get(key, None) for key in ("kind", "side", "order", "joints", "tip"))
    if kind not in get_args(Kind):
        raise AkdError(f"{name}: a limb is a {', '.join(get_args(Kind))}, not {_short(kind)}.")
    if side not in get_args(Side):
        raise AkdError(f'{name}: the side of a {kind} is "L", "R" or "C" for the middle, not {_short(side)}.')
    if isinstance(order, bool) or not isinstance(order, int) or not 0 <= order <= MAX_ORDER:
        raise AkdError(f"{name}: the order of a {kind} is a whole number from 0 (the foremost), not {_short(order)}.")
    if not isinstance(joints, list) or not joints or not all(isinstance(joint, str) for joint in joints):
        raise AkdError(f"{name}: the joints of {kind}_{side}{order} are a list of their names, not {_short(joints)}.")
    if tip is not None and tip not in joints:
        raise AkdError(f"{name}: the tip of {kind}_{side}{order} is one of its joints, not {_short(tip)}; or leave it out.")
    return NamedLimb(cast(Kind, kind), cast(Side, side), order, tuple(joints), tip)


def _facing(value: Any, name: str) -> tuple[float, float, float] | None:
    if value is None:
        return None
    numbers = isinstance(value, list) and len(value) == 3 and all(_is_number(x) for x in value)
    if not numbers or not math.hypot(value[0], value[2]):
        raise AkdError(f"{name}: facing is three numbers of which the first or the last is not 0, not {_short(value)}.")
    return float(value[0]), float(value[1]), float(value[2])


def _height(value: Any, name: str) -> float | None:
    if value is not None and not (_is_number(value) and value > 0):
        raise AkdError(f"{name}: height is a number of metres above 0, not {_short(value)}.")
    return None if value is None else float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e12


def _short(value: Any) -> str:
    return json.dumps(value)[:60]
