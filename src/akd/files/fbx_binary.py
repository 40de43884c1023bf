"""The binary form of FBX 7.4: a tree of elements, each with a name, some properties and further elements.

Every value is written as one of the format's types: whole numbers as Int or Long, arrays compressed by zlib.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

VERSION = 7400
"""The last version with 32-bit offsets, which every program reads."""
HEAD = b"Kaydara FBX Binary  \x00\x1a\x00"
# The format's own programs check that these three belong together. They are those of a fixed time, which other free
# writers (assimp, Blender) use as well, since how the second follows from the first is not published.
CREATION_TIME = "1970-01-01 10:00:00:000"
FILE_ID = bytes.fromhex("28b32aebb624ccc2bfc8b02aa92bfcf1")
FOOT_ID = bytes.fromhex("fabcab09d0c8d466b176fb831cf7267e")
FOOT_MAGIC = bytes.fromhex("f85a8c6adef5d97eece90ce3758f290b")
END = bytes(13)
"""An element without a name ends a list of elements."""
ARRAY_CODES = {np.dtype("<i4"): b"i", np.dtype("<i8"): b"l", np.dtype("<f4"): b"f", np.dtype("<f8"): b"d"}
COMPRESSED_FROM = 128
"""Bytes; shorter arrays are stored as they are."""
MAX_OFFSET = 2**32 - 1


@dataclass(frozen=True)
class Long:
    """A whole number of 64 bits: an identifier, or a time."""

    value: int


@dataclass(frozen=True)
class Raw:
    """Bytes that are no text."""

    value: bytes


class Element:
    """An element under construction; ``element("Name", …)`` adds one below it."""

    def __init__(self, name: str, *values: Any) -> None:
        self.name = name
        self.values = values
        self.children: list[Element] = []

    def __call__(self, name: str, *values: Any) -> "Element":
        child = Element(name, *values)
        self.children.append(child)
        return child

    def find(self, name: str) -> Iterator["Element"]:
        """The elements of this name right below."""
        return (child for child in self.children if child.name == name)


SECOND_KINDS = {"int": "Integer", "double": "Number", "Vector3D": "Vector", "KTime": "Time"}
"""What the format wants beside a type's name."""
ANIMATABLE = {"Lcl Translation", "Lcl Rotation", "Lcl Scaling", "Number", "Color"}
"""Types whose values may be animated."""


def add_properties(owner: Element, *rows: tuple[Any, ...]) -> None:
    """A ``Properties70`` block of rows (name, FBX type, value …)."""
    block = owner("Properties70")
    for name, kind, *values in rows:
        block("P", name, kind, SECOND_KINDS.get(kind, ""), "A" if kind in ANIMATABLE else "", *values)


def encode(roots: list[Element]) -> bytes:
    """A whole file."""
    out = bytearray(HEAD + struct.pack("<I", VERSION))
    for root in roots:
        _append(out, root)
    out += END + FOOT_ID + bytes(4)
    out += bytes((-len(out)) % 16 or 16) + struct.pack("<I", VERSION) + bytes(120) + FOOT_MAGIC
    if len(out) > MAX_OFFSET:
        raise ValueError("An FBX file of version 7.4 has at most 4 GiB.")
    return bytes(out)


def _append(out: bytearray, element: Element) -> None:
    values = b"".join(map(_value, element.values))
    name = element.name.encode()
    begin = len(out)
    out += struct.pack("<IIIB", 0, len(element.values), len(values), len(name)) + name + values
    for child in element.children:
        _append(out, child)
    if element.children or not element.values:
        out += END
    struct.pack_into("<I", out, begin, len(out))


def _value(value: Any) -> bytes:
    """One property with its type's letter."""
    if isinstance(value, bool | np.bool_):
        return b"C" + struct.pack("<B", value)
    if isinstance(value, Long):
        return b"L" + struct.pack("<q", value.value)
    if isinstance(value, int | np.integer):
        return b"I" + struct.pack("<i", int(value))
    if isinstance(value, float | np.floating):
        return b"D" + struct.pack("<d", float(value))
    if isinstance(value, Raw):
        return b"R" + struct.pack("<I", len(value.value)) + value.value
    if isinstance(value, str):
        text = value.encode(errors="replace")
        return b"S" + struct.pack("<I", len(text)) + text
    return _array(value)


def _array(values: np.ndarray) -> bytes:
    flat = np.ascontiguousarray(values).reshape(-1)
    code, stored = ARRAY_CODES[flat.dtype], flat.tobytes()
    packed = zlib.compress(stored, 6) if len(stored) >= COMPRESSED_FROM else stored
    return code + struct.pack("<III", len(flat), int(packed is not stored), len(packed)) + packed
