"""Mesh and weight quality of body plans over many individuals: the table "worst value of each plan" of docs/creatures.md.

    python -m experiments.creatures --count 500

Prints one line per plan with its worst values, then individuals per second on one core.
"""

import time
from dataclasses import dataclass

import numpy as np
import tyro

from akd.creatures.build import creature
from akd.creatures.plans import PLANS
from akd.rig import Rig
from experiments.soundness import random_pose, soundness, stretch_under

COLUMNS = (
    "plan", "joints", "vertices", "bad edges", "pieces", "smallest angle °", "asymmetry", "weight error", "influences",
    "opposite weight", "sole height", "smallest sole", "leg gap ℓ", "stretch",
)
"""Stretch is the 99.5th percentile over edges in a pose with every joint bent by up to 0.4 radians about each axis."""


@dataclass(frozen=True)
class StudySettings:
    """How large a study."""

    count: int = 500
    """Individuals in all, spread evenly over the plans."""
    seed: int = 1000
    """First seed."""
    plans: tuple[str, ...] = tuple(PLANS)


def main(settings: StudySettings) -> None:
    """Measure, and print as a Markdown table."""
    per_plan = -(-settings.count // len(settings.plans))
    seconds = 0.0
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    for name in settings.plans:
        creature(name, settings.seed)
        begin = time.process_time()
        rigs = [creature(name, settings.seed + i) for i in range(per_plan)]
        seconds += time.process_time() - begin
        print("| " + " | ".join((name, *worst(rigs))) + " |", flush=True)
    made = per_plan * len(settings.plans)
    print(f"\n{made} individuals, {made / seconds:.2f} per second on one core.")


def worst(rigs: list[Rig]) -> tuple[str, ...]:
    """The columns after the name: the worst of each number."""
    found = [soundness(rig) for rig in rigs]
    rng = np.random.default_rng(0)
    stretch = [np.percentile(stretch_under(rig, random_pose(rig.skeleton, rng, 0.4)), 99.5) for rig in rigs]
    return (
        str(rigs[0].skeleton.joint_count), f"{min(f.vertices for f in found)}–{max(f.vertices for f in found)}",
        str(max(f.bad_edges for f in found)), str(max(f.components for f in found)),
        f"{min(f.smallest_angle for f in found):.1f}", f"{max(f.asymmetry for f in found):.0e}",
        f"{max(f.weight_error for f in found):.0e}", str(max(f.influences for f in found)),
        f"{max(f.opposite_weight for f in found):.0e}", f"{max(f.sole_height for f in found):.0e}",
        str(min(f.smallest_sole for f in found)), f"{min(f.leg_gap for f in found):.3f}", f"{max(stretch):.2f}",
    )


if __name__ == "__main__":
    main(tyro.cli(StudySettings))
