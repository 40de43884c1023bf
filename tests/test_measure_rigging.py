"""Weights and skeletons whose distance from an artist's is known by hand."""

import numpy as np
import pytest
import torch

from akd.measure import rigging
from akd.skeleton import Pose, Skeleton, forward_kinematics

CUBE = np.array([(x, y, z) for x in (0.0, 2.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


def line(y: float) -> Skeleton:
    """Two joints along x in a box whose longest side is 2."""
    return Skeleton.from_joints(("a", "b"), np.array([-1, 0]), np.array([[0.5, y, 0.5], [1.5, y, 0.5]]))


def test_weight_errors_count_supports_after_dropping_crumbs() -> None:
    artist = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    predicted = np.array([[0.9995, 0.0005, 0.0], [0.5, 0.25, 0.25]])
    errors = rigging.weight_errors(predicted, artist)
    assert errors == pytest.approx((3 / 4, 1.0, 0.25))
    assert rigging.weight_errors(artist, artist) == (1.0, 1.0, 0.0)
    assert rigging.weight_errors(artist[:, [2, 2, 0]], artist[:, [0, 2, 2]]).l1 == pytest.approx(2)  # nothing shared


def test_deformation_error_is_in_body_heights() -> None:
    skeleton = line(0.5)
    rest = skeleton.rest_pose(3, dtype=torch.float64)
    angles = rest.angles.clone()
    angles[:, 1, 0] = torch.pi  # half a turn about the bone's own axis: vertices there move by twice their distance from it
    posed = forward_kinematics(skeleton, Pose(rest.root_position, rest.root_rotation, angles))
    still, turned = np.tile((1.0, 0.0), (8, 1)), np.tile((1.0, 0.0), (8, 1))
    turned[0] = (0.0, 1.0)
    mean, worst = rigging.deformation_error(skeleton, posed, CUBE, turned, still)
    assert worst == pytest.approx(2 * np.sqrt(0.5))
    assert mean == pytest.approx(worst / 8)


def test_bleed_and_smoothness() -> None:
    weights = np.array([[0.9, 0.1], [0.4, 0.6]])
    geodesic, euclidean = np.array([[1.0, 4.0], [1.0, 2.0]]), np.ones((2, 2))
    assert rigging.bleed(weights, geodesic, euclidean) == pytest.approx(0.05)
    assert rigging.weight_smoothness(weights, np.array([[0, 1]])) == pytest.approx(1.0)


def test_parallel_bones_are_as_far_apart_as_they_are() -> None:
    assert rigging.skeleton_errors(line(0.3), line(0.3), CUBE) == pytest.approx((0, 0, 0), abs=1e-12)
    assert rigging.skeleton_errors(line(0.3), line(0.5), CUBE) == pytest.approx((0.1, 0.1, 0.1))


def test_more_joints_on_the_same_bone_cost_only_joints() -> None:
    joints = np.array([[0.5, 0.3, 0.5], [1.0, 0.3, 0.5], [1.5, 0.3, 0.5]])
    fine = Skeleton.from_joints(("a", "m", "b"), np.array([-1, 0, 1]), joints)
    errors = rigging.skeleton_errors(fine, line(0.3), CUBE)
    assert errors.joint_joint == pytest.approx((0.25 / 3) / 2)
    assert errors.joint_bone == pytest.approx(0, abs=1e-12)
    assert errors.bone_bone == pytest.approx(0, abs=1e-3)


def test_containment_is_a_share_of_length() -> None:
    assert rigging.containment(line(0.5), CUBE, lambda points: points[:, 0] < 0.75) == pytest.approx(0.25, abs=0.01)
