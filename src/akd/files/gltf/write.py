"""A GLB under construction: the JSON and the BIN chunk, both of which only ever grow at their ends.

Add a clip to a glTF file: the user's own file comes back with one animation more and everything else as it was.
"""

import base64
import copy
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from akd.errors import AkdError
from akd.files.gltf.document import COMPONENT_TYPES, ELEMENT_SHAPES, GltfDocument, GltfSource, uri_bytes
from akd.files.gltf.json_entry import Entry
from akd.files.gltf.nodes import Trs, decompose, unique_names
from akd.files.keys import Keys
from akd.files.scene import relative_to
from akd.rig import FileRig

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
                length = buffer.whole("byteLength")
                if length > len(contents) + BIN_PADDING:  # a place to unpack data into, maybe of terabytes
                    raise AkdError(
                        f"{buffer.label} says it has {length} bytes, but there are {len(contents)}, so no clip can be added to"
                        " the file; please export it again without compression."
                    )
                pack.binary = bytearray(contents.ljust(length, b"\0"))
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


BIN_PADDING = 3
"""Bytes by which a buffer may be longer than what is stored of it, in files whose BIN chunk was cut at the last number."""
SAME = 1e-6  # relative; what float32 cannot tell apart after a few products


@dataclass(frozen=True)
class AddedClip:
    """A GLB with an animation added."""

    data: bytes
    """The new file."""
    name: str
    """What the animation is called there: the wanted name, with a number where that was taken."""
    residual: float
    """Largest relative error of a bone's 3 × 3 part; more than rounding only if a bone should shear, which glTF cannot say."""


class Channel(NamedTuple):
    """What a clip says about one property of one node."""

    node: int
    path: str
    """translation, rotation or scale."""
    values: Float[np.ndarray, "frame component"]


@dataclass(frozen=True, eq=False)
class BoneNodes:
    """The nodes of a file in the pose that holds where no clip says otherwise, and which of them are bones."""

    bones: Sequence[int]
    """Node of each bone, parents before children."""
    parents: Sequence[int]
    """Parent of each node, −1 for roots."""
    locals: Float[np.ndarray, "node 4 4"]
    defaults: Sequence[Trs]
    """The same for each bone as the properties a clip may change."""


def add_clip(
    file: FileRig, name: str, times: Float[np.ndarray, " frame"], world: Float[np.ndarray, "frame bone 4 4"]
) -> AddedClip:
    """The file with one more animation, in which bone b is at ``world[i, b]`` (file axes) at ``times[i]`` [s].

    The old BIN chunk is the beginning of the new one, and every old JSON entry stays as it is, known to us or not,
    except where that cannot be: buffer 0 grows, a bone given by a ``matrix`` gets the equal translation, rotation
    and scale (the standard forbids to animate a matrix), and files that the old one refers to are embedded
    (see ``GltfPack.of``). A .gltf becomes a .glb.
    """
    source = file.document
    if not isinstance(source, GltfSource):
        raise AkdError("A clip can be added only to a rig that was read from a .glb or .gltf file; write a new file instead.")
    pack = GltfPack.of(source.document)
    root = Entry(pack.json, source.document.path.name)
    tree = bone_tree(root, source)
    taken = {clip.name for clip in file.clips} | {animation.text("name", "") for animation in root.items("animations")}
    free = unique_names([*sorted(taken), name])[-1]
    residual = append_clip(pack, free, times, world, tree)
    return AddedClip(pack.to_bytes(), free, residual)


def bone_tree(root: Entry, source: GltfSource) -> BoneNodes:
    """The bones of a file under construction. Nodes given by a matrix are rewritten, so that a clip may change them."""
    defaults = [_released(root.item("nodes", node)) for node in source.bone_nodes]
    return BoneNodes(source.bone_nodes, source.node_parents, source.node_locals, defaults)


def append_clip(
    pack: GltfPack, name: str, times: Float[np.ndarray, " frame"], world: Float[np.ndarray, "frame bone 4 4"], tree: BoneNodes,
    reduce: Callable[[list[Channel]], list[Keys]] | None = None,
) -> float:  # fmt: skip
    """Append an animation to a file under construction; the residual of ``AddedClip``. ``reduce`` finds fewer keys for it."""
    _check_clip(times, world, len(tree.bones))
    root = Entry(pack.json, "the file")
    others = _animated(root)
    channels, residual = bone_channels(world, tree, others)
    held = _held(root, tree, others, len(times))
    if reduce is not None and len(times) > 1:
        _append_smooth(pack, name, times, channels, reduce(channels), held)
        return residual
    channels += held
    (time,) = pack.append_arrays([times.astype(np.float32)], bounds=True)
    values = pack.append_arrays([channel.values.astype(np.float32) for channel in channels])
    pack.append("animations", {
        "name": name,
        "channels": [{"sampler": i, "target": {"node": t.node, "path": t.path}} for i, t in enumerate(channels)],
        "samplers": [{"input": time, "interpolation": "LINEAR", "output": output} for output in values],
    })  # fmt: skip
    return residual


def _append_smooth(
    pack: GltfPack, name: str, times: np.ndarray, channels: list[Channel], keys: list[Keys], held: list[Channel]
) -> None:
    """An animation of cubic splines: at each key the slope before it, its value, and the slope after it."""
    ends = np.array([0, len(times) - 1])
    keys = [*keys, *(Keys(ends, channel.values[ends], np.zeros_like(channel.values[ends])) for channel in held)]
    samplers = []
    for each in keys:
        (at,) = pack.append_arrays([times[each.frames].astype(np.float32)], bounds=True)
        spline = np.stack((each.slopes, each.values, each.slopes), 1).reshape(-1, each.values.shape[1])
        (output,) = pack.append_arrays([spline.astype(np.float32)])
        samplers.append({"input": at, "interpolation": "CUBICSPLINE", "output": output})
    targets = [{"node": channel.node, "path": channel.path} for channel in (*channels, *held)]
    pack.append("animations", {
        "name": name, "samplers": samplers,
        "channels": [{"sampler": index, "target": target} for index, target in enumerate(targets)],
    })  # fmt: skip


