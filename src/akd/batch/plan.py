"""A table checked as a whole: every mistake with its row, or the list of work on disk, in the order in which it is to be done."""

import hashlib
import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any, Literal

import akd
from akd.assets import fingerprint
from akd.batch.cells import cell_value
from akd.batch.engine import Needs
from akd.batch.needs import gpu_share
from akd.batch.table import Row, read_table
from akd.batch.work import Work
from akd.errors import AkdError
from akd.files.writing import safe_name
from akd.prior.folder import EMBEDDED_FOLDERS

Order = Literal["listed", "shortest"]
ID_LENGTH = 16
"""Hexadecimal digits of a job's id: a million jobs share one with a chance of 1 in 40 million."""
SLUG_LENGTH = 60
"""Letters of a folder's name before the id."""
PLAIN_PROMPT = 100
"""Letters of a sentence in English letters that the embedded prior reads for sure."""


class TableError(AkdError):
    """A table with mistakes; ``mistakes`` has them all, by row."""

    def __init__(self, path: Path, mistakes: list[tuple[int, str]]) -> None:
        self.mistakes = mistakes
        rows = "1 wrong row" if len(mistakes) == 1 else f"{len(mistakes)} wrong rows"
        super().__init__(f"{path} has {rows}: nothing was started. The first is row {mistakes[0][0]}: {mistakes[0][1]}")


@dataclass
class Plan:
    """Work as lines of a file; only where each begins, how long it takes and what it needs is in memory."""

    file: IO[bytes]
    starts: array = field(default_factory=lambda: array("q"))
    costs: array = field(default_factory=lambda: array("d"))
    groups: array = field(default_factory=lambda: array("l"))
    """Number of the needs of each, in the order in which they first appear."""
    needs: dict[Needs, int] = field(default_factory=dict)
    repeated: int = 0
    """Rows that ask for what an earlier row asks for."""

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, work: Work, cost: float) -> None:
        self.starts.append(self.file.tell())
        self.costs.append(cost)
        self.groups.append(self.needs.setdefault(work.needs, len(self.needs)))
        self.file.write(json.dumps(work.as_dict(), separators=(",", ":")).encode() + b"\n")

    def works(self, order: Order = "listed") -> Iterator[Work]:
        """One at a time; work with the same needs together, so that a worker seldom loads another prior."""
        rank = self.costs if order == "shortest" else range(len(self))
        for number in sorted(range(len(self)), key=lambda number: (self.groups[number], rank[number])):
            self.file.seek(self.starts[number])
            yield Work.from_dict(json.loads(self.file.readline()))


def check_table(path: Path, file: IO[bytes], *, threads: int = 1, gpus: float | None = None, card: float | None = None) -> Plan:
    """Check every row and write its work to ``file``; raises ``TableError`` with all mistakes."""
    checker = Checker(path.resolve().parent, threads, gpus, card)
    plan, mistakes, seen = Plan(file), [], set()
    for row in read_table(path):
        try:
            work, cost = checker.work(row)
        except AkdError as error:
            mistakes.append((row.number, str(error)))
            continue
        if work.id in seen:
            plan.repeated += 1
        elif not mistakes:
            seen.add(work.id)
            plan.add(work, cost)
    if mistakes:
        raise TableError(path, mistakes)
    if not len(plan):
        raise AkdError(f"{path} has no rows: write at least one job.")
    return plan


class Checker:
    """Checks rows; what many rows share (files, sentences) is looked at once."""

    def __init__(self, folder: Path, threads: int, gpus: float | None, card: float | None = None) -> None:
        self.folder, self.threads, self.gpus, self.card = folder, threads, gpus, card
        self.files: dict[str, str] = {}
        self.prints: dict[tuple[Path, ...], list[str]] = {}
        self.sentences: dict[tuple[str, bool], str | None] = {}

    def work(self, row: Row) -> tuple[Work, float]:
        """The work of a row and about how long it takes."""
        values = dict(row.values)
        name = str(values.pop("kind", "animate"))
        if name not in akd.KINDS:
            raise AkdError(f"There is no kind of job {name!r}; choose from {', '.join(akd.KINDS)}.")
        kind = akd.KINDS[name]
        for column, value in values.items():
            if column not in kind.columns:
                raise AkdError(f"{name} has no column {column!r}; it has {', '.join(kind.columns)}.")
            values[column] = cell_value(column, value, kind.columns[column])
        for column in kind.paths & values.keys():
            values[column] = self._absolute(values[column])
        missing = sorted(kind.required - values.keys())
        if missing:
            raise AkdError(f"{missing[0]} is missing.")
        request = kind.request(values)
        self._check_sentence(name, request)
        prints = self._prints(kind, request)
        identity = json.dumps({"kind": name} | kind.identity(request, prints), sort_keys=True)
        digest = hashlib.sha256(identity.encode()).hexdigest()[:ID_LENGTH]
        share = gpu_share(request, self.card) if self.gpus is None else self.gpus
        needs = Needs(kind.prior_key(request), float(self.threads), share)
        return Work(digest, row.number, name, f"{_slug(name, values)}-{digest}", values, prints, needs), kind.cost(request)

    def _absolute(self, name: str) -> str:
        """A path is meant from the table's folder; a character in words stays as it is."""
        if name not in self.files:
            path = self.folder / name.partition("#")[0]
            self.files[name] = str(self.folder / name) if path.suffix or path.exists() else name
        return self.files[name]

    def _prints(self, kind: Any, request: Any) -> list[str]:
        """Fingerprints of the files of a request; rows with the same files share them."""
        inputs = tuple(kind.inputs(request))
        if inputs not in self.prints:
            missing = [path for path in inputs if not path.is_file()]
            if missing:
                raise AkdError(f"There is no file {missing[0]}.")
            self.prints[inputs] = [fingerprint(path) for path in kind.files(request)]
        return self.prints[inputs]

    def _check_sentence(self, kind: str, request: Any) -> None:
        """What the embedded prior would refuse to read; other priors are too large to be loaded for that."""
        if kind != "animate" or request.prior not in EMBEDDED_FOLDERS:
            return
        if request.prompt.isascii() and len(request.prompt) <= PLAIN_PROMPT and any(map(str.isalpha, request.prompt)):
            return
        key = (request.prompt, request.expand)
        if key not in self.sentences:
            self.sentences[key] = _refusal(request)
        refusal = self.sentences[key]
        if refusal is not None:
            raise AkdError(refusal)


def _refusal(job: Any) -> str | None:
    from akd.pipeline.job import check_prior

    try:
        check_prior(job, _embedded())
    except AkdError as error:
        return str(error)
    return None


@cache
def _embedded() -> Any:
    return akd.load_prior()




def _slug(kind: str, values: dict[str, Any]) -> str:
    """A readable beginning of a folder's name: the character, the clip, the sentence."""
    files = [Path(str(values[name]).partition("#")[0]).stem for name in ("character", "clip") if name in values]
    words = [] if kind == "animate" else [kind]
    text = "-".join([*words, *files, str(values.get("prompt", ""))])
    return safe_name(text.replace(" ", "-"))[:SLUG_LENGTH].strip("-. ")
