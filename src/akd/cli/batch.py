"""The command for many jobs at once: do a table, look at how far it is, make a page of its results, hand its films on."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from akd.cli.console import PLAIN, AsJson, console, print_error, print_json
from akd.errors import AkdError
from akd.files.writing import check_output_folder

if TYPE_CHECKING:
    from akd.batch.place import Place
    from akd.batch.run import BatchSettings, Status

SHOWN_MISTAKES = 1000
"""Wrong rows that are printed; a table with more was made by a program that is wrong."""
FAILED_JOBS = 1
"""Exit code if some jobs failed."""


def batch(
    words: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="JOBS | status|report|export FOLDER")] = (),
    /,
    *,
    out: str | None = None,
    workers: int | None = None,
    ray: str | None = None,
    threads: int = 1,
    gpus: float | None = None,
    card: float | None = None,
    order: Literal["listed", "shortest"] = "listed",
    retries: int = 3,
    check: bool = False,
    videophy: bool = False,
    as_json: AsJson = False,
) -> None:
    """Do a table of jobs, on one core, several, or many machines.

    A table is a .csv, .jsonl, .parquet or .toml with the columns of `akd animate` (character, prompt, seed, loop, …); a column
    kind says rig, track, retarget or pose sample for other work. All rows are checked before the first job starts. Jobs that
    are done are never done again: stop it with Ctrl-C and go on with the same command. A job that fails does not stop the
    others; its reason is in the table of results, and the exit code is 1.

    Examples:
        akd batch jobs.toml --out runs/night --workers 4
        akd batch jobs.csv --out s3://bucket/night --ray auto
        akd batch status runs/night
        akd batch report runs/night
        akd batch export runs/night --videophy --out films

    Args:
        words: The table; or what to do with a batch's folder: status, report (a page with all strips) or export (its films).
        out: Folder or fsspec URL of the results, by default runs/ and the table's name; with export, of the films.
        workers: Processes at a time; more than one needs akd[ray]. By default one, or what a cluster has room for.
        ray: Address of a Ray cluster, or auto for the one on this machine.
        threads: Cores of each job.
        gpus: Share of a GPU of each job, such as 0.5 for two on a card; by default none on the CPU, else a whole one.
        card: Memory of each GPU in GB: as many jobs share one as the plan of their prior leaves room for.
        order: Jobs as they are listed, or the shortest first.
        retries: How often a job is begun again (from its checkpoint) if its worker or node dies.
        check: Only check the table.
        videophy: With export: also the table that VideoPhy's scorers take, videophy.csv.
    """
    from akd.batch.place import Place
    from akd.batch.run import BatchSettings

    if len(words) == 2 and words[0] in FOLDER_COMMANDS:
        if (words[0] == "export") != videophy:
            raise AkdError("Films are exported as VideoPhy takes them: akd batch export FOLDER --videophy.")
        FOLDER_COMMANDS[words[0]](Place(words[1].rstrip("/")), out, as_json)
        return
    if len(words) != 1:
        raise AkdError("Give a table of jobs, as in: akd batch jobs.csv; or status, report or export and a folder.")
    table = Path(words[0])
    place = Place((out or f"runs/{table.stem}").rstrip("/"))
    if place.is_folder:
        place = Place(str(place.path.resolve()))  # workers may have another current folder
    _do(table, place, BatchSettings(workers, ray, threads, gpus, card, order, retries), check)


def _do(table: Path, place: "Place", settings: "BatchSettings", check: bool) -> None:
    from akd.batch.plan import TableError
    from akd.batch.results import DONE, FAILED, has_parquet
    from akd.batch.run import check_only, run_batch

    screen = console()
    try:
        if check:
            plan = check_only(table, settings)
            screen.print(f"{table}: {len(plan)} jobs, no mistakes{_repeated(plan.repeated)}.", **PLAIN)
            return
        if not has_parquet():
            screen.print("· Without pyarrow the results are JSON lines; Parquet comes with pip install 'akd[ray]'.", **PLAIN)
        with _progress(screen) as progress:
            counts = run_batch(table, place, settings, progress)
    except TableError as error:
        for row, sentence in error.mistakes[:SHOWN_MISTAKES]:
            print_error(f"row {row}: {sentence}")
        raise AkdError(_summary(table, len(error.mistakes))) from error
    except KeyboardInterrupt:
        screen.print("Stopped; what was done is kept. Go on with the same command.", **PLAIN)
        raise
    screen.print(f"{counts[DONE]} done, {counts[FAILED]} failed. The table is {place.url}/results.", style="bold", **PLAIN)
    if counts[FAILED]:
        screen.print(f"See why with: akd batch status {place.url}; the same command tries them again.", **PLAIN)
        sys.exit(FAILED_JOBS)


def _summary(table: Path, count: int) -> str:
    more = f", of which {SHOWN_MISTAKES} are shown" if count > SHOWN_MISTAKES else ""
    return f"{table} has {count} wrong {'row' if count == 1 else 'rows'}{more}; nothing was started."


def _repeated(count: int) -> str:
    return f" ({count} rows ask for what an earlier row asks for)" if count else ""


def _progress(screen: Any) -> Any:
    from akd.cli.batch_progress import TableProgress

    return TableProgress(screen)


def _report(place: "Place", out: str | None, as_json: bool) -> None:
    from akd.batch.gallery import PAGE, write_gallery

    count = write_gallery(place)
    console().print(f"Wrote {place.url}/{PAGE}: {count} jobs.", **PLAIN)


def _export(place: "Place", out: str | None, as_json: bool) -> None:
    from akd.batch.films import export_videophy

    target = Path(out or f"{place.url.rpartition('/')[2]}-videophy")
    check_output_folder(target, force=False)
    count = export_videophy(place.url, target)
    console().print(f"Wrote {target}: {count} films and videophy.csv.", **PLAIN)


def _status(place: "Place", out: str | None, as_json: bool) -> None:
    from akd.batch.run import read_status

    status = read_status(place)
    if as_json:
        print_json({**vars(status), "left": status.left})
        return
    _print_status(place.url, status)


def _print_status(name: str, status: "Status") -> None:
    from rich.table import Table

    table = Table("jobs", "number", title=name)
    for what, number in (*status.counts.items(), ("left", status.left)):
        table.add_row(what, str(number))
    for verdict, number in status.verdicts.most_common():
        table.add_row(f"  {verdict}", str(number))
    done = status.counts["done"]
    screen = console()
    screen.print(table)
    if done:
        screen.print(f"{status.seconds / 3600:.2f} hours of work, {status.seconds / done:.0f} s per job.", **PLAIN)
    for row in status.failures:
        screen.print(f"· row {row['row']} ({row['folder']}): {row['reason']}", **PLAIN)


FOLDER_COMMANDS = {"status": _status, "report": _report, "export": _export}
"""What can be done with the folder of a batch."""
