"""What gaits promise on any labelled rig: planted feet, the right rhythm, exact loops, knees that bend the right way."""

import gc
from dataclasses import replace
from weakref import ref

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from akd.character import limb_model as limb_model_module
from akd.character.leg import leg_of
from akd.character.limb_model import CACHED_RIGS, limb_model, skinned
from akd.contact.stance import keyed_curve, lift_arc, septic_step
from akd.contact.traces import trace
from akd.creatures.body_ik import solve_motion
from akd.creatures.build import creature
from akd.creatures.gaits import actions_for, gait_motion, gaits_for
from akd.creatures.targets import BodyTargets, standing_feet
from akd.errors import AkdError
from akd.gait.measures import phase_distance
from akd.gait.table import GAITS, Style
from akd.measure.evaluation import evaluate
from akd.rig import Rig
from akd.skeleton import Limb, Skeleton, forward_kinematics
from stick_rigs import dog, person, spider

RIGS = {"dog": dog(), "person": person(), "spider": spider(4), "ant": spider(3)}
GOING = [(rig, gait) for rig in RIGS for gait in gaits_for(RIGS[rig])]
DOING = [(rig, action) for rig in RIGS for action in actions_for(RIGS[rig])]


@pytest.mark.parametrize(("name", "gait"), GOING)
@pytest.mark.parametrize("seed", [None, 5])
def test_gaits_keep_their_promises(name: str, gait: str, seed: int | None):
    rig = RIGS[name]
    seen, promised = evaluate(rig, gait_motion(rig, gait, seed=seed, cycles=2), from_file=False), GAITS[gait]
    assert (seen.skating_ratio or 0) <= 0.05
    assert seen.penetration_max < 0.005
    assert seen.heading is not None
    assert seen.heading >= 0.95
    assert seen.crossed_limbs == 0
    assert phase_distance(np.array(seen.phases), np.array(promised.phases[len(rig.legs)])) < 0.04
    assert (seen.duty_factor > 0.5) == (promised.duty > 0.5)
    if promised.duty > 0.5:
        assert seen.float_height < 0.01


@pytest.mark.parametrize(("name", "action"), DOING)
def test_actions_neither_slide_nor_sink(name: str, action: str):
    rig = RIGS[name]
    seen = evaluate(rig, gait_motion(rig, action, seed=3), from_file=False)
    assert (seen.skating_ratio or 0) <= 0.05
    assert seen.penetration_max < 0.01
    if action != "jump":
        assert seen.float_height < 0.01


@pytest.mark.parametrize(("plan", "seed"), [("crocodile", 401), ("bear", 406)])
def test_no_skin_sinks_in_between_the_points_that_are_looked_at(plan: str, seed: int):
    rig = creature(plan, seed)
    assert evaluate(rig, gait_motion(rig, "gallop", seed=seed), from_file=False).penetration_max < 0.004


def test_toes_stand_still_while_the_heel_rises():
    rig = creature("bear", 417)
    body, count = limb_model(rig), 9
    standing = standing_feet(body, count)
    pitch = np.linspace(0.0, -0.5, count)[:, None] * np.ones(len(body.feet))
    still = np.zeros((count, 3))
    motion = solve_motion(body, BodyTargets(still, still[:, 0], still, replace(standing, pitch=pitch)), fps=30)
    toes = [toe for foot in body.feet for toe in foot.toes]
    assert toes
    at = forward_kinematics(rig.skeleton, motion.pose).position[:, toes]
    assert (at - at[0]).norm(dim=-1).max() < 0.01


@pytest.mark.parametrize("seed", [413, 436])
def test_feet_far_aside_do_not_swing_forward_while_they_stand(seed: int):
    rig = creature("beetle", seed)
    phases = evaluate(rig, gait_motion(rig, "wave", seed=seed, cycles=2), from_file=False).phases
    assert phase_distance(np.array(phases), np.array(GAITS["wave"].phases[6])) < 0.04


def test_the_heavy_keep_their_feet_down_unless_told():
    rig = creature("elephant", 0)
    assert gaits_for(rig) == ["walk"]
    assert "jump" not in actions_for(rig)
    assert gait_motion(rig, "gallop", frames=5).frame_count == 5
    assert "gallop" in gaits_for(replace(rig, leg_metres=0.5))


def test_rigs_that_moved_once_are_not_kept_for_ever():
    first = dog()
    assert limb_model(first) is limb_model(first)
    gone = ref(first)
    del first
    for _ in range(CACHED_RIGS):
        limb_model(dog())
    gc.collect()
    assert gone() is None


