"""What a job takes of a machine, from the plan of its prior."""

from typing import Any


def gpu_share(request: Any) -> float:
    """Share of a GPU that a request needs: none on the processor, where the embedded prior runs unless told otherwise.

    How much of a card a model takes is only known on the node that has it, so smaller shares are for the user to say (--gpus).
    """
    device = getattr(request, "device", None) or "cpu"  # kinds without a prior have no device
    on_processor = device == "cpu" or (device == "auto" and request.prior == "embedded")
    return 0.0 if on_processor else 1.0
