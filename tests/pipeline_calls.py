"""What a network is given and says while diffusers' own pipeline samples, to compare with a family's ``predict``."""

import inspect
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from torch import Tensor


class NetworkCall(NamedTuple):
    """One call of a pipeline's network."""

    inputs: dict[str, Any]
    """Its arguments by name."""
    output: Tensor


@torch.no_grad()
def network_calls(pipe: Any, *, parts: tuple[str, ...] = ("transformer",), **arguments: Any) -> list[NetworkCall]:
    """The calls of a pipeline's networks in two steps without classifier-free guidance; autoencoders give their mean."""
    from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution

    calls: list[NetworkCall] = []
    handles = [getattr(pipe, part).register_forward_hook(_note(calls, getattr(pipe, part)), with_kwargs=True) for part in parts]
    options = {"num_inference_steps": 2, "guidance_scale": 1.0, "output_type": "latent"}
    options["generator"] = torch.Generator().manual_seed(0)
    known = inspect.signature(pipe.__call__).parameters
    pipe.set_progress_bar_config(disable=True)
    try:
        with patch.object(DiagonalGaussianDistribution, "sample", lambda self, generator=None: self.mean):
            pipe(**{name: value for name, value in options.items() if name in known} | arguments)
    finally:
        for handle in handles:
            handle.remove()
    return calls


def _note(calls: list[NetworkCall], network: Any) -> Any:
    names = inspect.signature(network.forward)

    def note(module: Any, args: tuple[Any, ...], options: dict[str, Any], output: Any) -> None:
        given = names.bind(*args, **options).arguments
        calls.append(NetworkCall({name: _copied(value) for name, value in given.items()}, _copied(output[0])))

    return note


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value
