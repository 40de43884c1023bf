"""Characters in and animations out: one door for all file formats.

To add a format, write ``akd/files/<format>.py`` with a function from a path to a ``FileRig`` and enter its suffix here.
"""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from akd.character.build import build_rig
from akd.character.clips import read_clip
from akd.character.export import Export, exported_scene, humanoid_bones, prepared, scene_from_stage
from akd.errors import AkdError
from akd.files.gltf.document import GltfSource
from akd.files.labels_json import read_labels
from akd.files.reading import file_bytes
from akd.files.scene import Scene
from akd.files.writing import check_output, write_file
from akd.motion import Motion
from akd.rig import FileRig, Rig

READERS = {
    ".glb": "gltf.read:read_gltf", ".gltf": "gltf.read:read_gltf", ".vrm": "gltf.read:read_gltf",
    ".bvh": "bvh:read_bvh", ".fbx": "fbx:read_fbx",
    ".usd": "usd:read_usd", ".usda": "usd:read_usd", ".usdc": "usd:read_usd", ".usdz": "usd:read_usd",
    ".txt": "rignet:read_rignet", ".obj": "meshes:read_mesh", ".stl": "meshes:read_mesh", ".off": "meshes:read_mesh",
    ".ply": "splat_surface:read_ply",
}  # fmt: skip
"""Which function of ``akd.files`` reads files with a suffix; imported when it is needed."""
GLTF_SUFFIXES = (".glb", ".gltf", ".vrm")
"""Of files to which a clip can be added."""
WRITERS = {
    ".fbx": "fbx_write:write_fbx", ".usdz": "usd_write:write_usd", ".usdc": "usd_write:write_usd",
    ".usda": "usd_write:write_usd", ".usd": "usd_write:write_usd",
}  # fmt: skip
"""Which function of ``akd.files`` writes a scene as a file with a suffix."""
ANIMATION_SUFFIXES = (".glb", ".bvh", *WRITERS, ".vrma")
"""Formats in which a character is written with its clips."""
MAX_SEED = 2**32 - 1
OTHER_SPLATS = {".spz", ".sog", ".splat", ".ksplat"}
"""Formats of splats whose reader says how to convert them."""


def read_file(path: Path) -> FileRig:
    """What a character file says, whatever its format."""
    if not path.is_file():
        raise AkdError(f"There is no file {path}.")
    return reader_of(path)(path)


def reader_of(path: Path) -> Callable[[Path], FileRig]:
    """The function that reads files with the suffix of this one."""
    suffix = path.suffix.lower()
    entry = "splat_surface:read_splat_rig" if suffix in OTHER_SPLATS else READERS.get(suffix)
    if entry is None:
        raise AkdError(f"{path.name}: files ending in {suffix or 'nothing'} cannot be read; use {', '.join(sorted(READERS))}.")
    return _function(entry)


def fingerprint(path: Path) -> str:
    """A short word for the bytes of a file."""
    return hashlib.sha256(file_bytes(path)).hexdigest()[:16]


def load_rig(path: str | Path, *, forward: str | None = None, height: float | None = None) -> Rig:
    """A rigged character from a file of any format that can be read, placed on the stage: limbs, facing and size are understood.

    A label file beside it (``fox.akd.json``, written by ``akd inspect --write-labels``) corrects what is found.
    ``forward`` corrects where the character faces (an axis of the file such as "+z" or "-x"), ``height`` how tall it is [m].
    A mesh without bones is refused: ``akd.auto_rig`` gives it a skeleton.
    """
    return rig_from(read_file(Path(path)), forward=forward, height=height)


def rig_from(file: FileRig, *, forward: str | None = None, height: float | None = None) -> Rig:
    """The rig in a file that was read already."""
    check_height(height)
    corrections = None if file.path is None else read_labels(file.path)
    ahead = None if forward is None else axis_vector(forward)
    return build_rig(file, forward=ahead, height=height, corrections=corrections)


def check_height(height: float | None) -> None:
    """Refuse a height that no character has."""
    if height is not None and not 0 < height < math.inf:
        raise AkdError(f"A character is taller than 0 m, not {height:g}: choose another --height.")


def check_fps(fps: float) -> None:
    """Refuse a frame rate at which nothing can be sampled."""
    if not 0.1 <= fps <= 1000:
        raise AkdError(f"Clips have between 0.1 and 1000 frames per second, not {fps:g}: choose another --fps.")


