"""Strides, phases and names on feet whose answer is known by hand."""

import numpy as np
import pytest

from akd.contact import treadmill
from akd.gait import measures as gait
from akd.gait.measures import MAX_PHASE_DISTANCE, QUADRUPED_PHASES, gait_name, phase_distance


def feet_of(
    phases: tuple[float, ...], *, cycles: float, frame_count: int, duty: float = 0.6, amplitude: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Fore–aft positions and feet that land at the phases; one stride takes one second."""
    time = np.linspace(0, cycles, frame_count)
    u = (time[:, None] - np.array(phases)) % 1.0
    swing = np.clip((u - duty) / (1 - duty), 0, 1)
    ahead = np.where(u < duty, amplitude * (1 - 2 * u / duty), -amplitude * np.cos(np.pi * swing))
    return ahead, np.stack((ahead, 0.15 * np.sin(np.pi * swing), 0 * ahead), -1)


@pytest.mark.parametrize("cycles", [1.0, 1.25, 1.5, 1.8, 2.0, 3.0])
@pytest.mark.parametrize("frame_count", [17, 60])
@pytest.mark.parametrize("name", QUADRUPED_PHASES)
def test_period_and_phases_of_any_number_of_cycles(cycles: float, frame_count: int, name: str) -> None:
    fps = (frame_count - 1) / cycles
    stride = gait.measure_stride(*feet_of(QUADRUPED_PHASES[name], cycles=cycles, frame_count=frame_count), fps)
    assert stride is not None
    assert stride.landed
    assert stride.period == pytest.approx(1, rel=0.06)
    assert phase_distance(stride.phase, np.array(QUADRUPED_PHASES[name])) < 0.03
    assert gait_name(stride, "LRLR") == name


@pytest.mark.parametrize("cycles", [1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("start", [0.0, 0.3, 0.9])
def test_pure_sinusoids_with_a_drift(cycles: float, start: float) -> None:
    time = np.linspace(0, cycles, 40)
    ahead = 0.2 * np.sin(2 * np.pi * (time[:, None] + np.array([start, start + 0.4]))) + 0.13 * time[:, None]
    airborne = np.stack((ahead, 1 + 0 * ahead, 0 * ahead), -1)
    stride = gait.measure_stride(ahead, airborne, 39 / cycles)
    assert stride is not None
    assert not stride.landed
    assert stride.period == pytest.approx(1, rel=0.01)
    foremost = (0.25 - start - np.array([0, 0.4])) % 1
    np.testing.assert_allclose(np.exp(2j * np.pi * stride.phase), np.exp(2j * np.pi * foremost), atol=0.06)
    assert stride.amplitude == pytest.approx(0.2, rel=0.06)
    assert stride.duty.max() == 0


def test_noise_does_not_hide_the_stride() -> None:
    ahead, feet = feet_of(QUADRUPED_PHASES["walk"], cycles=2.0, frame_count=17)
    noise = np.random.default_rng(3).normal(scale=0.03, size=ahead.shape)
    stride = gait.measure_stride(ahead + noise, feet, 8.0)
    assert stride is not None
    assert stride.period == pytest.approx(1, rel=0.05)


def test_touch_down_lies_between_frames() -> None:
    height = np.array([0.1, 0.1, 0.05, 0.01, 0.0, 0.0, 0.0, 0.1, 0.1])  # sinks through 0.03 half-way from frame 2 to 3
    assert gait.touch_down(height, -np.arange(9.0), 1.0, 10.0, closed=False) == pytest.approx(0.25)


def test_a_foot_that_skims_the_ground_lands_where_it_turns_back() -> None:
    time = np.arange(41) / 40
    ahead = np.sin(2 * np.pi * (time - 0.1))  # foremost at 0.35
    assert gait.touch_down(0 * time, ahead, 40.0, 1.0, closed=True) == pytest.approx(0.35, abs=0.005)


def test_touch_down_of_the_longest_contact_and_around_the_seam() -> None:
    brushed = np.array([0.2, 0.0, 0.2, 0.2, 0.0, 0.0, 0.0, 0.0, 0.2, 0.2])
    expected = (4 - 0.15) / 9  # 0.2 → 0 passes 0.03 at 85 % of the way
    back = np.zeros(10)
    assert gait.touch_down(brushed, back, 1.0, 9.0, closed=False) == pytest.approx(expected)
    turned = np.append(brushed[1:], 0.0)  # the same round, begun a frame later
    assert gait.touch_down(turned, back, 1.0, 9.0, closed=True) == pytest.approx(expected - 1 / 9)
    wrapped = np.array([0.0, 0.0, 0.2, 0.2, 0.2, 0.0, 0.0])  # closed: the contact begins at frame 5 and goes on over the seam
    assert gait.touch_down(wrapped, np.zeros(7), 1.0, 6.0, closed=True) == pytest.approx((5 - 0.15) / 6)


def test_feet_that_never_land_or_never_lift_have_no_touch_down() -> None:
    assert gait.touch_down(np.zeros(9), np.zeros(9), 1.0, 4.0, closed=False) is None
    assert gait.touch_down(np.ones(9), np.zeros(9), 1.0, 4.0, closed=False) is None


def test_still_feet_have_no_stride() -> None:
    assert gait.measure_stride(np.zeros((17, 2)), np.zeros((17, 2, 3)), 8.0) is None
    assert gait.measure_stride(np.zeros((3, 2)), np.zeros((3, 2, 3)), 8.0) is None


@pytest.mark.parametrize(("apart", "expected"), [(0.0, 0.0), (0.25, 0.5), (0.5, 1.0), (1.0, 0.0)])
def test_alternation(apart: float, expected: float) -> None:
    phase = np.array([0.2, 0.2 + apart])
    assert gait.alternation(phase, np.array([0.3, 0.1])) == pytest.approx(expected)
    assert gait.alternation(phase, np.array([0.3, 0.09])) == 0


def test_froude_is_the_same_for_similar_animals() -> None:
    assert gait.froude(np.sqrt(9.81), 1.0) == pytest.approx(1)
    # Twice as long legs, the same speed in m/s: half the number in ℓ/s, half the Froude number.
    assert gait.froude(1.5, 2.0) == pytest.approx(gait.froude(3.0, 1.0) / 2)


@pytest.mark.parametrize(("course", "turn"), [(0.0, 0.0), (np.pi, 0.0), (0.5, 0.0), (0.7, 0.7), (0.7, -0.7)])
def test_heading_is_a_cosine(course: float, turn: float) -> None:
    time = np.arange(20) / 10
    root = np.stack((np.cos(course) * time, 0 * time, -np.sin(course) * time), -1)
    assert gait.heading(root, np.full(20, turn), 10.0) == pytest.approx(np.cos(course - turn), abs=1e-12)
    assert gait.heading(np.zeros((20, 3)), np.zeros(20), 10.0) is None


def test_crossed_limbs_counts_frames() -> None:
    left, right = np.zeros((4, 2, 3)), np.zeros((4, 2, 3))
    left[..., 2], right[..., 2] = -0.1, 0.1
    left[1, 0, 2] = left[1, 1, 2] = left[2, 1, 2] = 0.15
    assert gait.crossed_share(left, right) == 0.5


def test_names_ignore_the_common_phase_and_the_leading_side() -> None:
    for name, template in QUADRUPED_PHASES.items():
        for shift in (0.0, 0.33, 0.9):
            phase = (np.array(template) + shift) % 1
            assert phase_distance(phase, np.array(template)) == pytest.approx(0, abs=1e-12)
            assert gait_name(stride_at(phase), "LRLR") == name
            assert gait_name(stride_at(phase[[1, 0, 3, 2]]), "LRLR") == name


def test_far_phases_and_small_swings_have_no_name() -> None:
    assert gait_name(stride_at(np.array([0.0, 0.25, 0.25, 0.0])), "LRLR") is None
    assert gait_name(stride_at(np.array(QUADRUPED_PHASES["trot"]), amplitude=0.05), "LRLR") is None
    assert gait_name(stride_at(np.array([0.0, 0.5, 0.2])), "LRC") is None
    assert gait_name(stride_at(np.zeros(6)), "LRLRLR") is None
    spread = min(
        phase_distance(np.array(QUADRUPED_PHASES["walk"]), np.array(QUADRUPED_PHASES[other])) for other in ("trot", "pace")
    )
    assert spread > MAX_PHASE_DISTANCE


def stride_at(phase: np.ndarray, amplitude: float = 0.3) -> gait.StrideMeasures:
    return gait.StrideMeasures(1.0, phase, np.full(len(phase), amplitude), np.full(len(phase), 0.6), True)


def test_treadmill_is_opposite_to_the_feet_in_stance() -> None:
    time = np.arange(21) / 10
    feet = np.zeros((21, 2, 3))
    feet[:, 0] = np.stack((-0.8 * time, 0 * time, 0.6 * time), -1)
    feet[:, 1] = np.stack((5 * time, 0 * time + 1, time), -1)  # in the air: does not count
    root = np.zeros((21, 3))
    velocity = treadmill.treadmill_velocity(feet, root, 10.0)
    assert velocity is not None
    np.testing.assert_allclose(velocity, (0.8, 0, -0.6), atol=1e-12)
    np.testing.assert_allclose(treadmill.on_treadmill(feet, velocity, 10.0)[:, 0], 0, atol=1e-12)
    assert treadmill.treadmill_velocity(feet, root + time[:, None], 10.0) is None  # it travels by itself
    feet[:, 0, 0] = 0.3 * np.sin(7 * time)
    assert treadmill.treadmill_velocity(feet, root, 10.0) is None  # it shuffles to and fro


def test_stance_heights_follow_the_artist_but_not_into_the_air() -> None:
    feet = np.zeros((20, 3, 3))
    feet[:, 0, 1] = np.where(np.arange(20) < 12, 0.06, 0.3)
    feet[:, 1, 1] = np.where(np.arange(20) < 12, -0.04, 0.3)
    feet[:, 2, 1] = 0.5
    ahead = np.broadcast_to(np.abs(np.arange(20) - 12)[:, None] / 20, (20, 3))  # pulled back for the first twelve frames
    np.testing.assert_allclose(treadmill.stance_heights(feet, ahead), (0.06, -0.04, treadmill.MAX_GROUND_OFFSET))
    feet[9:12, 0, 1] = -0.05  # toes that dig in as they push off do not lower the ground
    np.testing.assert_allclose(treadmill.stance_heights(feet, ahead)[0], 0.06)
