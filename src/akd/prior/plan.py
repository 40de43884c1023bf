"""Plans: on which device, in which numbers and with which parts in main memory a model fits, chosen by free memory."""

import os
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch

from akd.errors import AkdError
from akd.prior.embedded.family import embedded_configuration
from akd.prior.folder import EMBEDDED_FOLDERS, INDEX, read_index
from akd.prior.hardware import Hardware, film_size
from akd.prior.info import QUANTIZED_SHARE, MemoryNeeds, memory_needs
from akd.prior.memory import GIGABYTE
from akd.prior.placement import Residence

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
RESERVE_GIGABYTES = 0.8
"""What the driver, kernels and the gaps between tensors take besides what is counted."""
SMALLER = ((1.0, 1.0), (0.75, 1.0), (0.6, 1.0), (0.5, 1.0), (0.5, 0.5))
"""Films that are tried in turn where the model's own does not fit: factors of both sides and of the frames."""
BF16_CAPABILITY = 8
"""CUDA compute capability from which on cards calculate in bf16."""


UNKNOWN = (AkdError, AttributeError, TypeError, ValueError, KeyError, RuntimeError)
"""Of models whose configuration is not on this machine nothing is known before the download, and what is wrong with a folder is
said by those who load it."""


@dataclass(frozen=True)
class Plan:
    """What is done with a model on this machine."""

    name: str
    device: str
    dtype: Literal["bf16", "fp16", "fp32"]
    offload: Residence
    quantize: Literal["none", "int8"] = "none"
    film: tuple[int, int, int] | None = None
    """Frames, height and width; ``None`` for the model's own film."""
    batch: int | None = None
    """Draws of noise that go through the network at once; ``None`` for all."""
    peak_gigabytes: float | None = None
    """Memory of the device that is needed at most, as far as it is known."""
    free_gigabytes: float | None = None
    """Memory of the device that is free."""
    wanted: Hardware = Hardware()  # noqa: RUF009 - frozen
    """What was asked for; further weights and ways to compute are taken from it."""
    way_back: bool = True
    """Whether gradients will go through the autoencoder."""
    known: bool = True
    """Whether the model's memory could be planned, which needs its configuration."""

    @property
    def is_plain(self) -> bool:
        """Whether small models may run as plain modules."""
        asked = self.wanted
        plain = asked.gguf is None and asked.lora is None and asked.attention is None and not asked.spread and not asked.compile
        return plain and self.offload == "none" and self.quantize == "none"

    @property
    def hardware(self) -> Hardware:
        """The plan as what a user could have asked for."""
        film = None if self.film is None else "x".join(map(str, self.film))
        chosen: dict[str, Any] = {"device": self.device, "dtype": self.dtype, "film": film}
        if self.known:
            chosen |= {"offload": self.offload, "quantize": self.quantize}
        return replace(self.wanted, **chosen)

    @property
    def sentence(self) -> str:
        """What was chosen, for people."""
        parts = [f"{self.name} on {self.device} in {self.dtype}"]
        parts += [] if self.quantize == "none" else [f"weights as {self.quantize}"]
        parts += [] if self.offload == "none" else [f"--offload {self.offload}"]
        parts += [] if self.film is None else [f"films of {self.film[0]} frames, {self.film[2]} × {self.film[1]}"]
        if self.peak_gigabytes is not None:
            free = "" if self.free_gigabytes is None else f" of {self.free_gigabytes:.1f} free"
            parts.append(f"about {self.peak_gigabytes:.1f} GB{free}")
        parts += [] if self.known else ["what memory it needs is not known"]
        return "; ".join(parts) + "."


def plan_prior(name: str, wanted: Hardware = Hardware(), *, way_back: bool = True) -> Plan:  # noqa: B008
    """The best plan for a model on this machine; a sentence if there is none.

    Without a way back, gradients do not go through the autoencoder: for samples, and recipes that fit motions to pictures.
    """
    small = is_small(name)
    device = choose_device(wanted.device, small=small)
    dtype = choose_dtype(wanted.dtype, device)
    plan = _asked_for(name, wanted, device, dtype)
    if small:
        return plan
    try:
        needs = memory_needs(name, dtype=DTYPES[dtype], film=plan.film, spill=device != "cpu")
    except UNKNOWN:
        return replace(plan, known=False, way_back=way_back)
    return fit(plan, wanted, needs, free_gigabytes(device), way_back=way_back)


def card_peak(name: str, wanted: Hardware, card: float) -> float | None:
    """Memory that a model needs at most on a card with ``card`` gigabytes of its own, or None where nothing is known of it."""
    plan = _asked_for(name, wanted, "cuda", "bf16" if wanted.dtype == "auto" else wanted.dtype)
    try:
        needs = memory_needs(name, dtype=DTYPES[plan.dtype], film=plan.film)
    except UNKNOWN:
        return None
    return fit(plan, wanted, needs, card).peak_gigabytes


def _asked_for(name: str, wanted: Hardware, device: str, dtype: Any) -> Plan:
    """What was asked for as a plan, before it is fitted into the memory there is."""
    film = None if wanted.film is None else film_size(wanted.film)
    residence: Residence = "none" if wanted.offload == "auto" else wanted.offload
    quantize: Literal["none", "int8"] = "int8" if wanted.quantize == "int8" else "none"
    return Plan(name, device, dtype, residence, quantize, film, wanted=wanted)


