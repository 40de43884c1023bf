"""Meshes and materials of a USD file, from the plain arrays that ``usd_child.py`` writes.

USD with UsdSkel: skeletons, the meshes they move, and animations, read in a process of its own (see ``usd_child.py``).

USD multiplies row vectors from the left; here every matrix is transposed at once. A skinned point is
Σ w (joint in skeleton space · inverse bind) · geomBindTransform · p in *skeleton* space, whatever the mesh's own place.
Z-up stages are turned to Y up.
"""

import importlib.util
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8

from akd.errors import AkdError
from akd.files.child import Story, arrays_of
from akd.files.geometry import bind_frame, fan, joined, nearest, picked_uv, repair_notes, repaired_influences, split_at_seams
from akd.files.gltf.materials import linear_to_srgb
from akd.files.paint import GREY, decoded, painted, picture_beside
from akd.files.reading import Y_FROM_Z_UP, check_coordinates, check_weight_count, no_mesh, unique_names
from akd.mesh import Material, Mesh
from akd.rig import Clip, FileRig
from akd.rotations import matrix_to_quaternion, quaternion_to_matrix, slerp

NO_MATERIAL = Material("none", GREY)
CHILD = Path(__file__).with_name("usd_child.py")
RATES = (1e-3, 1e6)  # time codes per second that a clip can have
METRES = (1e-9, 1e9)  # metres per unit that a character can have
DEFAULT_RATE, DEFAULT_METRES = 24.0, 0.01  # what USD takes where a file does not say


@dataclass(frozen=True, eq=False)
class UsdMeshes:
    """All meshes of a file, each in its own coordinates."""

    path: Path
    story: Story
    arrays: dict[str, np.ndarray]
    notes: list[str] = field(default_factory=list)

    def of(self, index: int, name: str) -> np.ndarray:
        """One of the arrays of a mesh."""
        return self.arrays[f"mesh{index}_{name}"]

    def read(self, index: int) -> tuple[Mesh, Int[np.ndarray, " vertex"]] | None:
        """A mesh, and the point each vertex came from; nothing where it has no surface."""
        entry, points = self.story["meshes"][index], self.of(index, "points")
        counts, indices = self._topology(index)
        triangles, polygon = fan(counts)
        if not len(triangles):
            return None
        if entry["left_handed"]:
            triangles = triangles[:, ::-1]
        coordinates, which = self.of(index, "uv"), self.of(index, "uv_index")
        rows, vertex_of_corner = split_at_seams(np.stack((indices, which), 1), len(points))
        uv, faces = picked_uv(coordinates, rows[:, 1]), vertex_of_corner[triangles]
        materials = tuple(NO_MATERIAL if worn < 0 else self.materials[worn] for worn in entry["materials"])
        face_material = self.of(index, "face_material")[polygon]
        own = self._display_colors(index) if entry["materials"] == [-1] else None
        own = None if own is None else own[rows[:, 0]] / GREY
        colors = np.clip(painted(len(rows), faces, materials, face_material, uv, own), 0, 1)
        return Mesh(points[rows[:, 0]], faces, colors, uv, materials, face_material), rows[:, 0]

    def _topology(self, index: int) -> tuple[Int[np.ndarray, " face"], Int[np.ndarray, " corner"]]:
        counts, indices, point_count = self.of(index, "counts"), self.of(index, "indices"), len(self.of(index, "points"))
        if counts.sum() != len(indices) or np.any(counts < 0) or np.any((indices < 0) | (indices >= point_count)):
            where = self.story["meshes"][index]["path"]
            raise AkdError(f"The mesh {where} of {self.path.name} has faces that do not fit its {point_count} points.")
        return counts, indices

    def _display_colors(self, index: int) -> Float[np.ndarray, "point 3"] | None:
        """Colours of a mesh without material, sRGB."""
        colors = self.arrays.get(f"mesh{index}_colors")
        return None if colors is None else np.broadcast_to(linear_to_srgb(colors), (len(self.of(index, "points")), 3))

    @cached_property
    def materials(self) -> list[Material]:
        return [self._material(entry) for entry in self.story["materials"]]

    def _material(self, entry: dict[str, Any]) -> Material:
        for color in entry["colors"]:
            if "linear" in color:
                return Material(entry["name"], linear_to_srgb(np.array(color["linear"], float)))
            picture = self._picture(color)
            if picture is not None:
                return Material(entry["name"], np.ones(3), picture)
            self.notes.append(f"The picture {color['name']!r} of material {entry['name']!r} cannot be read.")
        return Material(entry["name"], GREY)

    def _picture(self, color: dict[str, Any]) -> UInt8[np.ndarray, "height width 3"] | None:
        """From inside the package, or from beside the file."""
        if "content" in color:
            return decoded(self.arrays[color["content"]].tobytes())
        return picture_beside(self.path, color["beside"])


