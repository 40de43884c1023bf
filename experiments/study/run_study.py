"""A whole study: the trials that have no row yet, one after the other; then tables and a sheet of all strips."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from akd.batch.engine import Failed, Loaded, Task, each
from akd.errors import AkdError
from akd.pipeline.job import Progress
from experiments.study.actions import ActionTrial, action_tables
from experiments.study.rows import Row, append_row, costs, markdown, outcome, read_rows, summary, title
from experiments.study.run_action import run_action
from experiments.study.run_trial import StudyContext, run_trial
from experiments.study.trial import Trial

ROWS = "rows.jsonl"
TITLE_HEIGHT = 14
"""Height of the line above a strip [px]."""


def run_trials_on(workers: int, trials: Sequence[Trial | ActionTrial], context: StudyContext) -> Iterator[Row]:
    """The same as ``run_trials`` with several processes, one core each; rows appear as trials end."""
    done = {row["key"] for row in read_rows(context.folder / ROWS)}
    tasks = [Task(_row, {"trial": trial, "context": context}) for trial in trials if trial.key not in done]
    for task, row in each(tasks, workers=workers):
        if isinstance(row, Failed):
            yield task.arguments["trial"].labels() | {"error": row.reason}
            continue
        append_row(context.folder / ROWS, row)
        yield row


def _row(loaded: Loaded, trial: Trial | ActionTrial, context: StudyContext) -> Row:
    return _run(trial, context, Progress())


def _run(trial: Trial | ActionTrial, context: StudyContext, progress: Progress) -> Row:
    return run_action(trial, context, progress) if isinstance(trial, ActionTrial) else run_trial(trial, context, progress)


def run_trials(trials: Sequence[Trial | ActionTrial], context: StudyContext, progress: Progress) -> Iterator[Row]:
    """Run the trials that have no row yet; rows appear on disk one by one. A trial that fails with an error has no row."""
    done = {row["key"] for row in read_rows(context.folder / ROWS)}
    for index, trial in enumerate(trials):
        if trial.key in done:
            continue
        progress.stage(f"{index + 1} of {len(trials)}: {title(trial.labels())}")
        try:
            row = _run(trial, context, progress)
        except AkdError as error:
            yield trial.labels() | {"error": str(error)}
            continue
        append_row(context.folder / ROWS, row)
        yield row


def tables(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The tables of a study, by title."""
    rows = read_rows(folder / ROWS)
    if not rows:
        raise AkdError(f"{folder} has no rows yet.")
    if "prompt" in rows[0]:
        return action_tables(rows)
    distilled = [row for row in rows if row["spent"]["iterations"]]
    return {
        "By arm": summary(rows, ("arm", "wish")), "By character": summary(rows, ("arm", "character", "wish")),
        "Cost until success": costs(distilled),
    }  # fmt: skip


def write_tables(folder: Path) -> Path:
    """The tables as a page of text."""
    path = folder / "tables.md"
    path.write_text("\n".join(f"## {title}\n\n{markdown(lines)}" for title, lines in tables(folder).items()))
    return path


def write_sheet(folder: Path, *, width: int = 1200) -> Path | None:
    """Strips of all trials, successes first, each under a line that says what it is; None if there are none."""
    rows = sorted(read_rows(folder / ROWS), key=lambda row: (not row["success"], row["key"]))
    shown = [(row, folder / "cells" / row["key"] / "strip.png") for row in rows]
    strips = [(row, Image.open(path).convert("RGB")) for row, path in shown if path.is_file()]
    if not strips:
        return None
    scaled = [(row, strip.resize((width, strip.height * width // strip.width))) for row, strip in strips]
    sheet = Image.new("RGB", (width, sum(strip.height + TITLE_HEIGHT for _, strip in scaled)), "white")
    draw, top = ImageDraw.Draw(sheet), 0
    for row, strip in scaled:
        draw.text((3, top + 1), f"{title(row)} | {outcome(row)}", fill="black")
        sheet.paste(strip, (0, top + TITLE_HEIGHT))
        top += strip.height + TITLE_HEIGHT
    sheet.save(folder / "strips.png")
    return folder / "strips.png"
