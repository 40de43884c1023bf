"""Write a character with its clips as USD: a skeleton, the mesh it moves, and every clip as a SkelAnimation.

Scales of animated joints have only half precision in USD. So the roots' scale at rest becomes that of the whole character,
and joints keep a scale of their own only where half precision holds it.
"""

import importlib.util
import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from akd.errors import AkdError
from akd.files.gltf.nodes import Trs
from akd.files.reading import unique_names
from akd.files.scene import UNWEIGHTED, Scene, SceneClip, local_parts, rest_parts
from akd.files.usd_surface import author_mesh, picture_files
from akd.files.writing import unwritable, write_file

if TYPE_CHECKING:
    from pxr import Usd, UsdSkel

ARCHIVED = 946_728_000
"""The time that files in an archive have, the year 2000: the same scene gives the same bytes."""
EXACT = 1e-6
"""Relative; a scale that changes by less when it is stored is stored exactly."""


def write_usd(path: str | Path, scene: Scene) -> None:
    """A new .usd, .usda, .usdc or .usdz file. Pictures are inside of a .usdz, and in a folder beside any other."""
    path = Path(path)
    if importlib.util.find_spec("pxr") is None:
        raise AkdError("Writing USD files needs the extra 'usd'; install it with: pip install 'akd[usd]'.")
    pictures = picture_files(scene.mesh, f"{path.stem}-pictures")
    content = _packed(scene, pictures) if path.suffix.lower() == ".usdz" else _layer(scene, pictures, path.suffix.lower())
    if path.suffix.lower() != ".usdz":
        _write_pictures(path, pictures)
    write_file(path, content)


def _layer(scene: Scene, pictures: Mapping[int, tuple[str, bytes]], suffix: str) -> bytes:
    """The file without its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"scene{suffix}"
        _export(scene, pictures, target)
        return target.read_bytes()


def _packed(scene: Scene, pictures: Mapping[int, tuple[str, bytes]]) -> bytes:
    """A .usdz: an archive of the file and its pictures, none of them compressed."""
    from pxr import Sdf

    with tempfile.TemporaryDirectory() as folder:
        target, package = Path(folder) / "scene.usdc", Path(folder) / "scene.usdz"
        _export(scene, pictures, target)
        names = {target.name: target}
        for index, (name, content) in pictures.items():
            names[name] = Path(folder) / f"{index}.png"
            names[name].write_bytes(content)
        archive = Sdf.ZipFileWriter.CreateNew(str(package))
        for name, file in names.items():
            os.utime(file, (ARCHIVED, ARCHIVED))
            archive.AddFile(str(file), name)
        archive.Save()
        return package.read_bytes()


def _write_pictures(path: Path, pictures: Mapping[int, tuple[str, bytes]]) -> None:
    """Beside the file; what lies there already and is something else is not touched."""
    for name, content in pictures.values():
        place = path.parent / name
        if place.exists() and (not place.is_file() or place.read_bytes() != content):
            raise AkdError(f"{place} is in the way of a picture of {path.name}: move it, or write a .usdz.")
        if not place.exists():
            write_file(place, content)


def _export(scene: Scene, pictures: Mapping[int, tuple[str, bytes]], target: Path) -> None:
    from pxr import Tf

    try:
        stage = stage_of(scene, {index: name for index, (name, _) in pictures.items()})  # its layer goes with it
        if not stage.GetRootLayer().Export(str(target)):
            raise unwritable(target, OSError("the library does not say why"))
    except Tf.ErrorException as error:
        raise unwritable(target, OSError(str(error).splitlines()[0])) from error


def stage_of(scene: Scene, pictures: Mapping[int, str]) -> "Usd.Stage":
    """The scene in memory; ``pictures`` are the paths of the materials' pictures."""
    from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdSkel

    stage = Usd.Stage.CreateInMemory()
    rate = scene.clips[0].fps if scene.clips else 30.0
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, scene.metres)
    stage.SetTimeCodesPerSecond(rate)
    stage.SetFramesPerSecond(rate)
    stage.SetStartTimeCode(0.0)
    stage.SetEndTimeCode(max((clip.duration for clip in scene.clips), default=0.0) * rate)
    root = UsdSkel.Root.Define(stage, Sdf.Path.absoluteRootPath.AppendChild(Tf.MakeValidIdentifier(scene.name)))
    stage.SetDefaultPrim(root.GetPrim())
    if scene.bones:
        scene, scale = plain_scales(scene)
        if scale != 1:
            root.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(scale))
            scene = _scaled(scene, 1 / scale)
        skeleton = _author_skeleton(stage, root.GetPath(), scene, rate)
        UsdSkel.BindingAPI.Apply(root.GetPrim())
        if len(scene.mesh.faces):
            prim = author_mesh(stage, root.GetPath(), scene.mesh, pictures).GetPrim()
            _author_weights(prim, skeleton, scene.weights)
        root.GetExtentAttr().Set(UsdGeom.Boundable.ComputeExtentFromPlugins(root, Usd.TimeCode.Default()) or _extent(scene))
    return stage


def _extent(scene: Scene) -> Any:
    from pxr import Vt

    places = np.concatenate((scene.mesh.vertices, scene.rest[:, :3, 3]))
    return Vt.Vec3fArray.FromNumpy(np.stack((places.min(0), places.max(0))).astype(np.float32))


