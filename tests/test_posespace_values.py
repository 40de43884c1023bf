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
from akd.posespace.collision import capsule_depths, capsule_pairs, distance_grids, grid_depths, segment_segment_distance
from akd.posespace.representation import (
    KINDS,
    RigDescriptor,
    mirrored,
    pose_to_vectors,
    rig_descriptor,
    vector_matrices,
    vectors_to_pose,
)
from akd.posespace.rig_batch import FEATURES, batch_kinematics, node_features, pair_codes, rig_batch
from akd.posespace.solving import Kinematics, right_jacobian
from akd.rig import Rig
from akd.skeleton import Pose, Skeleton, forward_kinematics
from akd.training.data_card import FIRST_HELD_OUT_SEED, HELD_OUT_PLANS, TRAINING_PLANS
from akd.training.posespace.augment import MIN_LEG_STEEPNESS, augmented, change_rest_pose, leg_straightening
from akd.training.posespace.dataset import collision_free, draw_rig_poses, point_rig, read_pose_shards, write_pose_shards
from akd.training.posespace.joint_edits import (
    StagePoses,
    add_collar_bones,
    remove_joints,
    split_bones,
    to_stage_poses,
    to_vectors,
)


@pytest.fixture(scope="module")
def rig() -> Rig:
    return point_rig("dog", 3)


@pytest.fixture
def vectors(rig: Rig) -> torch.Tensor:
    torch.manual_seed(0)
    x = 0.5 * torch.randn(5, rig.skeleton.joint_count, 3, dtype=torch.float64)
    x[:, 0, 1] = 0.0  # the tilt has no heading
    return x


def upright(rig: Rig, vectors: torch.Tensor) -> Pose:
    return vectors_to_pose(vectors, torch.as_tensor(rig.skeleton.positions[0], dtype=vectors.dtype))


def reordered(descriptor: RigDescriptor, order: np.ndarray) -> RigDescriptor:
    """The same rig with its joints in another order."""
    new = np.argsort(order)
    parents = np.where(descriptor.parents[order] < 0, -1, new[np.maximum(descriptor.parents[order], 0)])
    rest = {name: getattr(descriptor, name)[order] for name in ("positions", "tails", "kind", "order", "radius", "half")}
    return RigDescriptor(parents=parents, mirror=new[descriptor.mirror[order]], **rest)


def other_order(descriptor: RigDescriptor) -> np.ndarray:
    """By depth instead of limb by limb: parents still come first."""
    return np.lexsort((-np.arange(descriptor.joint_count), descriptor.depth))


def test_vectors_and_poses_are_inverse(rig, vectors):
    tilt = pose_to_vectors(upright(rig, vectors))
    assert torch.allclose(tilt[:, 1:], vectors[:, 1:], atol=1e-9)
    again = pose_to_vectors(upright(rig, tilt))
    assert torch.allclose(again, tilt, atol=1e-9)


def test_heading_and_position_are_no_part_of_vectors(rig, vectors):
    turned = torch.tensor((np.cos(0.6), 0.0, np.sin(0.6), 0.0))
    away = vectors_to_pose(vectors, torch.ones(3, dtype=torch.float64), turned)
    assert torch.allclose(pose_to_vectors(away), pose_to_vectors(upright(rig, vectors)), atol=1e-9)


def test_mirror_is_the_mirror_of_motions_and_its_own_inverse(rig, vectors):
    seen = mirrored(rig.skeleton, vectors)
    by_motion = mirror(rig.skeleton, Motion(upright(rig, vectors), 30.0))
    assert torch.allclose(pose_to_vectors(by_motion.pose), pose_to_vectors(upright(rig, seen)), atol=1e-7)
    assert torch.allclose(mirrored(rig.skeleton, seen), vectors, atol=1e-9)


def test_kinematics_of_several_rigs_at_once_are_those_of_each(vectors):
    rigs = [point_rig("dog", 3), point_rig("spider", 1)]
    batch = rig_batch([rig_descriptor(rig) for rig in rigs])
    x = torch.zeros(2, 5, batch.joint_count, 3)
    for number, rig in enumerate(rigs):
        count = rig.skeleton.joint_count
        x[number, :, :count] = 0.5 * torch.randn(5, count, 3)
    rotation, position = batch_kinematics(batch, x)
    for number, rig in enumerate(rigs):
        count = rig.skeleton.joint_count
        expected = forward_kinematics(rig.skeleton, vectors_to_pose(x[number, :, :count], torch.zeros(3)))
        assert torch.allclose(rotation[number, :, :count], expected.rotation, atol=1e-4)
        assert torch.allclose(position[number, :, :count], expected.position, atol=1e-4)


def test_bones_keep_their_lengths(rig, vectors):
    descriptor = rig_descriptor(rig)
    _, position = batch_kinematics(rig_batch([descriptor]), vectors[None].float())
    parents, joints = descriptor.parents[1:], np.arange(1, descriptor.joint_count)
    expected = torch.as_tensor(np.linalg.norm(descriptor.positions[joints] - descriptor.positions[parents], axis=1)).float()
    length = (position[0][:, joints] - position[0][:, parents]).norm(dim=-1)
    assert torch.allclose(length, expected.expand_as(length), atol=1e-5)


