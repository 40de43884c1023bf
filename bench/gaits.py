"""How well gaits keep their promises on many random individuals: ``python -m bench.gaits --individuals 200``.

One line per gait: the worst of each number over the individuals (the mean where that says more), the share that misses a
limit, and how many clips and frames one core makes in a second, analysis of the rig included, drawing the individual not.
"""

import time
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import tyro

from akd.creatures.build import creature
from akd.creatures.gait_table import GAITS
from akd.creatures.gaits import gait_motion, gaits_for
from akd.creatures.plans import PLANS
from akd.measure.evaluate import evaluate
from akd.measure.gait_names import phase_distance
from akd.motion import Motion
from akd.rig import Rig

HEADER = "gait         n  skating  penetr.   float heading    loop altern.   phase    duty crossed  missed clips/s frames/s"
MEANS = {"alternation", "duty", "missed", "seconds", "frames"}


@dataclass(frozen=True)
class Study:
    """What to measure."""

    individuals: int = 200
    """Random individuals per gait, taken in turn from the plans that can go it."""
    plans: tuple[str, ...] = tuple(PLANS)
    seed: int = 0
    """The first individual of each plan."""
    verbose: bool = False
    """Name the individuals that miss a limit."""


def measure(rig: Rig, name: str, seed: int) -> dict[str, float]:
    """Make one clip and measure it."""
    start = time.perf_counter()
    motion = gait_motion(rig, name, seed=seed, cycles=2)  # a touch-down at the seam of a single stride has no before
    seconds = time.perf_counter() - start
    seen, gait = evaluate(rig, motion, from_file=False), GAITS[name]
    template = np.array(gait.phases[len(rig.legs)])
    row = {
        "skating": seen.skating_ratio or 0.0, "penetration": seen.penetration_max, "float": seen.float_height,
        "heading": seen.heading or 0.0, "loop": pose_gap(motion), "alternation": float(np.mean(seen.alternation or 0.0)),
        "phase": phase_distance(np.array(seen.phases), template) if seen.phases else 0.5, "duty": seen.duty_factor or 0.0,
        "crossed": seen.crossed_limbs or 0.0, "seconds": seconds, "frames": (motion.frame_count - 1) / 2,
    }  # fmt: skip
    return row | {"missed": float(not keeps_promises(row, name))}


def pose_gap(motion: Motion) -> float:
    """Largest difference of any angle [rad] or of the root's height [ℓ] between the ends of a clip."""
    pose = motion.pose
    height = pose.root_position[:, 1]
    return float(max((pose.angles[-1] - pose.angles[0]).abs().max(), (height[-1] - height[0]).abs()))


def keeps_promises(row: dict[str, float], name: str) -> bool:
    walks = GAITS[name].duty > 0.5
    return (
        row["skating"] <= 0.05 and row["penetration"] < 0.005 and row["heading"] >= 0.95 and row["loop"] < 1e-4
        and (row["float"] < 0.01 or not walks) and walks == (row["duty"] > 0.5) and row["phase"] < 0.05
    )  # fmt: skip


def main(study: Study) -> None:
    """Measure and print."""
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    by_legs: dict[int, list[str]] = defaultdict(list)
    for plan in study.plans:
        by_legs[len(creature(plan, study.seed).legs)].append(plan)
    for plans in by_legs.values():
        for number in range(study.individuals):
            plan, seed = plans[number % len(plans)], study.seed + number // len(plans)
            rig = creature(plan, seed)
            for gait in gaits_for(rig):
                row = measure(rig, gait, seed)
                rows[gait].append(row)
                if study.verbose and row["missed"]:
                    print(f"  {gait} {plan} {seed}: " + " ".join(f"{key} {value:.4g}" for key, value in row.items()))
    print(HEADER)
    for gait, found in rows.items():
        print(line(gait, found))


def line(gait: str, found: list[dict[str, float]]) -> str:
    """The worst or mean of each number as text."""
    values = {key: [row[key] for row in found] for key in found[0]}
    n = {key: float(np.mean(column) if key in MEANS else max(column)) for key, column in values.items()}
    heading = min(row["heading"] for row in found)
    return (
        f"{gait:9s}{len(found):5d}  {n['skating']:7.3f}  {n['penetration']:7.4f} {n['float']:7.4f} {heading:7.3f}"
        f" {n['loop']:7.0e} {n['alternation']:7.3f} {n['phase']:7.3f} {n['duty']:7.2f} {n['crossed']:7.3f} {n['missed']:7.3f}"
        f" {1 / n['seconds']:7.1f} {n['frames'] / n['seconds']:8.0f}"
    )


if __name__ == "__main__":
    main(tyro.cli(Study))
