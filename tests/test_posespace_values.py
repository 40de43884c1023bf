"""Laws of how the pose space writes poses and sees rigs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.creatures.build import creature
from akd.motion import Motion, mirror
from akd.posespace.collision import capsule_depths, capsules_of, flesh_grids, grid_depths, segments_apart
from akd.posespace.representation import (
    KINDS,
    RigDescriptor,
    mirrored,
    pose_to_vectors,
    rig_descriptor,
    vector_matrices,
    vectors_to_pose,
)
from akd.posespace.rig_batch import FEATURES, node_features, pair_codes, posed, rig_batch
from akd.posespace.solving import Chains, right_jacobian
from akd.rig import Rig
from akd.skeleton import Pose, Skeleton, forward_kinematics
from akd.training.held_out import FIRST_HELD_OUT_SEED, HELD_OUT_PLANS, TRAINING_PLANS
from akd.training.poses.augment import STEEP, augmented, rebound, straighter
from akd.training.poses.joints import Posing, bends_of, posing_of, with_collars, with_middles, without
from akd.training.poses.specimens import draw_specimen, lean_rig, read_specimens, sound, write_specimens  # fmt: skip


@pytest.fixture(scope="module")
def rig() -> Rig:
    return lean_rig("dog", 3)


@pytest.fixture
def bends(rig: Rig) -> torch.Tensor:
    torch.manual_seed(0)
    x = 0.5 * torch.randn(5, rig.skeleton.joint_count, 3, dtype=torch.float64)
    x[:, 0, 1] = 0.0  # the tilt has no heading
    return x


def upright(rig: Rig, bends: torch.Tensor) -> Pose:
    return vectors_to_pose(bends, torch.as_tensor(rig.skeleton.positions[0], dtype=bends.dtype))


def reordered(sketch: RigDescriptor, order: np.ndarray) -> RigDescriptor:
    """The same rig with its joints in another order."""
    new = np.argsort(order)
    parents = np.where(sketch.parents[order] < 0, -1, new[np.maximum(sketch.parents[order], 0)])
    rest = {name: getattr(sketch, name)[order] for name in ("positions", "tails", "kind", "order", "radius", "half")}
    return RigDescriptor(parents=parents, mirror=new[sketch.mirror[order]], **rest)


def other_order(sketch: RigDescriptor) -> np.ndarray:
    """By depth instead of limb by limb: parents still come first."""
    return np.lexsort((-np.arange(sketch.joint_count), sketch.depth))


def test_bends_and_poses_are_inverse(rig, bends):
    tilt = pose_to_vectors(upright(rig, bends))
    assert torch.allclose(tilt[:, 1:], bends[:, 1:], atol=1e-9)
    again = pose_to_vectors(upright(rig, tilt))
    assert torch.allclose(again, tilt, atol=1e-9)


def test_heading_and_place_are_no_part_of_bends(rig, bends):
    turned = torch.tensor((np.cos(0.6), 0.0, np.sin(0.6), 0.0))
    away = vectors_to_pose(bends, torch.ones(3, dtype=torch.float64), turned)
    assert torch.allclose(pose_to_vectors(away), pose_to_vectors(upright(rig, bends)), atol=1e-9)


def test_mirror_is_the_mirror_of_motions_and_its_own_inverse(rig, bends):
    seen = mirrored(rig.skeleton, bends)
    by_motion = mirror(rig.skeleton, Motion(upright(rig, bends), 30.0))
    assert torch.allclose(pose_to_vectors(by_motion.pose), pose_to_vectors(upright(rig, seen)), atol=1e-7)
    assert torch.allclose(mirrored(rig.skeleton, seen), bends, atol=1e-9)


def test_kinematics_of_several_rigs_at_once_are_those_of_each(bends):
    rigs = [lean_rig("dog", 3), lean_rig("spider", 1)]
    batch = rig_batch([rig_descriptor(rig) for rig in rigs])
    x = torch.zeros(2, 5, batch.joint_count, 3)
    for number, rig in enumerate(rigs):
        count = rig.skeleton.joint_count
        x[number, :, :count] = 0.5 * torch.randn(5, count, 3)
    rotation, position = posed(batch, x)
    for number, rig in enumerate(rigs):
        count = rig.skeleton.joint_count
        expected = forward_kinematics(rig.skeleton, vectors_to_pose(x[number, :, :count], torch.zeros(3)))
        assert torch.allclose(rotation[number, :, :count], expected.rotation, atol=1e-4)
        assert torch.allclose(position[number, :, :count], expected.position, atol=1e-4)


def test_bones_keep_their_lengths(rig, bends):
    sketch = rig_descriptor(rig)
    _, position = posed(rig_batch([sketch]), bends[None].float())
    parents, joints = sketch.parents[1:], np.arange(1, sketch.joint_count)
    expected = torch.as_tensor(np.linalg.norm(sketch.positions[joints] - sketch.positions[parents], axis=1)).float()
    length = (position[0][:, joints] - position[0][:, parents]).norm(dim=-1)
    assert torch.allclose(length, expected.expand_as(length), atol=1e-5)


def test_features_do_not_depend_on_the_order_of_joints(rig):
    sketch = rig_descriptor(rig)
    order = other_order(sketch)
    again = reordered(sketch, order)
    assert node_features(sketch).shape[1] == FEATURES
    assert np.allclose(node_features(again), node_features(sketch)[order], atol=1e-5)
    assert np.array_equal(pair_codes(again), pair_codes(sketch)[np.ix_(order, order)])
    assert np.array_equal(again.canonical, sketch.canonical[order])


def test_a_turned_and_scaled_file_gives_the_same_sketch(assets):
    from akd.assets import read_file
    from akd.character.build import build_rig

    file = read_file(assets / "fox_khronos" / "Fox.glb")
    turn = np.array([[0.0, 0, 5, 25], [0, 5, 0, 0], [-5, 0, 0, 10], [0, 0, 0, 1]])
    still = replace(file, clips=(), sample=None, forward=None)
    moved = replace(still, rest=turn @ file.rest, mesh=file.mesh.transformed(turn))
    one, other = (rig_descriptor(build_rig(source)) for source in (still, moved))
    assert np.allclose(node_features(one), node_features(other), atol=0.02)


def test_jacobian_of_the_exponential_map():
    x = torch.randn(7, 3, dtype=torch.float64)
    step = 1e-6 * torch.randn(7, 3, dtype=torch.float64)
    ahead = vector_matrices(x).transpose(-1, -2) @ vector_matrices(x + step)
    small = torch.stack((ahead[:, 2, 1], ahead[:, 0, 2], ahead[:, 1, 0]), -1)
    assert torch.allclose(small, (right_jacobian(x) @ step[..., None]).squeeze(-1), atol=1e-11)


def test_jacobians_of_chains_are_those_of_autograd(rig, bends):
    chains, joints = Chains.of(rig.skeleton), torch.tensor([7, 12])
    root = torch.zeros(1, 3, dtype=torch.float64)
    x = bends[:1]
    placed = chains.place(x, root)
    found = chains.point_jacobian(x, placed, joints, placed.position[:, joints])
    expected = torch.autograd.functional.jacobian(lambda y: chains.place(y, root).position[:, joints], x)
    assert torch.allclose(found[0], expected[0, :, :, 0], atol=1e-5)


def test_segments_are_as_far_apart_as_their_nearest_points():
    torch.manual_seed(1)
    p, u, q, v = torch.randn(4, 40, 3, dtype=torch.float64)
    s = torch.linspace(0, 1, 200, dtype=torch.float64)
    one, other = p[:, None] + s[:, None] * u[:, None], q[:, None] + s[:, None] * v[:, None]
    brute = torch.cdist(one, other).flatten(1).amin(1)
    assert torch.all((segments_apart(p, u, q, v) - brute).abs() < 0.03)


def test_nothing_is_inside_anything_at_rest_and_folded_bodies_are(rig):
    sketch = rig_descriptor(rig)
    capsules = capsules_of(sketch)
    batch = rig_batch([sketch])
    rest, folded = torch.zeros(1, 1, sketch.joint_count, 3), torch.zeros(1, 1, sketch.joint_count, 3)
    folded[..., 1:6, 1] = 1.4
    assert capsule_depths(capsules, *(part[0] for part in posed(batch, rest))).amax() == 0
    folded.requires_grad_(True)
    depth = capsule_depths(capsules, *(part[0] for part in posed(batch, folded))).square().sum()
    depth.backward()
    assert depth > 0
    assert folded.grad is not None
    assert folded.grad.isfinite().all()
    assert folded.grad.abs().max() > 0


def test_grids_know_a_leg_in_the_belly():
    rig = creature("cow", 0)
    sketch = rig_descriptor(rig)
    grids = flesh_grids(rig, sketch)
    assert grids is not None
    count = sketch.joint_count
    turns, places = torch.eye(3).expand(1, count, 3, 3), torch.as_tensor(sketch.positions).float()[None].clone()
    assert grid_depths(grids, turns, places).amax() == 0
    leg = rig.skeleton.limbs_of("leg")[0].joints[-1]
    places[0, leg] = torch.as_tensor(sketch.positions[int(grids.part[0])] / 2 + sketch.tails[int(grids.part[0])] / 2).float()
    assert grid_depths(grids, turns, places).amax() > 0.05


def test_grids_find_nothing_wrong_with_what_artists_do(assets):
    """Necks and tails that move on their own trunk are not inside it, though the trunk's skin is open there."""
    rig = load_rig(assets / "fox_khronos" / "Fox.glb")
    sketch = rig_descriptor(rig)
    grids = flesh_grids(rig, sketch)
    assert grids is not None
    motion = read_clip(rig, "Run", fps=8).motion
    turns, places = forward_kinematics(rig.skeleton, motion.pose)
    assert grid_depths(grids, turns, places).amax() < 0.03


