"""A picture of every body plan, a few individuals each: docs/creatures/plans.png.

    python -m experiments.creature_sheet --out docs/creatures/plans.png
"""

from dataclasses import dataclass
from pathlib import Path

import tyro

from akd.creatures.build import creature
from akd.creatures.plans import PLANS
from akd.creatures.words import character
from akd.render.sheets import sheet


@dataclass(frozen=True)
class SheetSettings:
    """What to draw."""

    out: Path = Path("sheet.png")
    plans: tuple[str, ...] = tuple(PLANS)
    """Names of body plans."""
    sentences: tuple[str, ...] = ()
    """Draw these characters instead of the plans."""
    individuals: int = 2
    """How many of each, seeds counting from ``seed``."""
    seed: int = 0
    across: int = 6
    """Pictures in a row."""
    size: int = 200
    """Pixels per picture."""
    turn: float = 45.0
    """Camera angle from the right side towards the face [degrees]."""


def main(settings: SheetSettings) -> None:
    """Draw and save."""
    seeds = range(settings.seed, settings.seed + settings.individuals)
    if settings.sentences:
        entries = [(text, character(text, seed)[0].mesh) for text in settings.sentences for seed in seeds]
    else:
        entries = [(name, creature(name, seed).mesh) for name in settings.plans for seed in seeds]
    sheet(entries, settings.across, settings.size, settings.turn).save(settings.out, optimize=True)


if __name__ == "__main__":
    main(tyro.cli(SheetSettings))
