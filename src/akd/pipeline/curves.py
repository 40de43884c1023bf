"""Curves of a run in TensorBoard, for those who want them: every iteration's numbers and what was measured in between."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from akd.distill.task import Task
from akd.errors import AkdError
from akd.files.writing import write_errors
from akd.measure.evaluation import Evaluation
from akd.pipeline.job import Job, Progress


class TensorBoardProgress(Progress):
    """Passes everything on to another listener, and writes curves; each run has a folder of its own, named after its sentence."""

    def __init__(self, inner: Progress, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise AkdError("Curves need the extra 'tensorboard'; install it with: pip install 'akd[tensorboard]'.") from None
        self.inner, self.folder = inner, folder
        self._open: Any = SummaryWriter
        self._writer: Any = None

    def stage(self, what: str) -> None:
        self.inner.stage(what)

    def notice(self, sentence: str) -> None:
        self.inner.notice(sentence)

    def prepared(self, job: Job, task: Task, done: int) -> None:
        self.inner.prepared(job, task, done)
        place = self.folder / f"{job.name}-seed-{job.seed}"
        with write_errors(place):
            self._writer = self._open(str(place), purge_step=done)  # what was done again after a kill counts once

    def iteration(self, numbers: dict[str, float], measured: Evaluation | None) -> None:
        self.inner.iteration(numbers, measured)
        step = int(numbers["iteration"])
        found = {f"measured/{name}": value for name, value in (measured.as_dict() if measured is not None else {}).items()}
        for name, value in (numbers | found).items():
            if name != "iteration" and isinstance(value, float | int) and not isinstance(value, bool):
                self._writer.add_scalar(name, value, step)
        with write_errors(self.folder):
            self._writer.flush()

    def items(self, items: Iterable, count: int, what: str) -> Iterable:
        return self.inner.items(items, count, what)
