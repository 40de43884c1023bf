"""Following one clip of a prior against distilling from it: ten sentences, both judges, one run; the table of docs/follow.md.

``python -m experiments.via_video PRIOR --out DIR`` adds a row to DIR/rows.jsonl for every motion that is missing, and prints the
table. ``--ways`` names them: video (``--clips`` of them for each sentence; the table has the first, and as video-best the one
that was followed best), quick and default (recipes of distillation), and own-film: our own gait of that name, filmed, sent
through the prior's autoencoder and followed, which is what following could do if the clip were right (only for small priors, and
for sentences of which we have a gait or action). PRIOR is an image-to-video model, the same for all ways.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from akd.creatures.gaits import actions_for, gait_motion, gaits_for
from akd.creatures.wish import read_wish
from akd.creatures.words import character
from akd.distill.task import CLIP_FPS
from akd.errors import AkdError
from akd.files.video import to_bytes
from akd.follow.begin import begin
from akd.follow.first_frame import FirstFrame
from akd.follow.following import Followed
from akd.follow.marker_film import marker_subject
from akd.follow.settings import FollowSettings
from akd.measure.asked import asked_of
from akd.measure.evaluation import evaluate
from akd.measure.judge import Judgement, judge
from akd.motion import Motion, resample
from akd.pipeline.animate import animate
from akd.pipeline.via_video import enlarged
from akd.prior.load import load_prior
from akd.prior.prior import VideoPrior
from akd.reconstruct.skinned import skinned_splats
from akd.render.film import camera_for, film, move_splats
from akd.rig import Rig
from akd.splats import SkinnedSplats

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
    if way == "own-film":
        return row | own_film(prior, rig, sentence)
    how: dict[str, Any] = {"via": "video"} if way == "video" else {"recipe": way}
    try:
        animation = animate(rig, sentence, prior=prior, seconds=SECONDS, seed=seed, **how)
    except AkdError as error:
        return row | {"failed": str(error), "seconds": time.process_time() - begun, "evaluations": prior.evaluated - evaluated}
    found = dict(animation.followed or {})
    found["follows"] = found.get("verdict")
    return row | judged_row(animation.judgement, animation.verdict, found) | {
        "seconds": time.process_time() - begun, "evaluations": prior.evaluated - evaluated,
    }  # fmt: skip


def own_film(prior: VideoPrior, rig: Rig, sentence: str) -> dict[str, Any]:
    """Our own gait or action of a sentence, filmed as the prior's films are, through its autoencoder, followed and judged."""
    action, fps, begun = read_wish(sentence).action, prior.film.rate(rig.leg_metres), time.process_time()
    if action not in (*gaits_for(rig), *actions_for(rig)):
        return {"failed": f"There is no gait or action {action!r} of ours."}
    moved = gait_motion(rig, action, frames=prior.film.frames, fps=fps)
    moved = Motion(moved.pose.to(torch.float32), fps)
    followed = follow_film(prior, rig, skinned_splats(rig, resolution=prior.film.width), moved)
    motion = resample(followed.motion, CLIP_FPS)
    measured = evaluate(rig, motion)
    found = {"score": followed.match.score, "score_motionless": followed.match.score_motionless,
             "follows": followed.match.verdict}  # fmt: skip
    return judged_row(judge(rig, motion, asked_of(sentence), measured), measured.verdict, found) | {
        "seconds": time.process_time() - begun, "evaluations": 0,
    }  # fmt: skip


def follow_film(prior: VideoPrior, rig: Rig, skinned: SkinnedSplats, moved: Motion, *, sharp: bool = False) -> Followed:
    """A motion filmed as the prior's films are, sent through its autoencoder unless it is to stay sharp, and followed."""
    shown = film(rig.skeleton, moved, skinned, prior.film)
    video = shown if sharp else prior.decode(prior.encode(shown[None]))[0]
    camera = camera_for(move_splats(rig.skeleton, moved, skinned), skinned, moved.fps, prior.film, prior.film.view)
    clip = enlarged(np.stack([to_bytes(frame) for frame in video]), moved.fps)
    run = begin(
        rig, clip, marker_subject(clip, rig.skeleton), first=FirstFrame(camera[0:1], moved.pose[0], rig.skeleton.names),
        settings=FollowSettings.for_marker_films(), look="marker", camera="following",
    )  # fmt: skip
    while run.iteration < run.iterations:
        run.step()
    return run.finish(going_along=True)


def judged_row(judged: Judgement, quality: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """What both judges say."""
    asked, named = judged.asked, judged.looks_like.action if judged.looks_like is not None else None
    return {
        "verdict": judged.verdict, "asked": asked.action if asked else None, "named": named,
        "recognised": asked is not None and named == asked.action,
        "checked": judged.check.passed if judged.check is not None else None, "quality": quality,
        "score": found.get("score"), "score_motionless": found.get("score_motionless"), "follows": found.get("follows"),
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
