"""Laws of the pose space in use: on any rig, whatever the weights."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from akd.creatures.build import creature
from akd.errors import AkdError
from akd.mesh import Mesh
from akd.motion import Motion
from akd.posespace.denoiser import Denoiser
from akd.posespace.measures import coverage, crossing_edges
from akd.posespace.network import NetworkConfig, PoseNetwork, Range, load_network, save_weights
from akd.posespace.representation import mirrored, pose_to_vectors, rig_descriptor, vectors_to_pose
from akd.posespace.rig_batch import batch_kinematics
from akd.posespace.solving import Handle, _solved
from akd.posespace.space import PoseSpace
from akd.posespace.validity import write_limits
from akd.posespace.walking import MAX_DETOUR, _moved, _without_long_detours, evenly_spaced, straight_path
from akd.rig import Rig
from akd.skeleton import Skeleton, forward_kinematics
from akd.training.data_card import FIRST_HELD_OUT_SEED, TRAINING_PLANS
from akd.training.loop import TrainingConfig
from akd.training.posespace.batches import SIZE_CLASSES, _draw_individuals, draw_batch
from akd.training.posespace.dataset import point_rig, read_pose_shards, write_pose_shards
from akd.training.posespace.train import PoseTraining, range_loss, train_posespace, trained_so_far
from test_posespace_values import other_order, reordered


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network that has learned nothing."""
    torch.manual_seed(0)
    network = PoseNetwork(NetworkConfig(width=32, heads=2, blocks=2, rig_blocks=1))
    for parameter in network.say.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_weights(network, path, {})
    return path


@pytest.fixture(scope="module")
def space(weights: Path) -> PoseSpace:
    return PoseSpace.build(point_rig("human", 1), weights=weights)


def chain_rig(count: int) -> Rig:
    """A rod of many joints, without a skin."""
    positions = np.stack((np.zeros(count), 1.0 - np.arange(count) / max(count, 2), np.zeros(count)), 1)
    names = tuple(f"j{k}" for k in range(count))
    skeleton = Skeleton.from_joints(names, np.arange(count) - 1, positions)
    return Rig(Mesh(np.zeros((1, 3)), np.zeros((0, 3), int), np.zeros((1, 3))), skeleton, np.eye(count)[:1])