def test_features_do_not_depend_on_the_order_of_joints(rig):
    descriptor = rig_descriptor(rig)
    order = other_order(descriptor)
    again = reordered(descriptor, order)
    assert node_features(descriptor).shape[1] == FEATURES
    assert np.allclose(node_features(again), node_features(descriptor)[order], atol=1e-5)
    assert np.array_equal(pair_codes(again), pair_codes(descriptor)[np.ix_(order, order)])
    assert np.array_equal(again.canonical_rank, descriptor.canonical_rank[order])


def test_a_turned_and_scaled_file_gives_the_same_descriptor(assets):
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


def test_jacobians_of_kinematics_are_those_of_autograd(rig, vectors):
    kinematics, joints = Kinematics.of(rig.skeleton), torch.tensor([7, 12])
    root = torch.zeros(1, 3, dtype=torch.float64)
    x = vectors[:1]
    posed = kinematics.forward(x, root)
    found = kinematics.point_jacobian(x, posed, joints, posed.position[:, joints])
    expected = torch.autograd.functional.jacobian(lambda y: kinematics.forward(y, root).position[:, joints], x)
    assert torch.allclose(found[0], expected[0, :, :, 0], atol=1e-5)


def test_segments_are_as_far_apart_as_their_nearest_points():
    torch.manual_seed(1)
    p, u, q, v = torch.randn(4, 40, 3, dtype=torch.float64)
    s = torch.linspace(0, 1, 200, dtype=torch.float64)
    one, other = p[:, None] + s[:, None] * u[:, None], q[:, None] + s[:, None] * v[:, None]
    brute = torch.cdist(one, other).flatten(1).amin(1)
    assert torch.all((segment_segment_distance(p, u, q, v) - brute).abs() < 0.03)


def test_nothing_is_inside_anything_at_rest_and_folded_bodies_are(rig):
    descriptor = rig_descriptor(rig)
    capsules = capsule_pairs(descriptor)
    batch = rig_batch([descriptor])
    rest, folded = torch.zeros(1, 1, descriptor.joint_count, 3), torch.zeros(1, 1, descriptor.joint_count, 3)
    folded[..., 1:6, 1] = 1.4
    assert capsule_depths(capsules, *(part[0] for part in batch_kinematics(batch, rest))).amax() == 0
    folded.requires_grad_(True)
    depth = capsule_depths(capsules, *(part[0] for part in batch_kinematics(batch, folded))).square().sum()
    depth.backward()
    assert depth > 0
    assert folded.grad is not None
    assert folded.grad.isfinite().all()
    assert folded.grad.abs().max() > 0


def test_grids_know_a_leg_in_the_belly():
    rig = creature("cow", 0)
    descriptor = rig_descriptor(rig)
    grids = distance_grids(rig, descriptor)
    assert grids is not None
    count = descriptor.joint_count
    turns, places = torch.eye(3).expand(1, count, 3, 3), torch.as_tensor(descriptor.positions).float()[None].clone()
    assert grid_depths(grids, turns, places).amax() == 0
    leg = rig.skeleton.limbs_of("leg")[0].joints[-1]
    part = int(grids.part[0])
    places[0, leg] = torch.as_tensor(descriptor.positions[part] / 2 + descriptor.tails[part] / 2).float()
    assert grid_depths(grids, turns, places).amax() > 0.05


def test_grids_find_nothing_wrong_with_what_artists_do(assets):
    """Necks and tails that move on their own trunk are not inside it, though the trunk's skin is open there."""
    rig = load_rig(assets / "fox_khronos" / "Fox.glb")
    descriptor = rig_descriptor(rig)
    grids = distance_grids(rig, descriptor)
    assert grids is not None
    motion = read_clip(rig, "Run", fps=8).motion
    turns, places = forward_kinematics(rig.skeleton, motion.pose)
    assert grid_depths(grids, turns, places).amax() < 0.03


def test_another_rest_pose_does_not_change_where_joints_are(rig):
    individual = draw_rig_poses("dog", 3)
    stage = to_stage_poses(individual.descriptor, individual.vectors.astype(float))
    rng = np.random.default_rng(0)
    rest = Rotation.from_rotvec(rng.normal(0, 0.2, (individual.descriptor.joint_count, 3))).as_matrix()
    again = change_rest_pose(stage, rest)
    before, after = (_places(p) for p in (stage, again))
    scale = np.linalg.norm(after - after[:, :1]) / np.linalg.norm(before - before[:, :1])
    assert np.allclose(after, scale * before, atol=1e-4)


def test_joints_removed_and_added_keep_the_other_rotations(rig):
    individual = draw_rig_poses("dog", 3)
    stage = to_stage_poses(individual.descriptor, individual.vectors.astype(float))
    names = list(rig.skeleton.names)
    tail = [names.index(name) for name in names if name.startswith("tail")]
    fewer = remove_joints(stage, {tail[-1]})
    assert fewer.descriptor.joint_count == stage.descriptor.joint_count - 1
    kept = [joint for joint in range(len(names)) if joint != tail[-1]]
    assert np.allclose(fewer.rotations, stage.rotations[:, kept])
    more = split_bones(stage, {tail[1]})
    assert more.descriptor.joint_count == stage.descriptor.joint_count + 1
    assert np.allclose(to_stage_poses(more.descriptor, to_vectors(more)).rotations, more.rotations, atol=1e-6)


