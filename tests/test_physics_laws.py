"""The simulation obeys mechanics: falling, swinging, momentum, standing, sliding; and MuJoCo agrees."""

import numpy as np
import pytest
import torch

from akd.physics.measures import assist_torques, ground_forces, joint_torques
from akd.physics.settings import PhysicsSettings, State
from akd.physics.simulate import simulate
from sample_bodies import PASSIVE, brick, chain_body, mechanics, moving_state


def run(body, start, settings=PASSIVE, seconds=0.5, fps=100.0, targets=0.0):
    controls = torch.full((round(seconds * fps) + 1, 1, body.link_count, 3), targets, dtype=torch.float64)
    return simulate(body, start, controls, settings, fps)


def test_free_fall_is_a_parabola() -> None:
    body = chain_body(gravity=5.0)
    start = moving_state(body, height=9.0)
    still = State(*(x if k < 3 else torch.zeros_like(x) for k, x in enumerate(start)))
    rollout = run(body, still)
    steps = torch.arange(501, dtype=torch.float64)
    fall = 5.0 * 1e-6 * steps * (steps + 1) / 2  # of the semi-implicit rule, exactly
    torch.testing.assert_close(rollout.states.position[:, 0, 1], 9.0 - fall)
    torch.testing.assert_close(rollout.states.angles[-1], start.angles)


@pytest.mark.parametrize("anchored", [True, False])
def test_energy_of_a_swinging_chain_drifts_as_little_as_the_step_is_short(anchored: bool) -> None:
    body = chain_body(anchored=anchored)
    start = moving_state(body, speed=0.5)
    drifts = []
    for substeps in (10, 20, 40):
        settings = PhysicsSettings(substeps=substeps, stiffness=0.0, damping=0.0)
        energy = mechanics(body, run(body, start, settings).states)[0]
        drifts.append(np.abs(energy - energy[0]).max() / body.gravity)
    assert drifts[-1] < 5e-3
    np.testing.assert_allclose(np.divide(drifts[:-1], drifts[1:]), 2, rtol=0.2)


def test_momentum_stays_without_gravity() -> None:
    body = chain_body(6, gravity=1e-9)
    start = moving_state(body, speed=0.3)
    errors = []
    for substeps in (10, 20):
        settings = PhysicsSettings(substeps=substeps, stiffness=0.0, damping=0.0)
        _, momentum, angular = mechanics(body, run(body, start, settings).states)
        errors.append(max(np.abs(momentum - momentum[0]).max(), np.abs(angular - angular[0]).max()))
    assert errors[0] < 1e-2
    np.testing.assert_allclose(errors[0] / errors[1], 2, rtol=0.2)


def test_muscles_cannot_move_the_whole() -> None:
    body = chain_body(6, gravity=10.0)
    settings = PhysicsSettings(substeps=40)
    rollout = run(body, moving_state(body, height=9.0, speed=0.0), settings, targets=0.5)
    assert rollout.frames.angles[-1, 0, 1:].mean() > 0.3
    _, momentum, _ = mechanics(body, rollout.states)
    np.testing.assert_allclose(momentum[-1, 0], (0, -10.0 * 0.5, 0), atol=0.1)


def test_a_resting_brick_is_carried_with_its_weight() -> None:
    body = brick()
    start = State(*(x * 0 if k != 1 else x for k, x in enumerate(moving_state(body, bend=0.0))))
    start.position[0, 1] = 0.1
    rollout = run(body, start, PhysicsSettings(substeps=10), seconds=1.0)
    force = ground_forces(body, rollout)[-1, 0]
    np.testing.assert_allclose(force.sum(0), (0, body.gravity, 0), atol=1e-3 * body.gravity)
    depth = 0.1 - rollout.frames.position[-1, 0, 1]
    np.testing.assert_allclose(depth, 1 / (4 * 300), rtol=0.02)  # four springs share it
    assert (force[body.points[:, 1] > 0] == 0).all()


def test_momentum_changes_by_the_reported_forces() -> None:
    body = brick()
    start = moving_state(body, height=0.35, speed=1.0)
    rollout = run(body, start, PhysicsSettings(substeps=10))
    change = rollout.states.velocity.diff(dim=0) / rollout.constants.step
    weight = torch.tensor([0, -body.gravity, 0], dtype=torch.float64)
    force = ground_forces(body, rollout).sum(-2)
    assert force.abs().max() > body.gravity
    torch.testing.assert_close(change, force + weight, atol=1e-8, rtol=1e-8)


