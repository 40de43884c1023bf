"""Damaged files: every reader must end in a value that keeps its promises or in one sentence, soon and in little memory.

``python tests/fuzzing.py --cases 30000 --seed 1`` runs many cases of all readers; ``--reader bvh`` those of one;
``--reader bvh --first 17 --cases 1 --keep folder`` repeats a single case and keeps its file. The last line printed is JSON.

One process imports everything once and then forks a worker for a batch of cases of one reader, so that a crash in native
code, a hang or a memory limit ends the worker only: the case is written down and the next worker goes on after it.
"""

import argparse
import contextlib
import faulthandler
import gc
import importlib
import importlib.util
import io
import json
import os
import re
import resource
import sys
import tempfile
import traceback
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import trimesh
from PIL import Image

from akd.assets import reader_of
from akd.errors import AkdError
from akd.files.bvh import write_bvh
from akd.files.child import loaded
from akd.files.fbx import rig_of as fbx_rig_of
from akd.files.fbx_write import encode_fbx
from akd.files.motion_npz import read_motion, write_motion
from akd.files.rignet import write_rignet
from akd.files.skeleton_json import read_skeleton_json
from akd.files.splat_ply import read_splats, write_splats
from akd.files.usd import rig_of as usd_rig_of
from akd.mesh import Mesh
from akd.motion import Motion
from akd.rig import FileRig, Rig
from akd.skeleton import Pose, Skeleton
from akd.splats import Splats
from packed_gltf import as_vrm, draco, meshopt
from tiny_gltf import glb_bytes, skinned_arm
from written_scenes import box_scene

ASSETS = Path(__file__).resolve().parents[2] / "shared" / "assets"
SECONDS_PER_CASE = 10
SPARE_MEMORY = 2**31  # bytes beyond what the imports took
BATCH = 500  # cases of one worker
LONGEST_SENTENCE = 600

# Mutators: bytes and a generator of chance in, damaged bytes out.

Mutator = Callable[[bytes, np.random.Generator], bytes]


def chunk(data: bytes, rng: np.random.Generator) -> tuple[int, int]:
    """A random part, short ones more often than long ones."""
    start = int(rng.integers(len(data) + 1))
    return start, min(start + int(2 ** rng.uniform(0, 8)), len(data))


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(data)
    for place in rng.integers(max(len(out), 1), size=int(2 ** rng.uniform(0, 4))):
        if place < len(out):
            out[place] ^= 1 << int(rng.integers(8))
    return bytes(out)


WILD = [b"\0", b"\xff", b"\xff" * 4, b"\xff" * 8, b"\0" * 8, b"\x7f\xff\xff\xff", b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\n", b'"',
        b"{", b"}", b"\xed\xa0\x80", b"\\ud800"]  # fmt: skip


