"""How a batch shows itself while it goes on: a bar of jobs, and a sentence for every one that failed."""

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from akd.batch.plan import Plan
from akd.batch.results import FAILED
from akd.batch.run import BatchProgress
from akd.cli.console import PLAIN


class TableProgress(BatchProgress):
    """A bar in a terminal; in a file or a pipe, a line per job."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen
        self.bar = Bars(
            SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True), console=screen, transient=True, disable=not screen.is_terminal,
        )  # fmt: skip
        self.task = self.bar.add_task("checking the table", total=None)

    def __enter__(self) -> "TableProgress":
        self.bar.start()
        return self

    def __exit__(self, *trouble: object) -> None:
        self.bar.stop()

    def checked(self, plan: Plan, done: int) -> None:
        if plan.repeated:
            self.screen.print(f"· {plan.repeated} rows ask for what an earlier row asks for; that is done once.", **PLAIN)
        if done:
            self.screen.print(f"· {done} of {len(plan)} jobs are done already.", **PLAIN)
        self.bar.update(self.task, description="jobs", total=len(plan), completed=done)

    def job(self, row: dict[str, Any]) -> None:
        self.bar.update(self.task, advance=1)
        if row["status"] == FAILED:
            self.screen.print(f"row {row['row']} failed: {row['reason']}", **PLAIN)
        elif not self.screen.is_terminal:
            self.screen.print(f"row {row['row']}, {row['seconds']:.0f} s: {row['sentence']}", **PLAIN)
