"""A run on disk: one folder that says what was asked for, how far it is, and what came out."""

import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch

import akd
from akd.errors import AkdError
from akd.files.writing import written_beside
from akd.pipeline.job import Job

try:
    import fcntl
except ImportError:  # Windows: two processes in one folder are not noticed there
    fcntl = None  # type: ignore[assignment]

FILES = (
    "config.json", "log.jsonl", "checkpoint.safetensors", "motion.npz", "rig.glb", "splats.ply", "animated.glb", "strip.png",
    "preview.mp4", "report.html", "result.json",
)  # fmt: skip
"""What a run writes, in the order in which it appears; ``result.json`` last, so a folder that has it is complete."""
TRACKED = ("animated.glb", "motion.npz", "controls.npz", "metrics.json", "body.xml", "sheet.png", "side-by-side.mp4")
"""What tracking writes into ``tracked/``."""
SHARED = ("strips.png", "diversity.json")
"""What several runs in one folder have in common."""


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    def __getitem__(self, name: str) -> Path:
        """One of its files."""
        if name not in FILES:
            raise KeyError(name)
        return self.path / name

    @property
    def finished(self) -> bool:
        return self["result.json"].is_file() and self["motion.npz"].is_file()

    def begin(self, job: Job) -> None:
        """Make the folder and write down what is asked for; an older run's files go."""
        self.clear()
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self["config.json"], {"job": job.as_dict(), "versions": versions()})

    def outputs(self) -> list[Path]:
        """Every file that a run, or several in one folder, may have written here."""
        seeds = [RunFolder(path).outputs() for path in sorted(self.path.glob("seed-*")) if path.is_dir()]
        own = [*FILES, *SHARED, *(f"tracked/{name}" for name in TRACKED)]
        return [self.path / name for name in own] + [path for found in seeds for path in found]

    def clear(self) -> None:
        """Remove what older runs wrote, the mark that they were complete first; other files stay."""
        self["result.json"].unlink(missing_ok=True)
        for path in self.outputs():
            path.unlink(missing_ok=True)
        for folder in (self.path / "tracked", *self.path.glob("seed-*/tracked"), *self.path.glob("seed-*")):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def job(self) -> Job:
        """What was asked for."""
        config = read_config(self.path)
        with damaged(self["config.json"]):
            if not isinstance(config.get("job"), dict):
                raise AkdError("It does not say what the character does.")
            return Job.from_dict(config["job"])

    def result(self) -> dict[str, Any]:
        """What came out."""
        return read_json(self["result.json"])

    def append_log(self, entry: Mapping[str, Any]) -> None:
        """One more line; numbers with five digits."""
        rounded = {name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in entry.items()}
        with self["log.jsonl"].open("a") as log:
            log.write(json.dumps(rounded) + "\n")

    def log(self) -> list[dict[str, Any]]:
        """The lines, but for what a kill or a damaged disk left unreadable."""
        if not self["log.jsonl"].is_file():
            return []
        found = []
        for line in self["log.jsonl"].read_text(errors="replace").split("\n"):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and isinstance(entry.get("iteration"), int):
                found.append(entry)
        return found

    def forget_log_from(self, iteration: int) -> None:
        """Drop what was logged after the last checkpoint: it will happen again."""
        kept = {entry["iteration"]: entry for entry in self.log() if entry["iteration"] < iteration}
        write_text(self["log.jsonl"], "".join(json.dumps(kept[number]) + "\n" for number in sorted(kept)))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else works in the folder meanwhile. The lock goes with the process, however that ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        if fcntl is None:
            yield
            return
        handle = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise AkdError(f"Another akd is at work in {self.path}: wait for it, stop it, or choose another --out.") from error
        try:
            yield
        finally:
            os.close(handle)


def refuse_used(folder: Path, *, force: bool) -> None:
    """Nothing is overwritten unless that is asked for."""
    if folder.is_dir() and any(folder.iterdir()) and not force:
        cure = "go on with --resume, " if (folder / "config.json").is_file() else ""
        raise AkdError(f"{folder} exists already: {cure}choose another --out, or overwrite it with --force.")
    if folder.exists() and not folder.is_dir():
        raise AkdError(f"{folder} is a file: a run needs a folder, so choose another --out.")


def refuse_input(folder: Path, source: str | None) -> None:
    """The character's own file is never cleared away or overwritten."""
    if source is None:
        return
    own = Path(source).resolve()
    if any(path.resolve() == own for path in RunFolder(folder).outputs()):
        raise AkdError(f"{own} is the character itself and would be overwritten: choose another --out.")


def read_config(folder: Path) -> dict[str, Any]:
    """What a run's folder says about itself."""
    path = folder / "config.json"
    if not path.is_file():
        raise AkdError(f"{folder} is not a run: it has no config.json. If one was stopped at its very start, begin it anew.")
    return read_json(path)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of ours, or a sentence on what is wrong with the file."""
    with damaged(path):
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict):
            raise AkdError("It is no table of entries.")
        return value


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Whatever is wrong inside a file of a run, in one sentence with its cure."""
    try:
        yield
    except (AkdError, OSError, ValueError, RecursionError) as error:
        reason = str(error).rstrip(".").split("\n")[0][:120]
        raise AkdError(f"{path} cannot be used ({reason}): begin the run anew with --force.") from error


def write_json(path: Path, value: object) -> None:
    """Write all of it or nothing."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text beside the old one, then rename it over that."""
    with written_beside(path) as part:
        part.write_text(text, encoding="utf-8")


def versions() -> dict[str, str]:
    """Of everything that the numbers may depend on."""
    return {
        "akd": akd.__version__, "torch": torch.__version__, "numpy": numpy.__version__, "python": platform.python_version(),
        "machine": platform.machine(), "threads": str(torch.get_num_threads()),
    }  # fmt: skip
