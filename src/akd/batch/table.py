"""Tables of jobs as rows: CSV, JSON lines and Parquet are read row by row, TOML at once, grids are multiplied out."""

import csv
import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from akd.errors import AkdError

SUFFIXES = (".csv", ".jsonl", ".parquet", ".toml")
FILE_AXES = ("characters", "clips")
"""Axes of a grid that may be given as a pattern of file names."""
BATCH_ROWS = 4096
"""Rows of a Parquet file that are in memory at a time."""


class Row(NamedTuple):
    """One job as it was asked for."""

    number: int
    """Counted from 1, without a header line."""
    values: dict[str, Any]
    """What the table says, without empty cells; texts where the table has no types."""


def read_table(path: Path) -> Iterator[Row]:
    """The rows of a table, one at a time."""
    reader = {".csv": _csv, ".jsonl": _json_lines, ".parquet": _parquet, ".toml": _toml}.get(path.suffix.lower())
    if reader is None:
        raise AkdError(f"{path} is no table of jobs: it should end in {', '.join(SUFFIXES)}.")
    if not path.is_file():
        raise AkdError(f"There is no file {path}.")
    with _readable(path):
        for number, values in enumerate(reader(path), 1):
            yield Row(number, {str(name): value for name, value in values.items() if value is not None and value != ""})


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeDecodeError, csv.Error, tomllib.TOMLDecodeError) as error:
        raise AkdError(f"{path} cannot be read as a table ({str(error)[:120]}): check what wrote it.") from error


def _csv(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8-sig") as lines:
        for number, values in enumerate(csv.DictReader(lines), 1):
            if None in values:
                raise AkdError(f"{path} has more cells in row {number} than names in its first line: quote commas in sentences.")
            yield {name.strip(): value.strip() if value else None for name, value in values.items()}


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                values = json.loads(line)
            except ValueError as error:
                raise AkdError(f"{path} has no JSON in line {number} ({error}).") from error
            if not isinstance(values, dict):
                raise AkdError(f"{path} has no object in line {number}: write it as {{\"prompt\": …}}.")
            yield values


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise AkdError(f"{path} needs pyarrow: pip install 'akd[ray]', or write the table as CSV.") from error
    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(BATCH_ROWS):
            yield from batch.to_pylist()
    except pyarrow.ArrowException as error:
        raise AkdError(f"{path} cannot be read as a table ({str(error)[:120]}): check what wrote it.") from error


def _toml(path: Path) -> Iterator[dict[str, Any]]:
    """``[[jobs]]`` are rows; ``[grid]`` (or several) are multiplied out."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    unknown = sorted(set(content) - {"jobs", "grid"})
    if unknown or not content:
        raise AkdError(f"{path} has {unknown[0] if unknown else 'nothing'!r}: it takes [grid] and [[jobs]].")
    jobs, grids = content.get("jobs", []), content.get("grid", [])
    for part in (*jobs, *(grids if isinstance(grids, list) else [grids])):
        if not isinstance(part, dict):
            raise AkdError(f"{path} has {part!r} where a job or a grid is expected: write [[jobs]] and [grid].")
    yield from jobs
    for grid in grids if isinstance(grids, list) else [grids]:
        yield from expand_grid(grid, path.parent)


def expand_grid(grid: dict[str, Any], folder: Path) -> Iterator[dict[str, Any]]:
    """Every combination of the lists in a grid.

    ``prompts``, ``characters``, ``clips`` and ``seeds`` (or any column with an s) are axes; characters and clips may be patterns
    such as "rigs/*.glb", relative to the table; ``seeds = 3`` is 0, 1, 2. Other entries hold for all, lists of values are axes
    as well. ``{character}`` in a prompt is the name of the character's file.
    """
    axes = [list(_axis(name, value, folder)) for name, value in grid.items()]
    for combination in product(*axes):
        row = dict(combination)
        if "{character}" in str(row.get("prompt", "")) and "character" in row:
            row["prompt"] = row["prompt"].replace("{character}", _spoken(row["character"]))
        yield row


def _axis(name: str, value: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    column = name[:-1] if name.endswith("s") and name not in ("seconds", "draws", "iterations", "curves") else name
    if name in FILE_AXES:
        for pattern in value if isinstance(value, list) else [value]:
            found = sorted(folder.glob(pattern)) if "*" in pattern and not Path(pattern).is_absolute() else [folder / pattern]
            if not found:
                raise AkdError(f"No file fits {pattern!r} beside the table: check [grid] {name}.")
            yield from ((column, str(path)) for path in found)
    elif name == "seeds" and isinstance(value, int):
        yield from ((column, seed) for seed in range(value))
    else:
        yield from ((column, each) for each in (value if isinstance(value, list) else [value]))


def _spoken(file: str) -> str:
    return Path(file).stem.replace("-", " ").replace("_", " ").lower()
