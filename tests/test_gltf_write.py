"""A clip added to a file leaves the rest of it alone and moves the bones as asked."""

import base64
import copy
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from akd.errors import AkdError
from akd.files.gltf.nodes import Trs
from akd.files.gltf.read import read_gltf
from akd.files.gltf.write import add_clip
from akd.rig import FileRig
from conftest import ASSETS
from gltf_samples import faults, glb_parts, needs_validator, odd_file, write_glb

GLB_ASSETS = sorted(ASSETS.glob("*/*.glb"))


# The law: everything old is still there


@pytest.mark.parametrize("path", GLB_ASSETS, ids=lambda path: path.stem)
def test_a_clip_added_to_a_real_file_leaves_the_rest_alone_and_plays(path: Path, tmp_path: Path) -> None:
    file = read_gltf(path)
    assert file.sample is not None
    times = np.linspace(0, file.clips[0].duration, 7)
    world = file.sample(file.clips[0].name, times)
    added = add_clip(file, file.clips[0].name, times, world)
    assert added.residual < 1e-5
    assert added.name not in [clip.name for clip in file.clips]
    assert_only_added(path.read_bytes(), added.data, _bones(file))

    again = _read_back(added.data, tmp_path)
    assert again.names == file.names
    assert [clip.name for clip in again.clips] == [*(clip.name for clip in file.clips), added.name]
    size = np.ptp(file.mesh.vertices, 0).max()
    np.testing.assert_allclose(again.sample(added.name, times)[..., :3, 3] / size, world[..., :3, 3] / size, atol=1e-5)
    np.testing.assert_array_equal(again.mesh.vertices, file.mesh.vertices)


def test_unknown_words_and_key_order_survive(tmp_path: Path) -> None:
    path = write_glb(tmp_path, *odd_file())
    file = read_gltf(path)
    added = add_clip(file, "hop", *_hop(file))
    assert_only_added(path.read_bytes(), added.data, _bones(file))
    old, new = glb_parts(path.read_bytes())[0], glb_parts(added.data)[0]
    assert list(new)[: len(old)] == list(old)
    assert new["asset"] == old["asset"]


def test_names_are_never_taken_twice(tmp_path: Path) -> None:
    file = read_gltf(write_glb(tmp_path, *odd_file()))
    for expected in ("hop", "hop_2", "hop_3"):
        added = add_clip(file, "hop", *_hop(file))
        assert added.name == expected
        file = _read_back(added.data, tmp_path)
    assert [clip.name for clip in file.clips] == ["hop", "hop_2", "hop_3"]


def test_a_gltf_with_files_beside_it_becomes_one_file(tmp_path: Path) -> None:
    content, binary = odd_file()
    png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    content["images"] = [{"uri": "a%20picture.png", "extras": 5}, {"uri": "not there.png"}]
    content["buffers"][0]["uri"] = "numbers.bin"
    content["buffers"].append({"byteLength": 3, "uri": "more.bin"})
    (tmp_path / "numbers.bin").write_bytes(binary)
    (tmp_path / "more.bin").write_bytes(b"abc")
    (tmp_path / "a picture.png").write_bytes(png)
    (tmp_path / "odd.gltf").write_text(json.dumps(content))
    file = read_gltf(tmp_path / "odd.gltf")
    added = add_clip(file, "hop", *_hop(file))

    new, new_binary = glb_parts(added.data)
    assert new_binary.startswith(binary)
    assert "uri" not in new["buffers"][0]
    assert base64.b64decode(new["buffers"][1]["uri"].partition(",")[2]) == b"abc"
    view = new["bufferViews"][new["images"][0]["bufferView"]]
    assert new_binary[view["byteOffset"] :][: view["byteLength"]] == png
    assert new["images"][0]["extras"] == 5
    assert new["images"][1] == {"uri": "not there.png"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    np.testing.assert_allclose(_read_back(added.data, elsewhere).mesh.vertices, file.mesh.vertices, atol=1e-12)


# The bones go where they should


def test_bones_below_turned_scaled_mirrored_and_matrix_nodes_reach_their_places(tmp_path: Path) -> None:
    file = read_gltf(write_glb(tmp_path, *odd_file()))
    times, world = _hop(file)
    added = add_clip(file, "hop", times, world)
    assert added.residual < 1e-6
    again = _read_back(added.data, tmp_path)
    np.testing.assert_allclose(again.sample("hop", times), world, atol=2e-6)
    np.testing.assert_allclose(again.rest, file.rest, atol=1e-6)


def test_a_matrix_gives_way_to_the_equal_translation_rotation_and_scale(tmp_path: Path) -> None:
    content, binary = odd_file()
    file = read_gltf(write_glb(tmp_path, content, binary))
    new = glb_parts(add_clip(file, "hop", *_hop(file)).data)[0]
    before, after = content["nodes"][2], new["nodes"][2]
    assert "matrix" not in after
    parts = Trs(*(np.array(after[path], float)[None] for path in Trs._fields))
    np.testing.assert_allclose(parts.matrix()[0], np.array(before["matrix"]).reshape(4, 4).T, atol=1e-12)
    assert new["nodes"][0] == content["nodes"][0], "the matrix of a node that is no bone stays"


def test_only_what_moves_is_written(tmp_path: Path) -> None:
    file = read_gltf(write_glb(tmp_path, *odd_file()))
    times, world = _hop(file)
    still = np.broadcast_to(file.rest, world.shape).copy()
    paths = _channel_paths(add_clip(file, "still", times, still).data)
    assert paths == {"hip": {"translation", "rotation"}, "socket": {"rotation"}, "shin": {"rotation"}}
    grown = still.copy()
    grown[3, 2, :3, :3] *= 1.5
    data = add_clip(file, "grown", times, grown).data
    assert _channel_paths(data)["shin"] == {"rotation", "scale"}
    # A later clip has to reset what an earlier one changed.
    after = add_clip(_read_back(data, tmp_path), "still", times, still).data
    assert _channel_paths(after)["shin"] == {"rotation", "scale"}


def test_a_node_above_the_bones_that_another_clip_moves_is_held(tmp_path: Path) -> None:
    content, binary = odd_file()
    content["nodes"][0] = {"name": "above", "scale": [2, 2, 2], "children": [1, 4]}
    content["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": 32})
    content["accessors"] += [
        {"bufferView": 4, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1]},
        {"bufferView": 4, "byteOffset": 8, "componentType": 5126, "count": 2, "type": "VEC3"},
    ]
    channels = [{"sampler": 0, "target": {"node": 0, "path": "translation"}}]
    content["animations"] = [{"name": "drive", "channels": channels, "samplers": [{"input": 4, "output": 5}]}]
    content["buffers"][0]["byteLength"] += 32
    file = read_gltf(write_glb(tmp_path, content, binary + np.array([0, 1, 0, 0, 0, 5, 0, 0], "<f4").tobytes()))
    times, world = _hop(file)
    added = add_clip(file, "hop", times, world)
    assert _channel_paths(added.data)["above"] == {"translation"}
    np.testing.assert_allclose(_read_back(added.data, tmp_path).sample("hop", times), world, atol=1e-5)


