"""A whole evaluation of strides whose numbers were chosen."""

import json
import tracemalloc

import numpy as np
import pytest
import torch

from akd.contact.traces import trace
from akd.gait import measures as gait
from akd.gait.measures import QUADRUPED_PHASES
from akd.measure.evaluation import evaluate, leg_pairs, movement, verdict
from akd.measure.wording import verdict_sentence
from sample_rigs import box_rig, stride


def test_the_sample_stride_is_what_it_says() -> None:
    rig = box_rig(2)
    seen = trace(rig, stride(rig, QUADRUPED_PHASES["walk"], duty=0.6, amplitude=0.25, fps=40))
    low = seen.feet[..., 1] < 1e-9
    locked = low[1:] & low[:-1]
    moved = np.linalg.norm(np.diff(seen.feet[..., [0, 2]], axis=0), axis=-1)
    assert moved[locked].max() < 1e-9
    np.testing.assert_allclose(low[:-1].mean(0), 0.6, atol=0.03)


@pytest.mark.parametrize("name", QUADRUPED_PHASES)
@pytest.mark.parametrize(("fps", "seconds", "period"), [(30.0, 2.0, 1.0), (8.0, 2.0, 1.0), (24.0, 1.0, 1.0), (24.0, 1.5, 1.0)])
def test_gaits_of_four_legs(name: str, fps: float, seconds: float, period: float) -> None:
    rig = box_rig(2)
    duty = 0.65 if name == "walk" else 0.45
    motion = stride(rig, QUADRUPED_PHASES[name], duty=duty, period=period, seconds=seconds, fps=fps)
    result = evaluate(rig, motion, from_file=False)
    assert result.gait == name
    assert result.verdict == "good", result
    assert result.skating_ratio < 0.13  # feet that come down or leave are below 0.03 ℓ for a moment while still fast
    assert result.stride_frequency == pytest.approx(1 / period, rel=0.06)
    assert result.duty_factor == pytest.approx(duty, abs=0.1)
    assert result.travel == pytest.approx(2 * 0.25 / duty)
    assert result.heading == pytest.approx(1)
    assert result.froude == pytest.approx((0.5 / duty) ** 2 / 9.81)
    assert result.bone_stretch == pytest.approx(0, abs=1e-12)
    assert result.crossed_limbs == 0
    if fps >= 24:
        assert result.amplitudes == pytest.approx((0.25,) * 4, abs=0.02)


@pytest.mark.parametrize(("duty", "phases", "name"), [(0.6, (0, 0.5), "walk"), (0.35, (0, 0.5), "run"), (0.4, (0.2, 0.2), "hop")])
def test_gaits_of_two_legs(duty: float, phases: tuple[float, float], name: str) -> None:
    rig = box_rig(1)
    result = evaluate(rig, stride(rig, phases, duty=duty), from_file=False)
    assert result.gait == name
    assert result.alternation == pytest.approx((0.0 if name == "hop" else 1.0,), abs=1e-3)


@pytest.mark.parametrize(
    ("pairs", "phases", "name"),
    [
        (3, (0, 0.5, 0.5, 0, 0, 0.5), "tripod"),
        (4, (0, 0.5, 0.5, 0, 0, 0.5, 0.5, 0), "alternating tetrapod"),
        (3, (0.5, 0, 0.3, 0.8, 0.1, 0.6), "wave"),
    ],
)
def test_gaits_of_many_legs(pairs: int, phases: tuple[float, ...], name: str) -> None:
    rig = box_rig(pairs)
    assert evaluate(rig, stride(rig, phases), from_file=False).gait == name


