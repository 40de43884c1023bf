"""A skeleton from nothing but a mesh, against creatures whose own is known."""

import itertools
import json
from dataclasses import replace

import igl
import numpy as np
import pytest
from scipy import ndimage
from scipy.spatial import ConvexHull

from akd.assets import load_rig, read_file
from akd.creatures.build import creature
from akd.errors import AkdError
from akd.files.gltf.write_rig import write_rig
from akd.files.meshes import write_obj
from akd.files.rignet import write_rignet
from akd.files.skeleton_json import read_skeleton_json
from akd.measure.rigging import containment, skeleton_errors
from akd.mesh import Mesh
from akd.render.sheets import rig_sheet
from akd.rigging.joints import fit_polyline
from akd.rigging.mesh_rig import find_skeleton, rig_mesh
from akd.rigging.rig_file import rig_file
from akd.rigging.surface import weld
from akd.rigging.volume import shortest_paths, skeleton_branches, solid_volume
from akd.skeleton import Skeleton

KINDS = ("leg", "arm", "tail")


def counts(skeleton: Skeleton) -> dict[str, int]:
    return {kind: len(skeleton.limbs_of(kind)) for kind in KINDS}  # type: ignore[arg-type]


def in_file(rig) -> Skeleton:
    """A rig's skeleton where its mesh was."""
    back = rig.origin.T_file_stage
    positions = rig.skeleton.positions @ back[:3, :3].T + back[:3, 3]
    return Skeleton.from_joints(rig.skeleton.names, rig.skeleton.parents, positions)


@pytest.mark.parametrize("plan", ["human", "dog", "tyrannosaur", "crocodile"])
def test_limbs_facing_and_places_are_those_of_the_creature(plan: str) -> None:
    truth = creature(plan, 3)
    found = rig_mesh(truth.mesh)
    assert counts(found.skeleton) == counts(truth.skeleton)
    assert 15 <= found.skeleton.joint_count <= 60
    ahead = found.origin.T_file_stage[:3, 0]
    assert ahead[0] > 0.95 * np.linalg.norm(ahead)
    assert skeleton_errors(in_file(found), truth.skeleton, truth.mesh.vertices).bone_bone < 0.03
    np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-6)


def test_skeletons_are_mirror_symmetric_and_sides_are_named() -> None:
    skeleton = rig_mesh(creature("dog", 3).mesh).skeleton
    np.testing.assert_allclose(skeleton.positions[skeleton.mirror], skeleton.positions * (1, 1, -1), atol=0.01)
    for joint, name in enumerate(skeleton.names):
        if "left" in name or "right" in name:
            assert (skeleton.positions[joint, 2] > 0) == ("right" in name), name
    fronts = [skeleton.positions[skeleton.index(f"left_{end}_leg_ankle"), 0] for end in ("front", "hind")]
    assert fronts[0] > fronts[1]


@pytest.mark.parametrize(("plan", "tails"), [("ostrich", 1), ("chick", 1), ("astronaut", 0)])
def test_what_sticks_out_behind_is_a_tail_unless_the_trunk_stands(plan: str, tails: int) -> None:
    """An ostrich's neck stands, its trunk lies; three broad toes are not three pairs of legs; an astronaut has a pack."""
    limbs = find_skeleton(creature(plan, 20002).mesh)[0].limbs
    assert sum(limb.kind == "tail" for limb in limbs) == tails
    assert sum(limb.kind == "leg" for limb in limbs) == 2


def test_folds_of_a_thigh_are_no_arms(assets) -> None:
    limbs = find_skeleton(load_rig(assets / "rigged_figure" / "RiggedFigure.glb").mesh)[0].limbs
    assert sorted(limb.kind for limb in limbs if limb.side != "C") == ["arm", "arm", "leg", "leg"]


