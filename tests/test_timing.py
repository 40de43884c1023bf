"""Timing: what speed says about how long feet stand, and what standing feet say about how a body rises."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.ndimage import binary_erosion
from tests.test_distill import GaussianPrior

from akd.contact.measures import skating_ratio
from akd.contact.support import raise_above_ground
from akd.contact.traces import trace
from akd.creatures.build import creature
from akd.distill.assumptions import EXPECTED, candidates_for
from akd.distill.gait import RUN_LOG_ODDS_SCALE, choose_walk_or_run, lock_feet, refine
from akd.distill.gait_timing import at_natural_tempo, lift_of_legs, retimed, stance_of_legs, stance_timing
from akd.distill.loop import best_of
from akd.distill.recipe import Recipe
from akd.distill.recovery import with_recovery
from akd.distill.task import Task
from akd.distill.trajectory import Fourier, Trajectory, channel_scale
from akd.gait.measures import froude as froude_number
from akd.gait.timing import (
    MAX_STRIDE_TEMPO,
    MAX_TEMPO_CHANGE,
    RECOVERY_HEIGHT,
    RUN_DUTY,
    WALK_DUTY,
    StanceTiming,
    bounce_height,
)
from akd.motion import Motion
from akd.prior.schedule import Denoised
from akd.reconstruct.skinned import skinned_splats
from akd.rig import GRAVITY, Rig

DOG = creature("dog", 1)


def looping(rig: Rig, phase_offset: float = 0.5, spread: float = 0.6) -> tuple[Trajectory, Fourier]:
    curves = Fourier(
        len(channel_scale(rig.skeleton)), 1.3, 0.4, spread=spread, randomness=torch.Generator().manual_seed(0)
    )
    trajectory = Trajectory(rig.skeleton, curves, 2.0).requires_grad_(False)
    trajectory.phase_offset.fill_(phase_offset)
    return trajectory, curves


def at_froude(rig: Rig, froude: float) -> float:
    return (froude * GRAVITY / rig.leg_metres) ** 0.5


def test_slow_bodies_walk_and_fast_ones_run() -> None:
    trajectory, curves = looping(DOG)
    walk = stance_timing(DOG, trajectory, curves, 0.45, at_froude(DOG, 0.2))
    run = stance_timing(DOG, trajectory, curves, 0.55, at_froude(DOG, 1.0))
    assert walk is not None
    assert not walk.flight
    assert walk.duty == WALK_DUTY
    assert walk.time_warp > 0
    assert run is not None
    assert run.flight
    assert run.duty == RUN_DUTY
    assert run.time_warp < 0


def test_what_the_prompt_explains_counts_beside_speed() -> None:
    trajectory, curves = looping(DOG, spread=0.4)
    trajectory.speed.fill_(at_froude(DOG, 0.4))

    def flight(motion: Motion) -> float:
        return -float(motion.pose.root_position[:, 1].std())

    def clip(each: Trajectory) -> Motion:
        return each.motion(41, 30.0)

    assert not stance_timing(DOG, trajectory, curves, 0.45, float(trajectory.speed)).flight  # type: ignore[union-attr]
    choose_walk_or_run(DOG, trajectory, clip, flight)  # a sentence that explains what goes up and down
    assert trajectory.run_log_odds > 0
    run = float(trajectory.run_log_odds)
    assert stance_timing(DOG, trajectory, curves, 0.45, float(trajectory.speed)).flight  # type: ignore[union-attr]
    choose_walk_or_run(DOG, trajectory, clip, lambda motion: -flight(motion))
    assert float(trajectory.run_log_odds) == pytest.approx(-run)
    choose_walk_or_run(DOG, trajectory, clip, lambda motion: 2 * flight(motion) / RUN_LOG_ODDS_SCALE)
    assert float(trajectory.run_log_odds) == pytest.approx(2 * run / RUN_LOG_ODDS_SCALE)


@pytest.mark.parametrize(("froude", "run_log_odds", "becomes"), [
    (0.3, 0.0, 0.3), (0.3, 1.0, 0.3 * MAX_TEMPO_CHANGE**2), (0.6, 1.0, 1.0), (0.45, 0.0, 0.4), (0.6, -0.5, 0.4), (1.2, 0.0, 1.2),
    (2.0, -3.0, 2.0 / MAX_TEMPO_CHANGE**2), (0.005, 9.0, 0.005)])  # fmt: skip
def test_tempo_suits_the_gait(froude: float, run_log_odds: float, becomes: float) -> None:
    trajectory, curves = looping(DOG)
    trajectory.speed.fill_(at_froude(DOG, froude))
    curves.start_frequency = float(trajectory.speed) / 2.0
    trajectory.run_log_odds.fill_(run_log_odds)
    result = at_natural_tempo(DOG, trajectory)
    assert froude_number(float(result.speed), DOG.leg_metres) == pytest.approx(becomes, rel=1e-3)
    assert isinstance(result.curves, Fourier)
    assert result.curves.period * float(result.speed) == pytest.approx(curves.period * float(trajectory.speed), rel=1e-4)


@pytest.mark.parametrize(
    ("phase_offset", "froude", "becomes"),
    [(0.0, 0.3, 0.3), (0.125, 0.8, 1.5), (0.125, 0.3, 0.3 * MAX_TEMPO_CHANGE**2), (0.125, 0.03, 0.03)],
)
def test_gallops_are_fast_and_hops_of_any_speed(phase_offset: float, froude: float, becomes: float) -> None:
    trajectory, _ = looping(DOG, phase_offset)
    trajectory.speed.fill_(at_froude(DOG, froude))
    assert froude_number(float(at_natural_tempo(DOG, trajectory).speed), DOG.leg_metres) == pytest.approx(becomes, rel=1e-3)


def test_long_strides_on_four_legs_are_quick() -> None:
    """Of runs at one speed, the one with the longer strides is quickened, on four legs only."""
    speeds = []
    for rig in (DOG, creature("human", 1)):
        trajectory, curves = looping(rig)
        trajectory.speed.fill_(at_froude(rig, 1.2))
        for stride in (2.0, 4.0):
            curves.start_frequency = float(trajectory.speed) / stride
            speeds.append(float(at_natural_tempo(rig, trajectory).speed / trajectory.speed))
    assert speeds == pytest.approx([1.0, MAX_STRIDE_TEMPO, 1.0, 1.0], rel=1e-3)


def test_what_stands_long_enough_or_goes_nowhere_is_left_alone() -> None:
    trajectory, curves = looping(DOG)
    assert stance_timing(DOG, trajectory, curves, 0.7, at_froude(DOG, 0.2)) is None
    assert stance_timing(DOG, trajectory, curves, 0.3, at_froude(DOG, 0.001)) is None
    assert stance_timing(DOG, trajectory, curves, 0.0, at_froude(DOG, 1.0)) is None
    hopping, curves = looping(DOG, phase_offset=0.95)
    assert stance_timing(DOG, hopping, curves, 0.3, at_froude(DOG, 0.02)) is None
    thrown = stance_timing(DOG, hopping, curves, 0.5, at_froude(DOG, 0.3))
    assert thrown is not None
    assert thrown.flight


def test_legs_that_hardly_swing_are_not_made_to_walk() -> None:
    trajectory, curves = looping(DOG)
    calm = trajectory.with_amplitude(0.1)
    assert stance_timing(DOG, trajectory, curves, 0.45, at_froude(DOG, 0.2)) is not None
    assert stance_timing(DOG, calm, calm.curves, 0.45, at_froude(DOG, 0.2)) is None  # type: ignore[arg-type]
    assert float(at_natural_tempo(DOG, trajectory.with_amplitude(0.1).with_speed(1.0)).speed) == 0
    still = lock_feet(DOG, calm.with_speed(1.0), lambda each: each.motion(41, 30.0))
    along = trace(DOG, still).feet[..., 0]
    assert np.ptp(along, axis=0).max() < 0.02


def test_a_stretched_stance_takes_its_share_of_the_time() -> None:
    trajectory, curves = looping(DOG)
    wanted = stance_timing(DOG, trajectory, curves, 0.45, at_froude(DOG, 0.2))
    assert wanted is not None
    # The leg's own time, as a function of the clock's: what it does within ±0.225 of midstance takes half of the wanted share.
    psi = torch.tensor([-wanted.duty / 2, 0.0, wanted.duty / 2])
    own = psi - wanted.time_warp * torch.sin(2 * torch.pi * psi) / (2 * torch.pi)
    torch.testing.assert_close(own, torch.tensor([-0.225, 0.0, 0.225]), atol=1e-4, rtol=0)


def test_timing_changes_legs_and_travel_only_and_keeps_the_loop() -> None:
    trajectory, curves = looping(DOG)
    times = torch.arange(31) / 30 * curves.period
    motion = trajectory.motion(31, 30 * float(curves.frequency))
    timing = stance_timing(DOG, trajectory, curves, 0.45, at_froude(DOG, 0.2))
    assert timing is not None
    late = retimed(DOG, trajectory, curves, motion, times, timing)
    legs = [joint for leg in DOG.legs for joint in leg.joints]
    others = [joint for joint in range(len(DOG.skeleton.names)) if joint not in legs]
    assert torch.equal(late.pose.angles[:, others], motion.pose.angles[:, others])
    assert not torch.allclose(late.pose.angles[:, legs], motion.pose.angles[:, legs], atol=0.01)
    torch.testing.assert_close(late.pose.angles[-1], late.pose.angles[0], atol=1e-4, rtol=0)
    assert float(late.pose.root_position[-1, 0]) < float(motion.pose.root_position[-1, 0])
    unchanged = retimed(DOG, trajectory, curves, motion, times, replace(timing, time_warp=0.0))
    torch.testing.assert_close(unchanged.pose.angles, motion.pose.angles, atol=1e-5, rtol=0)


def test_legs_of_a_pair_stand_apart_by_the_phase_offset() -> None:
    for phase_offset in (0.5, 0.1):
        trajectory, curves = looping(DOG, phase_offset)
        timing = stance_timing(DOG, trajectory, curves, 0.55, at_froude(DOG, 1.0))
        assert timing is not None
        for left, right in ((0, 1), (2, 3)):
            assert DOG.legs[left].side == "L"
            apart = float(timing.midstance[right] - timing.midstance[left]) - phase_offset
            assert abs(apart - round(apart)) < 1e-5


@pytest.mark.parametrize("middles", [(0.0, 0.5), (0.0, 0.05), (0.0, 0.5, 0.25, 0.75)])
def test_a_body_falls_freely_where_no_foot_stands_and_is_carried_on_average(middles: tuple[float, ...]) -> None:
    frequency, gravity, duty = 1.5, 12.0, 0.4
    height = bounce_height(StanceTiming(duty, 0.0, torch.tensor(middles), True), frequency, gravity).double()
    step = 1 / (len(height) * frequency)
    acceleration = (height.roll(-32) - 2 * height + height.roll(32)) / (32 * step) ** 2
    assert float(acceleration.mean()) == pytest.approx(0, abs=1e-3)
    moments = torch.arange(len(height)) / len(height)
    away = torch.stack([((moments - middle + 0.5).remainder(1.0) - 0.5).abs() for middle in middles]).amin(0)
    flying = away > duty / 2 + 0.02
    if flying.any():
        torch.testing.assert_close(acceleration[flying], torch.full_like(acceleration[flying], -gravity), atol=0.3, rtol=0)
    assert bool(flying.any()) == (len(middles) == 2)


def test_feet_do_not_brush_over_the_ground_at_the_ends_of_a_clip_that_is_no_loop() -> None:
    trajectory, curves = looping(DOG)
    motion = lock_feet(DOG, trajectory, lambda each: each.motion(round(45 * curves.period), 30.0))
    assert motion.frame_count == round(45 * curves.period)
    assert skating_ratio(trace(DOG, motion).feet, motion.fps) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("loops", [False, True])
def test_skin_is_slowly_raised_out_of_the_ground(loops: bool) -> None:
    trajectory, curves = looping(DOG)
    motion = trajectory.motion(31, 30 * float(curves.frequency))
    motion.pose.root_position[:, 1] -= trace(DOG, motion).lowest.max() - 0.02
    raised = raise_above_ground(DOG, motion, loops=loops)
    assert trace(DOG, motion).lowest.min() < -0.03
    assert trace(DOG, raised).lowest.min() > -0.01
    lift = (raised.pose.root_position - motion.pose.root_position)[:, 1]
    assert float(lift.min()) >= 0
    assert float(lift.diff().abs().max()) < 0.25 * float(lift.max())
    assert torch.equal(raised.pose.angles, motion.pose.angles)


def test_the_order_decides_a_draw_and_nothing_else() -> None:
    errors = {0: -0.86, 1: -0.90, 2: -0.70, 3: -1.20}
    assert best_of(errors, 1) == [3]
    assert best_of(errors, 2) == [3, 0]
    assert best_of({0: -0.86, 1: -0.90}, 1) == [0]
    assert best_of({0: -0.80, 1: -0.90}, 1) == [1]


@pytest.mark.parametrize(
    ("plan", "begun"),
    [
        ("dog", {"in phase", "antiphase", "staying", "once"}), ("ant", {"antiphase", "staying", "once"}),
        ("snake", {"staying", "once", "carried", "aloft"}), ("bird", {"in phase", "antiphase", "staying", "once", "aloft"}),
    ],
)  # fmt: skip
def test_candidates_follow_from_the_body_and_never_from_the_sentence(plan: str, begun: set[str]) -> None:
    """Pairs of many legs take turns, only wings or a body without legs leave the ground, and nobody else slides on his belly."""
    rig = creature(plan, 10_000)
    plain = candidates_for(rig, Recipe().candidates)
    assert set(plain) == begun
    for action in EXPECTED:
        assert candidates_for(rig, Recipe().candidates, expected=action) == plain
    assert not {"once"} & set(candidates_for(rig, Recipe().candidates, loop=True)), "a loop that was asked for repeats itself"


def test_feet_of_a_run_rise_behind_the_body() -> None:
    trajectory, curves = looping(DOG)
    timing = stance_timing(DOG, trajectory, curves, 0.55, at_froude(DOG, 1.0))
    assert timing is not None
    times = torch.arange(60) / 60 / curves.frequency
    lift = lift_of_legs(DOG, curves, times, timing)
    assert (lift[stance_of_legs(DOG, curves, times, timing)] < 1e-3).all()
    assert lift.max(0) == pytest.approx(np.ones(4), abs=0.01)
    motion = Motion(trajectory.pose(times), 60.0)
    raised = with_recovery(DOG, motion, lift)
    before, after = (trace(DOG, each).feet[..., 1] for each in (motion, raised))
    # A foot turns as its leg folds, and its lowest point with it.
    assert (after >= np.minimum(before, 0.0) + RECOVERY_HEIGHT * lift - 0.06).all()
    well_inside = binary_erosion(stance_of_legs(DOG, curves, times, timing), np.ones((9, 1)))
    assert well_inside.any(0).all()
    assert np.abs(after - before)[well_inside].max() < 0.01


class Expecting(GaussianPrior):
    """One that expects of every film what it shows, or only its mean over time."""

    def __init__(self, knows: bool) -> None:
        super().__init__(torch.zeros(1))
        self.knows = knows

    def encode(self, video: torch.Tensor) -> torch.Tensor:
        self.mean = super().encode(video)
        return self.mean

    def denoise(self, z_t, t, text, negative=None, guidance=1.0, condition=None):  # type: ignore[no-untyped-def]
        expected = self.mean if self.knows else self.mean.mean(2, keepdim=True)
        return Denoised(expected.expand_as(z_t), torch.zeros_like(z_t))


@pytest.mark.parametrize("knows", [True, False])
def test_a_gait_that_the_prior_does_not_know_goes_nowhere(knows: bool) -> None:
    trajectory, _ = looping(DOG)
    task = Task(DOG, skinned_splats(DOG, resolution=32), Expecting(knows), "a dog walking", (), Recipe(), 3.0)
    refine(task, trajectory, torch.Generator().manual_seed(0))
    assert float(trajectory.speed) == (2.0 if knows else 0.0)
