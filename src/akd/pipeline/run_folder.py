"""A run on disk: one folder that says what was asked for, how far it is, and what came out.

A distillation as tensors and back: what is optimised, the optimisers' memory, the iteration.

There is no random state to keep: all randomness of an iteration comes from its number and the seed (see ``loop``).
"""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import akd
from akd.distill.loop import Distillation
from akd.errors import AkdError
from akd.pipeline.job import Job

FILES = (
    "config.json", "rig.glb", "splats.ply", "checkpoint.safetensors", "log.jsonl", "strip.png", "motion.npz", "animated.glb",
    "preview.mp4", "report.html", "result.json",
)  # fmt: skip
"""What a run writes, in the order in which it appears; ``result.json`` last, so a folder that has it is complete."""


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
        return self["result.json"].is_file()

    def begin(self, job: Job) -> None:
        """Make the folder and write down what is asked for; an older run's files go."""
        self.clear()
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self["config.json"], {"job": job.as_dict(), "versions": versions()})

    def clear(self) -> None:
        """Remove what an older run wrote, the mark that it was complete first."""
        for name in reversed(FILES):
            self[name].unlink(missing_ok=True)

    def job(self) -> Job:
        """What was asked for."""
        return Job.from_dict(read_config(self.path)["job"])

    def result(self) -> dict[str, Any]:
        """What came out."""
        return json.loads(self["result.json"].read_text())

    def append_log(self, entry: Mapping[str, Any]) -> None:
        """One more line; numbers with five digits."""
        rounded = {name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in entry.items()}
        with self["log.jsonl"].open("a") as log:
            log.write(json.dumps(rounded) + "\n")

    def log(self) -> list[dict[str, Any]]:
        """The lines, but for one that was cut short by a kill."""
        if not self["log.jsonl"].is_file():
            return []
        lines = self["log.jsonl"].read_text().split("\n")
        return [json.loads(line) for line in lines[:-1]]

    def forget_log_from(self, iteration: int) -> None:
        """Drop what was logged after the last checkpoint: it will happen again."""
        kept = [json.dumps(entry) + "\n" for entry in self.log() if entry["iteration"] < iteration]
        write_text(self["log.jsonl"], "".join(kept))


def refuse_used(folder: Path, *, force: bool) -> None:
    """Nothing is overwritten unless that is asked for."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not force):
        raise AkdError(f"{folder} exists already: go on with --resume, choose another --out, or overwrite it with --force.")


def read_config(folder: Path) -> dict[str, Any]:
    """What a run's folder says about itself."""
    path = folder / "config.json"
    if not path.is_file():
        raise AkdError(f"{folder} is not a run: it has no config.json.")
    try:
        return json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise AkdError(f"{path} cannot be read ({error}): begin the run anew with --force.") from error


def write_json(path: Path, value: object) -> None:
    """Write all of it or nothing."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text beside the old one, then rename it over that."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


def versions() -> dict[str, str]:
    """Of everything that the numbers may depend on."""
    import numpy
    import torch

    return {
        "akd": akd.__version__, "torch": torch.__version__, "numpy": numpy.__version__, "python": platform.python_version(),
        "machine": platform.machine(), "threads": str(torch.get_num_threads()),
    }  # fmt: skip


def save_checkpoint(run: Distillation, path: Path) -> None:
    """Write the whole state beside the old one, then rename it over that: a kill at any moment leaves one or the other."""
    from safetensors.torch import save_file

    tensors = {"iteration": torch.tensor(run.iteration)}
    for number, candidate in enumerate(run.candidates):
        tensors |= {f"{number}.{name}": tensor.contiguous() for name, tensor in candidate.tensors().items()}
    part = path.with_name(path.name + ".part")
    save_file(tensors, part)
    with part.open("rb") as written:
        os.fsync(written.fileno())
    part.replace(path)


def load_checkpoint(run: Distillation, path: Path) -> None:
    """Go on from a saved state, with as many candidates as were left."""
    from safetensors.torch import load_file

    tensors = load_file(path)
    saved = [_part(tensors, number) for number in range(len(run.candidates))]
    run.candidates = [candidate for candidate, state in zip(run.candidates, saved, strict=True) if state]
    for candidate, state in zip(run.candidates, saved, strict=False):
        if {name: part.shape for name, part in state.items() if name.startswith("trajectory.")} != {
            f"trajectory.{name}": part.shape for name, part in candidate.trajectory.state_dict().items()
        }:
            raise AkdError(f"{path} belongs to another character or recipe: begin the run anew with --force.")
        candidate.load(state)
    if not run.candidates:
        raise AkdError(f"{path} was written by another version of akd: begin the run anew with --force.")
    run.iteration = int(tensors["iteration"])


def _part(tensors: dict[str, torch.Tensor], number: int) -> dict[str, torch.Tensor]:
    """What belongs to one candidate, by its own names."""
    return {name.removeprefix(f"{number}."): part for name, part in tensors.items() if name.startswith(f"{number}.")}
