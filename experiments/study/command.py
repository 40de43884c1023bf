"""The command line of studies: ``python -m experiments.study NAME``."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from akd.cli.console import PLAIN, console
from akd.errors import AkdError

Name = Literal["creatures", "rigs", "actions", "swaps", "ablations", "estimators", "cost", "controls", "profile"]
WIDE_COLUMNS = {"alternation", "strides Hz", "float ℓ", "deepest ℓ", "jerk / own", "stretch", "amount"}
"""Columns that only a wide screen shows …"""
WIDE_SCREEN = 150
"""… and the width from which it is wide [letters]."""


def main() -> None:
    """Run the command; an error ends in one sentence."""
    try:
        tyro.cli(study, prog="python -m experiments.study")
    except AkdError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def study(
    name: Annotated[Name, tyro.conf.Positional],
    /,
    *,
    prior: str = "embedded",
    weaker: str | None = None,
    assets: Path | None = None,
    motions: Path | None = None,
    recipe: Literal["default", "quick", "looks"] = "default",
    seeds: int = 3,
    iterations: int | None = None,
    limit: int = 500,
    only: str = "",
    most: int | None = None,
    workers: int = 1,
    out: Path | None = None,
    show: bool = False,
) -> None:
    """Run a study, or resume it: every trial's row is on disk as soon as it is known. Prints tables.

    creatures and rigs count walks and runs that succeed, actions whatever is as asked; swaps tell the prior another action than
    the reader; ablations, estimators and cost compare recipes; controls must fail; profile shows
    where the time of an iteration goes.

    Example: python -m experiments.study creatures --seeds 1 --only dog

    Args:
        prior: The video model: embedded, a folder, or a name on the hub.
        weaker: An earlier state of the prior, for the arm of ablations that asks for one.
        assets: Folder with other people's rigs, for rigs and actions.
        motions: Folder with real motion, for the rigs of its test part in actions.
        recipe: Of actions and swaps.
        seeds: Seeds of each arm.
        iterations: Instead of the default recipe's.
        limit: Iterations after which the paper's recipe is stopped.
        only: Run only trials whose key contains this.
        most: Run at most so many trials now.
        workers: Processes at a time, one core each; more than one needs akd[ray].
        out: The folder of rows; by default runs/studies/NAME.
        show: Only show what there is.
    """
    from akd.cli.progress import RunProgress
    from akd.distill.recipe import RECIPES
    from experiments.study.actions import action_trials, swaps
    from experiments.study.rows import outcome, title
    from experiments.study.run_study import run_trials, run_trials_on, write_sheet, write_tables
    from experiments.study.run_trial import StudyContext
    from experiments.study.studies import STUDIES, Options

    screen, folder = console(), out or Path("runs") / "studies" / name
    chosen = RECIPES[recipe] if iterations is None else replace(RECIPES[recipe], iterations=iterations)
    if name == "profile":
        _profile(prior, chosen)
        return
    if not show:
        made = {"actions": action_trials, "swaps": swaps}.get(name)
        every = made(chosen, seeds) if made else STUDIES[name](Options(chosen, seeds, limit, assets))
        trials = [trial for trial in every if only in trial.key][:most]
        context = StudyContext(folder.resolve(), prior, weaker, assets, motions)
        with RunProgress(screen) as progress:
            rows = run_trials(trials, context, progress) if workers == 1 else run_trials_on(workers, trials, context)
            for row in rows:
                screen.print(f"{title(row)}: {outcome(row)}", **PLAIN)
    _print_tables(folder)
    written = [write_tables(folder), write_sheet(folder)]
    screen.print("Wrote " + ", ".join(str(path) for path in written if path is not None))


def _print_tables(folder: Path) -> None:
    """What fits on the screen; the file has all columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from experiments.study.run_study import tables

    screen = console()
    for title, lines in tables(folder).items():
        if not lines:
            continue
        shown = [name for name in lines[0] if name not in WIDE_COLUMNS or screen.width >= WIDE_SCREEN]
        table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in shown:
            table.add_column(name, overflow="fold")
        for line in lines:
            table.add_row(*(line[name] for name in shown))
        screen.print(table)


def _profile(prior: str, recipe: object) -> None:
    from rich.table import Table

    from akd.creatures.build import creature
    from akd.distill.recipe import Recipe
    from akd.pipeline.job import Job, make_task
    from akd.prior.load import load_prior
    from akd.training.data_card import FIRST_HELD_OUT_SEED
    from experiments.study.profile import own_share, profile

    assert isinstance(recipe, Recipe)
    job = Job("a dog walking", recipe=recipe)
    parts = profile(make_task(job, load_prior(prior), creature("dog", FIRST_HELD_OUT_SEED)))
    table = Table("part", "seconds", "share", title=f"One iteration; ours is {own_share(parts):.0%}")
    for part, seconds in parts.items():
        table.add_row(part, f"{seconds:.3f}", f"{seconds / parts['all']:.0%}")
    console().print(table)
