"""Contact metrics on feet whose answer is known by hand."""

import numpy as np
import pytest

from akd.contact import measures as contact

FPS = 20.0


def one_foot(speed: float, height: float, frame_count: int = 17) -> np.ndarray:
    """A foot that moves along (3, 4)/5 on the ground at a constant speed and height."""
    way = speed * np.arange(frame_count) / FPS
    return np.stack((0.6 * way, np.full(frame_count, height), 0.8 * way), -1)[:, None]


@pytest.mark.parametrize(("speed", "ratio"), [(0.0, 0.0), (0.54, 0.0), (0.56, 1.0), (3.0, 1.0)])
def test_a_low_foot_skates_above_the_threshold_speed(speed: float, ratio: float) -> None:
    assert contact.skating_ratio(one_foot(speed, 0.029), FPS) == ratio


def test_a_high_foot_does_not_skate_and_is_not_in_contact() -> None:
    feet = one_foot(3.0, 0.031)
    assert contact.skating_ratio(feet, FPS) is None
    assert contact.contact_share(feet) == 0


def test_a_foot_frame_counts_only_if_the_next_frame_is_low_too() -> None:
    feet = one_foot(3.0, 0.0, 9)
    feet[3, 0, 1] = 1.0  # steps 2 and 3 touch it: 6 of the 8 steps remain
    assert contact.skating_ratio(np.concatenate((feet, one_foot(0.0, 0.0, 9)), 1), FPS) == 6 / 14


def test_a_single_fast_step_is_not_skating_because_its_mean_is_slow() -> None:
    feet = one_foot(0.0, 0.0, 11)
    feet[6:, 0, 0] += 2.7 / FPS  # one step at 2.7 ℓ/s, 0.54 on average over five
    assert contact.skating_ratio(feet, FPS) == 0
    feet[6:, 0, 0] += 0.1 / FPS
    assert contact.skating_ratio(feet, FPS) == 0.1


def test_the_mean_speed_at_the_ends_is_over_the_steps_that_exist() -> None:
    feet = one_foot(0.0, 0.0, 11)
    feet[1:, 0, 0] += 1.7 / FPS  # the first step has two right neighbours: 1.7 / 3 > 0.55
    assert contact.skating_ratio(feet, FPS) == 0.1


@pytest.mark.parametrize(("height", "factor"), [(-0.02, 1.0), (0.0, 1.0), (0.025, 2 - 2**0.5), (0.04, 2 - 2**0.8)])
def test_slide_fades_with_height(height: float, factor: float) -> None:
    assert contact.slide(one_foot(2.0, height)) == pytest.approx(2.0 / FPS * factor)


def test_slide_of_feet_in_the_air_is_not_defined() -> None:
    assert contact.slide(one_foot(2.0, 0.05)) is None


def test_penetration_and_float_share_the_lowest_vertex() -> None:
    lowest = np.array([0.0, -0.004, -0.1, 0.3])
    assert contact.penetration(lowest) == pytest.approx((0.026, 0.1, 0.25))
    assert contact.floating(lowest) == pytest.approx(0.075)


def test_air_time_needs_every_foot_up() -> None:
    heights = np.array([[0.06, 0.06], [0.06, 0.0], [0.0, 0.06], [0.05, 0.06]])
    feet = np.zeros((4, 2, 3))
    feet[..., 1] = heights
    assert contact.air_time(feet) == 0.25


def test_corner_depth_is_a_mean_over_all_corners() -> None:
    corners = np.zeros((2, 1, 8, 3))
    corners[0, 0, 0, 1], corners[1, 0, 3, 1] = -0.16, 5.0
    assert contact.corner_depth(corners) == pytest.approx(0.01)
