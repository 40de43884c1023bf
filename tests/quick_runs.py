"""Runs that take a fraction of a second: a prior in closed form, a rig of sticks, few iterations, small pictures."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from akd.distill.recipe import Recipe
from akd.files import writing
from akd.pipeline import choice, kinds, results, runs
from akd.pipeline import job as jobs
from akd.pipeline.job import Job, Progress
from akd.pipeline.run_folder import RunFolder
from akd.pipeline.runs import begin_runs, resume_runs
from akd.reconstruct.skinned import Mode, skinned_splats
from akd.render.film import FilmSettings
from akd.render.preview import PreviewSettings
from akd.rig import Rig
from akd.splats import SkinnedSplats
from stick_rigs import person
from test_animate import closed_prior

RECIPE = Recipe(iterations=3, draws=1, phases_at=(), lock_feet=False)
JOB = Job("a person walking", seconds=0.1, recipe=RECIPE)
SMALL = PreviewSettings(width=32, height=24, supersample=1)


PERSON = person()


@cache
def splats_of_the_person(rig: Rig, settings: FilmSettings, *, mode: Mode) -> SkinnedSplats:
    return skinned_splats(PERSON, mode=mode, count=500, resolution=max(settings.width, settings.height))


class Killed(BaseException):
    """Nothing in the program may catch it, like a signal."""


class Heard(Progress):
    """Keeps what the user is told."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def notice(self, sentence: str) -> None:
        self.sentences.append(sentence)


def quickly(patch: pytest.MonkeyPatch) -> None:
    """One character for all runs, small pictures, and no waiting for the disk."""
    patch.setattr(writing, "_fsync", lambda path, flags: None)
    patch.setattr(runs, "read_character", lambda job: PERSON)
    patch.setattr(jobs, "film_splats", splats_of_the_person)
    for module in (choice, kinds):  # there is one closed prior for all sentences, and its films are not read
        patch.setattr(module, "embedded_for", lambda prompt: "embedded")
    for name in ("STRIP", "FILM"):
        patch.setattr(results, name, SMALL)


def begin(folder: Path, job: Job = JOB, count: int = 1, *, force: bool = False) -> list[RunFolder]:
    return begin_runs(folder, job, count, Progress(), force=force, prior=closed_prior())


def resume(folder: Path, progress: Progress | None = None) -> list[RunFolder]:
    return resume_runs(folder, progress or Progress(), prior=closed_prior())


def content(folder: Path) -> dict[str, bytes]:
    """All files of a folder by name. Times of iterations are left out: they are never the same."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: _timeless(data) if name.endswith("log.jsonl") else data for name, data in found.items()}


def _timeless(log: bytes) -> bytes:
    entries = [json.loads(line) for line in log.decode().splitlines()]
    return json.dumps([{name: value for name, value in entry.items() if name != "seconds"} for entry in entries]).encode()


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if writing.LEFTOVER.fullmatch(path.name)]


def at_call(patch: pytest.MonkeyPatch, owner: Any, name: str, when: int, instead: Callable[..., Any]) -> Callable[[], int]:
    """Do something else at the ``when``-th call of a function; returns a counter of its calls."""
    function, calls = getattr(owner, name), [0]

    def counted(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        return instead(*args, **options) if calls[0] == when else function(*args, **options)

    patch.setattr(owner, name, counted)
    return lambda: calls[0]


def kill(patch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """What a killed process does from then on: nothing, not even clean up."""

    def dead(*_: Any, **__: Any) -> None:
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        raise Killed

    return dead
