"""A GLB under construction: the JSON and the BIN chunk, both of which only ever grow at their ends."""

import base64
import copy
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from akd.errors import AkdError
from akd.files.gltf.bytes import uri_bytes
from akd.files.gltf.document import COMPONENT_TYPES, ELEMENT_SHAPES, GltfDocument
from akd.files.gltf.json_entry import Entry

COMPONENT_CODES = {np.dtype(name): code for code, name in COMPONENT_TYPES.items()}
ELEMENT_NAMES = {shape: name for name, shape in ELEMENT_SHAPES.items()}
IMAGE_TYPES = {b"\x89PNG": "image/png", b"\xff\xd8": "image/jpeg", b"RIFF": "image/webp", b"\xabKTX 20": "image/ktx2"}


class GltfPack:
    """Entries are appended to ``json`` and their numbers to ``binary``, the contents of buffer 0."""

    def __init__(self, content: dict[str, Any], binary: bytes = b"") -> None:
        self.json = content
        self.binary = bytearray(binary)

    @classmethod
    def of(cls, document: GltfDocument) -> "GltfPack":
        """A copy of a file, made independent of the files it refers to.

        Buffer 0 becomes the BIN chunk, other external buffers become data URIs, external pictures become buffer
        views; a picture that is not there stays an address.
        """
        pack = cls(copy.deepcopy(document.json), document.binary)
        buffers = list(Entry(pack.json, document.path.name).items("buffers"))
        for index, (buffer, data) in enumerate(zip(buffers, document.buffers, strict=True)):
            if index == 0:
                contents = data if buffer.fields.pop("uri", None) else document.binary
                pack.binary = bytearray(contents.ljust(buffer.whole("byteLength"), b"\0"))
            elif _is_external(buffer):
                buffer.fields["uri"] = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
        for image in filter(_is_external, Entry(pack.json, document.path.name).items("images")):
            pack._embed(image, document)
        return pack

    def append(self, entry_list: str, entry: Mapping[str, Any]) -> int:
        """Put an entry at the end of one of the JSON's lists; its index there."""
        if not self.json.get(entry_list):
            self.json[entry_list] = []
        self.json[entry_list].append(dict(entry))
        return len(self.json[entry_list]) - 1

    def append_view(self, data: bytes, **fields: int) -> int:
        """Put bytes at the end of the BIN, at a multiple of four; the index of their buffer view."""
        self.binary.extend(bytes(-len(self.binary) % 4))
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(data), **fields}
        self.binary.extend(data)
        return self.append("bufferViews", view)

    def append_arrays(self, arrays: list[np.ndarray], *, bounds: bool = False, **fields: int) -> list[int]:
        """Accessors of arrays (element × its shape) that share one buffer view; ``bounds`` writes least and greatest elements."""
        stored = [np.ascontiguousarray(a.swapaxes(1, 2) if a.ndim == 3 else a) for a in arrays]  # files store columns
        view = self.append_view(b"".join(a.tobytes() for a in stored), **fields)
        offsets = np.cumsum([0] + [a.nbytes for a in stored])
        return [self._append_accessor(a, view, int(start), bounds) for a, start in zip(stored, offsets, strict=False)]

    def to_bytes(self) -> bytes:
        """The GLB file."""
        self.binary.extend(bytes(-len(self.binary) % 4))
        if self.binary:
            if not self.json.get("buffers"):
                self.json["buffers"] = [{}]
            self.json["buffers"][0]["byteLength"] = len(self.binary)
        text = json.dumps(self.json, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        if self.binary:
            chunks += struct.pack("<I4s", len(self.binary), b"BIN\0") + self.binary
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks

    def _append_accessor(self, array: np.ndarray, view: int, offset: int, bounds: bool) -> int:
        entry = {
            "bufferView": view, "byteOffset": offset, "componentType": COMPONENT_CODES[array.dtype],
            "count": len(array), "type": ELEMENT_NAMES[array.shape[1:]],
        }
        if bounds:
            entry |= {"min": np.atleast_1d(array.min(0)).tolist(), "max": np.atleast_1d(array.max(0)).tolist()}
        return self.append("accessors", entry)

    def _embed(self, image: Entry, document: GltfDocument) -> None:
        """Put an external picture into the BIN."""
        try:
            data = uri_bytes(image.text("uri"), document.path)
        except AkdError:
            return
        kind = next((name for start, name in IMAGE_TYPES.items() if data.startswith(start)), None)
        if kind:
            del image.fields["uri"]
            image.fields.update(bufferView=self.append_view(data), mimeType=kind)


def _is_external(entry: Entry) -> bool:
    """Whether a buffer or picture lives in another file."""
    return not entry.text("uri", "data:").lower().startswith("data:")
