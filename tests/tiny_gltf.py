"""Hand-made glTF files, small enough to know every number in them."""

import base64
import json
import struct
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CODES = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


class TinyGltf:
    """A glTF under construction: JSON that a test may bend at will, and one buffer."""

    def __init__(self) -> None:
        self.json: dict[str, Any] = {"asset": {"version": "2.0"}}
        self.blob = bytearray()

    def add(self, table: str, **entry: Any) -> int:
        """Append an entry to one of the file's tables."""
        self.json.setdefault(table, []).append(entry)
        return len(self.json[table]) - 1

    def view(self, data: bytes, **extra: Any) -> int:
        """Append bytes, aligned to four."""
        self.blob += bytes(-len(self.blob) % 4)
        start = len(self.blob)
        self.blob += data
        return self.add("bufferViews", buffer=0, byteOffset=start, byteLength=len(data), **extra)

    def accessor(self, values: Any, dtype: str = "f4", **extra: Any) -> int:
        """Append numbers; a list of 4 × 4 matrices is stored by columns."""
        array = np.asarray(values)
        kind = {1: "SCALAR", 2: f"VEC{array.shape[-1]}", 3: "MAT4"}[array.ndim]
        data = (array.swapaxes(1, 2) if array.ndim == 3 else array).astype("<" + dtype).tobytes()
        return self.add(
            "accessors", bufferView=self.view(data), componentType=CODES[dtype], count=len(array), type=kind, **extra
        )

    def picture(self, pixels: Any) -> int:
        """Append a texture that shows a PNG with these sRGB pixels."""
        stream = BytesIO()
        Image.fromarray(np.array(pixels, np.uint8)).save(stream, "PNG")
        image = self.add("images", bufferView=self.view(stream.getvalue()), mimeType="image/png")
        return self.add("textures", source=image)

    def mesh(self, positions: Any = TRIANGLE, **primitive: Any) -> int:
        """A mesh of one primitive; other arguments go into the primitive, ``attributes`` beside POSITION."""
        attributes = {"POSITION": self.accessor(positions), **primitive.pop("attributes", {})}
        return self.add("meshes", primitives=[{"attributes": attributes, **primitive}])

    def clip(self, node: int, path: str, times: Any, values: Any, name: str = "move", **sampler: Any) -> None:
        """An animation with one channel."""
        entry = {"input": self.accessor(times), "output": self.accessor(values), **sampler}
        self.add("animations", name=name, channels=[{"sampler": 0, "target": {"node": node, "path": path}}], samplers=[entry])

    def chunks(self) -> tuple[bytes, bytes]:
        """JSON and BIN, padded as the standard asks."""
        whole = {**self.json, "buffers": [{"byteLength": len(self.blob)}]} if self.blob else self.json
        text = json.dumps(whole).encode()
        return text + b" " * (-len(text) % 4), bytes(self.blob) + bytes(-len(self.blob) % 4)

    def glb(self, path: Path) -> Path:
        """Write a .glb."""
        path.write_bytes(glb_bytes(*self.chunks()))
        return path

    def gltf(self, path: Path, uri: str | None = None) -> Path:
        """Write a .gltf with its buffer at ``uri``, or inside."""
        inside = "data:application/octet-stream;base64," + base64.b64encode(self.blob).decode()
        buffer = {"byteLength": len(self.blob), "uri": uri or inside}
        path.write_text(json.dumps({**self.json, "buffers": [buffer]}))
        return path


def glb_bytes(text: bytes, binary: bytes) -> bytes:
    """A GLB from its two chunks."""
    body = struct.pack("<I4s", len(text), b"JSON") + text
    if binary:
        body += struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def skinned_arm(joints: Any = None, weights: Any = None, bind: bool = True) -> TinyGltf:
    """A triangle on two joints, "upper" at the origin and "lower" one unit up; node 2 wears the skin."""
    tiny = TinyGltf()
    tiny.add("nodes", name="upper", children=[1])
    tiny.add("nodes", name="lower", translation=[0, 1, 0])
    attributes = {
        "JOINTS_0": tiny.accessor([[0, 1, 0, 0]] * 3 if joints is None else joints, "u1"),
        "WEIGHTS_0": tiny.accessor([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 1, 0, 0]] if weights is None else weights),
    }
    tiny.add("nodes", name="body", mesh=tiny.mesh(attributes=attributes), skin=0)
    matrices = np.tile(np.eye(4), (2, 1, 1))
    matrices[1, 1, 3] = -1
    tiny.add("skins", joints=[0, 1], **({"inverseBindMatrices": tiny.accessor(matrices)} if bind else {}))
    return tiny
