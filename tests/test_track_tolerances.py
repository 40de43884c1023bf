"""A measure at its tolerance counts 1, the best rollout exceeds the tolerances least, and a rollout within them ends tracking."""

from dataclasses import replace

import pytest
import torch

from akd.character.articulation import articulation_of
from akd.contact.prepare import Target, prepare
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.measure.evaluation import evaluate
from akd.physics.search import Search
from akd.physics.track import track
from akd.physics.track_settings import RolloutEvaluator, Tolerances, TrackSettings, exceeded, total_excess
from akd.rig import Rig

QUICK = TrackSettings(window_iterations=2, follow_iterations=0, whole_iterations=2, assist=False, attempts=3)


@pytest.fixture(scope="module")
def human() -> tuple[Rig, Target]:
    rig = creature("human", 0)
    return rig, prepare(rig, gait_motion(rig, "walk"))


def test_an_aim_is_missed_above_what_is_allowed(human):
    rig, target = human
    seen = evaluate(rig, target.motion, from_file=False)
    spoilt = replace(seen, penetration_max=0.02, float_height=0.021, skating_ratio=0.05, jerk=1.6 * seen.jerk)
    ratios = Tolerances().ratios(0.025, 0.0, seen, spoilt)
    assert exceeded(ratios) == ("penetration", "float", "jerk")
    assert ratios["error"] == pytest.approx(0.5)
    assert ratios["skating"] == pytest.approx(1.0)
    assert exceeded(Tolerances().ratios(0.0, 0.2, replace(seen, duty_factor=0.3), spoilt)) == ("penetration", "jerk", "impulse")


def test_twice_too_much_counts_alike_and_what_is_reached_not_at_all():
    assert total_excess({"error": 0.1, "skating": 1.0}) == 0
    assert total_excess({"error": 2.0, "skating": 0.0}) == total_excess({"error": 0.9, "skating": 2.0}) == pytest.approx(1)


def test_the_target_itself_would_be_good_enough(human):
    """A rollout that is the target, frame by frame, reaches all tolerances; one that has sunk does not."""
    rig, target = human
    body = articulation_of(rig)
    evaluator = RolloutEvaluator(rig, body, target.motion, target.motion.pose.angles, Tolerances())
    search = Search(body, rig, target, replace(QUICK, physics=replace(QUICK.physics, substeps=20)), evaluator)
    search.windows(search.frame_count, 1, iter(()))
    rollout = search.best.rollout
    assert rollout is not None
    at = torch.arange(search.frame_count).repeat_interleave(search.physics.substeps)
    states = search.states[torch.cat((at, at[-1:] + 1))]
    followed = replace(rollout, states=states)
    torch.testing.assert_close(evaluator.motion(followed).pose.angles, target.motion.pose.angles.float(), atol=1e-5, rtol=0)
    assert evaluator(followed) == 0
    sunk = replace(states, position=states.position - torch.tensor((0.0, 0.08, 0.0)))
    assert evaluator(replace(rollout, states=sunk)) > 2
    assert RolloutEvaluator(rig, body, target.motion, target.motion.pose.angles, None)(rollout) == 0


def test_it_is_tried_again_only_until_the_aims_are_reached(human):
    rig, target = human
    easy, impossible = Tolerances(*[1e3] * 6), Tolerances(error=1e-6)
    short = replace(target.motion, pose=target.motion.pose[:8])
    once, often = (track(rig, short, replace(QUICK, tolerances=tolerances)) for tolerances in (easy, impossible))
    assert len(once.losses) == 2 + 2
    assert len(often.losses) == 2 + 3 * 2
    assert often.tracking_error <= once.tracking_error
