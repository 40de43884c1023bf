"""Rig a file: add the skeleton or weights it lacks and keep those it has."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from akd.assets import axis_vector, check_height, read_file, rig_from
from akd.character.build import build_rig
from akd.errors import AkdError
from akd.files.skeleton_json import read_skeleton_json
from akd.mesh import Mesh
from akd.rig import FileRig, Rig
from akd.rigging.mesh_rig import rig_static
from akd.rigging.weights import HeatSettings, heat_weights
from akd.skeleton import Skeleton

Y_FROM_Z_UP = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
MAX_OFFSET = 0.5
"""A given skeleton whose centre is farther than this from the mesh's [size] belongs to another mesh."""


def load_or_rig(path: Path, *, forward: str | None = None, height: float | None = None) -> Rig:
    """A character file as a rig, read once: an artist's rig as it is, or what it lacks is made."""
    file = read_file(path)
    if file.names and file.weights.any():
        return rig_from(file, forward=forward, height=height)
    return complete_rig(file, forward=forward, height=height)


def auto_rig(mesh: Mesh | str | Path, *, template: str | None = None, height: float | None = None) -> Rig:
    """A rig for a mesh that has none, from its shape alone: skeleton, limb labels and skin weights.

        rig = akd.auto_rig("statue.obj")

    ``mesh`` is a file or a ``Mesh`` with Y up; ``template`` says what it is if you know better (biped, bird, quadruped, insect,
    spider or snake); ``height`` is how tall it is [m]. Skeletons and weights that a file already has are kept.
    """
    if not isinstance(mesh, Mesh):
        return rig_file(Path(mesh), template=template, height=height)
    return complete_rig(FileRig.static(mesh), template=template, height=height)


def rig_file(
    path: Path, *, skeleton: Path | None = None, template: str | None = None, reweight: bool = False, forward: str | None = None,
    height: float | None = None, k: int = 4, settings: HeatSettings | None = None,
) -> Rig:  # fmt: skip
    """A rig from any character file. A mesh without bones gets a skeleton (or that of the file ``skeleton``); bones
    without weights get weights; weights in the file stay unless ``reweight`` is set."""
    return complete_rig(
        read_file(path), skeleton=skeleton, template=template, reweight=reweight, forward=forward, height=height, k=k,
        settings=settings,
    )  # fmt: skip


def complete_rig(
    file: FileRig, *, skeleton: Path | None = None, template: str | None = None, reweight: bool = False,
    forward: str | None = None, height: float | None = None, k: int = 4, settings: HeatSettings | None = None,
) -> Rig:  # fmt: skip
    """``rig_file`` for a file that was read already."""
    name = file.path.name if file.path is not None else "The character"
    check_height(height)
    if file.mesh.vertex_count == 0:
        raise AkdError(f"{name} has no mesh, so there is nothing to rig; a skeleton alone goes to --skeleton.")
    ahead = None if forward is None else axis_vector(forward)
    if skeleton is not None:
        if file.names and not reweight:
            raise AkdError(f"{name} has a skeleton already: leave --skeleton out, or add --reweight to replace it.")
        given = read_skeleton_json(skeleton) if skeleton.suffix.lower() == ".json" else read_file(skeleton)
        file = _with_skeleton(file, given, skeleton.name)
    elif not file.names:
        return rig_either_way_up(file, template=template, forward=ahead, height=height, k=k, settings=settings)
    if reweight or not file.weights.any():
        made = (*file.notes, "Skin weights were made by heat diffusion.")
        file = replace(file, weights=_file_weights(file, k, settings), notes=made)
    else:
        file = replace(file, notes=(*file.notes, "The artist's weights were kept; --reweight replaces them."))
    if skeleton is not None:  # labels beside the file are about its own bones
        return build_rig(file, forward=ahead, height=height)
    return rig_from(file, forward=forward, height=height)


def rig_either_way_up(file: FileRig, *, template: str | None = None, **options: Any) -> Rig:
    """The rig with Y up, or with Z up where only that gives the body legs, as in many scans and CAD files."""
    try:
        rig = rig_static(file, template=template, **options)
    except AkdError:
        if not len(file.mesh.faces):
            raise
        rig = None
    if rig is not None and (rig.legs or template == "snake"):
        return rig
    note = "It stands with the file's Z axis up, and was turned."
    turned = replace(file, mesh=file.mesh.transformed(Y_FROM_Z_UP), forward=None, notes=(*file.notes, note))
    try:
        other = rig_static(turned, template=template, **options)
    except AkdError:
        other = None
    if other is not None and (rig is None or other.legs):
        return other
    return rig if rig is not None else rig_static(file, template=template, **options)


def _file_weights(file: FileRig, k: int, settings: HeatSettings | None) -> np.ndarray:
    """Weights for the file's own bones. Several roots are joined for the purpose: weights do not care about the tree's top."""
    parents = file.parents.copy()
    roots = np.flatnonzero(parents < 0)
    order = np.concatenate((roots[:1], np.delete(np.arange(len(parents)), roots[0])))
    place = np.argsort(order)
    joined = np.where(parents < 0, roots[0], parents)
    tree = np.array([-1 if bone == roots[0] else place[joined[bone]] for bone in order])
    skeleton = Skeleton.from_joints(tuple(file.names[b] for b in order), tree, file.rest[order, :3, 3])
    return heat_weights(file.mesh, skeleton, k=k, settings=settings)[:, place]


def _with_skeleton(file: FileRig, bones: FileRig, name: str) -> FileRig:
    """The mesh of one file with the bones of another, which must share its axes and units."""
    if not bones.names:
        raise AkdError(f"{name} has no bones: give a .json, .bvh, RigNet .txt or rigged file as the skeleton.")
    low, high = file.mesh.vertices.min(0), file.mesh.vertices.max(0)
    size = max(float((high - low).max()), 1e-12)
    heads = bones.rest[:, :3, 3]
    apart = float(np.linalg.norm(heads.mean(0) - (low + high) / 2)) / size
    scale = float(np.ptp(heads, axis=0).max()) / size
    if apart > MAX_OFFSET or not 0.05 < scale < 2:
        raise AkdError(
            f"The skeleton of {name} does not fit the mesh: it is {scale:.2g} times as large and {apart:.2g} sizes away;"
            " both must share axes and units."
        )
    empty = np.zeros((file.mesh.vertex_count, len(bones.names)))
    return replace(file, names=bones.names, parents=bones.parents, rest=bones.rest, weights=empty, clips=(), sample=None)
