"""Pictures of a glTF file, and looking colours up in them."""

import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image

from akd.errors import AkdError
from akd.files.gltf.document import GltfDocument, file_bytes, uri_target, view_bytes
from akd.files.gltf.json_entry import shortened

MAX_PIXELS = 2**26  # decoded, in one picture
MAX_SIDE = 2048  # kept: finer detail than anything akd draws
CLAMP, MIRROR, REPEAT = 33071, 33648, 10497


class UnreadableImage(AkdError):
    """A picture is missing or damaged; shape and motion can be read without it."""


def read_image(document: GltfDocument, index: int) -> UInt8[np.ndarray, "height width 3"]:
    """A picture as sRGB, made smaller if it is very large; transparency is left out."""
    entry = document.root.item("images", index)
    embedded = "bufferView" in entry
    source = bytes(view_bytes(document, entry.whole("bufferView"))) if embedded else uri_target(entry.text("uri"), document.path)
    if isinstance(source, Path) and not source.is_file():
        raise UnreadableImage(f"{entry.label} is the file {source.name}, which is not there; please put it beside the model.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _decoded(source if isinstance(source, bytes) else file_bytes(source, source.name))
    except Exception as error:  # decoders meet damaged data with exceptions of every kind
        cause = shortened(str(error) or type(error).__name__)
        raise UnreadableImage(f"{entry.label} cannot be read ({cause}); please replace it by a PNG or JPEG picture.") from error


def sample_image(
    image: UInt8[np.ndarray, "height width 3"], uv: Float[np.ndarray, "vertex 2"], wrap: tuple[int, int]
) -> Float[np.ndarray, "vertex 3"]:
    """sRGB in [0, 1] at texture coordinates, between pixel centres by bilinear interpolation."""
    height, width = image.shape[:2]
    x, y = uv[:, 0] * width - 0.5, uv[:, 1] * height - 0.5
    left, top = np.floor(x), np.floor(y)
    right_part, bottom_part = (x - left)[:, None], (y - top)[:, None]
    columns = [_wrapped(left + step, width, wrap[0]) for step in (0, 1)]
    rows = [_wrapped(top + step, height, wrap[1]) for step in (0, 1)]
    upper, lower = (image[row, columns[0]] * (1 - right_part) + image[row, columns[1]] * right_part for row in rows)
    return (upper * (1 - bottom_part) + lower * bottom_part) / 255


def srgb_to_linear(color: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
    """Light from the values a screen takes."""
    return np.where(color <= 0.04045, color / 12.92, ((np.maximum(color, 0.04045) + 0.055) / 1.055) ** 2.4)


def linear_to_srgb(light: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
    """The values a screen takes, in [0, 1], from light."""
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.maximum(light, 0.0031308) ** (1 / 2.4) - 0.055)


def _decoded(data: bytes) -> UInt8[np.ndarray, "height width 3"]:
    """Decode only after the header has told a bearable size."""
    with Image.open(BytesIO(data), formats=("PNG", "JPEG", "WEBP")) as image:
        if image.width * image.height > MAX_PIXELS:
            raise ValueError(f"{image.width} × {image.height} pixels are too many")
        image.draft("RGB", (MAX_SIDE, MAX_SIDE))
        small: Image.Image = image.convert("RGB")
    small.thumbnail((MAX_SIDE, MAX_SIDE))
    return np.array(small)


def _wrapped(pixel: Float[np.ndarray, " vertex"], size: int, mode: int) -> Int[np.ndarray, " vertex"]:
    """Pixel indices inside the picture."""
    whole = pixel.astype(np.int64)
    if mode == CLAMP:
        return np.clip(whole, 0, size - 1)
    if mode == MIRROR:
        folded = whole % (2 * size)
        return np.where(folded < size, folded, 2 * size - 1 - folded)
    return whole % size
