"""Damaged and hostile glTF files end in a rig or in an ``AkdError``: nothing else, soon, and in little memory.

The cases run in a process of their own, whose memory can be limited. To run more of them:
``python tests/test_gltf_fuzz.py CASES SEED FOLDER_OF_ASSETS``.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from akd.errors import AkdError
from akd.files.gltf.document import glb_chunks
from akd.files.gltf.read import read_gltf
from akd.rig import FileRig
from tiny_gltf import glb_bytes, skinned_arm

CASES = 2000
SECONDS_PER_CASE = 5
SPARE_MEMORY = 2**31
SMALL = (
    "fox_khronos/Fox.glb", "rigged_figure/RiggedFigure.glb", "rigged_simple/RiggedSimple.glb", "q_chick/Chick.glb",
    "kenney_platformer/character.glb",
)  # fmt: skip
Parts = tuple[dict[str, Any], bytearray]


def test_every_damaged_file_is_read_or_refused() -> None:
    assets = Path(__file__).resolve().parents[2] / "shared" / "assets"
    command = [sys.executable, __file__, str(CASES), "0", str(assets)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-4000:]
    outcome = json.loads(run.stdout.splitlines()[-1])
    assert outcome["read"] + outcome["refused"] == CASES
    assert min(outcome["read"], outcome["refused"]) > CASES / 20, "the damage is too mild or too coarse to tell anything"


# Damage to the JSON


def places(value: Any, found: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    found = [] if found is None else found
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found.append((value, key))
        places(value[key], found)
    return found


def some_place(root: dict[str, Any], rng: np.random.Generator) -> tuple[Any, Any]:
    """A random (container, key): half of the time a key of an object, because most places are in lists of numbers."""
    found = places(root)
    if rng.random() < 0.5:
        found = [(container, key) for container, key in found if isinstance(container, dict)]
    return found[int(rng.integers(len(found)))]


def nasty(rng: np.random.Generator) -> Any:
    """A value that some code will not expect."""
    choices: list[Any] = [
        -1, 0, 1, 2, 3.0, 0.5, 255, 2**31 - 1, 2**32, 2**63, 10**400, 1e308, -1e308, float("nan"), float("inf"), "", "x", "0",
        None, True, [], {}, [[]], [None], ["0"], [0] * 17, {"a": {}}, "POSITION", "\ud800", int(rng.integers(0, 40)),
        float(rng.normal() * 100),
    ]  # fmt: skip
    return choices[int(rng.integers(len(choices)))]


def some_entry(root: dict[str, Any], table: str, rng: np.random.Generator) -> dict[str, Any]:
    """A random object of a table, or a new one where earlier damage left none."""
    entries = root.get(table)
    objects = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return objects[int(rng.integers(len(objects)))] if objects else {}


def size(root: dict[str, Any], table: str) -> int:
    """How long a table is, one more so that it can be overstepped."""
    entries = root.get(table)
    return len(entries) + 1 if isinstance(entries, list) else 1


def replace_value(parts: Parts, rng: np.random.Generator) -> None:
    container, key = some_place(parts[0], rng)
    container[key] = nasty(rng)


def delete_key(parts: Parts, rng: np.random.Generator) -> None:
    container, key = some_place(parts[0], rng)
    del container[key]


def swap_values(parts: Parts, rng: np.random.Generator) -> None:
    (first, a), (second, b) = (some_place(parts[0], rng) for _ in range(2))
    first[a] = json.loads(json.dumps(second[b]))


def lie_in_an_entry(parts: Parts, rng: np.random.Generator) -> None:
    """Replace one number of a table that the bytes are read by."""
    entry = some_entry(parts[0], str(rng.choice(["accessors", "bufferViews", "nodes", "skins", "buffers"])), rng)
    keys = ["count", "byteOffset", "byteLength", "byteStride", "bufferView", "componentType", "mesh", "skin", "children"]
    entry[str(rng.choice(keys))] = nasty(rng) if rng.random() < 0.5 else int(2 ** rng.integers(0, 40))


def tangle_nodes(parts: Parts, rng: np.random.Generator) -> None:
    for _ in range(int(rng.integers(1, 4))):
        some_entry(parts[0], "nodes", rng)["children"] = rng.integers(size(parts[0], "nodes"), size=2).tolist()


def rewire_children(parts: Parts, rng: np.random.Generator) -> None:
    """A different tree that is still a tree."""
    entries = parts[0].get("nodes")
    nodes = [node for node in entries if isinstance(node, dict)] if isinstance(entries, list) else []
    for node in nodes:
        node["children"] = []
    for index in range(1, len(nodes)):
        nodes[int(rng.integers(index))]["children"].append(index)


def odd_transform(parts: Parts, rng: np.random.Generator) -> None:
    key, width = [("translation", 3), ("rotation", 4), ("scale", 3), ("matrix", 16)][int(rng.integers(4))]
    scale = float(rng.choice([0.0, 1e-30, 1.0, 1e6, 1e200]))
    some_entry(parts[0], "nodes", rng)[key] = (scale * rng.normal(size=width)).tolist()


def make_sparse(parts: Parts, rng: np.random.Generator) -> None:
    entry, views = some_entry(parts[0], "accessors", rng), size(parts[0], "bufferViews")
    indices = {"bufferView": int(rng.integers(views)), "componentType": int(rng.choice([5121, 5123, 5125, 5126]))}
    values = {"bufferView": int(rng.integers(views))}
    entry["sparse"] = {"count": int(rng.integers(0, 50)), "indices": indices, "values": values}
    if rng.random() < 0.5:
        entry.pop("bufferView", None)


def climb_out(parts: Parts, rng: np.random.Generator) -> None:
    uris = ["../../x", "%2e%2e/x", "/etc/passwd", "file:///etc/passwd", "http://x/y", "..\\x", "data:,", "data:;base64,AA", "."]
    entry = some_entry(parts[0], str(rng.choice(["buffers", "images"])), rng)
    entry["uri"] = str(rng.choice(uris))
    entry.pop("bufferView", None)


def odd_animation(parts: Parts, rng: np.random.Generator) -> None:
    sampler = some_entry(some_entry(parts[0], "animations", rng), "samplers", rng)
    sampler[str(rng.choice(["input", "output"]))] = int(rng.integers(size(parts[0], "accessors")))
    sampler["interpolation"] = str(rng.choice(["STEP", "CUBICSPLINE", "LINEAR", "x"]))


def nest_deeply(parts: Parts, rng: np.random.Generator) -> None:
    deep: Any = []
    for _ in range(int(rng.choice([50, 300]))):
        deep = [deep] if rng.random() < 0.5 else {"extensions": deep}
    parts[0][str(rng.choice(["extras", "nodes", "accessors", "materials"]))] = deep


def numbers_in_bytes(parts: Parts, rng: np.random.Generator) -> None:
    """Write odd floats into the buffer: NaN, infinity, very large, zero."""
    for _ in range(int(rng.integers(1, 200))):
        start = 4 * int(rng.integers(max(len(parts[1]) // 4, 1)))
        value = rng.choice([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, 1e-40, -1.0])
        parts[1][start : start + 4] = np.float32(value).tobytes()


def flip_buffer_bytes(parts: Parts, rng: np.random.Generator) -> None:
    for place in rng.integers(max(len(parts[1]), 1), size=int(rng.integers(1, 50))):
        parts[1][place : place + 1] = bytes([int(rng.integers(256))])


JSON_DAMAGE: tuple[Callable[[Parts, np.random.Generator], None], ...] = (
    replace_value, replace_value, replace_value, delete_key, delete_key, swap_values, lie_in_an_entry, lie_in_an_entry,
    tangle_nodes, rewire_children, odd_transform, make_sparse, climb_out, odd_animation, nest_deeply, numbers_in_bytes,
    flip_buffer_bytes,
)  # fmt: skip


# Damage to the file


def damaged_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Flipped, cut, inserted, or with lengths that lie."""
    broken = bytearray(data)
    kind = int(rng.integers(5))
    if kind == 0:
        for place in rng.integers(len(broken), size=int(rng.integers(1, 20))):
            broken[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del broken[int(rng.integers(len(broken))) :]
    elif kind == 2:
        start = int(rng.integers(len(broken)))
        broken[start:start] = rng.bytes(int(rng.integers(1, 40)))
    elif kind == 3:
        field = int(rng.choice([4, 8, 12, 16]))
        broken[field : field + 4] = int(rng.integers(2**32)).to_bytes(4, "little")
    else:
        text_length = int.from_bytes(broken[12:16], "little")
        for place in 20 + rng.integers(max(text_length, 1), size=int(rng.integers(1, 6))):
            broken[place] = int(rng.integers(32, 127))
    return bytes(broken)


def damaged(text: bytes, binary: bytes, rng: np.random.Generator) -> bytes:
    """A file with one to three defects."""
    parts: Parts = (json.loads(text), bytearray(binary))
    if rng.random() < 0.3:
        return damaged_bytes(glb_bytes(text, binary), rng)
    for _ in range(int(rng.integers(1, 4))):
        JSON_DAMAGE[int(rng.integers(len(JSON_DAMAGE)))](parts, rng)
    return glb_bytes(json.dumps(parts[0]).encode(), bytes(parts[1]))


# Running the cases


def check_promises(rig: FileRig) -> None:
    """What every reader of a ``FileRig`` may rely on, whatever the file was."""
    assert len(set(rig.names)) == len(rig.names) == len(rig.parents) == len(rig.rest)
    assert np.all(rig.parents < np.arange(len(rig.parents)))
    assert np.all(np.isfinite(rig.rest))
    assert np.all(np.isfinite(np.linalg.inv(rig.rest)))
    assert rig.weights.shape == (rig.mesh.vertex_count, len(rig.names))
    assert not len(rig.names) or np.allclose(rig.weights.sum(1), 1)
    assert np.all((rig.mesh.colors >= 0) & (rig.mesh.colors <= 1))
    assert rig.mesh.uv is not None
    assert np.all(np.isfinite(rig.mesh.uv))
    for note in rig.notes:
        note.encode()
    for clip in rig.clips[:3]:
        assert rig.sample is not None
        worlds = rig.sample(clip.name, np.array([0.0, 0.3 * clip.duration, clip.duration, clip.duration + 1]))
        assert worlds.shape == (4, len(rig.names), 4, 4)
        assert np.all(np.isfinite(worlds))


def outcome(path: Path) -> str:
    """Read a file and sample it as a user would."""
    try:
        check_promises(read_gltf(path))
        return "read"
    except AkdError as error:
        return "refused" if "\n" not in str(error) and len(str(error)) < 500 else f"refused at length: {error}"


def limit_memory() -> None:
    """Allow a fixed amount beyond what the imports took."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + SPARE_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(cases: int, seed: int, assets: Path) -> int:
    """Run the cases; the last line printed is the count of outcomes."""
    files = [glb_chunks((assets / name).read_bytes(), name) for name in SMALL if (assets / name).is_file()]
    files.append(skinned_arm().chunks())
    counts: Counter[str] = Counter()
    if sys.platform == "linux":
        limit_memory()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.glb"
        for case in range(cases):
            rng = np.random.default_rng([seed, case])
            data = damaged(*files[case % len(files)], rng)
            path.write_bytes(data)
            signal.signal(signal.SIGALRM, lambda *_, case=case: (print(f"case {case} takes too long", flush=True), os._exit(3)))
            signal.alarm(SECONDS_PER_CASE)
            try:
                counts[outcome(path)] += 1
            except Exception:
                print(f"case {case}:\n{traceback.format_exc()}")
                counts["failed"] += 1
            signal.alarm(0)
    print(json.dumps(dict(counts)))
    return 1 if set(counts) - {"read", "refused"} else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
