"""The bytes of a glTF file: the GLB container, data URIs, and files beside it.

A file may name any other file, so addresses are followed only inside the folder of the file that names them.

A glTF or GLB file as its JSON and its bytes, and the numbers in them.

The JSON is kept exactly as it is in the file, because the exporter adds to it and must not lose what we do not know.
It is read through ``Entry``, which checks types and ranges: a file may lie about everything, so nothing is allocated
before its size is known to be backed by bytes or to be within ``MAX_NUMBERS``.
"""

import base64
import binascii
import json
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from jaxtyping import Float

from akd.errors import AkdError
from akd.files.gltf.json_entry import Entry, shortened

MAX_FILE_BYTES = 2**31


def file_bytes(path: Path, name: str) -> bytes:
    """The contents of a regular file of bearable size."""
    try:
        if not path.is_file():
            raise AkdError(f"There is no file {name}; please check the path.")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise AkdError(f"{name} is larger than {MAX_FILE_BYTES // 2**30} GiB; please simplify it.")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise AkdError(f"{name} cannot be read ({type(error).__name__}); please check the path and its permissions.") from error


def glb_chunks(data: bytes, name: str) -> tuple[bytes, bytes]:
    """The JSON and the BIN chunk of a GLB; chunks of other kinds are skipped, as the standard asks."""
    if len(data) < 20:
        raise AkdError(f"{name} ends after {len(data)} bytes, inside its header; please get it again.")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2 or length > len(data):
        raise AkdError(f"{name} says GLB version {version} and {length} bytes, but has {len(data)}; please get it again.")
    chunks: dict[bytes, bytes] = {}
    start = 12
    while start + 8 <= length:
        size, kind = struct.unpack_from("<I4s", data, start)
        if start + 8 + size > length:
            raise AkdError(f"A chunk of {name} says it has {size} bytes, past the end of the file; please get it again.")
        chunks.setdefault(kind, data[start + 8 : start + 8 + size])
        start += 8 + size
    if b"JSON" not in chunks:
        raise AkdError(f"{name} has no JSON chunk, so it is not a usable GLB file; please export it again.")
    return chunks[b"JSON"], chunks.get(b"BIN\0", b"")


def parsed_json(text: bytes, name: str) -> dict[str, Any]:
    """The JSON object in these bytes."""
    try:
        parsed = json.loads(text.rstrip(b"\0").decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        cause = shortened(str(error))
        raise AkdError(f"{name} is not glTF: its JSON cannot be parsed ({cause}); please export it again.") from error
    if not isinstance(parsed, dict):
        raise AkdError(f"{name} is not glTF: its JSON is {shortened(parsed)}, not an object; please export it again.")
    return parsed


def uri_bytes(uri: str, path: Path) -> bytes:
    """The contents of a data URI, or of a file inside the folder of the file at ``path``."""
    target = uri_target(uri, path)
    return target if isinstance(target, bytes) else file_bytes(target, f"{shortened(uri)}, which {path.name} refers to")


def uri_target(uri: str, path: Path) -> bytes | Path:
    """What a URI in the file at ``path`` leads to: embedded data, or a path inside its folder, where a file may be."""
    if uri[:5].lower() == "data:":
        return _data_uri_bytes(uri, path.name)
    relative = unquote(uri)
    absolute = relative.startswith("/") or any(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text) for text in (uri, relative))
    if absolute or "\\" in relative or "\0" in relative:
        raise AkdError(f"{path.name} refers to {shortened(uri)}, but only files beside it may be read; please embed that file.")
    folder = path.parent.resolve()
    try:
        target = (folder / relative).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise AkdError(f"{path.name} refers to {shortened(uri)}, which is no file name; please embed that file.") from error
    if not target.is_relative_to(folder):
        raise AkdError(f"{path.name} refers to {shortened(uri)}, which is outside its folder; please move that file beside it.")
    return target


def _data_uri_bytes(uri: str, name: str) -> bytes:
    """The contents of a data URI."""
    head, comma, body = uri.partition(",")
    try:
        if not comma:
            raise ValueError("no comma")
        return base64.b64decode(unquote(body), validate=True) if head.endswith(";base64") else unquote(body).encode("latin-1")
    except (binascii.Error, ValueError) as error:
        cause = shortened(str(error))
        raise AkdError(f"{name} has a data URI that cannot be decoded ({cause}); please export it again.") from error


