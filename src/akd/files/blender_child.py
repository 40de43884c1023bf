"""GLB to FBX inside Blender; run by ``blender.py`` with Blender itself or with a Python that has ``bpy``.

``… blender_child.py -- SOURCE TARGET FPS CLIPS``. CLIPS is JSON, a name and a length in frames for each: the animation called 0
becomes the first, and so on. This file knows nothing of akd: the program that runs it has its own Python.
"""

import json
import sys

import bpy

NEUTRAL_RATE = 30  # frames per second while reading; the importer misreads rates that are no whole number


def main(source: str, target: str, fps: float, clips: list) -> None:
    """Import the GLB, name its clips, and write everything as FBX."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    render = bpy.context.scene.render
    render.fps, render.fps_base = NEUTRAL_RATE, 1.0
    # BLENDER: bones keep the axes of the file's nodes, so that the rest pose comes back as it was.
    bpy.ops.import_scene.gltf(filepath=source, bone_heuristic="BLENDER")
    for owner in [*bpy.data.objects, *bpy.data.shape_keys]:
        name_clips(owner, clips)
    render.fps_base = NEUTRAL_RATE / fps
    remove_drawings_of_bones()
    ends = [strip.frame_end for strip in all_strips()]
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, int(max(ends, default=1))
    bpy.ops.export_scene.fbx(
        filepath=target, object_types={"ARMATURE", "MESH", "EMPTY"}, add_leaf_bones=False, use_armature_deform_only=False,
        bake_anim=True, bake_anim_use_all_bones=True, bake_anim_use_nla_strips=True, bake_anim_use_all_actions=False,
        bake_anim_force_startend_keying=True, bake_anim_simplify_factor=0.0, path_mode="COPY", embed_textures=True,
    )  # fmt: skip


def name_clips(owner, clips: list) -> None:
    """The importer makes a track for every clip; the exporter plays those that can be heard, and takes their strips' names."""
    if owner.animation_data is None:
        return
    owner.animation_data.action = None
    for track in owner.animation_data.nla_tracks:
        track.mute = False
        name, frames = clips[int(track.name)]
        for strip in track.strips:
            strip.name = name
            strip.scale = frames / (strip.action_frame_end - strip.action_frame_start)  # keys lie on whole frames then
            strip.frame_end = strip.frame_start + frames


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
    _source, _target, _fps, _clips = sys.argv[sys.argv.index("--") + 1 :]
    main(_source, _target, float(_fps), json.loads(_clips))
