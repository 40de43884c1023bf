"""Runs as a process of its own: reads a USD file with Pixar's library and writes plain arrays.

``python usd_child.py in.usd out.npz``. A process of its own, because the file comes from elsewhere: a damaged one can
crash the library. It imports nothing of akd, to start fast. Matrices are written as USD has them, for row vectors.

A USD file is composed of others, which it may name anywhere on the disk. Only those in its own folder are read.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sized
from typing import Any

import numpy as np
from pxr import Ar, Sdf, Tf, Usd, UsdGeom, UsdShade, UsdSkel

START = Usd.TimeCode.EarliestTime()
MAX_FRAMES = 20_000
MAX_LAYERS = 1_000
LAYER_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
COLOR_INPUTS = (
    "diffuseColor", "base_color_texture", "diffuse_texture",
    "base_color", "baseColor", "base_color_factor", "diffuse_color_constant",
)
"""What shaders of different makers call the surface's colour or its picture."""
Arrays = dict[str, np.ndarray]


def main(source: str, target: str) -> None:
    notes: list[str] = []
    folder = os.path.dirname(os.path.realpath(source))
    with Ar.ResolverContextBinder(Ar.GetResolver().CreateDefaultContextForAsset(source)):
        layers = confined_layers(source, folder, notes)
        stage = Usd.Stage.Open(layers[0])
    check_used(stage, layers)
    arrays: Arrays = {}
    skeletons = list(valid_skeletons(stage, notes))
    materials = Materials(folder, arrays)
    story = {
        "metres": UsdGeom.GetStageMetersPerUnit(stage), "z_up": UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z,
        "rate": stage.GetTimeCodesPerSecond(),
        "skeletons": [save_skeleton(query, index, arrays) for index, query in enumerate(skeletons)],
        "meshes": save_meshes(stage, skeletons, materials, arrays),
        "clips": save_clips(stage, skeletons, arrays, notes),
        "materials": materials.entries, "notes": notes,
    }  # fmt: skip
    arrays["story"] = np.frombuffer(json.dumps(story).encode(), np.uint8)
    np.savez(target, **arrays)  # type: ignore[arg-type]


# Layers


def confined_layers(source: str, folder: str, notes: list[str]) -> list[Sdf.Layer]:
    """The file's layer and all it is composed of. What lies outside of its folder is taken off, in memory only.

    Whoever composes the stage must hold these, or the library would forget them and read the files again.
    """
    root = Sdf.Layer.FindOrOpen(source)
    if root is None:
        raise ValueError("it has no layer")
    held, waiting = {root.identifier: root}, [root]
    while waiting:
        layer = waiting.pop()
        take_off_clips(layer, notes)
        for asset in sorted(layer.GetCompositionAssetDependencies()):
            other = dependency(layer, asset, folder, notes)
            if other is not None and other.identifier not in held:
                held[other.identifier] = other
                waiting.append(other)
        if len(held) > MAX_LAYERS:
            raise ValueError(f"it is composed of more than {MAX_LAYERS} files")
    return list(held.values())


def dependency(layer: Sdf.Layer, asset: str, folder: str, notes: list[str]) -> Sdf.Layer | None:
    """The layer that another one names, unless it must not be read or cannot be."""
    reason = why_not(layer, asset, folder)
    if reason:
        notes.append(f"The file names {asset!r}, which {reason}, so it was left out.")
        layer.UpdateCompositionAssetDependency(asset, "")
        if asset in layer.GetCompositionAssetDependencies():
            raise ValueError(f"it names {asset!r}, which {reason}")
        return None
    try:
        return Sdf.Layer.FindOrOpenRelativeToLayer(layer, asset)
    except Tf.ErrorException:
        notes.append(f"The file names {asset!r}, which cannot be read, so it was left out.")
        return None


