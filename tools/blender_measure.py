"""The Blender half of ``blender_check.py``: FILE.glb OURS.npz [PICTURES]. Needs bpy; knows nothing of akd.

Imports the file, plays each clip listed in OURS.npz and prints, as a line of JSON, the largest distance between Blender's joints
and vertices and ours as a share of the height.
"""

import json
import struct
import sys
import tempfile
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector
from mathutils.kdtree import KDTree

FPS = 1000  # Blender counts in frames; a fine raster keeps key times apart
GLTF_FROM_BLENDER = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])


def load(path: Path) -> None:
    """An empty scene with one glTF file in it.

    The heuristic is about where bones point, not where they are; with "BLENDER" the importer misplaces objects that hang
    on a bone of a scaled armature.
    """
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = FPS
    bpy.ops.import_scene.gltf(filepath=str(path), merge_vertices=False, bone_heuristic="TEMPERANCE", disable_bone_shape=True)


def movable() -> dict:
    """Everything a clip can move, objects and the bones of armatures, by name."""
    bones = {(thing.name, bone.name): bone for thing in bpy.data.objects if thing.pose for bone in thing.pose.bones}
    return {(thing.name, ""): thing for thing in bpy.data.objects} | bones


def default_pose(path: Path) -> dict:
    """The pose of the nodes that no clip moves. Blender forgets it when a file has clips, so ask without them."""
    data = path.read_bytes()
    content = json.loads(json_chunk(data))
    content.pop("animations", None)
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + int.from_bytes(data[12:16], "little") :]
    still = Path(tempfile.mkdtemp()) / path.name
    still.write_bytes(struct.pack("<4sIII4s", b"glTF", 2, 20 + len(text) + len(rest), len(text), b"JSON") + text + rest)
    load(still)
    return {name: thing.matrix_basis.copy() for name, thing in movable().items()}


def play(clip_name: str, defaults: dict) -> int:
    """Make every object follow one clip, and only that; how many do. What the clip leaves alone is as the file has it."""
    count = 0
    for name, thing in movable().items():
        thing.matrix_basis = defaults[name]
    for thing in bpy.data.objects:
        if thing.animation_data is None:
            continue
        thing.animation_data.action = None
        for track in thing.animation_data.nla_tracks:
            track.mute = True
            if track.name == clip_name:
                strip = track.strips[0]
                thing.animation_data.action = strip.action
                thing.animation_data.action_slot = strip.action_slot
                count += 1
    return count


def go_to(seconds: float) -> None:
    frame = seconds * FPS
    bpy.context.scene.frame_set(int(frame), subframe=frame - int(frame))


def joint_finders(names: list[str]) -> dict[int, object]:
    """For each of our bones that Blender has under the same name, a function that tells where it is."""
    finders = {}
    for place, name in enumerate(names):
        armature = next((x for x in bpy.data.objects if x.type == "ARMATURE" and name in x.pose.bones), None)
        if armature is not None:
            finders[place] = lambda a=armature, n=name: a.matrix_world @ a.pose.bones[n].head
        elif name in bpy.data.objects:
            finders[place] = lambda x=bpy.data.objects[name]: x.matrix_world.translation
    return finders


def vertices() -> np.ndarray:
    """All vertices as Blender deforms them, glTF axes."""
    depsgraph, points = bpy.context.evaluated_depsgraph_get(), []
    shown = [x for x in bpy.context.scene.objects if x.type == "MESH" and not x.hide_get()]
    for thing in shown:
        evaluated = thing.evaluated_get(depsgraph)
        mesh = evaluated.to_mesh()
        here = np.empty(3 * len(mesh.vertices))
        mesh.vertices.foreach_get("co", here)
        matrix = np.array(evaluated.matrix_world)
        points.append(here.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3])
        evaluated.to_mesh_clear()
    return np.concatenate(points) @ GLTF_FROM_BLENDER.T if points else np.zeros((0, 3))


def cloud_distance(first: np.ndarray, second: np.ndarray) -> float:
    """Largest distance from a point of either set to the nearest of the other."""

    def one_way(source: np.ndarray, target: np.ndarray) -> float:
        tree = KDTree(len(target))
        for place, point in enumerate(target):
            tree.insert(point, place)
        tree.balance()
        return max(tree.find(point)[2] for point in source)

    return max(one_way(first, second), one_way(second, first))


def render(path: Path, points: np.ndarray) -> None:
    """A picture of this instant from the front left."""
    scene, points = bpy.context.scene, points @ GLTF_FROM_BLENDER
    centre, size = (points.min(0) + points.max(0)) / 2, np.ptp(points, 0).max()
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.data.type, camera.data.ortho_scale, camera.data.clip_end = "ORTHO", 1.3 * size, 100 * size
    direction = Vector((0.7, -1.0, 0.4))
    camera.location = Vector(centre) + direction * size * 3
    camera.rotation_euler = direction.to_track_quat("Z", "Y").to_euler()
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.rotation_euler = 4, (0.6, 0.3, 0.5)
    for thing in (camera, sun):
        scene.collection.objects.link(thing)
    scene.world = scene.world or bpy.data.worlds.new("world")
    scene.world.color = (0.4, 0.4, 0.4)
    scene.camera, scene.render.engine, scene.cycles.samples = camera, "CYCLES", 8
    scene.view_settings.view_transform = "Standard"
    scene.render.resolution_x = scene.render.resolution_y = 360
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    for thing in (camera, sun):
        bpy.data.objects.remove(thing)


def main() -> None:
    path, ours, *pictures = sys.argv[1:]
    data = np.load(ours)
    defaults = default_pose(Path(path))
    load(Path(path))
    animations = json.loads(json_chunk(Path(path).read_bytes())).get("animations", [])
    finders = joint_finders(data["bones"].tolist())
    for key in [k for k in data.files if k.endswith("/times")]:
        clip = key.split("/")[0]
        name = animations[int(clip)].get("name", f"Anim_{clip}")
        line = {"clip": name} | (measure(data, clip, finders) if play(name, defaults) else {"error": "Blender has no such clip"})
        print(json.dumps(line), flush=True)
        if pictures:
            go_to(float(data[key][len(data[key]) // 3]))
            render(Path(pictures[0]).resolve() / f"{Path(path).stem}-{clip}.png", vertices())


def json_chunk(data: bytes) -> bytes:
    return data[20 : 20 + int.from_bytes(data[12:16], "little")]


def measure(data, clip: str, finders: dict) -> dict:
    """Deviations over the clip that plays, as shares of the height."""
    joints, worst_joint, worst_vertex = data[f"{clip}/joints"], 0.0, 0.0
    height = np.ptp(data[f"{clip}/vertices"][0][:, 1])
    some = data[f"{clip}/some"].tolist()
    for frame, seconds in enumerate(data[f"{clip}/times"]):
        go_to(float(seconds))
        for place, where in finders.items():
            there = GLTF_FROM_BLENDER @ np.array(where())
            worst_joint = max(worst_joint, float(np.linalg.norm(there - joints[frame, place])))
        if frame in some:
            worst_vertex = max(worst_vertex, cloud_distance(vertices(), data[f"{clip}/vertices"][some.index(frame)]))
    return {
        "joints": worst_joint / height, "vertices": worst_vertex / height, "frames": len(joints),
        "compared": len(finders), "bones": joints.shape[1],
    }


if __name__ == "__main__":
    main()
