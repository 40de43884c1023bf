"""Laws of noise: what a network may predict, and how one follows from another."""

import pytest
import torch

from akd.prior.schedule import (
    DENOISED_FROM,
    TARGETS,
    NoiseLevel,
    NoiseSchedule,
    add_noise,
    classifier_free_guidance,
    denoised_from_flow,
    denoised_from_v,
    diffusion_schedule,
)


@pytest.fixture
def pair() -> tuple[torch.Tensor, torch.Tensor]:
    randomness = torch.Generator().manual_seed(0)
    return tuple(torch.randn(5, 3, 2, 4, 4, generator=randomness, dtype=torch.float64) for _ in range(2))


def schedules() -> dict[str, NoiseSchedule]:
    table = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64), 0)
    return {"v": diffusion_schedule("v", table), "epsilon": diffusion_schedule("epsilon", table), "flow": NoiseSchedule("flow")}


@pytest.mark.parametrize("prediction", ["v", "epsilon", "flow"])
def test_the_perfect_prediction_gives_back_what_was_mixed(prediction: str, pair: tuple) -> None:
    clean, noise = pair
    schedule = schedules()[prediction]
    level = schedule.level(torch.tensor([0.02, 0.3, 0.5, 0.8, 0.98], dtype=torch.float64))
    guess = schedule.denoised(schedule.target(clean, noise, level), add_noise(clean, noise, level), level)
    torch.testing.assert_close(guess.x0, clean)
    torch.testing.assert_close(guess.noise, noise)


@pytest.mark.parametrize("kind", DENOISED_FROM)
def test_conversions_hold_for_any_levels(kind: str, pair: tuple) -> None:
    clean, noise = pair
    level = NoiseLevel(*(torch.full((1, 1, 1, 1, 1), size, dtype=torch.float64) for size in (0.7, 1.3)))
    guess = DENOISED_FROM[kind](TARGETS[kind](clean, noise, level), add_noise(clean, noise, level), level)
    torch.testing.assert_close(guess.x0, clean)
    torch.testing.assert_close(guess.noise, noise)


def test_any_prediction_is_consistent_with_the_noisy_latent(pair: tuple) -> None:
    prediction, z_t = pair
    for guess, level in (
        (denoised_from_v, schedules()["v"].level(torch.full((5,), 0.6, dtype=torch.float64))),
        (denoised_from_flow, schedules()["flow"].level(torch.full((5,), 0.6, dtype=torch.float64))),
    ):
        parts = guess(prediction, z_t, level)
        torch.testing.assert_close(add_noise(parts.x0, parts.noise, level), z_t)


def test_the_papers_formula_for_v(pair: tuple) -> None:
    v, z_t = pair
    level = schedules()["v"].level(torch.full((5,), 0.4, dtype=torch.float64))
    torch.testing.assert_close(denoised_from_v(v, z_t, level).x0, level.alpha * z_t - level.sigma * v)


def test_levels_keep_their_sums() -> None:
    t = torch.linspace(0, 1, 21, dtype=torch.float64)
    diffusion, flow = schedules()["v"].level(t), schedules()["flow"].level(t)
    ones = torch.ones(21, 1, 1, 1, 1, dtype=torch.float64)
    torch.testing.assert_close(diffusion.alpha.square() + diffusion.sigma.square(), ones)
    torch.testing.assert_close(flow.alpha + flow.sigma, ones)
    assert (diffusion.alpha.flatten().diff() < 0).all()


def test_network_times_are_steps_or_thousandths() -> None:
    t = torch.tensor([0.001, 0.5, 1.0])
    assert schedules()["v"].network_time(t).tolist() == [0, 499, 999]
    torch.testing.assert_close(schedules()["flow"].network_time(t), t * 1000)


def test_sampling_times_lean_toward_noise_and_keep_their_ends() -> None:
    plain, shifted = NoiseSchedule("flow").sampling_times(10), NoiseSchedule("flow", shift=3.0).sampling_times(10)
    assert plain[0] == shifted[0] == 1
    assert plain[-1] == shifted[-1] == 0
    assert (shifted[1:-1] > plain[1:-1]).all()


def test_guidance_is_linear(pair: tuple) -> None:
    with_text, without = pair
    assert torch.equal(classifier_free_guidance(with_text, without, 0.0), without)
    torch.testing.assert_close(classifier_free_guidance(with_text, without, 1.0), with_text)
    torch.testing.assert_close(classifier_free_guidance(with_text, without, 3.0) - without, 3 * (with_text - without))
