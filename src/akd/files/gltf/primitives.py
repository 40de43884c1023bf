"""Triangles of a glTF mesh with their attributes, as the file has them: in mesh coordinates, before any node or skin."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from akd.errors import AkdError
from akd.files.gltf.document import GltfDocument, accessor
from akd.files.gltf.json_entry import Entry
from akd.files.gltf.materials import Surface
from akd.files.gltf.nodes import MAX_COORDINATE

MAX_VERTICES = 2**23
TRIANGLES, STRIP, FAN = 4, 5, 6
DRACO = "KHR_draco_mesh_compression"


@dataclass(frozen=True, eq=False)
class Primitive:
    """Triangles that share a material."""

    vertices: Float[np.ndarray, "vertex 3"]
    faces: Int[np.ndarray, "face 3"]
    colors: Float[np.ndarray, "vertex 3"]
    """sRGB."""
    uv: Float[np.ndarray, "vertex 2"]
    """Places on the picture of the material; zero where there is none."""
    material: int
    joints: Int[np.ndarray, "vertex influence"]
    """Indices into the joints of the skin; no columns where the file has none."""
    weights: Float[np.ndarray, "vertex influence"]
    """As in the file, not repaired."""


def read_primitives(
    document: GltfDocument, mesh: Entry, morph: list[float], surfaces: list[Surface], notes: list[str]
) -> list[Primitive]:
    """All triangles of a mesh, its morph targets added in the given amounts."""
    found = []
    for entry in mesh.items("primitives"):
        mode = entry.whole("mode", TRIANGLES)
        if mode in (TRIANGLES, STRIP, FAN):
            found.append(_primitive(document, entry, mode, morph, surfaces))
        else:
            notes.append(f"{entry.label} has points or lines (mode {mode}), which were left out.")
    return found


def element_count(document: GltfDocument, mesh: Entry) -> int:
    """How many elements reading a mesh takes, as the file declares it: small files can point to the same bytes often."""
    total = 0
    for entry in mesh.items("primitives"):
        tables = [entry.child("attributes"), *entry.items("targets")]
        read = [table.whole(name) for table in tables for name in table.fields if name in table]
        read += [entry.whole("indices")] if "indices" in entry else []
        total += sum(document.root.item("accessors", index).whole("count") for index in read)
    return total


def _primitive(document: GltfDocument, entry: Entry, mode: int, morph: list[float], surfaces: list[Surface]) -> Primitive:
    """Triangles with all that hangs on their vertices."""
    attributes = entry.child("attributes")
    _refuse_compression(document, entry, attributes)
    vertices = _attribute(document, attributes, "POSITION", (3,)) + _morphed(document, entry, morph)
    faces = _faces(document, entry, mode, len(vertices))
    used, inverse = np.unique(faces, return_inverse=True)  # primitives often share one long list of vertices
    if not np.all(np.abs(vertices[used]) < MAX_COORDINATE):
        raise AkdError(f"{entry.label} has vertices that are not finite numbers; please export the file again.")
    material = entry.whole("material", len(surfaces) - 1, below=len(surfaces))
    surface = surfaces[material]
    uv = surface.picture_uv(_optional(document, attributes, f"TEXCOORD_{surface.uv_set}", (2,), len(vertices), 0.0)[used])
    tint = np.clip(np.nan_to_num(_tint(document, attributes, len(vertices))[used], nan=1.0), 0, 1)
    joints, weights = _influences(document, attributes, len(vertices))
    colors = surface.vertex_colors(tint, uv)
    return Primitive(vertices[used], inverse.reshape(faces.shape), colors, uv, material, joints[used], weights[used])


def _refuse_compression(document: GltfDocument, entry: Entry, attributes: Entry) -> None:
    """Draco data may come with ordinary data beside it; without them there is nothing to read."""
    if DRACO in entry.child("extensions"):
        position = document.root.item("accessors", attributes.whole("POSITION"))
        if "bufferView" not in position:
            raise AkdError(f"{entry.label} is compressed with {DRACO}, which akd cannot read; please export it uncompressed.")


def _attribute(document: GltfDocument, attributes: Entry, name: str, shape: tuple[int, ...]) -> Float[np.ndarray, "vertex ..."]:
    """An attribute as floats."""
    values = accessor(document, attributes.whole(name))
    if values.shape[1:] != shape or len(values) > MAX_VERTICES:
        expected = f"{shape[0]} numbers for each of at most {MAX_VERTICES} vertices"
        raise AkdError(f"{name} of {attributes.label} has shape {values.shape}, not {expected}; please export the file again.")
    return values.astype(float)


def _optional(
    document: GltfDocument, attributes: Entry, name: str, shape: tuple[int, ...], count: int, default: float
) -> Float[np.ndarray, "vertex ..."]:
    """An attribute that may be absent."""
    if name not in attributes:
        return np.full((count, *shape), default)
    values = _attribute(document, attributes, name, shape)
    if len(values) != count:
        raise AkdError(f"{name} of {attributes.label} has {len(values)} entries for {count} vertices; please export it again.")
    return values


def _tint(document: GltfDocument, attributes: Entry, count: int) -> Float[np.ndarray, "vertex 3"]:
    """Vertex colours, linear, without their transparency."""
    if "COLOR_0" not in attributes:
        return np.ones((count, 3))
    kind = document.root.item("accessors", attributes.whole("COLOR_0")).text("type")
    return _optional(document, attributes, "COLOR_0", (4,) if kind == "VEC4" else (3,), count, 1.0)[:, :3]


def _morphed(document: GltfDocument, entry: Entry, morph: list[float]) -> Float[np.ndarray, "*vertex 3"]:
    """The shift of all vertices by morph targets."""
    shift = np.zeros(3)
    for amount, target in zip(morph, entry.items("targets"), strict=False):
        if amount and "POSITION" in target:
            delta = amount * _attribute(document, target, "POSITION", (3,))
            if shift.ndim == 2 and len(shift) != len(delta):
                raise AkdError(f"The morph targets of {entry.label} differ in length; please export the file again.")
            shift = shift + delta
    return shift


def _faces(document: GltfDocument, entry: Entry, mode: int, count: int) -> Int[np.ndarray, "face 3"]:
    """Triangles as three vertex indices each."""
    indices = accessor(document, entry.whole("indices")) if "indices" in entry else np.arange(count)
    if indices.dtype.kind != "i" or indices.ndim != 1 or (indices.size and not 0 <= indices.min() <= indices.max() < count):
        raise AkdError(f"{entry.label} has faces that refer to more than its {count} vertices; please export the file again.")
    if mode == TRIANGLES:
        return indices[: len(indices) // 3 * 3].reshape(-1, 3)
    start = np.arange(max(len(indices) - 2, 0))
    if mode == FAN:
        return indices[np.stack((start + 1, start + 2, np.zeros_like(start)), -1)] if len(start) else np.zeros((0, 3), int)
    odd = start % 2  # every second triangle of a strip is turned over
    corners = np.stack((start, start + 1 + odd, start + 2 - odd), -1)
    return indices[corners] if len(start) else np.zeros((0, 3), int)


def _influences(
    document: GltfDocument, attributes: Entry, count: int
) -> tuple[Int[np.ndarray, "vertex influence"], Float[np.ndarray, "vertex influence"]]:
    """Joints and weights of all sets, four columns each."""
    sets = 0
    while f"JOINTS_{sets}" in attributes and f"WEIGHTS_{sets}" in attributes:
        sets += 1
    joints = [_optional(document, attributes, f"JOINTS_{i}", (4,), count, 0.0) for i in range(sets)]
    weights = [_optional(document, attributes, f"WEIGHTS_{i}", (4,), count, 0.0) for i in range(sets)]
    if not sets:
        return np.zeros((count, 0), int), np.zeros((count, 0))
    whole = np.clip(np.nan_to_num(np.concatenate(joints, 1), nan=-1), -1, 2**31).astype(int)
    return whole, np.concatenate(weights, 1)
