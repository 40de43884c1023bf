"""Retargeting: what a clip does arrives on other bodies, whatever their rest pose, size and joint count."""

import json
import sys
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from akd.assets import load_rig, save_animation
from akd.character.leg import main_chain
from akd.character.limb_model import local_to_stage, skinned
from akd.cli import main
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.errors import AkdError
from akd.files.bvh import write_bvh
from akd.motion import Motion, from_stage_rotations, mirror
from akd.retarget.correspondence import correspondence, middle_place, smallest_rotation
from akd.retarget.hands import _reach, find_touch, hand_point
from akd.retarget.measures import measure_retarget, phase_difference, there_and_back
from akd.retarget.retarget import retarget
from akd.retarget.source import load_clip
from akd.retarget.transfer import Performance
from akd.rig import Rig
from akd.skeleton import Pose, Skeleton, bone_frames, forward_kinematics

CLIPS = (("human", "walk"), ("human", "punch"), ("dog", "trot"), ("dog", "eat"), ("spider", "walk"), ("ostrich", "run"))


@cache
def body(plan: str, seed: int = 0) -> Rig:
    return creature(plan, seed)


@cache
def clip(plan: str, action: str) -> Motion:
    return gait_motion(body(plan), action, cycles=2) if action in ("walk", "run", "trot") else gait_motion(body(plan), action)


def joints(rig: Rig, motion: Motion) -> np.ndarray:
    return forward_kinematics(rig.skeleton, motion.pose.to(torch.float64)).position.numpy()


def apart(rig: Rig, one: Motion, other: Motion) -> np.ndarray:
    return np.linalg.norm(joints(rig, one) - joints(rig, other), axis=-1)


@pytest.mark.parametrize(("plan", "action"), CLIPS)
def test_a_clip_on_its_own_rig_stays_as_it_is(plan, action):
    rig, motion = body(plan), clip(plan, action)
    result = retarget(motion, rig, rig)
    assert result.scale == pytest.approx(1)
    distance = apart(rig, result.motion, motion)
    assert distance.mean() < 0.02  # feet leave a little sooner, so that none stands a frame too long
    assert distance.max() < 0.12


def test_a_copy_of_another_size_moves_alike():
    rig, motion = body("human"), clip("human", "walk")
    small = replace(rig, leg_metres=rig.leg_metres / 3)
    assert apart(rig, retarget(motion, rig, small).motion, retarget(motion, rig, rig).motion).max() < 1e-6


def rebound(rig: Rig, angles: dict[str, tuple[float, float, float]], size: float) -> Rig:
    """The same body bound in another rest pose: joints turned by these rotation vectors [deg], then scaled."""
    skeleton = rig.skeleton
    local = np.tile(np.eye(3), (1, skeleton.joint_count, 1, 1))
    for name, vector in angles.items():
        local[0, skeleton.index(name)] = Rotation.from_rotvec(vector, degrees=True).as_matrix()
    stage, position = local_to_stage(skeleton, skeleton.positions[:1], local)
    vertices = skinned(rig, np.arange(rig.mesh.vertex_count), stage, position)[0]
    tails = position[0] + (stage[0] @ (skeleton.tails - skeleton.positions)[..., None])[..., 0]
    ground = vertices[:, 1].min()
    moved = [(points - (0.0, ground, 0.0)) * size for points in (position[0], tails, vertices)]
    frames = bone_frames(skeleton.parents, moved[0], moved[1])
    posed = Skeleton(skeleton.names, skeleton.parents, moved[0], moved[1], frames, skeleton.limbs, skeleton.mirror)
    return replace(rig, skeleton=posed, mesh=replace(rig.mesh, vertices=moved[2]))


def side_names(rig: Rig, kind: str) -> list[tuple[float, list[str]]]:
    limbs = rig.skeleton.limbs_of(kind)
    return [
        (-1.0 if limb.side == "L" else 1.0, [rig.skeleton.names[j] for j in main_chain(rig.skeleton, limb)]) for limb in limbs
    ]


