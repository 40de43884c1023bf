"""What Blender makes of a file (.fbx, .usd*, .bvh): FILE OURS.npz [--legacy]. Needs bpy; knows nothing of akd.

OURS holds bones, clip, rate [frames per second], height [m], times [s], joints (frame × bone × 3), some (frames), points
(some × point × 3), in the file's order and in metres with Y up. Prints one JSON line: largest distances in
heights, the bones Blender lacks, and the pictures it could load. ``--legacy`` takes the older of Blender's two FBX importers.
"""

import json
import sys
from pathlib import Path

import bpy
import numpy as np

Y_UP_FROM_BLENDER = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])


def load(path: Path, legacy: bool) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if path.suffix == ".fbx" and legacy:
        import addon_utils

        addon_utils.enable("io_scene_fbx")
        bpy.ops.import_scene.fbx(filepath=str(path))
    elif path.suffix == ".fbx":
        bpy.ops.wm.fbx_import(filepath=str(path))
    elif path.suffix == ".bvh":
        import addon_utils

        addon_utils.enable("io_anim_bvh")
        bpy.ops.import_anim.bvh(
            filepath=str(path), axis_forward="-Z", axis_up="Y", global_scale=0.01, update_scene_fps=True, frame_start=0
        )
    else:
        bpy.ops.wm.usd_import(filepath=str(path))


def play(clip: str) -> tuple[float, str]:
    """Make every object follow the clip; the frame on which it begins, and what Blender calls it."""
    wanted = [action for action in bpy.data.actions if clip in action.name.split("|") or action.name == clip]
    wanted = wanted or list(bpy.data.actions)
    armatures = [thing for thing in bpy.data.objects if thing.type == "ARMATURE"]
    for thing in armatures:
        data = thing.animation_data or thing.animation_data_create()
        for track in data.nla_tracks:
            track.mute = True
        data.action = wanted[0]
        if data.action_slot is None and wanted[0].slots:
            data.action_slot = wanted[0].slots[0]
    return float(wanted[0].frame_range[0]), wanted[0].name


def points() -> np.ndarray:
    """All vertices as Blender deforms them, metres and Y up."""
    depsgraph, out = bpy.context.evaluated_depsgraph_get(), []
    for thing in [x for x in bpy.context.scene.objects if x.type == "MESH" and not x.hide_get()]:
        evaluated = thing.evaluated_get(depsgraph)
        mesh = evaluated.to_mesh()
        here = np.empty(3 * len(mesh.vertices))
        mesh.vertices.foreach_get("co", here)
        matrix = np.array(evaluated.matrix_world)
        out.append(here.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3])
        evaluated.to_mesh_clear()
    return np.concatenate(out) @ Y_UP_FROM_BLENDER.T if out else np.zeros((0, 3))


def heads() -> dict[str, np.ndarray]:
    """Where every bone begins, by name."""
    return {
        bone.name: Y_UP_FROM_BLENDER @ np.array(thing.matrix_world @ bone.head)
        for thing in bpy.data.objects if thing.type == "ARMATURE" for bone in thing.pose.bones
    }  # fmt: skip


def distance(theirs: np.ndarray, ours: np.ndarray) -> float:
    """The largest between points of the same number."""
    return float(np.linalg.norm(theirs - ours, axis=1).max(initial=0)) if theirs.shape == ours.shape else float("inf")


def measure(data: dict, own_rate: bool) -> dict:
    begin, called = play(str(data["clip"]))
    scene, worst, some = bpy.context.scene, {"joints": 0.0, "points": 0.0}, data["some"].tolist()
    rate = float(data["rate"]) if own_rate else scene.render.fps / scene.render.fps_base  # else frames are keys
    names = data["bones"].tolist()
    height = float(data["height"])
    known = heads()
    for index, seconds in enumerate(data["times"]):
        frame = begin + float(seconds) * rate
        scene.frame_set(int(frame), subframe=frame - int(frame))
        there = heads()
        for bone, name in enumerate(names):
            if name in there:
                worst["joints"] = max(worst["joints"], float(np.linalg.norm(there[name] - data["joints"][index, bone])))
        if index in some:
            worst["points"] = max(worst["points"], distance(points(), data["points"][some.index(index)]))
    pictures = [image for image in bpy.data.images if image.type == "IMAGE"]
    return {
        "clip": called, "fps": rate, "joints": worst["joints"] / height, "points": worst["points"] / height,
        "missing": [name for name in names if name not in known][:5], "bones": len(known),
        "pictures": [sum(image.size[0] > 0 for image in pictures), len(pictures)],
        "actions": [action.name for action in bpy.data.actions],
        "scales": sorted({round(float(s), 6) for x in bpy.data.objects if x.type == "ARMATURE" for s in x.scale}),
    }  # fmt: skip


def main() -> None:
    path, ours, *flags = sys.argv[1:]
    load(Path(path), "--legacy" in flags)
    print(json.dumps(measure(dict(np.load(ours)), Path(path).suffix != ".fbx")), flush=True)


if __name__ == "__main__":
    main()
