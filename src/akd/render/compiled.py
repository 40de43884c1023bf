"""Compiling kernels (cached on disk, without the GIL), and running them on a thread pool.

numba's own parallel loops are not used: their thread pools may not be shared between callers or survive a fork. Torch's
threads go on spinning for milliseconds after each operation, on the cores the kernels need.
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
    return njit(cache=True, nogil=True, error_model="numpy")(_unwrapped(function))


def subroutine(function: Callable) -> Callable:
    """Decorates functions that only kernels call; leaving out the Python wrapper saves compile time."""
    return njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(_unwrapped(function))


def _unwrapped(function: Callable) -> Callable:
    """Without the shape checks the tests wrap around every function of the package: numba cannot compile those."""
    return inspect.unwrap(function)


def run_tasks(threads: int, work: Callable[[Any], None], tasks: Sequence[Any]) -> None:
    """Run all tasks on this thread and on free threads of the pool.

    Pool jobs that have not begun when the tasks are done are cancelled, so no caller waits for a busy thread and tasks may call
    this function themselves.
    """
    remaining = iter(tasks)

    def drain() -> None:
        for task in remaining:  # one iterator for all threads: each task is taken once
            work(task)

    futures = [_pool(threads).submit(drain) for _ in range(min(threads, len(tasks)) - 1)]
    drain()
    for future in futures:
        if not future.cancel():
            future.result()


def split_range(count: int, parts: int) -> list[range]:
    """range(count) in at most ``parts`` contiguous ranges of about the same length; at least one."""
    size = max(-(-count // max(parts, 1)), 1)
    return [range(first, min(first + size, count)) for first in range(0, max(count, 1), size)]


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads - 1, thread_name_prefix="rasterize")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child process inherits the pool but not its threads