def other_rest_pose(rig: Rig) -> Rig:
    """Arms lowered or raised and elbows bent, knees bent with the feet flat; ℓ is then no longer the height of the hips."""
    angles: dict[str, tuple[float, float, float]] = {}
    for side, names in side_names(rig, "arm"):
        upper = names[1] if len(names) > 3 else names[0]
        angles[upper] = (side * 35.0, 0.0, 0.0)
        angles[names[names.index(upper) + 1]] = (side * 25.0, 0.0, 0.0)
    for _, names in side_names(rig, "leg"):
        angles[names[0]], angles[names[1]], angles[names[2]] = (0, 0, 15.0), (0, 0, -30.0), (0, 0, 15.0)
    return rebound(rig, angles, size=1.07)


def test_another_rest_pose_makes_no_difference():
    rig, motion = body("human"), clip("human", "walk")
    other = other_rest_pose(rig)
    assert np.linalg.norm(other.skeleton.positions / 1.07 - rig.skeleton.positions, axis=1).max() > 0.2
    result, plain = retarget(motion, rig, other), retarget(motion, rig, rig)
    assert result.scale == pytest.approx(1.07, rel=0.01)
    firm = np.flatnonzero(rig.weights.max(1) > 0.98)[::37]
    skins = []
    for moving, made in ((rig, plain), (other, result)):
        posed = forward_kinematics(moving.skeleton, made.motion.pose.to(torch.float64))
        skins.append(skinned(moving, firm, posed.rotation.numpy(), posed.position.numpy()))
    distance = np.linalg.norm(skins[1] / result.scale - skins[0], axis=-1)
    assert np.median(distance) < 0.01
    assert distance.mean() < 0.02


def test_other_bone_axes_make_no_difference():
    rig, motion = body("human"), clip("human", "punch")
    turn = Rotation.from_rotvec([0.3, 1.0, -0.7]).as_matrix()
    twisted = replace(rig, skeleton=replace(rig.skeleton, frames=rig.skeleton.frames @ turn))
    assert (
        apart(rig, retarget(motion, rig, twisted).motion, retarget(motion, rig, rig).motion).max() > 0
    )  # read with its own axes
    ours, plain = retarget(motion, rig, twisted).motion, retarget(motion, rig, rig).motion
    assert (ours.pose.angles - plain.pose.angles).abs().max() > 0.1  # other angles for the same motion
    np.testing.assert_allclose(joints(twisted, ours), joints(rig, plain), atol=1e-6)


@pytest.mark.parametrize(("plan", "action", "target"), [("human", "punch", "robot"), ("dog", "walk", "horse")])
def test_a_mirrored_clip_gives_the_mirrored_result(plan, action, target):
    rig, other, motion = body(plan), body(target), clip(plan, action)
    one = retarget(mirror(rig.skeleton, motion), rig, other).motion
    two = mirror(other.skeleton, retarget(motion, rig, other).motion)
    assert apart(other, one, two).mean() < 0.004


@pytest.mark.parametrize(
    ("plan", "action", "target"), [("human", "walk", "robot"), ("dog", "trot", "horse"), ("ant", "walk", "beetle")]
)
def test_there_and_back_is_the_same_motion(plan, action, target):
    rig, other = body(plan), body(target)
    result = retarget(clip(plan, action), rig, other)
    assert there_and_back(result, rig, other) < 0.035


@pytest.mark.parametrize(
    ("plan", "action", "target"),
    [("human", "walk", "astronaut"), ("human", "run", "child"), ("dog", "trot", "giraffe"), ("horse", "gallop", "fox"),
     ("spider", "walk", "spider"), ("ostrich", "run", "tyrannosaur")],
)  # fmt: skip
def test_feet_stand_when_the_source_stands_and_nothing_sinks(plan, action, target):
    rig, other = body(plan), body(target, 3)
    result = retarget(gait_motion(rig, action, cycles=3), rig, other)
    numbers = measure_retarget(result, rig, other)
    assert numbers.skating is not None
    assert numbers.skating <= 0.05
    assert numbers.penetration <= 0.01
    assert numbers.contact_agreement is not None
    assert numbers.contact_agreement > 0.93
    assert numbers.duty_difference is not None
    assert numbers.duty_difference <= 0.05
    assert numbers.phase_difference is not None
    assert numbers.phase_difference <= 0.05
    assert numbers.amount == pytest.approx(1, abs=0.15)


