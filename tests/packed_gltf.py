"""GLB files packed by Draco and by meshoptimizer, from whole ones."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np

from akd.files.gltf.document import GltfDocument, accessor, glb_chunks, read_document, view_bytes
from tiny_gltf import CODES, glb_bytes

DTYPES = {code: name for name, code in CODES.items()}


def _chunks(content: dict[str, Any], binary: bytes) -> bytes:
    content["buffers"][0]["byteLength"] = len(binary)
    text = json.dumps(content).encode()
    return glb_bytes(text + b" " * (-len(text) % 4), bytes(binary) + bytes(-len(binary) % 4))


def draco(path: Path) -> bytes:
    """The file with every primitive packed, without loss; the plain numbers of meshes stay in the BIN, but nothing names them."""
    import DracoPy

    document = read_document(path)
    content, binary = copy.deepcopy(document.json), bytearray(document.binary)
    for mesh in content["meshes"]:
        for primitive in mesh["primitives"]:
            table = primitive["attributes"]
            values = {name: _stored(document, index) for name, index in table.items()}
            count = len(values["POSITION"])
            corners = accessor(document, primitive["indices"]) if "indices" in primitive else np.arange(count)
            others = {number: array for number, (name, array) in enumerate(values.items(), 1) if name != "POSITION"}
            packed = DracoPy.encode(
                values["POSITION"], corners.reshape(-1, 3).astype(np.uint32), quantization_bits=0, preserve_order=True,
                generic_attributes=others,
            )  # fmt: skip
            found = {entry["attribute_type"]: entry["unique_id"] for entry in DracoPy.decode(packed).attributes}
            names = {name: number for number, name in enumerate(values, 1)} | {"POSITION": found[0]}
            binary += bytes(-len(binary) % 4)
            view = {"buffer": 0, "byteOffset": len(binary), "byteLength": len(packed)}
            binary += packed
            content["bufferViews"].append(view)
            primitive["extensions"] = {
                "KHR_draco_mesh_compression": {"bufferView": len(content["bufferViews"]) - 1, "attributes": names}
            }
            for index in [*table.values(), *([primitive["indices"]] if "indices" in primitive else [])]:
                content["accessors"][index].pop("bufferView", None)
                content["accessors"][index].pop("byteOffset", None)
    content["extensionsUsed"] = content["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    return _chunks(content, binary)


def meshopt(path: Path) -> bytes:
    """The file with the attributes and the corners of every primitive packed; the plain buffer is left out."""
    import meshoptimizer

    document = read_document(path)
    content, binary = copy.deepcopy(document.json), bytearray()
    packed_views = {
        content["accessors"][index]["bufferView"]: content["accessors"][index]
        for mesh in content["meshes"] for primitive in mesh["primitives"] for index in primitive["attributes"].values()
    }  # fmt: skip
    for index, view in enumerate(content["bufferViews"]):
        data = bytes(view_bytes(document, index))
        binary += bytes(-len(binary) % 4)
        entry = packed_views.get(index)
        stride = 0 if entry is None else view.get("byteStride") or _stored(document, content["accessors"].index(entry))[0].nbytes
        if entry is None or stride % 4 or len(data) % stride:
            view.update(buffer=0, byteOffset=len(binary))
            binary += data
            continue
        count = len(data) // stride
        packed = meshoptimizer.encode_vertex_buffer(np.frombuffer(data, np.uint8).copy(), count, stride)
        view["extensions"] = {"EXT_meshopt_compression": {
            "buffer": 0, "byteOffset": len(binary), "byteLength": len(packed), "byteStride": stride, "count": count,
            "mode": "ATTRIBUTES",
        }}  # fmt: skip
        view.update(buffer=1, byteOffset=0)
        binary += packed
    content["buffers"] = [{"byteLength": 0}, {"byteLength": len(document.binary)}]
    content["extensionsUsed"] = content["extensionsRequired"] = ["EXT_meshopt_compression"]
    return _chunks(content, binary)


def _stored(document: GltfDocument, index: int) -> np.ndarray:
    """The numbers of an accessor in the type in which the file has them."""
    dtype = np.dtype("<" + DTYPES[document.json["accessors"][index]["componentType"]])
    return accessor(document, index).astype(dtype)


def as_vrm(path: Path, bones: dict[str, str], *, version: str = "1.0", back_to_front: bool = False) -> bytes:
    """The file as a VRM, with these VRM names for its nodes; version 0.x looks the other way."""
    content_bytes, binary = glb_chunks(path.read_bytes(), path.name)
    content = json.loads(content_bytes)
    place = {node.get("name"): index for index, node in enumerate(content["nodes"])}
    if back_to_front:
        roots = content["scenes"][content.get("scene", 0)]["nodes"]
        content["nodes"].append({"name": "turned", "rotation": [0, 1, 0, 0], "children": roots})
        content["scenes"][content.get("scene", 0)]["nodes"] = [len(content["nodes"]) - 1]
    if version == "1.0":
        table: Any = {role: {"node": place[name]} for role, name in bones.items()}
        content["extensions"] = {"VRMC_vrm": {"specVersion": "1.0", "humanoid": {"humanBones": table}}}
    else:
        listed = [{"bone": role, "node": place[name]} for role, name in bones.items()]
        content["extensions"] = {"VRM": {"specVersion": "0.0", "humanoid": {"humanBones": listed}}}
    content["extensionsUsed"] = list(content["extensions"])
    return _chunks(content, binary)
