"""A distillation as tensors on disk and back: trajectories, optimiser states, the iteration.

There is no random state to keep: all randomness of an iteration comes from its number and the seed (see ``distill.loop``).
"""

import hashlib
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from akd.distill.loop import Distillation
from akd.errors import AkdError
from akd.files.writing import write_file

RENAMED = {
    "dance.lag": "trajectory.phase_offset", "dance.legs": "trajectory.leg_gain", "dance.leaning": "trajectory.run_log_odds",
    "dance.curves.haste": "trajectory.curves.log_frequency", "dance.curves.coefficients": "trajectory.curves.coefficients",
    "dance.speed": "trajectory.speed", "dance.height": "trajectory.height",
}  # fmt: skip
"""Names in checkpoints of version 0.1, and what they are called now; Adam's entries follow their parameters."""


def save_checkpoint(run: Distillation, path: Path) -> None:
    """Write the whole state with a checksum, beside the old file and then over it: a kill leaves one or the other."""
    tensors = {"iteration": torch.tensor(run.iteration)}
    for candidate in run.candidates:
        tensors |= {f"{candidate.number}.{name}": tensor.contiguous() for name, tensor in candidate.tensors().items()}
    write_file(path, save(tensors, metadata={"sha256": checksum(tensors)}))


def load_checkpoint(run: Distillation, path: Path) -> None:
    """Go on from a saved state, with as many candidates as were left."""
    tensors = read_tensors(path)
    saved = [_part(tensors, candidate.number) for candidate in run.candidates]
    run.candidates = [candidate for candidate, state in zip(run.candidates, saved, strict=True) if state]
    if not run.candidates:
        raise AkdError(f"{path} was written by another version of akd: begin the run anew with --force.")
    for candidate, state in zip(run.candidates, filter(None, saved), strict=True):
        shapes = {f"trajectory.{name}": part.shape for name, part in candidate.trajectory.state_dict().items()}
        if {name: part.shape for name, part in state.items() if name.startswith("trajectory.")} != shapes:
            raise AkdError(f"{path} belongs to another character or recipe: begin the run anew with --force.")
        try:
            candidate.load(state)
        except (KeyError, RuntimeError, ValueError) as error:
            raise _damaged(path) from error
    run.iteration = int(tensors["iteration"])
    if not 0 <= run.iteration <= run.task.recipe.iterations:
        raise _damaged(path)


def checksum(tensors: dict[str, torch.Tensor]) -> str:
    """Of names, types, shapes and data: a flipped bit would otherwise change the motion in silence."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}\n".encode())
        digest.update(tensors[name].detach().contiguous().numpy().tobytes())
    return digest.hexdigest()


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        with safe_open(path, "pt") as stored:
            expected = (stored.metadata() or {}).get("sha256")
            tensors = {name: stored.get_tensor(name) for name in list(stored.keys())}
        whole = expected is None or checksum(tensors) == expected  # version 0.1 wrote none
    except (SafetensorError, OSError, ValueError, RuntimeError, TypeError) as error:
        raise _damaged(path) from error
    if not whole or "iteration" not in tensors or tensors["iteration"].numel() != 1:
        raise _damaged(path)
    return tensors


def _damaged(path: Path) -> AkdError:
    return AkdError(f"{path} is damaged: begin the run anew with --force, or remove that file to begin its iterations again.")


def _part(tensors: dict[str, torch.Tensor], number: int) -> dict[str, torch.Tensor]:
    """What belongs to one candidate, by its names of today."""
    own = {name.removeprefix(f"{number}."): part for name, part in tensors.items() if name.startswith(f"{number}.")}
    adam = {old.replace("dance.", "adam."): new.replace("trajectory.", "adam.") for old, new in RENAMED.items()}
    named = {_renamed(name, RENAMED | adam): part for name, part in own.items()}
    named.pop("trajectory.leg_gain", None)  # runs of before there was a candidate that stays
    return named


def _renamed(name: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        if name == old or (old.startswith("adam.") and name.startswith(old + ".")):
            return new + name.removeprefix(old)
    return name