def why_not(layer: Sdf.Layer, asset: str, folder: str) -> str:
    """Why a layer that another one names must not be read; empty if it may."""
    if "`" in asset or ":SDF_FORMAT_ARGS:" in asset:
        return "is an expression and not the name of a file"
    place = outermost(Sdf.ComputeAssetPathRelativeToLayer(layer, asset))
    place = os.path.realpath(os.path.join(os.path.dirname(layer.realPath), place))
    if not inside(place, folder):
        return "lies outside of its folder"
    if not os.path.isfile(place):
        return "is not a regular file" if os.path.lexists(place) else "is not there"
    return "" if place.lower().endswith(LAYER_SUFFIXES) else "is not a USD file"


def outermost(place: str) -> str:
    """The file on the disk of a path that may lead into a package."""
    return Ar.SplitPackageRelativePathOuter(place)[0] if Ar.IsPackageRelativePath(place) else place


def inside(place: str, folder: str) -> bool:
    try:
        return os.path.commonpath([place, folder]) == folder
    except ValueError:  # two drives
        return False


def take_off_clips(layer: Sdf.Layer, notes: list[str]) -> None:
    """Value clips name further files, and the library opens those whenever it likes."""
    found: list[Sdf.PrimSpec] = []

    def look(path: Sdf.Path) -> None:
        spec = layer.GetPrimAtPath(path) if path.IsPrimPath() or path.IsPrimVariantSelectionPath() else None
        if spec and (spec.HasInfo("clips") or spec.HasInfo("clipSets")):
            found.append(spec)

    layer.Traverse(Sdf.Path.absoluteRootPath, look)
    for spec in found:
        spec.ClearInfo("clips")
        spec.ClearInfo("clipSets")
    if found:
        notes.append("The file keeps values in clips of other files, which were left out.")


def check_used(stage: Usd.Stage, layers: list[Sdf.Layer]) -> None:
    """A second lock on the same door: the stage must be made of the layers that were looked at."""
    known = {layer.identifier for layer in layers}
    for layer in stage.GetUsedLayers():
        if not layer.anonymous and layer.identifier not in known:
            raise ValueError(f"it is composed of {os.path.basename(layer.identifier)!r} in a way that is not understood")


# Skeletons and animations


def prims(stage: Usd.Stage) -> Iterator[Usd.Prim]:
    yield from Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies())


def valid_skeletons(stage: Usd.Stage, notes: list[str]) -> Iterator[UsdSkel.SkeletonQuery]:
    cache = UsdSkel.Cache()
    for prim in prims(stage):
        if not prim.IsA(UsdSkel.Skeleton):
            continue
        query = cache.GetSkelQuery(UsdSkel.Skeleton(prim))
        counts = [len(table) for table in transforms(query)] if query and query.GetJointOrder() else []
        if counts and len(query.GetJointOrder()) in counts:
            yield query
        else:
            notes.append(f"The skeleton {prim.GetPath()} is not valid and was left out.")


def transforms(query: UsdSkel.SkeletonQuery) -> tuple[np.ndarray, np.ndarray]:
    """Where joints rest, relative to their parents, and where they were bound; none where the file does not say."""
    rest = query.ComputeJointLocalTransforms(Usd.TimeCode.Default(), atRest=True)
    return matrices(rest), matrices(query.GetJointWorldBindTransforms())


def save_skeleton(query: UsdSkel.SkeletonQuery, index: int, arrays: Arrays) -> dict[str, Any]:
    rest, bind = transforms(query)
    arrays[f"skeleton{index}_rest"], arrays[f"skeleton{index}_bind"] = rest, bind
    arrays[f"skeleton{index}_parents"] = np.array(query.GetTopology().GetParentIndices(), int)
    arrays[f"skeleton{index}_place"] = to_world(query.GetPrim(), START)
    joints = [str(joint) for joint in query.GetJointOrder()]
    named = UsdSkel.Skeleton(query.GetPrim()).GetJointNamesAttr().Get(START) or ()
    names = [str(name) for name in named] if len(named) == len(joints) else [joint.rsplit("/", 1)[-1] for joint in joints]
    return {"path": str(query.GetPrim().GetPath()), "joints": joints, "names": names}


