"""Tasks done one after the other in this process: the meaning of a batch. ``on_ray`` does the same on many machines."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from akd.errors import AkdError


@dataclass(frozen=True)
class Needs:
    """What a worker must have for a task; workers with the same needs are shared."""

    prior: str | None = None
    """Key of the video model, which a worker loads once."""
    cpus: float = 1.0
    """Cores, and threads of the work: results depend on them in their last digits."""
    gpus: float = 0.0
    """Share of a GPU."""


@dataclass(frozen=True)
class Task:
    """A function of a module, which gets what its process has loaded, and the arguments for it."""

    do: Callable[..., Any]
    arguments: Mapping[str, Any]
    needs: Needs = field(default_factory=Needs)


@dataclass(frozen=True)
class Failed:
    """The answer of a task that could not be done."""

    reason: str
    """One sentence."""


class Loaded:
    """What a process keeps from one task to the next: one prior. Character files are read anew, for they may have changed."""

    def __init__(self, threads: float) -> None:
        import torch

        torch.set_num_threads(max(1, int(threads)))
        self._priors: dict[str, Any] = {}

    def prior(self, key: str, load: Callable[[], Any]) -> Any:
        """A video model, loaded when it is first asked for; another one takes its place in memory."""
        if key not in self._priors:
            self._priors.clear()
            self._priors[key] = load()
        return self._priors[key]


def in_this_process(tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
    """Every task with its answer, in order. Work goes on after a task that failed."""
    import torch

    threads, loaded = torch.get_num_threads(), None
    try:
        for task in tasks:
            if loaded is None or torch.get_num_threads() != max(1, int(task.needs.cpus)):
                loaded = Loaded(task.needs.cpus)
            yield task, answer(loaded, task)
    finally:
        torch.set_num_threads(threads)


def answer(loaded: Loaded, task: Task) -> Any:
    """What a task gives, or why it gives nothing."""
    try:
        return task.do(loaded, **task.arguments)
    except AkdError as error:
        return Failed(str(error))
    except MemoryError:
        return Failed("Memory ran out: give each job more of it, with fewer workers per machine.")
    except Exception as error:  # ours to mend, but the other jobs of the night should be done
        where = _last_place(error)
        return Failed(f"akd failed ({type(error).__name__}: {str(error)[:200]}{where}): please report it.")


def _last_place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def each(
    tasks: Iterable[Task], *, workers: int | None = None, ray: str | None = None, retries: int = 3
) -> Iterator[tuple[Task, Any]]:
    """Every task with its answer (or ``Failed``), as they are done: here, or on Ray for several workers or with an address.

    Inside a job that was submitted to a Ray cluster, the address is known (RAY_ADDRESS), and used unless one worker is asked for.
    """
    if ray is None and (workers == 1 or (workers is None and "RAY_ADDRESS" not in os.environ)):
        return in_this_process(tasks)
    from akd.batch.on_ray import on_ray

    return on_ray(tasks, workers=workers, address=ray, retries=retries)


def do_all(
    do: Callable[..., Any], arguments: Sequence[Mapping[str, Any]], *, workers: int = 1, prior: str | None = None,
    report: Callable[[int, int], None] = lambda done, count: None,
) -> None:  # fmt: skip
    """Call a function of a module for each of the arguments; several workers have one core each. Stops at what fails."""
    import torch

    if workers == 1:
        loaded = Loaded(torch.get_num_threads())
        answers: Iterable[Any] = (do(loaded, **given) for given in arguments)
    else:
        answers = (result for _, result in each((Task(do, given, Needs(prior)) for given in arguments), workers=workers))
    for done, result in enumerate(answers, 1):
        if isinstance(result, Failed):
            raise AkdError(result.reason)
        report(done, len(arguments))
