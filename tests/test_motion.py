"""The algebra of motions: each operation has an inverse or a fixed point that can be checked."""

import numpy as np
import pytest
import torch

from akd import motion as m
from akd.errors import AkdError
from akd.rotations import rotation_vector_to_quaternion
from akd.skeleton import Pose, Skeleton, forward_kinematics
from test_skeleton import random_skeleton


def smooth_motion(joints: int, frames: int = 13, fps: float = 12.0, turn: float = 0.3) -> m.Motion:
    """Sines of different phase, walking forward, turning and bobbing; closed but for the travel."""
    t = torch.linspace(0, 2 * torch.pi, frames, dtype=torch.float64)[:, None]
    phase = torch.arange(3 * joints, dtype=torch.float64)
    angles = (0.5 * (torch.sin(t + phase) - torch.sin(phase))).reshape(frames, joints, 3)
    angles[:, 0] = 0
    position = torch.cat((t / 6, 1 + 0.1 * torch.sin(t), 0.05 * t), -1)
    heading = torch.cat((0 * t, turn * t, 0 * t), -1)
    return m.Motion(Pose(position, rotation_vector_to_quaternion(heading), angles), fps)


def positions(skeleton: Skeleton, motion: m.Motion) -> torch.Tensor:
    return forward_kinematics(skeleton, motion.pose).position


def mirrored_skeleton() -> Skeleton:
    rng = np.random.default_rng(3)
    centre, left = rng.normal(size=(3, 3)) * [1, 1, 0], rng.normal(size=(4, 3)) + [0, 0, -3]
    right = left * [1, 1, -1]
    parents = np.array([-1, 0, 1, 1, 3, 4, 4, 1, 7, 8, 8])
    skeleton = Skeleton.from_joints(tuple("abcdefghijk"), parents, np.concatenate((centre, left, right)))
    return skeleton.labelled((), np.array([0, 1, 2, 7, 8, 9, 10, 3, 4, 5, 6]))


def test_quaternions_and_angles_round_trip():
    skeleton = random_skeleton(10)
    motion = smooth_motion(10)
    back = m.from_joint_quaternions(skeleton, motion.pose.root_position, m.joint_quaternions(skeleton, motion), motion.fps)
    torch.testing.assert_close(back.pose.angles, motion.pose.angles, atol=1e-10, rtol=0)
    torch.testing.assert_close(positions(skeleton, back), positions(skeleton, motion))


def test_round_trip_through_gimbal_lock_keeps_every_rotation():
    skeleton, motion = random_skeleton(4), smooth_motion(4)
    motion.pose.angles[:, 2] = torch.tensor((0.4, torch.pi / 2, -0.9))
    back = m.from_joint_quaternions(skeleton, motion.pose.root_position, m.joint_quaternions(skeleton, motion), motion.fps)
    torch.testing.assert_close(positions(skeleton, back), positions(skeleton, motion), atol=1e-6, rtol=0)


def test_stage_rotations_round_trip():
    skeleton, motion = random_skeleton(10), smooth_motion(10)
    posed = forward_kinematics(skeleton, motion.pose)
    back = m.from_stage_rotations(skeleton, motion.pose.root_position, posed.rotation, motion.fps)
    torch.testing.assert_close(back.pose.angles, motion.pose.angles, atol=1e-10, rtol=0)


def test_resampling_keeps_frames_it_shares_and_the_duration():
    motion = smooth_motion(5)
    finer = m.resample(motion, 36)
    assert finer.frame_count == 37
    assert finer.duration == pytest.approx(motion.duration)
    torch.testing.assert_close(finer.pose.angles[::3], motion.pose.angles, atol=1e-12, rtol=0)
    back = m.resample(finer, 12)
    torch.testing.assert_close(back.pose.root_position, motion.pose.root_position, atol=1e-12, rtol=0)


def test_resampling_a_straight_line_gives_a_straight_line():
    pose = Pose(torch.arange(5.0)[:, None].expand(5, 3), torch.tensor((1.0, 0, 0, 0)).expand(5, 4), torch.zeros(5, 2, 3))
    finer = m.resample(m.Motion(pose, 10), 35)
    torch.testing.assert_close(finer.pose.root_position[:, 0], torch.linspace(0, 4, 15))


def test_resampling_has_a_gradient():
    motion = smooth_motion(3)
    angles = motion.pose.angles.requires_grad_()
    m.resample(motion, 30).pose.angles.square().sum().backward()
    assert angles.grad is not None
    assert torch.isfinite(angles.grad).all()


def test_crop_takes_both_ends():
    part = m.crop(smooth_motion(3), 0.25, 0.5)
    assert part.frame_count == 4
    with pytest.raises(AkdError, match="inside"):
        m.crop(part, 0, 9)


def test_repeating_a_loop_goes_on_without_a_seam():
    skeleton, motion = random_skeleton(6), smooth_motion(6)
    twice = m.repeat(motion, 2)
    assert twice.frame_count == 25
    torch.testing.assert_close(twice.pose.angles[12:], motion.pose.angles, atol=1e-12, rtol=0)
    one, two = positions(skeleton, twice)[:13], positions(skeleton, twice)[12:]
    # The second turn is the first one moved rigidly over the ground: all distances to the start agree.
    distance = lambda p: (p - p[0, 0] * torch.tensor((1.0, 0, 1.0))).norm(dim=-1)  # noqa: E731
    torch.testing.assert_close(distance(one), distance(two))


def test_closing_a_loop_makes_the_ends_meet():
    motion = smooth_motion(4)
    motion.pose.angles[-1] += 0.1
    closed = m.close_loop(motion)
    torch.testing.assert_close(closed.pose.angles[-1], closed.pose.angles[0])
    assert closed.pose.root_position[-1, 1] == pytest.approx(float(closed.pose.root_position[0, 1]))
    assert closed.pose.root_position[-1, 0] == motion.pose.root_position[-1, 0]
    again = m.close_loop(closed)
    torch.testing.assert_close(again.pose.angles, closed.pose.angles)


def test_mirroring_reflects_every_joint_and_twice_is_nothing():
    skeleton, motion = mirrored_skeleton(), smooth_motion(11)
    other = m.mirror(skeleton, motion)
    flipped = positions(skeleton, motion)[:, torch.as_tensor(skeleton.mirror)] * torch.tensor((1.0, 1, -1))
    torch.testing.assert_close(positions(skeleton, other), flipped)
    torch.testing.assert_close(m.mirror(skeleton, other).pose.angles, motion.pose.angles, atol=1e-9, rtol=0)


def test_blending_ends_at_both_clips():
    first, second = smooth_motion(4), smooth_motion(4, turn=0.1)
    second = m.Motion(Pose(second.pose.root_position, second.pose.root_rotation, 0.5 * second.pose.angles), second.fps)
    for weight, expected in ((0.0, first), (1.0, second)):
        mixed = m.blend(first, second, weight)
        torch.testing.assert_close(mixed.pose.angles, expected.pose.angles)
        torch.testing.assert_close(mixed.pose.root_rotation, expected.pose.root_rotation)
    with pytest.raises(AkdError, match="resample"):
        m.blend(first, m.resample(second, 30), 0.5)
