"""The studies: for each, its trials. Each trial holds all of its settings."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from akd.creatures.captions import gerund
from akd.distill.estimators import ESTIMATORS
from akd.distill.recipe import PAPER, QUICK, Recipe
from akd.measure.success import TaskName
from akd.training.data_card import FIRST_HELD_OUT_SEED
from experiments.study.trial import ESTIMATORS_IN_KEYS, Trial

TASKS: tuple[TaskName, ...] = ("walk", "run")
PLANS = ("human", "dog", "horse", "bear", "ostrich", "tyrannosaur", "ant", "spider")
"""Two, four, six and eight legs; bears and ostriches are plans that no prior of ours was trained on."""
FEW_PLANS = ("dog", "human")
RIGS = {
    "fox": "fox_khronos/Fox.glb", "wolf": "q_wolf/Wolf.glb", "horse": "q_horse/Horse.glb", "husky": "q_husky/Husky.glb",
    "tyrannosaur": "q_trex/Trex.glb", "man": "cesium_man/CesiumMan.glb", "knight": "kaykit_knight/Knight.glb",
    "woman": "q_woman/Smooth_Female_Casual.glb",
}  # fmt: skip
"""Rigs that others made, by what a sentence calls them; files below the folder of assets."""
CURVES = ("fourier", "spline", "frames")


@dataclass(frozen=True)
class Options:
    """Options of a study."""

    recipe: Recipe = field(default_factory=Recipe)
    seeds: int = 3
    limit: int = 500
    """Iterations after which the paper's recipe is stopped."""
    assets: Path | None = None


def creature_trial(arm: str, plan: str, task: TaskName, seed: int, recipe: Recipe) -> Trial:
    """A held-out individual; each seed another one."""
    return Trial(arm, f"{plan}:{FIRST_HELD_OUT_SEED + seed}", task, f"a {plan} {gerund(task)}", seed, recipe)


def creatures(options: Options) -> list[Trial]:
    """Individuals that no prior of ours was trained on, walking and running."""
    return [
        creature_trial("default", plan, task, seed, options.recipe)
        for seed in range(options.seeds) for plan in PLANS for task in TASKS
    ]  # fmt: skip


def rigs(options: Options) -> list[Trial]:
    """Rigs of others, beside their artists' own clips."""
    trials = []
    for name, file in RIGS.items():
        for task in TASKS:
            trials.append(Trial("artist", file, task, f"a {name} {gerund(task)}", 0, options.recipe, mover="artist"))
            trials += [Trial("default", file, task, f"a {name} {gerund(task)}", s, options.recipe) for s in range(options.seeds)]
    return trials


def ablations(options: Options) -> list[Trial]:
    """What candidates, scales, looks and the paper's terms do, and a deformation field in place of the skeleton.

    The paper's terms are taken away from its own recipe, for ``limit`` iterations: under ours, knowledge of gaits hides them.
    """
    trials = []
    for seed in range(options.seeds):
        for plan in FEW_PLANS:
            base = creature_trial("default", plan, "walk", seed, options.recipe)
            paper = replace(creature_trial("paper", plan, "walk", seed, PAPER), limit=options.limit)
            trials += [
                base,
                replace(base, arm="free only", recipe=replace(options.recipe, candidates=("once",))),
                replace(base, arm="gaits only", recipe=replace(options.recipe, candidates=("in phase", "antiphase"))),
                replace(base, arm="few looks", recipe=QUICK),
                replace(base, arm="no first frame", recipe=replace(options.recipe, first_frame=False)),
                replace(base, arm="plain scales", recipe=replace(options.recipe, scales="plain")),
                replace(base, arm="no ground rendering", ground=False),
                replace(base, arm="no ground term", recipe=replace(options.recipe, ground=0.0)),
                replace(base, arm="no smoothness", recipe=replace(options.recipe, smooth=0.0)),
                replace(base, arm="weaker prior", prior="weaker"),
                replace(base, arm="deformation field", mover="field"),
                paper,
                replace(paper, arm="paper, no ground rendering", ground=False),
                replace(paper, arm="paper, no ground term", recipe=replace(PAPER, ground=0.0)),
                replace(paper, arm="paper, no smoothness", recipe=replace(PAPER, smooth=0.0)),
            ]
    return trials


def estimators(options: Options) -> list[Trial]:
    """Which gradient, on which curves."""
    return [
        creature_trial(
            f"{ESTIMATORS_IN_KEYS.get(estimator, estimator)} {curves}", plan, "walk", seed,
            replace(options.recipe, estimator=estimator, curves=curves),  # type: ignore[arg-type]
        )
        for seed in range(options.seeds) for plan in FEW_PLANS for estimator in ESTIMATORS for curves in CURVES
    ]  # fmt: skip


def cost(options: Options) -> list[Trial]:
    """What success costs with the default recipe and with the paper's, which is stopped early and then censored."""
    trials = []
    for seed in range(options.seeds):
        for plan in FEW_PLANS:
            trials.append(creature_trial("default", plan, "walk", seed, options.recipe))
            trials.append(replace(creature_trial("paper", plan, "walk", seed, PAPER), limit=options.limit))
    return trials


def controls(options: Options) -> list[Trial]:
    """Negative controls: a zero score, random weights, another prompt."""
    trials = []
    for seed in range(options.seeds):
        for plan in FEW_PLANS:
            base = creature_trial("zero score", plan, "walk", seed, options.recipe)
            trials += [
                replace(base, prior="silent"),
                replace(base, arm="random weights", prior="random"),
                replace(base, arm="wrong prompt", prompt=f"a {plan} standing still"),
            ]
    return trials


STUDIES: dict[str, Callable[[Options], list[Trial]]] = {
    "creatures": creatures, "rigs": rigs, "ablations": ablations, "estimators": estimators, "cost": cost, "controls": controls,
}  # fmt: skip