def test_collar_bones_change_no_position_and_take_their_share_of_the_rotation(rig):
    individual = draw_rig_poses("dog", 3)
    stage = to_stage_poses(individual.descriptor, individual.vectors.astype(float))
    hips = [limb.joints[0] for limb in rig.skeleton.limbs_of("leg")][:2]
    for share in (0.0, 0.3):
        more = add_collar_bones(stage, dict.fromkeys(hips, 0.4), share)
        assert more.descriptor.joint_count == stage.descriptor.joint_count + 2
        assert np.allclose(to_stage_poses(more.descriptor, to_vectors(more)).rotations, more.rotations, atol=1e-6)
        collar = int(more.descriptor.parents[hips[0] + 1])
        assert more.descriptor.mirror[more.descriptor.mirror[collar]] == collar
        done, whole = (np.linalg.norm(to_vectors(p)[:, joint], axis=-1) for p, joint in ((more, collar), (stage, hips[0])))
        assert np.allclose(done, share * whole, atol=1e-5)


def test_straighter_legs_are_straight():
    descriptor = draw_rig_poses("fox", 3).descriptor
    rest = Rotation.from_rotvec(leg_straightening(descriptor, 1.0)).as_matrix()
    again = change_rest_pose(to_stage_poses(descriptor, np.zeros((1, descriptor.joint_count, 3))), rest)

    def lean(which: RigDescriptor) -> np.ndarray:
        bone = which.tails - which.positions
        before = descriptor.tails - descriptor.positions
        steep = (which.kind == KINDS.index("leg")) & (before[:, 1] < -MIN_LEG_STEEPNESS * np.linalg.norm(before, axis=1))
        return np.abs(bone[steep, 0]) / np.linalg.norm(bone[steep], axis=1)

    assert lean(descriptor).max() > 0.3
    assert lean(again.descriptor).max() < 0.02


@pytest.mark.parametrize("plan", ["fox", "human", "spider", "tyrannosaur"])
def test_augmented_rigs_stay_symmetric(plan):
    individual = draw_rig_poses(plan, 3)
    for seed in range(4):
        stage = augmented(individual.descriptor, individual.vectors[:4].astype(float), np.random.default_rng(seed))
        descriptor = stage.descriptor
        joint = np.arange(descriptor.joint_count)
        assert (descriptor.mirror[descriptor.mirror] == joint).all()
        assert (descriptor.parents[1:] < joint[1:]).all()
        assert (descriptor.mirror[descriptor.parents[1:]] == descriptor.parents[descriptor.mirror][1:]).all()
        pair = descriptor.mirror != joint
        assert np.allclose(descriptor.positions[descriptor.mirror][pair] * (1, 1, -1), descriptor.positions[pair], atol=1e-6)
        assert np.allclose(to_stage_poses(descriptor, to_vectors(stage)).rotations, stage.rotations, atol=1e-5)


def _places(stage: StagePoses) -> np.ndarray:
    return batch_kinematics(rig_batch([stage.descriptor]), torch.as_tensor(to_vectors(stage))[None].float())[1][0].numpy()


def test_pose_shards_are_collision_free_deterministic_and_resumable(tmp_path):
    first, second = (draw_rig_poses("cat", 5) for _ in range(2))
    assert np.array_equal(first.vectors, second.vectors)
    assert len(first.vectors) > 20
    assert collision_free(point_rig("cat", 5), torch.from_numpy(first.vectors)).all()
    write_pose_shards(tmp_path, range(1), ("cat", "chick"))
    stamp = (tmp_path / "000000.npz").stat().st_mtime_ns
    write_pose_shards(tmp_path, range(2), ("cat", "chick"))
    found = read_pose_shards(tmp_path)
    assert (tmp_path / "000000.npz").stat().st_mtime_ns == stamp
    assert [(s.plan, s.seed, s.source) for s in found[:2]] == [("cat", 0, "creatures"), ("chick", 0, "creatures")]
    assert np.allclose(found[0].vectors, draw_rig_poses("cat", 0).vectors, atol=2e-3)
    assert isinstance(found[0].descriptor, RigDescriptor)
    assert not set(TRAINING_PLANS) & set(HELD_OUT_PLANS)
    assert FIRST_HELD_OUT_SEED == 10_000


def test_point_rigs_have_the_joints_of_the_real_ones():
    lean, real = point_rig("horse", 2), creature("horse", 2)
    assert lean.skeleton.names == real.skeleton.names
    assert np.allclose(lean.skeleton.positions, real.skeleton.positions)
    one, other = rig_descriptor(lean), rig_descriptor(real)
    assert np.median(np.abs(one.radius - other.radius)) < 0.05
    assert isinstance(lean.skeleton, Skeleton)
