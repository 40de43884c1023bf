"""Experiments: the test of success, controls that know nothing, rows that survive, and a field beside the skeleton."""

import json
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from experiments.study import run_action as acting
from experiments.study import run_trial as running
from experiments.study.actions import ActionTrial, action_trials
from experiments.study.command import main
from experiments.study.field import DeformationField, FieldDistillation
from experiments.study.priors import CountedPrior, ZeroScorePrior, with_random_weights
from experiments.study.rows import append_row, costs, markdown, read_rows, summary
from experiments.study.run_study import run_trials, tables, write_sheet
from experiments.study.run_trial import StudyContext, artists_clip, reached, run_trial, spent
from experiments.study.studies import STUDIES, Options
from experiments.study.trial import Trial

from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.distill.estimators import ESTIMATORS
from akd.distill.loop import Distillation
from akd.distill.recipe import Recipe
from akd.errors import AkdError
from akd.measure.asked import asked_of
from akd.measure.evaluation import evaluate, evaluate_trace
from akd.measure.smoothness import diversity
from akd.measure.success import gait_jerk, success
from akd.pipeline.job import Job, Progress, make_task
from akd.prior.families import FAMILIES
from akd.prior.prior import VideoPrior
from akd.render.film import FilmSettings
from stick_rigs import person
from tiny_priors import tiny

FILM = FilmSettings(width=64, height=32, frames=9, reference_leg=0.9)
RECIPE = Recipe(iterations=2, draws=2, candidates=("antiphase",), phases_at=())


@pytest.fixture(scope="module")
def prior() -> VideoPrior:
    return VideoPrior(FAMILIES["CogVideoXPipeline"](tiny("cogvideox")), FILM)


@pytest.fixture(scope="module")
def dog():
    rig = creature("dog", 10_001)
    measured = {task: evaluate(rig, gait_motion(rig, task, cycles=2), from_file=False) for task in ("walk", "run")}
    return measured, {task: gait_jerk(rig, task, 30.0) for task in ("walk", "run")}


@pytest.mark.parametrize("task", ["walk", "run"])
def test_our_own_gaits_succeed_and_are_not_taken_for_each_other(dog, task) -> None:
    measured, jerk = dog
    assert success(measured[task], task, jerk[task]).failures == ()
    other = "run" if task == "walk" else "walk"
    assert "duty" in success(measured[other], task, None).failures


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [
        ("amplitudes", (0.3, 0.3, 0.3, 0.09), "amplitude"), ("amplitudes", None, "amplitude"),
        ("alternation", (0.9, 0.79), "alternation"),
        ("duty_factor", 0.5, "duty"), ("heading", 0.89, "heading"), ("heading", None, "heading"), ("travel", 0.0, "travel"),
        ("float_height", 0.031, "float"), ("skating_ratio", 0.21, "skating"), ("skating_ratio", None, "skating"),
        ("penetration_max", 0.021, "penetration"), ("jerk", 1e9, "jerk"), ("jerk", None, "jerk"),
    ],
)  # fmt: skip
def test_every_condition_alone_spoils_a_walk(dog, field, value, name) -> None:
    measured, jerk = dog
    spoiled = replace(measured["walk"], **{field: value})
    assert success(spoiled, "walk", jerk["walk"]).failures == (name,)


def test_runs_may_float_and_need_not_alternate(dog) -> None:
    measured = replace(dog[0]["run"], float_height=0.2, alternation=(0.0, 0.0))
    assert success(measured, "run", None).passed


def test_every_trial_has_its_own_name() -> None:
    for name, trials in STUDIES.items():
        keys = [trial.key for trial in trials(Options(seeds=2))]
        assert len(set(keys)) == len(keys) > 4, name
    one = STUDIES["controls"](Options(seeds=1))[0]
    assert replace(one, recipe=replace(one.recipe, guidance=99.0)).key != one.key


def test_trials_keep_the_keys_of_rows_on_disk() -> None:
    """Names that were hashed into keys stay, whatever fields are called now: or finished studies would be run again."""
    hashed = STUDIES["controls"](Options(seeds=1))[0].hashed()
    assert {"arm", "character", "wish", "prompt", "seed", "recipe", "prior", "mover", "ground", "limit"} == set(hashed)
    assert {
        "look_ahead", "steps_each", "t_settled", "trial", "footing", "footing_from", "plant", "restraint",
        "strides_per_film",
    } <= set(hashed["recipe"])  # fmt: skip
    assert any(trial.arm == "lively fourier" for trial in STUDIES["estimators"](Options(seeds=1)))


