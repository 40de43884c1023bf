"""Curves of a run or a training in TensorBoard, for those who want them: every iteration's numbers and what was measured."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from akd.distill.task import Task
from akd.errors import AkdError
from akd.files.writing import write_errors
from akd.measure.evaluation import Evaluation
from akd.pipeline.job import Job, Progress


def summary_writer() -> Any:
    """TensorBoard's class, if it is installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise AkdError("Curves need the extra 'tensorboard'; install it with: pip install 'akd[tensorboard]'.") from None
    return SummaryWriter


def open_curves(folder: Path, done: int) -> Any:
    """A writer that goes on after ``done`` steps: what is done again after a kill counts once."""
    writer = summary_writer()
    with write_errors(folder):
        return writer(str(folder), purge_step=done)


def add_numbers(writer: Any, step: int, numbers: Mapping[str, Any]) -> None:
    """A point of every curve."""
    for name, value in numbers.items():
        if name not in ("iteration", "step") and isinstance(value, float | int) and not isinstance(value, bool):
            writer.add_scalar(name, value, step)
    with write_errors(writer.log_dir):
        writer.flush()


class TensorBoardProgress(Progress):
    """Passes everything on to another listener, and writes curves; each run has a folder of its own, named after its sentence."""

    def __init__(self, inner: Progress, folder: Path) -> None:
        summary_writer()  # before anything is begun
        self.inner, self.folder = inner, folder
        self._writer: Any = None

    def stage(self, what: str) -> None:
        self.inner.stage(what)

    def notice(self, sentence: str) -> None:
        self.inner.notice(sentence)

    def prepared(self, job: Job, task: Task, done: int) -> None:
        self.inner.prepared(job, task, done)
        self._writer = open_curves(self.folder / f"{job.name}-seed-{job.seed}", done)

    def iteration(self, numbers: dict[str, float], measured: Evaluation | None) -> None:
        self.inner.iteration(numbers, measured)
        found = {f"measured/{name}": value for name, value in (measured.as_dict() if measured is not None else {}).items()}
        add_numbers(self._writer, int(numbers["iteration"]), numbers | found)

    def items(self, items: Iterable, count: int, what: str) -> Iterable:
        return self.inner.items(items, count, what)
