"""What carries a body that does not walk, and how fast a wave along it carries it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from akd.contact.support import carried_frames, hold_support, put_on_ground, stand_on_skin
from akd.contact.traces import trace
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.gait.undulation import carried_speed
from akd.motion import Motion
from akd.rig import Rig
from akd.rotations import rotation_vector_to_quaternion
from akd.skeleton import forward_kinematics

HUMAN = creature("human", 1)
FPS = 30.0


def still(rig: Rig, frames: int) -> Motion:
    """The rest pose for some frames."""
    pose = rig.skeleton.rest_pose(dtype=torch.float64)
    rotation = torch.tensor((1.0, 0.0, 0.0, 0.0), dtype=torch.float64).repeat(frames, 1)
    return Motion(replace(pose, root_position=pose.root_position.repeat(frames, 1), root_rotation=rotation,
                          angles=pose.angles.repeat(frames, 1, 1)), FPS)  # fmt: skip


def raised(motion: Motion, by: np.ndarray) -> Motion:
    position = motion.pose.root_position.clone()
    position[:, 1] += torch.as_tensor(by)
    return replace(motion, pose=replace(motion.pose, root_position=position))


def test_a_throw_flies_and_what_hangs_longer_only_floats() -> None:
    t = np.arange(60) / FPS
    throw = np.maximum(3.0 * (t - 0.5) - 0.5 * 10.9 * (t - 0.5) ** 2, 0.0)
    carried = carried_frames(throw, 10.9, FPS)
    assert not carried[throw > 0.1].any()
    assert carried[throw == 0].all()
    hangs = 0.4 * np.clip((t - 0.3) / 0.2, 0, 1) * np.clip((1.9 - t) / 0.2, 0, 1)
    assert carried_frames(hangs, 10.9, FPS).all()


def test_a_jump_keeps_its_height_and_a_floating_body_comes_down() -> None:
    t = np.arange(45) / FPS
    jump = np.maximum(3.0 * (t - 0.5) - 0.5 * HUMAN.gravity * (t - 0.5) ** 2, 0.0)
    landed = trace(HUMAN, put_on_ground(HUMAN, raised(still(HUMAN, 45), jump + 0.3))).lowest
    assert landed[jump == 0] == pytest.approx(0, abs=0.03)
    assert landed.max() == pytest.approx(jump.max(), abs=0.05)
    drifting = trace(HUMAN, put_on_ground(HUMAN, raised(still(HUMAN, 45), 0.8 * t / t.max()))).lowest
    assert drifting == pytest.approx(0, abs=1e-6)


def test_a_body_that_lies_is_carried_by_its_skin_and_does_not_slide() -> None:
    """On its back, feet in the air or not: the lowest skin is on the ground, and a body that glides over it is held."""
    flat = still(HUMAN, 20)
    turn = torch.tensor((0.0, 0.0, np.pi / 2), dtype=torch.float64).repeat(20, 1)
    ahead = torch.arange(20, dtype=torch.float64)[:, None] / FPS * torch.tensor((1.0, 0.0, 0.5), dtype=torch.float64)
    pose = replace(flat.pose, root_rotation=rotation_vector_to_quaternion(turn), root_position=flat.pose.root_position + ahead)
    settled = hold_support(HUMAN, put_on_ground(HUMAN, replace(flat, pose=pose)))
    assert trace(HUMAN, settled).lowest == pytest.approx(0, abs=1e-6)
    assert np.ptp(settled.pose.root_position.numpy()[:, [0, 2]], axis=0) == pytest.approx(0, abs=1e-6)


def test_a_step_that_ends_on_the_ground_has_no_sliding_feet() -> None:
    motion = gait_motion(HUMAN, "kick", fps=FPS, frames=40)
    drift = torch.linspace(0, 0.6, 40, dtype=torch.float64)[:, None] * torch.tensor((1.0, 0.5, 0.0), dtype=torch.float64)
    pose = replace(motion.pose, root_position=motion.pose.root_position + drift)
    stood = trace(HUMAN, stand_on_skin(HUMAN, replace(motion, pose=pose)))
    assert np.abs(stood.lowest).max() < 0.02
    standing = stood.feet[:, int(np.ptp(stood.feet[..., 1], axis=0).argmin())]
    assert np.ptp(standing[:, [0, 2]], axis=0).max() < 0.05


@pytest.mark.parametrize(("plan", "gait", "share"), [("snake", "slither", 0.1), ("eel", "swim", 0.5)])
def test_a_wave_carries_the_body_about_as_fast_as_it_really_goes(plan: str, gait: str, share: float) -> None:
    """A snake follows its own track, so its speed is known; a swimmer slips in the water and goes slower than its track."""
    rig = creature(plan, 2)
    motion = gait_motion(rig, gait, fps=FPS, frames=60)
    joints = forward_kinematics(rig.skeleton, motion.pose).position.numpy()
    speed = float(motion.pose.root_position[-1, 0] - motion.pose.root_position[0, 0]) / (59 / FPS)
    order = np.argsort(rig.skeleton.positions[:, 0])
    middle = order[rig.skeleton.mirror[order] == order]
    in_place = joints[:, middle] - (speed * np.arange(60) / FPS)[:, None, None] * np.array([1.0, 0, 0])
    assert carried_speed(in_place, FPS) == pytest.approx(speed, rel=share)
    assert carried_speed(np.repeat(in_place[:1] * (1, 0, 0), 5, 0), FPS) is None
