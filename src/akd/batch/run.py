"""A batch from its table to its results: check everything, do what is not done yet, keep one row per job."""

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import akd
from akd.batch.engine import Task, each
from akd.batch.place import Place
from akd.batch.plan import Order, Plan, check_table
from akd.batch.results import DONE, FAILED, Results, read_results, result_row
from akd.batch.work import do_work
from akd.errors import AkdError
from akd.files.lock import locked_folder

ABOUT = "batch.json"
"""What the batch is: its table, its number of jobs, the version that began it."""
JOBS = "jobs.jsonl"
"""Every job as it was checked."""
SHOWN_FAILURES = 20
"""Failures of which the status keeps the reason."""


@dataclass(frozen=True)
class BatchSettings:
    """How a batch is done; none of it changes a result, except ``threads`` in the last digits."""

    workers: int | None = None
    """Processes; 1 is a plain loop in this one. None: 1, or as many as a cluster has room for."""
    ray: str | None = None
    """Address of a Ray cluster."""
    threads: int = 1
    """Cores of each job."""
    gpus: float | None = None
    """Share of a GPU of each job; None: what its prior needs."""
    card: float | None = None
    """Memory of each GPU [GB], from which shares follow."""
    order: Order = "listed"
    retries: int = 3
    """How often a job whose worker died is begun again."""

    def __post_init__(self) -> None:
        if (self.workers is not None and self.workers < 1) or self.threads < 1 or self.retries < 0:
            given = f"{self.workers}, {self.threads} and {self.retries}"
            raise AkdError(f"Workers and threads are at least 1 and retries at least 0, not {given}.")


class BatchProgress:
    """Hears how a batch proceeds; this one does nothing with it."""

    def checked(self, plan: Plan, done: int) -> None:
        """The table has no mistakes; ``done`` of its jobs are done already."""

    def job(self, row: dict[str, Any]) -> None:
        """One more row of the results."""


def run_batch(table: Path, place: Place, settings: BatchSettings, progress: BatchProgress | None = None) -> Counter[str]:
    """Do all jobs of a table that are not done yet; returns how many of this table's jobs are done, and how many failed."""
    progress = progress or BatchProgress()
    with _checked(table, settings) as plan, _held(place):
        results = Results(place)
        _write_about(place, table, plan)
        counts = Counter({DONE: sum(work.id in results.done for work in plan.works())})
        progress.checked(plan, counts[DONE])
        tasks = (
            Task(do_work, {"work": work, "place": place}, work.needs)
            for work in plan.works(settings.order) if work.id not in results.done
        )  # fmt: skip
        answers = each(tasks, workers=settings.workers, ray=settings.ray, retries=settings.retries)
        try:
            for task, answer in answers:
                row = result_row(task.arguments["work"], answer)
                results.add(row)
                counts[row["status"]] += 1
                progress.job(row)
        finally:
            answers.close()  # type: ignore[attr-defined]  # a generator: workers end before the table does
            results.write()
    return counts


def check_only(table: Path, settings: BatchSettings) -> Plan:
    """Check a table; the plan's file is gone afterwards."""
    with _checked(table, settings) as plan:
        return plan


@contextmanager
def _checked(table: Path, settings: BatchSettings) -> Iterator[Plan]:
    with tempfile.TemporaryFile(prefix="akd-batch-") as file:
        yield check_table(table, file, threads=settings.threads, gpus=settings.gpus, card=settings.card)


def _held(place: Place) -> Any:
    """No other batch works in a folder meanwhile."""
    return locked_folder(place.path) if place.is_folder else nullcontext()


def _write_about(place: Place, table: Path, plan: Plan) -> None:
    about = {"table": str(table.resolve()), "jobs": len(plan), "repeated_rows": plan.repeated, "akd": akd.__version__}
    place.write(ABOUT, json.dumps(about, indent=2).encode() + b"\n")
    plan.file.seek(0)
    if place.is_folder:
        from akd.files.writing import written_beside

        with written_beside(place.path / JOBS) as part, part.open("wb") as copy:
            shutil.copyfileobj(plan.file, copy)
    else:
        place.write(JOBS, plan.file.read())


@dataclass(frozen=True)
class Status:
    """How far a batch is."""

    jobs: int
    counts: Counter[str]
    """Rows by status."""
    verdicts: Counter[str]
    seconds: float
    """Time that the jobs took together [s]."""
    failures: tuple[dict[str, Any], ...]
    """The first rows that failed."""

    @property
    def left(self) -> int:
        return self.jobs - self.counts[DONE] - self.counts[FAILED]


def read_about(place: Place) -> dict[str, Any]:
    """What a batch's folder says about itself."""
    content = place.read(ABOUT)
    if content is None:
        raise AkdError(f"{place.url} is no batch: it has no {ABOUT}.")
    return json.loads(content)


def read_status(place: Place) -> Status:
    """How far a batch is, also while it goes on."""
    about, seconds = read_about(place), 0.0
    counts: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    for row in read_results(place):
        counts[row["status"]] += 1
        seconds += row["seconds"] or 0.0
        if row["status"] == DONE:
            verdicts[row["verdict"] or "–"] += 1
        elif len(failures) < SHOWN_FAILURES:
            failures.append(row)
    return Status(int(about["jobs"]), counts, verdicts, seconds, tuple(failures))
