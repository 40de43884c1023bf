"""What other programs want of a clip: travel on a root bone, bones with the names they know, fewer keys.

Every wish is a change of the scene before it is written, so all formats have it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float

from akd.character.humanoid import humanoid_joints
from akd.character.scene import scene_of
from akd.files.gltf.write_rig import GLTF_FROM_STAGE
from akd.files.reading import unique_names
from akd.files.scene import Scene, SceneClip
from akd.motion import Motion, in_place, resample
from akd.rig import Rig
from akd.rotations import quaternion_to_matrix

Root = Literal["hips", "in-place", "bone"]
Names = Literal["own", "mixamo", "vrm", "unreal"]
ROOT_NAME = "root"
LOOP_SUFFIX = "-loop"
"""Godot plays clips whose names end so in a loop."""


@dataclass(frozen=True)
class Export:
    """How clips are written for another program."""

    root: Root = "hips"
    """What carries the movement over the ground: the hips, nothing (the clip plays in place), or a bone at the ground."""
    names: Names = "own"
    """What the bones of a humanoid are called: as in its file, or as Mixamo, VRM (and Unity) or Unreal call them."""
    keys: Literal["all", "reduced"] = "all"
    """A key on every frame, or as few keys on smooth curves as keep every point within half a millimetre on a person."""
    loop_suffix: bool = False
    """Let the clip's name end in -loop, which Godot understands."""
    writer: Literal["own", "blender"] = "own"
    """Who writes an FBX: our own writer, or Blender, which also keeps morph targets."""


def prepared(motions: Mapping[str, Motion], export: Export, fps: float) -> dict[str, Motion]:
    """The motions at a frame rate, with or without travel, under their final names."""
    ending = LOOP_SUFFIX if export.loop_suffix else ""
    chosen = {name: in_place(motion) if export.root == "in-place" else motion for name, motion in motions.items()}
    return {f"{name.removesuffix(ending)}{ending}": resample(motion, fps) for name, motion in chosen.items()}


def exported_scene(rig: Rig, motions: Mapping[str, Motion], export: Export) -> Scene:
    """The scene that is written for another program."""
    scene = scene_of(rig, motions)
    if export.names != "own":
        scene = replace(scene, bones=preset_names(rig, scene, export.names))
    if export.root == "bone":
        scene = with_root_bone(rig, scene, list(motions.values()))
    return replace(scene, clips=tuple(replace(clip, reduced=export.keys == "reduced") for clip in scene.clips))


# Root motion


def with_root_bone(rig: Rig, scene: Scene, motions: list[Motion]) -> Scene:
    """The scene in which a bone at the ground carries the movement over it; where every other bone is does not change.

    The file's own bone above the hips is taken if it has one that nothing moves; else a new one is put above all bones.
    """
    paths = [ground_path(rig, motion) for motion in motions]
    still = still_bones(rig)
    if still is not None:
        clips = []
        for clip, path in zip(scene.clips, paths, strict=True):
            world = clip.world.copy()
            world[:, still] = path[:, None] @ scene.rest[still]
            clips.append(replace(clip, world=world))
        return replace(scene, clips=tuple(clips))
    name = unique_names([*scene.bones, ROOT_NAME])[-1]
    return replace(
        scene, bones=(name, *scene.bones), parents=np.append(-1, scene.parents + 1),
        rest=np.concatenate((np.eye(4)[None], scene.rest)), weights=np.pad(scene.weights, ((0, 0), (1, 0))),
        clips=tuple(
            SceneClip(clip.name, clip.times, np.concatenate((path[:, None], clip.world), 1))
            for clip, path in zip(scene.clips, paths, strict=True)
        ),
    )  # fmt: skip


def still_bones(rig: Rig) -> Bool[np.ndarray, " bone"] | None:
    """Which bones of the file stay where they are in our motions, if one of them is the root of all others; else None."""
    if rig.origin is None or not rig.origin.file.names:
        return None
    still, parents = rig.origin.joint_of_bone < 0, rig.origin.file.parents
    return still if (parents < 0).sum() == 1 and still[0] else None


