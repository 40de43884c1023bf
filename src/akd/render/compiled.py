"""How the kernels are compiled: once, kept on disk, without the GIL."""

from typing import Any

import numba

njit: Any = numba.njit  # its type hints leave out the last two options below

kernel = njit(cache=True, nogil=True, error_model="numpy")
"""Decorates what Python calls. The cache only notices changes of the kernel's own file: touch it after editing others."""

part = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorates what only kernels call; leaving out the way in from Python saves compile time."""
