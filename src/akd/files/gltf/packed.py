"""Compressed glTF: meshes packed by Draco (KHR_draco_mesh_compression), buffer views by meshoptimizer (EXT_meshopt_compression).

The file's own JSON stays as it is for the writer, which adds a clip and keeps what is packed packed. For reading, a copy refers
to unpacked buffers.
"""

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from akd.errors import AkdError
from akd.files.gltf.document import COMPONENT_TYPES, MAX_NUMBERS, GltfDocument, view_bytes
from akd.files.gltf.json_entry import Entry, shortened

DRACO = "KHR_draco_mesh_compression"
MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")
CODES = {np.dtype(name): code for code, name in COMPONENT_TYPES.items()}
ELEMENTS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}
STRIDES = {"ATTRIBUTES": range(4, 257, 4), "TRIANGLES": (2, 4), "INDICES": (2, 4)}  # bytes, by the standard
MAX_UNPACKED = 2**30  # bytes of all that a file unpacks to
CURE = "install it with: pip install 'akd[packed]'"


def unpacked(document: GltfDocument) -> GltfDocument:
    """The document with nothing packed; itself if nothing is."""
    views = [(index, view) for index, view in enumerate(document.root.items("bufferViews")) if _meshopt(view) is not None]
    meshes = document.root.items("meshes")
    primitives = [primitive for mesh in meshes for primitive in mesh.items("primitives") if _is_draco(document, primitive)]
    if not views and not primitives:
        return document
    pack = _Unpacking(document)
    for index, view in views:
        pack.replace_view(index, view)
    # Views that were packed are read from the new buffers from here on: a file may use both.
    pack = _Unpacking(pack.document)
    for primitive in primitives:
        pack.replace_primitive(primitive)
    return pack.document


def _is_draco(document: GltfDocument, primitive: Entry) -> bool:
    """Is this packed by Draco? A file may have the ordinary data beside; then those are read."""
    if DRACO not in primitive.child("extensions"):
        return False
    return "bufferView" not in document.root.item("accessors", primitive.child("attributes").whole("POSITION"))


def _meshopt(view: Entry) -> Entry | None:
    extensions = view.child("extensions")
    return next((extensions.child(name) for name in MESHOPT if name in extensions), None)


class _Unpacking:
    """A copy of a document's JSON, and the buffers that are added to it."""

    def __init__(self, document: GltfDocument) -> None:
        self.source = document
        self.json: dict[str, Any] = copy.deepcopy(document.json)
        self.buffers = list(document.buffers)
        self.size = 0

    @property
    def document(self) -> GltfDocument:
        return replace(self.source, json=self.json, buffers=tuple(self.buffers))

    def add_buffer(self, data: bytes) -> int:
        self.size += len(data)
        if self.size > MAX_UNPACKED:
            raise AkdError(f"{self.source.path.name} unpacks to more than {MAX_UNPACKED // 2**30} GiB; please simplify it.")
        self.buffers.append(data)
        self.json["buffers"].append({"byteLength": len(data)})
        return len(self.buffers) - 1

    def replace_view(self, index: int, view: Entry) -> None:
        """Unpack a view of meshoptimizer."""
        packed = _meshopt(view)
        assert packed is not None
        data = _unpack_view(packed, bytes(self._packed_bytes(packed)))
        new = {"buffer": self.add_buffer(data), "byteOffset": 0, "byteLength": len(data)}
        if packed.text("mode") == "ATTRIBUTES":
            new["byteStride"] = packed.whole("byteStride")
        self.json["bufferViews"][index] = new

    def _packed_bytes(self, packed: Entry) -> bytes:
        start, length = packed.whole("byteOffset", 0), packed.whole("byteLength")
        buffer = self.source.buffers[packed.whole("buffer", below=max(len(self.source.buffers), 1))]
        if start + length > len(buffer):
            raise AkdError(f"{packed.label} ends at byte {start + length} of {len(buffer)}; please get the file again.")
        return buffer[start : start + length]

    def replace_primitive(self, primitive: Entry) -> None:
        """Unpack a mesh of Draco into the accessors that describe it."""
        packed = primitive.child("extensions").child(DRACO)
        mesh = _decoded(bytes(view_bytes(self.source, packed.whole("bufferView"))), primitive.label)
        identifiers, attributes = packed.child("attributes"), primitive.child("attributes")
        for name in identifiers.fields:
            found = mesh.get_attribute_by_unique_id(identifiers.whole(name))
            if found is None or name not in attributes:
                raise AkdError(f"{primitive.label} has no packed {shortened(name)}; the file is damaged, please export it again.")
            self._set_accessor(attributes.whole(name), np.atleast_2d(found["data"]), primitive.label)
        if "indices" in primitive:
            self._set_accessor(primitive.whole("indices"), np.asarray(mesh.faces, np.uint32).reshape(-1, 1), primitive.label)

    def _set_accessor(self, index: int, values: np.ndarray, label: str) -> None:
        dtype = np.dtype(values.dtype).newbyteorder("<")
        if dtype not in CODES or values.shape[1] not in ELEMENTS or values.size > MAX_NUMBERS:
            raise AkdError(f"{label} is packed as numbers that glTF does not have ({values.dtype}); please export it again.")
        data = np.ascontiguousarray(values, dtype).tobytes()
        view = {"buffer": self.add_buffer(data), "byteOffset": 0, "byteLength": len(data)}
        self.json.setdefault("bufferViews", []).append(view)
        self.source.root.item("accessors", index)  # is it there?
        entry = self.json["accessors"][index]
        entry.pop("sparse", None)
        entry.update(
            bufferView=len(self.json["bufferViews"]) - 1, byteOffset=0, componentType=CODES[dtype], count=len(values),
            type=ELEMENTS[values.shape[1]],
        )  # fmt: skip