def ground_path(rig: Rig, motion: Motion) -> Float[np.ndarray, "frame 4 4"]:
    """How the body as a whole moves over the ground, away from where it stands at rest, in the axes of the scene.

    Way and heading are cubic curves through the clip's ends, so that the sway of each stride stays with the hips, and clips
    that loop go on without a jump.
    """
    pose = motion.pose.detach().to(torch.float64)
    way = pose.root_position.numpy()[:, [0, 2]]
    ahead = quaternion_to_matrix(pose.root_rotation)[:, [0, 2], 0].numpy()
    heading = np.unwrap(np.arctan2(-ahead[:, 1], ahead[:, 0]))
    smooth = _cubic(np.column_stack((way, heading)))
    cos, sin = np.cos(smooth[:, 2]), np.sin(smooth[:, 2])
    out = np.tile(np.eye(4), (len(way), 1, 1))
    out[:, 0, 0], out[:, 0, 2], out[:, 2, 0], out[:, 2, 2] = cos, sin, -sin, cos
    start = np.array([rig.skeleton.positions[0, 0], 0.0, rig.skeleton.positions[0, 2]])
    out[:, :3, 3] = np.stack((smooth[:, 0], np.zeros(len(way)), smooth[:, 1]), 1) - out[:, :3, :3] @ start
    to_scene = scene_from_stage(rig)
    return to_scene @ out @ np.linalg.inv(to_scene)


def scene_from_stage(rig: Rig) -> Float[np.ndarray, "4 4"]:
    """The map from the stage to the axes and units of ``scene_of``."""
    if rig.origin is not None and rig.origin.file.names:
        return rig.origin.T_file_stage
    out = np.eye(4)
    out[:3, :3] = rig.leg_metres * GLTF_FROM_STAGE
    return out


def _cubic(values: Float[np.ndarray, "frame k"]) -> Float[np.ndarray, "frame k"]:
    """The cubic through the first and the last value that comes nearest to the others."""
    u = np.linspace(0, 1, len(values))[:, None]
    line = values[0] + u * (values[-1] - values[0])
    basis = np.concatenate((u * (1 - u), u * (1 - u) * (1 - 2 * u)), 1)
    return line + basis @ np.linalg.lstsq(basis, values - line, rcond=None)[0]


# Names


def humanoid_bones(rig: Rig, scene: Scene) -> dict[str, int]:
    """The bone of the scene (without a new root bone) behind each VRM name."""
    own = rig.origin is not None and scene.bones == rig.origin.file.names
    return {
        role: int(rig.origin.bone_of_joint[joint]) if own and rig.origin is not None else joint
        for role, joint in humanoid_joints(rig).items()
    }  # fmt: skip


def preset_names(rig: Rig, scene: Scene, preset: Names) -> tuple[str, ...]:
    """The names of a scene's bones with those of a humanoid replaced by a program's own."""
    given = {bone: preset_name(role, preset) for role, bone in humanoid_bones(rig, scene).items()}
    kept = [name for bone, name in enumerate(scene.bones) if bone not in given]
    others = iter(unique_names([*given.values(), *kept])[len(given) :])
    return tuple(given[bone] if bone in given else next(others) for bone in range(len(scene.bones)))


MIXAMO = {
    "hips": "Hips", "spine": "Spine", "chest": "Spine1", "upperChest": "Spine2", "neck": "Neck", "head": "Head",
    "Shoulder": "Shoulder", "UpperArm": "Arm", "LowerArm": "ForeArm", "Hand": "Hand",
    "UpperLeg": "UpLeg", "LowerLeg": "Leg", "Foot": "Foot", "Toes": "ToeBase",
}  # fmt: skip
UNREAL = {
    "hips": "pelvis", "spine": "spine_01", "chest": "spine_02", "upperChest": "spine_03", "neck": "neck_01", "head": "head",
    "Shoulder": "clavicle", "UpperArm": "upperarm", "LowerArm": "lowerarm", "Hand": "hand",
    "UpperLeg": "thigh", "LowerLeg": "calf", "Foot": "foot", "Toes": "ball",
}  # fmt: skip


def preset_name(role: str, preset: Names) -> str:
    """What a program calls the bone that VRM (and Unity) calls ``role``; what it has no name for keeps VRM's."""
    side = next((word for word in ("left", "right") if role.startswith(word)), "")
    part = role.removeprefix(side)
    if preset == "mixamo" and part in MIXAMO:
        return f"mixamorig:{side.capitalize()}{MIXAMO[part]}"
    if preset == "unreal" and part in UNREAL:
        return f"{UNREAL[part]}_{side[0]}" if side else UNREAL[part]
    return role
