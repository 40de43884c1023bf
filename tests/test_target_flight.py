"""Flight and roll: what nothing holds falls with g, what touches the ground stays where it is; nothing else is changed."""

from pathlib import Path

import numpy as np
import pytest

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.character.limb_model import limb_model, local_to_stage, skinned
from akd.contact.dynamics import MAX_LOAD, ballistic_rise, in_free_fall
from akd.contact.prepare import TargetSettings, prepare
from akd.contact.roll import MAX_ROLL_SPEED, limit_roll_speed, rolling_path
from akd.contact.stance import lock_paths
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.skeleton import joint_rotations

G, FPS = 10.0, 30.0
UNBOUND = np.full(60, np.inf)


def hops() -> np.ndarray:
    """Frames that fly: 7 of every 20."""
    return (np.arange(60) % 20 >= 12) & (np.arange(60) % 20 < 19)


def push(height: np.ndarray) -> np.ndarray:
    """What carries a body at these heights, in weights."""
    return 1 + np.diff(height, 2) * FPS**2 / G


def test_a_body_in_the_air_falls_freely_and_one_on_its_feet_is_carried():
    drawn = 1 + 0.01 * np.sin(2 * np.pi * np.arange(60) / 20)
    carried = push(drawn + ballistic_rise(drawn, hops(), UNBOUND, G, FPS))
    assert np.abs(carried[hops()[1:-1]]).max() < 0.05
    assert carried.min() > -0.05
    assert carried.max() < MAX_LOAD + 0.05
    assert carried.mean() == pytest.approx(1, abs=0.3)


def test_a_height_that_a_body_can_have_stays():
    drawn = 1 + 0.02 * np.sin(2 * np.pi * np.arange(60) / 30)
    assert not ballistic_rise(drawn, np.zeros(60, bool), UNBOUND, G, FPS).any()


def test_legs_say_how_high_a_body_may_rise():
    drawn, most = np.ones(60), np.where(hops(), np.inf, 0.001)
    assert (ballistic_rise(drawn, hops(), most, G, FPS) <= most + 1e-6).all()


def test_only_between_moments_of_flight_nothing_pushes():
    stands = np.zeros((9, 2), bool)
    stands[:3, 0] = stands[7:, 1] = True
    assert in_free_fall(stands).tolist() == [False] * 4 + [True] * 2 + [False] * 3


def test_a_planted_foot_goes_as_it_rolls():
    path = np.zeros((20, 1, 3))
    path[:, 0, 0] = np.linspace(0, 0.3, 20)
    on = np.zeros_like(path)
    on[10:, 0, 0] = np.linspace(0, 0.05, 10)
    held = lock_paths(path, np.ones((20, 1), bool), on)
    assert np.abs(np.diff(held - on, axis=0)).max() < 1e-12
    assert np.median((held - path)[..., 0]) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("plan", ["human", "ostrich"])
def test_what_touches_the_ground_does_not_slip_in_a_target(plan: str):
    rig = creature(plan, 0)
    target = prepare(rig, gait_motion(rig, "walk"))
    model, pose = limb_model(rig), target.motion.pose
    posed = local_to_stage(rig.skeleton, pose.root_position.numpy(), joint_rotations(rig.skeleton, pose).numpy())
    for foot, stands in zip(model.feet, target.stance.T, strict=True):
        points = skinned(rig, foot.outline, *posed)
        touches = points[..., 1] < points[..., 1].min(1, keepdims=True) + 0.001
        both = touches[1:] & touches[:-1] & (stands[1:] & stands[:-1])[:, None]
        slip = np.linalg.norm(np.diff(points, axis=0)[..., [0, 2]], axis=-1) * target.motion.fps
        assert np.median(slip[both]) < 0.05
        assert slip[both].max() < 0.5


def test_a_stiff_foot_tips_over_more_slowly(assets: Path):
    """A knight's boots have no toes: drawn tipping over in a fifth of a second, they would be seen to skate."""
    rig = load_rig(assets / "q_knight/KnightCharacter.glb")
    motion = read_clip(rig, "HumanArmature|Walking").motion
    target = prepare(rig, motion, TargetSettings(balance=False))
    model, pose = limb_model(rig), target.motion.pose
    root, rotations = pose.root_position.numpy(), joint_rotations(rig.skeleton, pose).numpy()
    both = target.stance[1:] & target.stance[:-1]

    def fastest(turned: np.ndarray) -> float:
        steps = np.linalg.norm(np.diff(rolling_path(model, root, turned), axis=0), axis=-1)
        return float(steps[both].max() * motion.fps)

    calm = limit_roll_speed(model, root, rotations, target.stance, motion.fps)
    assert fastest(rotations) > 1.5 * MAX_ROLL_SPEED
    assert fastest(calm) <= MAX_ROLL_SPEED + 0.02
    feet = {joint for limb in rig.legs for joint in limb.joints}
    others = [joint for joint in range(rig.skeleton.joint_count) if joint not in feet]
    assert np.array_equal(calm[:, others], rotations[:, others])