def _scaled(scene: Scene, factor: float) -> Scene:
    """All of the scene larger by a factor, the bones' own scales as well."""
    change = np.diag([factor, factor, factor, 1.0])
    clips = tuple(replace(clip, world=change @ clip.world) for clip in scene.clips)
    return replace(scene, rest=change @ scene.rest, mesh=scene.mesh.transformed(change), clips=clips)


def _author_skeleton(stage: "Usd.Stage", above: Any, scene: Scene, rate: float) -> "UsdSkel.Skeleton":
    """The skeleton at rest with its clips. Joints are named by paths, so letters that paths cannot have are replaced;
    ``jointNames`` has the bones' own names."""
    from pxr import Tf, UsdSkel

    skeleton = UsdSkel.Skeleton.Define(stage, above.AppendChild("Skeleton"))
    joints = joint_paths(scene)
    rest = rest_parts(scene)
    skeleton.CreateJointsAttr(joints)
    skeleton.CreateJointNamesAttr(list(scene.bones))
    skeleton.CreateBindTransformsAttr(_matrices(scene.rest))
    skeleton.CreateRestTransformsAttr(_matrices(np.stack([part.matrix() for part in rest])))
    names = unique_names([Tf.MakeValidIdentifier(clip.name) for clip in scene.clips])
    for name, clip in zip(names, scene.clips, strict=True):
        animation = UsdSkel.Animation.Define(stage, skeleton.GetPath().AppendChild(name))
        animation.CreateJointsAttr(joints)
        if name != clip.name:
            animation.GetPrim().SetDisplayName(clip.name)
        _author_clip(animation, clip, local_parts(clip.world, scene.parents, rest), rate)
    if names:
        binding = UsdSkel.BindingAPI.Apply(skeleton.GetPrim())
        binding.CreateAnimationSourceRel().SetTargets([skeleton.GetPath().AppendChild(names[0])])
    return skeleton


def _author_clip(animation: "UsdSkel.Animation", clip: SceneClip, parts: list[Trs], rate: float) -> None:
    from pxr import Usd, Vt

    translations, rotations, scales = (np.stack([getattr(part, name) for part in parts], 1) for name in Trs._fields)
    moving = animation.CreateTranslationsAttr(), animation.CreateRotationsAttr(), animation.CreateScalesAttr()
    for frame, time in enumerate(clip.times):
        code = Usd.TimeCode(float(np.round(time * rate, 6)))
        moving[0].Set(Vt.Vec3fArray.FromNumpy(translations[frame].astype(np.float32)), code)
        moving[1].Set(Vt.QuatfArray.FromNumpy(rotations[frame].astype(np.float32)), code)
        moving[2].Set(Vt.Vec3hArray.FromNumpy(scales[frame].astype(np.float16)), code)


def plain_scales(scene: Scene) -> tuple[Scene, float]:
    """The scene with bones whose scales USD can hold, and the scale of the character.

    A scale that cannot be held is taken out of a bone's own coordinates; where bones and mesh are does not change.
    """
    roots = np.flatnonzero(scene.parents < 0)
    scale = float(np.cbrt(np.abs(np.linalg.det(scene.rest[roots[0], :3, :3]))))
    scale = 1.0 if abs(scale - 1) < EXACT else scale
    sizes = np.linalg.norm(scene.rest[:, :3, :3], axis=1) / scale
    kept = sizes.astype(np.float16).astype(float)
    undone = np.where((np.abs(kept - sizes) <= EXACT * sizes).all(1, keepdims=True), 1.0, 1 / sizes)
    if not np.any(undone != 1):
        return scene, scale
    change = np.tile(np.eye(4), (len(sizes), 1, 1))
    change[:, :3, :3] *= undone[:, None, :]
    clips = tuple(replace(clip, world=clip.world @ change) for clip in scene.clips)
    return replace(scene, rest=scene.rest @ change, clips=clips), scale


def joint_paths(scene: Scene) -> list[str]:
    """The way to every joint from its root, in names that are paths' names."""
    from pxr import Tf

    names, paths = unique_names([Tf.MakeValidIdentifier(name) for name in scene.bones]), list[str]()
    for name, parent in zip(names, scene.parents, strict=True):
        paths.append(f"{paths[parent]}/{name}" if parent >= 0 else name)
    return paths


def _author_weights(prim: "Usd.Prim", skeleton: "UsdSkel.Skeleton", weights: Float[np.ndarray, "vertex bone"]) -> None:
    """As many joints for each vertex as any one needs; those without influence are joint 0 with weight 0."""
    from pxr import Gf, UsdSkel, Vt

    held = np.where(weights > UNWEIGHTED, weights, 0.0)
    count = int(max((held > 0).sum(1).max(initial=1), 1))
    joints = np.argsort(-held, axis=1, kind="stable")[:, :count]
    strongest = np.take_along_axis(held, joints, 1)
    total = strongest.sum(1, keepdims=True)
    joints = np.where(strongest > 0, joints, 0)
    binding = UsdSkel.BindingAPI.Apply(prim)
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d(1.0))
    binding.CreateJointIndicesPrimvar(False, count).Set(Vt.IntArray.FromNumpy(joints.reshape(-1).astype(np.int32)))
    shares = (strongest / np.where(total > 0, total, 1)).astype(np.float32)
    binding.CreateJointWeightsPrimvar(False, count).Set(Vt.FloatArray.FromNumpy(shares.reshape(-1)))


def _matrices(columns: Float[np.ndarray, "joint 4 4"]) -> Any:
    """USD's matrices multiply row vectors."""
    from pxr import Vt

    return Vt.Matrix4dArray.FromNumpy(np.ascontiguousarray(columns.swapaxes(-1, -2)))
