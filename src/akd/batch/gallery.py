"""One page with the strips of all jobs of a batch, to sort by a measure, filter by verdict, and open each one's report."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from akd.batch.pages import page
from akd.batch.place import Place
from akd.batch.results import DONE, measure_names, read_results
from akd.batch.run import read_about

PAGE = "index.html"
SKIPPED = {"frame_count", "fps"}
"""Measures that say nothing about how good a motion is."""
SHOWN_LETTERS = 240
"""Letters of a sentence or a reason on a card."""


def write_gallery(place: Place) -> int:
    """Write the page beside the results; returns how many jobs are on it."""
    about = read_about(place)
    rows = [_card(row, place) for row in read_results(place)]
    measures = _measured(rows)
    for row in rows:
        row["numbers"] = {name: row["numbers"].get(name) for name in measures}
    facts = f"{len(rows)} of {about['jobs']} jobs · table {Path(about['table']).name} · akd {about['akd']}"
    content = page("gallery", title=place.url.rpartition("/")[2], rows={"rows": rows, "measures": measures}, facts=facts)
    place.write(PAGE, content.encode())
    return len(rows)


def _card(row: dict[str, Any], place: Place) -> dict[str, Any]:
    """What the page shows of a row; links are relative, so that the folder can be copied or served."""
    folder, done = row["folder"], row["status"] == DONE
    seed = f"seed {row['seed']}" if row["kind"] in ("animate", "pose sample") else None
    files = [Path(row[name]).name for name in ("character", "clip") if row[name]]
    numbers = {name: row[name] for name in measure_names() if name not in SKIPPED} | {"seconds": row["seconds"]}
    return {
        "row": row["row"], "title": row["prompt"] or f"{row['kind']} {' '.join(files)}", "verdict": _verdict(row),
        "about": " · ".join(filter(None, [*files, seed, row["prior"]])),
        "sentence": (row["sentence"] or row["reason"] or "")[:SHOWN_LETTERS], "numbers": numbers,
        "strip": quote(f"{folder}/strip.png") if done else None, "report": _link(place, row) if done else None,
    }  # fmt: skip


def _link(place: Place, row: dict[str, Any]) -> str:
    """The report of a job; kinds without one lead to their picture."""
    name = "strip.png" if row["kind"] in ("rig", "track", "pose sample") else "report.html"
    return quote(f"{row['folder']}/{name}")


def _verdict(row: dict[str, Any]) -> str:
    if row["status"] != DONE:
        return row["status"]
    return row["verdict"] or "done"


def _measured(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Measures that at least one row has, in their order."""
    found: dict[str, None] = {}
    for row in rows:
        found |= dict.fromkeys(name for name, value in row["numbers"].items() if value is not None)
    return list(found)