def test_a_loop_stays_a_loop():
    rig, other = body("dog"), body("horse")
    result = retarget(gait_motion(rig, "walk"), rig, other)
    assert result.loops
    pose = result.motion.pose
    torch.testing.assert_close(pose.root_position[0, 1], pose.root_position[-1, 1], atol=1e-9, rtol=0)
    at = joints(other, result.motion)
    np.testing.assert_allclose(at[-1] - at[-1, 0], at[0] - at[0, 0], atol=1e-6)


def in_place(motion: Motion) -> Motion:
    still = motion.pose.root_position * torch.tensor((0.0, 1.0, 1.0))
    return replace(motion, pose=Pose(still, motion.pose.root_rotation, motion.pose.angles))


def test_clips_in_place_get_their_travel_back_unless_told_otherwise():
    rig, other, motion = body("dog"), body("horse"), clip("dog", "trot")
    way = {
        travel: float((made.motion.pose.root_position[-1] - made.motion.pose.root_position[0])[0]) / made.scale
        for travel in ("auto", "keep", "none")
        for made in [retarget(in_place(motion), rig, other, travel=travel)]
    }
    true = float((motion.pose.root_position[-1] - motion.pose.root_position[0])[0])
    assert way["auto"] == pytest.approx(true, rel=0.1)
    assert abs(way["keep"]) < 0.05
    assert abs(way["none"]) < 0.05
    kept = retarget(motion, rig, other, travel="none").motion.pose.root_position
    assert abs(float(kept[-1, 0] - kept[0, 0])) < 0.05


def test_limbs_that_are_missing_are_named():
    human, ostrich = body("human"), body("ostrich")
    notes = " ".join(retarget(clip("human", "walk"), human, ostrich).notes)
    assert "no left arm: what it does in the clip is left out" in notes
    assert "no right wing, so that of ostrich" in notes


def test_hands_touch_the_same_place():
    """Hands on the hips of a person are on the hips of a robot with other proportions."""
    rig, other = body("human"), body("robot", 5)
    motion = _hands_at_head(rig)
    result = retarget(motion, rig, other, travel="keep")
    between = result.correspondence
    performances = []
    for moving, made in ((rig, result.source), (other, result.motion)):
        posed = forward_kinematics(moving.skeleton, made.pose.to(torch.float64))
        performances.append(Performance(posed.rotation.numpy(), posed.position.numpy(), made.fps))
    for pair in between.pairs_of("arm"):
        touch = find_touch(rig, other, between, pair, *performances)
        hand = hand_point(other, pair.target_chain, pair.target_end, performances[1])
        touching = touch.weight > 0.99
        assert touching.mean() > 0.9
        bones = other.skeleton.positions[list(pair.target_chain)]
        length = np.linalg.norm(np.diff(bones, axis=0), axis=1).sum()
        assert np.linalg.norm(hand - touch.place, axis=1)[touching].max() < 0.05 * length


def _hands_at_head(rig: Rig) -> Motion:
    """A standing person with both hands held at the sides of the head."""
    pose = rig.skeleton.rest_pose(12, dtype=torch.float64)
    posed = forward_kinematics(rig.skeleton, pose)
    performance = Performance(posed.rotation.numpy(), posed.position.numpy(), 30.0)
    head = rig.skeleton.limbs_of("head")[0].joints[0]
    middle = (rig.skeleton.positions[head] + rig.skeleton.tails[head]) / 2
    own = rig.mesh.vertices[rig.weights.argmax(1) == head]
    for pair in correspondence(rig, rig).pairs_of("arm"):
        side = -1.0 if pair.target.side == "L" else 1.0
        beside = middle + np.array([0.0, 0.0, side * float(own[:, 2].max())])
        for _ in range(4):
            off = beside - hand_point(rig, pair.target_chain, pair.target_end, performance)
            wrist = performance.positions[:, pair.target_chain[pair.target_end]]
            elbow = middle_place(rig.skeleton, pair.target_chain, pair.target_end)
            assert elbow is not None
            performance = _reach(rig.skeleton, pair, elbow, performance, wrist + off)
    root = torch.as_tensor(performance.positions[:, 0])
    return from_stage_rotations(rig.skeleton, root, torch.as_tensor(performance.rotations), 30.0)


