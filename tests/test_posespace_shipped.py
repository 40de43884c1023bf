"""What the shipped weights must be able to do, on rigs they never saw; small versions of what the benchmark measures."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from akd.assets import load_rig, read_file
from akd.character.build import build_rig
from akd.character.clips import read_clip
from akd.creatures.build import creature
from akd.posespace.denoiser import Denoiser
from akd.posespace.measures import auc, hyperextended, pairwise_distance, shuffled, twisted
from akd.posespace.network import SHIPPED, load_network
from akd.posespace.representation import pose_to_vectors, rig_descriptor
from akd.posespace.rig_batch import batch_kinematics
from akd.posespace.solving import Handle
from akd.posespace.space import PoseSpace
from akd.training.posespace.creature_poses import draw_poses


@pytest.fixture(scope="module")
def fox(assets: Path) -> PoseSpace:
    return PoseSpace.build(load_rig(assets / "fox_khronos" / "Fox.glb"))


@pytest.fixture(scope="module")
def bear() -> PoseSpace:
    """A plan that training never saw."""
    return PoseSpace.build(creature("bear", 10_000))


def test_the_file_is_small_and_read_in_no_time():
    assert SHIPPED.stat().st_size < 6e6
    load_network.cache_clear()
    began = time.process_time()
    load_network()
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("name", ["fox", "bear"])
def test_samples_are_valid_and_differ(name, request):
    space = request.getfixturevalue(name)
    made = space.sample(12, seed=3)
    assert space.faults(made).valid.float().mean() > 0.9
    assert pairwise_distance(batch_kinematics(space.denoiser.rig.rigs, made[None])[1][0]) > 0.05


def test_corrupted_poses_of_an_unseen_plan_are_detected(bear):
    good = pose_to_vectors(draw_poses(bear.rig, np.random.default_rng(5)))
    rng, usual = np.random.default_rng(0), bear.score(good).anomaly
    for corrupt, least in ((twisted, 0.9), (hyperextended, 0.8), (shuffled, 0.8)):
        assert auc(usual, bear.score(corrupt(bear.descriptor, good, rng)).anomaly) > least, corrupt.__name__


def test_corrupted_poses_of_an_artists_clip_are_detected(fox):
    good = pose_to_vectors(read_clip(fox.rig, "Run", fps=12).motion.pose).float()
    rng, usual = np.random.default_rng(0), fox.score(good).anomaly
    for corrupt, least in ((twisted, 0.9), (hyperextended, 0.7)):
        assert auc(usual, fox.score(corrupt(fox.descriptor, good, rng)).anomaly) > least, corrupt.__name__


def test_knees_and_elbows_bend_as_they_should(fox):
    """In the fox's own clips elbows (of front legs) close forward and knees backward: the model must know from the rest pose."""
    names = fox.rig.skeleton.names
    clip = pose_to_vectors(read_clip(fox.rig, "Run", fps=12).motion.pose).mean(0)
    for start in ("b_RightForeArm", "b_LeftForeArm", "b_RightLeg02", "b_LeftLeg02"):
        joint = next(k for k, name in enumerate(names) if name.startswith(start))
        assert float(clip[joint, 1] * fox.reference_poses[:, joint, 1].mean()) > 0, start


def test_four_handles_are_met_by_a_pose_as_usual_as_any(fox):
    skeleton, target = fox.rig.skeleton, fox.sample(1, seed=9)
    places = fox.solver.kinematics.forward(target, torch.as_tensor(skeleton.positions[:1]).float()).position[0]
    tips = [limb.tip for limb in skeleton.limbs_of("leg")]
    handles = tuple(Handle(skeleton.names[tip], position=tuple(places[tip].tolist())) for tip in tips)
    found = fox.solve(handles, skeleton.rest_pose(1))
    assert float(found.error[0]) < 1e-3
    assert float(fox.score(found.vectors).percentile[0]) > 1


def test_a_turned_and_scaled_copy_of_a_rig_takes_the_same_poses(assets):
    file = read_file(assets / "cesium_man" / "CesiumMan.glb")
    turn = np.array([[0.0, 0, 5, 25], [0, 5, 0, 0], [-5, 0, 0, 10], [0, 0, 0, 1]])
    still = replace(file, clips=(), sample=None, forward=None)
    moved = replace(still, rest=turn @ file.rest, mesh=file.mesh.transformed(turn))
    one, other = (Denoiser.of(load_network(), rig_descriptor(build_rig(source))) for source in (still, moved))
    first, second = (d.to_vectors(d.decode(d.noise(4, 1))) for d in (one, other))
    assert (first - second).abs().max() < 0.02