def test_the_same_seed_gives_the_same_poses_and_another_seed_others(space):
    one, again, other = (space.sample(4, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one, again)
    assert not torch.allclose(one, other)


def test_the_order_of_joints_does_not_matter(weights):
    descriptor = rig_descriptor(point_rig("human", 1))
    order = other_order(descriptor)
    network = load_network(weights)
    one, other = (Denoiser.of(network, s) for s in (descriptor, reordered(descriptor, order)))
    first, second = (d.to_vectors(d.decode(d.noise(3, 7))) for d in (one, other))
    assert torch.allclose(first[:, order], second, atol=1e-4)


def test_left_and_right_have_the_same_range(weights):
    rig = point_rig("spider", 1)
    denoiser = Denoiser.of(load_network(weights), rig_descriptor(rig))
    assert torch.allclose(mirrored(rig.skeleton, denoiser.mean), denoiser.mean, atol=1e-5)
    partner = torch.as_tensor(rig.skeleton.mirror)
    assert torch.allclose(denoiser.spread[partner], denoiser.spread, atol=1e-5)


def test_handles_are_met_exactly_by_plausible_means(space):
    skeleton = space.rig.skeleton
    hand = next(limb.tip for limb in skeleton.limbs_of("arm"))
    target = skeleton.positions[hand] + (0.3, 0.2, 0.0)
    found = space.solve((Handle(skeleton.names[hand], position=tuple(target.tolist())),), count=3)
    assert len(found.error) == 3
    assert found.error.max() < 1e-3
    posed = forward_kinematics(skeleton, vectors_to_pose(found.vectors, found.root))
    assert torch.allclose(posed.position[:, hand], torch.as_tensor(target).float().expand(3, 3), atol=2e-3)


def test_rotations_and_look_at_points_are_met(space):
    skeleton = space.rig.skeleton
    head = skeleton.limbs_of("head")[0].joints[0]
    handles = (Handle(skeleton.names[head], look_at=(2.0, 3.0, 1.0)), Handle("left_hand", rotation=(0.9, 0.2, 0.1, 0.3)))
    if "left_hand" not in skeleton.names:
        handles = handles[:1]
    found = space.solve(handles, skeleton.rest_pose())
    assert float(found.error.max()) < 0.02


def test_what_cannot_be_reached_is_reported_and_approached(space):
    skeleton = space.rig.skeleton
    feet = [skeleton.names[limb.tip] for limb in skeleton.limbs_of("leg")]
    pinned = tuple(Handle(name, position=tuple(skeleton.positions[skeleton.index(name)].tolist())) for name in feet)
    hand = skeleton.names[skeleton.limbs_of("arm")[0].tip]
    found = space.solve((*pinned, Handle(hand, position=(9.0, 1.0, 0.0))), free_root=False)
    assert found.error[0] > 3
    assert found.vectors.isfinite().all()


def test_mistakes_end_in_one_sentence(space):
    with pytest.raises(AkdError, match="no joint 'elbow_of_mine'"):
        space.solve((Handle("elbow_of_mine", position=(0, 0, 0)),))
    with pytest.raises(AkdError, match="asks for nothing"):
        space.solve((Handle(space.rig.skeleton.names[1]),))
    with pytest.raises(AkdError, match="at least one handle"):
        space.solve(())
    with pytest.raises(AkdError, match="at least two keyframes"):
        space.walk(space.reference_poses[:1], seconds=1.0)
    with pytest.raises(AkdError, match="count of at least 1"):
        space.sample(0)
    with pytest.raises(AkdError, match="needs 3 numbers"):
        Handle.parse("hand=1,2")
    with pytest.raises(AkdError, match="There are no pose-space weights"):
        load_network(Path("nowhere.safetensors"))
    assert Handle.parse("a=b=1,2,3") == Handle("a=b", position=(1.0, 2.0, 3.0))
    assert Handle.parse("head@1,2,3").look_at == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("count", [1, 2, 200])
def test_rigs_of_any_size(weights, count):
    space = PoseSpace.build(chain_rig(count), weights=weights)
    poses = space.sample(2)
    assert poses.shape == (2, count, 3)
    assert poses.isfinite().all()
    assert space.score(poses).percentile.isfinite().all()
    last = space.rig.skeleton.names[-1]
    found = space.solve((Handle(last, position=(0.2, 0.5, 0.0)),))
    assert found.error[0] < 0.02
    assert space.walk(poses, seconds=0.3).frame_count >= 3


def test_handles_that_contradict_each_other_are_met_as_well_as_can_be():
    flat = torch.tensor([[1.0, 1.0], [1.0, 1.0]])
    system = torch.stack((flat, torch.eye(2)))
    found = _solved(system, torch.tensor([[1.0, 1.0], [2.0, 3.0]]))
    assert torch.allclose((system[0] @ found[0]), torch.ones(2), atol=1e-3)
    assert torch.allclose(found[1], torch.tensor([2.0, 3.0]), atol=1e-3)


def test_walks_make_no_long_detours(space):
    start, end = space.denoiser.to_normalised(space.reference_poses[:2])
    swing = torch.sin(torch.linspace(0, torch.pi, 6))[:, None, None]
    far = straight_path(space.denoiser, start, end, 4) + 3 * swing
    far[0], far[-1] = start, end
    kept = _without_long_detours(space.denoiser, far)
    straight = evenly_spaced(space.denoiser, straight_path(space.denoiser, start, end, 4))
    usual = float(_moved(space.denoiser, straight).mean())
    assert _moved(space.denoiser, far).max() > 2.5 * usual
    assert _moved(space.denoiser, kept).max() <= MAX_DETOUR * usual + 1e-5
    assert torch.equal(kept[0], start)
    assert torch.allclose(kept[-1], end, atol=1e-5)


def test_walks_keep_their_keyframes_and_step_evenly(space):
    keys = space.sample(3, seed=4)
    motion = space.walk(keys, seconds=1.0, fps=20, lock_feet=False)
    found = pose_to_vectors(motion.pose)[:, 1:]  # an untrained network turns the root to the side, too, which vectors leave out
    assert all(float((found - key).abs().amax((-1, -2)).min()) < 1e-3 for key in keys[:, 1:])
    start, end = space.denoiser.to_normalised(keys[:2])
    uneven = straight_path(space.denoiser, start, end, 98)[(99 * torch.linspace(0, 1, 20) ** 2).long()]
    even = space.denoiser.to_vectors(evenly_spaced(space.denoiser, uneven))
    places = batch_kinematics(space.denoiser.rig.rigs, even[None])[1][0]
    steps = (places[1:] - places[:-1]).norm(dim=-1).mean(-1)
    assert steps.max() / steps.min() < 1.7


def test_noise_and_back(space):
    poses = space.sample(3, repair=False)
    assert (space.decode(space.invert(poses)) - poses).abs().max() < 0.1


def test_repair_leaves_valid_poses_and_separates_others(space):
    poses = space.sample(8, repair=False)
    sound = space.faults(poses).valid
    assert torch.allclose(space.validators.repair(poses)[sound], poses[sound], atol=1e-5)
    broken = torch.zeros(1, space.descriptor.joint_count, 3)
    for limb in space.rig.skeleton.limbs_of("arm"):
        broken[:, limb.joints[0]] = space.denoiser.mean[limb.joints[0]]
        broken[:, limb.joints[0], 2] += 2.5 * space.denoiser.spread[limb.joints[0], 2]
    before, after = (space.faults(poses).depth for poses in (broken, space.validators.repair(broken)))
    assert (after <= before + 1e-5).all()


def test_guidance_leads_out_of_collisions(space):
    noise = space.denoiser.noise(40, 5)
    alone, led = (
        space.denoiser.to_vectors(space.denoiser.decode(2 * noise, guidance=guidance))
        for guidance in (None, space.validators.guide)
    )
    before, after = (space.validators.depths(poses).square().sum() for poses in (alone, led))
    assert before > 0
    assert after < 0.8 * before
    sound = space.reference_poses[space.faults(space.reference_poses).depth == 0]
    unit = space.denoiser.to_normalised(sound)
    assert torch.equal(space.validators.guide(unit), unit)


def test_coverage_does_not_grow_by_scatter():
    near, far = torch.randn(50, 2), 30 * torch.randn(50, 2)
    assert coverage(near, near + 0.01) > 0.95
    assert coverage(near, far) < 0.2


def test_the_energy_has_a_gradient_towards_the_plausible(space):
    pose = space.pose(space.sample(2))
    angles = pose.angles.clone().requires_grad_(True)
    bent = type(pose)(pose.root_position, pose.root_rotation, angles)
    energy = space.energy(bent, torch.Generator().manual_seed(0))
    energy.sum().backward()
    assert energy.shape == (2,)
    assert angles.grad is not None
    assert angles.grad.isfinite().all()
    assert angles.grad.abs().max() > 0


def test_limits_of_angles_hold_the_rest_pose_the_samples_and_a_given_motion(space):
    angles = space.pose(space.reference_poses).angles.numpy()
    low, high = np.moveaxis(space.angle_limits(), -1, 0)
    assert (low <= angles).all()
    assert (angles <= high).all()
    assert (low < 0).all()
    assert (high > 0).all()
    wild = Motion(replace(space.pose(space.reference_poses[:2]), angles=torch.full(angles[:2].shape, 3.5)), 30.0)
    assert (space.angle_limits(wild)[..., 1] >= 3.5).all()
    assert np.array_equal(space.angle_limits(wild)[..., 0], low)


def test_limits_hold_the_samples_and_are_written(space, tmp_path):
    limits = space.limits()
    assert len(limits) == 3 * space.descriptor.joint_count
    assert all(limit.least <= limit.usual <= limit.most for limit in limits)
    for name in ("limits.json", "limits.csv"):
        write_limits(tmp_path / name, limits)
        assert limits[0].joint in (tmp_path / name).read_text()
    with pytest.raises(AkdError, match=r"\.json or \.csv"):
        write_limits(tmp_path / "limits.txt", limits)


def test_training_resumes_where_it_stopped(tmp_path):
    write_pose_shards(tmp_path / "poses" / "creatures", range(1), ("chick", "human"))
    short = TrainingConfig(steps=4, learning_rate=1e-3, save_every=2, warmup=1)
    whole = PoseTraining(tmp_path, short, rigs=2, poses_each=3, name="whole")
    train_posespace(whole)
    half = PoseTraining(tmp_path, TrainingConfig(steps=4, learning_rate=1e-3, save_every=2, warmup=1), 2, 3, name="half")
    _stop_after(half, 2)
    train_posespace(half)
    (one, steps), (other, _) = trained_so_far(whole), trained_so_far(half)
    assert steps == 4
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_network_without_the_graph_can_be_trained_and_stored(tmp_path):
    write_pose_shards(tmp_path / "poses" / "creatures", range(1), ("chick",))
    short = TrainingConfig(steps=1, learning_rate=1e-3, save_every=1)
    network = train_posespace(PoseTraining(tmp_path, short, rigs=1, poses_each=2, graph=False))
    save_weights(network, tmp_path / "control.safetensors", {})
    assert not load_network(tmp_path / "control.safetensors").config.graph


def test_rigs_of_a_batch_are_of_about_the_same_size_and_small_ones_are_more(tmp_path):
    write_pose_shards(tmp_path, range(2), ("chick", "human", "spider"))
    individuals, rng = read_pose_shards(tmp_path), np.random.default_rng(0)
    assert {individual.plan for individual in read_pose_shards(tmp_path, without=("human",))} == {"chick", "spider"}
    classes = {int(np.searchsorted(SIZE_CLASSES, individual.descriptor.joint_count)) for individual in individuals}
    assert len(classes) > 1
    counts = {}
    for _ in range(12):
        drawn = _draw_individuals(individuals, 8, rng)
        (size,) = {int(np.searchsorted(SIZE_CLASSES, individual.descriptor.joint_count)) for individual in drawn}
        counts[size] = len(drawn)
    assert set(counts) == classes
    assert counts[min(counts)] > counts[max(counts)]


def test_few_individuals_of_a_second_source_are_seen_but_do_not_count_for_ranges(tmp_path):
    write_pose_shards(tmp_path, range(2), ("chick", "human", "dog"))
    ours = read_pose_shards(tmp_path)
    second = [replace(individual, source="distilled") for individual in ours[:1]]
    rng = np.random.default_rng(0)
    batches = [draw_batch(ours * 20 + second, 8, 2, rng) for _ in range(8)]
    seen = sum(int((1 - batch.range_weight).sum()) for batch in batches)
    assert 1 <= seen <= 0.35 * sum(len(batch.descriptors) for batch in batches)  # an eighth, though it is one of 121
    batch = next(batch for batch in batches if not batch.range_weight.all())
    assert draw_batch(second, 4, 2, rng).range_weight.all()  # alone, it must
    wide = replace(batch, mean=torch.where(batch.range_weight[:, None, None] > 0, batch.mean, batch.mean + 9.0))
    predicted = Range(batch.mean, batch.deviation + 0.1)
    assert torch.equal(range_loss(predicted, batch), range_loss(predicted, wide))


def _stop_after(config: PoseTraining, steps: int) -> None:
    """Kill a training at a step."""
    from akd.training.posespace import train as training

    real, calls = training.pose_loss, []

    def dying(*arguments):
        calls.append(1)
        if len(calls) > steps:
            raise KeyboardInterrupt
        return real(*arguments)

    training.pose_loss = dying
    try:
        with pytest.raises(KeyboardInterrupt):
            train_posespace(config)
    finally:
        training.pose_loss = real


def test_poses_are_distilled_once_and_tagged(tmp_path: Path, monkeypatch):
    from akd.training.posespace import distilled_poses as distilled
    from test_animate import closed_prior

    monkeypatch.setattr(distilled, "SHORT_RECIPE", replace(distilled.SHORT_RECIPE, iterations=2, draws=1, phases_at=()))
    kept = distilled.distil_poses(tmp_path / "distilled", closed_prior(), 1, each=6)
    (individual,) = read_pose_shards(tmp_path, ("distilled",))
    assert individual.vectors.shape == (kept, individual.descriptor.joint_count, 3)
    assert individual.seed < FIRST_HELD_OUT_SEED
    assert individual.plan in TRAINING_PLANS
    monkeypatch.setattr(distilled, "distill", None)  # nothing is done twice
    assert distilled.distil_poses(tmp_path / "distilled", closed_prior(), 1, each=6) == kept


def test_edges_through_far_skin_are_counted_and_rest_is_free():
    rig = creature("human", 1)
    folded = torch.zeros(2, rig.skeleton.joint_count, 3)
    for limb in rig.skeleton.limbs_of("leg"):
        folded[1, limb.joints[0], 2] = 1.2  # both legs the same way about their own axes: one through the other
    still, crossed = crossing_edges(rig, folded)
    assert still == 0
    assert crossed > 0.005
