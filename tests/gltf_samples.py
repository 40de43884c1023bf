"""Rigs and files for the tests of glTF writing, read and checked by other means than ours."""

import json
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from akd.mesh import Mesh
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Limb, Pose, Skeleton

TOOLS = Path(__file__).resolve().parents[1] / "tools"

needs_validator = pytest.mark.skipif(
    not (TOOLS / "node_modules").is_dir() or not shutil.which("node"), reason="the glTF validator is not installed"
)


def odd_file() -> tuple[dict, bytes]:
    """A skinned triangle with three bones below a turned and scaled node, and with words nobody knows."""
    quarter, turn = np.sqrt(0.5), Rotation.from_euler("xyz", [0.4, 0.2, 1.0]).as_matrix()
    above, socket = np.eye(4), np.eye(4)
    above[:3, :3] = 2 * Rotation.from_euler("x", 1.2).as_matrix()
    socket[:3, :3], socket[:3, 3] = turn * 0.5, (0, 1, 0.25)
    nodes = [
        {"matrix": above.T.ravel().tolist(), "children": [1, 4], "extras": {"mood": "odd"}},
        {"name": "hip", "translation": [0.5, 1, 0], "rotation": [quarter, 0, 0, quarter], "children": [2], "weird": [1, None]},
        {"name": "socket", "matrix": socket.T.ravel().tolist(), "children": [3]},
        {"name": "shin", "translation": [0, 1, 0], "scale": [-2, -2, 2]},
        {"name": "body", "mesh": 0, "skin": 0},
    ]
    arrays = [
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4"), np.array([[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]], "<u2"),
        np.array([[1, 0, 0, 0]] * 3, "<f4"), np.array([0, 1, 2], "<u2"),
    ]  # fmt: skip
    views, binary = [], b""
    for array in arrays:
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": array.nbytes})
        binary += array.tobytes()
    kinds = [(5126, "VEC3"), (5123, "VEC4"), (5126, "VEC4"), (5123, "SCALAR")]
    accessors: list[dict] = [
        {"bufferView": i, "componentType": component, "count": 3, "type": kind} for i, (component, kind) in enumerate(kinds)
    ]
    accessors[0] |= {"min": [0, 0, 0], "max": [1, 1, 0]}
    attributes = {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}
    return {
        "extensionsUsed": ["VENDOR_unknown"], "scene": 0, "scenes": [{"nodes": [0]}], "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 3}]}], "skins": [{"joints": [1, 2, 3]}],
        "asset": {"version": "2.0", "generator": "a hand", "extras": {"π": 3.14159}}, "accessors": accessors,
        "bufferViews": views, "buffers": [{"byteLength": len(binary), "name": "numbers"}],
        "extensions": {"VENDOR_unknown": {"deep": [{"er": 1e-7}]}},
    }, binary  # fmt: skip


def biped() -> Rig:
    """Seven joints and a box around each of their bones."""
    parents = np.array([-1, 0, 1, 1, 1, 0, 0])
    positions = np.array(
        [[0, 1, 0], [0.05, 1.5, 0], [0.1, 1.9, 0], [0, 1.7, -0.2], [0, 1.7, 0.2], [0, 1, -0.15], [0, 1, 0.15]]
    )
    tails = positions + [[0.05, 0.5, 0], [0.05, 0.4, 0], [0.1, 0.3, 0], [0, 0, -0.6], [0, 0, 0.6], [0, -1, 0], [0, -1, 0]]
    skeleton = Skeleton.from_joints(("hips", "chest", "head", "arm_L", "arm_R", "leg_L", "leg_R"), parents, positions, tails)
    legs = (Limb("leg", "L", 0, (5,), 5), Limb("leg", "R", 0, (6,), 6))
    corners = np.stack(np.meshgrid(*[[-0.1, 0.1]] * 3, indexing="ij"), -1).reshape(8, 3)
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    triangles = np.concatenate((quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]))
    random = np.random.default_rng(0)
    mesh = Mesh(
        ((positions + tails)[:, None] / 2 + corners * [1, 2, 1]).reshape(-1, 3),
        (triangles + 8 * np.arange(7)[:, None, None]).reshape(-1, 3),
        random.random((56, 3)),
    )
    weights = np.zeros((56, 7))
    np.put_along_axis(weights, np.argsort(random.random((56, 7)))[:, :4], random.dirichlet(np.ones(4), 56), 1)
    return Rig(mesh, skeleton.labelled(legs, np.array([0, 1, 2, 4, 3, 6, 5])), weights, leg_metres=0.8, name="biped")


def stroll() -> Motion:
    """Nine random poses of the biped."""
    random = torch.Generator().manual_seed(0)
    angles = torch.randn(9, 7, 3, generator=random)
    root = torch.randn(9, 3, generator=random), torch.randn(9, 4, generator=random)
    return Motion(Pose(*root, angles), fps=24.0)


def glb_parts(glb: bytes) -> tuple[dict, bytes]:
    """JSON and BIN, read as the standard says."""
    magic, version, length = struct.unpack_from("<4sII", glb)
    assert (magic, version, length) == (b"glTF", 2, len(glb))
    size, kind = struct.unpack_from("<I4s", glb, 12)
    assert kind == b"JSON"
    assert size % 4 == 0
    bin_size, bin_kind = struct.unpack_from("<I4s", glb, 20 + size)
    assert bin_kind == b"BIN\0"
    return json.loads(glb[20 : 20 + size]), glb[28 + size :][:bin_size]


def write_glb(folder: Path, content: dict, binary: bytes) -> Path:
    text = json.dumps(content, indent=1).encode()
    text += b" " * (-len(text) % 4)
    binary += bytes(-len(binary) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    path = folder / "odd.glb"
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks)
    return path


def faults(paths: list[Path]) -> list[set[tuple[str, str]]]:
    """For each file the errors and warnings of the Khronos validator, as (code, place in the JSON)."""
    command = ["node", str(TOOLS / "validate_gltf.mjs"), *map(str, paths)]
    reports = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return [{(message["code"], message.get("pointer", "")) for message in reports[str(path)]["messages"]} for path in paths]