def test_a_clip_in_place_is_measured_on_its_treadmill_only_if_it_comes_from_a_file() -> None:
    rig = box_rig(2)
    motion = stride(rig, QUADRUPED_PHASES["trot"], duty=0.5, amplitude=0.4, in_place=True)
    artist, ours = evaluate(rig, motion, from_file=True), evaluate(rig, motion, from_file=False)
    assert artist.treadmill_speed == pytest.approx(1.6, rel=0.02)
    assert artist.verdict == "good"
    assert artist.skating_ratio == 0
    assert artist.heading == pytest.approx(1, abs=1e-3)
    assert artist.travel == 0
    assert artist.gait == "trot"
    assert any("treadmill" in note for note in artist.notes)
    assert ours.treadmill_speed is None
    assert ours.skating_ratio == 1
    assert ours.verdict == "sliding"


def test_feet_of_a_file_stand_where_the_artist_put_the_ground() -> None:
    rig = box_rig(2)
    hovering = stride(rig, QUADRUPED_PHASES["walk"], drop=-0.06)
    artist, ours = evaluate(rig, hovering, from_file=True), evaluate(rig, hovering, from_file=False)
    assert artist.ground_heights == pytest.approx((0.06,) * 4, abs=1e-6)
    assert artist.duty_factor == pytest.approx(0.6, abs=0.06)
    assert artist.float_height == ours.float_height == pytest.approx(0.06)
    assert ours.contact_share == 0
    assert ours.skating_ratio is None


def test_verdicts() -> None:
    rig = box_rig(2)
    walk = QUADRUPED_PHASES["walk"]
    assert evaluate(rig, stride(rig, walk, amplitude=0.01, lift=0.01), from_file=False).verdict == "tiny"
    assert evaluate(rig, stride(rig, walk, drop=-0.2), from_file=False).verdict == "floating"
    assert evaluate(rig, stride(rig, walk, drop=0.2), from_file=False).verdict == "broken"


def test_a_rig_without_legs_has_no_feet_numbers() -> None:
    rig = box_rig(0)
    result = evaluate(rig, stride(rig, ()), from_file=False)
    assert result.gait is None
    assert result.skating_ratio is None
    assert result.motion_amount == 0
    assert any("no legs" in note for note in result.notes)


def test_a_leg_without_a_sole_stands_on_its_last_joint() -> None:
    rig = box_rig(2)
    bare = type(rig)(rig.mesh, rig.skeleton, rig.weights, name="bare")
    result = evaluate(bare, stride(bare, QUADRUPED_PHASES["walk"]), from_file=False)
    assert result.gait == "walk"


@pytest.mark.parametrize("frame_count", [1, 2, 3, 4, 5])
def test_clips_of_few_frames(frame_count: int) -> None:
    rig = box_rig(2)
    motion = stride(rig, QUADRUPED_PHASES["walk"], seconds=(frame_count - 1) / 8, fps=8)
    assert motion.frame_count == frame_count
    for from_file in (True, False):
        json.dumps(evaluate(rig, motion, from_file=from_file).as_dict(), allow_nan=False)


def test_rows_and_dictionary_hold_every_number() -> None:
    rig = box_rig(1)
    result = evaluate(rig, stride(rig, (0, 0.5)), from_file=False)
    stored = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert stored["gait"] == "walk"
    assert dict(result.rows())["gait"] == "walk"
    assert len(result.rows()) == len(stored) - 1


def test_float32_motions_are_welcome() -> None:
    rig = box_rig(2)
    motion = stride(rig, QUADRUPED_PHASES["trot"])
    single = type(motion)(motion.pose.to(torch.float32), motion.fps)
    assert evaluate(rig, single, from_file=False).gait == "trot"


def test_pairs_are_found_by_side_and_order() -> None:
    np.testing.assert_array_equal(leg_pairs(box_rig(2).legs), [[0, 1], [2, 3]])
    assert leg_pairs(box_rig(2).legs[:1]).shape == (0, 2)


