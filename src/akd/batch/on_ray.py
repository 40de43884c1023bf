"""Tasks on Ray: a pool of actors, each with what its tasks need loaded once.

Ray places them by cores and GPUs, restarts them on another node if theirs dies, and asks them again; a task then goes on from
what it left on disk. A task is taken from the stream only when an actor is free, so a stream may be as long as you like.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from akd.batch.engine import Failed, Loaded, Needs, Task, answer
from akd.errors import AkdError


class Worker:
    """One process of the pool."""

    def __init__(self, needs: Needs) -> None:
        self.loaded = Loaded(needs.cpus)

    def answer(self, task: Task) -> Any:
        return answer(self.loaded, task)


def on_ray(tasks: Iterable[Task], *, workers: int | None, address: str | None, retries: int) -> Iterator[tuple[Task, Any]]:
    """Every task with its answer, as they are done. Without a number of workers there are as many as the cluster has room for."""
    with _connected(address, workers) as ray:
        pool = Pool(ray, workers, retries)
        stream = iter(tasks)
        task = next(stream, None)
        running: dict[Any, tuple[Any, Task]] = {}
        try:
            while task is not None or running:
                while task is not None and (actor := pool.take(task.needs)) is not None:
                    running[actor.answer.remote(task)] = (actor, task)
                    task = next(stream, None)
                if task is None:
                    pool.end_idle()
                (ready, *_), _ = ray.wait(list(running), num_returns=1)
                actor, done = running.pop(ready)
                yield done, pool.answer(actor, done.needs, ready)
        finally:
            pool.close()


class Pool:
    """Actors that are free, by what they need; at most so many at a time."""

    def __init__(self, ray: Any, size: int | None, retries: int) -> None:
        self.ray, self.size, self.retries = ray, size, retries
        self.free: dict[Needs, list[Any]] = {}
        self.all: list[Any] = []

    def take(self, needs: Needs) -> Any | None:
        """A free actor that fits, a new one if there is room, or none. Actors that no task of the moment fits make room."""
        fitting = self.free.get(needs)
        if fitting:
            return fitting.pop()
        if len(self.all) >= self._room(needs):
            idle = next((actors for actors in self.free.values() if actors), None)
            if idle is None:
                return None
            self._end(idle.pop())
        return self._begin(needs)

    def answer(self, actor: Any, needs: Needs, reference: Any) -> Any:
        """What a task gave; an actor that is lost for good is not asked again."""
        try:
            result = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            self._end(actor)
            cure = "give it more memory, or look at its node"
            return Failed(f"Its worker died {self.retries + 1} times ({_first_line(error)}): {cure}.")
        self.free.setdefault(needs, []).append(actor)
        return result

    def end_idle(self) -> None:
        """Give back what free actors hold: one that lost its node may wait for it."""
        for actor in [actor for actors in self.free.values() for actor in actors]:
            self._end(actor)
        self.free.clear()

    def close(self) -> None:
        for actor in list(self.all):
            self._end(actor)

    def _room(self, needs: Needs) -> int:
        if self.size is not None:
            return self.size
        found = self.ray.cluster_resources()  # again each time, since clusters grow
        by_cpu = found.get("CPU", 1.0) / max(needs.cpus, 0.01)
        by_gpu = found.get("GPU", 0.0) / needs.gpus if needs.gpus else by_cpu
        return max(1, int(min(by_cpu, by_gpu)))

    def _begin(self, needs: Needs) -> Any:
        kind = self.ray.remote(Worker).options(
            num_cpus=needs.cpus, num_gpus=needs.gpus, max_restarts=-1, max_task_retries=self.retries,
        )  # fmt: skip
        self.all.append(kind.remote(needs))
        return self.all[-1]

    def _end(self, actor: Any) -> None:
        self.all.remove(actor)
        self.ray.kill(actor)


@contextmanager
def _connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Ray with a cluster, or with one of its own on this machine, which ends with the block."""
    try:
        import ray
    except ImportError as error:
        raise AkdError("Several workers need Ray: pip install 'akd[ray]', or leave --workers and --ray out.") from error
    address = address or os.environ.get("RAY_ADDRESS")
    quiet: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
    own: dict[str, Any] = {"num_cpus": max(workers or 1, os.cpu_count() or 1), "include_dashboard": False}
    ours = not ray.is_initialized()
    if ours:
        try:
            ray.init(address=address, **quiet) if address else ray.init(address="local", **quiet, **own)
        except (ConnectionError, ValueError, RuntimeError) as error:
            where = f"at {address!r}" if address else "on this machine"
            raise AkdError(f"Ray cannot be reached {where} ({_first_line(error)}): check it with `ray status`.") from error
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
