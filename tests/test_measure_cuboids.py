"""Cuboids hold the vertices of their bones, and move with them."""

import numpy as np
import torch

from akd.contact.measures import corner_depth
from akd.cuboids import bone_cuboids, cuboid_corners
from akd.skeleton import Pose, forward_kinematics
from sample_rigs import box_rig


def test_flesh_is_inside_and_standing_costs_nothing() -> None:
    rig = box_rig(2)
    cuboids = bone_cuboids(rig)
    owner = rig.weights.argmax(1)
    local = np.einsum("vij,vi->vj", cuboids.axes[owner], rig.mesh.vertices - cuboids.center[owner])
    assert (np.abs(local) <= cuboids.half[owner] + 1e-9).all()
    np.testing.assert_allclose(np.linalg.det(cuboids.axes), 1)
    rest = forward_kinematics(rig.skeleton, rig.skeleton.rest_pose(1, dtype=torch.float64))
    corners = cuboid_corners(rig.skeleton, cuboids, rest)
    assert corner_depth(corners.numpy()) < 1e-12
    feet = [leg.tip for leg in rig.legs]
    np.testing.assert_allclose(cuboids.half[feet], np.tile((0.08, 0.05, 0.05), (4, 1)))  # level, as the boxes of the mesh are


def test_the_box_of_the_body_is_the_body() -> None:
    rig = box_rig(2)
    cuboids = bone_cuboids(rig)
    np.testing.assert_allclose(cuboids.center[0], (0, 1.2, 0), atol=1e-12)
    np.testing.assert_allclose(cuboids.half[0], np.ptp(rig.mesh.vertices[:8], axis=0) / 2)


def test_a_bone_without_flesh_gets_a_thin_box() -> None:
    rig = box_rig(1)
    bare = type(rig)(rig.mesh, rig.skeleton, np.eye(rig.skeleton.joint_count)[np.zeros(rig.mesh.vertex_count, int)])
    assert (bone_cuboids(bare).half > 0).all()


def test_corners_follow_a_sinking_body_and_pass_gradients() -> None:
    rig = box_rig(1)
    rest = rig.skeleton.rest_pose(1, dtype=torch.float64)
    drop = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    pose = Pose(rest.root_position - drop * torch.tensor([0.0, 1, 0]), rest.root_rotation, rest.angles)
    corners = cuboid_corners(rig.skeleton, bone_cuboids(rig), forward_kinematics(rig.skeleton, pose))
    depth = (-corners[..., 1]).clamp(min=0)
    depth.mean().backward()
    share = (depth > 0).double().mean()
    assert share > 0
    torch.testing.assert_close(drop.grad, share)
