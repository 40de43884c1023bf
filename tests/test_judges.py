"""The recogniser, the verdict that knows the wish, and what a sentence asks for."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.test_actions import lying, moved, path, standing, step, striding, waving

from akd.measure.actions import CHECKS, ActionCheck
from akd.measure.asked import Asked, asked_of
from akd.measure.body import body_motion
from akd.measure.judge import SHOWN, Judgement, judge_body
from akd.measure.leg_order import LegOrder, leg_order
from akd.measure.recognise import NONE, Recognition, Trees, clip_features, load_models, recognise, sharpened
from akd.measure.signals import features, reversals


def test_what_sentences_ask_for():
    asked = {
        "a man waving with his left hand": Asked("wave", "L"), "a dog jumping over a log": Asked("jump"),
        "a woman picks a box up": Asked("pick up"), "the knight throws a punch": Asked("punch"),
        "a robot standing up from the floor": Asked("get up"), "a person sits down": Asked("sit down"),
        "a horse galloping": Asked("run", gait="gallop"), "an old man limping home": Asked("limp"),
        "a fox walking": Asked("walk", gait="walk"), "a spider crawls": Asked("walk"),
        "a bird flying": Asked("fly"), "a snake slithers by": Asked("slither"), "a girl dances": Asked("dance"),
        "a boy throwing a ball with the right arm": Asked("throw", "R"), "a bear dies": Asked("fall"),
        "a cow grazing": Asked("eat"),
        "a man bows": Asked("bow"), "he does a cartwheel": Asked("flip"), "a wolf standing still": Asked("idle"),
    }  # fmt: skip
    assert {prompt: asked_of(prompt) for prompt in asked} == asked
    assert asked_of("a red teapot") is None


def test_every_action_can_be_said():
    assert set(CHECKS) | {name for model in load_models().values() for name in model.classes} <= set(SHOWN)


def judgement(found: dict[str, float], check: bool | None, *, asked="jump", known=True) -> Judgement:
    failed = () if check else ("clearance",)
    made = None if check is None else ActionCheck(asked, {"clearance": 0.0}, failed)
    return Judgement(Asked(asked), Recognition(found), known, made, {} if made is None else {asked: made})


def test_both_judges_must_agree():
    yes, no = {"jump": 0.9, "walk": 0.1}, {"walk": 0.88, "jump": 0.05}
    vague = {"walk": 0.4, "jump": 0.3}
    assert judgement(yes, True).verdict == "as_asked"
    assert judgement(yes, None).verdict == "as_asked"
    assert judgement(yes, False).verdict == "unsure"
    assert judgement(no, True).verdict == "unsure"
    assert judgement(no, False).verdict == "not_as_asked"
    assert judgement(vague, False).verdict == "unsure"
    assert judgement({NONE: 0.45, "jump": 0.4, "walk": 0.15}, True).verdict == "as_asked"
    assert judgement({NONE: 0.6, "jump": 0.3, "walk": 0.1}, True).verdict == "unsure"
    assert judgement(no, True, known=False).verdict == "as_asked"
    assert judgement(no, False, known=False).verdict == "not_as_asked"
    assert replace(judgement(yes, True), asked=None).verdict is None


def test_a_trot_is_no_walk_even_if_it_looks_like_walking():
    """Both judges take all gaits of a kind for one; the order of the legs tells them apart, and is what is said."""
    dog = judgement({"walk": 0.76}, True, asked="walk")
    trots = replace(dog, order=LegOrder("as in a trot", "as in a walk", False))
    assert (dog.verdict, trots.verdict) == ("as_asked", "not_as_asked")
    said = "Not as asked: looks like walking (0.76), but the legs go as in a trot, not as in a walk."
    assert trots.sentence("Good: a trot.") == said
    fits = {"walking": False, "running": True, "trotting": True, "galloping": False}
    for gait, passed in fits.items():
        assert leg_order("four-legged", "trot", (1.0, 1.0), asked_of(f"a horse {gait}")).passed == passed
    assert not leg_order("two-legged", "hop", (0.1,), Asked("run")).passed
    assert leg_order("four-legged", "trot", (1.0, 1.0), Asked("jump")) is None


def test_the_last_line():
    quality = "Good: the joints move 2 ℓ/s; nothing sinks into the ground."
    assert judgement({"jump": 0.93}, True).sentence(quality).startswith("Good: looks like a jump (0.93), as asked; the joints")
    assert judgement({"walk": 0.88}, False).sentence(quality) == "Not as asked: looks like walking (0.88)."
    assert (
        judgement({"walk": 0.4, "jump": 0.3}, False)
        .sentence(quality)
        .startswith("Unsure: looks like walking (0.40), asked for a jump")
    )
    assert replace(judgement({"walk": 0.4}, None), asked=None).sentence(quality) == quality
    json.dumps(judgement({"jump": 0.93}, True).as_dict())


def test_features_do_not_know_place_heading_side_or_frame_rate():
    body = striding(0.4, 1.0, 0.6)
    names, values = features(body)
    assert len(names) == len(values) == len(load_models()["two-legged"].names)
    assert names == load_models()["two-legged"].names
    shifted = features(moved(body, path(5.0, 0.0, -3.0)))[1]
    # Equal strides have equal heights: which of them counts as the highest is chance.
    kept = np.array([not name.endswith("time_of_high") for name in names])
    np.testing.assert_allclose(shifted[kept], values[kept], atol=2e-3)
    mirrored = {n: getattr(body, n) * (1, 1, -1) for n in ("root", "up", "pelvis", "chest", "head", "axis")}
    for name in ("feet", "hips", "hands", "shoulders"):
        mirrored[name] = (getattr(body, name) * (1, 1, -1))[:, ::-1]
    np.testing.assert_allclose(features(replace(body, yaw=-body.yaw, **mirrored))[1][kept], values[kept], atol=2e-3)


def test_reversals_of_a_known_curve():
    time = np.linspace(0, 1, 200)
    assert reversals(np.sin(2 * np.pi * 3 * time), 0.1) == 6
    assert reversals(0.01 * np.sin(2 * np.pi * 3 * time), 0.1) == 0
    assert reversals(time, 0.1) == 0


def test_trees_as_arrays():
    """One tree: x0 ≤ 1 → class 2, else x1 ≤ 0 → class 0, else 1."""
    tree = Trees(np.array([0]), np.array([0, 0, 1, 0, 0]), np.array([1.0, 0, 0, 0, 0], np.float32), np.array([2, 1, 4, 3, 4]),
                 np.array([0, 2, 0, 0, 1]), 3, 2)  # fmt: skip
    found = tree.probabilities(np.array([[0.5, 9.0], [2.0, -1.0], [2.0, 1.0]]))
    assert found.argmax(1).tolist() == [2, 0, 1]
    assert np.all(found.sum(1) == 1)


def test_probabilities_and_names():
    for model in load_models().values():
        found = model.probabilities(np.zeros((3, len(model.names))))
        np.testing.assert_allclose(found.sum(1), 1, rtol=1e-6)
        assert NONE in model.classes
    np.testing.assert_allclose(sharpened(np.array([[0.8, 0.2]]), 2.0), [[0.64 / 0.68, 0.04 / 0.68]])


@pytest.mark.parametrize(
    ("body", "action"), [(standing(), "idle"), (waving(), "wave"), (lying(), "fall"), (striding(0.4, 1.0, 0.6), "walk")]
)
def test_stick_figures_are_recognised(body, action):
    """Nobody trained on these; three of the likeliest may be asked of a judge of real motion."""
    assert action in list(recognise(body).probabilities)[:3]


def test_a_jump_that_was_asked_for():
    time = np.arange(61) / 30
    leap = np.where(np.abs(time - 1) < 0.3, 0.45 - 5 * (time - 1) ** 2, 0.0)
    crouch = 0.2 * (step(0.2, 0.4) - step(0.6, 0.15)) + 0.15 * (step(1.3, 0.1) - step(1.5, 0.3))
    body = moved(moved(standing(), path(0, leap)), path(0, -crouch), feet=False)
    found = judge_body(body, Asked("jump"))
    assert found.check is not None
    assert found.check.passed
    assert found.verdict != "not_as_asked"


def test_distance_to_real_motion():
    model = load_models()["two-legged"]
    walk = model.distance(clip_features(striding(0.4, 1.0, 0.6)), "walk")
    assert walk is not None
    assert 0 <= walk <= 1
    assert model.distance(np.full(len(model.names), 1e3), "walk") == 1.0
    low, high = model.heights("walk")
    assert 0.3 < low < 1 < high < 1.3


def test_unknown_builds_have_no_recogniser():
    assert recognise(replace(standing(), build="many-legged")) is None
    assert judge_body(replace(standing(), build="many-legged"), Asked("idle")).verdict == "as_asked"


def test_body_motion_of_a_clip_in_place_has_its_travel():
    from tests.stick_rigs import person

    from akd.creatures.gaits import gait_motion

    motion = gait_motion(person(), "walk", seed=None, fps=30.0, cycles=2)
    body = body_motion(person(), motion)
    assert body.build == "two-legged"
    assert np.linalg.norm((body.root[-1] - body.root[0])[[0, 2]]) > 0.5


def test_success_that_an_eye_agrees_with():
    """Our own walk of a stick figure touches the ground with its feet only; sunk to its knees it does not."""
    from tests.stick_rigs import person

    from akd.creatures.gaits import gait_motion
    from akd.measure.evaluation import evaluate
    from akd.measure.realism import eye_success, lowest_other_skin, realism
    from akd.motion import Motion
    from akd.skeleton import Pose

    rig = person()
    motion = gait_motion(rig, "walk", seed=None, fps=30.0, cycles=2)
    body = body_motion(rig, motion)
    tested = eye_success(rig, motion, Asked("walk"))
    new = {"only feet touch", "lowest pelvis", "highest pelvis", "distance to real motion", "legs take turns", "as asked"}
    assert new <= {check.name for check in tested.checks}
    assert "only feet touch" not in tested.failures
    assert "legs take turns" not in tested.failures
    pose = motion.pose
    sunk = Motion(Pose(pose.root_position - torch.tensor((0.0, 0.75, 0.0)), pose.root_rotation, pose.angles), motion.fps)
    assert lowest_other_skin(rig, sunk, body_motion(rig, sunk)) < lowest_other_skin(rig, motion, body) - 0.3
    failed = {c.name for c in realism(rig, sunk, body_motion(rig, sunk), evaluate(rig, sunk), Asked("walk")) if not c.passed}
    assert {"only feet touch", "lowest pelvis"} <= failed
    assert "only feet touch" not in {c.name for c in realism(rig, sunk, body, evaluate(rig, sunk), Asked("fall"))}


def test_labels_of_the_motion_data():
    from akd.training.recogniser.labels import class_of

    assert class_of("two-legged", "sneak") == "walk"
    assert class_of("two-legged", "golf_swing") == NONE
    assert class_of("two-legged", "martial_arts") is None
    assert class_of("two-legged", "jump", clip="Jump", beside=("Jump", "Jump_Land")) is None
    assert class_of("two-legged", "jump", clip="Man_Jump", beside=("Man_Jump", "Man_Run")) == "jump"
    assert class_of("two-legged", "sit", clip="Sitting_Idle_Loop") is None
    assert class_of("four-legged", "headbutt", clip="Headbutt") == "attack"
    assert class_of("legless", "swim") is None


def test_groups_are_left_out_whole():
    from akd.training.recogniser.left_out import group_folds

    group = np.array(["a"] * 5 + ["b"] * 3 + ["c"] * 2 + ["d"])
    assert group_folds(group, None) == [{"a"}, {"b"}, {"c"}, {"d"}]
    folds = group_folds(group, 2)
    assert sorted(name for fold in folds for name in fold) == ["a", "b", "c", "d"]
    assert [sum(np.isin(group, list(fold))) for fold in folds] in ([6, 5], [5, 6])


def test_a_wrong_order_of_legs_is_told_where_there_is_neither_recogniser_nor_check() -> None:
    """Runs of a few frames are too short for both."""
    order = LegOrder("together", "in turns", False, None)
    judged = Judgement(Asked("walk", None, "walk"), None, True, None, {}, order)
    assert judged.sentence("Good: a walk") == "Not as asked: the legs go together, not in turns."