def check_seed(seed: int) -> None:
    """Refuse a seed that not every random number generator takes."""
    if not 0 <= seed <= MAX_SEED:
        raise AkdError(f"Seeds are whole numbers from 0 to {MAX_SEED}, not {seed}: choose another --seed.")


def axis_vector(axis: str) -> np.ndarray:
    """The unit vector of an axis written as +x, -z, …"""
    sign, letter = ("+", axis) if len(axis) == 1 else (axis[:1], axis[1:])
    if sign not in "+-" or letter.lower() not in ("x", "z"):
        raise AkdError(f"A character faces along one of +x, -x, +z, -z of its file, not {axis!r}.")
    return (1.0 if sign == "+" else -1.0) * np.eye(3)["xyz".index(letter.lower())]


def load_clips(source: str, *, forward: str | None = None, height: float | None = None) -> tuple[Rig, list[str]]:
    """The rig behind FILE or FILE#CLIP, and the names of the clips that are meant: that one, or all of the file's."""
    file, _, clip = source.partition("#")
    rig = load_rig(file, forward=forward, height=height)
    known = [] if rig.origin is None else [each.name for each in rig.origin.file.clips]
    if not known:
        raise AkdError(f"{file} has no clips.")
    # Exporters put the armature's name in front: "Armature|Walk" is found as "Walk" too.
    meant = [name for name in known if name == clip] or [name for name in known if name.split("|")[-1].lower() == clip.lower()]
    if clip and not meant:
        raise AkdError(f"There is no clip {clip!r} in {file}; its clips are: {', '.join(known)}.")
    return rig, meant[:1] if clip else known


def motion_files(source: str | Path) -> list[Path]:
    """The files that ``load_motion`` reads."""
    path = Path(source)
    if path.is_dir() or path.suffix == ".npz":
        folder = path if path.is_dir() else path.parent
        return [folder / "rig.glb", folder / "motion.npz" if path.is_dir() else path]
    return [Path(str(source).partition("#")[0])]


class LoadedMotion(NamedTuple):
    """A motion with its character."""

    rig: Rig
    motion: Motion
    name: str
    """For titles and for folders that are named after it."""
    from_file: bool
    """Does it come from an artist's file, where walks may go in place?"""


def load_motion(
    source: str | Path, *, fps: float = 30.0, forward: str | None = None, height: float | None = None
) -> LoadedMotion:
    """A motion and its character: FILE#CLIP, a run's folder, or a motion.npz beside its rig.glb."""
    path = Path(source)
    if path.is_dir() or path.suffix == ".npz":
        from akd.files.motion_npz import read_motion

        folder = path if path.is_dir() else path.parent
        if not (folder / "rig.glb").is_file():
            raise AkdError(f"{folder} has no rig.glb, so it is not a run: give its folder, or a clip as FILE#CLIP.")
        rig = load_rig(folder / "rig.glb", forward=forward, height=height)
        motion = read_motion(path / "motion.npz" if path.is_dir() else path, rig.skeleton)
        return LoadedMotion(rig, motion, folder.resolve().name, from_file=False)
    check_fps(fps)
    rig, names = load_clips(str(source), forward=forward, height=height)
    short = names[0].split("|")[-1]
    if len(names) != 1:
        raise AkdError(f"{source} has several clips; name one, as in {source}#{short}.")
    return LoadedMotion(rig, read_clip(rig, names[0], fps).motion, f"{rig.name}-{short}", from_file=True)


def moves_own_file(rig: Rig) -> bool:
    """Can a clip be added to the character's own file? It must be glTF, and the bones must be the file's, not ours."""
    if rig.origin is None or rig.origin.file.path is None or rig.origin.file.path.suffix.lower() not in GLTF_SUFFIXES:
        return False
    return len(rig.origin.file.document.bone_nodes) == len(rig.origin.file.names)


def save_animation(
    rig: Rig, motion: Motion, path: Path, *, name: str = "akd", fps: float = 30.0, travel: bool = True, force: bool = False
) -> None:
    """Write a character with a motion: the user's own file plus one clip, or a complete new file for rigs of ours."""
    save_clips(rig, {name: motion}, path, Export(root="hips" if travel else "in-place"), fps=fps, force=force)