@dataclass(frozen=True, eq=False)
class _Skeleton:
    """One Skeleton prim; its joints are the bones from ``first`` on."""

    joints: tuple[str, ...]
    """Paths of joints, the tokens by which meshes and animations refer to them."""
    parents: Int[np.ndarray, " joint"]
    rest_local: Float[np.ndarray, "joint 4 4"]
    bind: Float[np.ndarray, "joint 4 4"]
    """Joints when the meshes were bound, in the frame that geomBindTransform leads to."""
    to_world: Float[np.ndarray, "4 4"]
    first: int

    def bind_to_world(self, T_up_world: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "4 4"]:
        """From the frame of the bind transforms to our world: it is the world by the standard, the skeleton's own for many."""
        rest = self.to_world @ _chained(self.rest_local, self.parents)
        return bind_frame(self.bind, rest, [self.to_world, T_up_world])


@dataclass(frozen=True, eq=False)
class _UsdClip:
    """An animation: its samples, which need not be evenly spaced, and where every skeleton is at each."""

    times: Float[np.ndarray, " sample"]
    """Seconds from the first sample."""
    joints: tuple[str, ...]
    translations: Float[np.ndarray, "sample moved 3"]
    rotations: Float[np.ndarray, "sample moved 4"]
    stretches: Float[np.ndarray, "sample moved 3 3"]
    """What is left of each matrix when the rotation is taken off."""
    places: tuple[Float[np.ndarray, "sample 4 4"], ...]

    @property
    def duration(self) -> float:
        return float(self.times[-1])

    def sample(self, skeletons: list[_Skeleton], times: np.ndarray) -> Float[np.ndarray, "time bone 4 4"]:
        """World matrices of all bones; joints that the animation does not name stay at rest."""
        times = np.clip(np.asarray(times, float).reshape(-1), 0, self.duration)
        after = np.clip(np.searchsorted(self.times, times, side="right"), 1, max(len(self.times) - 1, 1))
        before, after = after - 1, np.minimum(after, len(self.times) - 1)
        step = self.times[after] - self.times[before]
        u = np.where(step > 0, (times - self.times[before]) / np.where(step > 0, step, 1), 0)[:, None, None]
        moved = dict(zip(self.joints, self._local(before, after, u).swapaxes(0, 1), strict=True))
        world = [np.zeros((len(times), 0, 4, 4))]
        for skeleton, place in zip(skeletons, self.places, strict=True):
            local = np.tile(skeleton.rest_local, (len(times), 1, 1, 1))
            for index, joint in enumerate(skeleton.joints):
                local[:, index] = moved.get(joint, local[:, index])
            here = place[before] + u * (place[after] - place[before])
            world.append(here[:, None] @ _chained(local, skeleton.parents))
        return np.concatenate(world, 1)

    def _local(
        self, before: Int[np.ndarray, " time"], after: Int[np.ndarray, " time"], u: Float[np.ndarray, "time 1 1"]
    ) -> Float[np.ndarray, "time moved 4 4"]:
        first, last = (torch.as_tensor(self.rotations[index]) for index in (before, after))
        turn = quaternion_to_matrix(slerp(first, last, torch.as_tensor(u))).numpy()
        local = np.zeros((*turn.shape[:2], 4, 4))
        local[..., :3, :3] = turn @ _between(self.stretches, before, after, u[..., None])
        local[..., :3, 3] = _between(self.translations, before, after, u)
        local[..., 3, 3] = 1
        return local


def read_usd(path: str | Path) -> FileRig:
    """A .usd, .usda, .usdc or .usdz file; every SkelAnimation that fits a skeleton is a clip.

    Layers and pictures that it names are read if they lie in its folder or below.
    """
    path = Path(path)
    if importlib.util.find_spec("pxr") is None:
        raise AkdError("Reading USD files needs the extra 'usd'; install it with: pip install 'akd[usd]'.")
    return rig_of(path, *arrays_of(CHILD, path, "USD"))