def test_a_walk_that_hardly_moves_is_not_good_unless_it_was_asked_to_stand() -> None:
    rig = box_rig(2)
    slow = stride(rig, QUADRUPED_PHASES["walk"], amplitude=0.06, lift=0.05, period=1.6)
    plain = evaluate(rig, slow, from_file=False)
    assert 0.1 < plain.motion_amount < 0.2
    assert plain.verdict == "good"
    assert evaluate(rig, slow, from_file=False, asked="walk").verdict == "hardly moves"
    assert verdict_sentence(plain, "run").startswith("Hardly moves: ")
    assert verdict_sentence(plain, "idle") == verdict_sentence(plain) == verdict_sentence(plain, None)
    walk = evaluate(rig, stride(rig, QUADRUPED_PHASES["walk"]), from_file=False, asked="walk")
    assert walk.verdict == "good"


def test_legs_of_one_bone_move_with_their_feet() -> None:
    """Their only joints are hips, which stay in place however far the feet swing."""
    walk = vars(evaluate(box_rig(2), stride(box_rig(2), QUADRUPED_PHASES["walk"]), from_file=False))
    stiff = walk | {"motion_amount": 0.0}
    assert movement(stiff) == pytest.approx(4 * 0.25 * 1.0, rel=0.1)
    assert verdict(stiff, "walk") == "good"
    assert verdict(stiff | {"amplitudes": None}, "walk") == "tiny"


def wandering_feet(frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Fore–aft positions and heights of four feet that stride, drift and tremble, so that their ends do not meet."""
    random, time = np.random.default_rng(0), np.arange(frames) / 30
    phase = 2 * np.pi * (1.3 * time[:, None] + np.array(QUADRUPED_PHASES["walk"]))
    fore_aft = 0.25 * np.sin(phase) + 0.3 * time[:, None] / time[-1] + 0.01 * random.normal(size=(frames, 4))
    height = 0.06 * np.cos(phase) + 0.03 + 0.005 * random.normal(size=(frames, 4))
    return fore_aft, np.stack((fore_aft, height, np.zeros_like(height)), -1)


def test_memory_grows_with_the_frames_and_not_with_their_square() -> None:
    def peak(frames: int) -> int:
        fore_aft, feet = wandering_feet(frames)
        tracemalloc.start()
        try:
            gait.measure_stride(fore_aft, feet, 30.0)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(1_000), peak(4_000)
    assert few < 50e6
    assert many < 6 * few


def test_an_hour_has_the_stride_of_a_minute() -> None:
    minute, hour = (gait.measure_stride(*wandering_feet(frames), 30.0) for frames in (1_800, 108_000))
    assert hour.frequency == pytest.approx(1.3, abs=1e-4)
    assert minute.frequency == pytest.approx(1.3, abs=1e-3)
    np.testing.assert_allclose(hour.duty, minute.duty, atol=0.01)


@pytest.mark.parametrize("frames", [17, 60, 257])
def test_the_fourier_transform_explains_as_much_as_the_fit(frames: int) -> None:
    fore_aft, _ = wandering_feet(frames)
    cycles = np.arange(0.75, (frames - 1) / 3, 0.05)
    exact, fast = gait._explained(fore_aft, cycles), gait._explained_on_grid(fore_aft, 15, len(cycles))
    trend = exact - fast  # the grid leaves out what the trend explains, which is the same for every number of cycles
    assert np.ptp(trend) < 1e-9 * exact.max()


@pytest.mark.parametrize("cycle", [None, 20.0])
def test_the_longest_contact_near_each_is_the_longest_of_all_near_it(cycle: float | None) -> None:
    random = np.random.default_rng(3)
    for reach in (0.5, 2.0, 9.0, 30.0):
        times = np.unique(random.integers(0, 80, 30)) / 4  # many pairs are exactly as far apart as the reach
        lengths = random.integers(1, 6, len(times))
        apart = np.abs(times[:, None] - times)
        apart = apart if cycle is None else np.minimum(apart, cycle - apart)
        longest = np.where(apart < reach, lengths, 0).max(1)
        np.testing.assert_array_equal(gait._longest_near(times, lengths, reach, cycle), longest)
