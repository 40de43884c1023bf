"""Packed glTF reads like the file it was packed from, and a clip is added to it without unpacking."""

from pathlib import Path

import numpy as np
import pytest

from akd.errors import AkdError
from akd.files.gltf.read import read_gltf
from akd.files.gltf.write import add_clip
from packed_gltf import draco, meshopt

pytest.importorskip("DracoPy", reason="the extra 'packed' is not installed")
pytest.importorskip("meshoptimizer", reason="the extra 'packed' is not installed")


@pytest.mark.parametrize("pack", [draco, meshopt])
@pytest.mark.parametrize("name", ["fox_khronos/Fox.glb", "cesium_man/CesiumMan.glb"])
def test_packed_files_read_like_whole_ones(assets: Path, tmp_path: Path, pack, name: str) -> None:
    whole, path = read_gltf(assets / name), tmp_path / "packed.glb"
    path.write_bytes(pack(assets / name))
    packed = read_gltf(path)
    assert packed.names == whole.names
    assert np.allclose(packed.rest, whole.rest)
    assert np.array_equal(packed.mesh.vertices[packed.mesh.faces], whole.mesh.vertices[whole.mesh.faces])
    assert np.allclose(packed.weights[packed.mesh.faces], whole.weights[whole.mesh.faces])
    assert packed.mesh.uv is not None
    assert whole.mesh.uv is not None
    assert np.allclose(packed.mesh.uv[packed.mesh.faces], whole.mesh.uv[whole.mesh.faces])


@pytest.mark.parametrize("pack", [draco, meshopt])
def test_a_clip_is_added_and_the_rest_stays_packed(assets: Path, tmp_path: Path, pack) -> None:
    path = tmp_path / "packed.glb"
    path.write_bytes(pack(assets / "fox_khronos" / "Fox.glb"))
    file = read_gltf(path)
    times = np.array([0.0, 0.5])
    added = add_clip(file, "new", times, np.stack([file.rest, file.rest]))
    (tmp_path / "more.glb").write_bytes(added.data)
    again = read_gltf(tmp_path / "more.glb")
    assert [clip.name for clip in again.clips] == [*(clip.name for clip in file.clips), "new"]
    assert np.allclose(again.mesh.vertices, file.mesh.vertices)
    assert len(added.data) < path.stat().st_size + 20_000


def test_a_damaged_pack_is_one_sentence(assets: Path, tmp_path: Path) -> None:
    for pack in (draco, meshopt):
        data = bytearray(pack(assets / "fox_khronos" / "Fox.glb"))
        start = int.from_bytes(data[12:16], "little") + 28
        data[start:] = bytes(len(data) - start)
        (tmp_path / "bad.glb").write_bytes(data)
        with pytest.raises(AkdError) as refusal:
            read_gltf(tmp_path / "bad.glb")
        assert "\n" not in str(refusal.value)