MAX_NUMBERS = 2**25  # in one accessor: 11 million points
# Extensions that may be required because what they change is understood here or does not concern shape and motion.
HARMLESS_EXTENSIONS = re.compile(
    r"KHR_draco_mesh_compression|(EXT|KHR)_meshopt_compression|"
    r"KHR_mesh_quantization|KHR_texture_\w+|EXT_texture_\w+|MSFT_texture_\w+|KHR_materials_\w+|KHR_lights_\w+|KHR_xmp\w*|VRMC?_?\w*"
)
COMPONENT_TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
ELEMENT_SHAPES: dict[str, tuple[int, ...]] = {"SCALAR": (), "VEC2": (2,), "VEC3": (3,), "VEC4": (4,), "MAT4": (4, 4)}


@dataclass(frozen=True, eq=False)
class GltfDocument:
    """A parsed file."""

    json: dict[str, Any]
    """Exactly what is in the file; never modified."""
    buffers: tuple[bytes, ...]
    """Contents of each of the JSON's ``buffers``; empty where the file gives neither bytes nor an address."""
    path: Path
    binary: bytes = b""
    """The raw BIN chunk of a GLB, with its padding; empty for a .gltf."""

    @property
    def root(self) -> Entry:
        """The JSON, checked on access."""
        return Entry(self.json, self.path.name)


@dataclass(frozen=True, eq=False)
class GltfSource:
    """What ``read_gltf`` leaves in ``FileRig.document``: the file, and where in it the bones are."""

    document: GltfDocument
    bone_nodes: tuple[int, ...]
    """For each bone of the ``FileRig``, the index of its glTF node."""
    node_parents: tuple[int, ...]
    """For each glTF node, the index of its parent node, −1 for roots."""
    node_locals: Float[np.ndarray, "node 4 4"] = field(repr=False)
    """Default local matrices of all nodes: the pose of the nodes that no clip moves."""
    node_worlds: Float[np.ndarray, "node 4 4"] = field(repr=False)
    """Default world matrices of all nodes."""


def read_document(path: str | Path) -> GltfDocument:
    """Read a .glb or .gltf (told apart by their first bytes) with the files it refers to."""
    path = Path(path)
    data = file_bytes(path, path.name)
    text, binary = glb_chunks(data, path.name) if data[:4] == b"glTF" else (data, b"")
    root = Entry(parsed_json(text, path.name), path.name)
    version = root.child("asset").text("version", "")
    if not version.startswith("2"):
        raise AkdError(f"{path.name} says it is glTF version {shortened(version)}, but akd reads version 2.")
    for extension in root.texts("extensionsRequired"):
        if not HARMLESS_EXTENSIONS.fullmatch(extension):
            raise AkdError(f"{path.name} needs the glTF extension {shortened(extension)}, which akd cannot read.")
    return GltfDocument(root.fields, _buffers(root, binary, path), path, binary)


def accessor(document: GltfDocument, index: int) -> np.ndarray:
    """The numbers of an accessor, element × its shape; matrices as matrix[row, column].

    Floats and normalised integers come as float64, other integers as int64.
    """
    entry = document.root.item("accessors", index)
    count = entry.whole("count", below=MAX_NUMBERS + 1)
    dtype, shape = _component_type(entry), _element_shape(entry)
    if count * int(np.prod(shape)) > MAX_NUMBERS:
        raise AkdError(f"{entry.label} has {count} elements, more than akd reads; please simplify the mesh.")
    if "bufferView" in entry:
        offset = entry.whole("byteOffset", 0)
        stored = _elements(document, entry.whole("bufferView"), offset, count, dtype, shape, entry.label)
    else:
        stored = np.zeros((count, *shape), dtype)
    if "sparse" in entry:
        stored = _with_sparse(document, entry.child("sparse"), stored)
    values = _dequantised(stored) if entry.fields.get("normalized") is True else stored
    values = values.astype(float if values.dtype.kind == "f" else np.int64)
    return values.swapaxes(1, 2) if values.ndim == 3 else values  # files store columns


