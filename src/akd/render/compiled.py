"""How the kernels are compiled: once, kept on disk, without the GIL.

Work shared by plain threads: for kernels that release the GIL, several callers at once, and processes that fork.

numba's own parallel loops are not used: their thread pools may not be shared between callers or survive a fork. Torch's
threads go on spinning for milliseconds after each operation, on the cores ours need.
"""

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba

njit: Any = numba.njit  # its type hints leave out some of its options


def kernel(function: Callable) -> Callable:
    """Decorates what Python calls. The cache only notices changes of the kernel's own file: touch it after editing others."""
    return njit(cache=True, nogil=True, error_model="numpy")(_bare(function))


def part(function: Callable) -> Callable:
    """Decorates what only kernels call; leaving out the way in from Python saves compile time."""
    return njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(_bare(function))


def _bare(function: Callable) -> Callable:
    """Without the shape checks the tests wrap around every function of the package: numba cannot compile those."""
    return inspect.unwrap(function)


def run_tasks(threads: int, work: Callable[[Any], None], tasks: Sequence[Any]) -> None:
    """Do all tasks, on this thread and on whichever of the pool's are free.

    Help that has not begun when the work is done is called off, so nobody ever waits for a busy thread and tasks may
    themselves be run in parts.
    """
    left = iter(tasks)

    def share() -> None:
        for task in left:  # one iterator for all threads: each task is taken once
            work(task)

    helpers = [_pool(threads).submit(share) for _ in range(min(threads, len(tasks)) - 1)]
    share()
    for helper in helpers:
        if not helper.cancel():
            helper.result()


def shares(count: int, parts: int) -> list[range]:
    """The numbers below ``count`` in at most so many runs of about the same length; at least one."""
    size = max(-(-count // max(parts, 1)), 1)
    return [range(first, min(first + size, count)) for first in range(0, max(count, 1), size)]


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads - 1, thread_name_prefix="rasterize")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child process inherits the pool but not its threads
