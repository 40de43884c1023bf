"""How long work reports on itself: the command line, a page or a batch engine overrides what it wants to hear of."""

from collections.abc import Iterable

from akd.distill.task import Task
from akd.measure.evaluation import Evaluation
from akd.pipeline.job import Job


class Progress:
    """Hears how a run proceeds; this one does nothing with it."""

    def stage(self, what: str) -> None:
        """Something else than iterations begins."""

    def notice(self, sentence: str) -> None:
        """Something that the user should know."""

    def prepared(self, job: Job, task: Task, done: int) -> None:
        """Iterations begin; ``done`` of them are done already."""

    def iteration(self, numbers: dict[str, float], measured: Evaluation | None) -> None:
        """One iteration is over; now and then, the motion was measured."""

    def items(self, items: Iterable, count: int, what: str) -> Iterable:
        """Passes on items (frames that are drawn, steps of a search) while they are worked on."""
        return items
