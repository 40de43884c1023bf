"""Static meshes: counts as in the file, colours where the file has them, one sentence where it is broken."""

from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from akd.errors import AkdError
from akd.files.meshes import read_mesh, read_obj, write_obj
from akd.mesh import Mesh, isosurface

SQUARE = """mtllib square.mtl
o left
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0.25 0.25
vt 0.75 0.25
vt 0.75 0.75
vt 0.25 0.75
usemtl photo
f 1/1 2/2 3/3 4/4
o right
v 2 0 0
v 2 1 0
usemtl plain
f 2 -2 \\
  -1 3 # a quad across a line break, two of its corners counted backwards
"""
MATERIALS = "newmtl photo\nKd 0 0 0\nmap_Kd -s 1 1 1 photo.png\nnewmtl plain\nKd 0.1 0.2 0.3\n"


def write_square(folder: Path, *, materials: str = MATERIALS) -> Path:
    """Two squares side by side; the first shows the four quarters of a picture."""
    pixels = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], np.uint8)
    Image.fromarray(pixels).save(folder / "photo.png")
    (folder / "square.mtl").write_text(materials)
    (folder / "square.obj").write_text(SQUARE)
    return folder / "square.obj"


def test_obj_with_materials_and_a_picture(tmp_path: Path) -> None:
    mesh = read_mesh(write_square(tmp_path)).mesh
    # Rows 0–5 are the v lines; vertices 2 and 3 also occur without a texture coordinate and are repeated for that.
    assert mesh.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [2, 1, 0], [1, 0, 0], [1, 1, 0]]
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [6, 4, 5], [6, 5, 7]]
    assert [mesh.materials[i].name for i in mesh.face_material] == ["photo", "photo", "plain", "plain"]
    assert mesh.colors[:4].tolist() == [[0, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 0]]  # bottom row of the picture at the bottom
    assert np.allclose(mesh.colors[4:], [0.1, 0.2, 0.3])
    assert mesh.uv is not None
    assert mesh.uv[0].tolist() == [0.25, 0.75]


def test_obj_agrees_with_trimesh(assets: Path) -> None:
    """The same triangles in space as another reader finds, whatever the order."""
    mesh = read_mesh(assets / "static_spot" / "spot.obj").mesh
    other = trimesh.load(assets / "static_spot" / "spot.obj", process=False, force="mesh")
    ours, theirs = mesh.vertices[mesh.faces].reshape(-1, 9), other.vertices[other.faces].reshape(-1, 9)
    assert np.allclose(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])


