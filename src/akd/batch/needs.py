"""What a job takes of a machine, from the plan of its prior."""

from functools import cache
from typing import TYPE_CHECKING, Any

from akd.prior.folder import EMBEDDED_FOLDERS

if TYPE_CHECKING:
    from akd.prior.hardware import Hardware


def gpu_share(request: Any, card: float | None = None) -> float:
    """Share of a GPU that a request needs: none on the processor, where the embedded prior runs unless told otherwise.

    With the memory of the cluster's cards [GB], as many jobs share one as the plan of their prior leaves room for; without it, or
    for a model whose configuration is not known here, a job has a card of its own.
    """
    device = getattr(request, "device", None) or "cpu"  # kinds without a prior have no device
    on_processor = device == "cpu" or (device == "auto" and request.prior in EMBEDDED_FOLDERS)
    if on_processor:
        return 0.0
    peak = None if card is None else _peak(request.prior, request.hardware, card)
    return 1.0 if card is None or peak is None else 1 / max(int(card / peak), 1)


@cache
def _peak(prior: str, hardware: "Hardware", card: float) -> float | None:
    """Memory of a card that a prior needs at most [GB]; a sentence if it does not fit."""
    from akd.prior.plan import card_peak

    return card_peak(prior, hardware, card)
