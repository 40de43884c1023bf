"""Write a character with its clips as FBX, binary 7.4: bones, skinned mesh, materials with their pictures, bind pose.

Lengths are in centimetres with Y up, as Maya, Mixamo and Unreal have them. A bone's rotation at rest is its ``PreRotation``
(Maya's joint orientation), so that its curves are zero at rest, and its rotations have the order that stays farthest from the
lock of Euler angles.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from akd.errors import AkdError
from akd.files.fbx_binary import Element, Long, add_properties
from akd.files.fbx_curves import FbxBone, append_clip, degrees, rotation_order
from akd.files.fbx_document import FbxDocument
from akd.files.fbx_surface import MergedPoints, append_mesh, merged_points
from akd.files.gltf.nodes import IDENTITY, Trs
from akd.files.scene import UNWEIGHTED, Scene, local_parts, rest_parts
from akd.files.writing import write_file

CENTIMETRE = 0.01
ARMATURE = "Armature"
"""Name of the node above the bones, where one is needed: Unreal knows that it is no bone."""
SCALED = 1e-5
"""Roots whose rest scale differs from one by more stand below a node with that scale, so that bones have none."""
BONE_SIZE = 33.0
"""How large programs draw a joint [cm]; Maya's default."""


def write_fbx(path: str | Path, scene: Scene) -> None:
    """A new .fbx file of a character with any number of clips."""
    write_file(path, encode_fbx(scene))


def encode_fbx(scene: Scene) -> bytes:
    """The bytes of ``write_fbx``."""
    scene, document = scene.in_units(CENTIMETRE), FbxDocument()
    above = _armature(scene)
    frame = np.eye(4) if above is None else np.linalg.inv(above.matrix())
    rest = rest_parts(replace(scene, rest=frame @ scene.rest))
    moving = [local_parts(frame @ clip.world, scene.parents, rest) for clip in scene.clips]
    orders = [rotation_order(part.rotation, [clip[bone].rotation for clip in moving]) for bone, part in enumerate(rest)]
    nodes = _append_bones(document, scene, above, rest, orders)
    if len(scene.mesh.faces):
        points = merged_points(scene.mesh.vertices, scene.weights)
        model, geometry = append_mesh(document, scene, points)
        _append_skin(document, scene, points, geometry, nodes)
        _append_bind_pose(document, scene, nodes, model)
    bones = [FbxBone(*parts) for parts in zip(nodes, rest, orders, strict=True)]
    for clip, parts in zip(scene.clips, moving, strict=True):
        append_clip(document, clip, bones, parts, scene, frame)
    try:
        return document.to_bytes(scene.clips)
    except ValueError as error:
        raise AkdError(f"{scene.name} cannot be written as FBX ({error}); write a .glb.") from error


def _armature(scene: Scene) -> Trs | None:
    """The node above all bones, where they have several roots or roots that are scaled at rest."""
    roots = np.flatnonzero(scene.parents < 0)
    scales = np.cbrt(np.abs(np.linalg.det(scene.rest[roots, :3, :3])))
    if not len(roots) or (len(roots) == 1 and abs(scales[0] - 1) < SCALED):
        return None
    return IDENTITY._replace(scale=np.full(3, scales[0]))


def _append_bones(document: FbxDocument, scene: Scene, above: Trs | None, rest: list[Trs], orders: list[int]) -> list[int]:
    """A node for every bone, at rest; their identifiers."""
    root, nodes = 0, list[int]()
    if above is not None:
        name = next(name for name in (ARMATURE, *(f"{ARMATURE}{n}" for n in range(len(scene.bones)))) if name not in scene.bones)
        root = _append_node(document, name, "Null", above, 0, 0)
    for name, parent, part, order in zip(scene.bones, scene.parents, rest, orders, strict=True):
        nodes.append(_append_node(document, name, "LimbNode", part, order, nodes[parent] if parent >= 0 else root))
    return nodes


def _append_node(document: FbxDocument, name: str, kind: str, part: Trs, order: int, parent: int) -> int:
    attribute, attribute_id = document.add("NodeAttribute", name, "NodeAttribute", kind)
    if kind == "LimbNode":
        add_properties(attribute, ("Size", "double", BONE_SIZE))
    attribute("TypeFlags", "Skeleton" if kind == "LimbNode" else "Null")
    node, identifier = document.add("Model", name, "Model", kind)
    node("Version", 232)
    turned = degrees(Rotation.from_quat(part.rotation))
    add_properties(
        node, ("RotationOrder", "enum", order), ("RotationActive", "bool", 1), ("InheritType", "enum", 1),
        ("PreRotation", "Vector3D", *_floats(turned)),
        ("DefaultAttributeIndex", "int", 0), ("Lcl Translation", "Lcl Translation", *_floats(part.translation)),
        ("Lcl Rotation", "Lcl Rotation", 0.0, 0.0, 0.0), ("Lcl Scaling", "Lcl Scaling", *_floats(part.scale)),
    )  # fmt: skip
    node("Shading", True)
    node("Culling", "CullingOff")
    document.connect(identifier, parent)
    document.connect(attribute_id, identifier)
    return identifier


def _append_skin(document: FbxDocument, scene: Scene, points: MergedPoints, geometry: int, nodes: list[int]) -> None:
    """A cluster for every bone, also for those without skin: it says where the bone was when the mesh was bound."""
    skin, skin_id = document.add("Deformer", scene.name, "Deformer", "Skin")
    skin("Version", 101)
    skin("Link_DeformAcuracy", 50.0)  # the format's own spelling
    document.connect(skin_id, geometry)
    weights = scene.weights[points.vertex_of_point]
    for bone, (name, node) in enumerate(zip(scene.bones, nodes, strict=True)):
        cluster, cluster_id = document.add("Deformer", name, "SubDeformer", "Cluster")
        cluster("Version", 100)
        cluster("UserData", "", "")
        touched = np.flatnonzero(weights[:, bone] > UNWEIGHTED)
        if len(touched):
            cluster("Indexes", touched.astype("<i4"))
            cluster("Weights", weights[touched, bone].astype("<f8"))
        _append_matrix(cluster, "Transform", np.linalg.inv(scene.rest[bone]))
        _append_matrix(cluster, "TransformLink", scene.rest[bone])
        document.connect(cluster_id, skin_id)
        document.connect(node, cluster_id)


def _append_bind_pose(document: FbxDocument, scene: Scene, nodes: list[int], model: int) -> None:
    """Where mesh and bones were when they were bound, once more, as Maya and Unreal look for it."""
    pose, _ = document.add("Pose", scene.name, "Pose", "BindPose")
    pose("Type", "BindPose")
    pose("Version", 100)
    pose("NbPoseNodes", len(nodes) + 1)
    for node, matrix in [(model, np.eye(4)), *zip(nodes, scene.rest, strict=True)]:
        entry = pose("PoseNode")
        entry("Node", Long(node))
        _append_matrix(entry, "Matrix", matrix)


def _append_matrix(owner: Element, name: str, matrix: np.ndarray) -> None:
    """Column by column."""
    owner(name, np.ascontiguousarray(matrix.T).astype("<f8"))


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(x) for x in values)
