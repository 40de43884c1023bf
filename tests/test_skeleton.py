"""Forward kinematics equals the naive product along the tree, and skinning obeys its laws."""

import time

import numpy as np
import pytest
import torch

from akd.errors import AkdError
from akd.rotations import angles_to_matrix, quaternion_to_matrix
from akd.skeleton import Pose, Skeleton, bone_turns, forward_kinematics
from akd.splats import skin_points, skin_splats


def random_skeleton(joints: int, seed: int = 0) -> Skeleton:
    rng = np.random.default_rng(seed)
    parents = np.array([-1] + [int(rng.integers(max(0, j - 4), j)) for j in range(1, joints)])
    return Skeleton.from_joints(tuple(f"j{i}" for i in range(joints)), parents, rng.normal(size=(joints, 3)))


def random_pose(skeleton: Skeleton, *batch: int, seed: int = 0, dtype=torch.float64) -> Pose:
    g = torch.Generator().manual_seed(seed)
    angles = torch.randn(*batch, skeleton.joint_count, 3, generator=g, dtype=dtype)
    return Pose(torch.randn(*batch, 3, generator=g, dtype=dtype), torch.randn(*batch, 4, generator=g, dtype=dtype), angles)


def naive_kinematics(skeleton: Skeleton, pose: Pose) -> tuple[list, list]:
    """One joint after the other, as a textbook would."""
    rotations, positions = [quaternion_to_matrix(pose.root_rotation)], [pose.root_position]
    for j in range(1, skeleton.joint_count):
        p = int(skeleton.parents[j])
        frame = torch.as_tensor(skeleton.frames[j])
        offset = torch.as_tensor(skeleton.positions[j] - skeleton.positions[p])
        positions.append(positions[p] + rotations[p] @ offset)
        rotations.append(rotations[p] @ frame @ angles_to_matrix(pose.angles[j]) @ frame.T)
    return rotations, positions


@pytest.mark.parametrize("joints", [1, 2, 17])
def test_kinematics_equals_the_naive_product(joints):
    skeleton = random_skeleton(joints)
    pose = random_pose(skeleton)
    posed = forward_kinematics(skeleton, pose)
    rotations, positions = naive_kinematics(skeleton, pose)
    torch.testing.assert_close(posed.rotation, torch.stack(rotations))
    torch.testing.assert_close(posed.position, torch.stack(positions))


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_batches_equal_single_poses(batch):
    skeleton = random_skeleton(9)
    pose = random_pose(skeleton, *batch)
    posed = forward_kinematics(skeleton, pose)
    assert posed.position.shape == (*batch, 9, 3)
    index = tuple(n - 1 for n in batch)
    torch.testing.assert_close(posed.position[index], forward_kinematics(skeleton, pose[index]).position)


def test_zero_angles_are_the_rest_pose():
    skeleton = random_skeleton(12)
    posed = forward_kinematics(skeleton, skeleton.rest_pose(2, dtype=torch.float64))
    torch.testing.assert_close(posed.position, torch.as_tensor(skeleton.positions).expand(2, -1, -1))
    torch.testing.assert_close(posed.rotation, torch.eye(3, dtype=torch.float64).expand(2, 12, 3, 3))


def test_bone_lengths_never_change():
    skeleton = random_skeleton(20)
    position = forward_kinematics(skeleton, random_pose(skeleton, 30)).position
    lengths = (position[:, 1:] - position[:, skeleton.parents[1:]]).norm(dim=-1)
    torch.testing.assert_close(lengths, lengths[:1].expand_as(lengths))


def test_gradient_equals_finite_differences():
    skeleton = random_skeleton(6)
    pose = random_pose(skeleton, 2)
    leaves = [x.clone().requires_grad_() for x in (pose.root_position, pose.root_rotation, pose.angles)]
    assert torch.autograd.gradcheck(lambda *x: forward_kinematics(skeleton, Pose(*x)), leaves)


def test_bone_turns_undo_kinematics():
    skeleton = random_skeleton(15)
    pose = random_pose(skeleton, 3)
    turns = bone_turns(skeleton, forward_kinematics(skeleton, pose).rotation)
    torch.testing.assert_close(turns[:, 1:], angles_to_matrix(pose.angles)[:, 1:])


def test_frames_are_orthonormal_right_handed_and_mirrored():
    positions = np.array([[0, 1, 0], [0.1, 1.5, 0], [0, 0.9, -0.2], [0.05, 0.5, -0.25], [0, 0.9, 0.2], [0.05, 0.5, 0.25]])
    skeleton = Skeleton.from_joints(tuple("abcdef"), np.array([-1, 0, 0, 2, 0, 4]), positions)
    f = skeleton.frames
    np.testing.assert_allclose(f @ f.swapaxes(-1, -2), np.broadcast_to(np.eye(3), f.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(f), 1)
    flip = np.diag([1, 1, -1])
    for left, right in ((2, 4), (3, 5)):  # lateral axis kept, so that equal angles b swing both legs the same way
        np.testing.assert_allclose(f[right], flip @ f[left] @ np.diag([1, -1, 1]), atol=1e-12)


def test_fifty_joints_cost_milliseconds():
    skeleton = random_skeleton(50)
    pose = random_pose(skeleton, 49, dtype=torch.float32)
    angles = pose.angles.requires_grad_()
    times = []
    for _ in range(10):
        start = time.perf_counter()
        forward_kinematics(skeleton, pose).position.square().sum().backward()
        times.append(time.perf_counter() - start)
    assert angles.grad is not None
    assert min(times) < 0.1  # a few ms on a quiet core; the bound allows for a loaded machine


def test_points_follow_their_bone_and_weights_blend():
    skeleton = random_skeleton(5)
    posed = forward_kinematics(skeleton, random_pose(skeleton, 3))
    rigid = torch.eye(5, dtype=torch.float64)
    points = torch.as_tensor(skeleton.positions)
    torch.testing.assert_close(skin_points(skeleton, posed, rigid, points), posed.position)
    weights = torch.softmax(torch.randn(8, 5, dtype=torch.float64), -1)
    x = torch.randn(8, 3, dtype=torch.float64)
    by_hand = sum(weights[:, j, None] * ((x - points[j]) @ posed.rotation[1, j].T + posed.position[1, j]) for j in range(5))
    torch.testing.assert_close(skin_points(skeleton, posed, weights, x)[1], by_hand)


def test_splats_move_by_the_jacobian_of_skinning():
    skeleton = random_skeleton(4)
    posed = forward_kinematics(skeleton, random_pose(skeleton))
    weights = torch.softmax(torch.randn(1, 4, dtype=torch.float64), -1)
    mean, root = torch.randn(1, 3, dtype=torch.float64), torch.randn(1, 3, 3, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda x: skin_points(skeleton, posed, weights, x)[0], mean)[:, 0]
    centre, covariance = skin_splats(skeleton, posed, weights, mean, root @ root.transpose(-1, -2))
    torch.testing.assert_close(centre, skin_points(skeleton, posed, weights, mean))
    torch.testing.assert_close(covariance[0], jacobian @ root[0] @ root[0].T @ jacobian.T)


@pytest.mark.parametrize(
    ("names", "parents", "word"),
    [((), [], "none"), (("a", "a"), [-1, 0], "twice"), (("a", "b"), [-1, 1], "tree"), (("a", "b"), [-1, -1], "tree")],
)
def test_bad_skeletons_say_what_is_wrong(names, parents, word):
    with pytest.raises(AkdError, match=word):
        Skeleton.from_joints(names, np.array(parents, int), np.zeros((len(names), 3)))
