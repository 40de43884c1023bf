"""Strips of pictures of moving rigs: docs/gaits.png and a page per plan in docs/gaits.

    python -m experiments.gait_sheet --plans dog --out gaits.png
    python -m experiments.gait_sheet --out docs/gaits              all plans and all their gaits and actions
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from PIL import Image, ImageDraw

from akd.character.limb_model import limb_model
from akd.creatures.actions import ACTIONS
from akd.creatures.build import creature
from akd.creatures.gaits import actions_for, gait_motion, gaits_for
from akd.creatures.plans import PLANS
from akd.mesh import Mesh
from akd.motion import Motion
from akd.render.sheets import PAPER, picture
from akd.rig import Rig
from akd.skeleton import forward_kinematics
from akd.splats import skin_points

NARROWEST = 0.55
"""Pictures of a strip are at least this far apart, in heights of the body: else those of slim ones would be much larger."""
FACING = 55.0
"""Actions of upright bodies are seen from here [degrees]: from the side one arm hides the other;"""
ABOVE = 30.0
"""and bodies whose legs sprawl from here and so high up [degrees]: from the side they are a line."""


def strip(rig: Rig, motion: Motion, count: int = 8, width: int = 1400, turn: float = 20.0, lift: float = 8.0) -> Image.Image:
    """So many instants of a motion side by side, on one ground and in one scale."""
    chosen = np.linspace(0, motion.frame_count - 1, count + 1).astype(int)[:-1]
    pose = motion.pose[torch.from_numpy(chosen)]
    weights, rest = (torch.as_tensor(x, dtype=torch.float32) for x in (rig.weights, rig.mesh.vertices))
    shapes = skin_points(rig.skeleton, forward_kinematics(rig.skeleton, pose), weights, rest).double().numpy()
    shapes = shapes - pose.root_position[:, None].double().numpy() * (1, 0, 1)
    aside = np.array([np.cos(np.radians(turn)), 0, -np.sin(np.radians(turn))])  # to the right in the picture
    across, high = float(np.ptp(np.concatenate(shapes) @ aside)), float(np.ptp(rig.mesh.vertices[:, 1]))
    gap = 1.12 * max(across, NARROWEST * high) + 0.1
    vertices = np.concatenate([shape + number * gap * aside for number, shape in enumerate(shapes)])
    faces = np.concatenate([rig.mesh.faces + number * rig.mesh.vertex_count for number in range(count)])
    image = picture(Mesh(vertices, faces, np.tile(rig.mesh.colors, (count, 1))), width, turn, lift)
    inked = np.flatnonzero((np.abs(image / 255 - PAPER) > 0.02).any((1, 2)))
    return Image.fromarray(image[max(inked[0] - 14, 0) : inked[-1] + 6])


def page(strips: list[tuple[str, Image.Image]], columns: int = 1) -> Image.Image:
    """Strips in so many columns, each with its title."""
    rows = [strips[first : first + columns] for first in range(0, len(strips), columns)]
    tall = [max(image.height for _, image in row) + 14 for row in rows]
    wide = max(image.width for _, image in strips)
    out = Image.new("RGB", (wide * columns, sum(tall)), tuple(int(255 * c) for c in PAPER))
    ink, top = ImageDraw.Draw(out), 0
    for row, height in zip(rows, tall, strict=True):
        for column, (title, image) in enumerate(row):
            ink.text((column * wide + 6, top + 1), title, fill=(70, 70, 70))
            out.paste(image, (column * wide, top + height - image.height))
        top += height
    return out


@dataclass(frozen=True)
class GaitSheetSettings:
    """What to draw."""

    out: Path = Path("gaits.png")
    """A picture, or a folder for one page per plan."""
    plans: tuple[str, ...] = tuple(PLANS)
    motions: tuple[str, ...] = ()
    """Gaits and actions; all that the body can do when empty."""
    seed: int = 0
    count: int = 6
    """Instants per strip."""
    columns: int = 2
    """Strips beside one another."""
    width: int = 330
    """Pixels of a strip."""
    turn: float = 20.0
    """Camera angle from the right side towards the face [degrees]."""
    colors: int = 24
    """Of the picture's palette."""


def main(settings: GaitSheetSettings) -> None:
    """Draw and save."""
    if settings.out.suffix:
        _save([strip for plan in settings.plans for strip in _strips(plan, settings)], settings.out, settings)
    else:
        settings.out.mkdir(parents=True, exist_ok=True)
        for plan in settings.plans:
            _save(_strips(plan, settings), settings.out / f"{plan}.png", settings)


def _strips(plan: str, settings: GaitSheetSettings) -> list[tuple[str, Image.Image]]:
    rig = creature(plan, settings.seed)
    names = settings.motions or (*gaits_for(rig), *actions_for(rig))
    out = []
    for name in names:
        low = all(foot.leg.sprawls for foot in limb_model(rig).feet)
        turn = FACING if low or (name in ACTIONS and limb_model(rig).is_upright) else settings.turn
        motion, lift = gait_motion(rig, name, seed=None), ABOVE if low else 8.0
        out.append((f"{plan}: {name}", strip(rig, motion, settings.count, settings.width, turn, lift)))
    return out


def _save(strips: list[tuple[str, Image.Image]], path: Path, settings: GaitSheetSettings) -> None:
    page(strips, settings.columns).quantize(settings.colors).save(path, optimize=True)


if __name__ == "__main__":
    main(tyro.cli(GaitSheetSettings))