def set_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes that mean something to many formats, over others."""
    start, _ = chunk(data, rng)
    word = WILD[int(rng.integers(len(WILD)))]
    return data[:start] + word + data[start + len(word) :]


def delete(data: bytes, rng: np.random.Generator) -> bytes:
    start, end = chunk(data, rng)
    return data[:start] + data[end:]


def duplicate(data: bytes, rng: np.random.Generator) -> bytes:
    start, end = chunk(data, rng)
    return data[:end] + data[start:end] * int(rng.choice([1, 1, 2, 50])) + data[end:]


def insert(data: bytes, rng: np.random.Generator) -> bytes:
    start, _ = chunk(data, rng)
    return data[:start] + rng.bytes(int(rng.integers(1, 64))) + data[start:]


def swap(data: bytes, rng: np.random.Generator) -> bytes:
    a, b, c, d = sorted((*chunk(data, rng), *chunk(data, rng)))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


NUMBER = re.compile(rb"(?<![A-Za-z_])-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
NASTY = [b"nan", b"inf", b"-inf", b"1e300", b"-1e300", b"1e39", b"1e-300", b"-1", b"0", b"1", b"2", b"255", b"65536",
         b"4294967295", b"2147483648", b"9223372036854775807", b"18446744073709551616", b"999999999999999999", b"9" * 400,
         b"9" * 5000, b"0.5", b"-0", b"1_0", b"0x10", b"", b"x", b"\xd9\xa3", b'"1"', b"[]", b"null"]  # fmt: skip


def replace_numbers(data: bytes, rng: np.random.Generator) -> bytes:
    found = list(NUMBER.finditer(data[:200_000]))
    if not found:
        return flip_bits(data, rng)
    chosen = {int(index) for index in rng.integers(len(found), size=int(rng.choice([1, 1, 1, 3])))}
    for match in (found[index] for index in sorted(chosen, reverse=True)):
        data = data[: match.start()] + NASTY[int(rng.integers(len(NASTY)))] + data[match.end() :]
    return data


def move_number(data: bytes, rng: np.random.Generator) -> bytes:
    """A number of the file in the place of another, which often means something."""
    found = list(NUMBER.finditer(data[:200_000]))
    if not found:
        return copy_word(data, rng)
    to, what = (found[int(index)] for index in rng.integers(len(found), size=2))
    return data[: to.start()] + what[0] + data[to.end() :]


def copy_word(data: bytes, rng: np.random.Generator) -> bytes:
    """Four bytes of the file in the place of four others."""
    to, what = (4 * int(place) for place in rng.integers(max(len(data) // 4, 1), size=2))
    return data[:to] + data[what : what + 4] + data[to + 4 :]


def swap_lines(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    for _ in range(int(rng.choice([1, 1, 3]))):
        a, b = rng.integers(len(lines), size=2)
        lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def odd_floats(data: bytes, rng: np.random.Generator) -> bytes:
    """Numbers of four or eight bytes that arithmetic does not like."""
    out = bytearray(data)
    for _ in range(int(2 ** rng.uniform(0, 5))):
        kind = np.float32 if rng.random() < 0.7 else np.float64
        value = kind(rng.choice([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, 1e-40, -1.0])).tobytes()
        start = 4 * int(rng.integers(max(len(out) // 4, 1)))
        out[start : start + len(value)] = value
    return bytes(out)


MUTATORS: tuple[Mutator, ...] = (
    truncate, flip_bits, set_bytes, delete, duplicate, insert, swap, replace_numbers, replace_numbers, swap_lines, odd_floats,
    move_number, move_number, copy_word,
)  # fmt: skip


def damaged(bases: list[bytes], rng: np.random.Generator) -> bytes:
    """One of the files with one to three defects, or the beginning of one and the end of another.

    Damage inside of a ZIP file is packed again half of the time, or its checksums would hide it from the reader.
    """
    data = bases[int(rng.integers(len(bases)))]
    if rng.random() < 0.05:
        return spliced(data, bases[int(rng.integers(len(bases)))], rng)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        mutator = MUTATORS[int(rng.integers(len(MUTATORS)))]
        data = repacked(data, mutator, rng) if data.startswith(b"PK") and rng.random() < 0.5 else mutator(data, rng)
    return data


def spliced(first: bytes, second: bytes, rng: np.random.Generator) -> bytes:
    return first[: int(rng.integers(len(first) + 1))] + second[int(rng.integers(len(second) + 1)) :]


def repacked(data: bytes, mutator: Mutator, rng: np.random.Generator) -> bytes:
    """A ZIP file of which one member is damaged and all lengths and checksums are right."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            members = {name: package.read(name) for name in package.namelist()}
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError):
        return mutator(data, rng)
    hit = list(members)[int(rng.integers(len(members)))] if members else ""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        for name, content in members.items():
            package.writestr(name, mutator(content, rng) if name == hit else content)
    return out.getvalue()


# What a value promises


def check_rig(rig: FileRig) -> None:
    """What everyone who takes a ``FileRig`` relies on, whatever the file was."""
    assert len(set(rig.names)) == len(rig.names) == len(rig.parents) == len(rig.rest)
    assert np.all(rig.parents < np.arange(len(rig.parents))), "parents come first"
    assert np.all(rig.parents >= -1)
    assert np.all(np.isfinite(rig.rest))
    assert np.all(np.isfinite(rig.mesh.vertices))
    assert rig.weights.shape == (rig.mesh.vertex_count, len(rig.names))
    total = rig.weights.sum(1)
    assert np.all(np.isclose(total, 1) | (total == 0)), "weights sum to one"
    assert np.all(rig.weights >= 0)
    assert np.all((rig.mesh.colors >= 0) & (rig.mesh.colors <= 1)), "colours"
    assert rig.mesh.uv is None or np.all(np.isfinite(rig.mesh.uv))
    assert np.isfinite(rig.metres)
    assert rig.metres > 0
    for text in (*rig.names, *rig.notes):
        text.encode()
    for clip in rig.clips[:3]:
        assert rig.sample is not None
        assert 0 <= clip.duration < np.inf
        worlds = rig.sample(clip.name, np.array([0.0, 0.3 * clip.duration, clip.duration, clip.duration + 1]))
        assert worlds.shape == (4, len(rig.names), 4, 4)
        assert np.all(np.isfinite(worlds))