def test_another_rest_pose_does_not_change_where_joints_are(rig):
    specimen = draw_specimen("dog", 3)
    posing = posing_of(specimen.sketch, specimen.bends.astype(float))
    rng = np.random.default_rng(0)
    rest = Rotation.from_rotvec(rng.normal(0, 0.2, (specimen.sketch.joint_count, 3))).as_matrix()
    again = rebound(posing, rest)
    before, after = (_places(p) for p in (posing, again))
    scale = np.linalg.norm(after - after[:, :1]) / np.linalg.norm(before - before[:, :1])
    assert np.allclose(after, scale * before, atol=1e-4)


def test_joints_left_out_and_added_keep_the_other_turns(rig):
    specimen = draw_specimen("dog", 3)
    posing = posing_of(specimen.sketch, specimen.bends.astype(float))
    names = list(rig.skeleton.names)
    tail = [names.index(name) for name in names if name.startswith("tail")]
    fewer = without(posing, {tail[-1]})
    assert fewer.sketch.joint_count == posing.sketch.joint_count - 1
    kept = [joint for joint in range(len(names)) if joint != tail[-1]]
    assert np.allclose(fewer.turns, posing.turns[:, kept])
    more = with_middles(posing, {tail[1]})
    assert more.sketch.joint_count == posing.sketch.joint_count + 1
    assert np.allclose(posing_of(more.sketch, bends_of(more)).turns, more.turns, atol=1e-6)


