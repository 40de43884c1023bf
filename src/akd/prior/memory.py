"""How much memory tensors take at most while something is computed, measured on tensors without values.

Every storage that an operator makes is counted until the last tensor that uses it is gone, on the way back, too. Shapes are
enough for that: on the meta device the largest models are measured in seconds on any machine. What an operator needs inside
(a convolution's workspace) is not seen.
"""

from typing import Any
from weakref import finalize

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

GIGABYTE = 1e9


class ShapesOnly(TorchFunctionMode):
    """Lets networks run on tensors without values: questions about values are answered, and shapes stay what they would be.

    With ``fused``, attention is as cards compute it, block by block: without the table of all pairs of tokens.
    """

    def __init__(self, *, fused: bool = False) -> None:
        super().__init__()
        self.fused = fused

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.fused and func is torch.nn.functional.scaled_dot_product_attention:
            named = dict(zip(("query", "key", "value"), args, strict=False)) | (kwargs or {})
            query, value = named["query"], named["value"]
            return query.new_empty(*query.shape[:-1], value.shape[-1])
        if func is Tensor.__bool__ and args[0].device.type == "meta":
            return True
        if func is Tensor.__getitem__ and _is_mask(args[1]):
            # HunyuanVideo 1.5 sorts tokens by a mask and its opposite: half of them each makes all of them.
            return args[0][: len(args[0]) // 2]
        return func(*args, **(kwargs or {}))


def _is_mask(index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype == torch.bool and index.device.type == "meta"


class MemoryTracker(TorchDispatchMode):
    """Counts the bytes of all tensors on one device that are made while it is entered."""

    def __init__(self, device: str = "meta") -> None:
        super().__init__()
        self.device = device
        self.now = 0
        """Bytes in use."""
        self.peak = 0
        """The most that were in use at once."""
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for part in tree_leaves((args, kwargs)):
            self._count(part, size=0)  # weights and whatever else was there before
        result = func(*args, **(kwargs or {}))
        for part in tree_leaves(result):
            self._count(part)
        return result

    def _count(self, part: Any, size: int | None = None) -> None:
        if not isinstance(part, Tensor) or part.device.type != self.device:
            return
        storage = part.untyped_storage()
        key = storage._cdata
        if key in self._known:
            return
        size = storage.nbytes() if size is None else size
        self._known.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        finalize(storage, self._forget, key, size)

    def _forget(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


class WorkCounter(TorchDispatchMode):
    """Counts the work of matrix products and convolutions, on the way back and in what is computed again, too.

    torch's own counter also follows modules, which fails where gradient checkpointing calls them out of turn.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flop = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        count = flop_registry.get(func.overloadpacket)
        self.flop += 0 if count is None else count(*args, **(kwargs or {}), out_val=result)
        return result


def weight_gigabytes(network: torch.nn.Module) -> float:
    """Memory of a network's parameters and buffers as they are."""
    tensors = (*network.parameters(), *network.buffers())
    return sum(part.numel() * part.element_size() for part in tensors) / GIGABYTE