def save_clips(
    rig: Rig, motions: Mapping[str, Motion], path: Path, export: Export | None = None, *, fps: float = 30.0, force: bool = False
) -> None:
    """The same for several motions in one file, and with the wishes of other programs."""
    check_fps(fps)
    check_output(path, force=force, source=rig.origin.file.path if rig.origin is not None else None)
    suffix, export = path.suffix.lower(), export or Export()
    if suffix not in ANIMATION_SUFFIXES:
        known = f"{', '.join(ANIMATION_SUFFIXES[:-1])} or {ANIMATION_SUFFIXES[-1]}"
        raise AkdError(f"An animation is written as {known}, not {path.suffix or 'without an ending'}.")
    refuse_wishes(suffix, export, len(motions))
    motions = prepared(motions, export, fps)
    if export.writer == "blender":
        from akd.files.blender import fbx_from_glb

        scene = exported_scene(rig, motions, export)
        fbx_from_glb(scene_glb(rig, scene), path, scene.clips)
    elif suffix == ".bvh":
        from akd.files.bvh import write_bvh

        (motion,) = motions.values()
        write_bvh(path, rig.skeleton, motion, scale=100 * rig.leg_metres)
    elif suffix == ".vrma":
        from akd.files.gltf.write_vrma import write_vrma

        scene = exported_scene(rig, motions, replace(export, names="own"))
        write_vrma(path, scene, humanoid_bones(rig, scene), scene_from_stage(rig)[:3, 0])
    elif suffix in WRITERS:
        writer_of(path)(path, exported_scene(rig, motions, export))
    else:
        write_file(path, _glb(rig, motions, export))


def _glb(rig: Rig, motions: Mapping[str, Motion], export: Export) -> bytes:
    """The user's own file with more clips, or a new one."""
    if not moves_own_file(rig) and (export.names, export.keys) == ("own", "all") and export.root != "bone":
        from akd.files.gltf.write_rig import encode_rig

        return encode_rig(rig, motions)  # with our limb labels
    return scene_glb(rig, exported_scene(rig, motions, export))


def scene_glb(rig: Rig, scene: Scene) -> bytes:
    """A scene as GLB: the user's own file with its clips, or a new file with all of its bones."""
    from akd.files.gltf.write_clips import add_clips, encode_scene

    if rig.origin is not None and moves_own_file(rig):
        return add_clips(rig.origin.file, scene)
    return encode_scene(scene.in_units(1.0))


def refuse_wishes(suffix: str, export: Export, count: int) -> None:
    """Refuse what a format cannot hold."""
    if suffix in (".bvh", ".vrma") and count != 1:
        raise AkdError(f"A {suffix} holds one clip, not {count}: write a .glb, .fbx or .usdz.")
    if suffix == ".vrma" and export.root == "bone":
        raise AkdError("In a .vrma the hips carry the movement over the ground: leave --root bone out.")
    if suffix not in (".glb", ".fbx") and export.keys == "reduced":
        raise AkdError(f"Only .glb and .fbx have curves between keys, {suffix} has not: leave --keys out.")
    if export.writer == "blender" and (suffix != ".fbx" or export.keys == "reduced"):
        raise AkdError("Blender writes .fbx with a key on every frame: leave --writer blender or --keys reduced out.")
    if suffix == ".bvh" and (export.names != "own" or export.root == "bone"):
        raise AkdError("A .bvh has the joints of our own skeleton: write a .glb, .fbx or .usdz for --names and --root bone.")


def has_morph_targets(rig: Rig) -> bool:
    """Has the character's own file shapes that only its own format, or Blender, can carry on?"""
    document = None if rig.origin is None else rig.origin.file.document
    content = document.document.json if isinstance(document, GltfSource) else {}
    return any(part.get("targets") for mesh in content.get("meshes", []) for part in mesh.get("primitives", []))


def writer_of(path: Path) -> Callable[[Path, Scene], None]:
    """The function that writes a scene as a file with the suffix of this one."""
    return _function(WRITERS[path.suffix.lower()])


def _function(entry: str) -> Callable:
    """A function of ``akd.files``, written as module:name."""
    module, _, name = entry.partition(":")
    return getattr(import_module(f"akd.files.{module}"), name)
