"""One job of a batch as plain values: it travels to a worker, is done in a folder there, and comes back as a row of results."""

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import akd
from akd.assets import fingerprint
from akd.batch.engine import Loaded, Needs
from akd.batch.place import Place
from akd.errors import AkdError
from akd.files.lock import FolderInUse
from akd.pipeline.run_folder import versions

LOCK_PATIENCE = 60.0
"""How long to wait for a folder that another process holds [s]: a node that was lost may take so long to notice it."""


@dataclass(frozen=True)
class Work:
    """A checked row."""

    id: str
    """Of everything that decides the result; the same work has the same one anywhere."""
    row: int
    kind: str
    name: str
    """Of its folder."""
    values: Mapping[str, Any]
    """By column; paths are absolute."""
    prints: list[str]
    """Fingerprints of its input files when they were checked."""
    needs: Needs

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "needs": vars(self.needs)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Work":
        return cls(**{**values, "needs": Needs(**values["needs"])})


def do_work(loaded: Loaded, work: Work, place: Place) -> dict[str, Any]:
    """Do a job in its place, unless it is done already; returns its row of the results."""
    begun, used = time.perf_counter(), sum(os.times()[:4])
    was_done = place.result(work.name) is not None
    if not was_done:
        _wait_and_do(loaded, work, place)
    result = place.result(work.name)
    if result is None:
        raise AkdError(f"{place.url} does not hold the result of {work.name} although it was written: check the storage.")
    return {
        "result": result, "versions": versions(), "node": socket.gethostname(), "process": os.getpid(),
        "seconds": 0.0 if was_done else time.perf_counter() - begun, "processor_seconds": sum(os.times()[:4]) - used,
    }  # fmt: skip


def _wait_and_do(loaded: Loaded, work: Work, place: Place) -> None:
    until = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            return _do(loaded, work, place)
        except FolderInUse:  # a process on its way out, or the same job from another batch
            if time.monotonic() > until:
                raise
            time.sleep(1.0)


def _do(loaded: Loaded, work: Work, place: Place) -> None:
    if place.result(work.name) is not None:
        return
    kind = akd.KINDS[work.kind]
    request = kind.request(work.values)
    files = kind.files(request)
    if [fingerprint(path) for path in files] != work.prints:
        changed = ", ".join(path.name for path in files)
        raise AkdError(f"Its files have changed since the table was checked ({changed}): start the batch again.")
    prior = None if kind.load is None else loaded.prior(str(work.needs.prior), partial(kind.load, request))
    with place.folder(work.name) as folder, folder.kept_safe() as progress:
        kind.run(request, folder.path, prior, progress)
