"""VRM Animation (.vrma): a clip for any VRM character, as rotations of a human's bones and the way of the hips.

Players take the resting skeleton of the file for a T-pose: arms along the body's sides to left and right, legs straight down.
So bones rest in such a pose here, whatever their pose in the character's own file; the clip moves them from there.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

import akd
from akd.errors import AkdError
from akd.files.gltf.nodes import Trs, decompose
from akd.files.gltf.write import BoneNodes, GltfPack, append_clip
from akd.files.scene import Scene
from akd.files.writing import write_file

EXTENSION = "VRMC_vrm_animation"
SIDES = {"left": 1.0, "right": -1.0}
"""In VRM 1.0 characters face +Z, so their left is at +X."""
CHAINS = {"arm": ("UpperArm", "LowerArm", "Hand"), "leg": ("UpperLeg", "LowerLeg", "Foot")}


def write_vrma(path: str | Path, scene: Scene, roles: Mapping[str, int], facing: Float[np.ndarray, " 3"]) -> None:
    """The first clip of a scene; ``roles`` are the bones behind VRM's names, ``facing`` is where the character looks."""
    write_file(path, encode_vrma(scene, roles, facing))


def encode_vrma(scene: Scene, roles: Mapping[str, int], facing: Float[np.ndarray, " 3"]) -> bytes:
    """The bytes of ``write_vrma``."""
    if len(scene.clips) != 1:
        raise AkdError(f"A .vrma holds one clip, not {len(scene.clips)}: write a file for each.")
    scene = scene.in_units(1.0)
    turn = np.eye(4)
    turn[:3, :3] = _facing_z(facing)
    order = sorted(roles.values())
    names = {bone: role for role, bone in roles.items()}
    parents = [_above(scene.parents, bone, order) for bone in order]
    rest = t_pose(turn @ plain(scene.rest[order]), parents, [names[bone] for bone in order])
    world = turn @ plain(scene.clips[0].world[:, order])
    pack = GltfPack({"asset": {"version": "2.0", "generator": f"akd {akd.__version__}"}, "scene": 0})
    tree = _append_nodes(pack, [names[bone] for bone in order], parents, rest)
    bones = {names[bone]: {"node": index} for index, bone in enumerate(order)}
    pack.json["extensionsUsed"] = [EXTENSION]
    pack.json["extensions"] = {EXTENSION: {"specVersion": "1.0", "humanoid": {"humanBones": bones}}}
    append_clip(pack, scene.clips[0].name, scene.clips[0].times, jointed(world, rest, parents), tree)
    return pack.to_bytes()


def plain(matrices: Float[np.ndarray, "*frame bone 4 4"]) -> Float[np.ndarray, "*frame bone 4 4"]:
    """The same places and directions without scales: VRM wants none."""
    out = matrices.copy()
    left, _, right = np.linalg.svd(matrices[..., :3, :3])
    left[..., 2] *= np.sign(np.linalg.det(left @ right))[..., None]
    out[..., :3, :3] = left @ right
    return out


def t_pose(rest: Float[np.ndarray, "bone 4 4"], parents: list[int], roles: list[str]) -> Float[np.ndarray, "bone 4 4"]:
    """The skeleton with its arms stretched to both sides and its legs straight down; bones keep their lengths."""
    out, local = rest.copy(), np.linalg.solve(_stacked(rest, parents), rest)
    place = {role: index for index, role in enumerate(roles)}
    wanted = {}
    for side, sign in SIDES.items():
        for kind, chain in CHAINS.items():
            for part, following in zip(chain, (*chain[1:], None), strict=True):
                wanted[f"{side}{part}"] = (kind, sign, f"{side}{following}")
    for index, (role, parent) in enumerate(zip(roles, parents, strict=True)):
        out[index] = (out[parent] if parent >= 0 else np.eye(4)) @ local[index]
        kind, sign, child = wanted.get(role, ("", 0.0, ""))
        if not kind or child not in place or parents[place[child]] != index:
            continue
        along = out[index, :3, :3] @ local[place[child], :3, 3]
        goal = np.array([sign, 0.0, 0.0]) if kind == "arm" else np.array([0.0, -1.0, 0.0])
        out[index, :3, :3] = _shortest(along, goal) @ out[index, :3, :3]
    return out


def jointed(
    world: Float[np.ndarray, "frame bone 4 4"], rest: Float[np.ndarray, "bone 4 4"], parents: list[int]
) -> Float[np.ndarray, "frame bone 4 4"]:
    """The clip's directions with the resting skeleton's lengths: of all bones only the hips move, the others turn."""
    out, local = world.copy(), np.linalg.solve(_stacked(rest, parents), rest)
    for index, parent in enumerate(parents):
        if parent >= 0:
            out[:, index, :3, 3] = (out[:, parent] @ local[index, :, 3])[:, :3]
    return out


def _stacked(rest: np.ndarray, parents: list[int]) -> np.ndarray:
    return np.stack([rest[parent] if parent >= 0 else np.eye(4) for parent in parents])


def _above(parents: np.ndarray, bone: int, kept: list[int]) -> int:
    """The place of the nearest kept bone above one, −1 for none."""
    above = int(parents[bone])
    while above >= 0 and above not in kept:
        above = int(parents[above])
    return kept.index(above) if above >= 0 else -1


def _append_nodes(pack: GltfPack, names: list[str], parents: list[int], rest: np.ndarray) -> BoneNodes:
    local = np.linalg.solve(_stacked(rest, parents), rest)
    parts = [Trs(*(part[0] for part in decompose(matrix[None])))._replace(scale=np.ones(3)) for matrix in local]
    for index, (name, part) in enumerate(zip(names, parts, strict=True)):
        children = [child for child, parent in enumerate(parents) if parent == index]
        node = {"name": name, "translation": part.translation.tolist(), "rotation": part.rotation.tolist()}
        pack.append("nodes", node | ({"children": children} if children else {}))
    pack.append("scenes", {"nodes": [index for index, parent in enumerate(parents) if parent < 0]})
    return BoneNodes(range(len(names)), parents, local, parts)


def _facing_z(facing: np.ndarray) -> Float[np.ndarray, "3 3"]:
    """The turn about the vertical that makes the character look along +Z."""
    return Rotation.from_euler("y", -np.arctan2(facing[0], facing[2])).as_matrix()


def _shortest(start: np.ndarray, goal: np.ndarray) -> Float[np.ndarray, "3 3"]:
    """The smallest rotation that brings one direction to another."""
    start = start / max(np.linalg.norm(start), 1e-12)
    axis, cosine = np.cross(start, goal), float(np.clip(start @ goal, -1, 1))
    sine = np.linalg.norm(axis)
    if sine < 1e-9:
        return np.eye(3) if cosine > 0 else Rotation.from_rotvec(np.pi * np.array([0.0, 0.0, 1.0])).as_matrix()
    return Rotation.from_rotvec(axis / sine * np.arctan2(sine, cosine)).as_matrix()
