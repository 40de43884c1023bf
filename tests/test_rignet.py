"""RigNet text: write then read is the identity; bad lines are named."""

from pathlib import Path

import numpy as np
import pytest

from akd.errors import AkdError
from akd.files.rignet import read_rignet, write_rignet
from akd.mesh import Mesh
from akd.rig import Rig
from akd.skeleton import Skeleton

SMALL = """joints tip 0 2 0
joints hip 0 1 0
root hip
hier hip tip
skin 0 hip 1.0
skin 1 hip 0.5 tip 0.5
skin 2 tip 2.0
"""
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def small_rig(folder: Path, text: str = SMALL) -> Path:
    (folder / "small.obj").write_text(TRIANGLE)
    (folder / "small.txt").write_text(text)
    return folder / "small.txt"


def test_write_then_read_is_the_identity(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    skeleton = Skeleton.from_joints(("a b", "c", "d"), np.array([-1, 0, 0]), rng.normal(size=(3, 3)))
    weights = rng.dirichlet(np.ones(3), 6) * (rng.random((6, 3)) > 0.3) + np.eye(3)[[0, 1, 2, 0, 1, 2]] * 1e-3
    weights /= weights.sum(1, keepdims=True)
    mesh = Mesh(rng.normal(size=(6, 3)), np.array([[0, 1, 2], [3, 4, 5]]), rng.random((6, 3)))
    write_rignet(tmp_path / "rig.txt", Rig(mesh, skeleton, weights))
    back = read_rignet(tmp_path / "rig.txt")
    assert back.names == ("a_b", "c", "d")
    assert back.parents.tolist() == [-1, 0, 0]
    assert np.allclose(back.rest[:, :3, 3], skeleton.positions, atol=1e-7)
    assert np.allclose(back.weights, weights, atol=1e-5)
    assert np.allclose(back.mesh.vertices, mesh.vertices, atol=1e-7)
    assert back.mesh.faces.tolist() == mesh.faces.tolist()


def test_small_file_by_hand(tmp_path: Path) -> None:
    rig = read_rignet(small_rig(tmp_path))
    assert rig.names == ("hip", "tip")  # parents first, although the file has the child first
    assert rig.parents.tolist() == [-1, 0]
    assert rig.weights.tolist() == [[1, 0], [0.5, 0.5], [0, 1]]
    (tmp_path / "small.obj").unlink()
    bare = read_rignet(tmp_path / "small.txt")
    assert bare.weights.shape == (0, 2)
    assert "no mesh" in bare.notes[0]
    (tmp_path / "other.obj").write_text(TRIANGLE)
    assert read_rignet(tmp_path / "small.txt", tmp_path / "other.obj").mesh.vertex_count == 3


def test_vertices_split_at_a_seam_keep_the_weights_of_their_line(tmp_path: Path) -> None:
    path = small_rig(tmp_path)
    (tmp_path / "small.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 1\nf 1/1 2/1 3/1\nf 1/2 3/2 2/2\n")
    rig = read_rignet(path)
    assert rig.mesh.vertex_count == 6
    assert np.array_equal(rig.weights[3:], rig.weights[:3][[0, 2, 1]])


def test_vertices_without_weights_are_noted(tmp_path: Path) -> None:
    rig = read_rignet(small_rig(tmp_path, SMALL.replace("skin 0 hip 1.0\n", "")))
    assert rig.weights[0].tolist() == [0, 0]
    assert "1 of 3 vertices" in rig.notes[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("joints hip 0 1 0", "joints hip 0 1"), "line 2"), (("0 1 0\n", "0 inf 0\n"), "finite"),
        (("hip tip", "tip tip"), "loop"),
        (("root hip", "root hop"), "'hop'"), (("root hip", "root tip"), "has a parent"), (("skin 2", "skin 3"), "vertex 3"),
        (("skin 2", "skin -1"), "vertex -1"), (("skin 2", "skin x"), "line 7"), (("tip 2.0", "top 2.0"), "'top'"),
        (("tip 2.0", "tip -2.0"), "cannot be"), (("tip 2.0", "tip"), "not understood"), (("joints hip", "joints tip"), "twice"),
        (("0 1 0\n", "0 1e300 0\n"), "beyond"), (("tip 2.0", "tip 1e300"), "beyond"),
        (("root hip", "hier tip hip\nhier hip hip"), "two parents"), (("root hip", "hier tip hip"), "loop"),
    ],
)
def test_errors_are_named(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    assert change[0] in SMALL
    with pytest.raises(AkdError, match=words):
        read_rignet(small_rig(tmp_path, SMALL.replace(*change, 1)))


def test_damaged_files_end_in_a_rig_or_an_error(tmp_path: Path) -> None:
    rng, rigs = np.random.default_rng(0), 0
    small_rig(tmp_path)
    for _ in range(300):
        content = bytearray(SMALL.encode())
        for place in rng.integers(0, len(content), rng.integers(1, 3)):
            content[place] = content[rng.integers(0, len(content))] if rng.random() < 0.9 else rng.integers(0, 256)
        (tmp_path / "small.txt").write_bytes(bytes(content[: rng.integers(1, 3 * len(content))]))
        try:
            rig = read_rignet(tmp_path / "small.txt")
        except AkdError:
            continue
        rigs += 1
        assert np.all(rig.parents < np.arange(len(rig.names)))
        assert np.all(np.isfinite(rig.weights))
    assert rigs > 20
