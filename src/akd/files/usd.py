"""USD with UsdSkel: skeletons, the meshes they move, and animations.

USD multiplies row vectors from the left; here every matrix is transposed at once. A skinned point is
Σ w (joint in skeleton space · inverse bind) · geomBindTransform · p in *skeleton* space, whatever the mesh's own place.
Z-up stages are turned to Y up.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from akd.errors import AkdError
from akd.files.binding import bind_frame
from akd.files.gltf.weights import repair_notes, repaired_influences
from akd.files.polygons import joined
from akd.files.reading import Y_FROM_Z_UP, no_mesh, unique_names
from akd.mesh import Mesh
from akd.rig import Clip, FileRig

if TYPE_CHECKING:
    from pxr import Usd, UsdSkel


@dataclass(frozen=True, eq=False)
class _Skeleton:
    """One Skeleton prim; its joints are the bones from ``first`` on."""

    prim: "Usd.Prim"
    joints: tuple[str, ...]
    """Paths of joints, the tokens by which meshes and animations refer to them."""
    parents: Int[np.ndarray, " joint"]
    rest_local: Float[np.ndarray, "joint 4 4"]
    bind: Float[np.ndarray, "joint 4 4"]
    """Joints when the meshes were bound, in the frame that geomBindTransform leads to."""
    first: int


@dataclass(frozen=True, eq=False)
class _Stage:
    """An open stage and what has been found on it."""

    stage: "Usd.Stage"
    skeletons: list[_Skeleton]
    animations: "dict[str, UsdSkel.AnimQuery]"
    T_up_world: Float[np.ndarray, "4 4"]

    def to_world(self, prim: "Usd.Prim", code: float | None = None) -> Float[np.ndarray, "4 4"]:
        """From a prim's own coordinates to the world with Y up."""
        from pxr import Usd, UsdGeom

        time = Usd.TimeCode.EarliestTime() if code is None else Usd.TimeCode(code)
        return self.T_up_world @ np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(time)).T

    def sample(self, clip: str, times: np.ndarray) -> np.ndarray:
        """World matrices of all bones; joints that the animation does not name stay at rest."""
        if clip not in self.animations:
            raise AkdError(f"There is no clip {clip!r}; the clips are {', '.join(self.animations)}.")
        query = self.animations[clip]
        first, last = _time_codes(query)
        codes = np.clip(first + np.asarray(times, float).reshape(-1) * self.stage.GetTimeCodesPerSecond(), first, last)
        return np.array([self._pose(query, float(code)) for code in codes]).reshape(len(codes), self.bone_count, 4, 4)

    def _pose(self, query: "UsdSkel.AnimQuery", code: float) -> Float[np.ndarray, "bone 4 4"]:
        moved = dict(zip(query.GetJointOrder(), _matrices(query.ComputeJointLocalTransforms(code)), strict=False))
        world = []
        for skeleton in self.skeletons:
            local = [moved.get(joint, rest) for joint, rest in zip(skeleton.joints, skeleton.rest_local, strict=True)]
            world.append(self.to_world(skeleton.prim, code) @ _chained(np.array(local), skeleton.parents))
        return np.concatenate(world)

    @property
    def bone_count(self) -> int:
        return sum(len(skeleton.joints) for skeleton in self.skeletons)


def read_usd(path: str | Path) -> FileRig:
    """A .usd, .usda, .usdc or .usdz file; every SkelAnimation that fits a skeleton is a clip."""
    try:
        from pxr import Tf, UsdGeom
    except ImportError:
        raise AkdError("Reading USD files needs the extra 'usd'; install it with: pip install 'akd[usd]'.") from None
    path = Path(path)
    notes: list[str] = []
    try:
        stage = _opened(path, notes)
        mesh, weights = _bound_meshes(stage, path, notes)
    except (Tf.ErrorException, RuntimeError, ValueError) as error:
        raise AkdError(f"{path.name} cannot be read as USD ({_first_line(error)}).") from None
    if not stage.skeletons and not mesh.vertex_count:
        raise AkdError(f"{path.name} holds neither a mesh nor a skeleton.")
    names = [joint.rsplit("/", 1)[-1] for skeleton in stage.skeletons for joint in skeleton.joints]
    parents = [np.where(s.parents >= 0, s.parents + s.first, -1) for s in stage.skeletons]
    rest = np.concatenate([np.zeros((0, 4, 4)), *(_bind_frame(stage, s) @ s.bind for s in stage.skeletons)])
    if not np.all(np.isfinite(rest)) or np.any(np.abs(np.linalg.det(rest)) < 1e-18):
        raise AkdError(f"{path.name} has a skeleton whose bind transforms are not finite or flat.")
    return FileRig(
        names=unique_names(names), parents=np.concatenate([np.zeros(0, int), *parents]), rest=rest, mesh=mesh, weights=weights,
        clips=tuple(Clip(name, _duration(query, stage.stage)) for name, query in stage.animations.items()),
        sample=stage.sample if stage.animations else None, metres=UsdGeom.GetStageMetersPerUnit(stage.stage),
        path=path, notes=tuple(dict.fromkeys(notes)),
    )