def test_work_is_counted(prior) -> None:
    counted = CountedPrior(prior)
    run = Distillation(make_task(Job("a person walking", recipe=RECIPE), counted, person()))
    run.step()
    assert counted.renders == RECIPE.fit_steps
    assert counted.evaluations == RECIPE.denoising_steps * RECIPE.draws * 2  # with and without the sentence


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_all_estimators_go(prior, estimator) -> None:
    recipe = replace(RECIPE, estimator=estimator)
    numbers = Distillation(make_task(Job("a person walking", recipe=recipe), prior, person())).step()
    assert np.isfinite(numbers["score"])


def test_a_silent_prior_has_no_score(prior) -> None:
    numbers = Distillation(make_task(Job("a person walking", recipe=RECIPE), ZeroScorePrior(prior), person())).step()
    assert numbers["score"] < 1e-5


def test_random_weights_know_nothing_and_are_always_the_same(prior) -> None:
    first, second = (with_random_weights(deepcopy(prior)) for _ in range(2))
    name = "transformer_blocks.0.attn1.to_q.weight"
    trained, *weights = (known.family.network.state_dict()[name] for known in (prior, first, second))
    assert torch.equal(*weights)
    assert not torch.equal(weights[0], trained)


def test_a_field_begins_at_rest_and_stretches_bones(prior) -> None:
    rig = person()
    task = make_task(Job("a person walking", recipe=RECIPE), prior, rig)
    run = FieldDistillation(task)
    rest = evaluate_trace(rig, run.trace(31, 30.0), from_file=False)
    assert rest.bone_stretch < 0.01
    assert rest.travel == pytest.approx(run.field.speed, rel=0.05)
    before = [value.clone() for value in run.field.parameters()]
    assert np.isfinite(run.step()["score"])
    assert any(not torch.equal(a, b) for a, b in zip(before, run.field.parameters(), strict=True))
    with torch.no_grad():
        for value in run.field.parameters():
            value += 0.1 * torch.randn(value.shape, generator=torch.Generator().manual_seed(0))
    assert evaluate_trace(rig, run.trace(31, 30.0), from_file=False).bone_stretch > 0.02


def test_a_field_is_a_loop() -> None:
    field = DeformationField(2.0, 0.0, seed=1)
    places = torch.rand(5, 3, generator=torch.Generator().manual_seed(0))
    now, later = field(places, torch.tensor([0.2, 0.7]))
    torch.testing.assert_close(now, later, atol=1e-5, rtol=1e-4)


def entries(good: str) -> list[dict]:
    """A log of iterations, one letter for every fifth: + success, - none."""
    log = [{"iteration": i, "evaluations": 8, "renders": 1, "seconds": 0.5} for i in range(5 * len(good))]
    for index, letter in enumerate(good):
        log[5 * index + 4]["success"] = letter == "+"
    return log


def test_success_is_reached_where_it_stays() -> None:
    assert reached(entries("--+-+++-")) == {"iterations": 25, "evaluations": 200, "renders": 25, "seconds": 12.5}
    assert reached(entries("--+-++")) is None  # not held long enough to know
    assert spent(entries("--"))["evaluations"] == 80


def test_rows_survive_a_kill_and_become_tables(tmp_path: Path) -> None:
    row = {
        "key": "a", "arm": "default", "character": "dog:1", "wish": "walk", "seed": 0, "success": True, "failures": [],
        "numbers": {"amplitude": 0.25, "duty": None}, "spent": spent(entries("--")), "reached": None,
    }  # fmt: skip
    path = tmp_path / "rows.jsonl"
    append_row(path, row)
    append_row(path, row | {"key": "b", "success": False, "failures": ["duty"], "seed": 1})
    with path.open("a") as rows:
        rows.write(json.dumps(row)[:40])
    found = read_rows(path)
    assert [line["key"] for line in found] == ["a", "b"]
    (line,) = summary(found, ("arm", "wish"))
    assert line["success"] == "1 of 2"
    assert line["fails by"] == "duty"
    assert line["swing ℓ"] == "0.25"
    assert "not within 80" in costs(found)[0]["evaluations"]
    assert markdown([line]).count("\n") == 3


