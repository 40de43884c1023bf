"""Retargeted feet: looked at between the frames, locked in stance, rolling evenly, and never taken for standing in the air."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from akd.character.limb_model import limb_model
from akd.contact.prepare import FootMotion
from akd.contact.roll import MAX_ROLL_SPEED, _evenly, even_roll, rolling_path
from akd.contact.stance import lock_paths
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.retarget.feet import CATCH_UP, CLEARANCE, EARLY, RISE, found_stance
from akd.retarget.measures import measure_retarget, phase_difference, source_stance
from akd.retarget.retarget import retarget
from akd.retarget.sampling import CONTACT_RATE, divided, steps_per_frame
from akd.skeleton import joint_rotations

FPS = 120.0


def test_dividing_keeps_the_frames_and_turns_steadily_in_between():
    frames = np.arange(6.0)
    root = np.outer(frames, (0.3, 0.0, -0.1))
    rotations = Rotation.from_rotvec(np.outer(0.2 * frames, (0.0, 0.6, 0.8))).as_matrix()[:, None]
    path, turned = divided(root, rotations, 4)
    assert len(path) == len(turned) == 21
    np.testing.assert_array_equal(turned[::4], rotations)
    np.testing.assert_allclose(path, np.outer(np.arange(21) / 4, (0.3, 0.0, -0.1)), atol=1e-12)
    angles = Rotation.from_matrix(turned[:, 0]).magnitude()
    np.testing.assert_allclose(angles, 0.05 * np.arange(21), atol=2e-4)


@pytest.mark.parametrize("fps", [12.0, 24.0, 30.0, 60.0, 120.0, 240.0])
def test_every_rate_is_divided_into_whole_steps_of_about_the_contact_rate(fps: float):
    assert steps_per_frame(fps) == max(CONTACT_RATE / fps, 1)


def test_a_roll_is_spread_over_the_time_before_it_and_ends_where_it_did():
    rolled = np.concatenate((np.zeros(20), np.linspace(0, 0.1, 6)))
    when = _evenly(rolled, 0.01)
    assert when[0] == pytest.approx(0)
    assert when[-1] == pytest.approx(len(rolled) - 1)
    assert np.diff(when).min() >= 0
    steps = np.diff(np.interp(when, np.arange(len(rolled)), rolled))
    assert steps.max() == pytest.approx(0.01, rel=1e-3)
    np.testing.assert_allclose(steps[:15], 0, atol=1e-7)  # not earlier than it must


def test_a_roll_that_is_slow_enough_stays_as_it_is():
    rolled = np.linspace(0, 0.1, 30)
    np.testing.assert_array_equal(_evenly(rolled, 0.01), np.arange(30))


def test_the_feet_of_a_runner_roll_evenly():
    rig = creature("human", 0)
    model, motion = limb_model(rig), gait_motion(rig, "run", cycles=2, fps=FPS)
    root, local = motion.pose.root_position.double().numpy(), joint_rotations(rig.skeleton, motion.pose).double().numpy()
    stance = source_stance(rig, motion)

    def fastest(rotations: np.ndarray) -> float:
        steps = np.linalg.norm(np.diff(rolling_path(model, root, rotations), axis=0), axis=-1) * FPS
        return float(np.quantile(steps[stance[1:] & stance[:-1]], 0.98))

    evened = even_roll(model, root, local, stance, FPS)
    assert fastest(evened) < min(fastest(local) + 1e-9, MAX_ROLL_SPEED + 0.12)
    swinging = [joint for joint in range(rig.skeleton.joint_count) if joint not in {j for leg in rig.legs for j in leg.joints}]
    np.testing.assert_array_equal(evened[:, swinging], local[:, swinging])


def walking_foot(stance: np.ndarray) -> np.ndarray:
    """The path of a foot that stands still, low, where it stands, and goes on in between."""
    speed = np.where(stance, 0.0, 4.0) / FPS
    return np.stack((np.cumsum(speed), np.where(stance, 0.01, 0.03), 0 * speed), -1)[:, None]


def test_a_foot_leaves_the_ground_before_its_stance_ends_and_moves_on_after_it():
    stance = np.zeros(180, bool)
    stance[:60] = stance[120:] = True
    path = lock_paths(walking_foot(stance), stance[:, None], None, CLEARANCE, CATCH_UP, rise=RISE, early=EARLY)[:, 0]
    np.testing.assert_allclose(path[:50, 1], 0, atol=1e-9)
    assert path[59, 1] > 0.04
    assert path[120, 1] > 0.04
    assert path[60:120, 1].min() > 0.04
    np.testing.assert_allclose(np.ptp(path[:60, 0]), 0, atol=1e-9)
    late = lock_paths(walking_foot(stance), stance[:, None], None, CLEARANCE, CATCH_UP, rise=RISE)[:, 0]
    np.testing.assert_allclose(late[:60, 1], 0, atol=1e-9)


def test_a_foot_that_goes_back_much_faster_than_the_body_goes_on_does_not_stand():
    body, frames = 1.0, np.arange(60) / FPS

    def stands(back: float) -> bool:
        feet = np.stack((frames * (body - back), 0 * frames, 0 * frames), -1)[:, None]
        seen = FootMotion(feet, np.tile((-back, 0.0), (60, 1, 1)), 0 * frames, np.array((body, 0.0)))
        return bool(found_stance(seen, FPS).all())

    assert stands(1.0)
    assert stands(0.4)  # drawn feet slow down as they stand
    assert stands(2.5)
    assert not stands(3.5)


def test_phases_are_compared_only_where_feet_land_with_a_rhythm():
    stance, dance = np.zeros((200, 2), bool), np.zeros((200, 2), bool)
    for start in range(10, 200, 40):
        stance[start : start + 20, 0] = stance[start + 20 : start + 40, 1] = True
    for start in (5, 22, 80, 103, 171):
        dance[start : start + 9, 0] = dance[start + 4 : start + 12, 1] = True
    assert phase_difference(stance, np.roll(stance, 7, axis=0)) == pytest.approx(0, abs=1e-6)
    assert phase_difference(dance, dance) is None


@pytest.mark.parametrize(("plan", "gait", "target"), [("dog", "gallop", "horse"), ("human", "run", "child")])
def test_a_stride_of_few_frames_is_retargeted_to_within_less_than_a_frame(plan: str, gait: str, target: str):
    rig, other = creature(plan, 0), creature(target, 0)
    motion = gait_motion(rig, gait, cycles=1, frames=14)
    numbers = measure_retarget(retarget(motion, rig, other), rig, other)
    frame = 1 / (motion.frame_count - 1)
    assert numbers.duty_difference is not None
    assert numbers.duty_difference < 0.7 * frame
    assert numbers.phase_difference is None or numbers.phase_difference < 0.7 * frame
