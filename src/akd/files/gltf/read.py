"""Read a glTF, GLB or VRM file: bones, their rest pose, the mesh bound to them, and clips."""

from collections import Counter
from pathlib import Path

import numpy as np
from jaxtyping import Float

from akd.files.geometry import repair_notes
from akd.files.gltf.clips import ClipSampler, read_clips
from akd.files.gltf.document import GltfDocument, GltfSource, read_document
from akd.files.gltf.materials import read_surfaces
from akd.files.gltf.meshes import bound_mesh, mesh_instances
from akd.files.gltf.nodes import choose_bones, read_nodes
from akd.files.gltf.packed import unpacked
from akd.files.gltf.skins import read_skins, rest_pose
from akd.files.gltf.vrm import read_humanoid
from akd.rig import FileRig

FORWARD = (0.0, 0.0, 1.0)  # the standard's facing direction
SCALED = 0.01  # bones longer or shorter than this part of a unit carry a scale worth telling


def read_gltf(path: str | Path) -> FileRig:
    """A .glb, .gltf or .vrm file as a rig in its own axes.

    Rest is the pose the mesh was bound in, not the default pose of the nodes, which is often a frame of some clip.
    """
    document = read_document(path)
    notes: list[str] = []
    with np.errstate(all="ignore"):  # what overflows is found by the range checks
        return _file_rig(document, notes)


def _file_rig(source: GltfDocument, notes: list[str]) -> FileRig:
    """The parts of a file in the order in which they depend on each other."""
    document = unpacked(source)
    tree = read_nodes(document)
    clips, tracks = read_clips(document, tree, notes)
    surfaces = read_surfaces(document, notes)
    instances = mesh_instances(document, tree, surfaces, notes)
    wearers = {instance.skin: instance.node for instance in reversed(instances) if instance.skin is not None}
    skins = read_skins(document, tree, wearers, notes)
    animated = {track.node for clip in tracks.values() for track in clip}
    rigid = [instance.node for instance in instances if instance.skin is None]
    bones = choose_bones(tree, {int(joint) for skin in skins for joint in skin.joints}, animated, rigid)
    rest = rest_pose(tree, bones, skins, notes)
    counts: Counter[str] = Counter()
    mesh, weights = bound_mesh(tree, bones, rest, skins, surfaces, instances, counts)
    notes += repair_notes(counts) + _scale_notes(rest)
    human = read_humanoid(document)
    sampler = ClipSampler(document, tree, bones.nodes, tracks)
    return FileRig(
        names=tuple(tree.names[node] for node in bones.nodes),
        parents=bones.parents,
        rest=rest,
        mesh=mesh,
        weights=weights,
        clips=clips,
        sample=sampler if clips else None,
        metres=1.0,
        forward=np.array(FORWARD) if human is None else np.array(human.forward),
        path=document.path,
        humanoid=() if human is None else tuple((role, tree.names[node]) for role, node in human.nodes if node in bones.of_node),
        document=GltfSource(source, bones.nodes, tuple(map(int, tree.parents)), tree.local, tree.world),
        notes=tuple(dict.fromkeys(notes)),
    )


def _scale_notes(rest: Float[np.ndarray, "bone 4 4"]) -> list[str]:
    """Tell about bones that scale what hangs on them."""
    lengths = np.linalg.norm(rest[:, :3, :3], axis=1)
    if not len(rest) or np.abs(lengths - 1).max() <= SCALED:
        return []
    return [f"The bones carry a scale at rest, from {lengths.min():.4g} to {lengths.max():.4g}."]
