"""Where a batch's results live: a folder that all workers see, or any target of fsspec (s3://, gs://, …).

In a folder, jobs work where their results belong. Elsewhere a job works in a scratch folder of its node: what it needs to go on
is copied out now and then, everything when it is done, and ``result.json`` last, so that half a result is never taken for one.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import akd
from akd.errors import AkdError
from akd.files.writing import write_errors, write_file

RUNS = "runs"
"""Folder of the jobs' folders."""
RESULT = "result.json"
STATE = ("config.json", "log.jsonl", "checkpoint.safetensors")
"""What a job goes on from, in the order in which it is copied: the log may be ahead of the checkpoint, but not behind it."""
COPY_EVERY = 30.0
"""Least time between copies of that to a target that is no folder [s]: a node that dies costs as much work again."""


@dataclass(frozen=True)
class Place:
    """A folder or a URL."""

    url: str

    @property
    def is_folder(self) -> bool:
        return "://" not in self.url

    @property
    def path(self) -> Path:
        return Path(self.url)

    def result(self, name: str) -> dict[str, Any] | None:
        """What a finished job's ``result.json`` says; None if it is not finished."""
        content = self.read(f"{RUNS}/{name}/{RESULT}")
        try:
            found = None if content is None else json.loads(content)
        except ValueError:
            return None
        return found if isinstance(found, dict) and isinstance(found.get("sentence"), str) else None

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        try:
            if self.is_folder:
                return (self.path / name).read_bytes()
            files, root = self._files()
            return files.cat_file(f"{root}/{name}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise AkdError(f"{self.url}/{name} cannot be read: {error.strerror or error}; check access to it.") from error

    def write(self, name: str, content: bytes) -> None:
        """A whole file; targets of fsspec show an object only when it is whole."""
        if self.is_folder:
            write_file(self.path / name, content)
            return
        files, root = self._files()
        with write_errors(f"{self.url}/{name}"):
            files.makedirs(f"{root}/{name}".rpartition("/")[0], exist_ok=True)
            files.pipe_file(f"{root}/{name}", content)

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, in order."""
        if self.is_folder:
            return sorted(path.name for path in (self.path / folder).glob("*") if path.is_file())
        files, root = self._files()
        try:
            return sorted(found.rpartition("/")[2] for found in files.ls(f"{root}/{folder}", detail=False))
        except FileNotFoundError:
            return []

    def remove(self, name: str) -> None:
        if self.is_folder:
            with write_errors(self.path / name):
                (self.path / name).unlink(missing_ok=True)
        else:
            files, root = self._files()
            with suppress(FileNotFoundError):
                files.rm_file(f"{root}/{name}")

    @contextmanager
    def folder(self, name: str) -> Iterator["JobFolder"]:
        """The folder in which a job works, with what it left there before."""
        if self.is_folder:
            yield JobFolder(self.path / RUNS / name, None, "")
            return
        scratch = Path(tempfile.mkdtemp(prefix="akd-job-"))
        try:
            folder = JobFolder(scratch / name, self, f"{RUNS}/{name}")
            folder.fetch()
            yield folder
            folder.send_all()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _files(self) -> tuple[Any, str]:
        import fsspec

        try:
            files, root = fsspec.core.url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise AkdError(f"{self.url} cannot be used ({error}): install what fsspec names there, or give a folder.") from error
        return files, root.rstrip("/")


@dataclass(frozen=True)
class JobFolder:
    """The folder of one job on this machine, and where it is copied to."""

    path: Path
    target: Place | None
    """None if it is where it belongs."""
    name: str

    @contextmanager
    def kept_safe(self) -> Iterator["akd.Progress"]:
        """Hears the job's iterations and copies its state; also when the job ends early."""
        if self.target is None:
            yield akd.Progress()
            return
        try:
            yield _copying(self)
        except BaseException:
            self.send_state()
            raise

    def fetch(self) -> None:
        assert self.target is not None
        for file in STATE:
            content = self.target.read(f"{self.name}/{file}")
            if content is not None:
                write_file(self.path / file, content)

    def send_state(self) -> None:
        for file in STATE:
            self._send(self.path / file)

    def send_all(self) -> None:
        """Everything, the mark that it is whole last."""
        for path in sorted(self.path.rglob("*"), key=lambda path: path.name == RESULT):
            self._send(path)

    def _send(self, path: Path) -> None:
        if self.target is not None and path.is_file():
            self.target.write(f"{self.name}/{path.relative_to(self.path).as_posix()}", path.read_bytes())


def _copying(folder: JobFolder) -> "akd.Progress":
    class Copying(akd.Progress):
        """Copies the state of a job out when some time has passed."""

        copied = time.monotonic()

        def iteration(self, numbers: dict[str, float], measured: Any) -> None:
            if time.monotonic() - self.copied > COPY_EVERY:
                folder.send_state()
                self.copied = time.monotonic()

    return Copying()
