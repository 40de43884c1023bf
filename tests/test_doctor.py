"""The doctor: what it finds, what it refuses, its self-test on a processor; and the cost line of long runs."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from akd.cli.doctor import doctor
from akd.creatures.build import creature
from akd.distill import gait, loop
from akd.distill.loop import Distillation, distill
from akd.distill.recipe import RECIPES, Recipe
from akd.distill.task import Task
from akd.errors import AkdError
from akd.pipeline import doctor as findings
from akd.pipeline.cost import big_clips, clip_cost, cost_line, in_words, seconds_left
from akd.pipeline.doctor import examine, fits
from akd.pipeline.selftest import agreement, full_step
from akd.prior.family import FilmGrid
from akd.prior.info import MemoryNeeds, PriorInfo
from akd.prior.load import load_prior
from akd.prior.plan import Plan
from akd.prior.prior import LatentShape
from akd.prior.tables import CARD_TERAFLOPS
from akd.reconstruct.skinned import skinned_splats


def test_a_machine_that_runs_the_main_job_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "free_gigabytes", lambda device: 8.0)  # whatever else runs here
    states = {found.what: found.state for found in examine()}
    assert states["embedded prior"] == states["disk"] == "good"
    assert "bad" not in states.values()


def test_what_is_missing_is_named_and_ends_in_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Any:
        raise AkdError("The weights are cut off: copy the file again.")

    monkeypatch.setattr(findings, "load_prior", broken)
    monkeypatch.setattr(findings, "free_gigabytes", lambda device: 0.5)
    monkeypatch.setattr(findings, "installed", lambda name: None if name == "sentencepiece" else "1.0")
    with pytest.raises(SystemExit) as ended:
        doctor(device="cpu")
    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert "! main memory: 0.5 GB free; a run needs 3" in said
    assert "missing sentencepiece: pip install" in said
    assert "! embedded prior: does not run (The weights are cut off" in said


NEEDS = MemoryNeeds((49, 480, 720), FilmGrid(16, 1, 4), 11.0, 11.0, 0.5, 9.5, 1.5, 16.5, 14.0)


def work(predict: float, encode: float, few_steps: int | None = None) -> PriorInfo:
    """A model with so much work [TFLOP] for a guided prediction and for an encoding with its way back."""
    return PriorInfo("some/model", 1, 1, 1, *NEEDS.film, LatentShape(16, 13, 60, 90), 17550, NEEDS, encode, predict, few_steps)


def test_models_are_fitted_to_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "memory_needs", lambda name: NEEDS)
    monkeypatch.setattr(findings, "KNOWN_MODELS", {"some/model": None})
    monkeypatch.setattr(findings, "prior_info", lambda name, **film: work(600.0, 450.0))
    expected = clip_cost(work(600.0, 450.0), RECIPES["big"]).seconds
    (found,) = fits(24.0)
    assert found.clip_seconds == pytest.approx(expected)
    assert found.plan is not None
    assert found.plan.offload == "model"
    assert found.sentence.endswith(f"A clip takes about {in_words(expected)}.")


def counted(recipe: Recipe) -> tuple[int, int]:
    """Evaluations of the network in a whole run on a dog, and its films that were encoded."""
    prior, rig = load_prior(film="5x16x16"), creature("dog", 0)
    encoded = []
    task = Task(rig, skinned_splats(rig, count=40), prior, "a dog walking", ("",), recipe, 0.5)
    plain = prior.encode
    prior.encode = lambda video: (encoded.append(1), plain(video))[1]  # type: ignore[method-assign]
    run = distill(task)
    assert run.assumptions.is_gait
    return prior.evaluated, len(encoded)


@pytest.mark.parametrize("guidance", [5.0, 1.0])
def test_the_cost_of_a_clip_counts_what_a_run_does(guidance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a model is asked: looks of all candidates, comparisons, orders of legs, walk or run."""
    # A gait whose legs alternate wins, so that everything which may happen does.
    monkeypatch.setattr(loop, "best_of", lambda errors, count: [1, 0][:count])
    monkeypatch.setattr(gait, "MOST_MISSED", 1e9)
    recipe = replace(RECIPES["big"], denoising_steps=2, fit_steps=1, guidance=guidance)
    cost = clip_cost(work(2.0, 0.0), recipe)
    found, encoded = counted(recipe)
    assert cost.evaluations == found
    assert cost.seconds == pytest.approx(found / CARD_TERAFLOPS)
    looks, others = 4 + 2 + 6, 6 * 3 + 2 * 8 + 3 * 3
    assert encoded == looks + others
    assert clip_cost(work(0.0, 1.0), recipe).seconds == pytest.approx((looks + others / 3) / CARD_TERAFLOPS)


def test_few_step_versions_take_few_evaluations() -> None:
    big, few = big_clips(work(2.0, 1.0, 4))
    assert few is not None
    assert (big.evaluations - few.evaluations, few.seconds < big.seconds) == (12 * (12 * 2 - 4), True)
    assert big_clips(work(2.0, 1.0)) == (big, None)


def test_half_precision_keeps_the_direction_of_joint_gradients() -> None:
    assert agreement("cpu", "bf16").joints >= 0.95
    assert agreement("cpu", "fp16").joints >= 0.99
    assert agreement("cpu", "bf16").holds


def test_a_whole_step_is_measured() -> None:
    encoding, evaluation = full_step(Plan("embedded", "cpu", "fp32", "none"))
    assert encoding.seconds > 0
    assert evaluation.seconds > 0
    assert 0 < encoding.gigabytes < 2


def test_long_runs_say_what_they_cost() -> None:
    recipe = replace(RECIPES["default"], iterations=100, decide_at=0.25)
    film = SimpleNamespace(frames=49)
    run: Any = Distillation.__new__(Distillation)
    run.task = SimpleNamespace(recipe=recipe, prior=SimpleNamespace(film=film))
    run.iteration, run.candidates = 5, [None, None]
    assert seconds_left(run, 20.0, 2) == pytest.approx(10.0 * (20 * 2 + 75))
    run.candidates = [None]
    assert seconds_left(run, 20.0, 1) == pytest.approx(20.0 * 95)
    said = cost_line(run, 1900.0, 24)
    assert "95 iterations with 24 evaluations of the video model each will take about 32 minutes" in said
    assert "--film" in said


def test_durations_are_words() -> None:
    assert [in_words(each) for each in (30, 600, 9000)] == ["30 seconds", "10 minutes", "2.5 hours"]
