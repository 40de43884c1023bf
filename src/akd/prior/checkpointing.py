"""Encoding with little memory: activations are computed again on the way back, and what has to be kept waits in main memory."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten
from torch.utils.checkpoint import checkpoint

CHECKPOINT_MIN_VALUES = 300_000
"""Only inputs of more numbers than this are checkpointed; the embedded prior's whole film has 208,896."""

PIECE_FRAMES = 24
"""Frames of a block's input that are computed together where it goes in pieces: the four before them cost a sixth more work."""
FRAMES_SEEN_BACK = 4
"""Earlier frames that a residual block of two causal convolutions over three frames sees."""


def checkpointed(function: Callable[..., Any], *args: Any, spill: bool = False) -> Any:
    """Call a function with gradient checkpointing (activations are recomputed on the way back), unless its input is small.

    Arguments may hold tensors in lists and dictionaries, as caches of earlier frames do. torch keeps only tensors that are
    arguments themselves by its own means, so they are passed one by one; with ``spill`` they are kept in main memory.
    """
    if args[0].numel() <= CHECKPOINT_MIN_VALUES or not torch.is_grad_enabled():
        return function(*args)
    leaves, structure = tree_flatten(args)

    def again(*parts: Any) -> Any:
        return function(*tree_unflatten(list(parts), structure))

    with spilled() if spill else nullcontext():
        return checkpoint(again, *leaves, use_reentrant=False, preserve_rng_state=False)


def checkpoint_in_pieces(encoder: torch.nn.Module, kind: str) -> None:
    """Compute residual blocks of a class a few frames at a time, each piece with gradient checkpointing.

    That is exact for blocks whose two convolutions look back over two frames each and whose norms see single positions: a piece
    is given the four frames before it, and what the beginning of a film would have made of them is dropped.
    """
    for module in encoder.modules():
        if type(module).__name__ == kind:
            module.forward = partial(_in_pieces, module.forward)


def _in_pieces(forward: Callable[..., Tensor], x: Tensor, *args: Any, **options: Any) -> Tensor:
    def run(part: Tensor) -> Tensor:
        return forward(part, *args, **options)

    if not torch.is_grad_enabled() or x.shape[2] <= PIECE_FRAMES:
        return checkpointed(run, x)
    pieces = []
    for begin in range(0, x.shape[2], PIECE_FRAMES):
        earlier = min(begin, FRAMES_SEEN_BACK)
        piece = checkpointed(run, x[:, :, begin - earlier : begin + PIECE_FRAMES])
        pieces.append(piece[:, :, earlier:])
    return torch.cat(pieces, 2)


class _Shape(NamedTuple):
    """What a tensor without values is kept as."""

    size: tuple[int, ...]
    dtype: torch.dtype


class _Parked(NamedTuple):
    """A tensor in main memory, and where it belongs."""

    values: Tensor
    device: torch.device


def spilled() -> AbstractContextManager[None]:
    """While it is entered, tensors that autograd keeps are moved to main memory and come back when they are needed."""
    return torch.autograd.graph.saved_tensors_hooks(_park, _fetch)


def _park(tensor: Tensor) -> Any:
    if tensor.device.type == "cpu" or isinstance(tensor, torch.nn.Parameter):
        return tensor
    if tensor.device.type == "meta":  # plans are made on tensors without values, which take no memory elsewhere
        return _Shape(tuple(tensor.shape), tensor.dtype)
    # Copies from and to a card are fast and need no waiting in memory that the system does not move.
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.device.type == "cuda")
    return _Parked(host.copy_(tensor, non_blocking=True), tensor.device)


def _fetch(kept: Any) -> Tensor:
    if isinstance(kept, _Shape):
        return torch.empty(kept.size, dtype=kept.dtype, device="meta")
    if isinstance(kept, _Parked):
        return kept.values.to(kept.device, non_blocking=True)
    return kept
