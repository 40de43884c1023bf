"""What the body plans promise, measured over many individuals: ``python -m bench.creatures --count 500``.

Prints one line per plan with its worst values, then individuals per second on one core.
"""

import time
from dataclasses import dataclass

import numpy as np
import tyro

from akd.creatures.build import creature
from akd.creatures.plans import PLANS
from akd.creatures.soundness import random_pose, soundness, stretch_under


@dataclass(frozen=True)
class StudySettings:
    """How large a study."""

    count: int = 500
    """Individuals in all, spread evenly over the plans."""
    seed: int = 1000
    """First seed."""


def main(settings: StudySettings) -> None:
    """Measure, and print as a Markdown table."""
    per_plan = -(-settings.count // len(PLANS))
    seconds = 0.0
    print("| plan | joints | vertices | bad edges | components | min angle ° | asymmetry | opposite weight | leg gap ℓ | sole ≥ | stretch 99.9 % | s each |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name in PLANS:
        creature(name, settings.seed)
        begin = time.process_time()
        rigs = [creature(name, settings.seed + i) for i in range(per_plan)]
        took = time.process_time() - begin
        seconds += took
        found = [soundness(rig) for rig in rigs]
        rng = np.random.default_rng(0)
        stretch = max(np.percentile(stretch_under(rig, random_pose(rig.skeleton, rng)), 99.9) for rig in rigs)
        counts = [f.vertices for f in found]
        print(
            f"| {name} | {rigs[0].skeleton.joint_count} | {min(counts)}–{max(counts)} | {max(f.bad_edges for f in found)} "
            f"| {max(f.components for f in found)} | {min(f.smallest_angle for f in found):.1f} | {max(f.asymmetry for f in found):.0e} "
            f"| {max(f.opposite_weight for f in found):.0e} | {min(f.leg_gap for f in found):.3f} | {min(f.smallest_sole for f in found)} "
            f"| {stretch:.2f} | {took / per_plan:.2f} |",
            flush=True,
        )
    print(f"\n{per_plan * len(PLANS)} individuals, {per_plan * len(PLANS) / seconds:.2f} per second on one core.")


if __name__ == "__main__":
    main(tyro.cli(StudySettings))
