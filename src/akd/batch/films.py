"""The films of finished runs with their sentences: of a batch, of one run, or of all runs in a folder."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from akd.batch.place import Place
from akd.batch.results import DONE, read_results
from akd.batch.run import ABOUT
from akd.errors import AkdError
from akd.files.writing import safe_name, write_file

FILM = "preview.mp4"


@dataclass(frozen=True)
class Film:
    """A film and what was asked for."""

    prompt: str
    character: str
    """Name of the character's file; empty if it was made from the sentence."""
    seed: int
    place: Place
    folder: str
    """Of the run, in its place."""

    def content(self) -> bytes:
        found = self.place.read(f"{self.folder}/{FILM}")
        if found is None:
            raise AkdError(f"{self.place.url}/{self.folder} has no {FILM}: run its job again.")
        return found


def films_in(url: str) -> list[Film]:
    """All films, in the order of the table or of the names."""
    place = Place(url.rstrip("/"))
    found = list(_of_batch(place) if place.read(ABOUT) is not None else _of_runs(place))
    if not found:
        raise AkdError(f"{url} has no films of finished runs: give a batch, a run's folder, or a folder of runs.")
    return found


def _of_batch(place: Place) -> Iterator[Film]:
    for row in sorted(read_results(place), key=lambda row: row["row"]):
        if row["status"] == DONE and row["prompt"]:
            yield Film(row["prompt"], Path(row["character"] or "").stem, row["seed"], place, row["folder"])


def _of_runs(place: Place) -> Iterator[Film]:
    if not place.is_folder or not place.path.is_dir():
        raise AkdError(f"There is no batch and no folder of runs {place.url}.")
    patterns = ("config.json", "*/config.json", "*/*/config.json")  # a run, runs, runs of several seeds
    for config in sorted(found for pattern in patterns for found in place.path.glob(pattern)):
        try:
            job = json.loads(config.read_text(encoding="utf-8")).get("job")
        except (OSError, ValueError):
            continue
        if job and (config.parent / "result.json").is_file() and (config.parent / FILM).is_file():
            yield Film(job["prompt"], Path(job.get("character") or "").stem, job.get("seed", 0), Place(str(config.parent)), ".")


def export_videophy(url: str, out: Path) -> int:
    """Copy the films and write the table that VideoPhy's scorers take: the path and the sentence of each."""
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(("videopath", "caption"))
    films = films_in(url)
    for number, film in enumerate(films):
        path = out / "films" / f"{number:06d}-{safe_name(film.prompt).replace(' ', '-')}.mp4"
        write_file(path, film.content())
        rows.writerow((str(path.resolve()), film.prompt))
    write_file(out / "videophy.csv", table.getvalue())
    return len(films)