def check_splats(read: tuple[Splats, tuple[str, ...]]) -> None:
    assert bool(torch.isfinite(read[0].covariances).all())
    assert bool(((read[0].opacities >= 0) & (read[0].opacities <= 1)).all())


def check_motion(motion: Motion) -> None:
    assert motion.frame_count >= 1
    for part in (motion.pose.root_position, motion.pose.root_rotation, motion.pose.angles):
        assert bool(torch.isfinite(part).all())
    assert 0 <= motion.duration < np.inf


# Readers


@dataclass(frozen=True)
class Reader:
    """One format: how its files end, whole ones to begin with, how one is read and what the result promises."""

    suffix: str
    bases: Callable[[Path], list[bytes]]
    read: Callable[[Path], Any] = lambda path: reader_of(path)(path)  # the program's own table
    check: Callable[[Any], None] = check_rig
    batch: int = BATCH
    is_native: bool = False
    """Whether it runs in a process of its own, where a crash of native code is one sentence too."""
    module: str = ""
    """What must be installed."""


SKELETON = Skeleton.from_joints(("a", "b", "c"), np.array([-1, 0, 1]), np.array([[0.0, 1, 0], [0, 2, 0], [0, 3, 0.5]]))


def small_motion() -> Motion:
    generator = torch.Generator().manual_seed(0)
    return Motion(Pose(*(torch.randn(4, *shape, generator=generator) for shape in ((3,), (4,), (3, 3)))), 24.0)


def box() -> trimesh.Trimesh:
    mesh = trimesh.creation.box()
    mesh.visual.vertex_colors = np.arange(32, dtype=np.uint8).reshape(8, 4) * 7
    return mesh


def exported(*choices: dict[str, Any]) -> Callable[[Path], list[bytes]]:
    def make(_: Path) -> list[bytes]:
        files = [box().export(**choice) for choice in choices]
        return [file.encode() if isinstance(file, str) else file for file in files]

    return make


def bvh_files(folder: Path) -> list[bytes]:
    write_bvh(folder / "base.bvh", SKELETON, small_motion())
    sparse = "HIERARCHY\nROOT Hips {\n OFFSET 0 1 0\n CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
    sparse += " JOINT Left Foot\n {\n  OFFSET 0 -1 0\n  CHANNELS 1 Xrotation\n  End Site\n  {\n   OFFSET 0 0 1\n  }\n }\n}\n"
    sparse += "MOTION\nFrames: 2\nFrame Time: 0.04\n0 1 0 10 20 30 40\n1 1 0 10 20 30 50\n"
    return [(folder / "base.bvh").read_bytes(), sparse.encode()]


def obj_files(folder: Path) -> list[bytes]:
    (folder / "m.mtl").write_text("newmtl red\nKd 1 0 0\nnewmtl photo\nmap_Kd m.png\n")
    Image.new("RGB", (4, 4), (10, 200, 30)).save(folder / "m.png")
    text = "mtllib m.mtl\no part\nv 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 1 1 0 0 0 1\nv 0 1 0 1 1 1\nvt 0 0\nvt 1 0\nvt 1 1\n"
    text += "usemtl red\nf 1/1 2/2 3/3 4\nusemtl photo\nf -4/1/1 -2/2 -1/-1\nf 1//1 2//1 3//1\n"
    return [text.encode(), box().export(file_type="obj").encode()]


def rignet_files(folder: Path) -> list[bytes]:
    mesh = Mesh(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]]), np.full((3, 3), 0.5))
    write_rignet(folder / "case.txt", Rig(mesh, SKELETON, np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0, 0, 1.0]])))
    return [(folder / "case.txt").read_bytes()]  # case.obj stays, whole, beside every case


def splat_files(folder: Path) -> list[bytes]:
    rng, out = torch.Generator().manual_seed(0), []
    for count, coefficients in ((1, 1), (4, 4)):
        parts = [torch.randn(count, *shape, generator=rng) for shape in ((3,), (4,), (3,), (), (coefficients, 3))]
        write_splats(folder / "base.ply", Splats(parts[0], parts[1], parts[2].exp(), parts[3].sigmoid(), parts[4]))
        out.append((folder / "base.ply").read_bytes())
    head, body = out[1].split(b"end_header\n", 1)
    table = np.frombuffer(body, "<f4").reshape(4, -1)
    lines = "\n".join(" ".join(f"{x:.6g}" for x in row) for row in table).encode()
    return [*out, head.replace(b"binary_little_endian", b"ascii") + b"end_header\n" + lines + b"\n"]