def rig_of(path: Path, story: Story, arrays: dict[str, np.ndarray]) -> FileRig:
    """The rig that the child's arrays describe."""
    notes = list(story["notes"])
    T_up_world = Y_FROM_Z_UP if story["z_up"] else np.eye(4)
    skeletons = _skeletons(path, story, arrays, T_up_world)
    mesh, weights = _bound_meshes(path, story, arrays, skeletons, T_up_world, notes)
    if not skeletons and not mesh.vertex_count:
        raise AkdError(f"{path.name} holds neither a mesh nor a skeleton{_because(notes)}.")
    names = [name for entry in story["skeletons"] for name in entry["names"]]
    parents = [np.where(s.parents >= 0, s.parents + s.first, -1) for s in skeletons]
    rest = np.concatenate([np.zeros((0, 4, 4)), *(s.bind_to_world(T_up_world) @ s.bind for s in skeletons)])
    check_coordinates(rest, path.name)
    check_coordinates(mesh.vertices, path.name)
    if np.any(np.abs(np.linalg.det(rest)) < 1e-18):
        raise AkdError(f"{path.name} has a skeleton whose bind transforms are flat; export it again.")
    rate = _plausible(story["rate"], RATES, DEFAULT_RATE, "time codes per second", notes)
    clips = _clips(story, arrays, skeletons, T_up_world, rate, notes)
    return FileRig(
        names=unique_names(names), parents=np.concatenate([np.zeros(0, int), *parents]), rest=rest, mesh=mesh, weights=weights,
        clips=tuple(Clip(name, clip.duration) for name, clip in clips.items()),
        sample=(lambda name, times: _named(clips, name).sample(skeletons, times)) if clips else None,
        metres=_plausible(story["metres"], METRES, DEFAULT_METRES, "metres per unit", notes),
        path=path, notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _because(notes: list[str]) -> str:
    """What was left out may be all there was."""
    return f" ({notes[0].removesuffix('.')})" if notes else ""


def _plausible(value: float, limits: tuple[float, float], default: float, what: str, notes: list[str]) -> float:
    if limits[0] <= value <= limits[1]:
        return float(value)
    notes.append(f"The file has {value:g} {what}, which cannot be; {default:g} was taken.")
    return default


def _named(clips: dict[str, _UsdClip], name: str) -> _UsdClip:
    if name not in clips:
        raise AkdError(f"There is no clip {name!r}; the clips are {', '.join(clips)}.")
    return clips[name]


def _skeletons(path: Path, story: Story, arrays: dict[str, np.ndarray], T_up_world: Float[np.ndarray, "4 4"]) -> list[_Skeleton]:
    out, count = list[_Skeleton](), 0
    for index, entry in enumerate(story["skeletons"]):
        rest, bind, parents = (arrays[f"skeleton{index}_{name}"] for name in ("rest", "bind", "parents"))
        rest, bind, joints = _columns(rest), _columns(bind), tuple(entry["joints"])
        for table in (rest, bind):
            check_coordinates(table, path.name)
        if len(parents) != len(joints) or np.any(parents >= np.arange(len(parents))):
            raise AkdError(f"The skeleton {entry['path']} of {path.name} has joints before their parents; export it again.")
        if len(rest) != len(joints):  # no rest pose in the file: the joints then rest where they were bound
            rest = np.array([bind[j] if p < 0 else np.linalg.pinv(bind[p]) @ bind[j] for j, p in enumerate(parents)])
        if len(bind) != len(joints):
            bind = _chained(rest, parents)
        place = T_up_world @ _columns(arrays[f"skeleton{index}_place"])
        check_coordinates(place @ _chained(rest, parents), path.name)
        out.append(_Skeleton(joints, np.maximum(parents, -1), rest, bind, place, count))
        count += len(joints)
    return out


def _clips(
    story: Story, arrays: dict[str, np.ndarray], skeletons: list[_Skeleton], T_up_world: Float[np.ndarray, "4 4"], rate: float,
    notes: list[str],
) -> dict[str, _UsdClip]:  # fmt: skip
    """The clips by name. One that throws bones beyond all bounds would be no use to anyone."""
    out = {}
    for index, name in enumerate(unique_names([entry["name"] for entry in story["clips"]])):
        codes, local = arrays[f"clip{index}_codes"], _columns(arrays[f"clip{index}_local"])
        turns, stretches = _polar(local[..., :3, :3])
        places = tuple(T_up_world @ _columns(arrays[f"clip{index}_place{s}"]) for s in range(len(skeletons)))
        joints = tuple(story["clips"][index]["joints"])
        clip = _UsdClip((codes - codes[0]) / rate, joints, local[..., :3, 3], turns, stretches, places)
        try:
            check_coordinates(clip.sample(skeletons, clip.times), name)
        except AkdError:
            notes.append(f"The animation {name} moves bones beyond all bounds, so it was left out.")
        else:
            out[name] = clip
    return out


def _polar(
    linear: Float[np.ndarray, "sample moved 3 3"]
) -> tuple[Float[np.ndarray, "sample moved 4"], Float[np.ndarray, "sample moved 3 3"]]:
    """The nearest rotation, as a quaternion, and what is left; where the matrix mirrors, that goes into what is left."""
    left, _, right = np.linalg.svd(linear)
    left[..., 2] *= np.sign(np.linalg.det(left @ right))[..., None]
    turn = left @ right
    return matrix_to_quaternion(torch.as_tensor(turn)).numpy(), turn.swapaxes(-1, -2) @ linear


def _bound_meshes(
    path: Path, story: Story, arrays: dict[str, np.ndarray], skeletons: list[_Skeleton], T_up_world: Float[np.ndarray, "4 4"],
    notes: list[str],
) -> tuple[Mesh, Float[np.ndarray, "vertex bone"]]:  # fmt: skip
    """All meshes in the pose they were bound in, as one, and their weights."""
    reader = UsdMeshes(path, story, arrays)
    bone_count = sum(len(skeleton.joints) for skeleton in skeletons)
    parts, tables, counts = list[Mesh](), list[np.ndarray](), Counter[str]()
    for index, entry in enumerate(story["meshes"]):
        read = reader.read(index)
        if read is None:
            continue
        mesh, point_of_vertex = read
        check_coordinates(mesh.vertices, path.name)
        check_weight_count(sum(len(table) for table in tables) + mesh.vertex_count, bone_count, path.name)
        if entry["skeleton"] is None:
            place, table = T_up_world @ _columns(reader.of(index, "place")), np.zeros((mesh.vertex_count, bone_count))
        else:
            skeleton = skeletons[entry["skeleton"]]
            geom_bind = _columns(reader.of(index, "geom_bind"))
            check_coordinates(geom_bind, path.name)
            place = skeleton.bind_to_world(T_up_world) @ geom_bind
            table = _weights(reader, index, skeleton, geom_bind, bone_count, counts)[point_of_vertex]
            if entry["dual_quaternions"]:
                notes.append(f"The mesh {entry['name']} asks for dual quaternion skinning; akd blends linearly.")
        check_coordinates(place, path.name)
        parts.append(mesh.transformed(place))
        tables.append(table)
    notes += reader.notes + repair_notes(counts)
    if not parts:
        return no_mesh(), np.zeros((0, bone_count))
    return joined(parts), np.concatenate(tables)


def _weights(
    reader: UsdMeshes, index: int, skeleton: _Skeleton, geom_bind: Float[np.ndarray, "4 4"], bone_count: int, counts: Counter[str]
) -> Float[np.ndarray, "point bone"]:
    """Rows over all bones. Points without weight go to the nearest joint."""
    entry, points = reader.story["meshes"][index], reader.of(index, "points")
    point_count = len(points)
    indices, weights = reader.of(index, "joints"), reader.of(index, "weights")
    if not len(indices) or len(indices) % point_count or len(indices) != len(weights):
        raise AkdError(f"The mesh {entry['path']} has joint weights that do not fit its {point_count} points; export it again.")
    indices, weights = indices.reshape(point_count, -1), weights.reshape(point_count, -1)
    place = {joint: number for number, joint in enumerate(skeleton.joints)}
    order = np.array([place.get(joint, -1) for joint in entry["order"] or skeleton.joints], int)
    inside = (indices >= 0) & (indices < len(order))
    indices = np.where(inside, order[np.where(inside, indices, 0)], -1)
    joints, weights, bare = repaired_influences(indices, weights, len(skeleton.joints), counts)
    table = np.zeros((point_count, bone_count))
    np.add.at(table, (np.arange(point_count)[:, None], skeleton.first + joints), weights)
    bound = points[bare] @ geom_bind[:3, :3].T + geom_bind[:3, 3]
    table[bare, skeleton.first + nearest(bound, skeleton.bind[:, :3, 3])] = 1
    return table


def _chained(
    local: Float[np.ndarray, "*time joint 4 4"], parents: Int[np.ndarray, " joint"]
) -> Float[np.ndarray, "*time joint 4 4"]:
    """Transforms relative to parents → relative to the skeleton."""
    out = local.copy()
    for joint, parent in enumerate(parents):
        if parent >= 0:
            out[..., joint, :, :] = out[..., parent, :, :] @ out[..., joint, :, :]
    return out


def _between(values: np.ndarray, before: np.ndarray, after: np.ndarray, u: np.ndarray) -> np.ndarray:
    """On straight lines from one sample to the next."""
    return values[before] + u * (values[after] - values[before])


def _columns(matrices: Any) -> Float[np.ndarray, "*batch 4 4"]:
    """USD's matrices, made to multiply column vectors."""
    return np.swapaxes(matrices, -1, -2)
