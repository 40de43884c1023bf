"""MJCF: MuJoCo's body is ours. Same mass, same joints in the same places in any pose, and the same motion for a while."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from akd.character.articulation import articulation_of
from akd.contact.traces import trace
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.motion import Motion
from akd.physics.mjcf import R_mujoco_stage, replay, to_mjcf
from akd.physics.search import moving_states
from akd.physics.settings import PhysicsSettings, pose_of
from akd.physics.simulate import simulate
from akd.posespace.space import PoseSpace
from akd.skeleton import forward_kinematics

mujoco = pytest.importorskip("mujoco")
PHYSICS = PhysicsSettings(substeps=20)


@pytest.fixture(scope="module", params=["dog", "human"])
def walking(request):
    rig = creature(request.param, 0)
    motion = gait_motion(rig, "walk")
    return rig, articulation_of(rig), replace(motion, pose=motion.pose[:13])


@pytest.fixture(scope="module")
def model(walking):
    rig, body, motion = walking
    return mujoco.MjModel.from_xml_string(to_mjcf(rig, body, PHYSICS, motion.fps, motion))


def test_mass_and_counts(walking, model):
    _, body, motion = walking
    assert mujoco.mj_getTotalmass(model) == pytest.approx(body.kilograms, rel=1e-6)
    assert model.nu == 3 * (body.link_count - 1)
    assert model.nkey == motion.frame_count
    assert model.opt.timestep == pytest.approx(1 / (motion.fps * PHYSICS.substeps))


def test_keyframes_put_joints_where_kinematics_does(walking, model):
    rig, body, motion = walking
    data = mujoco.MjData(model)
    joints = forward_kinematics(rig.skeleton, motion.pose.to(torch.float64)).position[:, torch.as_tensor(body.joints)].numpy()
    for frame in (0, 5, 12):
        mujoco.mj_resetDataKeyframe(model, data, frame)
        mujoco.mj_forward(model, data)
        ours = joints[frame] @ R_mujoco_stage.T * rig.leg_metres
        assert np.abs(data.xpos[1:] - ours).max() < 1e-5


def test_limits_of_the_pose_space_hold_the_motion(walking):
    rig, body, motion = walking
    limits = PoseSpace.build(rig).angle_limits(motion)
    limited = mujoco.MjModel.from_xml_string(to_mjcf(rig, body, PHYSICS, motion.fps, motion, limits))
    free = mujoco.MjModel.from_xml_string(to_mjcf(rig, body, PHYSICS, motion.fps, motion))
    assert limited.jnt_limited[1:].all()
    assert not free.jnt_limited.any()
    assert np.allclose(limited.jnt_range[1:], limits[body.joints[1:]].reshape(-1, 2), atol=1e-6)
    hinges = limited.key_qpos[:, 7:]
    assert (hinges > limited.jnt_range[1:, 0]).all()
    assert (hinges < limited.jnt_range[1:, 1]).all()
    assert np.ptp(limits, axis=-1).mean() < 3.0  # they say something: less than half a turn on average


def test_inertia_is_ours(walking, model):
    _, body, _ = walking
    for link, name in enumerate(body.names):
        index = model.body(name).id
        ours = np.sort(np.linalg.eigvalsh(body.inertia[link])) * body.kilograms * body.leg_metres**2
        assert np.sort(model.body_inertia[index]) == pytest.approx(ours, rel=1e-4)
        assert model.body_mass[index] == pytest.approx(body.mass[link] * body.kilograms)


def test_a_flying_body_moves_as_in_mujoco(walking):
    """Half a second in the air with working controllers: only rigid-body dynamics counts."""
    rig, body, motion = walking
    pose = motion.pose.to(torch.float32)
    high = replace(pose, root_position=pose.root_position + torch.tensor((0.0, 3.0, 0.0)))
    states = moving_states(body, high, motion.fps)
    rollout = simulate(body, states[0], states.angles, PHYSICS, motion.fps)
    ours = Motion(pose_of(body, rollout.frames), motion.fps)
    text = to_mjcf(rig, body, PHYSICS, motion.fps)
    theirs = replay(text, body, states[0], rollout.targets.numpy(), PHYSICS.substeps, motion.fps)
    apart = np.linalg.norm(trace(rig, ours).joints - trace(rig, theirs).joints, axis=-1)
    assert apart.max() < 0.02


def test_a_standing_body_stands_in_mujoco(walking):
    """A third of a second on the ground: two models of contact, but the same weight."""
    rig, body, _ = walking
    rest = rig.skeleton.rest_pose(11)
    states = moving_states(body, rest, 30.0)
    rollout = simulate(body, states[0], states.angles, PHYSICS, 30.0)
    text = to_mjcf(rig, body, PHYSICS, 30.0)
    theirs = replay(text, body, states[0], rollout.targets.numpy(), PHYSICS.substeps, 30.0)
    ours = Motion(pose_of(body, rollout.frames), 30.0)
    apart = np.linalg.norm(trace(rig, ours).joints - trace(rig, theirs).joints, axis=-1)
    assert apart.mean() < 0.02
