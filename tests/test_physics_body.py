"""A rig becomes a body: masses, merged bones, touching points on the skin, and clear words where it cannot."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from akd.character.articulation import articulation_of
from akd.creatures.build import creature
from akd.cuboids import bone_cuboids
from akd.errors import AkdError
from akd.physics.reference import kinematics
from akd.physics.settings import PhysicsSettings, constants, pose_of, state_at_rest, suitable_substeps, with_velocity
from akd.physics.simulate import simulate
from akd.skeleton import forward_kinematics
from sample_rigs import box_rig

DOG = creature("dog", seed=7)


def test_masses_are_shares_and_inertias_are_those_of_solids() -> None:
    body = articulation_of(DOG)
    assert body.mass.sum() == pytest.approx(1)
    moments = np.linalg.eigvalsh(body.inertia)
    assert (moments > 0).all()
    assert (moments[:, 2] <= moments[:, :2].sum(1) * (1 + 1e-9)).all()


def test_masses_are_the_volumes_of_the_cuboids() -> None:
    rig = box_rig(2)
    body, volume = articulation_of(rig), bone_cuboids(rig).half.prod(1)
    np.testing.assert_allclose(body.mass, volume / volume.sum())
    np.testing.assert_allclose(body.com[0], 0, atol=1e-12)


def test_ears_and_jaw_go_with_the_head_and_keep_their_own_angles() -> None:
    body = articulation_of(DOG)
    head = DOG.skeleton.index("head")
    for name in ("left_ear", "right_ear", "jaw"):
        assert name not in body.names
        assert body.names[body.link_of_joint[DOG.skeleton.index(name)]] == DOG.skeleton.names[head]
    assert {leg.tip for leg in DOG.legs} <= set(body.joints.tolist())
    pose = DOG.skeleton.rest_pose(2, dtype=torch.float64)
    pose.angles[:, 1:] = torch.rand_like(pose.angles[:, 1:])
    back = pose_of(body, state_at_rest(body, pose), pose.angles)
    torch.testing.assert_close(back.angles, pose.angles)


def test_links_move_as_the_joints_of_the_skeleton() -> None:
    body = articulation_of(DOG)
    pose = DOG.skeleton.rest_pose(1, dtype=torch.float64)
    pose.angles[:, 1:] = 0.5 * torch.rand_like(pose.angles[:, 1:])
    posed = forward_kinematics(DOG.skeleton, pose)
    for i, link in enumerate(kinematics(body, state_at_rest(body, pose))):
        torch.testing.assert_close(link.position, posed.position[:, body.joints[i]])
        torch.testing.assert_close(link.rotation, posed.rotation[:, body.joints[i]])


def test_velocity_is_where_the_links_go() -> None:
    body = articulation_of(box_rig(1))
    here = state_at_rest(body, box_rig(1).skeleton.rest_pose(1, dtype=torch.float64))
    there = replace(here, position=here.position + 0.1, angles=here.angles + 0.02)
    moving = with_velocity(here, there, 0.5)
    torch.testing.assert_close(moving.velocity, torch.full((1, 3), 0.2, dtype=torch.float64))
    torch.testing.assert_close(moving.rates, torch.full_like(moving.rates, 0.04))


def test_touching_points_are_skin_and_soles_lie_on_the_ground() -> None:
    body = articulation_of(DOG)
    points = DOG.skeleton.positions[body.joints[body.point_link]] + body.points
    nearest = np.linalg.norm(points[:, None] - DOG.mesh.vertices[None], axis=-1).min(1)
    assert nearest.max() < 1e-6
    for leg, sole in enumerate(DOG.soles):
        mine = points[body.point_leg == leg]
        np.testing.assert_allclose(mine[:, 1], 0, atol=0.02)
        outline = DOG.mesh.vertices[sole]
        np.testing.assert_allclose(mine[:, [0, 2]].max(0), outline[:, [0, 2]].max(0), atol=1e-6)
    assert (np.diff(body.point_link) >= 0).all()


def test_gravity_and_constants_follow_the_size() -> None:
    small, large = (articulation_of(replace(DOG, leg_metres=metres)) for metres in (0.01, 1.0))
    assert small.gravity == pytest.approx(981)
    assert small.kilograms == pytest.approx(1e-6 * large.kilograms)
    settings = PhysicsSettings()
    slow, fast = constants(large, settings, 30.0), constants(small, settings, 300.0)
    # the same motion, ten times as fast: forces per mass ×100, speeds ×10, steps ÷10
    assert fast.stiffness / slow.stiffness == pytest.approx(100)
    assert fast.damping / slow.damping == pytest.approx(10)
    assert fast.stiction_speed / slow.stiction_speed == pytest.approx(10)
    assert suitable_substeps(small, 300.0) == suitable_substeps(large, 30.0)


@pytest.mark.parametrize("plan", ["human", "spider"])
def test_it_stands_still_for_a_while(plan: str) -> None:
    rig = creature(plan, seed=3)
    body = articulation_of(rig)
    start = state_at_rest(body, rig.skeleton.rest_pose(1))
    settings = PhysicsSettings(stiffness=20.0, damping=2.0, substeps=10)
    end = simulate(body, start, start.angles.expand(7, *start.angles.shape), settings, 30.0).frames[-1]
    assert (end.position - start.position).abs().max() < 0.06  # legs that sprawl give way a little
    assert end.rates.abs().max() < 0.2 * body.gravity**0.5  # small ones are quick


def test_no_feet_or_no_volume_is_one_clear_sentence() -> None:
    rig = box_rig(1)
    with pytest.raises(AkdError, match="no feet"):
        articulation_of(replace(rig, soles=()))
    flat = replace(rig.mesh, vertices=rig.mesh.vertices * (1.0, 1.0, 0.0))
    with pytest.raises(AkdError, match="no volume"):
        articulation_of(replace(rig, mesh=flat))