def test_friction_stays_in_its_cone_and_stops_a_sliding_brick_where_it_should() -> None:
    body, speed, friction = brick((0.3, 0.02, 0.3)), 2.0, 0.5
    start = State(*(x * 0 if k != 1 else x for k, x in enumerate(moving_state(body, bend=0.0))))
    start.position[0, 1] = 0.02 - 1 / 1200
    start.velocity[0, 0] = speed
    rollout = run(body, start, PhysicsSettings(substeps=10, friction=friction), seconds=0.8)
    way = rollout.frames.position[-1, 0, 0]
    np.testing.assert_allclose(way, speed**2 / (2 * friction * body.gravity), rtol=0.02)
    force = ground_forces(body, rollout)
    along = force[..., (0, 2)].norm(dim=-1)
    touching = force[..., 1] > 0.01 * body.gravity
    assert (along <= 1.02 * friction * force[..., 1])[touching].all()
    assert rollout.frames.velocity[-1].abs().max() < 1e-3


def test_a_controller_holds_its_angles_and_reports_its_torque() -> None:
    body = chain_body(3, anchored=True)
    settings = PhysicsSettings(substeps=5, stiffness=5.0, damping=1.0)
    rollout = run(body, moving_state(body, speed=0.0, bend=0.1), settings, seconds=5.0, targets=0.2)
    end = rollout.frames[-1]
    assert end.rates.abs().max() < 1e-4
    torque = joint_torques(rollout)[-1, 0]
    torch.testing.assert_close(torque[1:], 5.0 * body.gravity * (0.2 - end.angles[0, 1:]), atol=1e-3, rtol=0)
    assert (torque[0] == 0).all()


def test_the_virtual_torque_rights_a_tilted_body_and_is_reported() -> None:
    body = chain_body(2, gravity=9.81)
    start = moving_state(body, height=5.0, speed=0.0, bend=0.0)
    start.spin[0] = torch.tensor([6.0, 0.0, 3.0], dtype=torch.float64)
    settings = PhysicsSettings(substeps=10, assist_stiffness=2.0, assist_damping=1.0)
    rollout = run(body, start, settings, seconds=2.0)
    tilt = 2 * rollout.frames.rotation[:, 0, (1, 3)].norm(dim=-1)
    assert tilt.max() > 0.01
    assert tilt[-1] < 0.2 * tilt.max()
    assert assist_torques(rollout).norm(dim=-1).max() > 0
    assert assist_torques(run(body, start)).abs().max() == 0


def test_mujoco_swings_a_chain_alike() -> None:
    mujoco = pytest.importorskip("mujoco")
    body = chain_body(5, anchored=True)
    start = moving_state(body, speed=1.0)
    start.rotation[0] = torch.tensor([1.0, 0, 0, 0])
    model = mujoco.MjModel.from_xml_string(_chain_xml(body))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = start.angles[0, 1:].reshape(-1), start.rates[0, 1:].reshape(-1)
    for _ in range(500):
        mujoco.mj_step(model, data)
    end = run(body, start).states[-1]
    np.testing.assert_allclose(end.angles[0, 1:].reshape(-1), data.qpos, atol=1e-8)


def _chain_xml(body) -> str:
    """The chain for MuJoCo: three hinges a joint, about the axes of the bone frame one after the other."""
    text = lambda values: " ".join(f"{value:.17g}" for value in values)  # noqa: E731
    inner, closing = "", ""
    for i in range(1, body.link_count):
        I = body.inertia[i]
        full = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        hinges = "".join(f'<joint type="hinge" axis="{text(axis)}"/>' for axis in body.frames[i].T)
        inner += f'<body pos="{text(body.offsets[i])}"><inertial pos="{text(body.com[i])}" mass="{body.mass[i]:.17g}"'
        inner += f' fullinertia="{text(full)}"/>{hinges}'
        closing += "</body>"
    option = f'<option timestep="0.001" gravity="0 {-body.gravity} 0" integrator="Euler"/>'
    return f'<mujoco><compiler angle="radian"/>{option}<worldbody>{inner}{closing}</worldbody></mujoco>'
