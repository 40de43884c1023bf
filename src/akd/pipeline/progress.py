"""How a run tells what it is doing; the command line listens."""

from collections.abc import Iterable

from akd.distill.task import Task
from akd.measure.evaluation import Evaluation
from akd.pipeline.job import Job


class Progress:
    """Is told how a run goes; this one keeps quiet."""

    def stage(self, what: str) -> None:
        """Something else than iterations begins."""

    def prepared(self, job: Job, task: Task, done: int) -> None:
        """Iterations begin, so many of which are done already."""

    def iteration(self, numbers: dict[str, float], measured: Evaluation | None) -> None:
        """One is over; now and then, the motion has been measured."""

    def pictures(self, frames: Iterable, count: int, what: str) -> Iterable:
        """Hands the frames on while they are drawn."""
        return frames
