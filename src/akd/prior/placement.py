"""Networks on a device: all of them, one at a time, or layer by layer; and text encoders that leave once they have read."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import nn

Residence = Literal["none", "model", "sequential"]
"""How a network is kept off its device, as in ``Hardware.offload``."""


class Resident:
    """A network that is on its device only while it works; its weights stay in main memory and are copied when needed."""

    def __init__(self, network: nn.Module, device: torch.device, *, only_own: bool = False) -> None:
        self.network, self.device = network, device
        self.only_own = only_own
        """Leave out the weights of the modules within it."""
        self._home: list[tuple[dict[str, Any], str, Any]] = []

    def enter(self) -> None:
        """Bring the weights to the device."""
        if self._home:
            return
        for module in (self.network,) if self.only_own else self.network.modules():
            for group in (module._parameters, module._buffers):
                self._home += [(group, name, part) for name, part in group.items() if part is not None]
        for group, name, part in self._home:
            moved = part.detach().to(self.device)
            group[name] = nn.Parameter(moved, requires_grad=False) if isinstance(part, nn.Parameter) else moved

    def leave(self) -> None:
        """Free the device; nothing is copied, because weights do not change."""
        for group, name, part in self._home:
            group[name] = part
        self._home = []


def place(family: Any, device: torch.device, residence: Residence, *, spread: bool = False) -> None:
    """Bring a family's parts to a device; the text encoder reads in main memory and the autoencoder is always there.

    A network that is ``spread`` over cards is where it belongs.
    """
    family.compute_device = device
    family.vae.to(device)
    if spread:
        pass
    elif residence == "none":
        for network in family.networks:
            network.to(device)
    elif residence == "model":
        family.residents = [Resident(network, device) for network in family.networks]
        for resident in family.residents:
            resident.network.register_forward_pre_hook(lambda *_, working=resident: _take_turn(family.residents, working))
    else:
        for network in family.networks:
            _layer_by_layer(network, device)
    family.spill = family.in_tiles = device.type != "cpu"


def _take_turn(residents: Sequence[Resident], working: Resident) -> None:
    """The network that is called comes to the device; another one that worked before leaves it."""
    for resident in residents:
        if resident is not working:
            resident.leave()
    working.enter()


def _layer_by_layer(network: nn.Module, device: torch.device) -> None:
    """Every module brings its own weights to the device for the time of its call."""
    for module in network.modules():
        resident = Resident(module, device, only_own=True)
        module.register_forward_pre_hook(lambda *_, each=resident: each.enter())
        module.register_forward_hook(lambda *_, each=resident: each.leave(), always_call=True)