def test_the_usual_facing_counts_only_where_the_shape_leaves_doubt() -> None:
    """A dog shows its front whatever the format says; a cross on two posts does not."""
    dog = creature("dog", 5).mesh
    assert find_skeleton(dog, default_forward=np.array([-1.0, 0, 0]))[1][0] > 0.95
    boxes = [((0, 1, 0), (0.3, 1.2, 0.5)), ((0, 1.3, 0), (0.2, 0.2, 2.4))]
    boxes += [((0, 0.3, side), (0.2, 0.9, 0.2)) for side in (-0.2, 0.2)]
    signs = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
    vertices = np.concatenate([np.array(centre) + signs * sides for centre, sides in boxes])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    hull = [corners for a, b, c, d in quads for corners in ((a, b, c), (a, c, d))]
    mesh = Mesh(vertices, np.concatenate([np.array(hull) + 8 * i for i in range(4)]), np.full((32, 3), 0.5))
    for sign in (1.0, -1.0):
        assert sign * find_skeleton(mesh, default_forward=np.array([sign, 0, 0]))[1][0] > 0.95


def test_the_mesh_may_face_anywhere() -> None:
    truth = creature("dog", 5)
    c, s = np.cos(2.0), np.sin(2.0)
    turn = np.eye(4)
    turn[:3, :3] = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    found = rig_mesh(truth.mesh.transformed(turn))
    assert counts(found.skeleton) == counts(truth.skeleton)
    ahead = found.origin.T_file_stage[:3, 0]
    assert ahead @ turn[:3, 0] > 0.95 * np.linalg.norm(ahead)


def test_a_template_takes_the_limbs_that_the_shape_shows_in_their_order_along_the_trunk() -> None:
    """To who says that a dog is a biped, its front legs are arms, and the hips stay behind."""
    mesh = creature("dog", 3).mesh
    joints, ahead, notes = find_skeleton(mesh, template="biped")
    assert [limb.kind for limb in joints.limbs if limb.kind in KINDS] == ["tail", "leg", "leg", "arm", "arm"]
    ankle, wrist, hips, head = (
        joints.positions[joints.names.index(name)] @ ahead for name in ("left_leg_ankle", "left_arm_wrist", "hips", "head")
    )
    assert max(ankle, hips) < wrist < head
    assert not any("template" in note for note in notes)


def test_what_is_held_in_one_hand_has_no_say() -> None:
    """A human with a sword as long as itself gets the bones of a human."""
    bare = creature("human", 3)
    hand = bare.mesh.vertices[np.argmax(bare.mesh.vertices[:, 2])]
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, 3),) * 3), -1).reshape(-1, 3) * (1.0, 0.05, 0.05) + hand + (0.9, 0, 0)
    faces = len(bare.mesh.vertices) + ConvexHull(grid).simplices
    vertices = np.concatenate((bare.mesh.vertices, grid))
    armed = Mesh(vertices, np.concatenate((bare.mesh.faces, faces)), np.ones_like(vertices))
    skeletons = [find_skeleton(mesh) for mesh in (bare.mesh, armed)]
    np.testing.assert_allclose(skeletons[1][0].positions, skeletons[0][0].positions, atol=1e-9)
    assert any("mirror image" in note for note in skeletons[1][2])


def test_guessed_limbs_keep_clear_of_others() -> None:
    mesh = creature("dog", 3).mesh
    joints, *_ = find_skeleton(mesh, template="insect")
    legs = [limb for limb in joints.limbs if limb.kind == "leg" and limb.side == "R"]
    ends = np.array([joints.positions[leg.joints[-1]] for leg in legs])
    apart = np.linalg.norm(ends[:, None] - ends, axis=-1)[np.triu_indices(3, 1)]
    assert apart.min() > 0.05 * np.ptp(mesh.vertices, axis=0).max()


@pytest.mark.parametrize(("plan", "kind"), [("human", "arm"), ("chick", "wing")])
def test_arms_are_told_from_wings(plan: str, kind: str) -> None:
    joints, *_ = find_skeleton(creature(plan, 3).mesh)
    assert [limb.kind for limb in joints.limbs if limb.kind in ("arm", "wing")] == [kind] * 2


def test_ears_above_arms_do_not_make_them_wings(assets) -> None:
    """They are nearer to the arms than to anything else, but through the air."""
    joints, *_ = find_skeleton(read_file(assets / "pinocchio_data" / "chebu.off").mesh)
    assert sorted(limb.kind for limb in joints.limbs if limb.side != "C") == ["arm", "arm", "leg", "leg"]


