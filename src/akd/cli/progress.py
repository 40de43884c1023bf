"""How a run shows itself while it goes on: iteration, speed, time left, and how good the motion is by now."""

from collections.abc import Iterable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from akd.cli.console import PLAIN
from akd.distill.task import Task
from akd.measure.evaluation import Evaluation, as_text
from akd.pipeline.job import Job, Progress


class RunProgress(Progress):
    """A bar in a terminal; in a file or a pipe, a line whenever the motion has been measured."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen
        self.bar = Bars(
            SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True), TextColumn("{task.fields[note]}", markup=False), console=screen,
            transient=True, disable=not screen.is_terminal,
        )  # fmt: skip
        self.shown: TaskID | None = None
        self.measured, self.total = "", 0
        self.said: set[str] = set()

    def __enter__(self) -> "RunProgress":
        self.bar.start()
        return self

    def __exit__(self, *trouble: object) -> None:
        self.bar.stop()

    def stage(self, what: str) -> None:
        self._show(what, None)

    def notice(self, sentence: str) -> None:
        self._say(sentence)

    def prepared(self, job: Job, task: Task, done: int) -> None:
        for note in task.rig.notes:
            self._say(note)
        if task.prompt != job.prompt:
            self._say(f"The prior reads: {task.prompt} (--no-expand keeps your own words)")
        if done:
            self._say(f"Going on after iteration {done} of seed {job.seed}.")
        self.total, self.measured = job.recipe.iterations, ""
        self._show(f"seed {job.seed}", self.total, done)

    def iteration(self, numbers: dict[str, float], measured: Evaluation | None) -> None:
        if measured is not None:
            self.measured = in_short(measured)
            if not self.screen.is_terminal:
                at = f"{int(numbers['iteration']) + 1}/{self.total}  {numbers['seconds']:.1f} s each"
                self.screen.print(f"{at}  score {numbers['score']:.3f}  {self.measured}", **PLAIN)
        if self.shown is not None:
            self.bar.update(self.shown, advance=1, note=f"{numbers['seconds']:.1f} s each  {self.measured}")

    def items(self, items: Iterable, count: int, what: str) -> Iterable:
        self._show(what, count)
        for item in items:
            yield item
            if self.shown is not None:
                self.bar.update(self.shown, advance=1)

    def _say(self, sentence: str) -> None:
        """Once, however many runs it holds for."""
        if sentence not in self.said:
            self.said.add(sentence)
            self.screen.print(f"· {sentence}", **PLAIN)

    def _show(self, what: str, total: int | None, done: int = 0) -> None:
        if self.shown is not None:
            self.bar.remove_task(self.shown)
        self.shown = self.bar.add_task(what, total=total, completed=done, note="")


def in_short(measured: Evaluation) -> str:
    """The numbers that tell how a gait is coming along."""
    least = min(measured.amplitudes) if measured.amplitudes else None
    shown = {"swing": least, "alternation": measured.alternation, "duty": measured.duty_factor, "skating": measured.skating_ratio}
    return f"{measured.verdict}: " + ", ".join(f"{name} {as_text(value)}" for name, value in shown.items())