def test_watched_vertices_are_kept_with_their_foot_or_with_the_trunk():
    body = limb_model(RIGS["dog"])
    everything = np.arange(len(body.rig.mesh.vertices))
    watching = body.watching(everything)
    outlines = np.concatenate([foot.outline for foot in watching.feet])
    assert not np.intersect1d(watching.watched, outlines).size
    assert np.array_equal(np.union1d(watching.watched, outlines), everything)
    assert np.isin(watching.watched, watching.trunk_points).all()


@pytest.mark.parametrize(("name", "motion"), GOING + DOING)
def test_loops_are_exact(name: str, motion: str):
    rig = RIGS[name]
    pose = gait_motion(rig, motion).pose
    assert (pose.angles[-1] - pose.angles[0]).abs().max() < 1e-4
    assert (pose.root_position[-1, 1] - pose.root_position[0, 1]).abs() < 1e-4
    # Across the seam the angles go on as they went: no step is larger than the largest inside.
    steps = pose.angles.diff(dim=0).abs().amax((1, 2))
    assert (pose.angles[1] - pose.angles[-1]).abs().max() <= 1.01 * steps.max() + 1e-6


@pytest.mark.parametrize("name", RIGS)
def test_a_standing_sole_does_not_move_at_all(name: str):
    rig = RIGS[name]
    feet = trace(rig, gait_motion(rig, "walk", seed=None, cycles=2)).feet
    step = np.linalg.norm(np.diff(feet[..., [0, 2]], axis=0), axis=-1)
    for number, foot in enumerate(limb_model(rig).feet):
        flat = (feet[1:, number, 1] < 1e-3) & (feet[:-1, number, 1] < 1e-3)
        # Feet that roll over heel and ball move their middle a little; a foot that only stands must not.
        assert np.median(step[flat, number]) < (2e-3 if foot.length > 0.1 else 1e-4)


def test_knees_bend_the_anatomical_way():
    rig = RIGS["person"]  # straight legs at rest: nothing in the geometry says where knees are
    posed = forward_kinematics(rig.skeleton, gait_motion(rig, "run").pose)
    for side in "LR":
        hip, knee, ankle = (posed.position[:, rig.skeleton.index(f"{joint}_{side}")] for joint in ("thigh", "shin", "foot"))
        bend = torch.linalg.cross(knee - hip, ankle - knee)[:, 2]
        assert bend.max() < 1e-4  # the shin turns back, about −z
        assert bend.min() < -0.05


def test_knees_stay_as_they_are_bent_at_rest():
    rig = RIGS["dog"]
    posed = forward_kinematics(rig.skeleton, gait_motion(rig, "gallop").pose).position.double()
    rest = torch.from_numpy(rig.skeleton.positions)
    for chain in (("arm", "forearm", "wrist"), ("thigh", "shin", "hock"), ("shin", "hock", "paw")):
        a, b, c = (rig.skeleton.index(f"{joint}_R") for joint in chain)
        at_rest = torch.linalg.cross(rest[b] - rest[a], rest[c] - rest[b])[2]
        moving = torch.linalg.cross(posed[:, b] - posed[:, a], posed[:, c] - posed[:, b])[:, 2]
        assert (moving * at_rest > 0).all()


def test_travel_is_speed_times_time():
    rig = RIGS["dog"]
    motion = gait_motion(rig, "trot", speed=2.5, seed=None)
    travelled = motion.pose.root_position[-1, 0] - motion.pose.root_position[0, 0]
    assert travelled / motion.duration == pytest.approx(2.5, rel=0.05)  # periods are whole frames
    assert (motion.pose.root_position[-1, 2] - motion.pose.root_position[0, 2]).abs() < 1e-5


def test_similar_bodies_of_other_sizes_move_alike_in_their_own_time():
    small, large = (gait_motion(replace(RIGS["dog"], leg_metres=metres), "walk", seed=None, fps=120) for metres in (0.4, 1.6))
    assert large.duration / small.duration == pytest.approx(2.0, rel=0.03)  # √(ℓ/g)


