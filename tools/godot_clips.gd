# What Godot 3 finds in GLB files: clips with their lengths, whether they loop, and the number of bones.
#
#   mkdir project && echo "config_version=4" > project/project.godot && cp fox.glb godot_clips.gd project/
#   xvfb-run -a godot3 --video-driver GLES2 --path project --editor --quit      (imports the files)
#   xvfb-run -a godot3 --video-driver GLES2 --path project -s godot_clips.gd fox
extends SceneTree


func _find(node, kind):
    if node.get_class() == kind:
        return node
    for child in node.get_children():
        var found = _find(child, kind)
        if found != null:
            return found
    return null


func _init():
    for name in OS.get_cmdline_args():
        if not File.new().file_exists("res://%s.glb" % name):
            continue
        var scene = load("res://%s.glb" % name).instance()
        get_root().add_child(scene)
        var player = _find(scene, "AnimationPlayer")
        print(name, ": ", _find(scene, "Skeleton").get_bone_count(), " bones")
        for clip in player.get_animation_list():
            print("  ", clip, ", ", player.get_animation(clip).length, " s, loop ", player.get_animation(clip).loop)
    quit()
