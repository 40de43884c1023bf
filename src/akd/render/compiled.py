"""How the kernels are compiled: once, kept on disk, without the GIL."""

import inspect
from collections.abc import Callable
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
