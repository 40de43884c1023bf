"""Gaussian splats as PLY, in the layout of the original 3D Gaussian splatting code.

Stored are log scales, logits of opacities, wxyz quaternions, and spherical harmonics: ``f_dc`` is the constant
coefficient, ``f_rest`` the others, all of red first, then green, then blue.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float

from akd.errors import AkdError
from akd.files.reading import file_bytes
from akd.files.writing import write_file
from akd.splats import Splats

POSITION, COLOR, OPACITY = ("x", "y", "z"), ("f_dc_0", "f_dc_1", "f_dc_2"), ("opacity",)
SCALE, ROTATION = ("scale_0", "scale_1", "scale_2"), ("rot_0", "rot_1", "rot_2", "rot_3")
NORMAL = ("nx", "ny", "nz")  # always zero, but programs that count columns expect them
REST_COUNTS = (0, 9, 24, 45)  # three channels × the coefficients of degree 1 to 0, 1, 2, 3
OTHER_FORMATS = {".spz": "SPZ", ".sog": "SOG", ".splat": "antimatter15 .splat", ".ksplat": "KSplat"}
CURE = "convert it to a standard splat PLY first, for example with SuperSplat or PlayCanvas' splat-transform"
TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}
BYTE_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
END = re.compile(rb"(?:\r\n|\r|\n)end_header[ \t]*(?:\r\n|\r|\n|$)")
MAX_DIGITS = 18  # of a count; what is longer is more than any disk holds
MAX_COLUMNS = 1000  # splat files have about sixty
SURE = 1e-7  # opacities are kept this far from 0 and 1, where the logit is infinite


@dataclass(frozen=True)
class _Element:
    name: str
    count: int
    properties: dict[str, str]
    """Name → numpy type; the type is empty for a list, whose length differs from row to row."""


def read_splats(path: str | Path) -> tuple[Splats, tuple[str, ...]]:
    """The splats with activations applied, and notes on what was left out: splats that are not finite or have no extent."""
    path = Path(path)
    if path.suffix.lower() in OTHER_FORMATS:
        raise AkdError(f"{path.name} is in the {OTHER_FORMATS[path.suffix.lower()]} format, which is not read here; {CURE}.")
    columns = _vertex_columns(file_bytes(path), path.name)
    rest = sorted((name for name in columns if name.startswith("f_rest_")), key=lambda name: int(name[7:]))
    values = {part: np.stack([columns[name] for name in part], -1) for part in (POSITION, COLOR, SCALE, ROTATION, OPACITY)}
    harmonics = np.stack([columns[name] for name in rest], -1) if rest else np.zeros((len(values[COLOR]), 0))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scales, opacities = np.exp(values[SCALE].astype(np.float32)), 1 / (1 + np.exp(-values[OPACITY][:, 0]))
    sh = np.concatenate((values[COLOR][:, None], harmonics.reshape(len(harmonics), 3, -1).swapaxes(1, 2)), 1)
    good = _usable(values[POSITION], values[ROTATION], scales, opacities, sh)
    if not good.any():
        raise AkdError(f"{path.name} has no usable splat: all {len(good)} are not finite or have no extent.")
    lost = int((~good).sum())
    fields = (values[POSITION], values[ROTATION], scales, opacities, sh)
    splats = Splats(*(torch.tensor(field[good].astype(np.float32)) for field in fields))
    return splats, (f"{lost} of {len(good)} splats are not finite or have no extent; they were left out.",) if lost else ()


def write_splats(path: str | Path, splats: Splats) -> None:
    """Binary little-endian PLY with the columns in their usual order."""
    count = splats.splat_count
    if not bool((splats.scales > 0).all()):
        raise AkdError("A splat's scales must be positive, for the file stores their logarithms.")
    logits = torch.logit(splats.opacities.double().clamp(SURE, 1 - SURE))[:, None]
    logs = torch.log(splats.scales.double())
    rest = splats.sh[:, 1:].transpose(1, 2).reshape(count, -1)
    parts = (splats.means, torch.zeros_like(splats.means), splats.sh[:, 0], rest, logits, logs, splats.rotations)
    table = torch.cat([part.detach().double() for part in parts], 1).cpu().numpy().astype("<f4")
    names = (*POSITION, *NORMAL, *COLOR, *(f"f_rest_{i}" for i in range(rest.shape[1])), *OPACITY, *SCALE, *ROTATION)
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {count}", *(f"property float {name}" for name in names)]
    write_file(path, "\n".join([*header, "end_header", ""]).encode() + table.tobytes())


def _usable(
    means: Float[np.ndarray, "splat 3"], rotations: Float[np.ndarray, "splat 4"], scales: Float[np.ndarray, "splat 3"],
    opacities: Float[np.ndarray, " splat"], sh: Float[np.ndarray, "splat coefficient 3"],
) -> Bool[np.ndarray, " splat"]:
    """Squares must be finite too, for covariances are made of them."""
    table = np.concatenate((means, rotations, scales, opacities[:, None], sh.reshape(len(sh), -1)), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(np.square(table.astype(np.float32))).all(1)
    return finite & (scales > 0).all(1) & (np.abs(rotations).max(1) > 1e-12)


def _vertex_columns(content: bytes, name: str) -> dict[str, np.ndarray]:
    """The columns of the ``vertex`` element, by name, as float64."""
    order, elements, body = _header(content, name)
    vertex = next((element for element in elements if element.name == "vertex"), None)
    if vertex is None:
        raise AkdError(f"{name} has no element 'vertex', so it holds no splats.")
    _check_layout(vertex, elements, name)
    before = elements[: elements.index(vertex)]
    if any("" in element.properties.values() for element in (*before, vertex)):
        raise AkdError(f"{name} has lists among or before its vertices, which no splat file has.")
    if order == "":
        return _ascii_columns(body, before, vertex, name)
    start = sum(element.count * _row_type(element, order).itemsize for element in before)
    row = _row_type(vertex, order)
    if vertex.count == 0 or len(body) - start < vertex.count * row.itemsize:
        held = max(len(body) - start, 0) // row.itemsize
        raise AkdError(f"{name} should hold {vertex.count} splats and has {held}; it was probably cut off.")
    table = np.frombuffer(body, row, vertex.count, start)
    return {column: table[column].astype(float) for column in vertex.properties}


def _ascii_columns(body: bytes, before: list[_Element], vertex: _Element, name: str) -> dict[str, np.ndarray]:
    lines = [line.split() for line in body.splitlines() if line.strip()]
    first = sum(element.count for element in before)
    rows = lines[first : first + vertex.count]
    if not rows or len(rows) < vertex.count or any(len(row) != len(vertex.properties) for row in rows):
        raise AkdError(f"{name} should hold {vertex.count} lines of {len(vertex.properties)} numbers, but it does not.")
    try:
        table = np.array(rows, float)
    except ValueError as error:
        raise AkdError(f"{name}: {str(error)[:100]}; only numbers can stand there.") from None
    return dict(zip(vertex.properties, table.T, strict=True))


def _check_layout(vertex: _Element, elements: list[_Element], name: str) -> None:
    if "packed_position" in vertex.properties:
        raise AkdError(f"{name} is in PlayCanvas' compressed PLY layout, which is not read here; {CURE}.")
    missing = [column for column in (*POSITION, *COLOR, *OPACITY, *SCALE, *ROTATION) if column not in vertex.properties]
    if missing:
        kind = "a mesh" if any(element.name == "face" for element in elements) else "a point cloud or another layout"
        raise AkdError(f"{name} is {kind} and not splats: its vertices have no {missing[0]!r}.")
    rest = {column for column in vertex.properties if column.startswith("f_rest_")}
    if len(rest) not in REST_COUNTS or rest != {f"f_rest_{i}" for i in range(len(rest))}:
        raise AkdError(f"{name} has {len(rest)} columns f_rest, but spherical harmonics have {', '.join(map(str, REST_COUNTS))}.")


def _header(content: bytes, name: str) -> tuple[str, list[_Element], bytes]:
    """Byte order ("" for text), elements, and what follows the header."""
    end = END.search(content) if content.startswith(b"ply") else None
    if end is None:
        raise AkdError(f"{name} is not a PLY file: it has no PLY header.")
    lines = [line.split() for line in content[: end.start()].decode("ascii", errors="replace").splitlines()]
    if lines[:1] != [["ply"]]:
        raise AkdError(f"{name} is not a PLY file: it has no PLY header.")
    order, elements = None, list[_Element]()
    for words in lines[1:]:
        match words:
            case ["format", form, _] if form in BYTE_ORDERS:
                order = BYTE_ORDERS[form]
            case ["element", element, count] if count.isdecimal() and len(count) <= MAX_DIGITS:
                elements.append(_Element(element, int(count), {}))
            case ["property", "list", _, _, column] if elements and _is_new(column, elements[-1]):
                elements[-1].properties[column] = ""
            case ["property", kind, column] if elements and kind in TYPES and _is_new(column, elements[-1]):
                elements[-1].properties[column] = TYPES[kind]
            case [] | ["comment" | "obj_info", *_]:
                pass
            case _:
                raise AkdError(f"{name}: the header line {' '.join(words)[:60]!r} is not understood.")
    if order is None:
        raise AkdError(f"{name}: the header has no format line.")
    return order, elements, content[end.end() :]


def _is_new(column: str, element: _Element) -> bool:
    """A column that occurs twice would shift all that follow."""
    return column not in element.properties and len(element.properties) < MAX_COLUMNS


def _row_type(element: _Element, order: str) -> np.dtype:
    return np.dtype([(column, order + kind) for column, kind in element.properties.items()])
