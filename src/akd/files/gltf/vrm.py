"""VRM, glTF for humanoid characters: which node is which bone of a human body, in versions 0.x and 1.0."""

from collections.abc import Iterator
from typing import NamedTuple

from akd.files.gltf.document import GltfDocument
from akd.files.gltf.json_entry import Entry


class Humanoid(NamedTuple):
    """What a VRM file says about its nodes."""

    nodes: tuple[tuple[str, int], ...]
    """Pairs of VRM's name for a bone and its node; each node once."""
    forward: tuple[float, float, float]
    """The direction in which the character looks."""


def read_humanoid(document: GltfDocument) -> Humanoid | None:
    """The humanoid in a file; None where it is no VRM. Version 0.x looks along −Z, version 1.0 along +Z."""
    extensions = document.root.child("extensions")
    if "VRMC_vrm" in extensions:
        bones = extensions.child("VRMC_vrm").child("humanoid").child("humanBones")
        named = ((name, bones.child(name)) for name in bones.fields)
        return Humanoid(_nodes(named, document.root.count("nodes")), (0.0, 0.0, 1.0))
    if "VRM" in extensions:
        listed = extensions.child("VRM").child("humanoid").items("humanBones")
        return Humanoid(_nodes(((bone.text("bone"), bone) for bone in listed), document.root.count("nodes")), (0.0, 0.0, -1.0))
    return None


def _nodes(bones: Iterator[tuple[str, Entry]], count: int) -> tuple[tuple[str, int], ...]:
    out: dict[int, str] = {}
    for name, bone in bones:
        if "node" in bone:
            out.setdefault(bone.whole("node", below=count), name)
    return tuple((name, node) for node, name in out.items())
