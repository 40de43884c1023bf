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
def network_calls(pipe: Any, *, part: str = "transformer", **arguments: Any) -> list[NetworkCall]:
    """The calls of a network in two steps without classifier-free guidance; autoencoders give their mean."""
    from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution

    network, calls = getattr(pipe, part), []
    names = inspect.signature(network.forward)

    def note(module: Any, args: tuple[Any, ...], options: dict[str, Any], output: Any) -> None:
        given = names.bind(*args, **options).arguments
        calls.append(NetworkCall({name: _copied(value) for name, value in given.items()}, _copied(output[0])))

    handle = network.register_forward_hook(note, with_kwargs=True)
    options = {"num_inference_steps": 2, "guidance_scale": 1.0, "output_type": "latent"}
    options["generator"] = torch.Generator().manual_seed(0)
    try:
        with patch.object(DiagonalGaussianDistribution, "sample", lambda self, generator=None: self.mean):
            pipe(**options | arguments)
    finally:
        handle.remove()
    return calls


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value
