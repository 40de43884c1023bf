"""How files come to be: written beside their final name and renamed when whole, so that no name ever holds half a file."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from akd.errors import AkdError

STEM_LENGTH = 40  # characters of the final name that the temporary one repeats: names may not be longer than 255 bytes
WHY_UNWRITABLE = {
    errno.ENOSPC: "the disk is full; free some space or choose another place",
    errno.EDQUOT: "your share of the disk is used up; free some space or choose another place",
    errno.EFBIG: "it would be larger than files may be here; choose another place or write less",
    errno.EROFS: "the disk is read-only; choose another place",
    errno.EACCES: "permission is denied; choose another place",
    errno.EPERM: "permission is denied; choose another place",
    errno.ENOTDIR: "a part of its path is a file and not a folder; choose another place",
    errno.EEXIST: "a part of its path is a file and not a folder; choose another place",
    errno.EISDIR: "it is a folder; choose another name",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


@contextmanager
def written_beside(path: str | Path) -> Iterator[Path]:
    """A temporary name in the same folder, with the same suffix; what is written there gets the final name in one step.

    Only when the block ends without an error, and after the content has reached the disk: a crash, a full disk or a lost
    power cord leaves the old file or none. Missing folders are made. A link is followed, so that it stays a link. An
    ``OSError`` in the block, which should do nothing but write, becomes one sentence about ``path``.
    """
    path = Path(path)
    part = None
    try:
        target = path.resolve()  # a ring of links cannot be resolved; it ends as an OSError or RuntimeError
        _check_replaceable(path, target)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.stem[:STEM_LENGTH]}.{secrets.token_hex(4)}.part{target.suffix}")
        yield part
        _reach_disk(part)
        part.replace(target)
        _reach_disk(target.parent)
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, OSError) or part is None:
            raise unwritable(path, error) from error
        raise
    finally:
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)


def write_file(path: str | Path, content: bytes | str) -> None:
    """A whole file at once; text as UTF-8, with the line ends it has."""
    with written_beside(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def unwritable(path: Path, error: Exception) -> AkdError:
    """Why a file could not be written, as one sentence."""
    code = error.errno if isinstance(error, OSError) else None
    reason = WHY_UNWRITABLE.get(code or 0) or f"{getattr(error, 'strerror', None) or error}; choose another place"
    return AkdError(f"{path} cannot be written: {reason}.")


def _check_replaceable(path: Path, target: Path) -> None:
    """A rename would put a file in the place of a pipe or of /dev/null, where nobody expects one."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "")
    if target.exists() and not target.is_file():
        raise AkdError(f"{path} cannot be written: it is a pipe or a device; name a file.")


def _reach_disk(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    if path.is_dir():
        with suppress(OSError):  # Windows and some network disks cannot do this to a folder; the file itself is safe
            _fsync(path, os.O_RDONLY)
        return
    _fsync(path, os.O_RDWR | getattr(os, "O_BINARY", 0))


def _fsync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