def _opened(path: Path, notes: list[str]) -> _Stage:
    from pxr import Usd, UsdGeom, UsdSkel

    if not path.is_file():
        raise AkdError(f"{path} cannot be read: there is no such file.")
    stage = Usd.Stage.Open(str(path))
    cache = UsdSkel.Cache()
    skeletons, animations, count = list[_Skeleton](), list[UsdSkel.AnimQuery](), 0
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()):
        if prim.IsA(UsdSkel.Skeleton):
            query = cache.GetSkelQuery(UsdSkel.Skeleton(prim))
            if not query or not query.GetJointOrder():
                notes.append(f"The skeleton {prim.GetPath()} is not valid and was left out.")
                continue
            skeletons.append(_skeleton(query, prim, count))
            count += len(skeletons[-1].joints)
        elif prim.IsA(UsdSkel.Animation):
            animations.append(cache.GetAnimQuery(UsdSkel.Animation(prim)))
    known = {joint for skeleton in skeletons for joint in skeleton.joints}
    animations = [query for query in animations if query and known & set(query.GetJointOrder())]
    names = unique_names([query.GetPrim().GetName() for query in animations])
    turned = UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
    return _Stage(stage, skeletons, dict(zip(names, animations, strict=True)), Y_FROM_Z_UP if turned else np.eye(4))


def _skeleton(query: "UsdSkel.SkeletonQuery", prim: "Usd.Prim", first: int) -> _Skeleton:
    from pxr import Usd

    joints = tuple(str(joint) for joint in query.GetJointOrder())
    parents = np.array(query.GetTopology().GetParentIndices(), int)
    bind = _matrices(query.GetJointWorldBindTransforms())
    rest = _matrices(query.ComputeJointLocalTransforms(Usd.TimeCode.Default(), atRest=True))
    if len(rest) != len(joints):  # no rest pose in the file: the joints then rest where they were bound
        rest = np.array([bind[j] if p < 0 else np.linalg.solve(bind[p], bind[j]) for j, p in enumerate(parents)])
    if len(bind) != len(joints):
        bind = _chained(rest, parents)
    return _Skeleton(prim, joints, parents, rest, bind, first)


def _bind_frame(stage: _Stage, skeleton: _Skeleton) -> Float[np.ndarray, "4 4"]:
    """From the frame of the bind transforms to our world: it is the world by the standard, the skeleton's own for many."""
    to_world = stage.to_world(skeleton.prim)
    rest = to_world @ _chained(skeleton.rest_local, skeleton.parents)
    return bind_frame(skeleton.bind, rest, [to_world, stage.T_up_world])


