"""Where a big model computes: what a user may say about it. ``plan`` turns it into what is done."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from akd.errors import AkdError

Dtype = Literal["auto", "bf16", "fp16", "fp32"]
Offload = Literal["auto", "none", "model", "sequential"]
Quantize = Literal["auto", "none", "int8"]
DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?|xpu(:\d+)?|card:0")
"""Devices by their names in torch; the last one is simulated in tests."""
FILM = re.compile(r"(\d+)x(\d+)x(\d+)")


@dataclass(frozen=True)
class Hardware:
    """Where and how a video model computes. Everything is chosen by the free memory unless it is said."""

    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps …; the embedded prior takes the CPU unless told otherwise."""
    dtype: Dtype = "auto"
    """Numbers of the networks: bf16, fp16 or fp32."""
    offload: Offload = "auto"
    """Keep networks (model) or their layers (sequential) that do not work at the moment in main memory."""
    film: str | None = None
    """Size of the film as FRAMESxHEIGHTxWIDTH, such as 25x320x480: smaller ones need less memory and time."""
    quantize: Quantize = "auto"
    """Keep the network's weights as 8-bit integers (needs torchao), half the memory of bf16; auto does so where it is installed
    and only that makes a model fit."""
    gguf: str | None = None
    """A .gguf file with the network's weights in few bits, instead of those of the model's folder (needs gguf)."""
    lora: str | None = None
    """A file or folder of LoRA weights to add to the network (needs peft)."""
    spread: bool = False
    """Spread the network's layers over all cards of the machine, for one that fits none of them."""
    compile: bool = False
    """Compile the network's repeated blocks (torch.compile): the first evaluation takes minutes, later ones less."""
    attention: str | None = None
    """Attention backend as diffusers names it, such as flash or sage; by default torch's own."""

    def __post_init__(self) -> None:
        if not DEVICE.fullmatch(self.device):
            raise AkdError(f"There is no device {self.device!r}: choose auto, cpu, cuda, cuda:1 (the second card) or mps.")
        if self.film is not None:
            film_size(self.film)
        for option, path in (("--gguf", self.gguf), ("--lora", self.lora)):
            if path is not None and not Path(path).exists():
                raise AkdError(f"{option} names {path}, which does not exist: give the path of the weights.")
        if self.gguf is not None and self.quantize == "int8":
            raise AkdError("Weights of a .gguf file are already quantised: leave out --quantize int8.")


def film_size(text: str) -> tuple[int, int, int]:
    """Frames, height and width of a film that is given as text."""
    found = FILM.fullmatch(text.replace("×", "x"))
    if found is None or not all(map(int, found.groups())):
        raise AkdError(f"A film is FRAMESxHEIGHTxWIDTH, such as 25x320x480, not {text!r}.")
    frames, height, width = map(int, found.groups())
    return frames, height, width