def test_seeds_repeat_and_differ():
    rig = RIGS["dog"]
    one, again, other = (gait_motion(rig, "walk", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.pose.angles, again.pose.angles)
    assert one.pose.angles.shape != other.pose.angles.shape or not torch.allclose(one.pose.angles, other.pose.angles, atol=1e-3)


def test_style_is_continuous():
    rig = RIGS["person"]
    a, b = (gait_motion(rig, "walk", seed=None, style=Style(lift=lift)).pose.angles for lift in (1.0, 1.001))
    assert 0 < (a - b).abs().max() < 0.02


def test_so_many_frames_as_asked_for():
    for name in ("walk", "jump"):
        assert gait_motion(RIGS["dog"], name, frames=17, fps=12, start=0.3).frame_count == 17


def test_turning_keeps_feet_planted():
    motion = gait_motion(RIGS["dog"], "walk", turn=0.6, cycles=3, seed=None)
    seen = evaluate(RIGS["dog"], motion, from_file=False)
    assert seen.skating_ratio == 0
    assert motion.pose.root_position[-1, 2] < -0.1  # to the left


def test_impossible_wishes_are_explained():
    with pytest.raises(AkdError, match="two arms"):
        gait_motion(RIGS["dog"], "punch")
    with pytest.raises(AkdError, match="cannot trot"):
        gait_motion(RIGS["person"], "trot")
    with pytest.raises(AkdError, match="no motion 'moonwalk'"):
        gait_motion(RIGS["dog"], "moonwalk")
    with pytest.raises(AkdError, match="cannot swim: that needs fins"):
        gait_motion(RIGS["dog"], "swim")
    with pytest.raises(AkdError, match="slower"):
        gait_motion(RIGS["dog"], "walk", speed=60.0)
    with pytest.raises(AkdError, match="duty"):
        gait_motion(RIGS["dog"], "walk", duty=1.5)
    legless = Rig(RIGS["dog"].mesh, RIGS["dog"].skeleton.labelled((), RIGS["dog"].skeleton.mirror), RIGS["dog"].weights)
    with pytest.raises(AkdError, match="0 legs"):
        gait_motion(legless, "walk")
    assert gaits_for(legless) == []


def test_everyday_words_work_on_every_body():
    for rig in RIGS.values():
        for word in ("walk", "run"):
            assert gait_motion(rig, word).frame_count > 4


def test_a_creature_of_ours_walks():
    rig = creature("dog", 3)
    seen = evaluate(rig, gait_motion(rig, "walk", seed=3), from_file=False)
    assert seen.gait == "walk"
    assert seen.skating_ratio == 0
    assert seen.penetration_max < 0.005


def test_an_artists_rig_walks(assets):
    from akd.assets import load_rig

    rig = load_rig(assets / "q_wolf" / "Wolf.glb")
    seen = evaluate(rig, gait_motion(rig, "walk", seed=None), from_file=False)
    assert seen.gait == "walk"
    assert seen.skating_ratio == 0
    assert seen.penetration_max < 0.005


def test_curves_come_to_rest():
    u, h = np.array([0.0, 1.0]), 1e-9
    for curve in (septic_step, lift_arc):
        slope = (curve(np.clip(u + h, 0, 1)) - curve(np.clip(u - h, 0, 1))) / h
        assert np.abs(slope).max() < 0.1
    keys = [(0.0, 0.0), (0.3, 1.0), (1.0, -0.5)]
    assert keyed_curve(keys, np.array([0.0, 0.3, 1.0])) == pytest.approx([0.0, 1.0, -0.5])


@pytest.mark.parametrize("steps", [(0.1, 0.1, 0.1), (0.0, 0.0, 0.0), (-0.5, 0.0, -0.5)], ids=["upright", "point", "twist bone"])
def test_odd_legs_stay_finite(steps: tuple[float, ...]) -> None:
    """Hair may be taken for a leg, and some rigs have two joints at one place."""
    height = 1 + np.concatenate(([0.0], np.cumsum(steps)))
    names = ("hip", "knee", "hock", "foot")
    skeleton = Skeleton.from_joints(names, np.arange(-1, 3), np.stack((np.zeros(4), height, np.zeros(4)), 1))
    leg = leg_of(skeleton, Limb("leg", "C", 0, (0, 1, 2, 3), 3), 3, np.zeros(3), is_fore=False)
    pose = leg.reach(np.array([[0.0, -0.4, 0.0], [0.1, 0.2, 0.0]]))
    for part in (leg.normal, leg.basis, leg.rest_bends, pose.hip, pose.fold):
        assert np.isfinite(part).all()


def test_skin_is_the_same_whichever_way_it_is_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joint by joint it took 9 GB with 3,000 joints."""
    rig, random = RIGS["dog"], np.random.default_rng(0)
    stage = Rotation.random(5 * rig.skeleton.joint_count, random_state=1).as_matrix().reshape(5, -1, 3, 3)
    arguments = rig, np.arange(0, rig.mesh.vertex_count, 3), stage, random.normal(size=(5, rig.skeleton.joint_count, 3))
    terms = skinned(*arguments)
    monkeypatch.setattr(limb_model_module, "MOST_TERMS", 0)
    np.testing.assert_allclose(skinned(*arguments), terms, atol=1e-6)
