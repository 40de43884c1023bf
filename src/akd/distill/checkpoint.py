"""A distillation as tensors and back: what is optimised, the optimiser's memory, the iteration.

There is no random state to keep: all randomness of an iteration comes from its number and the seed (see ``loop``).
"""

import os
from pathlib import Path

import torch
from torch import Tensor

from akd.distill.loop import Distillation
from akd.errors import AkdError

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What Adam remembers of every parameter."""


def save_checkpoint(run: Distillation, path: Path) -> None:
    """Write the whole state beside the old one, then rename it over that: a kill at any moment leaves one or the other."""
    from safetensors.torch import save_file

    part = path.with_name(path.name + ".part")
    save_file({name: tensor.contiguous() for name, tensor in _state(run).items()}, part)
    with part.open("rb") as written:
        os.fsync(written.fileno())
    part.replace(path)


@torch.no_grad()
def load_checkpoint(run: Distillation, path: Path) -> None:
    """Go on from a saved state."""
    from safetensors.torch import load_file

    tensors = load_file(path)
    wanted = run.dance.state_dict()
    if {name: tuple(part.shape) for name, part in wanted.items()} != {
        name.removeprefix("dance."): tuple(part.shape) for name, part in tensors.items() if name.startswith("dance.")
    }:
        raise AkdError(f"{path} belongs to another character or recipe: begin the run anew with --force.")
    run.iteration = int(tensors["iteration"])
    run.dance.load_state_dict({name: tensors[f"dance.{name}"] for name in wanted})
    for name, value in run.dance.named_parameters():
        if f"adam.{name}.step" in tensors:
            run.optimiser.state[value] = {key: tensors[f"adam.{name}.{key}"] for key in MOMENTS}
    for group in run.optimiser.param_groups:
        group["eps"] = float(tensors["eps"])


def _state(run: Distillation) -> dict[str, Tensor]:
    tensors = {f"dance.{name}": part.detach() for name, part in run.dance.state_dict().items()}
    for name, value in run.dance.named_parameters():
        tensors |= {f"adam.{name}.{key}": part for key, part in run.optimiser.state.get(value, {}).items()}
    # Adam's ε is measured at the first step (see ``Distillation``), so it is part of the state.
    eps = torch.tensor(run.optimiser.param_groups[0]["eps"], dtype=torch.float64)
    return tensors | {"iteration": torch.tensor(run.iteration), "eps": eps}
