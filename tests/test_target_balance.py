"""Balance: a body is shifted over the feet that carry it, no further than it must be, and only if it must be."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from akd.contact.dynamics import _least_shift, _nearest_in_hull
from akd.contact.prepare import TargetSettings, prepare
from akd.contact.stance import close_gaps, extend_while_tipping
from akd.contact.traces import trace
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion

G = 10.0
SQUARE = np.array([(-0.1, -0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, 0.1)])


def standing(centre: np.ndarray, tilt: np.ndarray | None = None) -> np.ndarray:
    """The shift of a body whose centre moves like this over a square that always carries."""
    points = np.repeat(SQUARE[None], len(centre), axis=0)
    tilt = np.zeros((len(centre), 2)) if tilt is None else tilt
    return _least_shift(centre, tilt, points, np.ones(points.shape[:2], bool), 0.3, G, 30.0)


def test_what_is_over_its_feet_stays():
    still = np.tile((0.05, 1.0, -0.08), (40, 1))
    assert np.abs(standing(still)).max() < 1e-3


def test_what_stands_beside_its_feet_is_shifted_to_their_edge():
    beside = np.tile((0.0, 1.0, 0.4), (240, 1))
    shift = standing(beside)
    assert np.abs(shift[:, 0]).max() < 1e-3
    # At its ends it may lean, as one who starts or stops; and a twentieth of the fault is left.
    assert shift[100:140, 1] == pytest.approx(-0.3 / 1.05, abs=0.005)


def test_angular_momentum_counts_like_weight_beside_the_feet():
    still, tilt = np.tile((0.0, 1.0, 0.0), (240, 1)), np.tile((0.3, 0.0), (240, 1))
    assert standing(still, tilt)[100:140, 0] == pytest.approx(-0.2 / 1.05, abs=0.005)


def test_accelerating_sideways_is_leaning():
    """A centre that swings with ω presses at x (1 + h ω²/g): it may swing less far than its feet reach."""
    times, omega = np.arange(90) / 30, 2 * np.pi
    swing = np.stack((0 * times, 1 + 0 * times, 0.1 * np.sin(omega * times)), -1)
    left = 0.1 * np.sin(omega * times) + standing(swing)[:, 1]
    pressure = left[1:-1] - np.diff(left, 2) * 30**2 / G
    assert np.abs(pressure[20:-20]).max() < 0.1 * 1.35
    assert np.abs(left[20:-20]).max() < 0.06


def test_the_nearest_place_in_the_support():
    points, carries = np.repeat(SQUARE[None], 2, axis=0), np.array([[True] * 4, [True, False, True, False]])
    wanted = np.array([[0.5, 0.02], [0.03, 0.5]])
    press = np.zeros((2, 2)) + (0.0, -0.1)
    for _ in range(60):
        press = _nearest_in_hull(points, carries, press, wanted)
    assert press == pytest.approx(np.array([[0.1, 0.02], [0.03, -0.1]]), abs=0.01)


def test_a_walk_has_no_flight_but_a_run_has():
    stands = np.zeros((12, 2), bool)
    stands[:4, 0] = stands[8:, 1] = True
    times = np.arange(12) / 30
    walking = close_gaps(stands, 1 + 0 * times, G, 30.0)
    assert walking.any(1).all()
    assert walking[:, 0].sum() == walking[:, 1].sum() == 6
    flying = close_gaps(stands, 1 + 2 * times - G / 2 * times**2, G, 30.0)
    assert np.array_equal(flying, stands)


def test_feet_are_there_in_time_for_a_body_that_would_tip_for_a_moment_only():
    stands = np.zeros((20, 2), bool)
    stands[:10, 0], stands[10:, 1], stands[:8, 1] = True, True, True
    briefly = np.isin(np.arange(20), (8, 9))
    held = extend_while_tipping(stands, briefly, 30.0)
    assert held[8].all()
    assert held[9].all()
    assert (held | briefly[:, None] == stands | briefly[:, None]).all()
    assert (extend_while_tipping(stands, np.arange(20) > 5, 30.0) == stands).all()


@pytest.mark.parametrize("plan", ["dog", "human"])
def test_a_good_gait_only_sways(plan: str):
    """Without balance hardly anything changes; with it the body goes to the side, and its feet stay where they were."""
    rig = creature(plan, 0)
    motion = gait_motion(rig, "walk")
    given = trace(rig, motion)
    still = trace(rig, prepare(rig, motion, TargetSettings(balance=False)).motion)
    assert np.linalg.norm(still.joints - given.joints, axis=-1).mean() < 0.008
    target = prepare(rig, motion)
    swayed = trace(rig, target.motion)
    assert 0.01 < target.shifted < 0.12
    assert abs((swayed.joints - given.joints)[..., 1].mean()) < 0.008
    assert any("balance" in note for note in target.notes)
    low = np.minimum(given.feet[..., 1], swayed.feet[..., 1]) < 0.01
    assert np.median(np.linalg.norm((swayed.feet - given.feet)[..., [0, 2]], axis=-1)[low]) < 0.02


def test_balance_can_be_left_alone():
    rig = creature("dog", 0)
    motion = gait_motion(rig, "walk")
    motion = replace(motion, pose=motion.pose.to(torch.float64))
    assert prepare(rig, motion, TargetSettings(balance=False)).shifted == 0
