"""Real assets with their own clips, and creatures, on the ground with shadow: docs/film/clips.png.

    python -m experiments.film_sheet
"""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
import tyro

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.files.video import contact_sheet, every, write_picture
from akd.motion import Motion
from akd.reconstruct.skinned import skinned_splats
from akd.render.film import DEFAULT, film
from akd.rig import Rig

CLIPS = (
    ("fox_khronos/Fox.glb", "Walk"),
    ("q_woman/Smooth_Female_Casual.glb", "HumanArmature|Female_Run"),
    ("q_wolf/Wolf.glb", "AnimalArmature|Gallop"),
)
GOING = (("horse", "gallop"), ("human", "dance"), ("spider", "tetrapod"))


@dataclass(frozen=True)
class FilmSheet:
    """What to draw."""

    out: Path = Path("docs/film/clips.png")
    assets: Path = Path("../shared/assets")
    size: int = 112
    """Pixels per picture."""
    count: int = 6
    """Instants per row."""
    splats: int = 12_000


def main(settings: FilmSheet) -> None:
    """Draw and save."""
    rows = []
    for file, clip in CLIPS:
        rig = load_rig(settings.assets / file)
        rows.append(_row(rig, read_clip(rig, clip, DEFAULT.fps).motion, settings))
    for plan, gait in GOING:
        rig = creature(plan, 3)
        rows.append(_row(rig, gait_motion(rig, gait, fps=DEFAULT.fps), settings))
    write_picture(settings.out, contact_sheet(torch.cat(rows), columns=settings.count))


def _row(rig: Rig, motion: Motion, settings: FilmSheet) -> torch.Tensor:
    look = replace(DEFAULT, width=settings.size, height=settings.size, look="natural")
    skinned = skinned_splats(rig, count=settings.splats, resolution=settings.size)
    with torch.no_grad():
        return every(film(rig.skeleton, motion, skinned, look), settings.count)


if __name__ == "__main__":
    main(tyro.cli(FilmSheet))