def _bound_meshes(stage: _Stage, path: Path, notes: list[str]) -> tuple[Mesh, Float[np.ndarray, "vertex bone"]]:
    """All meshes in the pose they were bound in, as one, and their weights."""
    from pxr import Usd, UsdGeom, UsdSkel

    from akd.files.usd_mesh import UsdMeshes

    reader = UsdMeshes(path)
    bindings = _skin_queries(stage)
    parts, tables, counts = list[Mesh](), list[np.ndarray](), Counter[str]()
    for prim in Usd.PrimRange.Stage(stage.stage, Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdGeom.Mesh) or UsdGeom.Imageable(prim).ComputePurpose() not in ("default", "render"):
            continue
        read = reader.read(prim)
        if read is None:
            continue
        mesh, point_of_vertex = read
        if str(prim.GetPath()) in bindings:
            skeleton, query = bindings[str(prim.GetPath())]
            place = _bind_frame(stage, skeleton) @ np.array(query.GetGeomBindTransform()).T
            table = _weights(stage, skeleton, query, int(point_of_vertex.max()) + 1, counts)[point_of_vertex]
            if query.GetSkinningMethod() == UsdSkel.Tokens.dualQuaternion:
                notes.append(f"The mesh {prim.GetName()} asks for dual quaternion skinning; akd blends linearly.")
        else:
            place, table = stage.to_world(prim), np.zeros((mesh.vertex_count, stage.bone_count))
        parts.append(mesh.transformed(place))
        tables.append(table)
    notes += reader.notes + repair_notes(counts)
    if not parts:
        return no_mesh(), np.zeros((0, stage.bone_count))
    return joined(parts), np.concatenate(tables)


def _skin_queries(stage: _Stage) -> "dict[str, tuple[_Skeleton, UsdSkel.SkinningQuery]]":
    """For the path of each skinned mesh, the skeleton that moves it and how."""
    from pxr import Usd, UsdSkel

    cache, inside = UsdSkel.Cache(), Usd.TraverseInstanceProxies()
    by_path = {skeleton.prim.GetPath(): skeleton for skeleton in stage.skeletons}
    out = {}
    for prim in Usd.PrimRange.Stage(stage.stage, inside):
        if not prim.IsA(UsdSkel.Root):
            continue
        cache.Populate(UsdSkel.Root(prim), inside)
        for binding in cache.ComputeSkelBindings(UsdSkel.Root(prim), inside):
            for query in binding.GetSkinningTargets():
                if binding.GetSkeleton().GetPath() in by_path and query.HasJointInfluences():
                    out[str(query.GetPrim().GetPath())] = (by_path[binding.GetSkeleton().GetPath()], query)
    return out


def _weights(
    stage: _Stage, skeleton: _Skeleton, query: "UsdSkel.SkinningQuery", point_count: int, counts: Counter[str]
) -> Float[np.ndarray, "point bone"]:
    """Rows over all bones. The mesh may count joints in an order of its own."""
    influences = query.ComputeVaryingJointInfluences(point_count)
    if not influences or len(influences[0]) % point_count or len(influences[0]) != len(influences[1]):
        raise AkdError(f"The mesh {query.GetPrim().GetPath()} has joint weights that do not fit its {point_count} points.")
    indices = np.array(influences[0], int).reshape(point_count, -1)
    weights = np.array(influences[1], float).reshape(point_count, -1)
    place = {joint: index for index, joint in enumerate(skeleton.joints)}
    order = np.array([place.get(str(joint), -1) for joint in query.GetJointOrder() or skeleton.joints], int)
    inside = (indices >= 0) & (indices < len(order))
    indices = np.where(inside, order[np.where(inside, indices, 0)], -1)
    joints, weights, _ = repaired_influences(indices, weights, len(place), counts)
    table = np.zeros((point_count, stage.bone_count))
    np.add.at(table, (np.arange(point_count)[:, None], skeleton.first + joints), weights)
    return table


def _time_codes(query: "UsdSkel.AnimQuery") -> tuple[float, float]:
    """First and last sample of an animation."""
    samples = query.GetJointTransformTimeSamples() or [0.0]
    return samples[0], samples[-1]


def _duration(query: "UsdSkel.AnimQuery", stage: "Usd.Stage") -> float:
    first, last = _time_codes(query)
    return (last - first) / stage.GetTimeCodesPerSecond()


def _chained(local: Float[np.ndarray, "joint 4 4"], parents: Int[np.ndarray, " joint"]) -> Float[np.ndarray, "joint 4 4"]:
    """Transforms relative to parents → relative to the skeleton."""
    out = local.copy()
    for joint, parent in enumerate(parents):
        if parent >= 0:
            out[joint] = out[parent] @ out[joint]
    return out


def _matrices(rows: Any) -> Float[np.ndarray, "joint 4 4"]:
    """USD's matrices, made to multiply column vectors."""
    return np.array(rows, float).reshape(-1, 4, 4).swapaxes(-1, -2) if rows else np.zeros((0, 4, 4))


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
