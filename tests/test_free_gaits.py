"""What flying, swimming and slithering promise: waves that run from head to tail, wings in phase, no ground under them."""

from functools import cache

import numpy as np
import pytest
import torch

from akd.character.limb_model import limb_model
from akd.creatures.build import creature
from akd.creatures.free_gaits import FREE_GAITS, axis_joints, body_length
from akd.creatures.gaits import actions_for, gait_motion, gaits_for
from akd.errors import AkdError
from akd.pipeline.creature import make_creature
from akd.rig import Rig
from akd.skeleton import forward_kinematics
from akd.splats import skin_points
from akd.training.data_card import HELD_OUT_PLANS, TRAINING_PLANS

GOING = (
    ("bird", "fly"), ("bat", "fly"), ("dragon", "fly"), ("fish", "swim"), ("shark", "swim"), ("dolphin", "swim"), ("eel", "swim"),
    ("snake", "slither"),
)  # fmt: skip


@cache
def rig_of(plan: str) -> Rig:
    return creature(plan, 10_001)


def joint_paths(rig: Rig, gait: str, **options) -> torch.Tensor:
    return forward_kinematics(rig.skeleton, gait_motion(rig, gait, **options).pose).position.double()


def skin_heights(rig: Rig, gait: str) -> np.ndarray:
    pose = gait_motion(rig, gait, seed=None).pose
    weights, rest = (torch.as_tensor(x, dtype=torch.float32) for x in (rig.weights, rig.mesh.vertices))
    return skin_points(rig.skeleton, forward_kinematics(rig.skeleton, pose), weights, rest)[..., 1].numpy()


def phase_of(curve: np.ndarray) -> float:
    """When in a cycle the curve is highest, as a share of the cycle."""
    return float(-np.angle(np.fft.rfft(curve)[1]) / (2 * np.pi))


@pytest.mark.parametrize(("plan", "gait"), GOING)
def test_bodies_know_their_own_way(plan: str, gait: str):
    assert [name for name in gaits_for(rig_of(plan)) if name in FREE_GAITS] == [gait]


@pytest.mark.parametrize("plan", [*TRAINING_PLANS, *HELD_OUT_PLANS])
def test_the_shipped_plans_got_no_new_gait(plan: str):
    assert not set(gaits_for(creature(plan, 0))) & set(FREE_GAITS)


@pytest.mark.parametrize(("plan", "gait"), GOING)
def test_loops_close_and_travel_straight_on(plan: str, gait: str):
    pose = gait_motion(rig_of(plan), gait, seed=4).pose
    assert (pose.angles[-1] - pose.angles[0]).abs().max() < 1e-4
    moved = pose.root_position[-1] - pose.root_position[0]
    assert moved[0] > 0.3 * min(body_length(limb_model(rig_of(plan))), 5)
    assert moved[1:].abs().max() < 1e-3


@pytest.mark.parametrize(("plan", "gait"), [pair for pair in GOING if pair[1] != "slither"])
def test_nothing_touches_the_ground(plan: str, gait: str):
    assert skin_heights(rig_of(plan), gait).min() > 0.2


def test_a_snake_lies_on_the_ground():
    heights = skin_heights(rig_of("snake"), "slither")
    assert heights.min() > -0.02
    assert heights.min(1).max() < 0.02


@pytest.mark.parametrize(("plan", "axis"), [("fish", 2), ("eel", 2), ("dolphin", 1)])
def test_the_wave_of_a_swimmer_runs_to_the_tail_and_grows(plan: str, axis: int):
    rig = rig_of(plan)
    joints = axis_joints(limb_model(rig))
    aside = joint_paths(rig, "swim", seed=None, fps=120)[:-1, joints, axis].numpy()
    aside = aside - aside.mean(0)
    behind = [i for i, joint in enumerate(joints) if joint in max(limb_model(rig).tails, key=len)]
    phases = np.unwrap([2 * np.pi * phase_of(aside[:, i]) for i in behind])
    assert np.all(np.diff(phases) > 0)
    assert aside[:, behind[-1]].max() > 1.25 * aside[:, joints.index(0)].max()


def test_a_snake_follows_its_own_track():
    rig = rig_of("snake")
    joints = [j for j in axis_joints(limb_model(rig)) if j not in limb_model(rig).neck]
    at = joint_paths(rig, "slither", seed=None, fps=240, cycles=2)[:, joints][..., [0, 2]].numpy()
    track = at[:, 0]
    # Where a joint is in the second cycle, the chest was before; half a body width is about 0.4 ℓ.
    later = at[len(at) // 2 :: 20, 3]
    away = np.linalg.norm(later[:, None] - track[None], axis=-1).min(1)
    assert away.max() < 0.35


def test_wings_beat_together_and_lift_the_body_when_they_go_down():
    rig = rig_of("bird")
    skeleton = rig.skeleton
    path = joint_paths(rig, "fly", seed=None, fps=120)
    left, right = (skeleton.index(f"{side}_wing_3") for side in ("left", "right"))
    assert (path[:, left, 1] - path[:, right, 1]).abs().max() < 1e-4
    assert (path[:, left, 2] + path[:, right, 2]).abs().max() < 1e-4
    stroke = (path[:, right, 1] - path[:, 0, 1]).numpy()
    assert np.ptp(stroke) > 1.5
    rising, falling = np.diff(path[:, 0, 1].numpy(), 2), np.diff(stroke)[:-1]
    assert np.corrcoef(rising, -falling)[0, 1] > 0.8


def test_birds_fold_their_wings_on_the_ground():
    rig = rig_of("bird")
    tips = [rig.skeleton.index(f"{side}_wing_3") for side in ("left", "right")]
    walking = joint_paths(rig, "walk")[:, tips, 2].abs().max()
    assert walking < 0.5 * abs(rig.skeleton.positions[tips, 2]).max()
    assert "idle" in actions_for(rig)


def test_speed_changes_the_rhythm():
    rig = rig_of("fish")
    slow, fast = (gait_motion(rig, "swim", seed=None, speed=speed, fps=120) for speed in (2.0, 8.0))
    assert slow.duration == pytest.approx(4 * fast.duration, rel=0.05)
    assert gait_motion(rig, "swim", frames=17, fps=12, start=0.3).frame_count == 17
    with pytest.raises(AkdError, match="positive"):
        gait_motion(rig, "swim", speed=-1.0)
    with pytest.raises(AkdError, match="only takes a speed"):
        gait_motion(rig, "swim", turn=0.3)


@pytest.mark.parametrize(
    ("sentence", "plan", "gait"),
    [("a fish swimming", "fish", "swim"), ("a bird flying", "bird", "fly"), ("a snake slithering", "snake", "slither"),
     ("a snake crawling", "snake", "slither"), ("a goldfish", "fish", "swim"), ("a dragon flies", "dragon", "fly")],
)  # fmt: skip
def test_sentences_give_body_and_gait(sentence: str, plan: str, gait: str):
    shown = make_creature(sentence, gait=None, seed=0, cycles=1)
    assert (shown.rig.name, shown.gait, shown.messages) == (plan, gait, ())


def test_legs_do_not_swim():
    with pytest.raises(AkdError, match="needs fins"):
        make_creature("a dog swimming", gait=None, seed=0, cycles=1)
