"""Commands on experiments."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from akd.cli.console import PLAIN, console

Name = Literal["creatures", "rigs", "ablations", "estimators", "cost", "controls", "profile"]
FURTHER = {"alternation", "strides Hz", "float ℓ", "deepest ℓ", "jerk / own", "stretch", "amount"}
"""Columns that a narrow screen does without …"""
WIDE = 150
"""… and the width from which it is not narrow [letters]."""


def study(
    name: Annotated[Name, tyro.conf.Positional],
    /,
    *,
    prior: str = "embedded",
    weaker: str | None = None,
    assets: Path | None = None,
    seeds: int = 3,
    iterations: int | None = None,
    limit: int = 500,
    only: str = "",
    most: int | None = None,
    out: Path | None = None,
    show: bool = False,
) -> None:
    """Do an experiment, or go on with it: every cell's row is on disk as soon as it is known. Prints tables.

    creatures and rigs count successes; ablations, estimators and cost compare recipes; controls must fail; profile tells
    where the time of an iteration goes.

    Example: akd study creatures --seeds 1 --only dog

    Args:
        prior: The video model: embedded, a folder, or a name on the hub.
        weaker: An earlier state of the prior, for the arm of ablations that asks for one.
        assets: Folder with other people's rigs, for rigs.
        seeds: Seeds of each arm.
        iterations: Instead of the default recipe's.
        limit: Iterations after which the paper's recipe is stopped.
        only: Do only cells whose name contains this.
        most: Do at most so many cells in this sitting.
        out: The folder of rows; by default runs/studies/NAME.
        show: Only show what there is.
    """
    from akd.cli.progress import RunProgress
    from akd.distill.recipe import DEFAULT
    from experiments.study.perform import Lab
    from experiments.study.rows import outcome
    from experiments.study.studies import STUDIES, Options
    from experiments.study.study import do_cells, write_sheet, write_tables

    screen, folder = console(), out or Path("runs") / "studies" / name
    recipe = DEFAULT if iterations is None else replace(DEFAULT, iterations=iterations)
    if name == "profile":
        _profile(prior, recipe)
        return
    if not show:
        cells = [cell for cell in STUDIES[name](Options(recipe, seeds, limit, assets)) if only in cell.key][:most]
        with RunProgress(screen) as progress:
            for row in do_cells(cells, Lab(folder, prior, weaker, assets), progress):
                screen.print(f"{row['arm']}, {row['character']}, {row['wish']}, seed {row['seed']}: {outcome(row)}", **PLAIN)
    _print_tables(folder)
    written = [write_tables(folder), write_sheet(folder)]
    screen.print("Wrote " + ", ".join(str(path) for path in written if path is not None))


def _print_tables(folder: Path) -> None:
    """What fits on the screen; the file has all columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from experiments.study.study import tables

    screen = console()
    for title, lines in tables(folder).items():
        if not lines:
            continue
        shown = [name for name in lines[0] if name not in FURTHER or screen.width >= WIDE]
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
    from akd.training.held_out import FIRST_HELD_OUT_SEED
    from experiments.study.profile import own_share, profile

    assert isinstance(recipe, Recipe)
    job = Job("a dog walking", recipe=recipe)
    parts = profile(make_task(job, load_prior(prior), creature("dog", FIRST_HELD_OUT_SEED)))
    table = Table("part", "seconds", "share", title=f"One iteration; ours is {own_share(parts):.0%}")
    for part, seconds in parts.items():
        table.add_row(part, f"{seconds:.3f}", f"{seconds / parts['all']:.0%}")
    console().print(table)
