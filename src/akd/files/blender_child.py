"""GLB to FBX inside Blender; run by ``blender.py`` with Blender itself or with a Python that has ``bpy``.

``… blender_child.py -- SOURCE TARGET FPS CLIP [CLIP …]``: the animation called 0 becomes the first clip, and so on. It knows nothing of akd: the program that runs it has its own Python.
"""

import math
import sys

import bpy


def main(source: str, target: str, fps: float, names: list[str]) -> None:
    """Import the GLB, name its clips, and write everything as FBX."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    render = bpy.context.scene.render
    render.fps = max(round(fps), 1)
    render.fps_base = render.fps / fps  # keys lie on frames only at the clip's own rate
    # BLENDER: bones keep the axes of the file's nodes, so that the rest pose comes back as it was.
    bpy.ops.import_scene.gltf(filepath=source, bone_heuristic="BLENDER")
    for owner in [*bpy.data.objects, *bpy.data.shape_keys]:
        name_clips(owner, names)
    remove_drawings_of_bones()
    ends = [strip.frame_end for strip in all_strips()]
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, int(max(ends, default=1))
    bpy.ops.export_scene.fbx(
        filepath=target, object_types={"ARMATURE", "MESH", "EMPTY"}, add_leaf_bones=False, use_armature_deform_only=False,
        bake_anim=True, bake_anim_use_all_bones=True, bake_anim_use_nla_strips=True, bake_anim_use_all_actions=False,
        bake_anim_force_startend_keying=True, bake_anim_simplify_factor=0.0, path_mode="COPY", embed_textures=True,
    )  # fmt: skip


def name_clips(owner, names: list[str]) -> None:
    """The importer makes a track for every clip; the exporter plays those that can be heard, and takes their strips' names."""
    if owner.animation_data is None:
        return
    owner.animation_data.action = None
    for track in owner.animation_data.nla_tracks:
        track.mute = False
        for strip in track.strips:
            strip.name = names[int(track.name)]
            strip.frame_end = math.ceil(strip.frame_end - 0.01)  # the exporter stops at the last whole frame


def all_strips() -> list:
    """Of every object."""
    moved = [owner.animation_data for owner in bpy.data.objects if owner.animation_data is not None]
    return [strip for data in moved for track in data.nla_tracks for strip in track.strips]


def remove_drawings_of_bones() -> None:
    """The importer adds a mesh that bones are drawn with, which is no part of the character."""
    shapes = {bone.custom_shape for o in bpy.data.objects if o.type == "ARMATURE" for bone in o.pose.bones}
    for shape in shapes - {None}:
        bpy.data.objects.remove(shape)


if __name__ == "__main__":
    _source, _target, _fps, *_names = sys.argv[sys.argv.index("--") + 1 :]
    main(_source, _target, float(_fps), _names)
