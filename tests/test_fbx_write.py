"""FBX written by us and read by ufbx: the same bones, rest pose, mesh, pictures and motion."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import akd
from akd.files.fbx import read_fbx
from akd.files.fbx_curves import ORDERS, euler_angles, from_degrees, rotation_order
from akd.files.fbx_surface import merged_points
from akd.files.fbx_write import encode_fbx, write_fbx
from written_scenes import assert_same, box_scene, real_scene

needs_ufbx = pytest.mark.skipif(importlib.util.find_spec("ufbx") is None, reason="the extra 'fbx' is not installed")


@needs_ufbx
def test_a_rig_of_ours_comes_back(tmp_path: Path) -> None:
    scene = box_scene()
    write_fbx(tmp_path / "box.fbx", scene)
    back = read_fbx(tmp_path / "box.fbx")
    assert_same(scene, back)
    assert [clip.name for clip in back.clips] == ["a walk.001", "run"]


@needs_ufbx
@pytest.mark.parametrize(
    ("file", "clip"), [("fox_khronos/Fox.glb", "Walk"), ("q_wolf/Wolf.glb", "Walk"), ("kenney_platformer/character.glb", "walk")]
)
def test_an_artists_rig_comes_back(assets: Path, tmp_path: Path, file: str, clip: str) -> None:
    """A texture and units of a centimetre; dots in names and an armature scaled by 100; several roots and no skin."""
    scene = real_scene(assets / file, clip)
    write_fbx(tmp_path / "out.fbx", scene)
    back = read_fbx(tmp_path / "out.fbx")
    assert_same(scene, back)
    assert len(back.mesh.faces) == len(scene.mesh.faces)
    ours = {material.name: material for material in scene.mesh.materials}
    for material in back.mesh.materials:
        assert np.allclose(material.color, ours[material.name].color, atol=0.01)
        if ours[material.name].texture is not None:
            assert np.array_equal(material.texture, ours[material.name].texture)
    assert np.abs(back.mesh.colors.mean(0) - scene.mesh.colors.mean(0)).max() < 0.05


@needs_ufbx
def test_a_skeleton_without_a_mesh(tmp_path: Path) -> None:
    scene = box_scene()
    empty = np.zeros((0, len(scene.bones)))
    bare = replace(scene, mesh=akd.Mesh(np.zeros((0, 3)), np.zeros((0, 3), int), np.zeros((0, 3))), weights=empty)
    write_fbx(tmp_path / "bare.fbx", bare)
    back = read_fbx(tmp_path / "bare.fbx")
    assert back.names == scene.bones
    assert np.allclose(back.rest[:, :3, 3], scene.rest[:, :3, 3], atol=1e-6)


def test_the_same_scene_gives_the_same_bytes() -> None:
    assert encode_fbx(box_scene()) == encode_fbx(box_scene())


@pytest.mark.parametrize("order", range(6))
def test_euler_angles_are_continuous_and_exact(order: int) -> None:
    """Through three turns about a tilted axis, past both locks."""
    way = Rotation.from_rotvec(np.linspace(0, 6 * np.pi, 400)[:, None] * np.array([0.2, 0.9, 0.38]) / 1.0)
    rest = Rotation.from_euler("xyz", (20, -70, 110), degrees=True)
    angles = euler_angles(rest.as_quat(), (rest * way).as_quat(), order)
    again = rest * from_degrees(angles, order)
    assert (again.inv() * rest * way).magnitude().max() < 1e-6
    assert np.abs(np.diff(angles, axis=0)).max() < 90


@pytest.mark.parametrize("axis", "xyz")
def test_a_knee_that_bends_past_the_lock_gets_another_order(axis: str) -> None:
    """Its own angle is one curve then, and the two others stay where they are."""
    rest = Rotation.from_euler("xyz", (20, -70, 110), degrees=True)
    turn = Rotation.from_euler(axis, np.linspace(0, 140, 50)[:, None], degrees=True)
    order = rotation_order(rest.as_quat(), [(rest * turn).as_quat()])
    assert ORDERS[order][1] != axis
    angles = euler_angles(rest.as_quat(), (rest * turn).as_quat(), order)
    assert np.ptp(angles, axis=0)["xyz".index(axis)] == pytest.approx(140)
    assert np.delete(np.ptp(angles, axis=0), "xyz".index(axis)).max() < 1e-6


def test_vertices_merge_only_where_place_and_weights_are_the_same() -> None:
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]])
    weights = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1], [1, 0]])
    points = merged_points(vertices, weights)
    assert points.vertex_of_point.tolist() == [0, 1, 3]
    assert points.point_of_vertex.tolist() == [0, 1, 0, 2, 1]
