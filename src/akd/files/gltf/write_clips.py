"""Several clips into the user's own glTF file, with new names for its bones or a root bone where that is wanted."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

import akd
from akd.errors import AkdError
from akd.files.gltf.document import GltfDocument, GltfSource, accessor
from akd.files.gltf.json_entry import Entry
from akd.files.gltf.nodes import IDENTITY, unique_names
from akd.files.gltf.write import BoneNodes, Channel, GltfPack, append_clip, bone_above, bone_tree, channel_worlds
from akd.files.gltf.write_rig import append_mesh
from akd.files.keys import Curve, Keys, allowed_error, fewest_keys, reaches, skin_corners
from akd.files.scene import Scene, rest_parts
from akd.rig import FileRig


def add_clips(file: FileRig, scene: Scene) -> bytes:
    """The file with the clips of a scene, whose bones are the file's, in order; one more in front is a new root bone.

    Where the scene's names differ from the file's, the nodes are renamed.
    """
    source = file.document
    if not isinstance(source, GltfSource):
        raise AkdError("A clip can be added only to a rig that was read from a .glb or .gltf file; write a new file instead.")
    pack = GltfPack.of(source.document)
    root = Entry(pack.json, source.document.path.name)
    tree, worlds = bone_tree(root, source), [clip.world for clip in scene.clips]
    new = len(scene.bones) - len(file.names)
    for node, name, old in zip(source.bone_nodes, scene.bones[new:], file.names, strict=True):
        if name != old:
            pack.json["nodes"][node]["name"] = name
    if new:
        tree, above = _with_root(pack, tree, scene.bones[0], source)
        worlds = [np.concatenate((world[:, :1] @ above, world[:, 1:]), 1) for world in worlds]
    taken = {clip.name for clip in file.clips} | {animation.text("name", "") for animation in root.items("animations")}
    names = unique_names([*sorted(taken), *(clip.name for clip in scene.clips)])[len(taken) :]
    for name, clip, world in zip(names, scene.clips, worlds, strict=True):
        append_clip(pack, name, clip.times, world, tree, reducer(scene, clip.times, tree) if clip.reduced else None)
    return pack.to_bytes()


def reducer(scene: Scene, times: Float[np.ndarray, " frame"], tree: BoneNodes) -> Callable[[list[Channel]], list[Keys]]:
    """Finds fewer keys for the channels of a clip of this scene."""
    corners = skin_corners(scene)
    reach = reaches(scene, corners)
    place = {node: bone for bone, node in enumerate(tree.bones)}
    scales = np.array([_scale_above(node, tree, place, scene) for node in tree.bones])

    def fewer(channels: list[Channel]) -> list[Keys]:
        def positions(values: list[np.ndarray]) -> list[np.ndarray]:
            world = channel_worlds([c._replace(values=v) for c, v in zip(channels, values, strict=True)], tree, len(times))
            return [np.einsum("fij,cj->fci", world[:, bone, :3], each) for bone, each in enumerate(corners)]

        levers = {"rotation": 2 * reach, "translation": scales, "scale": reach}
        curves = [Curve(place[c.node], c.values, float(levers[c.path][place[c.node]])) for c in channels]
        return fewest_keys(curves, times, positions, allowed_error(scene))

    return fewer


def _scale_above(node: int, tree: BoneNodes, place: dict[int, int], scene: Scene) -> float:
    """By how much the nodes above a bone scale its translation."""
    bone, still = bone_above(node, tree, place)
    parent = np.eye(4) if bone is None else scene.rest[bone]
    return float(np.cbrt(abs(np.linalg.det((parent @ still)[:3, :3]))))


def _with_root(pack: GltfPack, tree: BoneNodes, name: str, source: GltfSource) -> tuple[BoneNodes, np.ndarray]:
    """A new node above the topmost bones that have the same parent as the first, where that parent is; and its world matrix."""
    above = tree.parents[tree.bones[0]]
    tops = [node for node in tree.bones if tree.parents[node] == above]
    node = pack.append("nodes", {"name": name, "children": tops})
    lists = [pack.json["nodes"][above]] if above >= 0 else pack.json.get("scenes", [])
    for owner in lists:
        key = "children" if above >= 0 else "nodes"
        _replace(owner.get(key), tops, node)
    parents = [node if index in tops else parent for index, parent in enumerate(tree.parents)]
    world = source.node_worlds[above] if above >= 0 else np.eye(4)
    _join_skins(pack, source.document, node, world)
    local = np.concatenate((tree.locals, np.eye(4)[None]))
    bones, defaults = (node, *tree.bones), [IDENTITY, *tree.defaults]
    return replace(tree, bones=bones, parents=[*parents, above], locals=local, defaults=defaults), world


def _join_skins(pack: GltfPack, document: GltfDocument, node: int, world: np.ndarray) -> None:
    """Make a node a joint of every skin, though without weight: programs take only joints for bones."""
    for skin in pack.json.get("skins", []):
        if "inverseBindMatrices" in skin:
            stored = accessor(document, skin["inverseBindMatrices"])[: len(skin["joints"])]
            inverse = np.concatenate((stored, np.linalg.inv(world)[None])).astype(np.float32)
            inverse[:, 3] = (0, 0, 0, 1)
            (skin["inverseBindMatrices"],) = pack.append_arrays([inverse])
        skin["joints"].append(node)


def _replace(members: list[int] | None, old: Sequence[int], new: int) -> None:
    """Put one member in the place of several."""
    if members is not None and any(node in old for node in members):
        place = min(members.index(node) for node in old if node in members)
        members[:] = [node for node in members[:place] if node not in old] + [new] + [n for n in members[place:] if n not in old]


def encode_scene(scene: Scene) -> bytes:
    """A complete new GLB of a scene."""
    pack = GltfPack({"asset": {"version": "2.0", "generator": f"akd {akd.__version__}"}, "scene": 0})
    rest = rest_parts(scene)
    parents = scene.parents.tolist()
    for bone, (name, part) in enumerate(zip(scene.bones, rest, strict=True)):
        children = [child for child, parent in enumerate(parents) if parent == bone]
        node = {"name": name} | {path: values.tolist() for path, values in part._asdict().items()}
        pack.append("nodes", node | ({"children": children} if children else {}))
    tree = BoneNodes(range(len(parents)), parents, np.stack([part.matrix() for part in rest]), rest)
    roots = [bone for bone, parent in enumerate(parents) if parent < 0]
    if len(scene.mesh.faces):
        inverse = np.linalg.inv(scene.rest).astype(np.float32)
        inverse[:, 3] = (0, 0, 0, 1)  # exactly, as the standard demands
        (binds,) = pack.append_arrays([inverse])
        skin = pack.append("skins", {"name": scene.name, "inverseBindMatrices": binds, "joints": list(range(len(parents)))})
        mesh = append_mesh(pack, scene.name, scene.mesh, scene.weights)
        roots.append(pack.append("nodes", {"name": scene.name, "mesh": mesh, "skin": skin}))
    pack.append("scenes", {"nodes": roots})
    for clip in scene.clips:
        append_clip(pack, clip.name, clip.times, clip.world, tree, reducer(scene, clip.times, tree) if clip.reduced else None)
    return pack.to_bytes()