def test_a_template_says_which_limbs_there_are() -> None:
    """A tyrannosaur's arms are front legs to who says so; legs that a body does not have are placed all the same."""
    mesh = creature("tyrannosaur", 3).mesh
    as_dog = rig_mesh(mesh, template="quadruped").skeleton
    assert counts(as_dog)["leg"] == 4
    assert counts(as_dog)["arm"] == 0
    as_ant, _, notes = find_skeleton(mesh, template="insect")
    assert sum(limb.kind == "leg" for limb in as_ant.limbs) == 6
    assert any("pairs of legs" in note for note in notes)
    with pytest.raises(AkdError, match="templates are"):
        rig_mesh(mesh, template="centipede")


@pytest.mark.parametrize("plan", ["human", "dog", "beetle", "cow"])
def test_what_grows_on_a_head_is_no_arm(plan: str) -> None:
    truth = creature(plan, 11)
    found, ahead, _ = find_skeleton(truth.mesh)
    kinds = [sorted(limb.kind for limb in limbs if limb.kind in KINDS) for limbs in (found.limbs, truth.skeleton.limbs)]
    assert kinds[0] == kinds[1]
    assert ahead[0] > 0.95


def test_bones_of_thin_bent_legs_stay_in_the_flesh() -> None:
    mesh = creature("spider", 5).mesh
    joints, *_ = find_skeleton(mesh)
    skeleton = Skeleton.from_joints(tuple(joints.names), np.array(joints.parents), np.array(joints.positions))
    surface = weld(mesh)
    inside = lambda points: np.abs(igl.fast_winding_number(surface.points, surface.faces, points)) > 0.5  # noqa: E731
    assert containment(skeleton, mesh.vertices, inside) > 0.95


def test_every_joint_has_a_limb_and_limbs_come_in_pairs() -> None:
    skeleton = rig_mesh(creature("dog", 3).mesh).skeleton
    assert sorted(j for limb in skeleton.limbs for j in limb.joints) == list(range(skeleton.joint_count))
    for left, right in itertools.pairwise(skeleton.limbs_of("leg")):
        if left.order == right.order:
            assert [int(skeleton.mirror[j]) for j in left.joints] == list(right.joints)


def test_joints_sit_at_the_bends_of_a_line() -> None:
    corners = np.array([(0.0, 0, 0), (0, -1, 0.4), (0, -1.6, -0.2), (0, -1.7, 0.3)])
    line = np.concatenate([np.linspace(a, b, 20, endpoint=False) for a, b in itertools.pairwise(corners)] + [corners[-1:]])
    assert np.linalg.norm(fit_polyline(line) - corners, axis=1).max() < 0.15


def test_the_inside_found_by_blocks_is_that_of_every_voxel() -> None:
    """Also of a body without feet, whose winding number fades where the skin is missing."""
    surface = weld(creature("dog", 3).mesh)
    open_ = replace(surface, faces=surface.faces[surface.points[surface.faces, 1].min(1) > 0.3])
    volume = solid_volume(open_, 48)
    low = open_.points.min(0) - 1.5 * volume.step
    shape = np.ceil((open_.points.max(0) + 1.5 * volume.step - low) / volume.step).astype(int)
    every = low + volume.step * (np.indices(shape).reshape(3, -1).T + 0.5)
    inside = (np.abs(igl.fast_winding_number(open_.points, open_.faces, every)) > 0.5).reshape(shape)
    found = np.zeros(shape, bool)
    found[tuple(volume.cells.T)] = True
    names, _ = ndimage.label(inside, np.ones((3, 3, 3)))
    np.testing.assert_array_equal(found, names == 1 + np.argmax(np.bincount(names.ravel())[1:]))


def test_lines_lead_through_the_flesh_to_every_tip() -> None:
    lines = skeleton_branches(shortest_paths(volume := solid_volume(weld(creature("dog", 0).mesh))))
    assert len(lines) >= 6
    for line in lines:
        assert (line.depth >= volume.step).all()
        np.testing.assert_array_equal(line.points[0], lines[0].points[0])


def test_static_file_to_rig_and_glb(tmp_path) -> None:
    write_obj(tmp_path / "dog.obj", creature("dog", 3).mesh)
    rig = rig_file(tmp_path / "dog.obj")
    write_rig(rig, {}, tmp_path / "dog.glb")
    again = load_rig(tmp_path / "dog.glb")
    assert again.skeleton.names[0] == "hips"
    assert len(again.legs) == 4


