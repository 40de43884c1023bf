"""Measures of our gaits on many random individuals: the table of docs/gaits.md.

    python -m experiments.gaits --individuals 200

One line per gait: the worst of each number over the individuals (the mean where that says more), the share that misses a
limit, and how many clips and frames one core makes in a second, analysis of the rig included, making the individual not.
With ``--rows FILE`` every clip is written down as soon as it is measured, and a study that was stopped resumes from there.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion, gaits_for
from akd.creatures.plans import PLANS
from akd.gait.measures import phase_distance
from akd.gait.table import GAITS
from akd.measure.evaluation import evaluate
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
    rows: Path | None = None
    """File with one line of JSON per clip, read at the start and added to."""


Row = dict[str, float]


def measure(rig: Rig, name: str, seed: int) -> Row:
    """Make one clip and measure it."""
    start = time.process_time()
    motion = gait_motion(rig, name, seed=seed, cycles=2)  # a touch-down at the seam of a single stride has no before
    seconds = time.process_time() - start
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


def keeps_promises(row: Row, name: str) -> bool:
    walks = GAITS[name].duty > 0.5
    return (
        row["skating"] <= 0.05 and row["penetration"] < 0.005 and row["heading"] >= 0.95 and row["loop"] < 1e-4
        and (row["float"] < 0.01 or not walks) and walks == (row["duty"] > 0.5) and row["phase"] < 0.05
    )  # fmt: skip


def main(study: Study) -> None:
    """Measure and print."""
    known = read_rows(study.rows)
    found: dict[str, list[Row]] = defaultdict(list)
    for gait, plan, seed, row in measured(study, known):
        found[gait].append(row)
        if study.verbose and row["missed"]:
            print(f"  {gait} {plan} {seed}: " + " ".join(f"{key} {value:.4g}" for key, value in row.items()), flush=True)
    print(HEADER)
    for gait, rows in found.items():
        print(line(gait, rows))


def measured(study: Study, known: dict[tuple[str, str, int], Row]) -> Iterator[tuple[str, str, int, Row]]:
    """Gait, plan, seed and numbers of every clip: of each number of legs, plans take turns until every gait has enough."""
    by_legs: dict[int, list[str]] = defaultdict(list)
    for plan in study.plans:
        by_legs[len(creature(plan, study.seed).legs)].append(plan)
    for legs, plans in by_legs.items():
        missing = {name: study.individuals for name, gait in GAITS.items() if legs in gait.phases}
        for number in range(2 * study.individuals):
            if not any(missing.values()):
                break
            plan, seed = plans[number % len(plans)], study.seed + number // len(plans)
            for gait, row in individual_rows(plan, seed, [name for name, count in missing.items() if count], known, study.rows):
                missing[gait] -= 1
                yield gait, plan, seed, row


def individual_rows(
    plan: str, seed: int, gaits: list[str], known: dict[tuple[str, str, int], Row], file: Path | None
) -> Iterator[tuple[str, Row]]:
    """The wanted gaits that this individual goes; it is built only if some are not measured yet."""
    if all((gait, plan, seed) in known for gait in gaits):
        yield from ((gait, row) for gait in gaits if (row := known[gait, plan, seed]))
        return
    rig = creature(plan, seed)
    offered = gaits_for(rig)
    for gait in gaits:
        if (gait, plan, seed) not in known:
            known[gait, plan, seed] = measure(rig, gait, seed) if gait in offered else {}
            write_row(file, gait, plan, seed, known[gait, plan, seed])
        if row := known[gait, plan, seed]:
            yield gait, row


def read_rows(file: Path | None) -> dict[tuple[str, str, int], Row]:
    """What an earlier study measured; empty for gaits that an individual does not go."""
    if file is None or not file.exists():
        return {}
    entries = map(json.loads, file.read_text().splitlines())
    return {(entry["gait"], entry["plan"], entry["seed"]): entry["row"] for entry in entries}


def write_row(file: Path | None, gait: str, plan: str, seed: int, row: Row) -> None:
    if file is not None:
        with file.open("a") as lines:
            lines.write(json.dumps({"gait": gait, "plan": plan, "seed": seed, "row": row}) + "\n")


def line(gait: str, found: list[Row]) -> str:
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
