"""Skins of a glTF file, and the pose their meshes were bound in.

A skin moves a vertex by ``v = Σ_j w_j W_j B_j v₀`` with the world matrices W of its joints and the inverse bind matrices
B. At rest all ``W_j B_j`` are the same map G, hence ``W_j = G B_j⁻¹``; only G has to be found. The nodes' default pose
need not be that rest: exporters often leave the first frame of some clip there.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.errors import AkdError
from akd.files.gltf.document import GltfDocument, accessor
from akd.files.gltf.nodes import MAX_COORDINATE, Bones, NodeTree

MAX_JOINTS = 2**14  # of one skin
AGREEMENT = 1e-3  # relative difference up to which two placements of a skin are the same
NEAR_TURN = np.cos(np.pi / 4)


@dataclass(frozen=True, eq=False)
class Skin:
    """Joints, and where they were when the mesh was bound to them."""

    joints: Int[np.ndarray, " joint"]
    """Node indices."""
    inverse_bind: Float[np.ndarray, "joint 4 4"]
    """From mesh to joint coordinates."""
    bound: Bool[np.ndarray, " joint"]
    """Which of these matrices tell a place: none where the file leaves them out, and not those without inverse."""
    mesh_world: Float[np.ndarray, "4 4"] | None
    """Default world matrix of a node that wears the skin. The standard ignores it, but most exporters bound the mesh there."""


def read_skins(document: GltfDocument, tree: NodeTree, wearers: dict[int, int], notes: list[str]) -> list[Skin]:
    """The skins of a file; ``wearers`` names a node with a mesh for each skin that has one."""
    skins: list[Skin] = []
    for index, entry in enumerate(document.root.items("skins")):
        joints = np.array(entry.indices("joints", len(tree.names)), int)
        if not len(joints):
            raise AkdError(f"{entry.label} has no joints; please export the file again.")
        matrices = np.tile(np.eye(4), (len(joints), 1, 1))
        given = "inverseBindMatrices" in entry
        if given:
            place = entry.whole("inverseBindMatrices")
            document.root.item("accessors", place).whole("count", below=MAX_JOINTS)
            stored = accessor(document, place)
            if stored.shape[1:] != (4, 4) or len(stored) < len(joints):
                raise AkdError(f"{entry.label} has {len(joints)} joints, but bind matrices of shape {stored.shape}.")
            matrices = stored[: len(joints)].astype(float)
        bound = _invertible(matrices) & given
        matrices[~_finite(matrices)] = np.eye(4)
        matrices[:, 3] = (0, 0, 0, 1)
        mesh_world = tree.world[wearers[index]] if index in wearers else None
        skins.append(Skin(joints, matrices, bound, mesh_world))
    unbound = [int(np.sum(~skin.bound)) for skin in skins if not skin.bound.all()]
    if unbound:
        notes.append(
            f"{sum(unbound)} joints in {len(unbound)} skins have no usable bind matrix, so they rest as their nodes do."
        )
    return skins


def rest_pose(tree: NodeTree, bones: Bones, skins: list[Skin], notes: list[str]) -> Float[np.ndarray, "bone 4 4"]:
    """World matrices of the bones in the pose the meshes were bound in."""
    placed: dict[int, np.ndarray] = {}
    counts: Counter[str] = Counter()
    for skin in sorted(skins, key=lambda skin: -len(skin.joints)):
        _place(tree, skin, placed, counts)
    if counts["torn"]:
        notes.append(f"{counts['torn']} skins disagree with larger ones about joints they share, and were bent to fit.")
    if counts["collapsed"]:
        notes.append(f"{counts['collapsed']} skins were bound with all joints in one place, so they rest as their nodes do.")
    rest = np.zeros((len(bones.nodes), 4, 4))
    for bone, node in enumerate(bones.nodes):
        parent = bones.parents[bone]
        above = tree.world[tree.parents[node]] if tree.parents[node] >= 0 else np.eye(4)
        rest[bone] = placed[node] if node in placed else _below(rest[parent] if parent >= 0 else above, tree.local[node], counts)
    if counts["flat"]:
        notes.append(f"{counts['flat']} bones are scaled to nothing at rest, and stand there like their parents instead.")
    return rest


def _place(tree: NodeTree, skin: Skin, placed: dict[int, np.ndarray], counts: Counter[str]) -> None:
    """Put the joints of a skin where they were bound, in line with the joints that already have a place."""
    from_root = np.argsort(tree.depth[skin.joints], kind="stable")
    from_root = from_root[skin.bound[from_root]]
    joints, inverse_bind = skin.joints[from_root], skin.inverse_bind[from_root]
    if not len(joints):
        return
    bind = np.linalg.inv(inverse_bind)
    maps = tree.world[joints] @ inverse_bind
    if len(joints) > 1 and abs(_size(maps[0])) * _extent(bind) <= 1e-6 * _extent(tree.world[joints]):
        counts["collapsed"] += 1
        return
    shared = np.array([joint in placed for joint in joints])
    if shared.any():
        maps = np.array([placed[int(joint)] for joint in joints[shared]]) @ inverse_bind[shared]
        counts["torn"] += not _agree(maps, bind[shared])
        placement = maps[0]
    else:
        placement = _placement(maps, bind, skin.mesh_world)
    worlds = placement @ bind
    if np.all(np.abs(worlds) < MAX_COORDINATE) and _invertible(worlds).all():
        placed.update({int(joint): world for joint, world in zip(joints, worlds, strict=True) if int(joint) not in placed})


def _placement(
    maps: Float[np.ndarray, "joint 4 4"], bind: Float[np.ndarray, "joint 4 4"], mesh_world: Float[np.ndarray, "4 4"] | None
) -> Float[np.ndarray, "4 4"]:
    """G: where all joints put the mesh in the default pose, if they agree; else where its node stands, if it is near."""
    top = maps[0]
    if mesh_world is None or (len(maps) > 1 and _agree(maps, bind)):
        return top
    return mesh_world if _near(mesh_world, top, bind) else top


def _agree(maps: Float[np.ndarray, "joint 4 4"], bind: Float[np.ndarray, "joint 4 4"]) -> bool:
    """Whether all maps do the same to the turn and to the place of their joints."""
    size = np.abs(maps[0, :3, :3]).max()
    places = (maps @ bind)[:, :3, 3]
    shift = np.abs(places - (maps[0] @ bind)[:, :3, 3]).max()
    reach = max(np.ptp(places, axis=0).max(), size * np.abs(bind[:, :3, 3]).max(), 1e-12)
    return bool(np.abs(maps - maps[0])[:, :3, :3].max() <= AGREEMENT * size and shift <= AGREEMENT * reach)


def _near(first: Float[np.ndarray, "4 4"], second: Float[np.ndarray, "4 4"], bind: Float[np.ndarray, "joint 4 4"]) -> bool:
    """Whether two placements differ no more than a pose may: same size, some turn, a step."""
    sizes = [_size(matrix) for matrix in (first, second)]
    if not all(abs(size) > 1e-12 for size in sizes) or not 0.95 < sizes[0] / sizes[1] < 1.05:
        return False
    turn = np.sum(first[:3, :3] * second[:3, :3]) / (sizes[0] * sizes[1])  # trace of the relative rotation
    centre = np.append(bind[:, :3, 3].mean(0), 1)
    step = np.abs((first - second) @ centre).max()
    return bool((turn - 1) / 2 > NEAR_TURN and (len(bind) == 1 or step <= _extent(second @ bind)))


def _below(parent: Float[np.ndarray, "4 4"], local: Float[np.ndarray, "4 4"], counts: Counter[str]) -> Float[np.ndarray, "4 4"]:
    """The world matrix of a child; a child without volume keeps only its place."""
    world = parent @ local
    if not _invertible(world[None])[0]:
        counts["flat"] += 1
        world[:3, :3] = parent[:3, :3] if _invertible(parent[None])[0] else np.eye(3)
    return world


def _finite(matrices: Float[np.ndarray, "joint 4 4"]) -> Bool[np.ndarray, " joint"]:
    """Which matrices have only numbers of bearable size."""
    return np.all(np.abs(matrices) < MAX_COORDINATE, axis=(1, 2))


def _invertible(matrices: Float[np.ndarray, "joint 4 4"]) -> Bool[np.ndarray, " joint"]:
    """Which matrices are finite and far from singular, whatever their scale."""
    finite = _finite(matrices)
    linear = np.where(finite[:, None, None], matrices, 0)[:, :3, :3]
    size = np.abs(linear).max((1, 2))
    return finite & (size > 1e-9) & (np.abs(np.linalg.det(linear / np.maximum(size, 1e-9)[:, None, None])) > 1e-6)


def _size(matrix: Float[np.ndarray, "4 4"]) -> float:
    """The factor by which a map scales lengths, negative if it mirrors."""
    return float(np.cbrt(np.linalg.det(matrix[:3, :3])))


def _extent(worlds: Float[np.ndarray, "joint 4 4"]) -> float:
    """Diagonal of the box around the origins."""
    return float(np.linalg.norm(np.ptp(worlds[:, :3, 3], axis=0)))
