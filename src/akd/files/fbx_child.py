"""Runs as a process of its own: reads an FBX file with ufbx and writes plain arrays.

``python fbx_child.py in.fbx out.npz``. A process of its own, because the file comes from elsewhere and the binding is
young: a fault in native code must end this process and not the user's. It imports nothing of akd, to start fast.
"""

import ctypes
import gc
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import ufbx

SAMPLE_RATE = 60.0  # frames per second, at least: clips are taken down at a multiple of the file's own rate, to meet its keys
MAX_FRAMES = 20_000


def main(source: str, target: str) -> None:
    scene = ufbx.load_file(source, target_axes=ufbx.axes_right_handed_y_up, target_unit_meters=1.0, clean_skin_weights=True)
    arrays: dict[str, np.ndarray] = {}
    nodes = list(held(scene.nodes))
    story = {
        "nodes": [node.name for node in nodes],
        "is_bone": [node.bone is not None for node in nodes],
        "parts": [save_part(node, index, arrays) for index, node in enumerate(n for n in nodes if n.mesh is not None)],
        "materials": [save_material(material, arrays) for material in held(scene.materials)],
        "clips": save_clips(scene, arrays),
    }
    arrays["parents"] = np.array([node.parent.typed_id if node.parent is not None else -1 for node in nodes], int)
    arrays["pose"] = np.stack([matrix(node.node_to_world) for node in nodes])
    arrays["story"] = np.frombuffer(json.dumps(story).encode(), np.uint8)
    np.savez(target, **arrays)  # type: ignore[arg-type]


def held(elements: Any) -> Iterator[Any]:
    """The elements of a list. Indexing one forgets to count the reference it hands out (ufbx 0.0.5), so it is counted here."""
    for index in range(len(elements)):
        element = elements[index]
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(element))
        yield element


def save_part(node: Any, part: int, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The mesh at a node: points, polygons, corners' coordinates and colours, skin."""
    mesh = node.mesh
    faces = np.array(mesh.faces, int).reshape(-1, 2)
    corners = np.concatenate([np.zeros(0, int), *(np.arange(begin, begin + count) for begin, count in faces)])
    saved = {
        "points": np.array(mesh.vertices, float).reshape(-1, 3),
        "counts": faces[:, 1],
        "indices": np.array(mesh.vertex_indices, int)[corners],
        "to_world": matrix(node.geometry_to_world),
        "face_material": np.array(mesh.face_material, int),
    }
    for name, layer, width in (("uv", mesh.vertex_uv, 2), ("color", mesh.vertex_color, 4)):
        if layer.exists:
            saved[name] = np.array(layer.values, float).reshape(-1, width)
            saved[f"{name}_index"] = np.array(layer.indices, int)[corners]
    clusters = [c for skin in held(mesh.skin_deformers) for c in held(skin.clusters) if c.bone_node is not None]
    for index, cluster in enumerate(clusters):
        saved[f"cluster{index}_points"] = np.array(cluster.vertices, int)
        saved[f"cluster{index}_weights"] = np.array(cluster.weights, float)
    saved["cluster_bone"] = np.array([cluster.bone_node.typed_id for cluster in clusters], int)
    saved["cluster_bind"] = np.array([matrix(cluster.geometry_to_bone) for cluster in clusters]).reshape(-1, 4, 4)
    arrays.update({f"part{part}_{name}": array for name, array in saved.items()})
    return {
        "node": node.typed_id, "name": node.name, "visible": node.visible, "shapes": len(mesh.blend_deformers),
        "materials": [material.typed_id for material in held(node.materials)],
    }


def save_material(material: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Name, linear colour, and the picture: its content if it is inside the file, and its names."""
    color, factor = material.pbr.base_color, material.pbr.base_factor
    strength = factor.value_vec4.x if factor.has_value else 1.0
    texture = color.texture if color.texture is not None else material.fbx.diffuse_color.texture
    names = [texture.relative_filename, texture.filename] if texture is not None else []
    if texture is not None and len(texture.content):
        arrays[f"picture{material.typed_id}"] = np.frombuffer(bytes(texture.content), np.uint8)
    linear = [strength * value for value in color.value_vec4[:3]] if color.has_value else None
    return {"name": material.name, "color": linear, "picture": names}


def save_clips(scene: Any, arrays: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """World matrices of all nodes at even steps through every animation."""
    own = min(max(scene.settings.frames_per_second, 1.0), 240.0)
    rate, out = own * np.ceil(SAMPLE_RATE / own), list[dict[str, Any]]()
    for stack in held(scene.anim_stacks):
        length = stack.time_end - stack.time_begin
        if not 0 < length < MAX_FRAMES / rate:
            continue
        times = np.linspace(stack.time_begin, stack.time_end, max(round(length * rate), 1) + 1)
        arrays[f"clip{len(out)}"] = np.stack([pose(scene, stack.anim, float(time)) for time in times])
        out.append({"name": stack.name, "step": length / (len(times) - 1)})
    return out


def pose(scene: Any, anim: Any, time: float) -> np.ndarray:
    with ufbx.evaluate_scene(scene, anim, time) as evaluated:
        return np.stack([matrix(node.node_to_world) for node in held(evaluated.nodes)])


def matrix(columns: Any) -> np.ndarray:
    """ufbx stores the first three rows, column by column."""
    return np.vstack((np.array(columns, float).T, (0.0, 0.0, 0.0, 1.0)))


if __name__ == "__main__":
    gc.disable()  # the binding's objects do not survive the collector; a process this short needs none
    try:
        main(*sys.argv[1:])
    except (ufbx.UfbxError, ValueError, OSError, MemoryError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    os._exit(0)  # nor do they survive being torn down in any order