def test_shear_is_reported(tmp_path: Path) -> None:
    file = read_gltf(write_glb(tmp_path, *odd_file()))
    times, world = _hop(file)
    world[:, 1, 0, :3] += 0.3 * world[:, 1, 1, :3]
    added = add_clip(file, "sheared", times, world)
    assert 0.05 < added.residual < 0.5
    positions = _read_back(added.data, tmp_path).sample("sheared", times)[..., :3, 3]
    np.testing.assert_allclose(positions, world[..., :3, 3], atol=1e-5, err_msg="joints must not inherit the error")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda times, world: (times[::-1].copy(), world), "increase"),
        (lambda times, world: (times - 1, world), "increase"),
        (lambda times, world: (times, world[:, :1]), "moves 1 bones"),
        (lambda times, world: (times, world * np.nan), "not finite"),
    ],
)
def test_clips_that_cannot_be_written_are_refused(spoil, said: str, tmp_path: Path) -> None:
    file = read_gltf(write_glb(tmp_path, *odd_file()))
    with pytest.raises(AkdError, match=said):
        add_clip(file, "bad", *spoil(*_hop(file)))


@needs_validator
def test_the_khronos_validator_finds_no_new_fault(tmp_path: Path) -> None:
    originals = [write_glb(tmp_path, *odd_file()), *(path for path in GLB_ASSETS if path.stat().st_size < 300_000)]
    changed = [tmp_path / f"{place}.glb" for place in range(len(originals))]
    for old, new in zip(originals, changed, strict=True):
        file = read_gltf(old)
        times = np.linspace(0, 1, 4)
        clip = (times, file.sample(file.clips[0].name, times)) if file.sample and file.clips else _hop(file)
        new.write_bytes(add_clip(file, "added", *clip).data)
    for old, before, after in zip(originals, faults(originals), faults(changed), strict=True):
        assert after <= before, f"{old.stem}: {after - before}"


# Material for the tests


def _hop(file: FileRig) -> tuple[np.ndarray, np.ndarray]:
    """Every bone turned and shifted on its own, without shear."""
    times = np.array([0, 0.1, 0.4, 0.5, 1.25])
    move = np.zeros((5, len(file.names), 4, 4))
    move[..., :3, :3] = Rotation.random(5 * len(file.names), random_state=7).as_matrix().reshape(5, -1, 3, 3)
    move[..., :3, 3] = np.random.default_rng(8).normal(size=(5, len(file.names), 3))
    move[..., 3, 3] = 1
    return times, move @ file.rest


def assert_only_added(before: bytes, after: bytes, bones: set[int]) -> None:
    """The law of ``add_clip``; ``bones`` may exchange their matrix."""
    (old, old_binary), (new, new_binary) = glb_parts(before), glb_parts(after)
    assert new_binary.startswith(old_binary)
    assert new["buffers"][0].pop("byteLength") == len(new_binary)
    old = copy.deepcopy(old)
    old["buffers"][0].pop("byteLength")
    for index in bones & {i for i, node in enumerate(old["nodes"]) if "matrix" in node}:
        del old["nodes"][index]["matrix"]
        for path in Trs._fields:
            del new["nodes"][index][path]
    for name in ("bufferViews", "accessors", "animations"):
        length = len(old.get(name, []))
        assert new[name][:length] == old.pop(name, [])
        assert len(new.pop(name)) > length
    assert json.dumps(new) == json.dumps(old)


def _read_back(data: bytes, folder: Path) -> FileRig:
    (folder / "again.glb").write_bytes(data)
    return read_gltf(folder / "again.glb")


def _bones(file: FileRig) -> set[int]:
    return set(file.document.bone_nodes)


def _channel_paths(data: bytes) -> dict[str, set[str]]:
    """What the last animation changes, by node name."""
    content = glb_parts(data)[0]
    paths: dict[str, set[str]] = {}
    for channel in content["animations"][-1]["channels"]:
        paths.setdefault(content["nodes"][channel["target"]["node"]]["name"], set()).add(channel["target"]["path"])
    return paths
