"""How well gaits keep their promises on many random individuals: ``python -m bench.gaits --individuals 200``.

Prints one line per gait: the worst and the mean of each number over individuals of all plans that can go it, and how many
clips and frames one core makes in a second (analysis of the rig included, drawing the individual not).
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
from akd.measure.evaluate import Evaluation, evaluate
from akd.measure.gait_names import phase_distance
from akd.rig import Rig

LIMITS = {"skating": 0.05, "penetration": 0.005, "loop": 1e-4}
WALKING_FLOAT = 0.01
HEADING = 0.95


@dataclass(frozen=True)
class Study:
    """What to measure."""

    individuals: int = 200
    """Random individuals per gait, taken in turn from the plans that can go it."""
    plans: tuple[str, ...] = tuple(PLANS)
    gaits: tuple[str, ...] = tuple(GAITS)
    seed: int = 0
    verbose: bool = False
    """Name the individuals that miss a limit."""


def numbers(rig: Rig, name: str, seed: int) -> dict[str, float]:
    """Build one clip and measure it."""
    start = time.perf_counter()
    motion = gait_motion(rig, name, seed=seed)
    seconds = time.perf_counter() - start
    seen, gait = evaluate(rig, motion, from_file=False), GAITS[name]
    template = np.array(gait.phases[len(rig.legs)])
    phase = phase_distance(np.array(seen.phases), template) if seen.phases else np.nan
    return {
        "skating": seen.skating_ratio or 0.0, "penetration": seen.penetration_max, "float": seen.float_height,
        "heading": seen.heading or 0.0, "loop": _pose_gap(motion), "alternation": float(np.mean(seen.alternation or 0.0)),
        "phase": phase, "duty": seen.duty_factor or 0.0, "crossed": seen.crossed_limbs or 0.0, "seconds": seconds,
        "frames": motion.frame_count, "missed": _missed(seen, name),
    }  # fmt: skip


def _pose_gap(motion) -> float:
    pose = motion.pose
    return float(max((pose.angles[-1] - pose.angles[0]).abs().max(), (pose.root_position[-1, 1:] - pose.root_position[0, 1:]).abs().max()))


def _missed(seen: Evaluation, name: str) -> float:
    gait = GAITS[name]
    kept = (
        (seen.skating_ratio or 0) <= LIMITS["skating"] and seen.penetration_max < LIMITS["penetration"]
        and (seen.heading or 0) >= HEADING and (gait.duty <= 0.5 or seen.float_height < WALKING_FLOAT)
        and (gait.duty > 0.5) == ((seen.duty_factor or 0) > 0.5)
    )  # fmt: skip
    return float(not kept)


def main(study: Study) -> None:
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    able_to = {name: gaits_for(creature(name, study.seed)) for name in study.plans}
    for gait in study.gaits:
        able = [plan for plan, gaits in able_to.items() if gait in gaits]
        for number in range(study.individuals if able else 0):
            plan, seed = able[number % len(able)], study.seed + number // len(able)
            row = numbers(creature(plan, seed), gait, seed)
            rows[gait].append(row)
            if study.verbose and row["missed"]:
                print(f"  {gait} {plan} {seed}: " + " ".join(f"{key} {value:.4g}" for key, value in row.items()))
    worst = {"heading": np.min, "alternation": np.mean, "duty": np.mean, "seconds": np.mean, "frames": np.mean}
    print(f"{'gait':9s}{'n':>4s}  skating  penetr.  float  heading   loop   altern.  phase   duty crossed missed clips/s frames/s")
    for gait, found in rows.items():
        n = {key: float(worst.get(key, np.max)([row[key] for row in found])) for key in found[0]}
        share = np.mean([row["missed"] for row in found])
        print(
            f"{gait:9s}{len(found):4d}  {n['skating']:7.3f}  {n['penetration']:7.4f} {np.mean([row['float'] for row in found]):6.4f}  {n['heading']:7.3f}"
            f"  {n['loop']:6.0e}  {n['alternation']:6.3f} {n['phase']:6.3f}  {n['duty']:5.2f}  {n['crossed']:6.3f} {share:6.3f}"
            f" {1 / n['seconds']:7.1f} {n['frames'] / n['seconds']:8.0f}"
        )


if __name__ == "__main__":
    main(tyro.cli(Study))
