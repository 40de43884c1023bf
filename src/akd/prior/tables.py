"""What is known of models, as text: one in detail, or all as a table of the documentation."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from akd.prior.info import QUANTIZED_SHARE, PriorInfo
from akd.prior.placement import Residence
from akd.prior.plan import RESERVE_GIGABYTES

CARD_TERAFLOPS = 60.0
"""Work that a card does in a second in bf16 in such networks (a third of what an RTX 4090 or A100 promises); an estimate."""
RESIDENCES: tuple[Residence, ...] = ("none", "model", "sequential")


class ClipCost(NamedTuple):
    """What a clip costs with some recipe."""

    evaluations: int
    """Of the network, over all candidates that are compared on the way."""
    seconds: float
    """Estimated time on a card."""


Row = tuple[PriorInfo, ClipCost, ClipCost | None]
"""A model, a clip with ``--recipe big``, and the same with its few-step version if it has one."""


def step_seconds(info: PriorInfo, draws: int = 1) -> float:
    """Seconds of one distillation step on such a card, without films and copies."""
    return (info.encode_teraflop + draws * info.predict_teraflop) / CARD_TERAFLOPS


def one_model(info: PriorInfo) -> str:
    """Sizes, memory and work of a model, line by line."""
    memory = info.memory
    rows = {
        "network": f"{info.network_parameters / 1e9:.3f} billion parameters, {memory.network_gigabytes:.1f} GB in bf16",
        "autoencoder": f"{info.vae_parameters / 1e6:.0f} million parameters, {memory.vae_gigabytes:.2f} GB",
        "text encoders": f"{info.text_parameters / 1e9:.2f} billion parameters, {memory.text_gigabytes:.1f} GB in main memory",
        "film": f"{info.frames} frames of {info.width} × {info.height}",
        "latents": f"{tuple(info.latents)}, {info.tokens:,} tokens",
        "one evaluation": f"{info.predict_teraflop / 2:.1f} TFLOP, {memory.predict_gigabytes:.1f} GB besides weights",
        "encoding and its way back": f"{info.encode_teraflop:.1f} TFLOP, {memory.encode_gigabytes:.1f} GB besides weights",
    }
    rows |= {f"peak with --offload {each}": _both(info, each) for each in RESIDENCES}
    width = max(map(len, rows))
    lines = [f"{name:<{width}}  {value}" for name, value in rows.items()]
    return "\n".join((info.name, *lines, "Memory is counted on tensors without values; kernels and gaps are taken as 0.8 GB."))


def _both(info: PriorInfo, offload: Residence) -> str:
    return f"{_peak(info, offload):.1f} GB, {_peak(info, offload, way_back=False):.1f} GB with --recipe big"


def _peak(info: PriorInfo, offload: Residence, share: float = 1.0, *, way_back: bool = True) -> float:
    return info.memory.peak(offload, share, way_back=way_back) + RESERVE_GIGABYTES


def model_lines(found: Iterable[Row]) -> Iterator[str]:
    """A table in Markdown, line by line as models are measured: memory by plan, work and estimated time at their own films."""
    yield (
        "| model | film | weights [GB] | encode + way back [GB] | peak: none | model | sequential | model, int8 | big: none |"
        " big: model | TFLOP per step | s per step | clip with big: evaluations, minutes | few-step version |"
    )
    yield "|---" * 14 + "|"
    yield from map(_row, found)


def _row(row: Row) -> str:
    info, clip, few = row
    memory = info.memory
    peaks = [f"{_peak(info, each):.1f}" for each in RESIDENCES] + [f"{_peak(info, 'model', QUANTIZED_SHARE):.1f}"]
    peaks += [f"{_peak(info, each, way_back=False):.1f}" for each in RESIDENCES[:2]]
    film = f"{info.frames} × {info.height} × {info.width}"
    cells = (
        info.name, film, f"{memory.network_gigabytes + memory.vae_gigabytes:.1f}", f"{memory.encode_gigabytes:.1f}", *peaks,
        f"{info.step_teraflop:.0f}", f"{step_seconds(info):.0f}", f"{clip.evaluations}, {clip.seconds / 60:.0f}",
        "–" if few is None else f"{info.few_steps} steps: {few.evaluations}, {few.seconds / 60:.0f}",
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"
