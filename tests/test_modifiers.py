"""What a sentence says beside its action is done to the finished motion, or named with the reason why not."""

from dataclasses import replace

import pytest
import torch

from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.creatures.wish import read_wish
from akd.distill.assumptions import CANDIDATES
from akd.distill.modifiers import TEMPO, end_gap, modified, side_share
from akd.motion import Motion, crop
from akd.skeleton import forward_kinematics

HUMAN = creature("human", 1)
WALK = gait_motion(HUMAN, "walk", fps=30.0, cycles=2)


def raising(side: str) -> Motion:
    """One arm goes up and comes back."""
    frames = 31
    pose = WALK.pose[torch.zeros(frames, dtype=torch.long)]
    angles = pose.angles.clone()
    arm = next(limb for limb in HUMAN.skeleton.limbs_of("arm") if limb.side == side)
    angles[:, arm.joints[0]] += torch.sin(torch.linspace(0, torch.pi, frames, dtype=angles.dtype))[:, None]
    return Motion(replace(pose, angles=angles), 30.0)


@pytest.mark.parametrize("asked", ["left", "right"])
@pytest.mark.parametrize("made", ["L", "R"])
def test_the_side_that_was_asked_for_moves(asked: str, made: str) -> None:
    found = modified(HUMAN, raising(made), read_wish(f"a man waving with the {asked} hand"), CANDIDATES["once"])
    share = side_share(HUMAN, found.motion)
    assert share is not None
    assert (share > 2) if asked == "left" else (share < 0.5)
    assert not found.without_effect


def test_sides_that_move_alike_are_named() -> None:
    found = modified(HUMAN, WALK, read_wish("a man walking with the left hand"), CANDIDATES["antiphase"])
    assert found.without_effect == ("left (both sides move alike)",)
    assert found.motion is WALK


def test_tempo_count_and_direction() -> None:
    once, gait = CANDIDATES["once"], CANDIDATES["antiphase"]
    slow = modified(HUMAN, WALK, read_wish("a man walking slowly"), gait).motion
    assert slow.duration == pytest.approx(WALK.duration / TEMPO["slow"], rel=0.02)
    twice = modified(HUMAN, raising("L"), read_wish("a man waving twice"), once)
    assert twice.motion.frame_count == 61
    assert not twice.without_effect
    half = crop(raising("L"), 0.0, 0.5)
    assert end_gap(HUMAN, replace(half, pose=replace(half.pose, angles=2 * half.pose.angles))) > 0.05
    fallen = Motion(replace(half.pose, angles=half.pose.angles + torch.linspace(0, 1.5, 16)[:, None, None]), 30.0)
    lost = modified(HUMAN, fallen, read_wish("a man falling twice"), once).without_effect
    assert lost == ("twice (it does not end as it began)",)
    back = modified(HUMAN, WALK, read_wish("a man walking backwards"), gait).motion
    path = back.pose.root_position[:, 0]
    assert path[-1] < path[0] - 0.5
    ahead, behind = (forward_kinematics(HUMAN.skeleton, each.pose).position for each in (WALK, back))
    torch.testing.assert_close(behind.flip(0)[:, :, 1], ahead[:, :, 1])
    assert modified(HUMAN, WALK, read_wish("a man walking backwards"), once).without_effect == ("backwards (it does not travel)",)


def test_a_wish_without_modifiers_changes_nothing() -> None:
    assert modified(HUMAN, WALK, read_wish("a man walking"), CANDIDATES["antiphase"]).motion is WALK
    assert modified(HUMAN, WALK, None, CANDIDATES["antiphase"]).motion is WALK
