"""Blender's automatic weights for a mesh and a skeleton: IN.npz OUT.npz. Needs bpy; knows nothing of akd.

The input holds vertices, faces, heads, tails and parents. The output holds the weights of the mesh as it is (``imported``) and
after merging vertices at the same place (``merged``), and the CPU seconds each took. Weights are 0 where Blender finds no
solution.
"""

import sys
import time
from pathlib import Path

import bpy
import numpy as np

SAME_PLACE = 1e-4  # Blender's default distance for merging, for a mesh of size one


def build(data: dict) -> tuple:
    """A mesh and an armature in an empty scene."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata(data["vertices"].tolist(), [], data["faces"].tolist())
    skin = bpy.data.objects.new("skin", mesh)
    armature = bpy.data.objects.new("bones", bpy.data.armatures.new("bones"))
    for thing in (skin, armature):
        bpy.context.scene.collection.objects.link(thing)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    for joint, (head, tail) in enumerate(zip(data["heads"].tolist(), data["tails"].tolist(), strict=True)):
        bone = bones.new(f"{joint:04d}")
        bone.head, bone.tail = head, tail
        if np.linalg.norm(np.subtract(head, tail)) < 1e-4:  # Blender deletes bones without length
            bone.tail = (head[0], head[1] + 0.01, head[2])
        if data["parents"][joint] >= 0:
            bone.parent = bones[f"{data['parents'][joint]:04d}"]
    bpy.ops.object.mode_set(mode="OBJECT")
    return skin, armature


def merge(skin: object) -> None:
    """Merge by distance."""
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = skin
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.remove_doubles(threshold=SAME_PLACE)
    bpy.ops.object.mode_set(mode="OBJECT")


def automatic_weights(skin: object, armature: object, joints: int) -> tuple[np.ndarray, float]:
    """Parent with automatic weights; what each vertex got, and how long it took."""
    bpy.ops.object.select_all(action="DESELECT")
    skin.select_set(True)
    armature.select_set(True)
    bpy.context.view_layer.objects.active = armature
    begin = time.process_time()  # other work on the machine must not count
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    seconds = time.process_time() - begin
    joint_of_group = {group.index: int(group.name) for group in skin.vertex_groups}
    weights = np.zeros((len(skin.data.vertices), joints))
    for vertex in skin.data.vertices:
        for entry in vertex.groups:
            weights[vertex.index, joint_of_group[entry.group]] = entry.weight
    return weights, seconds


def carried_back(skin: object, weights: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """From merged vertices to those of the file, by place."""
    merged = np.array([vertex.co for vertex in skin.data.vertices])
    nearest = [np.argmin(((merged - vertex) ** 2).sum(1)) for vertex in vertices]
    return weights[nearest]


def main(path: Path, out: Path) -> None:
    data = dict(np.load(path))
    joints = len(data["heads"])
    imported, seconds = automatic_weights(*build(data), joints)
    skin, armature = build(data)
    merge(skin)
    weights, merged_seconds = automatic_weights(skin, armature, joints)
    merged = carried_back(skin, weights, data["vertices"])
    np.savez(out, imported=imported, merged=merged, seconds=[seconds, merged_seconds])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