def bone_channels(
    world: Float[np.ndarray, "frame bone 4 4"], tree: BoneNodes, others: set[tuple[int, str]]
) -> tuple[list[Channel], float]:
    """What to write so that the bones are where they should be, and the residual.

    Every bone gets a rotation and every root a translation. Other translations and scales are written only where they
    leave the node's default, or where another clip (``others``) changes them: players do not always reset a property
    that the next clip does not mention. A bone is placed relative to where its parent was *written*, so errors do not add up.
    """
    place = {node: bone for bone, node in enumerate(tree.bones)}
    written = np.empty(world.shape)
    channels: list[Channel] = []
    for bone, (node, default) in enumerate(zip(tree.bones, tree.defaults, strict=True)):
        above, still = bone_above(node, tree, place)
        parent = np.broadcast_to(np.eye(4) if above is None else written[:, above], (len(world), 4, 4)) @ still
        wanted = decompose(relative_to(parent, world[:, bone], default), default)
        required = {"rotation"} if above is not None else {"rotation", "translation"}
        said = [
            Channel(node, path, values.astype(np.float32).astype(float))
            for path, values, usual in zip(Trs._fields, wanted, default, strict=True)
            if path in required or (node, path) in others or np.abs(values - usual).max() > SAME * np.abs(usual).max()
        ]
        unsaid = Trs(*(np.broadcast_to(usual, values.shape) for values, usual in zip(wanted, default, strict=True)))
        written[:, bone] = parent @ unsaid._replace(**{channel.path: channel.values for channel in said}).matrix()
        channels += said
    error = np.linalg.norm((written - world)[..., :3, :3], axis=(-2, -1))
    return channels, float((error / np.maximum(np.linalg.norm(world[..., :3, :3], axis=(-2, -1)), 1e-12)).max())


def channel_worlds(channels: Sequence[Channel], tree: BoneNodes, frames: int) -> Float[np.ndarray, "frame bone 4 4"]:
    """Where the bones are when the channels have these values: the inverse of ``bone_channels``."""
    place = {node: bone for bone, node in enumerate(tree.bones)}
    said = {(channel.node, channel.path): channel.values for channel in channels}
    world = np.empty((frames, len(tree.bones), 4, 4))
    for bone, (node, default) in enumerate(zip(tree.bones, tree.defaults, strict=True)):
        above, still = bone_above(node, tree, place)
        usual = default._asdict()
        parts = {path: said.get((node, path), np.broadcast_to(usual[path], (frames, len(usual[path])))) for path in Trs._fields}
        world[:, bone] = (np.eye(4) if above is None else world[:, above]) @ still @ Trs(**parts).matrix()
    return world


def bone_above(node: int, tree: BoneNodes, place: dict[int, int]) -> tuple[int | None, Float[np.ndarray, "4 4"]]:
    """The nearest bone above a node, and the way down to the node's parent through nodes that this clip leaves alone."""
    still, above = np.eye(4), tree.parents[node]
    while above >= 0 and above not in place:
        still, above = tree.locals[above] @ still, tree.parents[above]
    return place.get(above), still


def _released(node: Entry) -> Trs:
    """A node's default properties; one given by a matrix is rewritten with them, so that a clip may change them."""
    if "matrix" in node:
        matrix = node.numbers("matrix", 16).reshape(4, 4).T
        parts = Trs(*(part[0] for part in decompose(matrix[None])))
        del node.fields["matrix"]
        node.fields.update({path: values.tolist() for path, values in zip(Trs._fields, parts, strict=True)})
    return Trs(
        node.numbers("translation", 3, (0, 0, 0)), node.numbers("rotation", 4, (0, 0, 0, 1)), node.numbers("scale", 3, (1, 1, 1))
    )


def _animated(root: Entry) -> set[tuple[int, str]]:
    """The properties (node, path) that the file's clips change."""
    targets = (channel.child("target") for clip in root.items("animations") for channel in clip.items("channels"))
    return {(target.whole("node"), target.text("path")) for target in targets if "node" in target}


def _held(root: Entry, tree: BoneNodes, others: set[tuple[int, str]], frames: int) -> list[Channel]:
    """Nodes above the bones that other clips move: this one holds them at their defaults, on which its bones were computed."""
    above: set[int] = set()
    for node in tree.bones:
        while (node := tree.parents[node]) >= 0 and node not in above:
            above.add(node)
    still = above - set(tree.bones)
    return [
        Channel(node, path, np.tile(getattr(_released(root.item("nodes", node)), path), (frames, 1)))
        for node, path in sorted(others) if node in still and path in Trs._fields
    ]  # fmt: skip


def _check_clip(times: np.ndarray, world: np.ndarray, bone_count: int) -> None:
    if world.shape[1] != bone_count:
        raise AkdError(f"The clip moves {world.shape[1]} bones, but the file has {bone_count}; sample it for this file.")
    if len(times) == 0 or times[0] < 0 or np.any(np.diff(times.astype(np.float32)) <= 0):
        raise AkdError("A clip's times must start at or after zero and increase from frame to frame.")
    if not (np.all(np.isfinite(times)) and np.all(np.isfinite(world))):
        raise AkdError("The clip contains numbers that are not finite; look where the motion came from.")
