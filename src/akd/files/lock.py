"""One process of ours in a folder at a time. A lock goes with its process, however that ends.

Unix locks the folder itself. Windows locks files only, so there it is an empty file among the temporary ones, named after the
folder: nothing is left in the folder when a process is killed. Users with temporary folders of their own do not see each other
there.
"""

import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from akd.errors import AkdError
from akd.files.writing import write_errors

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # Unix
    msvcrt = None  # type: ignore[assignment]

TAKEN = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)
"""What the systems answer when another process has the lock."""


class FolderInUse(AkdError):
    """Another process works in the folder at the moment."""


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Make a folder, and let no other process of ours work in it meanwhile.

    If nothing was put into a folder that was made for it, it goes as well.
    """
    with write_errors(folder):
        is_new = not folder.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        handle = _opened(folder)
    try:
        if handle is not None:
            _lock(handle, folder)
        yield
    finally:
        if is_new:
            with suppress(OSError):
                folder.rmdir()  # which only works if it is empty
        if handle is not None:
            os.close(handle)  # which gives the lock back, on Windows too


def lock_file(folder: Path) -> Path:
    """The file that is locked instead of the folder where folders cannot be."""
    place = os.path.normcase(folder.resolve())
    return Path(tempfile.gettempdir()) / f"akd-{hashlib.sha256(place.encode(errors='replace')).hexdigest()[:32]}.lock"


def _opened(folder: Path) -> int | None:
    """What is locked, opened; None on systems without locks."""
    if fcntl is not None:
        return os.open(folder, os.O_RDONLY)
    return os.open(lock_file(folder), os.O_RDWR | os.O_CREAT) if msvcrt is not None else None


def _lock(handle: int, folder: Path) -> None:
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError as error:
        if error.errno in TAKEN:
            raise FolderInUse(f"Another akd is at work in {folder}: wait for it, stop it, or choose another --out.") from error
        # Otherwise the disk has no locks, as some network disks.
