"""How files come to be: named, checked before long work, written beside their final name and renamed when whole.

No name ever holds half a file, no input is ever overwritten, and whatever the disk refuses is one sentence.
"""

import errno
import os
import re
import secrets
from collections.abc import Iterable, Iterator
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
    errno.ENOENT: "there is no such place; check the path",
    errno.ENOTDIR: "a part of its path is a file and not a folder; choose another place",
    errno.EEXIST: "a part of its path is a file and not a folder; choose another place",
    errno.EISDIR: "it is a folder; choose another name",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.ELOOP: "it is a link that leads to itself; choose another name",
}
NAME_LENGTH = 80
"""Characters of a name that comes from a file: with an ending of ours it stays below the 255 bytes of most disks."""
UNFIT_FOR_NAMES = re.compile(r'[\x00-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u2028-\u202e\u2066-\u2069/\\:*?"<>|]+')
"""Separators of folders, what Windows forbids, and what steers terminals."""
RESERVED_NAMES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Devices of Windows, with any ending."""
LEFTOVER = re.compile(r".*\.[0-9a-f]{8}\.part(\.[^.]*)?")
"""What a process that was killed while it wrote leaves behind (see ``written_beside``)."""


def safe_name(text: str) -> str:
    """A name from a file or a sentence as one part of a path: it never leads to another folder, and every disk takes it."""
    name = UNFIT_FOR_NAMES.sub("-", text).strip(". -")[:NAME_LENGTH].strip(". -")
    return "unnamed" if not name else f"_{name}" if RESERVED_NAMES.fullmatch(name) else name


def check_output(path: Path, *, force: bool, source: Path | None = None, endings: tuple[str, ...] = ()) -> None:
    """Make sure, before long work, that a file can be written here and that nothing is lost by it.

    ``source`` is the user's own file: it is never overwritten, not even by force, and under no other name. ``endings`` are
    those of the formats in which this can be written.
    """
    if endings and path.suffix.lower() not in endings:
        raise AkdError(f"{path} cannot be written: choose a name that ends in {' or '.join(endings)}.")
    with write_errors(path):
        refuse_inputs([path], [] if source is None else [source])
        if path.is_dir():
            raise AkdError(f"{path} is a folder: name a file.")
        if path.exists() and not force:
            raise AkdError(f"{path} exists already: choose another name, or add --force to overwrite it.")
        _check_replaceable(path, path.resolve())
        check_place(path.parent)


def check_output_folder(folder: Path, *, force: bool, cure: str = "") -> None:
    """Make sure, before long work, that files can be written into a folder; one that holds something needs ``force``."""
    with write_errors(folder):
        if folder.exists() and not folder.is_dir():
            raise AkdError(f"{folder} is a file: choose a folder as --out.")
        if folder.is_dir() and any(folder.iterdir()) and not force:
            raise AkdError(f"{folder} exists already: {cure}choose another --out, or overwrite it with --force.")
        check_place(folder)


def check_place(folder: Path) -> None:
    """Raise the ``OSError`` of making and using a folder, without making it."""
    nearest = next((place for place in (folder, *folder.absolute().parents) if place.exists()), None)
    if nearest is None:
        raise FileNotFoundError(errno.ENOENT, "")
    if not nearest.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "")


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Inputs are never cleared away or overwritten, whatever name or link leads to them."""
    known = list(inputs)
    for path in outputs:
        if any(is_same_file(path, source) for source in known):
            raise AkdError(f"{path} is an input and is never overwritten: choose another --out.")


def is_same_file(path: Path, other: Path) -> bool:
    """Do two paths lead to the same file, by name, symbolic link or hard link?"""
    try:
        return path.samefile(other)
    except (OSError, ValueError):  # one of them is not there
        return False


@contextmanager
def write_errors(path: str | Path) -> Iterator[None]:
    """Whatever the system says against writing here, as one sentence about ``path``; for blocks that do nothing else."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:  # also a ring of links, or a null character in the name
        raise unwritable(Path(path), error) from error


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
        part.write_bytes(content.encode(errors="replace") if isinstance(content, str) else content)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left half-written in a folder in which nobody else is at work."""
    with write_errors(folder):
        for path in folder.iterdir() if folder.is_dir() else ():
            if LEFTOVER.fullmatch(path.name) and not path.is_dir():
                path.unlink(missing_ok=True)


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