def motion_files(folder: Path) -> list[bytes]:
    write_motion(folder / "base.npz", SKELETON, small_motion())
    deflated = (folder / "base.npz").read_bytes()
    with np.load(folder / "base.npz") as arrays:
        np.savez(folder / "stored.npz", **dict(arrays))
    return [deflated, (folder / "stored.npz").read_bytes()]


def json_files(_: Path) -> list[bytes]:
    joints = [{"name": "a", "parent": None, "position": [0, 1, 0]}, {"name": "b", "parent": "a", "position": [0, 1.5, 0.1]},
              {"name": "c", "parent": "b", "position": [0, 2, 0]}]  # fmt: skip
    return [json.dumps({"joints": joints}).encode(), json.dumps({"joints": joints[::-1]}, indent=1).encode()]


def gltf_files(_: Path) -> list[bytes]:
    return [glb_bytes(*skinned_arm().chunks())]


def fbx_files(_: Path) -> list[bytes]:
    """One that we write, and one of another program where the assets are."""
    path = ASSETS / "fbx_assimp" / "huesitos.fbx"
    return [encode_fbx(box_scene()), *([path.read_bytes()] if path.is_file() else [])]


USDA = """#usda 1.0
(
    defaultPrim = "Root"
    metersPerUnit = 1
    timeCodesPerSecond = 24
    upAxis = "Z"
)
def SkelRoot "Root" (prepend apiSchemas = ["SkelBindingAPI"])
{
    def Material "Red" {
        token outputs:surface.connect = </Root/Red/S.outputs:surface>
        def Shader "S" {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor = (1, 0.2, 0.1)
            token outputs:surface
        }
    }
    def Mesh "Skin" (prepend apiSchemas = ["SkelBindingAPI", "MaterialBindingAPI"])
    {
        rel material:binding = </Root/Red>
        rel skel:skeleton = </Root/Skel>
        int[] faceVertexCounts = [3, 4]
        int[] faceVertexIndices = [0, 1, 2, 0, 2, 3, 1]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        texCoord2f[] primvars:st = [(0, 0), (1, 0), (0, 1), (1, 1)] (interpolation = "vertex")
        color3f[] primvars:displayColor = [(0.1, 0.2, 0.3)]
        matrix4d primvars:skel:geomBindTransform = ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))
        int[] primvars:skel:jointIndices = [0, 1, 0, 1, 1, 0, 1, 0] (
            elementSize = 2
            interpolation = "vertex"
        )
        float[] primvars:skel:jointWeights = [1, 0, 0.5, 0.5, 0.7, 0.3, 1, 0] (
            elementSize = 2
            interpolation = "vertex"
        )
        def GeomSubset "Part" (prepend apiSchemas = ["MaterialBindingAPI"])
        {
            uniform token elementType = "face"
            uniform token familyName = "materialBind"
            int[] indices = [1]
            rel material:binding = </Root/Red>
        }
    }
    def Skeleton "Skel" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        uniform token[] joints = ["a", "a/b"]
        uniform matrix4d[] bindTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,1,0,1))]
        uniform matrix4d[] restTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1)), ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,1,0,1))]
        rel skel:animationSource = </Root/Skel/Wave>
        double3 xformOp:translate.timeSamples = {0: (0, 0, 0), 24: (0, 0, 2)}
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def SkelAnimation "Wave"
        {
            uniform token[] joints = ["a/b"]
            float3[] translations.timeSamples = {0: [(0, 1, 0)], 24: [(0, 2, 0)]}
            quatf[] rotations.timeSamples = {0: [(1, 0, 0, 0)], 12.5: [(0.7071068, 0, 0.7071068, 0)]}
            half3[] scales = [(1, 1, 1)]
        }
    }
}
"""


def vrm_files(folder: Path) -> list[bytes]:
    path = skinned_arm().glb(folder / "base.glb")
    names = {"hips": "upper", "spine": "lower"}
    return [as_vrm(path, names, version=version) for version in ("1.0", "0.x")]


def packed_files(pack: Callable[[Path], bytes]) -> Callable[[Path], list[bytes]]:
    return lambda folder: [pack(skinned_arm().glb(folder / "base.glb"))]