def test_an_experiment_goes_on_where_it_was(prior, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(running, "_loaded", lambda name: prior)
    monkeypatch.setattr(running, "_creature", lambda character: person())
    monkeypatch.setattr(running, "strip_picture", lambda rig, motion: _blank())
    trial = Trial("default", "person:1", "walk", "a person walking", 0, RECIPE)
    trials = [trial, replace(trial, arm="field", mover="field")]
    context = StudyContext(tmp_path, "given")
    first = next(iter(run_trials(trials, context, Progress())))
    assert not first["success"]
    assert first["spent"]["evaluations"] == 2 * 2 * 2
    (second,) = run_trials(trials, context, Progress())
    assert second["arm"] == "field"
    assert list(run_trials(trials, context, Progress())) == []
    assert [line["arm"] for line in tables(tmp_path)["By arm"]] == ["default", "field"]
    assert write_sheet(tmp_path) is not None


def test_the_table_of_actions_is_resumed_and_counts_every_sentence(prior, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(running, "_loaded", lambda name: prior)
    monkeypatch.setattr(running, "_creature", lambda character: person())
    monkeypatch.setattr(acting, "strip_picture", lambda rig, motion: _blank())
    quick = replace(RECIPE, candidates=("once",), fit="pictures", fit_steps=2)
    trials = [
        ActionTrial("people", "person:1", "a person kicking", 0, quick),
        ActionTrial("tried", "person:1", "a person waving", 0, quick, told="a person kicking"),
    ]
    context = StudyContext(tmp_path, "given")
    first = next(iter(run_trials(trials, context, Progress())))
    assert not first["success"], "a prior of random weights knows no kick"
    assert first["structure"] == "once"
    (swap,) = run_trials(trials, context, Progress())
    assert swap["told"] == "a person kicking"
    assert swap["looks_like"] == first["looks_like"], "the reader's action has no effect on the motion"
    found = tables(tmp_path)
    assert found["As asked, walk and run not counted"][0]["as asked"] == "0 of 1"
    assert [line["action"] for line in found["By action"]] == ["kick", "swap: kick"]
    assert write_sheet(tmp_path) is not None


def test_every_cell_of_the_table_of_actions_can_be_judged() -> None:
    trials = action_trials(RECIPE, 3)
    assert len({trial.key for trial in trials}) == len(trials)
    unread = {trial.prompt for trial in trials if trial.group != "tried" and asked_of(trial.prompt) is None}
    assert not unread
    assert sum(trial.group == "people" for trial in trials) == 3 * 7 * 17


def test_arms_that_lack_something_say_so(prior, tmp_path: Path) -> None:
    with pytest.raises(AkdError, match="--weaker"):
        StudyContext(tmp_path).prior_of("weaker", True)
    with pytest.raises(AkdError, match="--assets"):
        run_trial(STUDIES["rigs"](Options(seeds=1))[0], StudyContext(tmp_path), Progress())


def test_artists_clips_are_found(assets: Path) -> None:
    from akd.assets import load_rig

    rig = load_rig(assets / "fox_khronos/Fox.glb")
    assert artists_clip(rig, "walk").duration == pytest.approx(0.708, abs=0.03)
    assert artists_clip(rig, "run").duration == pytest.approx(1.158, abs=0.03)


def _blank():
    from PIL import Image

    return Image.new("RGB", (80, 20))


def test_motions_differ_if_they_do_more_than_begin_elsewhere(dog) -> None:
    rig = creature("dog", 10_001)
    walk, later = (gait_motion(rig, "walk", seed=0, frames=20, fps=15.0, start=start) for start in (0.0, 0.3))
    run = gait_motion(rig, "gallop", seed=0, frames=20, fps=15.0)
    assert diversity(rig, [walk]) is None
    assert diversity(rig, [walk, walk]) == 0
    assert diversity(rig, [walk, later]) < 0.5 * diversity(rig, [walk, run])


def test_the_command_runs_trials_and_prints_tables(prior, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(running, "_loaded", lambda name: prior)
    monkeypatch.setattr(running, "_creature", lambda character: person())
    monkeypatch.setattr(running, "strip_picture", lambda rig, motion: _blank())
    options = ["controls", "--iterations", "1", "--seeds", "1", "--only", "zero_score-dog", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["study", *options])
    main()
    assert "zero score, dog:10000, walk, seed 0: fails by" in capsys.readouterr().out
    assert len(read_rows(tmp_path / "rows.jsonl")) == 1
    assert "| zero score | walk | 0 of 1 |" in (tmp_path / "tables.md").read_text()
