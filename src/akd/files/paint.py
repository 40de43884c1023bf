"""Colours at the vertices from materials and their pictures, and how to find those pictures beside a file."""

import io
from pathlib import Path, PureWindowsPath

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image

from akd.files.gltf.materials import REPEAT, sample_image
from akd.files.reading import file_bytes
from akd.mesh import Material

GREY = np.full(3, 0.7)
"""sRGB of what has no colour of its own."""
LARGEST = 2048  # pixels along a side; finer pictures are scaled down, no video is that sharp


def painted(
    vertex_count: int, faces: Int[np.ndarray, "face 3"],
    materials: tuple[Material, ...] = (), face_material: Int[np.ndarray, " face"] | None = None,
    uv: Float[np.ndarray, "vertex 2"] | None = None, own: Float[np.ndarray, "vertex 3"] | None = None,
) -> Float[np.ndarray, "vertex 3"]:
    """sRGB at each vertex: its own colour × its material's × the picture there. A vertex of several materials takes the last."""
    if face_material is None:
        return own if own is not None else np.tile(GREY, (vertex_count, 1))
    out = np.tile(GREY, (vertex_count, 1))
    for index, material in enumerate(materials):
        touched = np.unique(faces[face_material == index])
        out[touched] = material.color
        if material.texture is not None and uv is not None:
            out[touched] *= sample_image(material.texture, uv[touched], (REPEAT, REPEAT))
    return out if own is None else out * own


def decoded(content: bytes) -> UInt8[np.ndarray, "height width 3"] | None:
    """The pixels of an image file, or nothing if Pillow cannot read it."""
    try:
        image = Image.open(io.BytesIO(content)).convert("RGB")
    except Exception:  # Pillow raises whatever its decoders raise
        return None
    image.thumbnail((LARGEST, LARGEST))
    return np.array(image)


def beside(path: Path, name: str) -> Path | None:
    """A file that another one names, looked for in that one's folder only: what a file from elsewhere says is not trusted."""
    folder = path.parent.resolve()
    for candidate in (folder / name, folder / PureWindowsPath(name).name):
        try:
            found = candidate.resolve()
            if found.is_relative_to(folder) and found.is_file():
                return found
        except (OSError, ValueError):
            continue
    return None


def picture_beside(path: Path, name: str) -> UInt8[np.ndarray, "height width 3"] | None:
    """The pixels of an image that a file names, if it lies beside it and can be read."""
    found = beside(path, name)
    return decoded(file_bytes(found)) if found else None
