"""Time and memory of ``evaluate`` over the length of a clip: the table of docs/measure.md.

    python -m experiments.evaluate --frames 100 1000 10000 100000

A dog's walk is repeated and its joints drift slowly, so that its ends do not meet and its stride is searched for. Each length
runs in a process of its own; memory is what its peak exceeds that of a clip of ten frames.
"""

import resource
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.measure.evaluation import evaluate
from akd.motion import Motion, repeat
from akd.rig import Rig


@dataclass(frozen=True)
class Lengths:
    """Clips to measure."""

    frames: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    plan: str = "dog"


def long_walk(rig: Rig, frames: int) -> Motion:
    """A walk of so many frames whose joints slowly drift by 0.2 rad."""
    walk = gait_motion(rig, "walk")
    motion = repeat(walk, 1 + frames // (walk.frame_count - 1))
    pose = motion.pose[:frames]
    drift = torch.linspace(0.0, 0.2, frames)[:, None, None]
    return replace(motion, pose=replace(pose, angles=pose.angles + drift))


def cost(plan: str, frames: int) -> tuple[float, float]:
    """Processor seconds, and megabytes above those of a short clip, that one evaluation takes."""
    rig = creature(plan, 0)
    evaluate(rig, long_walk(rig, 10), from_file=True)
    motion = long_walk(rig, frames)
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    evaluate(rig, motion, from_file=True)
    return time.process_time() - begun, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def exponents(frames: Sequence[int], costs: Sequence[float]) -> list[float]:
    """Slope of log cost over log frames from each length to the next."""
    return (np.diff(np.log(np.maximum(costs, 1e-3))) / np.diff(np.log(frames))).tolist()


def main(lengths: Lengths) -> None:
    """Print the table."""
    found = []
    for frames in lengths.frames:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found.append(pool.submit(cost, lengths.plan, frames).result())
    slopes = [[float("nan"), *exponents(lengths.frames, column)] for column in zip(*found, strict=True)]
    table = Table("frames", "seconds", "exponent", "MB", "exponent", title=f"evaluate, {lengths.plan}")
    for frames, (seconds, megabytes), time_slope, memory_slope in zip(lengths.frames, found, *slopes, strict=True):
        table.add_row(f"{frames:,}", f"{seconds:.2f}", f"{time_slope:.2f}", f"{megabytes:.0f}", f"{memory_slope:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Lengths))