def fit(plan: Plan, wanted: Hardware, needs: MemoryNeeds, free: float, *, way_back: bool = True) -> Plan:
    """A plan with the residence, film, batch and, if nothing else helps, 8-bit weights that fit into the free memory."""
    ways = _ways(plan, wanted)
    room = free - RESERVE_GIGABYTES
    for sides, frames in SMALLER if wanted.film is None else SMALLER[:1]:
        tried = needs if (sides, frames) == (1.0, 1.0) else _smaller(plan, needs, sides, frames)
        for offload, quantize in ways:
            share = _weight_share(needs, wanted, quantize)
            peak = _peak(tried, plan, offload, share, way_back)
            if peak <= room:
                batch = max(int((room - tried.resting(offload, share)) / max(tried.predict_gigabytes, 1e-6)), 1)
                film = plan.film if tried is needs else tried.film
                return replace(
                    plan, offload=offload, quantize=quantize, film=film, batch=batch,
                    peak_gigabytes=peak + RESERVE_GIGABYTES, free_gigabytes=free, way_back=way_back,
                )  # fmt: skip
    offload, quantize = ways[-1]
    least = _peak(needs, plan, offload, _weight_share(needs, wanted, quantize), way_back) + RESERVE_GIGABYTES
    raise AkdError(
        f"{plan.name} needs about {least:.0f} GB on {plan.device}, where {free:.1f} GB are free: give a smaller --film, "
        "--quantize int8, another --device, or a smaller model (see `akd doctor`)."
    )


def _peak(needs: MemoryNeeds, plan: Plan, offload: Residence, share: float, way_back: bool) -> float:
    """The most that a step needs; in main memory, the text encoders are there, too, until they have read."""
    peak = needs.peak(offload, share, way_back=way_back)
    return max(peak, needs.loading_gigabytes) if plan.device == "cpu" else peak


def _ways(plan: Plan, wanted: Hardware) -> list[tuple[Residence, Literal["none", "int8"]]]:
    """Residences and weights to try, the fastest first: 8-bit weights lose a little and are far faster than single layers."""
    offloads: tuple[Residence, ...] = ("none", "model", "sequential") if wanted.offload == "auto" else (wanted.offload,)
    if plan.device == "cpu" or wanted.spread:
        offloads = ("none",)
    ways: list[tuple[Residence, Literal["none", "int8"]]] = [(offload, plan.quantize) for offload in offloads]
    if wanted.quantize == "auto" and wanted.gguf is None and find_spec("torchao") is not None:
        kept = [(offload, plan.quantize) for offload in offloads if offload != "sequential"]
        eight: list[tuple[Residence, Literal["none", "int8"]]] = [(offload, "int8") for offload, _ in kept]
        ways = [*kept, *eight, *ways[len(kept) :]]
    return ways


def _weight_share(needs: MemoryNeeds, wanted: Hardware, quantize: str) -> float:
    """Memory of the network's weights as a share of that in the plan's numbers."""
    if wanted.gguf is not None:
        return Path(wanted.gguf).stat().st_size / GIGABYTE / needs.network_gigabytes
    return QUANTIZED_SHARE if quantize == "int8" else 1.0


def _smaller(plan: Plan, needs: MemoryNeeds, sides: float, frames: float) -> MemoryNeeds:
    count, height, width = needs.film
    wanted = max(round(count * frames), 1), round(height * sides), round(width * sides)
    return memory_needs(plan.name, dtype=DTYPES[plan.dtype], film=needs.grid.nearest(*wanted), spill=plan.device != "cpu")


def is_small(name: str) -> bool:
    """Whether a model is the embedded one, or a folder of its kind, which every machine runs."""
    folder = EMBEDDED_FOLDERS.get(name, Path(name))
    return (folder / INDEX).is_file() and embedded_configuration(folder, read_index(folder)) is not None


def choose_device(wanted: str, *, small: bool = False) -> str:
    """The device that was asked for, if this machine has it; by default the card, for small models the processor."""
    if wanted == "auto":
        if small:
            return "cpu"
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = wanted.partition(":")
    if kind == "cuda" and not torch.cuda.is_available():
        raise AkdError(f"{wanted} cannot be used: {cuda_fault()}")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise AkdError(f"There is no {wanted}; this machine has {torch.cuda.device_count()} (cuda:0 is the first).")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise AkdError("mps cannot be used: it needs a Mac with Apple's own processor; choose --device cpu.")
    return wanted


def cuda_fault() -> str:
    """Why there is no CUDA, and the cure."""
    if torch.version.cuda is None:
        return (
            f"this torch ({torch.__version__}) was built without CUDA; install one with it, see https://pytorch.org, "
            "or choose --device cpu."
        )
    return f"torch {torch.__version__} finds no card; check `nvidia-smi` and the driver, or choose --device cpu."


def choose_dtype(wanted: str, device: str) -> Any:
    """Numbers that the device calculates well in."""
    if wanted != "auto":
        return wanted
    if device == "cpu":
        return "fp32"
    if device.startswith("cuda") and torch.cuda.get_device_capability(device)[0] < BF16_CAPABILITY:
        return "fp16"
    return "bf16"


def free_gigabytes(device: str) -> float:
    """Memory that is free on a device, or in the machine."""
    kind = torch.device(device).type
    if kind in ("cpu", "mps"):
        return _free_in_machine() / GIGABYTE
    return getattr(torch, kind).mem_get_info(torch.device(device))[0] / GIGABYTE


def _free_in_machine() -> int:
    try:
        with open("/proc/meminfo") as file:
            found = {line.split(":")[0]: int(line.split()[1]) for line in file if ":" in line}
        return 1024 * found["MemAvailable"]
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 * 10**9
