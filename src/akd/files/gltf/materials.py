"""Materials and pictures of a glTF file: colours, images, and the colour at every vertex."""

import warnings
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image

from akd.errors import AkdError
from akd.files.gltf.document import GltfDocument, file_bytes, uri_target, view_bytes
from akd.files.gltf.json_entry import Entry, shortened
from akd.mesh import Material

MAX_PIXELS = 2**26  # decoded, in one picture
MAX_SIDE = 2048  # kept: finer detail than anything akd draws
CLAMP, MIRROR, REPEAT = 33071, 33648, 10497
MAX_UV = 1e6  # beyond this the fraction of a texture coordinate has lost its meaning
MAX_IMAGES = 32


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


@dataclass(frozen=True, eq=False)
class Surface:
    """A material, and how its picture is laid on."""

    material: Material
    factor: Float[np.ndarray, " 3"]
    """The material's colour as linear light."""
    uv_set: int = 0
    """Which TEXCOORD_n it uses."""
    uv_map: Float[np.ndarray, "2 3"] | None = None
    """Affine map of the texture coordinates."""
    wrap: tuple[int, int] = (REPEAT, REPEAT)
    """glTF codes for what is beyond the edges of the picture, sideways and downwards."""

    def picture_uv(self, uv: Float[np.ndarray, "vertex 2"]) -> Float[np.ndarray, "vertex 2"]:
        """Where on the picture the vertices with these texture coordinates lie."""
        uv = np.clip(np.nan_to_num(uv), -MAX_UV, MAX_UV)
        return uv if self.uv_map is None else np.clip(uv @ self.uv_map[:, :2].T + self.uv_map[:, 2], -MAX_UV, MAX_UV)

    def vertex_colors(
        self, tint: Float[np.ndarray, "vertex 3"], uv: Float[np.ndarray, "vertex 2"]
    ) -> Float[np.ndarray, "vertex 3"]:
        """sRGB of vertices with these vertex colours (linear) and places on the picture."""
        light = tint * self.factor
        if self.material.texture is not None:
            light = light * srgb_to_linear(sample_image(self.material.texture, uv, self.wrap))
        return linear_to_srgb(light)


def read_surfaces(document: GltfDocument, notes: list[str]) -> list[Surface]:
    """All materials of the file, and at the end the white one of primitives without material."""
    images: dict[int, np.ndarray | None] = {}
    surfaces = []
    for index, entry in enumerate(document.root.items("materials")):
        factor, texture = _base_color(entry)
        picture = _picture(document, texture, images, notes)
        name = entry.text("name", "") or f"material{index}"
        material = Material(name, linear_to_srgb(factor), picture)
        layout = () if picture is None else _layout(document, texture)
        surfaces.append(Surface(material, factor, *layout))
    return [*surfaces, Surface(Material("default", np.ones(3)), np.ones(3))]


def _base_color(entry: Entry) -> tuple[Float[np.ndarray, " 3"], Entry]:
    """Colour factor (linear) and the reference to a texture, which may be empty."""
    older = entry.child("extensions").child("KHR_materials_pbrSpecularGlossiness")
    usual = entry.child("pbrMetallicRoughness")
    color, texture, source = ("baseColorFactor", "baseColorTexture", usual)
    if older.fields and not usual.fields:
        color, texture, source = ("diffuseFactor", "diffuseTexture", older)
    return np.clip(source.numbers(color, 4, (1, 1, 1, 1))[:3], 0, 1), source.child(texture)


def _picture(
    document: GltfDocument, reference: Entry, images: dict[int, np.ndarray | None], notes: list[str]
) -> np.ndarray | None:
    """The picture of a texture, decoded once; None with a note where it cannot be had."""
    if "index" not in reference:
        return None
    texture = document.root.item("textures", reference.whole("index"))
    webp = texture.child("extensions").child("EXT_texture_webp")
    holder = texture if "source" in texture else webp
    if "source" not in holder:
        notes.append(f"{texture.label} has no picture that akd can read, so its materials show their plain colour.")
        return None
    index = holder.whole("source")
    if index not in images and len(images) == MAX_IMAGES:
        notes.append(f"{texture.label} and later ones are left out, because {MAX_IMAGES} pictures are enough.")
        return None
    if index not in images:
        try:
            images[index] = read_image(document, index)
        except UnreadableImage as error:
            images[index] = None
            notes.append(f"Materials show their plain colour: {error}")
    return images[index]


def _layout(document: GltfDocument, reference: Entry) -> tuple[int, Float[np.ndarray, "2 3"] | None, tuple[int, int]]:
    """The set of texture coordinates, their affine map, and the wrapping of a texture reference."""
    moved = reference.child("extensions").child("KHR_texture_transform")
    uv_set = moved.whole("texCoord") if "texCoord" in moved else reference.whole("texCoord", 0)
    texture = document.root.item("textures", reference.whole("index"))
    sampler = document.root.item("samplers", texture.whole("sampler")) if "sampler" in texture else Entry({}, texture.label)
    wrap = (sampler.whole("wrapS", REPEAT), sampler.whole("wrapT", REPEAT))
    if not set(wrap) <= {CLAMP, MIRROR, REPEAT}:
        sampler.fail("wrapS", f"{CLAMP}, {MIRROR} or {REPEAT}, as 'wrapT' must be too")
    return uv_set, _uv_map(moved) if moved.fields else None, wrap


def _uv_map(moved: Entry) -> Float[np.ndarray, "2 3"]:
    """KHR_texture_transform: scale, then turn (from v towards u), then shift."""
    angle, scale = moved.number("rotation", 0.0), moved.numbers("scale", 2, (1, 1))
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.column_stack((np.array([[cosine, sine], [-sine, cosine]]) * scale, moved.numbers("offset", 2, (0, 0))))
