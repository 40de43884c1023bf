"""A rig with motions as writers want it: the bones and the mesh of its own file, or those of the rig where it has none."""

from collections.abc import Mapping

import numpy as np
import torch

from akd.character.clips import bone_matrices
from akd.files.gltf.write_rig import GLTF_FROM_STAGE, node_worlds
from akd.files.scene import Scene, SceneClip
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import forward_kinematics


def scene_of(rig: Rig, motions: Mapping[str, Motion]) -> Scene:
    """The character as its file has it (all bones, in the file's axes), or as we made it (metres, facing +Z)."""
    if rig.origin is not None and rig.origin.file.names:
        file = rig.origin.file
        clips = tuple(SceneClip(name, motion.times, bone_matrices(rig, motion)) for name, motion in motions.items())
        return Scene(rig.name, file.names, file.parents, file.rest, file.mesh, file.weights, clips, file.metres)
    skeleton, to_gltf = rig.skeleton, np.eye(4)
    to_gltf[:3, :3] = rig.leg_metres * GLTF_FROM_STAGE
    rest = node_worlds(rig, skeleton.positions[None], np.eye(3)[None, None])[0]
    clips = tuple(SceneClip(name, motion.times, _worlds(rig, motion)) for name, motion in motions.items())
    return Scene(rig.name, skeleton.names, skeleton.parents, rest, rig.mesh.transformed(to_gltf), rig.weights, clips)


def _worlds(rig: Rig, motion: Motion) -> np.ndarray:
    posed = forward_kinematics(rig.skeleton, motion.pose.detach().to(torch.float64))
    return node_worlds(rig, posed.position.cpu().numpy(), posed.rotation.cpu().numpy())