def test_pictures_and_materials_are_only_taken_from_the_folder(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    Image.new("RGB", (2, 2), (9, 9, 9)).save(tmp_path / "secret.png")
    rig = read_mesh(write_square(inner, materials=MATERIALS.replace("-s 1 1 1 photo.png", "../secret.png")))
    assert rig.mesh.materials[0].texture is None
    assert "secret.png" in rig.notes[0]
    rig = read_mesh(write_square(inner, materials=MATERIALS.replace("-s 1 1 1 photo.png", "C:\\work\\photo.png")))
    assert rig.mesh.materials[0].texture is not None  # an artist's own path: the picture itself lies beside the file
    (inner / "square.mtl").unlink()
    rig = read_mesh(inner / "square.obj")
    assert "square.mtl" in rig.notes[0]
    assert np.allclose(rig.mesh.colors, 0.7)


@pytest.mark.parametrize("suffix", ["obj", "ply", "off"])
def test_vertex_colours(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(0)
    mesh = Mesh(rng.normal(size=(5, 3)), np.array([[0, 1, 2], [2, 3, 4]]), rng.integers(0, 256, (5, 3)) / 255)
    path = tmp_path / f"five.{suffix}"
    if suffix == "obj":
        write_obj(path, mesh)
    else:
        rgba = np.concatenate((np.round(mesh.colors * 255), np.full((5, 1), 255)), 1).astype(np.uint8)
        trimesh.Trimesh(mesh.vertices, mesh.faces, vertex_colors=rgba, process=False).export(path)
    back = read_mesh(path).mesh
    assert np.allclose(back.vertices, mesh.vertices, atol=1e-5)
    assert back.faces.tolist() == mesh.faces.tolist()
    if suffix != "off":  # trimesh writes no colours to OFF
        assert np.allclose(back.colors, mesh.colors, atol=2e-4)


def test_real_meshes_keep_their_counts(assets: Path) -> None:
    """Vertices and triangles as counted in the files themselves."""
    counts = {
        "pinocchio_data/13_low_w.ply": (7219, 14434), "pinocchio_data/chebu.off": (6669, 13334),
        "dm_control_skins/SKINbody.stl": (101700, 33900), "static_spot/spot.obj": (3225, 5856),
    }
    for name, count in counts.items():
        rig = read_mesh(assets / name)
        assert (rig.mesh.vertex_count, len(rig.mesh.faces)) == count
        assert rig.weights.shape == (count[0], 0)
        assert np.allclose(rig.mesh.colors, 0.7)


def test_guides_are_noted(tmp_path: Path) -> None:
    """MakeHuman's base mesh keeps boxes around joints in groups of the same file."""
    (tmp_path / "base.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\ng body\nf 1 2 3\ng joint-l-eye\nf 3 2 1\n")
    assert any("1 of 2 groups" in note for note in read_mesh(tmp_path / "base.obj").notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no vertices"), ("v 0 0 0\n", "no faces"), ("v 0 0\n", "line 1"), ("v 0 0 nan\n", "finite"), ("v 0 0 x\n", "line 1"),
        ("v 0 0 0\nv 1 0 0\nf 1 2\n", "three corners"), ("v 0 0 0\nf 1 2 3\n", "refers to line 2 of 1"),
        ("v 0 0 0\nf 1 -2 1\n", "refers to line -2"), ("v 0 0 0\nf 0 1 1\n", "refers to line 0"),
        ("v 0 0 0\nf 1/7 1 1\n", "line 7 of 0"),
    ],
)
def test_broken_obj_names_the_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "broken.obj"
    path.write_text(text)
    with pytest.raises(AkdError, match=words):
        read_mesh(path)


def test_what_is_not_a_mesh(tmp_path: Path, assets: Path) -> None:
    with pytest.raises(AkdError, match="holds Gaussian splats"):
        read_mesh(assets / "gs_guitar" / "guitar.ply")
    with pytest.raises(AkdError, match="kinds are"):
        read_mesh(tmp_path / "scene.3ds")
    with pytest.raises(AkdError, match="cannot be read"):
        read_mesh(tmp_path / "nowhere.stl")
    trimesh.PointCloud(np.eye(3)).export(tmp_path / "points.ply")
    with pytest.raises(AkdError, match="no faces"):
        read_mesh(tmp_path / "points.ply")


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl", "off"])
def test_damaged_files_end_in_a_mesh_or_an_error(tmp_path: Path, suffix: str) -> None:
    rng, meshes = np.random.default_rng(0), 0
    good = tmp_path / f"good.{suffix}"
    trimesh.creation.icosahedron().export(good)
    path = tmp_path / f"damaged.{suffix}"
    for _ in range(200):
        content = bytearray(good.read_bytes())
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            content[place] = rng.integers(0, 256) if rng.random() < 0.1 else content[rng.integers(0, len(content))]
        path.write_bytes(bytes(content[: rng.integers(1, 3 * len(content))]))
        try:
            mesh = read_mesh(path).mesh
        except AkdError:
            continue
        meshes += 1
        assert mesh.faces.max() < mesh.vertex_count
    assert meshes > 10


def test_obj_keeps_the_order_of_its_v_lines(assets: Path) -> None:
    path = assets / "static_spot" / "spot.obj"
    written = np.array([line.split()[1:4] for line in path.read_text().splitlines() if line.startswith("v ")], float)
    obj = read_obj(path)
    assert np.array_equal(obj.mesh.vertices[: len(written)], written)
    assert np.array_equal(obj.mesh.vertices, written[obj.line_of_vertex])


def test_an_isosurface_is_closed_and_faces_outwards() -> None:
    x, y, z = np.mgrid[-5:6, -6:7, -7:8]
    vertices, faces = isosurface(np.sqrt(x**2 + y**2 + z**2) - 0.25, 3.0)
    ball = trimesh.Trimesh(vertices, faces, process=False)
    assert ball.is_watertight
    assert ball.volume == pytest.approx(4 / 3 * np.pi * 3.25**3, rel=0.08)  # chords of three cells lie inside the ball
    np.testing.assert_allclose(vertices.mean(0), (5, 6, 7), atol=1e-9)


def test_what_nearly_touches_stays_apart() -> None:
    """Two nodes inside at opposite corners of a square are two bodies: a leg is not welded to its neighbour."""
    values = np.ones((4, 4, 4))
    values[1, 1, 1] = values[2, 2, 1] = -1.0
    bodies = trimesh.Trimesh(*isosurface(values), process=False)
    assert bodies.body_count == 2
    assert bodies.is_watertight
    assert bodies.volume > 0