def usda_files(_: Path) -> list[bytes]:
    return [USDA.encode()]


def usdc_files(folder: Path) -> list[bytes]:
    from pxr import Sdf

    (folder / "base.usda").write_text(USDA)
    Sdf.Layer.FindOrOpen(str(folder / "base.usda")).Export(str(folder / "base.usdc"))
    return [(folder / "base.usdc").read_bytes()]


def usdz_files(folder: Path) -> list[bytes]:
    from pxr import Sdf

    usdc_files(folder)
    with Sdf.ZipFileWriter.CreateNew(str(folder / "base.usdz")) as package:
        package.AddFile(str(folder / "base.usdc"), "base.usdc")
    return [(folder / "base.usdz").read_bytes()]


def in_process(child: str, rig_of: Callable[..., FileRig]) -> Callable[[Path], FileRig]:
    """What ``read_fbx`` and ``read_usd`` do, without a further process: the worker is one already."""

    def read(path: Path) -> FileRig:
        script, target = importlib.import_module(child), path.with_name("arrays.npz")
        target.unlink(missing_ok=True)
        try:
            with open(os.devnull, "w") as silence, contextlib.redirect_stderr(silence):
                script.main(str(path), str(target))
        except Exception as error:  # the child ends with this as its last words, which become a sentence
            raise AkdError(f"{path.name} cannot be read ({type(error).__name__}).") from error
        return rig_of(path, *loaded(target, path))

    return read


FUZZED: dict[str, Reader] = {
    "bvh": Reader(".bvh", bvh_files),
    "obj": Reader(".obj", obj_files),
    "ply": Reader(".ply", exported({"file_type": "ply"}, {"file_type": "ply", "encoding": "ascii"})),
    "stl": Reader(".stl", exported({"file_type": "stl"}, {"file_type": "stl_ascii"})),
    "off": Reader(".off", exported({"file_type": "off"})),
    "rignet": Reader(".txt", rignet_files),
    "splats": Reader(".ply", splat_files, read_splats, check_splats),
    "motion": Reader(".npz", motion_files, lambda path: read_motion(path, SKELETON), check_motion),
    "skeleton": Reader(".json", json_files, read_skeleton_json),
    "gltf": Reader(".glb", gltf_files),
    "vrm": Reader(".vrm", vrm_files),
    "draco": Reader(".glb", packed_files(draco), module="DracoPy"),
    "meshopt": Reader(".glb", packed_files(meshopt), module="meshoptimizer"),
    "usda": Reader(".usda", usda_files, in_process("akd.files.usd_child", usd_rig_of), is_native=True, module="pxr"),
    "usdc": Reader(".usdc", usdc_files, in_process("akd.files.usd_child", usd_rig_of), is_native=True, module="pxr"),
    "usdz": Reader(".usdz", usdz_files, in_process("akd.files.usd_child", usd_rig_of), is_native=True, module="pxr"),
    # The binding's objects do not survive being torn down, so each case has a worker of its own.
    "fbx": Reader(".fbx", fbx_files, in_process("akd.files.fbx_child", fbx_rig_of), batch=1, is_native=True, module="ufbx"),
}


# Workers


def outcome(reader: Reader, path: Path) -> str:
    """``value``, ``sentence``, or what went wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = reader.read(path)
    except AkdError as error:
        text = str(error)
        return "sentence" if "\n" not in text and len(text) < LONGEST_SENTENCE else f"not one sentence: {text[:2000]}"
    except BaseException:
        return traceback.format_exc(limit=-8)
    try:
        reader.check(value)
    except BaseException:
        return f"a broken promise: {traceback.format_exc(limit=-4)}"
    return "value"


def limit_memory() -> None:
    """Allow a fixed amount beyond what the imports took."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + SPARE_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@cache
def prepared(name: str, folder: Path) -> list[bytes]:
    """Whole files of a reader, whose library is imported."""
    if FUZZED[name].module:
        importlib.import_module(FUZZED[name].module)
    return FUZZED[name].bases(folder)


