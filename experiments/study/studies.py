"""The experiments: for each, its cells. All of them are small, and every cell says everything about itself."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from akd.creatures.captions import gerund
from akd.distill.estimators import ESTIMATORS
from akd.distill.recipe import PAPER, Recipe
from akd.measure.success import TaskName
from akd.training.held_out import FIRST_HELD_OUT_SEED
from experiments.study.cell import Trial

WISHES: tuple[TaskName, ...] = ("walk", "run")
PLANS = ("human", "dog", "horse", "bear", "ostrich", "tyrannosaur", "ant", "spider")
"""Two, four, six and eight legs; bears and ostriches are plans that no prior of ours was trained on."""
FEW = ("dog", "human")
RIGS = {
    "fox": "fox_khronos/Fox.glb", "wolf": "q_wolf/Wolf.glb", "horse": "q_horse/Horse.glb", "husky": "q_husky/Husky.glb",
    "tyrannosaur": "q_trex/Trex.glb", "man": "cesium_man/CesiumMan.glb", "knight": "kaykit_knight/Knight.glb",
    "woman": "q_woman/Smooth_Female_Casual.glb",
}  # fmt: skip
"""Rigs that others made, by what a sentence calls them; files below the folder of assets."""
CURVES = ("fourier", "spline", "frames")


@dataclass(frozen=True)
class Options:
    """What an experiment can be told."""

    recipe: Recipe = field(default_factory=Recipe)
    seeds: int = 3
    limit: int = 500
    """Iterations after which the paper's recipe is stopped."""
    assets: Path | None = None


def creature_cell(arm: str, plan: str, wish: TaskName, seed: int, recipe: Recipe) -> Trial:
    """A held-out individual; each seed another one."""
    return Trial(arm, f"{plan}:{FIRST_HELD_OUT_SEED + seed}", wish, f"a {plan} {gerund(wish)}", seed, recipe)


def creatures(options: Options) -> list[Trial]:
    """Individuals that no prior of ours was trained on, walking and running."""
    return [
        creature_cell("default", plan, wish, seed, options.recipe)
        for seed in range(options.seeds) for plan in PLANS for wish in WISHES
    ]  # fmt: skip


def rigs(options: Options) -> list[Trial]:
    """Rigs of others, beside their artists' own clips."""
    cells = []
    for name, file in RIGS.items():
        for wish in WISHES:
            cells.append(Trial("artist", file, wish, f"a {name} {gerund(wish)}", 0, options.recipe, mover="artist"))
            cells += [Trial("default", file, wish, f"a {name} {gerund(wish)}", s, options.recipe) for s in range(options.seeds)]
    return cells


def ablations(options: Options) -> list[Trial]:
    """The paper's, and a deformation field in place of the skeleton."""
    cells = []
    for seed in range(options.seeds):
        for plan in FEW:
            base = creature_cell("default", plan, "walk", seed, options.recipe)
            cells += [
                base,
                replace(base, arm="no ground rendering", ground=False),
                replace(base, arm="no ground term", recipe=replace(options.recipe, ground=0.0)),
                replace(base, arm="no smoothness", recipe=replace(options.recipe, smooth=0.0)),
                replace(base, arm="weaker prior", prior="weaker"),
                replace(base, arm="deformation field", mover="field"),
            ]
    return cells


def estimators(options: Options) -> list[Trial]:
    """Which gradient, on which curves."""
    return [
        creature_cell(f"{gradient} {curves}", plan, "walk", seed, replace(options.recipe, estimator=gradient, curves=curves))  # type: ignore[arg-type]
        for seed in range(options.seeds) for plan in FEW for gradient in ESTIMATORS for curves in CURVES
    ]  # fmt: skip


def cost(options: Options) -> list[Trial]:
    """What success costs with the default recipe and with the paper's, which is stopped early and then censored."""
    cells = []
    for seed in range(options.seeds):
        for plan in FEW:
            cells.append(creature_cell("default", plan, "walk", seed, options.recipe))
            cells.append(replace(creature_cell("paper", plan, "walk", seed, PAPER), limit=options.limit))
    return cells


def controls(options: Options) -> list[Trial]:
    """What must fail: without a score, without knowledge, with other words."""
    cells = []
    for seed in range(options.seeds):
        for plan in FEW:
            base = creature_cell("zero score", plan, "walk", seed, options.recipe)
            cells += [
                replace(base, prior="silent"),
                replace(base, arm="random weights", prior="random"),
                replace(base, arm="wrong prompt", prompt=f"a {plan} standing still"),
            ]
    return cells


STUDIES: dict[str, Callable[[Options], list[Trial]]] = {
    "creatures": creatures, "rigs": rigs, "ablations": ablations, "estimators": estimators, "cost": cost, "controls": controls,
}  # fmt: skip