def test_a_given_skeleton_is_used_and_must_fit(tmp_path) -> None:
    truth = creature("human", 1)
    write_rignet(tmp_path / "bones.txt", truth)
    write_obj(tmp_path / "body.obj", truth.mesh)
    rig = rig_file(tmp_path / "body.obj", skeleton=tmp_path / "bones.txt")
    assert set(rig.skeleton.names) <= set(truth.skeleton.names)
    write_obj(tmp_path / "large.obj", truth.mesh.transformed(np.diag([100.0, 100, 100, 1])))
    with pytest.raises(AkdError, match="does not fit"):
        rig_file(tmp_path / "large.obj", skeleton=tmp_path / "bones.txt")


def test_a_skeleton_may_be_json(tmp_path) -> None:
    truth = creature("human", 1)
    names, parents = truth.skeleton.names, truth.skeleton.parents
    joints = [
        {"name": name, "parent": names[above] if above >= 0 else None, "position": place.tolist()}
        for name, above, place in zip(names, parents.tolist(), truth.skeleton.positions, strict=True)
    ]
    write_obj(tmp_path / "body.obj", truth.mesh)
    path = tmp_path / "bones.json"
    path.write_text(json.dumps({"joints": joints[::-1]}))
    assert set(rig_file(tmp_path / "body.obj", skeleton=path).skeleton.names) <= set(names)
    for broken in ('{"joints": []}', '{"joints": [{"name": "a", "position": [0, 1]}]}', "{", '[1]',
                   '{"joints": [{"name": "a", "parent": "b", "position": [0, 1, 0]}]}'):  # fmt: skip
        path.write_text(broken)
        with pytest.raises(AkdError, match=r"^[^\n]*\.$"):
            read_skeleton_json(path)


def test_artists_weights_are_kept_unless_told_otherwise(assets) -> None:
    path = assets / "fox_khronos" / "Fox.glb"
    artist = load_rig(path)
    np.testing.assert_array_equal(rig_file(path).weights, artist.weights)
    ours = rig_file(path, reweight=True)
    for name in ("b_Head_05", "b_Tail03_014"):
        change = ours.weights[:, ours.skeleton.index(name)] - artist.weights[:, artist.skeleton.index(name)]
        assert np.abs(change).max() > 0.05


def test_z_up_is_noticed(assets) -> None:
    rig = rig_file(assets / "dm_control_skins" / "SKINbody.stl")
    assert len(rig.legs) == 4
    assert any("Z axis" in note for note in rig.notes)


@pytest.mark.parametrize("case", ["empty", "triangle", "flat", "ball", "half the faces", "noise", "inside out"])
def test_abuse_gives_a_rig_or_one_sentence(case: str) -> None:
    dog, rng = creature("dog", 0).mesh, np.random.default_rng(0)
    import trimesh

    ball = trimesh.creation.icosphere(2)
    vertices, faces = {
        "empty": (np.zeros((0, 3)), np.zeros((0, 3), int)),
        "triangle": (np.eye(3), np.array([[0, 1, 2]])),
        "flat": (rng.random((40, 3)) * (1, 0, 1), rng.integers(0, 40, (60, 3))),
        "ball": (np.asarray(ball.vertices, float), np.asarray(ball.faces)),
        "half the faces": (dog.vertices, dog.faces[rng.random(len(dog.faces)) < 0.5]),
        "noise": (dog.vertices + 0.01 * rng.normal(size=dog.vertices.shape), dog.faces),
        "inside out": (dog.vertices, dog.faces[:, ::-1]),
    }[case]
    mesh = Mesh(vertices, faces, np.full(vertices.shape, 0.5))
    if case in ("empty", "triangle"):
        with pytest.raises(AkdError, match=r"^[^\n]*\.$"):
            rig_mesh(mesh)
        return
    try:
        rig = rig_mesh(mesh)
    except AkdError:
        assert case not in ("noise", "inside out", "half the faces")
        return
    assert np.isfinite(rig.weights).all()
    assert np.isfinite(rig.skeleton.positions).all()
    if case in ("noise", "inside out"):
        assert len(rig.legs) == 4


def test_a_sheet_shows_three_views() -> None:
    sheet = rig_sheet(creature("dog", 0), 64)
    assert sheet.size == (192, 64)
    assert len(set(sheet.getdata())) > 100