def work(name: str, seed: int, cases: range, folder: Path, report: int, keep: Path | None) -> None:
    """Run cases and report each in two lines: when it begins, and how it ended. A negative seed does no damage."""
    reader, bases = FUZZED[name], prepared(name, folder)
    gc.disable()  # as the child does: ufbx's objects do not survive the collector
    os.chdir(folder)
    if sys.platform == "linux":
        limit_memory()
    for case in cases:
        os.write(report, f"{case}\n".encode())
        rng = np.random.default_rng([max(seed, 0), list(FUZZED).index(name), case])
        # USD keeps layers by name, so each of its cases needs a new one; RigNet's mesh has the name of its case.
        path = folder / (f"case{case if reader.is_native else ''}{reader.suffix}")
        path.write_bytes(damaged(bases, rng) if seed >= 0 else bases[case % len(bases)])
        if keep:
            (keep / f"{name}-{case}{reader.suffix}").write_bytes(path.read_bytes())
        faulthandler.dump_traceback_later(SECONDS_PER_CASE, exit=True)
        found = outcome(reader, path)
        faulthandler.cancel_dump_traceback_later()
        os.write(report, f"{case} {json.dumps(found)}\n".encode())
        if reader.is_native:
            path.unlink()


def forked(name: str, seed: int, cases: range, folder: Path, keep: Path | None) -> Iterator[tuple[int, str]]:
    """Outcomes of the cases up to the first that ends the worker."""
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as said, os.fdopen(reading) as lines:
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            os.dup2(said.fileno(), 2)
            try:
                work(name, seed, cases, folder, writing, keep)
            except BaseException:
                traceback.print_exc()
                os._exit(17)
            os._exit(0)
        os.close(writing)
        begun = ""
        for line in lines:
            begun, _, found = line.rstrip("\n").partition(" ")
            if found:
                yield int(begun), json.loads(found)
                begun = ""
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if status or begun:
            said.seek(0)
            yield int(begun or cases.start), end_of_worker(status, said.read().decode(errors="replace")[-3000:])


def end_of_worker(status: int, words: str) -> str:
    if status < 0:
        return f"crashed with signal {-status}\n{words}"
    return f"took too long\n{words}" if "Timeout" in words else f"ended with {status}\n{words}"


def run(name: str, seed: int, cases: range, keep: Path | None = None) -> dict[int, str]:
    """How every case of a reader ended."""
    out: dict[int, str] = {}
    following = cases.start
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "cases"
        folder.mkdir()
        if FUZZED[name].batch == 1:
            prepared(name, folder)  # here and not anew in the worker of every case
        while following < cases.stop:
            batch = range(following, min(following + FUZZED[name].batch, cases.stop))
            for case, found in forked(name, seed, batch, folder, keep):
                if FUZZED[name].is_native and found.startswith("crashed"):
                    found = "crash"  # in the child process that shields the program from it
                if FUZZED[name].is_native and found.startswith("took too long"):
                    found = "hang"  # which the child's limit of processor time ends
                written = strange_files(Path(place))
                out[case] = f"wrote {written}" if written else found
                following = case + 1
    return out


def strange_files(place: Path) -> list[str]:
    """What a reader has written in or beside the folder of the cases: anything that is not one of our own files."""
    own = re.compile(r"cases|cases/(base|case\d*|stored|arrays|m)\.\w+")
    names = (str(path.relative_to(place)) for path in place.rglob("*"))
    return [name for name in names if not own.fullmatch(name)]


def available(name: str) -> bool:
    """Whether the reader's library is here."""
    reader = FUZZED[name]
    return not reader.module or importlib.util.find_spec(reader.module) is not None


def main() -> int:
    parser = argparse.ArgumentParser(description="Read damaged files and see how it ends.")
    parser.add_argument("--cases", type=int, default=300, help="how many, over all readers")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", choices=FUZZED, action="append")
    parser.add_argument("--keep", type=Path, help="a folder for the files of all cases")
    options = parser.parse_args()
    names = [name for name in options.reader or FUZZED if available(name)]
    counts: dict[str, dict[str, int]] = {}
    wrong = 0
    for name in names:
        share = range(options.first, options.first - (-options.cases // len(names)))
        ends = run(name, options.seed, share, options.keep)
        ends |= {-case: f"a whole file: {found}" for case, found in run(name, -1, range(1, 4)).items() if found != "value"}
        kinds = {case: found if found in ("value", "sentence", "crash", "hang") else "wrong" for case, found in ends.items()}
        for case in (case for case, kind in kinds.items() if kind == "wrong"):
            wrong += 1
            print(f"--- {name} case {case} (seed {options.seed}): {ends[case]}", flush=True)
        counts[name] = dict(Counter(kinds.values()))
        print(name, counts[name], flush=True)
    print(json.dumps(counts))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
