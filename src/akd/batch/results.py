"""The table of results: one row per job, in parts that are whole files and can be read while the batch goes on.

``pandas.read_parquet("FOLDER/results")`` reads all of it. Without pyarrow the parts are JSON lines.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from importlib.util import find_spec
from io import BytesIO
from typing import Any, get_type_hints

import akd
from akd.batch.engine import Failed
from akd.batch.place import RUNS, Place
from akd.batch.work import Work
from akd.errors import AkdError

FOLDER = "results"
PART_ROWS = 5000
"""Rows of a part: rewriting one takes a fraction of a second."""
WRITE_EVERY = 5.0
"""Least time between two writings of the growing part [s]."""
DONE, FAILED = "done", "failed"
TEXTS = (
    "id", "kind", "status", "verdict", "quality", "looks_like", "sentence", "reason", "prompt", "character", "clip", "prior",
    "folder", "node", "versions", "asked", "finished", "more",
)  # fmt: skip
"""Columns of text; ``asked``, ``versions`` and ``more`` (what else was measured) are JSON."""
INTEGERS = ("row", "seed", "process")
SPENT = ("seconds", "processor_seconds")
"""By the clock, and of cores, child processes included; nothing for a job that was done before."""
NUMBERS = {float, float | None, int}
"""Types of the measures that have a column each."""


def measure_names() -> list[str]:
    """Measures of a motion that are one number."""
    hints = get_type_hints(akd.Evaluation)
    return [entry.name for entry in fields(akd.Evaluation) if hints[entry.name] in NUMBERS]


def result_row(work: Work, answer: Any) -> dict[str, Any]:
    """A row of the table; every row has every column."""
    asked = dict(work.values)
    row: dict[str, Any] = dict.fromkeys((*TEXTS, *INTEGERS, *SPENT, *measure_names()))
    row |= {"id": work.id, "row": work.row, "kind": work.kind, "folder": f"{RUNS}/{work.name}", "asked": json.dumps(asked)}
    row |= {name: asked.get(name) for name in ("prompt", "character", "clip")}
    row |= {"seed": asked.get("seed", 0), "prior": _prior_name(work), "finished": datetime.now(UTC).isoformat(timespec="seconds")}
    if isinstance(answer, Failed):
        return row | {"status": FAILED, "reason": answer.reason}
    measured = dict(answer["result"].get("measured", {}))
    own = {name: measured.pop(name, None) for name in measure_names()}
    row |= {name: None if value is None else float(value) for name, value in own.items()}
    row |= {name: answer[name] for name in (*SPENT, "node", "process")} | {"versions": json.dumps(answer["versions"])}
    row |= _judged(answer["result"], measured.pop("verdict", None))
    return row | {"sentence": answer["result"]["sentence"], "more": json.dumps(measured), "status": DONE}


def _judged(result: dict[str, Any], quality: str | None) -> dict[str, Any]:
    """Quality of a motion, what it looks like, and the verdict: what is wrong with its quality, else whether it is as asked."""
    wish = str(result.get("verdict") or quality or "").replace("_", " ") or None
    verdict = wish if quality in (None, "good") else quality
    return {"verdict": verdict, "quality": quality, "looks_like": (result.get("looks_like") or {}).get("action")}


def _prior_name(work: Work) -> str | None:
    return None if work.needs.prior is None else work.values.get("prior", "embedded")


class Results:
    """The table of a batch that is being done. What an earlier attempt finished stays; what failed then is tried again."""

    def __init__(self, place: Place) -> None:
        self.place, self.written = place, 0.0
        self.rows: list[Mapping[str, Any]] = []
        self.done: set[str] = set()
        names = place.names(FOLDER)
        self.number = 1 + max((int(name.partition(".")[0]) for name in names), default=0)
        for name in names:
            rows = read_part(place, name)
            kept = [row for row in rows if row["status"] == DONE]
            self.done.update(row["id"] for row in kept)
            if len(kept) < len(rows):
                _write_part(place, name, kept)

    def add(self, row: Mapping[str, Any]) -> None:
        self.rows.append(row)
        if len(self.rows) >= PART_ROWS or time.monotonic() - self.written > WRITE_EVERY:
            self.write()

    def write(self) -> None:
        """The growing part as a whole file; a full one is closed."""
        if self.rows:
            _write_part(self.place, f"{self.number:06d}{_suffix()}", self.rows)
        if len(self.rows) >= PART_ROWS:
            self.number, self.rows = self.number + 1, []
        self.written = time.monotonic()


def read_results(place: Place) -> Iterator[dict[str, Any]]:
    """All rows, those of each part in order."""
    for name in place.names(FOLDER):
        yield from read_part(place, name)


def read_part(place: Place, name: str) -> list[dict[str, Any]]:
    content = place.read(f"{FOLDER}/{name}")
    if content is None or not name.endswith((".parquet", ".jsonl")):
        return []
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in content.splitlines()]
    if not has_parquet():
        raise AkdError(f"{place.url}/{FOLDER}/{name} needs pyarrow: pip install 'akd[ray]'.")
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_table(BytesIO(content)).to_pylist()
    except pyarrow.ArrowException as error:
        cure = "remove it; its jobs are found again without being done again"
        raise AkdError(f"{place.url}/{FOLDER}/{name} is damaged ({str(error)[:80]}): {cure}.") from error


def has_parquet() -> bool:
    return find_spec("pyarrow") is not None


def _suffix() -> str:
    return ".parquet" if has_parquet() else ".jsonl"


def _write_part(place: Place, name: str, rows: list[Any]) -> None:
    if not rows:
        place.remove(f"{FOLDER}/{name}")
    elif name.endswith(".jsonl"):
        place.write(f"{FOLDER}/{name}", "".join(json.dumps(row) + "\n" for row in rows).encode())
    else:
        place.write(f"{FOLDER}/{name}", _as_parquet(rows))


def _as_parquet(rows: list[Any]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    types = dict.fromkeys(TEXTS, pyarrow.string()) | dict.fromkeys(INTEGERS, pyarrow.int64())
    schema = pyarrow.schema([(name, types.get(name, pyarrow.float64())) for name in rows[0]])
    content = BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), content)
    return content.getvalue()
