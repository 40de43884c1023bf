"""A start without garbage collection."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused(*, keep: bool = False) -> Iterator[None]:
    """Imports, and compiled kernels' tables of types, make hundreds of thousands of objects that stay; looking for garbage among
    them takes a seventh of the time to the first iteration (``python -m experiments.startup``).

    With ``keep``, all that there is at the end is never looked at again: for a process that has just begun.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        if keep:
            gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