def save_clips(
    stage: Usd.Stage, skeletons: list[UsdSkel.SkeletonQuery], arrays: Arrays, notes: list[str]
) -> list[dict[str, Any]]:
    """Every animation of a joint that is there."""
    cache, out = UsdSkel.Cache(), list[dict[str, Any]]()
    known = {joint for skeleton in skeletons for joint in skeleton.GetJointOrder()}
    for prim in prims(stage):
        query = cache.GetAnimQuery(UsdSkel.Animation(prim)) if prim.IsA(UsdSkel.Animation) else None
        if not query or not known & set(query.GetJointOrder()):
            continue
        saved = clip_arrays(query, skeletons, notes)
        if saved is None:
            notes.append(f"The animation {prim.GetName()} has values that do not fit its joints, so it was left out.")
            continue
        arrays |= {f"clip{len(out)}_{name}": array for name, array in saved.items()}
        out.append({"name": prim.GetDisplayName() or prim.GetName(), "joints": [str(joint) for joint in query.GetJointOrder()]})
    return out


def clip_arrays(query: UsdSkel.AnimQuery, skeletons: list[UsdSkel.SkeletonQuery], notes: list[str]) -> Arrays | None:
    codes = sample_codes(query, skeletons)
    if len(codes) > MAX_FRAMES:
        notes.append(f"The animation {query.GetPrim().GetName()} has {len(codes)} frames, of which {MAX_FRAMES} were taken.")
        codes = np.linspace(codes[0], codes[-1], MAX_FRAMES)
    rows = [matrices(query.ComputeJointLocalTransforms(float(code))) for code in codes]
    if any(len(row) != len(query.GetJointOrder()) or not np.all(np.isfinite(row)) for row in rows):
        return None
    saved = {"codes": codes, "local": np.stack(rows)}
    for index, skeleton in enumerate(skeletons):
        saved[f"place{index}"] = np.stack([to_world(skeleton.GetPrim(), Usd.TimeCode(float(code))) for code in codes])
    return saved


def sample_codes(query: UsdSkel.AnimQuery, skeletons: list[UsdSkel.SkeletonQuery]) -> np.ndarray:
    """Time codes at which a joint, or the place of a skeleton, has a value of its own; and whole ones, the frames.

    On frames the poses are then exactly the library's, which interpolates quaternions as they are, not quite of length one.
    """
    own = np.array(query.GetJointTransformTimeSamples() or [0.0], float)
    moved = {code for skeleton in skeletons for code in place_codes(skeleton.GetPrim()) if own[0] < code < own[-1]}
    frames = np.arange(np.ceil(own[0]), own[-1]) if own[-1] - own[0] < MAX_FRAMES else np.zeros(0)
    return np.unique(np.concatenate((own, np.array(sorted(moved), float), frames)))


def place_codes(prim: Usd.Prim) -> Iterator[float]:
    while prim and not prim.IsPseudoRoot():
        if prim.IsA(UsdGeom.Xformable):
            yield from UsdGeom.Xformable(prim).GetTimeSamples()
        prim = prim.GetParent()


def matrices(rows: Any) -> np.ndarray:
    return np.array(rows, float).reshape(-1, 4, 4) if rows else np.zeros((0, 4, 4))


def to_world(prim: Usd.Prim, time: Usd.TimeCode) -> np.ndarray:
    return np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(time))


# Meshes


def save_meshes(
    stage: Usd.Stage, skeletons: list[UsdSkel.SkeletonQuery], materials: "Materials", arrays: Arrays
) -> list[dict[str, Any]]:
    bindings, out = skin_queries(stage, skeletons), list[dict[str, Any]]()
    for prim in prims(stage):
        if not prim.IsA(UsdGeom.Mesh) or UsdGeom.Imageable(prim).ComputePurpose() not in ("default", "render"):
            continue
        saved = surface_arrays(prim)
        worn, saved["face_material"] = materials.of(prim, len(saved["counts"]))
        entry = {"path": str(prim.GetPath()), "name": prim.GetName(), "materials": worn, "skeleton": None}
        entry["left_handed"] = UsdGeom.Mesh(prim).GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded
        if str(prim.GetPath()) in bindings:
            skeleton, query = bindings[str(prim.GetPath())]
            entry |= {"skeleton": skeleton, **save_skin(query, saved)}
        arrays |= {f"mesh{len(out)}_{name}": array for name, array in saved.items()}
        out.append(entry)
    return out


