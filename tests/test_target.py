"""Targets: what floats, sinks or skates is put on its feet; what is right already stays."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.character.limb_model import limb_model
from akd.contact.foot_lock import foot_positions, solve_legs
from akd.contact.prepare import TargetSettings, prepare
from akd.contact.stance import detect_stance, intervals, lock_paths, smooth_swing
from akd.contact.traces import trace
from akd.contact.treadmill import ground_line, implied_velocity
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.errors import AkdError
from akd.measure.evaluation import evaluate
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Pose, forward_kinematics, joint_rotations

PLANS = ("dog", "human", "spider")


@pytest.fixture(scope="module", params=PLANS)
def walker(request) -> tuple[Rig, Motion]:
    rig = creature(request.param, 0)
    return rig, gait_motion(rig, "walk")


def moved(motion: Motion, *, up: float = 0.0, faster: float = 0.0) -> Motion:
    position = motion.pose.root_position.clone()
    position[:, 1] += up
    position[:, 0] += faster * (position[:, 0] - position[0, 0])
    return replace(motion, pose=Pose(position, motion.pose.root_rotation, motion.pose.angles))


def test_a_good_gait_stays_as_it_is(walker):
    rig, motion = walker
    target = prepare(rig, motion, TargetSettings(balance=False))
    here, there = (trace(rig, m).joints for m in (motion, target.motion))
    assert np.abs(here - there).max() < 0.15
    assert np.linalg.norm(here - there, axis=-1).mean() < 0.008
    assert not target.travel.any()
    assert target.loops


@pytest.mark.parametrize("fault", [{"up": 0.05}, {"up": -0.05}, {"up": 0.3}, {"faster": 0.3}, {"faster": -1.0}])
def test_a_spoilt_gait_stands_again(walker, fault: dict):
    rig, motion = walker
    target = prepare(rig, moved(motion, **fault))
    after, original = (evaluate(rig, m, from_file=False) for m in (target.motion, motion))
    assert after.skating_ratio == pytest.approx(0, abs=0.03)
    assert after.penetration_max < 0.006
    assert after.float_height < 0.01
    assert after.travel == pytest.approx(original.travel, rel=0.12)


def test_a_drift_upwards_is_taken_out():
    rig = creature("dog", 0)
    motion = gait_motion(rig, "walk", cycles=3)
    position = motion.pose.root_position.clone()
    position[:, 1] += torch.linspace(0, 0.2, len(position))
    target = prepare(rig, replace(motion, pose=Pose(position, motion.pose.root_rotation, motion.pose.angles)))
    after = evaluate(rig, target.motion, from_file=False)
    assert after.float_height < 0.02
    assert after.penetration_max < 0.01


def test_loops_stay_loops(walker):
    rig, motion = walker
    pose = prepare(rig, moved(motion, faster=-1.0, up=0.04)).motion.pose
    rotations = joint_rotations(rig.skeleton, pose)
    assert torch.allclose(rotations[0], rotations[-1], atol=1e-5)
    assert pose.root_position[0, 1] == pytest.approx(float(pose.root_position[-1, 1]), abs=1e-5)


def test_settings_leave_alone_what_they_say():
    rig = creature("dog", 0)
    lifted = moved(gait_motion(rig, "walk"), up=0.05)
    target = prepare(rig, lifted, TargetSettings(travel=False, ground=False, lock=False))
    same = forward_kinematics(rig.skeleton, lifted.pose).position - forward_kinematics(rig.skeleton, target.motion.pose).position
    assert same.abs().max() < 1e-4


@pytest.mark.parametrize(("file", "clip"), [("cesium_man/CesiumMan.glb", "clip0"), ("q_trex/Trex.glb", "Armature|TRex_Walk")])
def test_artists_walks_in_place_get_their_travel_and_stand(assets: Path, file: str, clip: str):
    rig = load_rig(assets / file)
    motion = read_clip(rig, clip).motion
    target = prepare(rig, motion)
    before, after = evaluate(rig, motion, from_file=True), evaluate(rig, target.motion, from_file=False)
    assert target.travel[0] > 0.5
    assert (before.skating_ratio or 0) > 0.2 > 0.05 > (after.skating_ratio or 0)
    assert after.penetration_max < 0.01 < before.penetration_max


def test_a_rig_without_legs_is_only_put_on_the_ground(assets: Path):
    rig = load_rig(assets / "q_snake/Snake.glb")
    assert rig.origin is not None
    motion = read_clip(rig, rig.origin.file.clips[-1].name).motion
    target = prepare(rig, moved(motion, up=0.3))
    assert evaluate(rig, target.motion, from_file=False).float_height < 0.05
    assert any("no legs" in note for note in target.notes)


def test_bad_motions_end_in_a_sentence():
    rig = creature("dog", 0)
    motion = gait_motion(rig, "walk")
    with pytest.raises(AkdError, match="1 frames is too short"):
        prepare(rig, replace(motion, pose=motion.pose[:1]))
    position = motion.pose.root_position.clone()
    position[3] = torch.nan
    with pytest.raises(AkdError, match="Frame 3 of the motion is not finite"):
        prepare(rig, replace(motion, pose=Pose(position, motion.pose.root_rotation, motion.pose.angles)))


def test_feet_reach_what_is_wanted():
    rig = creature("horse", 0)
    model, pose = limb_model(rig), gait_motion(rig, "trot").pose.to(torch.float64)
    root, rotations = pose.root_position.numpy(), joint_rotations(rig.skeleton, pose).numpy()
    wanted = foot_positions(model, root, rotations) + np.array([0.03, 0.02, -0.02])
    bent = solve_legs(model, root, rotations, wanted)
    assert np.abs(foot_positions(model, root, bent) - wanted).max() < 2e-3
    legs = {joint for limb in rig.legs for joint in limb.joints}
    others = [joint for joint in range(rig.skeleton.joint_count) if joint not in legs]
    assert np.array_equal(bent[:, others], rotations[:, others])


def one_foot(stance: int, swing: int, drift: float) -> np.ndarray:
    """A foot that stands (drifting), swings a step ahead, and stands again."""
    slides = drift * np.linspace(-1, 1, stance)
    x = np.concatenate((slides, np.linspace(0, 1, swing + 2)[1:-1], 1 + slides))
    y = np.concatenate((np.zeros(stance), 0.01 * np.ones(swing), np.zeros(stance)))
    return np.stack((x, y, 0 * x), -1)[:, None]


def test_planted_feet_do_not_move_and_swing_clear_of_the_ground():
    feet = one_foot(10, 12, 0.03)
    stands = np.zeros((len(feet), 1), bool)
    stands[:10] = stands[-10:] = True
    out = lock_paths(feet, stands)
    assert np.ptp(out[:10], axis=0).max() < 1e-9
    assert np.ptp(out[-10:], axis=0).max() < 1e-9
    assert out[16, 0, 1] > 0.03
    assert np.abs(np.diff(out[:, 0, 0])).max() < 0.25


def test_stance_is_where_feet_are_low_and_slow():
    feet = one_foot(10, 12, 0.0) + np.array([0.0, 0.08, 0.0]) * (np.abs(np.arange(32) - 15.5) < 6)[:, None, None]
    seen = np.zeros((32, 1, 2))
    stands = detect_stance(feet, seen, np.zeros(2), 30.0)
    assert intervals(stands[:, 0])[0][0] == 0
    assert not stands[12:20].any()
    assert stands[:8].all()
    assert stands[-8:].all()


def test_feet_that_agree_say_how_fast_the_body_goes():
    height = np.where(np.arange(40)[:, None] % 20 < 10, 0.0, 0.2) * np.ones((1, 2))
    seen = np.where(height[..., None] == 0, [-1.5, 0.1], [1.5, -0.1])
    velocity = implied_velocity(height, seen)
    assert velocity == pytest.approx(np.array([1.5, -0.1]))
    still = implied_velocity(height, 0 * seen)
    assert still is None


def test_the_ground_line_follows_a_float_but_not_a_jump():
    lowest = np.full(90, 0.2)
    lowest[40:52] += 0.5
    assert np.abs(ground_line(lowest, 30.0) - 0.2).max() < 1e-6


def test_unhurried_feet_stand_as_before_and_jerk_less() -> None:
    """A foot that travels in the middle third of its swing takes more of the swing for it; going along changes nothing."""
    time = np.linspace(0, 3, 91)
    stands = (time % 1 < 0.6)[:, None]
    hasty = np.floor(time) + np.clip(((time % 1) - 0.73) / 0.13, 0, 1)
    paths = np.stack((hasty, 0 * time, 0 * time), -1)[:, None]
    calm = smooth_swing(paths, stands)
    np.testing.assert_array_equal(calm[stands], paths[stands])
    assert np.abs(np.diff(calm, n=3, axis=0)).mean() < 0.5 * np.abs(np.diff(paths, n=3, axis=0)).mean()
    steady = np.stack((2 * time, 0 * time, 0 * time), -1)[:, None]
    np.testing.assert_allclose(smooth_swing(steady, stands)[8:-8], steady[8:-8], atol=1e-6)
    np.testing.assert_array_equal(smooth_swing(paths, np.ones_like(stands)), paths)