def test_collar_bones_change_no_place_and_take_their_share_of_the_turn(rig):
    specimen = draw_specimen("dog", 3)
    posing = posing_of(specimen.sketch, specimen.bends.astype(float))
    hips = [limb.joints[0] for limb in rig.skeleton.limbs_of("leg")][:2]
    for share in (0.0, 0.3):
        more = with_collars(posing, dict.fromkeys(hips, 0.4), share)
        assert more.sketch.joint_count == posing.sketch.joint_count + 2
        assert np.allclose(posing_of(more.sketch, bends_of(more)).turns, more.turns, atol=1e-6)
        collar = int(more.sketch.parents[hips[0] + 1])
        assert more.sketch.mirror[more.sketch.mirror[collar]] == collar
        done, whole = (np.linalg.norm(bends_of(p)[:, joint], axis=-1) for p, joint in ((more, collar), (posing, hips[0])))
        assert np.allclose(done, share * whole, atol=1e-5)


def test_straighter_legs_are_straight():
    sketch = draw_specimen("fox", 3).sketch
    rest = Rotation.from_rotvec(straighter(sketch, 1.0)).as_matrix()
    again = rebound(posing_of(sketch, np.zeros((1, sketch.joint_count, 3))), rest)

    def lean(which: RigDescriptor) -> np.ndarray:
        bone = which.tails - which.positions
        before = sketch.tails - sketch.positions
        steep = (which.kind == KINDS.index("leg")) & (before[:, 1] < -STEEP * np.linalg.norm(before, axis=1))
        return np.abs(bone[steep, 0]) / np.linalg.norm(bone[steep], axis=1)

    assert lean(sketch).max() > 0.3
    assert lean(again.sketch).max() < 0.02


