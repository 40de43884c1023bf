"""Write a rig of ours, and motions of it, as a new GLB.

glTF is in metres, Y up, and characters face +Z; the stage has them face +X with their right at +Z.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

import akd
from akd.errors import AkdError
from akd.files.gltf.pack import GltfPack
from akd.files.gltf.trs import Trs, decompose
from akd.files.gltf.write import BoneNodes, append_clip
from akd.files.gltf.write_mesh import append_mesh
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Skeleton, forward_kinematics

GLTF_FROM_STAGE = np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]])


def write_rig(rig: Rig, motions: Mapping[str, Motion], path: str | Path) -> None:
    """A new GLB of a rig with one animation per motion. Bones point along their local +Y, as Blender draws them."""
    Path(path).write_bytes(encode_rig(rig, motions))


def encode_rig(rig: Rig, motions: Mapping[str, Motion]) -> bytes:
    """The bytes of ``write_rig``."""
    pack = GltfPack({"asset": {"version": "2.0", "generator": f"akd {akd.__version__}"}, "scene": 0})
    skeleton = rig.skeleton
    rest = _node_worlds(rig, skeleton.positions[None], np.eye(3)[None, None])[0]
    tree = _append_joints(pack, skeleton, rest)
    skin = _append_skin(pack, rig, rest)
    roots = [0]
    if len(rig.mesh.faces):
        to_gltf = np.eye(4)
        to_gltf[:3, :3] = rig.leg_metres * GLTF_FROM_STAGE
        mesh = append_mesh(pack, rig.name, rig.mesh.transformed(to_gltf), rig.weights)
        roots.append(pack.append("nodes", {"name": rig.name, "mesh": mesh, "skin": skin}))
    pack.append("scenes", {"nodes": roots})
    for name, motion in motions.items():
        _append_motion(pack, name, rig, motion, tree)
    return pack.to_bytes()


def _node_worlds(
    rig: Rig, positions: Float[np.ndarray, "frame joint 3"], turns: Float[np.ndarray, " frame #joint 3 3"]
) -> Float[np.ndarray, "frame joint 4 4"]:
    """World matrices of the joint nodes in glTF axes, from joints on the stage and their turns away from rest."""
    along, lateral, third = np.moveaxis(rig.skeleton.frames, -1, 0)
    axes = GLTF_FROM_STAGE @ np.stack((lateral, along, -third), -1)
    axes[0] = np.eye(3)  # engines like a root whose axes are the world's
    out = np.zeros((*positions.shape[:-1], 4, 4))
    out[..., :3, :3] = GLTF_FROM_STAGE @ turns @ GLTF_FROM_STAGE.T @ axes
    out[..., :3, 3] = rig.leg_metres * positions @ GLTF_FROM_STAGE.T
    out[..., 3, 3] = 1
    return out


def _append_joints(pack: GltfPack, skeleton: Skeleton, rest: Float[np.ndarray, "joint 4 4"]) -> BoneNodes:
    """One node per joint, in the skeleton's order, at rest."""
    above = np.where(skeleton.parents[:, None, None] < 0, np.eye(4), rest[skeleton.parents])
    local = np.linalg.solve(above, rest)
    parts = [Trs(*(part[0] for part in decompose(matrix[None]))) for matrix in local]
    defaults = [Trs(part.translation, part.rotation, np.ones(3)) for part in parts]
    for joint, (name, part) in enumerate(zip(skeleton.names, defaults, strict=True)):
        node = {"name": name, "translation": part.translation.tolist(), "rotation": part.rotation.tolist()}
        children = skeleton.children(joint)
        pack.append("nodes", node | ({"children": children} if children else {}))
    return BoneNodes(range(skeleton.joint_count), skeleton.parents.tolist(), local, defaults)


def _append_skin(pack: GltfPack, rig: Rig, rest: Float[np.ndarray, "joint 4 4"]) -> int:
    """The joints as bones of a skin, with what we know about them."""
    inverse_binds = np.linalg.inv(rest).astype(np.float32)
    inverse_binds[:, 3] = (0, 0, 0, 1)  # exactly, as the standard demands
    (binds,) = pack.append_arrays([inverse_binds])
    joints = list(range(rig.skeleton.joint_count))
    skin = {"name": rig.name, "inverseBindMatrices": binds, "skeleton": 0, "joints": joints}
    return pack.append("skins", skin | {"extras": {"akd": _labels(rig)}})


def _append_motion(pack: GltfPack, name: str, rig: Rig, motion: Motion, tree: BoneNodes) -> None:
    if motion.pose.angles.ndim != 3:
        raise AkdError(f"{name!r} holds {tuple(motion.pose.angles.shape[:-3])} motions at once; please write them one by one.")
    posed = forward_kinematics(rig.skeleton, motion.pose.detach().to(torch.float64))
    world = _node_worlds(rig, posed.position.cpu().numpy(), posed.rotation.cpu().numpy())
    append_clip(pack, name, np.arange(motion.frame_count) / motion.fps, world, tree)


def _labels(rig: Rig) -> dict[str, Any]:
    """What glTF has no words for: joints by their names, lengths in leg lengths, soles as places in the list of vertices."""
    skeleton, names = rig.skeleton, rig.skeleton.names
    return {
        "leg_metres": rig.leg_metres,
        "limbs": [vars(limb) | {"joints": [names[j] for j in limb.joints], "tip": names[limb.tip]} for limb in skeleton.limbs],
        "mirror": {name: names[partner] for name, partner in zip(names, skeleton.mirror, strict=True)},
        "tails": dict(zip(names, np.round(skeleton.tails, 6).tolist(), strict=True)),
        "soles": [sole.tolist() for sole in rig.soles],
    }
