"""A start without garbage collection."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Imports, and compiled kernels' tables of types, make hundreds of thousands of objects that stay; looking for garbage among
    them takes a seventh of the time to the first iteration (``python -m experiments.startup``)."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