def test_phases_are_compared_around_the_circle():
    stance = np.zeros((60, 2), bool)
    for start in range(0, 60, 20):
        stance[start + 2 : start + 10, 0] = True
        stance[(start + 12) % 60 : (start + 12) % 60 + 8, 1] = True
    assert phase_difference(stance, stance) == pytest.approx(0, abs=1e-9)
    late = np.stack((stance[:, 0], np.roll(stance[:, 1], 2)), 1)
    assert phase_difference(stance, late) == pytest.approx(0.1)


def test_the_smallest_rotation_turns_one_direction_into_another():
    rng = np.random.default_rng(0)
    for a, b in rng.normal(size=(50, 2, 3)):
        turned = smallest_rotation(a, b) @ a
        np.testing.assert_allclose(turned / np.linalg.norm(a), b / np.linalg.norm(b), atol=1e-9)
    assert (smallest_rotation(np.array([1.0, 0, 0]), np.array([-2.0, 0, 0])) @ [1, 0, 0])[0] == pytest.approx(-1)


def test_what_cannot_be_retargeted_is_said_in_one_sentence(tmp_path: Path):
    dog, human = body("dog"), body("human")
    with pytest.raises(AkdError, match="2 legs does not fit one with 4 legs"):
        retarget(clip("human", "walk"), human, dog)
    bare = replace(dog, skeleton=replace(dog.skeleton, limbs=()), soles=())
    with pytest.raises(AkdError, match="not labelled"):
        retarget(clip("dog", "trot"), dog, bare)
    short = replace(clip("dog", "trot"), pose=clip("dog", "trot").pose[:2])
    with pytest.raises(AkdError, match="2 frames"):
        retarget(short, dog, dog)
    path = tmp_path / "still.bvh"
    write_bvh(path, human.skeleton, clip("human", "walk"), scale=90)
    head, _, _ = path.read_text().partition("Frames:")
    path.write_text(head + "Frames: 0\nFrame Time: 0.033\n")
    with pytest.raises(AkdError, match="holds no motion"):
        load_clip(str(path))
    with pytest.raises(AkdError, match=r"no rig\.glb"):
        load_clip(str(tmp_path))


def test_a_bvh_of_a_walk_walks_on_another_body(tmp_path: Path):
    """The same skeleton without a mesh, in another unit, standing a leg too high: as BVH files do."""
    human, robot = body("human"), body("robot")
    path = tmp_path / "walk.bvh"
    write_bvh(path, human.skeleton, gait_motion(human, "walk", cycles=3), scale=90)
    source = load_clip(str(path))
    result = retarget(source.motion, source.rig, robot)
    numbers = measure_retarget(result, source.rig, robot)
    assert numbers.skating is not None
    assert numbers.skating <= 0.05
    assert numbers.penetration <= 0.01
    assert numbers.amount == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(
    ("source", "target"),
    [("q_wolf/Wolf.glb#Gallop", "q_horse/Horse.glb"), ("q_horse/Horse.glb#Eating", "fox_khronos/Fox.glb"),
     ("q_spider/Spider.glb#Spider_Walk", "q_spider/Spider.glb"), ("q_snake/Snake.glb#Snake_Walk", "q_snake/Snake.glb")],
)  # fmt: skip
def test_clips_of_artists_arrive(assets, source, target):
    read = load_clip(str(assets / source))
    rig = load_rig(assets / target)
    result = retarget(read.motion, read.rig, rig)
    numbers = measure_retarget(result, read.rig, rig)
    assert all(value is None or np.isfinite(value) for value in asdict(numbers).values())
    assert numbers.penetration <= 0.01
    assert numbers.skating is None or numbers.skating <= 0.06


def test_the_command_writes_the_character_with_the_clip(tmp_path: Path, monkeypatch, capsys):
    dog, horse = body("dog"), body("horse")
    save_animation(dog, clip("dog", "trot"), tmp_path / "dog.glb", name="Trot")
    save_animation(horse, gait_motion(horse, "idle"), tmp_path / "horse.glb", name="Idle")
    out = tmp_path / "trotting.glb"
    monkeypatch.setattr(
        sys, "argv", ["akd", "retarget", f"{tmp_path / 'dog.glb'}#trot", str(tmp_path / "horse.glb"), "--out", str(out), "--json"]
    )
    main()
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["skating"] <= 0.05
    written = load_rig(out)
    assert written.origin is not None
    assert sorted(c.name for c in written.origin.file.clips) == ["Idle", "Trot"]