@pytest.mark.parametrize("plan", ["fox", "human", "spider", "tyrannosaur"])
def test_strangers_are_as_symmetric_as_their_models(plan):
    specimen = draw_specimen(plan, 3)
    for seed in range(4):
        posing = augmented(specimen.sketch, specimen.bends[:4].astype(float), np.random.default_rng(seed))
        sketch = posing.sketch
        joint = np.arange(sketch.joint_count)
        assert (sketch.mirror[sketch.mirror] == joint).all()
        assert (sketch.parents[1:] < joint[1:]).all()
        assert (sketch.mirror[sketch.parents[1:]] == sketch.parents[sketch.mirror][1:]).all()
        pair = sketch.mirror != joint
        assert np.allclose(sketch.positions[sketch.mirror][pair] * (1, 1, -1), sketch.positions[pair], atol=1e-6)
        assert np.allclose(posing_of(sketch, bends_of(posing)).turns, posing.turns, atol=1e-5)


def _places(posing: Posing) -> np.ndarray:
    return posed(rig_batch([posing.sketch]), torch.as_tensor(bends_of(posing))[None].float())[1][0].numpy()


def test_specimens_are_sound_deterministic_and_resumable(tmp_path):
    first, second = (draw_specimen("cat", 5) for _ in range(2))
    assert np.array_equal(first.bends, second.bends)
    assert len(first.bends) > 20
    assert sound(lean_rig("cat", 5), torch.from_numpy(first.bends)).all()
    write_specimens(tmp_path, range(1), ("cat", "chick"))
    stamp = (tmp_path / "000000.npz").stat().st_mtime_ns
    write_specimens(tmp_path, range(2), ("cat", "chick"))
    found = read_specimens(tmp_path)
    assert (tmp_path / "000000.npz").stat().st_mtime_ns == stamp
    assert [(s.plan, s.seed, s.source) for s in found[:2]] == [("cat", 0, "creatures"), ("chick", 0, "creatures")]
    assert np.allclose(found[0].bends, draw_specimen("cat", 0).bends, atol=2e-3)
    assert isinstance(found[0].sketch, RigDescriptor)
    assert not set(TRAINING_PLANS) & set(HELD_OUT_PLANS)
    assert FIRST_HELD_OUT_SEED == 10_000


def test_lean_rigs_have_the_joints_of_the_real_ones():
    lean, real = lean_rig("horse", 2), creature("horse", 2)
    assert lean.skeleton.names == real.skeleton.names
    assert np.allclose(lean.skeleton.positions, real.skeleton.positions)
    one, other = rig_descriptor(lean), rig_descriptor(real)
    assert np.median(np.abs(one.radius - other.radius)) < 0.05
    assert isinstance(lean.skeleton, Skeleton)
