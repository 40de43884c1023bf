"""Rows of a study on disk, and as a table."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from akd.measure.wording import metric_text

Row = dict[str, Any]
COLUMNS = {
    "amplitude": "swing ℓ", "alternation": "alternation", "duty": "duty", "stride_frequency": "strides Hz", "skating": "skating",
    "float": "float ℓ", "penetration": "deepest ℓ", "jerk": "jerk / own", "bone_stretch": "stretch", "motion_amount": "amount",
}  # fmt: skip
"""Numbers of a row that tables show, and their titles."""


def append_row(path: Path, row: Row) -> None:
    """One line more; a line is written at once, so that a kill spoils at most the last."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as rows:
        rows.write(json.dumps(row) + "\n")


def read_rows(path: Path) -> list[Row]:
    """All whole lines; of several rows of one trial the last."""
    if not path.is_file():
        return []
    rows: dict[str, Row] = {}
    for line in path.read_text().split("\n"):
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        rows[row["key"]] = row
    return list(rows.values())


def title(row: Row) -> str:
    """What a row is about, in one line."""
    if "prompt" in row:
        told = f", told {row['told']!r}" if row["told"] else ""
        return f"{row['prompt']}{told}, {row['body']}, seed {row['seed']}"
    return f"{row['arm']}, {row['character']}, {row['wish']}, seed {row['seed']}"


def outcome(row: Row) -> str:
    """A row in a few words."""
    if "error" in row:
        return row["error"]
    return "success" if row["success"] and not row["failures"] else "fails by " + ", ".join(row["failures"])


def summary(rows: Iterable[Row], by: Sequence[str]) -> list[dict[str, str]]:
    """Rows that share the labels ``by`` as one: how many succeed, what most often fails, medians of the numbers."""
    groups: dict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in by)].append(row)
    out = []
    for labels, group in groups.items():
        line = dict(zip(by, map(str, labels), strict=True))
        line["success"] = f"{sum(row['success'] for row in group)} of {len(group)}"
        line |= {title: _median([row["numbers"].get(name) for row in group]) for name, title in COLUMNS.items()}
        line["fails by"] = _often([name for row in group for name in row["failures"]], len(group))
        out.append(line)
    return out


def costs(rows: Iterable[Row]) -> list[dict[str, str]]:
    """What success cost, or how much was spent without it."""
    return [
        {
            "arm": row["arm"], "character": row["character"], "wish": row["wish"], "seed": str(row["seed"]),
            **{name: _reached(row, name) for name in ("iterations", "evaluations", "renders", "seconds")},
        }
        for row in rows
    ]  # fmt: skip


def markdown(lines: Sequence[dict[str, str]]) -> str:
    """A table for a page of documentation."""
    if not lines:
        return ""
    titles = list(lines[0])
    body = [titles, ["---"] * len(titles), *([line.get(title, "") for title in titles] for line in lines)]
    return "\n".join("| " + " | ".join(trials) + " |" for trials in body) + "\n"


def _median(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return metric_text(round(float(np.median(known)), 3)) if known else "–"


def _often(failures: list[str], count: int) -> str:
    """The conditions that at least half of the runs miss, the most frequent first."""
    times = {name: failures.count(name) for name in dict.fromkeys(failures)}
    return ", ".join(sorted((name for name in times if 2 * times[name] >= count), key=lambda name: -times[name]))


def _reached(row: Row, name: str) -> str:
    if row["reached"] is None:
        return f"not within {row['spent'][name]:.4g}"
    return f"{row['reached'][name]:.4g}"
