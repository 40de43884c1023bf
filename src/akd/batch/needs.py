"""What a job takes of a machine, from its prior's plan."""

from typing import Any


def gpu_share(request: Any) -> float:
    """Share of a GPU that a request needs: none on the processor, where the embedded prior runs; else a whole one."""
    device = str(getattr(request, "device", None) or "cpu")
    return 0.0 if device.startswith("cpu") else 1.0
