"""A run on disk: one folder that says what was asked for, how far it is, and what came out."""

import json
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch

import akd
from akd.errors import AkdError
from akd.files.lock import locked_folder
from akd.files.writing import (  # fmt: skip
    check_output_folder,
    refuse_inputs,
    remove_leftovers,
    write_errors,
    write_file,
    written_beside,
)
from akd.pipeline.job import Job

FILES = (
    "config.json", "log.jsonl", "checkpoint.safetensors", "motion.npz", "rig.glb", "rig.akd.json", "splats.ply",
    "animated.glb", "strip.png", "preview.mp4", "report.html", "result.json",
)  # fmt: skip
"""What a run writes, in the order in which it appears; ``result.json`` last, so a folder that has it is complete."""
RESULTS = FILES[3:]
"""What comes out at the end; all of it can be made again from the checkpoint."""
TRACKED = ("animated.glb", "motion.npz", "controls.npz", "metrics.json", "body.xml", "sheet.png", "side-by-side.mp4")
"""What tracking writes into ``tracked/``."""
CLIP = ("first.png", "first.json", "clip.mp4", "clip.npz", "followed.mp4")
"""What a run by way of a prior's clip writes beside that."""
SHARED = ("strips.png", "diversity.json")
"""What several runs in one folder have in common."""
SEED_FOLDER = re.compile(r"seed-\d{1,12}")
"""Names of the folders of several runs side by side."""
MAX_LOGGED = 1e300
"""A larger number in a log is a damaged one."""


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
        """Is everything here, and does ``result.json`` say how it went?"""
        return all(self[name].is_file() for name in RESULTS) and isinstance(self.result().get("sentence"), str)

    def begin(self, job: Job) -> None:
        """Make the folder and write down what is asked for; an older run's files go.

        They go only when ``config.json`` could be written: on a full disk the older run stays.
        """
        with self.replaced_config({"job": job.as_dict(), "versions": versions()}):
            pass

    @contextmanager
    def replaced_config(self, config: Mapping[str, Any]) -> Iterator[None]:
        """Clear the folder, and give it a new ``config.json`` when the block has ended: before that it is no run."""
        with written_beside(self["config.json"]) as part:
            part.write_bytes(as_json(config).encode())
            self.clear()
            yield

    def outputs(self) -> list[Path]:
        """Every file that a run, or several in one folder, may have written here."""
        seeds = [RunFolder(path).outputs() for path in self._seeds()]
        own = [*FILES, *CLIP, *SHARED, *(f"tracked/{name}" for name in TRACKED)]
        return [self.path / name for name in own] + [path for found in seeds for path in found]

    def clear(self) -> None:
        """Remove what older runs wrote, the mark that they are runs first; other files stay."""
        with write_errors(self.path):
            for path in self.outputs():
                if not path.is_dir():
                    path.unlink(missing_ok=True)
            for folder in self._subfolders():
                if not any(folder.iterdir()):
                    folder.rmdir()

    def _seeds(self) -> list[Path]:
        return [path for path in sorted(self.path.glob("seed-*")) if SEED_FOLDER.fullmatch(path.name) and path.is_dir()]

    def _subfolders(self) -> list[Path]:
        """Folders of ours in this one, inner ones first."""
        seeds = self._seeds()
        places = (self.path / "tracked", *(seed / "tracked" for seed in seeds), *seeds)
        return [place for place in places if place.is_dir() and not place.is_symlink()]

    def job(self) -> Job:
        """What was asked for."""
        config = read_config(self.path)
        with damaged(self["config.json"]):
            if not isinstance(config.get("job"), dict):
                raise AkdError("It does not say what the character does.")
            return Job.from_dict(config["job"])

    def result(self) -> dict[str, Any]:
        """What came out; nothing if that is not known or cannot be read, since it can be made again."""
        try:
            return read_json(self["result.json"])
        except AkdError:
            return {}

    def append_log(self, entry: Mapping[str, Any]) -> None:
        """One more line; numbers with five digits."""
        rounded = {name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in entry.items()}
        line = json.dumps(rounded) + "\n"
        with write_errors(self["log.jsonl"]), self["log.jsonl"].open("a", encoding="utf-8") as log:
            log.write(line)

    def log(self) -> list[dict[str, Any]]:
        """The lines, but for what a kill or a damaged disk left unreadable."""
        if not self["log.jsonl"].is_file():
            return []
        found = []
        for line in self["log.jsonl"].read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if _is_log_entry(entry):
                found.append(entry)
        return found

    def forget_log_from(self, iteration: int) -> None:
        """Drop what was logged after the last checkpoint: it will happen again."""
        kept = {entry["iteration"]: entry for entry in self.log() if entry["iteration"] < iteration}
        write_file(self["log.jsonl"], "".join(json.dumps(kept[number]) + "\n" for number in sorted(kept)))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else works in the folder meanwhile, and what others left half-written is gone."""
        with locked_folder(self.path):
            for folder in (self.path, *self._subfolders()):
                remove_leftovers(folder)
            yield


NO_NUMBERS = ("iteration", "measured", "compared", "failures")
"""Entries of a log's line that are no numbers: what was measured, errors by candidate, and in studies what a test misses."""


def _is_log_entry(entry: object) -> bool:
    """Was this written by ``append_log``, as far as its types tell?"""
    if not isinstance(entry, dict) or type(entry.get("iteration")) is not int or entry["iteration"] < 0:
        return False
    numbers = [value for name, value in entry.items() if name not in NO_NUMBERS]
    compared = entry.get("compared", {})
    if not isinstance(compared, dict):
        return False
    numbers += compared.values()
    return all((isinstance(value, float | int) and abs(value) < MAX_LOGGED) or value != value for value in numbers)


def refuse_used(folder: Path, *, force: bool) -> None:
    """Nothing is overwritten unless that is asked for."""
    check_output_folder(folder, force=force, cure="go on with --resume, " if (folder / "config.json").is_file() else "")


def refuse_input(folder: Path, source: str | None) -> None:
    """The character's own file is never cleared away or overwritten."""
    if source is not None:
        refuse_inputs(RunFolder(folder).outputs(), [Path(source)])


def read_config(folder: Path) -> dict[str, Any]:
    """What a run's folder says about itself."""
    path = folder / "config.json"
    if not path.is_file():
        cure = "begin it anew with --force" if folder.is_dir() and any(folder.iterdir()) else "begin it anew"
        raise AkdError(f"{folder} is not a run: it has no config.json. If one was stopped at its very start, {cure}.")
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
    write_file(path, as_json(value))


def as_json(value: object) -> str:
    """A text with an entry a line."""
    return json.dumps(value, indent=2) + "\n"


def versions() -> dict[str, str]:
    """Of everything that the numbers may depend on."""
    return {
        "akd": akd.__version__, "torch": torch.__version__, "numpy": numpy.__version__, "python": platform.python_version(),
        "machine": platform.machine(), "threads": str(torch.get_num_threads()),
    }  # fmt: skip
