"""The order of legs: curves are shifted exactly, and what is asked outright is found."""

import numpy as np
import pytest
import torch

from akd.creatures.build import creature
from akd.distill.gait_timing import shifts_to_order
from akd.distill.phases import PHASE_BINS, best_shift, choose_phases
from akd.distill.trajectory import Curves, Fourier, Spline, Trajectory, channel_scale, joint_channels
from akd.gait.table import GAITS
from akd.rig import Rig
from akd.skeleton import forward_kinematics


def dancing(rig: Rig, seed: int) -> tuple[Trajectory, Fourier]:
    randomness = torch.Generator().manual_seed(seed)
    curves = Fourier(len(channel_scale(rig.skeleton)), 1.3, 0.4, spread=0.3, randomness=randomness)
    return Trajectory(rig.skeleton, curves, 1.0), curves


@pytest.mark.parametrize("kind", ["fourier", "spline"])
def test_shifted_curves_are_the_same_later(kind: str) -> None:
    """Exactly for harmonics, and for splines by whole pieces."""
    randomness = torch.Generator().manual_seed(0)
    curves: Curves = Fourier(4, 1.3, 0.4, spread=0.5, randomness=randomness)
    if kind == "spline":
        curves = Spline(4, 1.0, knots_per_second=10.0, wrapped=True, spread=0.5, randomness=randomness)
    times = torch.linspace(0, 1, 9)
    assert curves.period is not None
    with torch.no_grad():
        before = curves(times - 0.3 * curves.period)
        curves.coefficients.copy_(curves.delayed(curves.coefficients, 0.3))
        torch.testing.assert_close(curves(times), before, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("plan", "phase_offset"), [("human", 0.125), ("dog", 0.5), ("spider", -0.25)])
def test_legs_out_of_order_find_back(plan: str, phase_offset: float) -> None:
    rig = creature(plan, 1)
    trajectory, curves = dancing(rig, seed=2)
    feet = [leg.tip for leg in rig.legs]

    def places(motion: Trajectory) -> torch.Tensor:
        return forward_kinematics(rig.skeleton, motion.motion(16, 12.0).pose).position[:, feet]

    with torch.no_grad():
        trajectory.phase_offset.fill_(phase_offset)
        wanted = places(trajectory)
        trajectory.phase_offset.fill_(phase_offset if trajectory.antiphase else 0.0)
        for leg in rig.legs:
            if leg.order:
                channels = torch.tensor([6 + 3 * (joint - 1) + axis for joint in leg.joints for axis in range(3)])
                curves.coefficients[:, channels] = curves.delayed(curves.coefficients[:, channels], leg.order * 3 / PHASE_BINS)
        spoiled = float((places(trajectory) - wanted).square().mean())
        for _ in range(2):  # one pair after the other, so those that chose first may choose again
            choose_phases(trajectory, lambda each: float((places(each) - wanted).square().mean()))
        assert float((places(trajectory) - wanted).square().mean()) < 0.05 * spoiled
        assert float(trajectory.phase_offset) == phase_offset


def test_the_least_of_noisy_errors_is_found() -> None:
    times = torch.arange(PHASE_BINS) / PHASE_BINS
    errors = -torch.cos(2 * torch.pi * (times - 0.42)) + 0.4 * torch.cos(4 * torch.pi * times)
    noise = 0.1 * torch.randn(PHASE_BINS, generator=torch.Generator().manual_seed(0))
    fine = torch.arange(1000) / 1000
    best = float(fine[(-torch.cos(2 * torch.pi * (fine - 0.42)) + 0.4 * torch.cos(4 * torch.pi * fine)).argmin()])
    assert best_shift(errors) == pytest.approx(best, abs=0.02)
    assert best_shift(errors + noise) == pytest.approx(best, abs=0.05)


def test_an_expected_order_wins_a_draw_and_nothing_else() -> None:
    times = torch.arange(PHASE_BINS) / PHASE_BINS
    errors = -0.03 * torch.cos(2 * torch.pi * (times - 0.25))
    assert best_shift(errors, 0.4) == 0.4
    assert best_shift(2 * errors, 0.75) == pytest.approx(0.25, abs=0.02)
    assert best_shift(errors, None) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("gait", ["walk", "trot", "pace"])
def test_the_shift_to_an_order_of_legs_leads_there(gait: str) -> None:
    """Legs that were shifted have, once shifted back by what is said, the order of the gait."""
    rig = creature("dog", 1)
    trajectory, curves = dancing(rig, seed=2)
    phases = GAITS[gait].phases[4]
    hind = joint_channels(np.array([joint for leg in rig.legs if leg.order for joint in leg.joints]))
    with torch.no_grad():
        shift = shifts_to_order(rig, trajectory, phases)[0]
        assert shift is not None
        curves.coefficients[:, hind] = curves.delayed(curves.coefficients[:, hind], shift)
        left = shifts_to_order(rig, trajectory, phases)[0]
    assert left is not None
    assert min(left, 1 - left) < 0.02
