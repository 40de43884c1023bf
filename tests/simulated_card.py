"""An accelerator without hardware: tensors that say they are on ``card:0`` and refuse to meet tensors in main memory.

Values live in ordinary tensors behind the scenes, so whole programs run. As on real cards, a tensor without dimensions in main
memory may take part in arithmetic, and what is on the card has no numpy view.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

CARD = "card:0"
TRANSFERS = {"_to_copy", "copy_", "_copy_from", "_local_scalar_dense", "_foreach_copy_", "set_"}
"""Operators that may join devices."""


class CardTensor(torch.Tensor):
    """A tensor on the simulated card."""

    values: torch.Tensor

    @staticmethod
    def __new__(cls, values: torch.Tensor, requires_grad: bool = False) -> "CardTensor":
        made = torch.Tensor._make_wrapper_subclass(
            cls, values.shape, strides=values.stride(), storage_offset=values.storage_offset(), dtype=values.dtype,
            device=torch.device(CARD), requires_grad=requires_grad,
        )  # fmt: skip
        made.values = values
        return made

    def __repr__(self, **_: Any) -> str:
        return f"CardTensor({self.values!r})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class SimulatedCard(TorchDispatchMode):
    """Also sees the operators that make tensors; remembers the most bytes that were on the card at once."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    name = func.overloadpacket.__name__
    tensors: list[torch.Tensor] = []
    _mapped(tensors.append, (args, kwargs))
    on_card = [part for part in tensors if isinstance(part, CardTensor)]
    _refuse_mixed(name, tensors, on_card)
    target = kwargs.get("device")
    to_card = torch.device(target).type == "card" if target is not None else bool(on_card)
    if name in ("copy_", "_copy_from"):
        to_card = isinstance(args[0], CardTensor)
    plain_args, plain_kwargs = _mapped(_values, (args, kwargs))
    if target is not None and to_card:
        plain_kwargs["device"] = torch.device("cpu")
    result = func(*plain_args, **plain_kwargs)
    if name == "_to_copy" and result is plain_args[0]:
        result = result.clone()
    given = {id(_values(part)): part for part in tensors}

    def wrapped(part: torch.Tensor) -> torch.Tensor:
        if id(part) in given:  # an operator in place returns what it was given
            return given[id(part)]
        return CardTensor(part) if to_card else part

    return _mapped(wrapped, result)


def _mapped(function: Callable[[torch.Tensor], Any], value: Any) -> Any:
    """A value with the tensors in it replaced; torch's own tree_map does the same in four times the time."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, tuple | list):
        return type(value)([_mapped(function, part) for part in value])
    if isinstance(value, dict):
        return {name: _mapped(function, part) for name, part in value.items()}
    return value


def _refuse_mixed(name: str, tensors: list[torch.Tensor], on_card: list[CardTensor]) -> None:
    if not on_card or name in TRANSFERS:
        return
    for part in tensors:
        if not isinstance(part, CardTensor) and part.device.type != "meta" and (part.ndim > 0 or name.startswith("index")):
            fault = f"{name}: expected all tensors on one device, found {CARD} and {part.device} {tuple(part.shape)}"
            print(fault, file=sys.stderr)  # an exception on the way back ends the process: torch's guard cannot pass it on
            raise RuntimeError(fault)


def _values(part: Any) -> Any:
    return part.values if isinstance(part, CardTensor) else part


class CardModule:
    """What torch asks a device's module."""

    free_bytes = 24 * 10**9

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def _is_in_bad_fork(self) -> bool:
        return False

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def device(self, index: Any) -> Any:
        return nullcontext()

    def manual_seed_all(self, seed: int) -> None:
        pass

    def get_rng_state(self, device: Any = 0) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, device: Any = 0) -> None:
        torch.set_rng_state(state)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]

    def mem_get_info(self, device: Any = 0) -> tuple[int, int]:
        return self.free_bytes, self.free_bytes

    def empty_cache(self) -> None:
        pass

    def synchronize(self, device: Any = 0) -> None:
        pass


def _register_what_modes_do_not_see() -> None:
    """``torch.tensor`` and ``new_tensor`` hide their operators from modes, so these are registered for the device itself."""
    library = torch.library.Library("aten", "IMPL")

    def empty_strided(size: Any, stride: Any, dtype: Any = None, **_: Any) -> torch.Tensor:
        return CardTensor(torch.empty_strided(size, stride, dtype=dtype))

    def copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        _values(target).copy_(_values(source))
        return target

    library.impl("empty_strided", empty_strided, "PrivateUse1")
    library.impl("_copy_from", copy_from, "PrivateUse1")
    _libraries.append(library)


_libraries: list[Any] = []
_registered = False


@contextmanager
def simulated_card() -> Iterator[torch.device]:
    """The device, while the simulation runs."""
    global _registered
    if not _registered:
        torch.utils.backend_registration._setup_privateuseone_for_python_backend("card", CardModule())
        _register_what_modes_do_not_see()
        _registered = True
    # The mode belongs to one thread, so gradients are computed on it, too.
    with torch.autograd.set_multithreading_enabled(False), SimulatedCard():
        yield torch.device(CARD)
