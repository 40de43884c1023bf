"""A new glTF file says what the rig says and moves as the motion does."""

from pathlib import Path

import numpy as np
import pytest
import torch

from akd.files.gltf.read import read_gltf
from akd.files.gltf.write_rig import strongest_influences, to_linear, write_rig, written_normals
from akd.mesh import Material, Mesh
from akd.rig import FileRig, Rig
from akd.skeleton import forward_kinematics
from akd.splats import skin_points
from gltf_samples import biped, faults, glb_parts, needs_validator, stroll

STAGE_FROM_GLTF = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])


def test_what_a_new_file_says_is_what_the_rig_says(tmp_path: Path) -> None:
    rig, motion = biped(), stroll()
    write_rig(rig, {"stroll": motion}, tmp_path / "biped.glb")
    file = read_gltf(tmp_path / "biped.glb")
    order = _bones(file, rig)
    assert sorted(file.names) == sorted(rig.skeleton.names)
    assert [file.names[p] for p in file.parents[order][1:]] == [rig.skeleton.names[p] for p in rig.skeleton.parents[1:]]
    rest = file.rest[order]
    np.testing.assert_allclose(_on_stage(rest[:, :3, 3], rig), rig.skeleton.positions, atol=1e-6)
    np.testing.assert_allclose(_on_stage(file.mesh.vertices, rig), rig.mesh.vertices, atol=1e-6)
    np.testing.assert_allclose(file.weights[:, order], rig.weights, atol=1e-6)
    np.testing.assert_allclose(file.mesh.colors, rig.mesh.colors, atol=1e-5)
    np.testing.assert_array_equal(file.mesh.faces, rig.mesh.faces)
    along = STAGE_FROM_GLTF @ rest[1:, :3, 1, None]
    np.testing.assert_allclose(along[..., 0], rig.skeleton.frames[1:, :, 0], atol=1e-6, err_msg="bones point along +Y")


def test_a_new_file_moves_as_the_motion_does(tmp_path: Path) -> None:
    rig, motion = biped(), stroll()
    write_rig(rig, {"stroll": motion, "again": motion}, tmp_path / "biped.glb")
    file = read_gltf(tmp_path / "biped.glb")
    assert [clip.name for clip in file.clips] == ["stroll", "again"]
    assert file.clips[0].duration == pytest.approx(motion.duration)
    world = file.sample("again", np.arange(motion.frame_count) / motion.fps)
    posed = forward_kinematics(rig.skeleton, motion.pose.to(torch.float64))
    np.testing.assert_allclose(_on_stage(world[:, _bones(file, rig)][..., :3, 3], rig), posed.position.numpy(), atol=1e-5)
    points = np.c_[file.mesh.vertices, np.ones(file.mesh.vertex_count)]
    theirs = np.einsum("vb,fbij,vj->fvi", file.weights, world @ np.linalg.inv(file.rest), points)[..., :3]
    ours = skin_points(rig.skeleton, posed, torch.as_tensor(rig.weights), torch.as_tensor(rig.mesh.vertices))
    np.testing.assert_allclose(_on_stage(theirs, rig), ours.numpy(), atol=1e-5)


def test_the_file_knows_limbs(tmp_path: Path) -> None:
    rig = biped()
    write_rig(rig, {}, tmp_path / "biped.glb")
    content = glb_parts((tmp_path / "biped.glb").read_bytes())[0]
    known = content["skins"][0]["extras"]["akd"]
    assert known["limbs"][1] == {"kind": "leg", "side": "R", "order": 0, "joints": ["leg_R"], "tip": "leg_R"}
    assert known["leg_metres"] == rig.leg_metres
    assert known["mirror"]["arm_L"] == "arm_R"
    assert known["tails"]["leg_L"] == [0, 0, -0.15]
    assert "animations" not in content


def test_textures_are_written_per_material(tmp_path: Path) -> None:
    rig = biped()
    picture = np.random.default_rng(1).integers(0, 255, (4, 8, 3), dtype=np.uint8)
    materials = (Material("plain", np.array([0.2, 0.5, 0.7])), Material("fur", np.array([1.0, 0.5, 1.0]), picture))
    face_material = np.arange(len(rig.mesh.faces)) % 2
    uv = np.random.default_rng(2).random((rig.mesh.vertex_count, 2))
    mesh = Mesh(rig.mesh.vertices, rig.mesh.faces, rig.mesh.colors, uv, materials, face_material)
    write_rig(Rig(mesh, rig.skeleton, rig.weights), {}, tmp_path / "fur.glb")
    plain, fur = glb_parts((tmp_path / "fur.glb").read_bytes())[0]["meshes"][0]["primitives"]
    assert "COLOR_0" in plain["attributes"]
    assert "COLOR_0" not in fur["attributes"], "the picture is in the vertex colours already"
    found = read_gltf(tmp_path / "fur.glb").mesh
    textured = next(material for material in found.materials if material.texture is not None)
    np.testing.assert_array_equal(textured.texture, picture)
    np.testing.assert_allclose(textured.color, (1, 0.5, 1), atol=1e-5)


def test_colours_become_light() -> None:
    np.testing.assert_allclose(to_linear(np.array([0.0, 0.5, 1.0])), (0, 0.21404, 1), atol=1e-5)


def test_the_four_strongest_joints_share_all_the_weight() -> None:
    weights = np.random.default_rng(0).dirichlet(np.full(9, 0.4), 100)
    joints, strongest = strongest_influences(weights)
    np.testing.assert_allclose(strongest.sum(1), 1)
    lost = 1 - np.take_along_axis(weights, joints.astype(int), 1).sum(1)
    np.testing.assert_allclose(strongest * (1 - lost)[:, None], np.sort(weights, 1)[:, :-5:-1], atol=1e-5)


def test_normals_point_outward() -> None:
    mesh = biped().mesh
    centre = mesh.vertices.reshape(-1, 8, 3).mean(1).repeat(8, 0)
    normals = written_normals(mesh)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1)
    assert np.all((normals * (mesh.vertices - centre)).sum(1) > 0)


@needs_validator
def test_the_khronos_validator_finds_no_fault(tmp_path: Path) -> None:
    write_rig(biped(), {"stroll": stroll()}, tmp_path / "new.glb")
    assert faults([tmp_path / "new.glb"]) == [set()]


def _bones(file: FileRig, rig: Rig) -> list[int]:
    """The file's bone of each joint."""
    return [file.names.index(name) for name in rig.skeleton.names]


def _on_stage(points: np.ndarray, rig: Rig) -> np.ndarray:
    return points @ STAGE_FROM_GLTF.T / rig.leg_metres
