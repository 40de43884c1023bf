"""Smoothness and amount on motions whose answer is known by hand."""

import numpy as np
import pytest
import torch

from akd.contact.traces import generalised_coordinates
from akd.measure import smoothness
from akd.physics import measures as tracking
from akd.skeleton import Pose

FPS = 24.0


def turns(angles: np.ndarray) -> np.ndarray:
    """Rotations about the vertical."""
    cos, sin, zero = np.cos(angles), np.sin(angles), 0 * angles
    return np.stack((cos, zero, sin, zero, zero + 1, zero, -sin, zero, cos), -1).reshape(-1, 3, 3)


def still(frame_count: int) -> np.ndarray:
    return np.broadcast_to(np.eye(3), (frame_count, 3, 3)).copy()


def test_jerk_of_a_cubic_is_six_times_its_coefficient() -> None:
    time = np.arange(12) / FPS
    joints = np.zeros((12, 2, 3))
    joints[:, 0, 0] = 5 * time**3 - 2 * time**2 + time
    joints[:, 1, 2] = 7 * time**2
    assert smoothness.jerk(joints, FPS) == pytest.approx(15)  # 30 and 0
    assert smoothness.jerk(joints[:3], FPS) is None


def test_laplacian_of_a_parabola_is_twice_its_coefficient() -> None:
    frame = np.arange(9.0)
    assert smoothness.laplacian(np.stack((0.3 * frame**2, 4 * frame), 1)) == pytest.approx(0.3)
    assert smoothness.laplacian(np.zeros((2, 4))) is None


@pytest.mark.parametrize("drift", [0.0, 3.0])
def test_high_band_is_the_share_of_power_above_eight_hertz(drift: float) -> None:
    time = np.arange(97) / FPS
    angles = np.sin(2 * np.pi * 2 * time) + 0.5 * np.sin(2 * np.pi * 10 * time) + drift * time
    assert smoothness.high_band(angles[:, None], FPS) == pytest.approx(0.2, abs=0.01)


def test_high_band_where_it_cannot_be_seen_or_nothing_moves() -> None:
    assert smoothness.high_band(np.random.default_rng(0).normal(size=(17, 3)), 8.0) is None
    assert smoothness.high_band(np.ones((40, 3)), FPS) == 0


def test_amount_is_seen_from_the_root_and_travel_on_the_ground() -> None:
    time = np.arange(25) / FPS
    root_rotation = turns(0.9 * time)
    arm = 0.5 * np.stack((np.cos(2 * time), np.sin(2 * time), 0 * time), -1)  # turns at 2 rad/s: 1 ℓ/s along its chords
    root = np.stack((3 * time, np.sin(5 * time), 4 * time), -1)
    joints = np.stack((root, root + (root_rotation @ arm[:, :, None])[..., 0], root), 1)
    chord = np.sin(1 / FPS) * FPS
    assert smoothness.motion_amount(joints, root_rotation, FPS) == pytest.approx(0.5 * chord)  # mean with a joint at rest
    assert smoothness.travel(root, FPS) == pytest.approx(5)


@pytest.mark.parametrize("frame_count", [17, 49])
def test_a_loop_that_walks_and_turns_closes(frame_count: int) -> None:
    turn = np.linspace(0, 2 * np.pi, frame_count)
    yaw = 0.4 * turn
    local = np.stack((0.3 * np.sin(turn), 1 + 0 * turn, 0.2 + 0 * turn), -1)
    root = np.stack((turn, np.ones_like(turn), 2 * turn), -1)
    swung = (turns(yaw) @ local[:, :, None])[..., 0] * np.array([1, 0, 1])
    joints = np.stack((root, root + swung), 1)
    peak = 0.3 * 2 * np.pi / (frame_count - 1)
    assert smoothness.loop_error(joints, turns(yaw)) < 0.05 * peak
    cut = frame_count // 4 + 1  # a quarter: the foot is at its end, 0.3 away
    assert smoothness.loop_error(joints[:cut], turns(yaw[:cut])) > 0.1


def test_open_ends_add_pose_and_velocity_gap() -> None:
    joints = np.zeros((11, 2, 3))
    joints[:, 1, 0] = np.concatenate((np.linspace(0, 0.5, 6), np.full(5, 0.5)))
    # The second of two joints ends 0.5 away, and stops after starting with 0.1 a frame.
    assert smoothness.loop_error(joints, still(11)) == pytest.approx((0.5 + 0.1) / 2)


def test_stretch_is_zero_for_rigid_bones() -> None:
    parents = np.array([-1, 0, 1])
    joints = np.zeros((4, 3, 3))
    joints[:, 1, 1], joints[:, 2, 1] = 1.0, 1.0 + np.array([0.9, 1.1, 0.9, 1.1])
    assert smoothness.bone_stretch(joints, parents) == pytest.approx(0.1 / 2)
    assert smoothness.bone_stretch(joints[:, :2], parents[:2]) == 0


def test_yaw_goes_on_past_a_whole_turn_and_survives_rearing() -> None:
    angles = np.linspace(0, 9, 30)
    np.testing.assert_allclose(smoothness.yaw(turns(angles)), angles)
    pitch = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])  # the nose straight up
    np.testing.assert_allclose(smoothness.yaw(turns(angles) @ pitch), angles)


def test_heading_frame_undoes_placement() -> None:
    rng = np.random.default_rng(1)
    points, yaw, root = rng.normal(size=(6, 4, 3)), rng.normal(size=6), rng.normal(size=(6, 3)) * np.array([1, 0, 1])
    placed = points @ turns(yaw).transpose(0, 2, 1) + root[:, None]
    np.testing.assert_allclose(smoothness.in_heading_frame(placed, root, yaw), points, atol=1e-12)


def test_a_steady_spin_is_smooth_in_generalised_coordinates() -> None:
    half = torch.linspace(0, 9, 40, dtype=torch.float64)  # almost three whole turns
    rotation = torch.stack((torch.cos(half), 0 * half, torch.sin(half), 0 * half), -1)
    flipped = rotation * torch.where(torch.arange(40) % 3 == 0, -2.0, 1.0)[:, None]  # sign and length do not matter
    pose = Pose(torch.zeros(40, 3, dtype=torch.float64), flipped, torch.zeros(40, 2, 3, dtype=torch.float64))
    coordinates = generalised_coordinates(pose).numpy()
    assert coordinates.shape == (40, 9)
    np.testing.assert_allclose(coordinates[:, 4], 2 * half.numpy(), atol=1e-9)
    assert smoothness.laplacian(coordinates) == pytest.approx(0, abs=1e-9)


def test_tracking_numbers() -> None:
    target = np.zeros((5, 2, 3))
    joints = target.copy()
    joints[:, 1] = (0.3, 0, 0.4)
    assert tracking.joint_error(joints, target) == pytest.approx(0.25)
    assert tracking.coordinate_error(np.full((4, 3), -0.2), np.zeros((4, 3))) == pytest.approx(0.2)
    # A torque of 2 for half of the time, against a weight times leg of 10.
    assert tracking.upright_impulse(np.array([[0, 2.0, 0], [0, 0, 0]]), 10.0) == pytest.approx(0.1)
    # |3 · 2| for 10 steps of 0.1 s, twice (one of them braking).
    torque, speed = np.full((10, 2), 3.0), np.tile((2.0, -2.0), (10, 1))
    assert tracking.mechanical_work(torque, speed, 0.1, 4.0) == pytest.approx(3.0)
