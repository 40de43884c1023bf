"""FBX, read by ufbx in a process of its own (see ``fbx_child.py``), in metres and Y up."""

import importlib.util
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from akd.errors import AkdError
from akd.files.child import Story, arrays_of
from akd.files.geometry import bind_frame, fan, joined, nearest, picked_uv, split_at_seams
from akd.files.gltf.materials import linear_to_srgb
from akd.files.paint import GREY, decoded, painted, picture_beside
from akd.files.reading import Tracks, no_mesh, parents_first, unique_names
from akd.mesh import Material, Mesh
from akd.rig import Clip, FileRig

CHILD = Path(__file__).with_name("fbx_child.py")
NO_MATERIAL = Material("none", GREY)


def read_fbx(path: str | Path) -> FileRig:
    """A .fbx file, binary or text: bones, meshes as they were bound, materials, and every animation as a clip."""
    path = Path(path)
    if importlib.util.find_spec("ufbx") is None:
        raise AkdError("Reading FBX files needs the extra 'fbx'; install it with: pip install 'akd[fbx]'.")
    return rig_of(path, *arrays_of(CHILD, path, "FBX"))


def rig_of(path: Path, story: Story, arrays: dict[str, np.ndarray]) -> FileRig:
    """The rig that the child's arrays describe."""
    file = _FbxFile(path, story, arrays)
    mesh, weights = _meshes(file)
    clips = {name: Tracks.from_world(file.parents, world[:, file.bones], step) for name, world, step in file.clips if file.bones}
    notes = [f"The mesh {part['name']} has blend shapes, which were left out." for part in file.shown if part["shapes"]]
    if len(file.shown) < len(file.story["parts"]):
        notes.append(f"{len(file.story['parts']) - len(file.shown)} hidden meshes were left out.")
    if not file.bones and not mesh.vertex_count:
        raise AkdError(f"{path.name} holds neither a mesh nor bones.")
    names = unique_names([file.story["nodes"][bone] or f"node{bone}" for bone in file.bones])
    return FileRig(
        names=names, parents=file.parents, rest=file.rest, mesh=mesh, weights=weights,
        clips=tuple(Clip(name, tracks.duration) for name, tracks in clips.items()),
        sample=(lambda name, times: clips[name].sample(times)) if clips else None,
        forward=np.array([0.0, 0.0, 1.0]), path=path, notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class _FbxFile:
    """What the child has found, and which of its nodes are bones."""

    path: Path
    story: Story
    arrays: dict[str, np.ndarray]

    @cached_property
    def shown(self) -> list[dict[str, Any]]:
        """The meshes that are visible; all of them if none is."""
        parts = [part | {"index": index} for index, part in enumerate(self.story["parts"])]
        return [part for part in parts if part["visible"]] or parts

    def of(self, part: dict[str, Any], name: str) -> np.ndarray:
        """One of the arrays of a mesh."""
        return self.arrays[f"part{part['index']}_{name}"]

    def ancestors(self, node: int) -> list[int]:
        """The node itself, its parent, and so on, without the scene's root."""
        out = []
        while node > 0:
            out.append(node)
            node = int(self.arrays["parents"][node])
        return out

    @cached_property
    def bones(self) -> list[int]:
        """Nodes that carry skin and the bones above them; without skin all bones; without bones the moving nodes of meshes."""
        carrying = {int(bone) for part in self.shown for bone in self.of(part, "cluster_bone")}
        chosen = {node for bone in carrying for node in self.ancestors(bone) if self.story["is_bone"][node] or node in carrying}
        chosen = chosen or {node for node, is_bone in enumerate(self.story["is_bone"]) if is_bone}
        if not chosen and self.story["clips"]:
            chosen = {node for part in self.shown for node in self.ancestors(part["node"])}
        return [int(node) for node in parents_first(self.arrays["parents"]) if node in chosen]

    @cached_property
    def place(self) -> dict[int, int]:
        """Index of each bone by its node."""
        return {node: index for index, node in enumerate(self.bones)}

    def carrier(self, node: int) -> int | None:
        """The bone that a node moves with: itself or the nearest above it."""
        return next((self.place[above] for above in self.ancestors(node) if above in self.place), None)

    @cached_property
    def parents(self) -> Int[np.ndarray, " bone"]:
        above = [self.carrier(int(self.arrays["parents"][node])) for node in self.bones]
        return np.array([-1 if bone is None else bone for bone in above], int)

    @cached_property
    def pose(self) -> Float[np.ndarray, "bone 4 4"]:
        """World matrices of the bones as the file shows them, which may be a frame of some clip."""
        return self.arrays["pose"][self.bones].reshape(-1, 4, 4)

    @cached_property
    def rest(self) -> Float[np.ndarray, "bone 4 4"]:
        """World matrices of the bones when the meshes were bound; bones without skin follow their parent or child."""
        rest, known = self.pose.copy(), np.zeros(len(self.bones), bool)
        for part in sorted(self.shown, key=lambda part: -len(self.of(part, "cluster_bone"))):
            bones = np.array([self.place[int(node)] for node in self.of(part, "cluster_bone")], int)
            if not len(bones):
                continue
            bind = np.linalg.pinv(self.of(part, "cluster_bind"))
            bound = bind_frame(bind, self.pose[bones], [self.of(part, "to_world")]) @ bind
            rest[bones[~known[bones]]] = bound[~known[bones]]
            known[bones] = True
        steps = [(child, int(parent)) for child, parent in enumerate(self.parents) if parent >= 0]
        for bone, other in [*((parent, child) for child, parent in reversed(steps)), *steps]:
            if known[other] and not known[bone]:
                rest[bone] = rest[other] @ np.linalg.pinv(self.pose[other]) @ self.pose[bone]
                known[bone] = True
        return rest

    @cached_property
    def clips(self) -> list[tuple[str, np.ndarray, float]]:
        """Name, world matrices of all nodes, and seconds per frame. Blender writes ``armature|name``."""
        names = unique_names([clip["name"].rsplit("|", 1)[-1] for clip in self.story["clips"]])
        return [(name, self.arrays[f"clip{i}"], self.story["clips"][i]["step"]) for i, name in enumerate(names)]

    @cached_property
    def materials(self) -> list[Material]:
        return [self._material(index, entry) for index, entry in enumerate(self.story["materials"])]

    def _material(self, index: int, entry: dict[str, Any]) -> Material:
        """FBX colours are taken as linear light, as Blender and the converters to glTF take them."""
        content = self.arrays.get(f"picture{index}")
        pictures = [decoded(content.tobytes())] if content is not None else []
        pictures += [picture_beside(self.path, name) for name in entry["picture"] if name]
        texture = next((picture for picture in pictures if picture is not None), None)
        if texture is not None:
            return Material(entry["name"], np.ones(3), texture)
        color = np.array(entry["color"] or np.full(3, np.nan), float)
        return Material(entry["name"], linear_to_srgb(color) if np.all(np.isfinite(color)) else GREY)


def _meshes(file: _FbxFile) -> tuple[Mesh, Float[np.ndarray, "vertex bone"]]:
    """All meshes at rest as one, and their weights."""
    parts, tables = list[Mesh](), list[np.ndarray]()
    for part in file.shown:
        read = _surface(file, part)
        if read is None:
            continue
        mesh, point_of_vertex = read
        points, weights, mirrored = (_skinned if len(file.of(part, "cluster_bone")) else _rigid)(file, part)
        faces = mesh.faces[:, ::-1] if mirrored else mesh.faces
        parts.append(replace(mesh, vertices=points[point_of_vertex], faces=faces))
        tables.append(weights[point_of_vertex])
    if not parts:
        return no_mesh(), np.zeros((0, len(file.bones)))
    return joined(parts), np.concatenate(tables)


def _surface(file: _FbxFile, part: dict[str, Any]) -> tuple[Mesh, Int[np.ndarray, " vertex"]] | None:
    """Triangles and colours of a mesh in its own coordinates, and the point of each vertex."""
    points, indices = file.of(part, "points"), file.of(part, "indices")
    triangles, polygon = fan(file.of(part, "counts"))
    if not len(triangles):
        return None
    has_uv = f"part{part['index']}_uv" in file.arrays
    coordinates = file.of(part, "uv") if has_uv else np.zeros((0, 2))
    which = file.of(part, "uv_index") if has_uv else np.full(len(indices), -1)
    which = np.where(which < len(coordinates), which, -1)
    rows, vertex_of_corner = split_at_seams(np.stack((indices, which), 1), len(points))
    faces, uv = vertex_of_corner[triangles], picked_uv(coordinates, rows[:, 1])
    materials = tuple(file.materials[index] for index in part["materials"]) or (NO_MATERIAL,)
    face_material = file.of(part, "face_material")
    worn = np.clip(face_material, 0, len(materials) - 1)[polygon] if len(face_material) else np.zeros(len(polygon), int)
    own = _own_colors(file, part, vertex_of_corner, len(rows))
    colors = painted(len(rows), faces, materials, worn, uv, own)
    return Mesh(points[rows[:, 0]], faces, np.clip(colors, 0, 1), uv, materials, worn), rows[:, 0]


def _own_colors(
    file: _FbxFile, part: dict[str, Any], vertex_of_corner: Int[np.ndarray, " corner"], vertex_count: int
) -> Float[np.ndarray, "vertex 3"] | None:
    """Colours painted on corners, one per vertex."""
    if f"part{part['index']}_color" not in file.arrays:
        return None
    palette, which, out = file.of(part, "color"), file.of(part, "color_index"), np.ones((vertex_count, 3))
    inside = which < len(palette)
    out[vertex_of_corner[inside]] = np.clip(palette[which[inside], :3], 0, 1)
    return out


def _skinned(file: _FbxFile, part: dict[str, Any]) -> tuple[Float[np.ndarray, "point 3"], Float[np.ndarray, "point bone"], bool]:
    """Points at rest, their weights, and whether the mesh is mirrored on the way. What has no weight goes to the nearest bone."""
    points, bones = file.of(part, "points"), [file.place[int(node)] for node in file.of(part, "cluster_bone")]
    maps = file.rest[bones] @ file.of(part, "cluster_bind")
    homogeneous = np.column_stack((points, np.ones(len(points))))
    weights, placed = np.zeros((len(points), len(file.bones))), np.zeros((len(points), 3))
    for cluster, (bone, matrix) in enumerate(zip(bones, maps, strict=True)):
        touched, weight = file.of(part, f"cluster{cluster}_points"), file.of(part, f"cluster{cluster}_weights")
        inside = touched < len(points)
        touched, weight = touched[inside], np.maximum(weight[inside], 0)
        np.add.at(weights[:, bone], touched, weight)
        np.add.at(placed, touched, weight[:, None] * (homogeneous[touched] @ matrix[:3].T))
    total = weights.sum(1, keepdims=True)
    bare = total[:, 0] <= 1e-9
    placed = np.where(bare[:, None], homogeneous @ maps[0, :3].T, placed / np.maximum(total, 1e-9))
    weights /= np.where(bare[:, None], 1, total)
    weights[bare, nearest(placed[bare], file.rest[:, :3, 3])] = 1
    return placed, weights, bool(np.linalg.det(maps[0, :3, :3]) < 0)


def _rigid(file: _FbxFile, part: dict[str, Any]) -> tuple[Float[np.ndarray, "point 3"], Float[np.ndarray, "point bone"], bool]:
    """The same for a mesh that moves with one bone, or with none."""
    points, matrix = file.of(part, "points"), file.of(part, "to_world")
    weights = np.zeros((len(points), len(file.bones)))
    bone = file.carrier(part["node"])
    if bone is not None:
        weights[:, bone] = 1
        matrix = file.rest[bone] @ np.linalg.pinv(file.pose[bone]) @ matrix
    return points @ matrix[:3, :3].T + matrix[:3, 3], weights, bool(np.linalg.det(matrix[:3, :3]) < 0)
