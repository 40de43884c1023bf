"""Characters in and animations out: one door for all file formats."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from akd.character.build import build_rig
from akd.character.clips import bone_matrices
from akd.errors import AkdError
from akd.motion import Motion, resample
from akd.rig import FileRig, Rig
from akd.skeleton import Pose

RIGGED = {".glb", ".gltf", ".bvh", ".fbx", ".usd", ".usda", ".usdc", ".usdz", ".txt"}
MESHES = {".obj", ".ply", ".stl", ".off"}
SPLATS = {".spz", ".sog", ".splat", ".ksplat"}
"""Splat formats whose reader says how to convert them."""


def read_file(path: Path) -> FileRig:
    """What a character file says, whatever its format."""
    if not path.is_file():
        raise AkdError(f"There is no file {path}.")
    suffix = path.suffix.lower()
    if suffix in (".glb", ".gltf"):
        from akd.files.gltf.read import read_gltf

        return read_gltf(path)
    if suffix == ".bvh":
        from akd.files.bvh import read_bvh

        return read_bvh(path)
    if suffix == ".fbx":
        from akd.files.fbx import read_fbx

        return read_fbx(path)
    if suffix.startswith(".usd"):
        from akd.files.usd import read_usd

        return read_usd(path)
    if suffix == ".txt":
        from akd.files.rignet import read_rignet

        return read_rignet(path)
    if suffix in SPLATS or (suffix == ".ply" and _holds_splats(path)):
        return _splat_file(path)
    if suffix in MESHES:
        from akd.files.meshes import read_mesh

        return read_mesh(path)
    raise AkdError(
        f"{path.name}: files ending in {suffix or 'nothing'} cannot be read; use {', '.join(sorted(RIGGED | MESHES))}."
    )


def _holds_splats(path: Path) -> bool:
    """Does a PLY's header speak of splats, in the standard layout or a compressed one?"""
    with path.open("rb") as file:
        header = file.read(4096)
    return b"f_dc_0" in header or b"packed_position" in header


def _splat_file(path: Path) -> FileRig:
    """A character that exists only as splats: a mesh is drawn around them, so that it can be rigged and weighted."""
    from akd.files.splat_ply import read_splats
    from akd.reconstruct.extract import mesh_from_splats

    splats, notes = read_splats(path)
    mesh = mesh_from_splats(splats)
    drawn = f"{path.name} holds {splats.splat_count} splats and no mesh: a surface was drawn around them."
    nothing = np.zeros(0, int), np.zeros((0, 4, 4)), mesh, np.zeros((mesh.vertex_count, 0))
    return FileRig((), *nothing, path=path, notes=(*notes, drawn))


def load_rig(path: Path, *, forward: str | None = None, height: float | None = None) -> Rig:
    """A rigged character from a file, on the stage. ``forward`` is an axis such as "+z" or "-x" of the file."""
    return build_rig(read_file(path), forward=None if forward is None else axis_vector(forward), height=height)


def axis_vector(axis: str) -> np.ndarray:
    """The unit vector of an axis written as +x, -z, …"""
    sign, letter = ("+", axis) if len(axis) == 1 else (axis[:1], axis[1:])
    if sign not in "+-" or letter.lower() not in ("x", "z"):
        raise AkdError(f"A character faces along one of +x, -x, +z, -z of its file, not {axis!r}.")
    return (1.0 if sign == "+" else -1.0) * np.eye(3)["xyz".index(letter.lower())]


def in_place(motion: Motion) -> Motion:
    """The motion without its travel: steady movement over the ground is taken out, swaying stays."""
    position = motion.pose.root_position
    along = torch.linspace(0, 1, motion.frame_count, dtype=position.dtype)[:, None]
    travel = (position[-1] - position[0]) * torch.tensor((1.0, 0.0, 1.0), dtype=position.dtype)
    return replace(motion, pose=Pose(position - along * travel, motion.pose.root_rotation, motion.pose.angles))


def write_new(path: Path, *, force: bool) -> None:
    """Make sure that a file can be written here and that nothing is lost by it."""
    if path.exists() and not force:
        raise AkdError(f"{path} exists already: choose another name, or add --force to overwrite it.")
    path.parent.mkdir(parents=True, exist_ok=True)


def moves_own_file(rig: Rig) -> bool:
    """Can a clip be added to the character's own file? It must be glTF, and the bones must be the file's, not ours."""
    if rig.origin is None or rig.origin.file.path is None or rig.origin.file.path.suffix.lower() not in (".glb", ".gltf"):
        return False
    return len(rig.origin.file.document.bone_nodes) == len(rig.origin.file.names)


def save_animation(
    rig: Rig, motion: Motion, path: Path, *, name: str = "akd", fps: float = 30.0, travel: bool = True, force: bool = False
) -> None:
    """Write a character with a motion: the user's own file plus one clip, or a complete new file for rigs of ours."""
    if rig.origin is not None and rig.origin.file.path is not None and path.resolve() == rig.origin.file.path.resolve():
        raise AkdError(f"{path} is the character's own file and is never overwritten: choose another name.")
    if path.suffix.lower() not in (".glb", ".bvh"):
        raise AkdError(f"An animation is written as .glb or .bvh, not {path.suffix or 'without an ending'}.")
    write_new(path, force=force)
    motion = resample(motion if travel else in_place(motion), fps)
    if path.suffix.lower() == ".bvh":
        from akd.files.bvh import write_bvh

        write_bvh(path, rig.skeleton, motion, scale=100 * rig.leg_metres)
        return
    if rig.origin is not None and moves_own_file(rig):
        from akd.files.gltf.write import add_clip

        path.write_bytes(add_clip(rig.origin.file, name, motion.times, bone_matrices(rig, motion)).data)
    else:
        from akd.files.gltf.write_rig import write_rig

        write_rig(rig, {name: motion}, path)