def _decoded(data: bytes, label: str) -> Any:
    try:
        import DracoPy
    except ImportError:
        raise AkdError(f"{label} is compressed with {DRACO}, whose reader is the extra 'packed'; {CURE}.") from None
    try:
        mesh = DracoPy.decode(data)
    except (ValueError, RuntimeError, DracoPy.FileTypeException, DracoPy.EncodingFailedException) as error:
        cause = shortened(str(error))
        raise AkdError(f"{label} is compressed with {DRACO}, but cannot be unpacked ({cause}); export it again.") from error
    if not hasattr(mesh, "faces"):
        raise AkdError(f"{label} is compressed with {DRACO} as points without faces; please export it again.")
    return mesh


def _unpack_view(packed: Entry, data: bytes) -> bytes:
    """The bytes that a view of meshoptimizer stands for."""
    try:
        import meshoptimizer
    except ImportError:
        raise AkdError(f"{packed.label} is compressed by meshoptimizer, whose reader is the extra 'packed'; {CURE}.") from None
    count, stride, mode = packed.whole("count", below=MAX_NUMBERS + 1), packed.whole("byteStride"), packed.text("mode")
    strides = STRIDES.get(mode, ())
    if stride not in strides or (mode == "TRIANGLES" and count % 3) or count * stride > MAX_UNPACKED:
        raise AkdError(f"{packed.label} asks for {count} elements of {stride} bytes as {shortened(mode)}; the file is damaged.")
    try:
        if mode == "ATTRIBUTES":
            stored = meshoptimizer.decode_vertex_buffer(count, stride, data, np.dtype((np.void, stride)))
        elif mode == "TRIANGLES":
            stored = meshoptimizer.decode_index_buffer(count, stride, data)
        else:
            stored = meshoptimizer.decode_index_sequence(count, stride, data)
        content = stored.tobytes()[: count * stride]
        return _unfiltered(content, packed.text("filter", "NONE"), count, stride, packed.label)
    except (ValueError, RuntimeError) as error:
        cause = shortened(str(error))
        raise AkdError(f"{packed.label} cannot be unpacked by meshoptimizer ({cause}); please export it again.") from error


def _unfiltered(content: bytes, name: str, count: int, stride: int, label: str) -> bytes:
    """Undo what was done to numbers so that they pack better."""
    import meshoptimizer

    filters = {
        "OCTAHEDRAL": (meshoptimizer.decode_filter_oct, (4, 8)), "QUATERNION": (meshoptimizer.decode_filter_quat, (8,)),
        "EXPONENTIAL": (meshoptimizer.decode_filter_exp, STRIDES["ATTRIBUTES"]),
    }  # fmt: skip
    if name == "NONE":
        return content
    if name not in filters or stride not in filters[name][1]:
        raise AkdError(f"{label} has the filter {shortened(name)} with {stride} bytes; please export the file again.")
    return np.asarray(filters[name][0](np.frombuffer(content, np.uint8).copy(), count, stride)).tobytes()
