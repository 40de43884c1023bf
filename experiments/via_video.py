"""Following one clip of a prior against distilling from it: ten sentences, both judges, one run; the table of docs/follow.md.

``python -m experiments.via_video PRIOR --out DIR`` adds a row to DIR/rows.jsonl for every motion that is missing, and prints the
table. ``--ways`` names them: video (``--clips`` of them for each sentence; the table has the first, and as video-best the one
that was followed best), quick and default (recipes of distillation). PRIOR is an image-to-video model, the same for all ways.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from akd.creatures.words import character
from akd.errors import AkdError
from akd.pipeline.animate import animate
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior

SENTENCES = (
    "a dog walking", "a horse galloping", "a cat walking", "a fox trotting", "a human walking", "a human running",
    "a human jumping", "a human waving", "a human sitting down", "a chick walking",
)  # fmt: skip
SECONDS = 2.0
"""Of a motion: what the small prior's clips of a person take."""


@dataclass(frozen=True)
class Options:
    """What is compared."""

    prior: Annotated[str, tyro.conf.Positional]
    """The image-to-video model."""
    out: Path
    """Where rows are kept."""
    ways: tuple[str, ...] = ("video", "quick", "default")
    clips: int = 4
    """Samples of a sentence, of which the best followed one is chosen."""
    first: int = 0
    last: int = len(SENTENCES)
    summary: bool = False
    """Only print the table."""


def one_motion(prior: VideoPrior, sentence: str, way: str, seed: int) -> dict[str, Any]:
    """One motion in one way; what it cost, and what the judges say of it."""
    rig = character(sentence, 0)[0]
    evaluated, begun = prior.evaluated, time.process_time()
    row: dict[str, Any] = {"sentence": sentence, "way": way, "seed": seed}
    how: dict[str, Any] = {"via": "video"} if way == "video" else {"recipe": way}
    try:
        animation = animate(rig, sentence, prior=prior, seconds=SECONDS, seed=seed, **how)
    except AkdError as error:
        return row | {"failed": str(error), "seconds": time.process_time() - begun, "evaluations": prior.evaluated - evaluated}
    judged, asked = animation.judgement, animation.judgement.asked
    named = judged.looks_like.action if judged.looks_like is not None else None
    found = animation.followed or {}
    return row | {
        "seconds": time.process_time() - begun, "evaluations": prior.evaluated - evaluated, "verdict": judged.verdict,
        "asked": asked.action if asked else None, "named": named, "recognised": asked is not None and named == asked.action,
        "checked": judged.check.passed if judged.check is not None else None, "quality": animation.verdict,
        "score": found.get("score"), "score_motionless": found.get("score_motionless"), "follows": found.get("verdict"),
    }  # fmt: skip


def main(options: Options) -> None:
    """Make the rows that are missing."""
    options.out.mkdir(parents=True, exist_ok=True)
    path, console = options.out / "rows.jsonl", Console(highlight=False)
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    if not options.summary:
        prior = load_prior(options.prior)
        done = {(row["sentence"], row["way"], row["seed"]) for row in rows}
        for sentence in SENTENCES[options.first : options.last]:
            for way in options.ways:
                for seed in range(options.clips if way == "video" else 1):
                    if (sentence, way, seed) in done:
                        continue
                    row = one_motion(prior, sentence, way, seed)
                    rows.append(row)
                    with path.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    console.print(row)
    console.print(table(rows))


def by_way(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Rows of every way, one for each sentence: of the clips of a sentence the first, and the one followed best."""
    out: dict[str, list[dict[str, Any]]] = {}
    for sentence in dict.fromkeys(row["sentence"] for row in rows):
        own = [row for row in rows if row["sentence"] == sentence]
        clips = sorted((row for row in own if row["way"] == "video"), key=lambda row: row["seed"])
        if clips:
            out.setdefault("video", []).append(clips[0])
            if len(clips) > 1:
                best = max(clips, key=lambda row: -1.0 if row.get("score") is None else row["score"])
                paid = {name: sum(row.get(name, 0) for row in clips) for name in ("seconds", "evaluations")}
                out.setdefault("video-best", []).append(best | paid)
        for row in own:
            if row["way"] != "video":
                out.setdefault(row["way"], []).append(row)
    return out


def table(rows: list[dict[str, Any]]) -> Table:
    """One line per way."""
    out = Table("way", "sentences", "not followed", "as asked", "recognised", "check passed", "evaluations", "CPU s")
    for way, own in by_way(rows).items():
        good = [row for row in own if "failed" not in row]
        counts = [sum(row.get(name) == value for row in good) for name, value in
                  (("verdict", "as_asked"), ("recognised", True), ("checked", True))]  # fmt: skip
        costs = [float(np.mean([row[name] for row in good])) if good else float("nan") for name in ("evaluations", "seconds")]
        out.add_row(way, str(len(own)), str(len(own) - len(good)), *map(str, counts), f"{costs[0]:.0f}", f"{costs[1]:.0f}")
    return out


if __name__ == "__main__":
    main(tyro.cli(Options))
