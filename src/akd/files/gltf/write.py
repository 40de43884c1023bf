"""Add a clip to a glTF file: the user's own file comes back with one animation more and everything else as it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from akd.errors import AkdError
from akd.files.gltf.document import GltfSource
from akd.files.gltf.json_entry import Entry
from akd.files.gltf.nodes import unique_names
from akd.files.gltf.pack import GltfPack
from akd.files.gltf.trs import Trs, decompose
from akd.rig import FileRig

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
    defaults = [_released(root.item("nodes", node)) for node in source.bone_nodes]
    tree = BoneNodes(source.bone_nodes, source.node_parents, source.node_locals, defaults)
    taken = {clip.name for clip in file.clips} | {animation.text("name", "") for animation in root.items("animations")}
    free = unique_names([*sorted(taken), name])[-1]
    residual = append_clip(pack, free, times, world, tree)
    return AddedClip(pack.to_bytes(), free, residual)


def append_clip(
    pack: GltfPack, name: str, times: Float[np.ndarray, " frame"], world: Float[np.ndarray, "frame bone 4 4"], tree: BoneNodes
) -> float:
    """Append an animation to a file under construction; the residual of ``AddedClip``."""
    _check_clip(times, world, len(tree.bones))
    root = Entry(pack.json, "the file")
    others = _animated(root)
    channels, residual = bone_channels(world, tree, others)
    channels += _held(root, tree, others, len(times))
    (time,) = pack.append_arrays([times.astype(np.float32)], bounds=True)
    values = pack.append_arrays([channel.values.astype(np.float32) for channel in channels])
    pack.append("animations", {
        "name": name,
        "channels": [{"sampler": i, "target": {"node": t.node, "path": t.path}} for i, t in enumerate(channels)],
        "samplers": [{"input": time, "interpolation": "LINEAR", "output": output} for output in values],
    })  # fmt: skip
    return residual


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
        above, still = _bone_above(node, tree, place)
        parent = np.broadcast_to(np.eye(4) if above is None else written[:, above], (len(world), 4, 4)) @ still
        wanted = decompose(_relative(parent, world[:, bone], default), default)
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


def _bone_above(node: int, tree: BoneNodes, place: dict[int, int]) -> tuple[int | None, Float[np.ndarray, "4 4"]]:
    """The nearest bone above a node, and the way down to the node's parent through nodes that this clip leaves alone."""
    still, above = np.eye(4), tree.parents[node]
    while above >= 0 and above not in place:
        still, above = tree.locals[above] @ still, tree.parents[above]
    return place.get(above), still


def _relative(parent: np.ndarray, world: np.ndarray, default: Trs) -> np.ndarray:
    """Local matrices. Below a parent scaled to nothing any would do, and the default is kept."""
    size = np.linalg.norm(parent[:, :3, :3], axis=(1, 2))
    vanished = (np.abs(np.linalg.det(parent[:, :3, :3])) <= 1e-12 * size**3)[:, None, None]
    return np.where(vanished, default.matrix(), np.linalg.solve(np.where(vanished, np.eye(4), parent), world))


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
