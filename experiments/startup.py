"""Processor time from the shell to the first iteration of ``akd animate``, part by part: the table of docs/install.md.

    python -m experiments.startup --repeats 5

Every repeat is a process of its own, and each row shows the least of them. Kernels come from numba's cache on disk and modules
from bytecode, as pip leaves them, whatever PYTHONDONTWRITEBYTECODE says; an uncounted first process fills both.
``PYTHONPATH=other/src`` measures another version of akd.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table

CALL_MAIN = "from akd.cli import main; main()"  # as the installed script does
COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "akd --help": ("-c", CALL_MAIN, "--help"),
    "akd animate --help": ("-c", CALL_MAIN, "animate", "--help"),
}
"""Whole processes, measured from outside."""
AFTERWARDS = (
    "a film and its gradient, kernels from the cache", "a film and its gradient again", "first iteration", "second iteration",
)  # fmt: skip
"""Parts that do not come before the first iteration."""
PRINT_PARTS = "from experiments.startup import measured_parts; import json, sys; print(json.dumps(measured_parts(sys.argv[1])))"


@dataclass(frozen=True)
class Startup:
    """What is measured."""

    repeats: int = 5
    """Processes per row."""
    prompt: str = "a dog walking"


def imported(*modules: str) -> None:
    """Import modules as ``akd animate`` does, if this version has a way of its own."""
    try:
        from akd.garbage import collection_paused

        pause = collection_paused(keep=True)
    except ImportError:
        pause = nullcontext()
    with pause:
        for name in modules:
            import_module(name)


def parts(prompt: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The parts of a run up to its second iteration, to be done in this order."""
    yield "import numpy", lambda: imported("numpy")
    yield "import torch", lambda: imported("torch")
    yield "import numba", lambda: imported("numba")
    yield "import scipy", lambda: imported(*(f"scipy.{name}" for name in ("ndimage", "optimize", "spatial", "interpolate")))
    yield "import akd's modules", lambda: imported("akd.cli.progress", "akd.pipeline.runs")

    from akd.distill.loop import Distillation, without_steady_path
    from akd.distill.soft_film import film_softly
    from akd.pipeline.job import Job, make_task, read_character
    from akd.prior.load import load_prior

    job, made = Job(prompt), {}
    yield "load the prior", lambda: made.update(prior=load_prior(job.prior))
    yield "make the character", lambda: made.update(rig=read_character(job))
    yield "make its splats", lambda: made.update(task=make_task(job, made["prior"], made["rig"]))
    yield "begin the distillation", lambda: made.update(run=Distillation(made["task"]))

    def film() -> None:
        task, settings = made["task"], made["prior"].film
        motion = without_steady_path(task.film_motion(made["run"].trajectory))
        film_softly(task.rig.skeleton, motion, task.skinned, settings, settings.view).sum().backward()

    yield "a film and its gradient, kernels from the cache", film
    yield "a film and its gradient again", film
    yield "first iteration", lambda: made["run"].step()
    yield "second iteration", lambda: made["run"].step()


def measured_parts(prompt: str) -> dict[str, float]:
    """Processor time of each part in this process [s]."""
    found = {}
    for name, do in parts(prompt):
        begun = time.process_time()
        do()
        found[name] = time.process_time() - begun
    return found


def process_seconds(arguments: tuple[str, ...], environment: dict[str, str]) -> float:
    """Processor time of a whole Python process [s]."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True, env=environment)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main(settings: Startup) -> None:
    """Print the table."""
    table = Table("part", "processor time [s]", title=f"Start of akd animate {settings.prompt!r}, least of {settings.repeats}")
    child = [sys.executable, "-c", PRINT_PARTS, settings.prompt]
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
        for name, arguments in COMMANDS.items():
            process_seconds(arguments, environment)
            seconds = min(process_seconds(arguments, environment) for _ in range(settings.repeats))
            table.add_row(name, f"{seconds:.2f}")
        runs = [json.loads(subprocess.check_output(child, env=environment)) for _ in range(1 + settings.repeats)][1:]
    table.add_section()
    for name in runs[0]:
        table.add_row(name, f"{min(run[name] for run in runs):.2f}")
    until = [sum(seconds for name, seconds in run.items() if name not in AFTERWARDS) for run in runs]
    table.add_section()
    table.add_row("all that comes before the first iteration", f"{min(until):.2f}")
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Startup))