def view_bytes(document: GltfDocument, index: int) -> memoryview:
    """The contents of a buffer view, not copied."""
    view = document.root.item("bufferViews", index)
    start, length = view.whole("byteOffset", 0), view.whole("byteLength")
    buffer = document.buffers[view.whole("buffer", below=max(len(document.buffers), 1))] if document.buffers else b""
    if start + length > len(buffer):
        packed = next((name for name in view.child("extensions").fields if "compression" in name), None)
        cause = f"is compressed with {shortened(packed)}" if packed else f"ends at byte {start + length} of {len(buffer)}"
        raise AkdError(f"{view.label} {cause}, which akd cannot read; please export the file again without compression.")
    return memoryview(buffer)[start : start + length]


def _buffers(root: Entry, binary: bytes, path: Path) -> tuple[bytes, ...]:
    """The bytes of all buffers. One with neither address nor chunk is a placeholder for compressed data, and empty."""
    buffers: list[bytes] = []
    for index, entry in enumerate(root.items("buffers")):
        data = uri_bytes(entry.text("uri"), path) if "uri" in entry else binary if index == 0 else b""
        length = entry.whole("byteLength")
        if data and length > len(data):
            raise AkdError(f"{entry.label} says it has {length} bytes, but there are {len(data)}; please get the file again.")
        buffers.append(data[:length])
        if sum(map(len, buffers)) > MAX_FILE_BYTES:
            raise AkdError(f"The buffers of {path.name} are larger than {MAX_FILE_BYTES // 2**30} GiB; please simplify it.")
    return tuple(buffers)


def _component_type(entry: Entry) -> np.dtype:
    """The number type of an accessor."""
    code = entry.whole("componentType")
    if code not in COMPONENT_TYPES:
        entry.fail("componentType", f"one of {sorted(COMPONENT_TYPES)}")
    return np.dtype(COMPONENT_TYPES[code])


def _element_shape(entry: Entry) -> tuple[int, ...]:
    """The shape of one element of an accessor; the 2 × 2 and 3 × 3 matrices have no use in glTF 2."""
    kind = entry.text("type")
    if kind not in ELEMENT_SHAPES:
        entry.fail("type", f"one of {', '.join(ELEMENT_SHAPES)}")
    return ELEMENT_SHAPES[kind]


def _elements(
    document: GltfDocument, view_index: int, offset: int, count: int, dtype: np.dtype, shape: tuple[int, ...], label: str
) -> np.ndarray:
    """``count`` elements from a buffer view, which may keep other data between them."""
    size = dtype.itemsize * int(np.prod(shape))
    stride = document.root.item("bufferViews", view_index).whole("byteStride", 0) or size
    data = view_bytes(document, view_index)
    needed = offset + stride * (count - 1) + size if count else 0
    if stride < size or needed > len(data):
        raise AkdError(
            f"{label} needs {needed} bytes in steps of {stride}, but its buffer view has {len(data)};"
            " the file is damaged, please export it again."
        )
    if not count:
        return np.zeros((0, *shape), dtype)
    inner = np.zeros(shape, dtype).strides
    return np.ndarray((count, *shape), dtype, data, offset, (stride, *inner))


def _with_sparse(document: GltfDocument, sparse: Entry, stored: np.ndarray) -> np.ndarray:
    """The elements with some of them replaced."""
    count = sparse.whole("count", below=len(stored) + 1)
    where, what = sparse.child("indices"), sparse.child("values")
    places = _elements(
        document, where.whole("bufferView"), where.whole("byteOffset", 0), count, _component_type(where), (), where.label
    ).astype(np.int64)
    values = _elements(
        document, what.whole("bufferView"), what.whole("byteOffset", 0), count, stored.dtype, stored.shape[1:], what.label
    )
    if count and not (places.min() >= 0 and places.max() < len(stored)):
        raise AkdError(f"{sparse.label} replaces element {places.max()} of {len(stored)}; please export the file again.")
    replaced = stored.copy()
    replaced[places] = values
    return replaced


def _dequantised(stored: np.ndarray) -> np.ndarray:
    """Normalised integers as fractions in [0, 1] or [−1, 1]."""
    if stored.dtype.kind == "f":
        return stored
    return np.maximum(stored / np.iinfo(stored.dtype).max, -1.0)
