"""A distillation as tensors and back: what is optimised, the optimisers' memory, the iteration.

There is no random state to keep: all randomness of an iteration comes from its number and the seed (see ``loop``).
"""

import os
from pathlib import Path

import torch

from akd.distill.loop import Distillation
from akd.errors import AkdError


def save_checkpoint(run: Distillation, path: Path) -> None:
    """Write the whole state beside the old one, then rename it over that: a kill at any moment leaves one or the other."""
    from safetensors.torch import save_file

    tensors = {"iteration": torch.tensor(run.iteration)}
    for number, contender in enumerate(run.contenders):
        tensors |= {f"{number}.{name}": tensor.contiguous() for name, tensor in contender.tensors().items()}
    part = path.with_name(path.name + ".part")
    save_file(tensors, part)
    with part.open("rb") as written:
        os.fsync(written.fileno())
    part.replace(path)


def load_checkpoint(run: Distillation, path: Path) -> None:
    """Go on from a saved state, with as many contenders as were left."""
    from safetensors.torch import load_file

    tensors = load_file(path)
    saved = [_part(tensors, number) for number in range(len(run.contenders))]
    run.contenders = [contender for contender, state in zip(run.contenders, saved, strict=True) if state]
    for contender, state in zip(run.contenders, saved, strict=False):
        if {name: part.shape for name, part in state.items() if name.startswith("dance.")} != {
            f"dance.{name}": part.shape for name, part in contender.dance.state_dict().items()
        }:
            raise AkdError(f"{path} belongs to another character or recipe: begin the run anew with --force.")
        contender.load(state)
    if not run.contenders:
        raise AkdError(f"{path} was written by another version of akd: begin the run anew with --force.")
    run.iteration = int(tensors["iteration"])


def _part(tensors: dict[str, torch.Tensor], number: int) -> dict[str, torch.Tensor]:
    """What belongs to one contender, by its own names."""
    return {name.removeprefix(f"{number}."): part for name, part in tensors.items() if name.startswith(f"{number}.")}
