"""Second edition of the pose space: example poses, broken poses, real poses to train on, edited clips, firm feet, calibration."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from akd.assets import load_rig
from akd.contact.measures import skating_ratio
from akd.contact.traces import trace
from akd.creatures.build import creature
from akd.errors import AkdError
from akd.motion import Motion
from akd.posespace.denoiser import MAX_DEVIATION, MIN_MIXED_EXAMPLES, Denoiser, mixtures
from akd.posespace.editing import edit_weights
from akd.posespace.examples import chosen_examples, own_clip_poses
from akd.posespace.footing import body_shift
from akd.posespace.network import QUANTILES, Examples, NetworkConfig, PoseNetwork, load_network, save_weights, start_from
from akd.posespace.representation import pose_to_vectors, rig_descriptor, vectors_with_heading, without_heading
from akd.posespace.rig_batch import rig_batch
from akd.posespace.scoring import PoseScorer
from akd.posespace.solving import Handle
from akd.posespace.space import PoseSpace
from akd.posespace.walking import eased_path
from akd.skeleton import forward_kinematics
from akd.training.posespace.augment import arm_raising, change_rest_pose
from akd.training.posespace.batches import _split, draw_batch
from akd.training.posespace.broken_poses import MIN_CHANGE, break_poses
from akd.training.posespace.calibrate import _weighted_quantiles, split_clips
from akd.training.posespace.dataset import CREATURES, RigPoses, draw_rig_poses, point_rig, read_pose_shards, write_shard
from akd.training.posespace.joint_edits import to_stage_poses
from akd.training.posespace.real_poses import VALIDATION_FAMILIES, clip_rig_poses, distinct, training_characters
from akd.training.posespace.train import PoseTraining, judge_loss, pose_loss

SMALL = NetworkConfig(width=32, heads=2, blocks=2, rig_blocks=1, example_blocks=1)


@pytest.fixture(scope="module")
def network() -> PoseNetwork:
    """A small network in which nothing is zero."""
    torch.manual_seed(0)
    network = PoseNetwork(SMALL)
    for name, parameter in network.named_parameters():
        if any(part in name for part in ("say", "recall", "adapt_range")):
            torch.nn.init.normal_(parameter, std=0.1)
    return network.requires_grad_(False)


@pytest.fixture(scope="module")
def weights(network: PoseNetwork, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "small.safetensors"
    save_weights(network, path, {})
    return path


@pytest.fixture(scope="module")
def person() -> RigPoses:
    return draw_rig_poses("human", 1)


@pytest.fixture(scope="module")
def space(weights: Path) -> PoseSpace:
    return PoseSpace.build(creature("human", 1), weights=weights)


def test_examples_change_what_is_drawn_and_their_order_does_not_matter(network, person):
    like = torch.as_tensor(person.vectors[:6])
    plain, shown, turned = (Denoiser.of(network, person.descriptor, poses) for poses in (None, like, like.flip(0)))
    one, two, three = (d.decode(d.noise(3, 1)) for d in (plain, shown, turned))
    assert (one - two).abs().max() > 0.01
    assert torch.allclose(two, three, atol=1e-4)


def test_mixtures_of_poses_have_their_mean_and_covariance(person):
    known = torch.as_tensor(person.vectors[:12])
    flat = known.flatten(1)
    for looseness in (1.0, 0.5):
        made = mixtures(known, 4000, 0, looseness).flatten(1)
        assert (made.mean(0) - flat.mean(0)).abs().max() < 0.1 * flat.std(0).max()
        assert (torch.cov(made.T) - torch.cov(flat.T)).norm() < 0.12 * torch.cov(flat.T).norm()
    assert torch.cdist(mixtures(known, 24, 0, 0.0).flatten(1), flat).amin(1).max() < 1e-4  # the examples themselves


def test_a_share_of_what_is_drawn_are_loose_copies_and_few_examples_are_not_copied(network, person):
    like = torch.as_tensor(person.vectors[:12])
    shown = Denoiser.of(network, person.descriptor, like)
    drawn = shown.draw(8, 3, copies=0.25, looseness=0.0)
    known = shown.known.clamp(-MAX_DEVIATION, MAX_DEVIATION)
    apart = (drawn[:, None] - known[None]).abs().amax((2, 3)).amin(1)
    assert (apart < 1e-4).nonzero().flatten().tolist() == [0, 4], "evenly between the others"
    assert torch.equal(drawn[[1, 2, 3, 5, 6, 7]], shown.decode(shown.noise(8, 3)[2:]))
    calm, usual = (shown.draw(8, 3, copies=1.0, noise=noise) - shown.known.mean(0) for noise in (0.1, 1.0))
    assert calm.square().median() < 0.02 * usual.square().median(), "a low temperature stays near the mean"
    few = Denoiser.of(network, person.descriptor, like[: MIN_MIXED_EXAMPLES - 1])
    assert torch.equal(few.draw(6, 3), few.decode(few.noise(6, 3)))
    plain = Denoiser.of(network, person.descriptor)
    assert torch.equal(plain.draw(6, 3, noise=0.5), plain.decode(0.5 * plain.noise(6, 3)))


def test_a_rig_without_examples_is_the_same_beside_one_with_some(network, person):
    other = draw_rig_poses("dog", 1)
    rigs = rig_batch([person.descriptor, other.descriptor])
    joints = rigs.joint_count
    vectors = torch.zeros(2, 4, joints, 3)
    vectors[0, :, : person.descriptor.joint_count] = torch.as_tensor(person.vectors[:4])
    given = torch.tensor([[True] * 4, [False] * 4])
    mixed, plain = network.encode(rigs, Examples(vectors, given)), network.encode(rigs)
    z, t = torch.randn(2, 3, joints, 3), torch.full((2, 3), 0.4)
    one, two = network.denoise(mixed, z, t), network.denoise(plain, z, t)
    assert torch.allclose(one[1], two[1], atol=1e-5)
    assert (one[0] - two[0]).abs().max() > 1e-3


def test_weights_of_the_first_edition_are_read_and_built_upon(tmp_path, person):
    torch.manual_seed(1)
    old = PoseNetwork(replace(SMALL, example_blocks=0, judges=False))
    path = tmp_path / "old.safetensors"
    save_weights(old, path, {})
    stored = json.loads(_header(path)["config"])
    assert load_network(path).config.example_blocks == 0
    new = PoseNetwork(SMALL)
    assert start_from(new, path) == sum(p.numel() for p in old.parameters())
    rigs = rig_batch([person.descriptor])
    z, t = torch.randn(1, 2, rigs.joint_count, 3), torch.full((1, 2), 0.3)
    examples = Examples(torch.as_tensor(person.vectors[None, :3]), torch.ones(1, 3, dtype=torch.bool))
    with torch.no_grad():
        before, after = (net.denoise(net.encode(rigs), z, t) for net in (load_network(path), new))
        shown = new.denoise(new.encode(rigs, examples), z, t)
    assert torch.allclose(before, after, atol=1e-4)
    assert torch.allclose(after, shown, atol=1e-5), "new parts begin without effect"
    assert stored["judges"] is False
    with pytest.raises(AkdError, match="cannot use example poses"):
        Denoiser.of(load_network(path), person.descriptor, torch.as_tensor(person.vectors[:2]))


def _header(path: Path) -> dict[str, str]:
    from safetensors import safe_open

    with safe_open(path, "pt") as stored:
        return stored.metadata()


def test_examples_of_another_rig_are_refused(weights):
    with pytest.raises(AkdError, match="joints × 3"):
        PoseSpace.build(point_rig("human", 1), weights=weights, like=torch.zeros(2, 3, 3))


def test_own_clips_are_examples_but_not_the_one_to_be_judged(assets: Path):
    rig = load_rig(assets / "fox_khronos" / "Fox.glb")
    every, others = own_clip_poses(rig), own_clip_poses(rig, without="Walk")
    assert every is not None
    assert others is not None
    assert len(every) == len(others) == 20
    assert not torch.equal(every, others)
    assert own_clip_poses(point_rig("dog", 1)) is None
    assert len(chosen_examples(every, 5)) == 5


def test_broken_poses_differ_where_they_say(person):
    rigs = rig_batch([person.descriptor])
    vectors = torch.as_tensor(person.vectors[None, :12])
    broken, changed = break_poses(rigs, vectors, np.random.default_rng(0))
    apart = (broken - vectors).norm(dim=-1)
    assert bool(((apart > MIN_CHANGE) == changed).all())
    assert float(changed.any(-1).float().mean()) > 0.8
    assert torch.equal(vectors, torch.as_tensor(person.vectors[None, :12])), "the poses themselves stay"


def test_the_judge_is_told_right_from_wrong(network, person):
    """A judge that calls changed joints broken and others not has almost no loss, and the opposite a large one."""
    rigs = rig_batch([person.descriptor])
    rig = network.encode(rigs)
    changed = torch.zeros(1, 2, rigs.joint_count, dtype=torch.bool)
    changed[0, :, :4] = True
    sure = torch.cat((torch.zeros_like(changed), changed), 1).float() * 20 - 10

    class Judge(PoseNetwork):
        def judge(self, rig, seen):
            return type(network.judge(rig, torch.zeros(1, 4, rigs.joint_count, 32)))(self.sign * sure.amax(-1), self.sign * sure)

    judge = Judge(SMALL)
    judge.sign = 1.0
    right = float(judge_loss(judge, rig, torch.zeros(1, 4, rigs.joint_count, 32), changed))
    judge.sign = -1.0
    assert right < 0.01
    assert float(judge_loss(judge, rig, torch.zeros(1, 4, rigs.joint_count, 32), changed)) > 5


def test_a_training_step_reaches_every_weight(person, tmp_path):
    torch.manual_seed(0)
    network = PoseNetwork(SMALL)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.05)
    people = [person, replace(person, source="artists", clips=np.arange(len(person.vectors)) // 8)]
    rng, randomness = np.random.default_rng(3), torch.Generator().manual_seed(0)
    batch = draw_batch(people, 6, 8, rng)
    assert batch.examples.given.any()
    assert not batch.examples.given.any(1).all()
    loss, parts = pose_loss(network, batch, PoseTraining(tmp_path), rng, randomness)
    loss.backward()
    assert set(parts) == {"bends", "places", "collisions", "range", "verdicts"}
    idle = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.isfinite().all() or not p.grad.any()]
    assert not idle


def test_examples_come_from_other_clips(person):
    clips = np.arange(len(person.vectors)) % 4
    marked = replace(person, clips=clips)
    apart = 0
    for seed in range(40):
        targets, examples = _split(marked, 8, np.random.default_rng(seed))
        assert not set(targets) & set(examples)
        apart += not set(clips[targets]) & set(clips[examples])
    assert 20 <= apart <= 38
    examples, judged = split_clips(marked)
    assert examples is not None
    assert len(examples) + len(judged) <= len(person.vectors) + 0


def test_arms_are_bound_at_the_angle_asked_for(person):
    stage = to_stage_poses(person.descriptor, person.vectors[:1])
    for angle in (0.05, 0.8, 1.5):
        turns = arm_raising(person.descriptor, angle)
        moved = np.flatnonzero(np.abs(turns).sum(1) > 1e-9)
        from scipy.spatial.transform import Rotation

        descriptor = change_rest_pose(stage, Rotation.from_rotvec(turns).as_matrix()).descriptor
        bone = descriptor.tails[moved] - descriptor.positions[moved]
        found = np.arctan2(np.sign(descriptor.positions[moved, 2]) * bone[:, 2], -bone[:, 1])
        assert len(moved) == 2
        assert found == pytest.approx([angle, angle], abs=0.02)


def test_shards_keep_clips(tmp_path, person):
    write_shard(tmp_path / "a.npz", [replace(person, source="artists", clips=np.arange(len(person.vectors)))])
    (found,) = read_pose_shards(tmp_path)
    assert found.source == "artists"
    assert (found.clips == np.arange(len(person.vectors))).all()
    assert not len(draw_rig_poses("dog", 2).clips)
    assert CREATURES == "creatures"


def test_standing_still_counts_once():
    vectors = np.zeros((5, 3, 3), np.float32)
    vectors[3:, 1, 0] = 0.5
    assert len(distinct(vectors)) == 2


def test_real_poses_are_taken_from_the_files_clips(assets: Path):
    found = clip_rig_poses(load_rig(assets / "fox_khronos" / "Fox.glb"), "fox", each=4)
    assert sorted(np.unique(found.clips)) == [0, 1, 2]
    assert found.source == "artists"
    assert len(found.vectors) == len(found.clips) <= 15


def test_nothing_of_the_test_part_is_trained_on(tmp_path):
    entries = [
        {"file": "glb/a.glb", "part": "train", "family": "a"}, {"file": "glb/b.glb", "part": "test", "family": "b"},
        {"file": "glb/c.glb", "part": "train", "family": min(VALIDATION_FAMILIES)},
    ]  # fmt: skip
    (tmp_path / "glb").mkdir()
    (tmp_path / "glb" / "index.json").write_text(json.dumps(entries))
    assert [entry["file"] for entry in training_characters(tmp_path)] == ["glb/a.glb"]
    assert [entry["file"] for entry in training_characters(tmp_path, validation=True)] == ["glb/c.glb"]


def test_percentiles_are_those_of_the_calibration(network, person):
    values = torch.linspace(0, 10, 201)
    known = _weighted_quantiles(values, torch.ones(201), torch.linspace(0, 1, QUANTILES))
    assert float((known - torch.linspace(0, 10, QUANTILES)).abs().max()) < 0.06
    judge = PoseNetwork(SMALL)
    judge.load_state_dict(network.state_dict())
    denoiser = Denoiser.of(judge.requires_grad_(False), person.descriptor)
    poses = torch.as_tensor(person.vectors)
    scorer = PoseScorer.of(denoiser, poses)
    anomaly = scorer.score(poses).anomaly
    judge.calibration.copy_(torch.quantile(anomaly, torch.linspace(0, 1, QUANTILES)).expand(2, -1))
    score = scorer.score(poses)
    assert score.plausible.all()
    assert float(score.percentile.mean()) == pytest.approx(50, abs=3)
    assert torch.equal(score.percentile.argsort(descending=True), anomaly.argsort())


def test_walks_last_as_long_as_asked_and_come_to_rest(space):
    keys = space.sample(3, seed=4)
    first = {}
    for easing in ("ends", "keys", "none"):
        motion = space.walk(keys, seconds=1.7, fps=24, easing=easing, lock_feet=False, method="straight")
        assert motion.duration == pytest.approx(1.7)
        first[easing] = float((motion.pose.angles[1] - motion.pose.angles[0]).abs().max())
    assert max(first["ends"], first["keys"]) < 0.35 * first["none"]
    path = torch.linspace(0, 2, 21)[:, None, None].expand(-1, 2, 3)
    eased = eased_path(path, 2, 10, "keys")[:, 0, 0]
    assert eased[[0, 10, 20]].tolist() == pytest.approx([0, 1, 2])
    assert float(eased[11] - eased[10]) < 0.04 < float(eased[15] - eased[14])


def test_walks_stand_firmly_and_keep_their_keyframes(space):
    keys = pose_to_vectors(space.rig.skeleton.rest_pose(3)).float()
    legs = [limb for limb in space.rig.skeleton.limbs_of("leg")]
    for key, leg in zip((1, 2), legs, strict=True):
        keys[key, leg.joints[0], 1] += 0.4  # a leg swung fore or aft
        keys[key, leg.joints[1], 1] -= 0.3
    loose, firm = (space.walk(keys, seconds=2.0, lock_feet=lock, method="straight") for lock in (False, True))
    skates = [skating_ratio(trace(space.rig, motion).feet, motion.fps) or 0.0 for motion in (loose, firm)]
    assert skates[1] <= skates[0]
    found = pose_to_vectors(firm.pose)
    assert all(float((found - key).abs().amax((-1, -2)).min()) < 1e-3 for key in keys)


def test_the_body_goes_where_most_feet_can_stay():
    moves = np.array([[-0.5, 0, 0], [-0.51, 0, 0.01], [0.3, 0, 0]])
    assert body_shift(moves) == pytest.approx([0.505, 0, -0.005])
    assert body_shift(np.zeros((0, 3))) == pytest.approx([0, 0, 0])


def test_a_clip_is_edited_at_a_frame_and_the_rest_stays(space):
    rig = space.rig
    pose = rig.skeleton.rest_pose(41)
    swing = pose.angles.clone()
    hip = rig.skeleton.limbs_of("leg")[0].joints[0]
    swing[:, hip, 1] = 0.3 * torch.sin(torch.linspace(0, 6, 41))
    motion = Motion(replace(pose, angles=swing) if hasattr(pose, "__dataclass_fields__") else pose._replace(angles=swing), 30.0)
    hand = rig.skeleton.limbs_of("arm")[0].tip
    name = rig.skeleton.names[hand]
    before = forward_kinematics(rig.skeleton, motion.pose).position
    aim = before[20, hand] + torch.tensor([0.15, 0.2, 0.0])
    edit = space.edit(motion, 20, (Handle(name, position=tuple(aim.tolist())),), reach=0.3)
    after = forward_kinematics(rig.skeleton, edit.motion.pose.to(before.dtype)).position
    assert float((after[20, hand] - aim).norm()) < 2e-3
    assert torch.allclose(after[:11], before[:11], atol=1e-5)
    assert torch.allclose(after[30:], before[30:], atol=1e-5)
    feet = [limb.tip for limb in rig.skeleton.limbs_of("leg")]
    assert float((after - before)[:, feet].norm(dim=-1).max()) < 5e-3
    assert edit.pinned == tuple(rig.skeleton.names[foot] for foot in feet)
    moved = (after - before)[:, hand].norm(dim=-1)
    assert bool((moved[11:20].diff() > 0).all())
    assert bool((moved[20:29].diff() < 0).all())


def test_edits_that_cannot_be_are_refused(space):
    motion = Motion(space.rig.skeleton.rest_pose(5), 30.0)
    handle = (Handle(space.rig.skeleton.names[-1], position=(0.0, 1.0, 0.0)),)
    with pytest.raises(AkdError, match="frames 0 to 4"):
        space.edit(motion, 7, handle)
    with pytest.raises(AkdError, match="at least 0 s"):
        space.edit(motion, 2, handle, reach=-1.0)
    assert edit_weights(5, 2, 0).tolist() == [0, 0, 1, 0, 0]


def test_headings_are_no_part_of_a_score():
    pose = creature("dog", 1).skeleton.rest_pose(1)
    turned = vectors_with_heading(pose)
    turned[:, 0] = torch.tensor([0.0, 1.2, 0.0])
    assert without_heading(turned).abs().max() < 1e-5
    assert rig_descriptor(creature("dog", 1)).joint_count == turned.shape[1]
