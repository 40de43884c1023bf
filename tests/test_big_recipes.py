"""Whole runs with big models: from a folder and a plan to a written clip, networks and films on a simulated card."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from akd.distill import gait, loop
from akd.distill.finishing import finish
from akd.distill.recipe import RECIPES, Recipe
from akd.pipeline import job as jobs
from akd.pipeline import runs
from akd.pipeline.job import Job, Progress, make_task
from akd.prior.families import FAMILIES
from akd.prior.placement import place
from akd.prior.prior import VideoPrior
from akd.reconstruct.skinned import skinned_splats
from simulated_card import CARD, CardTensor, simulated_card
from stick_rigs import person
from tiny_priors import tiny

FEW = {"iterations": 2, "denoising_steps": 2, "fit_steps": 2, "draws": 2, "compared_draws": 1}
"""Of what makes a recipe long, as little as goes through all of it."""
SENTENCE = "a person walking"


def shortened(name: str) -> Recipe:
    """A recipe with all its stages and few steps in each; splats are made before anything is on the card, so quick ones do."""
    recipe = RECIPES[name]
    few = {field: min(value, getattr(recipe, field)) for field, value in FEW.items()}
    return replace(recipe, **few, candidates=recipe.candidates[:2], prune_at=0.5, decide_at=0.5, splats="fast")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Films where the model is, of few splats, and one view where motions are compared."""
    monkeypatch.setattr(jobs, "film_device", lambda device: device)
    monkeypatch.setattr(jobs, "film_splats", lambda rig, settings, *, mode: skinned_splats(rig, mode=mode, count=40))
    for module in (loop, gait):
        monkeypatch.setattr(module, "COMPARISON_VIEWS", 1)


def run(model: str, recipe: str, placed: Callable[[VideoPrior], None]) -> torch.Tensor:
    """Joint angles of the finished clip of a whole distillation."""
    pipe = tiny(model)
    prior = VideoPrior(FAMILIES[type(pipe).__name__](pipe))
    placed(prior)
    frames, height, width = prior.family.grid.nearest(5, 16, 16)
    prior = prior.with_film({"frames": frames, "height": height, "width": width})
    job = Job(SENTENCE, seconds=0.3, recipe=shortened(recipe))
    prior.read((SENTENCE, ""))
    task = make_task(job, prior, person())
    assert task.skinned.weights.device == prior.device
    steps = loop.Distillation(task)
    while steps.iteration < task.recipe.iterations:
        assert steps.step()["score"] > 0
    return finish(task, steps.trajectory).motion.pose.angles


BOTH, NONE = ("none", "model"), ("none",)
CASES: list[Any] = [
    ("cogvideox-5b", "paper", BOTH), ("cogvideox-5b", "default", NONE), ("wan-2.2", "paper", NONE), ("wan-2.2", "quick", NONE),
    ("wan-2.2", "big", NONE), pytest.param("cogvideox-5b", "big", BOTH, marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize(("model", "recipe", "offloads"), CASES)
def test_recipes_with_big_models_follow_the_device(model: str, recipe: str, offloads: tuple[Any, ...]) -> None:
    """Nothing meets a tensor of another device, with offloading and without, and the motion is that of the processor."""
    expected = run(model, recipe, lambda prior: None)
    for offload in offloads:
        with simulated_card() as card:

            def placed(prior: VideoPrior, card: torch.device = card, offload: Any = offload) -> None:
                place(prior.family, card, offload)
                assert isinstance(next(prior.family.vae.parameters()).data, CardTensor)

            found = run(model, recipe, placed)
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_a_folder_on_the_card_ends_in_a_written_clip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan, loading, sentences that are read before the text encoder goes, films, and files of what is on the card."""
    monkeypatch.setattr(runs, "read_character", lambda job: person())
    said: list[str] = []
    progress = Progress()
    progress.notice = said.append  # type: ignore[method-assign]
    tiny("wan-2.2").save_pretrained(tmp_path / "model")
    job = Job(
        SENTENCE, prior=str(tmp_path / "model"), device=CARD, dtype="fp32", offload="model", film="5x32x32", seconds=0.1,
        recipe=shortened("big"),
    )  # fmt: skip
    with simulated_card():
        (made,) = runs.begin_runs(tmp_path / "run", job, 1, progress)
    assert made.finished
    assert (tmp_path / "run/animated.glb").is_file()
    kept = json.loads((tmp_path / "run/config.json").read_text())
    assert (kept["job"]["device"], kept["job"]["offload"], kept["job"]["film"]) == (CARD, "model", "5x32x32")
    assert sum(f"on {CARD} in fp32; --offload model" in line for line in said) == 1
