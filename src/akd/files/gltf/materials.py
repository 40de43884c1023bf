"""Materials of a glTF file: a colour, a picture, and where on the picture a vertex lies.

glTF gives factors and vertex colours as linear light, and pictures as sRGB.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from akd.files.gltf.document import GltfDocument
from akd.files.gltf.images import CLAMP, MIRROR, REPEAT, UnreadableImage, linear_to_srgb, read_image, sample_image, srgb_to_linear
from akd.files.gltf.json_entry import Entry
from akd.mesh import Material

MAX_UV = 1e6  # beyond this the fraction of a texture coordinate has lost its meaning
MAX_IMAGES = 32


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