def surface_arrays(prim: Usd.Prim) -> Arrays:
    """Points, polygons, and what is painted on them, as far as it fits."""
    mesh = UsdGeom.Mesh(prim)
    saved = {
        "points": np.array(mesh.GetPointsAttr().Get(START) or [], float).reshape(-1, 3),
        "counts": np.array(mesh.GetFaceVertexCountsAttr().Get(START) or [], int),
        "indices": np.array(mesh.GetFaceVertexIndicesAttr().Get(START) or [], int),
        "place": to_world(prim, START),
    }
    primvar = UsdGeom.Gprim(prim).GetDisplayColorPrimvar()
    colors = np.array(primvar.ComputeFlattened(START) or [], float) if primvar else np.zeros(0)
    if colors.shape in ((1, 3), (len(saved["points"]), 3)) and np.all(np.isfinite(colors)):
        saved["colors"] = colors
    saved["uv"], saved["uv_index"] = texture_coordinates(prim, saved["indices"])
    return saved


def texture_coordinates(prim: Usd.Prim, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates, and which of them each corner has (−1: none)."""
    for primvar in UsdGeom.PrimvarsAPI(prim).GetPrimvarsWithValues():
        if primvar.GetTypeName().role != "TextureCoordinate" and primvar.GetPrimvarName() != "st":
            continue
        flat = primvar.ComputeFlattened(START)
        values = np.array(flat, float) if isinstance(flat, Sized) else np.zeros(0)
        if values.ndim != 2 or values.shape[1] < 2 or not np.all(np.isfinite(values)):
            continue
        distinct, which = np.unique(values[:, :2], axis=0, return_inverse=True)
        which = which.reshape(-1)
        if primvar.GetInterpolation() == UsdGeom.Tokens.faceVarying and len(values) == len(indices):
            return distinct, which
        if primvar.GetInterpolation() in (UsdGeom.Tokens.vertex, UsdGeom.Tokens.varying) and len(values) > indices.max(initial=0):
            return distinct, which[np.maximum(indices, 0)]
    return np.zeros((0, 2)), np.full(len(indices), -1)


def skin_queries(
    stage: Usd.Stage, skeletons: list[UsdSkel.SkeletonQuery]
) -> dict[str, tuple[int, UsdSkel.SkinningQuery]]:
    """For the path of each skinned mesh, the skeleton that moves it and how."""
    cache, proxies = UsdSkel.Cache(), Usd.TraverseInstanceProxies()
    place = {skeleton.GetPrim().GetPath(): index for index, skeleton in enumerate(skeletons)}
    out = {}
    for prim in prims(stage):
        if not prim.IsA(UsdSkel.Root):
            continue
        cache.Populate(UsdSkel.Root(prim), proxies)
        for binding in cache.ComputeSkelBindings(UsdSkel.Root(prim), proxies):
            for query in binding.GetSkinningTargets():
                if binding.GetSkeleton().GetPath() in place and query.HasJointInfluences():
                    out[str(query.GetPrim().GetPath())] = (place[binding.GetSkeleton().GetPath()], query)
    return out


def save_skin(query: UsdSkel.SkinningQuery, saved: Arrays) -> dict[str, Any]:
    """Joints and weights of every point. The mesh may count joints in an order of its own."""
    joints, weights = query.ComputeVaryingJointInfluences(max(len(saved["points"]), 1)) or ((), ())
    saved["joints"], saved["weights"] = np.array(joints, int), np.array(weights, float)
    saved["geom_bind"] = np.array(query.GetGeomBindTransform(), float)
    order = query.GetJointOrder()
    return {
        "order": [str(joint) for joint in order] if order else None,
        "dual_quaternions": query.GetSkinningMethod() == UsdSkel.Tokens.dualQuaternion,
    }


# Materials


class Materials:
    """Reads the materials that meshes wear; one that several of them share is read once."""

    def __init__(self, folder: str, arrays: Arrays) -> None:
        self.folder = folder
        self.arrays = arrays
        self.entries: list[dict[str, Any]] = []
        self._place: dict[str, int] = {}

    def of(self, prim: Usd.Prim, face_count: int) -> tuple[list[int], np.ndarray]:
        """The mesh's material (−1: none), those of its subsets, and which face wears which."""
        worn, face_material = [self._bound(prim)], np.zeros(face_count, int)
        for subset in UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets():
            faces = np.array(subset.GetIndicesAttr().Get(START) or [], int)
            face_material[faces[(faces >= 0) & (faces < face_count)]] = len(worn)
            worn.append(self._bound(subset.GetPrim()))
        return worn, face_material

    def _bound(self, prim: Usd.Prim) -> int:
        bound, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
        if not bound:
            return -1
        key = str(bound.GetPath())
        if key not in self._place:
            self._place[key] = len(self.entries)
            self.entries.append({"name": bound.GetPrim().GetName(), "colors": list(self._colors(bound.GetPrim()))})
        return self._place[key]

    def _colors(self, prim: Usd.Prim) -> Iterator[dict[str, Any]]:
        """What its colour may come from, best first: a picture, or a colour in linear light."""
        for shader in (UsdShade.Shader(child) for child in Usd.PrimRange(prim) if child.IsA(UsdShade.Shader)):
            for value in (attribute.Get(START) for attribute in color_sources(shader)):
                if isinstance(value, Sdf.AssetPath) and value.path:
                    yield self._picture(value)
                elif value is not None and not isinstance(value, Sdf.AssetPath) and np.shape(value) == (3,):
                    yield {"linear": np.nan_to_num(np.array(value, float)).tolist()}

    def _picture(self, asset: Sdf.AssetPath) -> dict[str, Any]:
        """Its content if it is inside of a package, and otherwise where to look for it."""
        outer = os.path.realpath(outermost(asset.resolvedPath)) if asset.resolvedPath else ""
        if not outer or not inside(outer, self.folder) or not os.path.isfile(outer):
            return {"name": asset.path, "beside": asset.path}
        if not Ar.IsPackageRelativePath(asset.resolvedPath):
            return {"name": asset.path, "beside": os.path.relpath(outer, self.folder)}
        opened = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(asset.resolvedPath))
        key = f"picture{sum(name.startswith('picture') for name in self.arrays)}"
        self.arrays[key] = np.frombuffer(bytes(opened.GetBuffer()) if opened else b"", np.uint8)
        return {"name": asset.path, "content": key}


def color_sources(shader: UsdShade.Shader) -> list[Usd.Attribute]:
    """The attributes a shader's colour may come from: a value, or the file of a picture."""
    out = []
    for name in COLOR_INPUTS:
        for attribute in shader.GetInput(name).GetValueProducingAttributes() if shader.GetInput(name) else ():
            source = UsdShade.Shader(attribute.GetPrim())
            picture = source.GetInput("file") if source else None
            out.append(picture.GetAttr() if picture else attribute)
    return out


def plain_words(error: Exception) -> str:
    """The first line, without the place in the library's own source that it likes to begin with."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = re.sub(r"^Error in .*? at line \d+ in file \S+ : ", "", lines[0]).strip("'") if lines else ""
    return said if isinstance(error, Tf.ErrorException) and said else f"{type(error).__name__}: {said}"


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:  # the library raises whatever its parsers and converters raise
        sys.stderr.write(f"\n{plain_words(error)}\n")
        sys.exit(1)
    os._exit(0)  # tearing the library down is one more thing that can go wrong
